"""Workbooks calculated, and documents printed, by LibreOffice; required where `TAPVEIL_OFFICE` says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest


def calculated(book: Path, sheets: Sequence[Mapping[str, str | Sequence[Any]]]) -> list[dict[str, Any]]:
    """What is in new sheets of a workbook: cells, or ranges, with a formula, or with values one after the other.

    The formula of a range is that of its first cell, filled down and to the right.
    """
    soffice = _program("calc")
    openpyxl = pytest.importorskip("openpyxl")
    opened = openpyxl.load_workbook(book)
    for number, typed in enumerate(sheets):
        sheet = opened.create_sheet(f"q{number}")
        for cells, text in typed.items():
            _fill(sheet, cells, text)
    with tempfile.TemporaryDirectory() as home:
        place = Path(home)
        opened.save(place / "asked.xlsx")
        profile = f"-env:UserInstallation={(place / 'profile').as_uri()}"
        command = [soffice, profile, "--headless", "--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir"]
        done = subprocess.run(
            [*command, str(place / "out"), str(place / "asked.xlsx")], capture_output=True, text=True, check=False
        )
        assert (place / "out" / "asked.xlsx").is_file(), done.stderr
        answered = openpyxl.load_workbook(place / "out" / "asked.xlsx", data_only=True)
    return [
        {cell.coordinate: cell.value for row in answered[f"q{number}"].iter_rows() for cell in row}
        for number in range(len(sheets))
    ]


def _fill(sheet: Any, cells: str, text: str | Sequence[Any]) -> None:
    from openpyxl.formula.translate import Translator

    found = sheet[cells]
    every = [cell for row in found for cell in row] if isinstance(found, tuple) else [found]
    for place, cell in enumerate(every):
        if isinstance(text, str):
            cell.value = Translator(text, origin=every[0].coordinate).translate_formula(cell.coordinate)
        else:
            cell.value = text[place]


def printed(document: Path) -> bytes:
    """A document as a PDF file."""
    soffice = _program("writer")
    with tempfile.TemporaryDirectory() as home:
        profile = f"-env:UserInstallation={(Path(home) / 'profile').as_uri()}"
        command = [soffice, profile, "--headless", "--convert-to", "pdf", "--outdir", home, str(document)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        made = (Path(home) / document.name).with_suffix(".pdf")
        assert made.is_file(), done.stderr
        return made.read_bytes()


PARTS = {"calc": "libsclo", "writer": "libswlo"}
"""A machine may have one of them alone."""


def _program(part: str) -> str:
    found = shutil.which("soffice")
    if found and _has(found, part):
        return found
    if os.environ.get("TAPVEIL_OFFICE") == "required":
        pytest.fail(f"LibreOffice is required here (Debian: libreoffice-{part}-nogui)")
    pytest.skip(f"no LibreOffice on this machine, or not its {part}")


def _has(soffice: str, part: str) -> bool:
    folder = Path(soffice).resolve().parent
    return any((folder / f"{PARTS[part]}.{ending}").exists() for ending in ("so", "dylib"))


if __name__ == "__main__":
    where = shutil.which("soffice")
    sys.exit(0 if where and all(_has(where, part) for part in PARTS) else 1)
