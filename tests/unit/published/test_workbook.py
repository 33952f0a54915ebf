"""Workbooks: texts and numbers as they were, in every sheet, and the same bytes each time."""

from __future__ import annotations

import csv
from pathlib import Path

from tapveil.published.workbook import workbook
from tapveil.trips import workbook as reading


def test_sheets_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = [("Name", "Number"), ("<Quay> & 東門", "12.50"), ("007", "-3"), ("", "n/a")]
    sheets = {"A & B": [[(text, number) for text, number in zip(row, (False, True), strict=True)] for row in rows]}
    path = tmp_path / "book.xlsx"
    path.write_bytes(workbook({**sheets, "Two": [[("x", False)]]}))
    assert reading.sheets(path) == ["A & B", "Two"]
    found = list(csv.reader(reading.as_csv(path, "A & B").read().decode().splitlines()))
    assert found == [["Name", "Number"], ["<Quay> & 東門", "12.5"], ["007", "-3"], ["", "n/a"]]


def test_the_same_sheets_are_the_same_bytes() -> None:
    assert workbook({"A": [[("1", True)]]}) == workbook({"A": [[("1", True)]]})
