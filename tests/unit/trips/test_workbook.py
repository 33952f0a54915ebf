"""A sheet of a workbook is read as the CSV that it would be exported as."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date, datetime, time
from pathlib import Path

import pytest

from tapveil.base.errors import TripDataError
from tapveil.trips.workbook import as_csv, sheets, the_sheet
from tests.support.workbook import write_workbook

HEADER = ["card", "day", "at", "clock", "stop", "n"]
ROW = ["0012", date(2025, 3, 3), datetime(2025, 3, 3, 7, 31), time(7, 31), 'Quay, "No. 3"\nWharf', 7]


def read(path: Path, sheet: str) -> list[list[str]]:
    return list(csv.reader(io.TextIOWrapper(as_csv(path, sheet), encoding="utf-8", newline="")))


@pytest.mark.parametrize("shared", [True, False])
def test_texts_numbers_days_and_times_are_as_a_person_sees_them(shared: bool, tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "t.xlsx", {"Trips": [HEADER, ROW]}, shared=shared)
    assert read(path, "Trips") == [
        HEADER,
        ["0012", "2025-03-03", "2025-03-03 07:31:00", "07:31:00", 'Quay, "No. 3" Wharf', "7"],
    ]


@pytest.mark.parametrize("number", [-0.5, -3, 2_957_004, 1e9, 1e300])
def test_a_number_that_is_no_day_concerns_its_own_row_alone(number: float, tmp_path: Path) -> None:
    """Excel shows ####: one such cell must neither stop the reading of all others nor be taken for a time."""
    path = write_workbook(tmp_path / "t.xlsx", {"Trips": [HEADER, ROW, ROW]})
    change_sheet(path, f"<v>{(datetime(2025, 3, 3) - datetime(1899, 12, 30)).days}</v>", f"<v>{number!r}</v>")
    changed, other = read(path, "Trips")[1:]
    assert float(changed[1]) == number
    assert other[1:3] == ["2025-03-03", "2025-03-03 07:31:00"]


def test_midnight_is_a_time_where_times_are_shown(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "t.xlsx", {"a": [["at", "day"], [datetime(2025, 3, 3), date(2025, 3, 3)]]})
    assert read(path, "a")[1] == ["2025-03-03 00:00:00", "2025-03-03"]


@pytest.mark.parametrize(
    ("hours", "written"), [(23.5, "23:30:00"), (24, "24:00:00"), (25.25, "25:15:00"), (49, "49:00:00")]
)
def test_hours_after_midnight_stay_hours_of_their_day(hours: float, written: str, tmp_path: Path) -> None:
    """Not moments of 1899, whose day is passed over and whose clock is of the day before."""
    path = write_workbook(tmp_path / "t.xlsx", {"a": [["at"], [time(7, 30)]]})
    change_sheet(path, f"<v>{450 / 1440!r}</v>", f"<v>{hours / 24!r}</v>")
    assert read(path, "a")[1] == [written]


def change_sheet(path: Path, old: str, new: str) -> None:
    """The first of some texts of a sheet, replaced."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text.replace(old, new, 1))


def test_gaps_keep_their_column_and_empty_rows_are_left_out(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "t.xlsx", {"a": [["x", "y", "z"], [None, None, 1], [None, None, None], ["p"]]})
    assert read(path, "a") == [["x", "y", "z"], ["", "", "1"], ["p", "", ""]]


def test_the_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    several = write_workbook(tmp_path / "t.xlsx", {"Notes": [["a"]], "Fahrten & mehr": [HEADER]})
    assert sheets(several) == ["Notes", "Fahrten & mehr"]
    assert the_sheet(several, "Fahrten & mehr") == "Fahrten & mehr"
    for wanted in (None, "Trips"):
        with pytest.raises(TripDataError, match="there are Notes, Fahrten & mehr"):
            the_sheet(several, wanted)
    assert the_sheet(write_workbook(tmp_path / "one.xlsx", {"Only": [HEADER]}), None) == "Only"


@pytest.mark.parametrize("kept", [10, 400, 900])
def test_a_workbook_that_is_cut_off_is_said_to_be(kept: int, tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "t.xlsx", {"Only": [HEADER, ROW]})
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(TripDataError, match=r"t\.xlsx is not a complete Excel workbook"):
        the_sheet(path, None)
