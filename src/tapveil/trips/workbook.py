"""Trips in a workbook of Excel: a sheet of it, as the CSV text that it would be exported as.

A workbook (ECMA-376) is a zip archive of XML files. A sheet has at most about a million rows, so it is held in memory.
Days and times are numbers there, shown as such by their style: they are written here as 2016-08-08 07:31:00.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from tapveil.base.errors import TripDataError

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_Shown = Literal["day", "time"]
_DATES, _TIMES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}, {*range(18, 23), *range(45, 48)}
_BUILT_IN: dict[int, _Shown] = {number: "time" if number in _TIMES else "day" for number in _DATES}
"""The built-in styles that show a number as a day, or with a time (ECMA-376, 18.8.30)."""
_A_DATE, _A_TIME = re.compile(r"[ymdhs]", re.IGNORECASE), re.compile(r"[hs]", re.IGNORECASE)
_NOT_SHOWN = re.compile(r'"[^"]*"|\\.|\[(?![hms]+\])[^\]]*\]|General', re.IGNORECASE)
_LAST = 2_958_466 - 1462
"""From this number on, counted from 1904, there is no day: such a number stays one, and refuses its row alone."""
_A_YEAR = 366
"""Below it a number that is shown with a time has hours and no day: nobody travelled in 1900."""
MOST_BYTES = 1 << 32
"""An archive that claims to be larger is not unpacked."""


def is_workbook(path: Path) -> bool:
    """Whether a file is to be read as a workbook: by its name."""
    return path.suffix.lower() in (".xlsx", ".xlsm")


def sheets(path: Path) -> list[str]:
    """The names of its sheets, in their order."""
    with _Workbook(path) as book:
        return list(book.sheets)


def the_sheet(path: Path, wanted: str | None) -> str:
    """The sheet that has the trips: the one that is named, or the only one."""
    known = sheets(path)
    if wanted is None and len(known) == 1:
        return known[0]
    if wanted not in known:
        missing = f"has no sheet `{wanted}`" if wanted else "has several sheets"
        raise TripDataError(f'{path.name} {missing}: write [source] sheet = "…"; there are {", ".join(known)}')
    return wanted


def as_csv(path: Path, sheet: str, header: int = 1, trips: int = 1) -> io.BytesIO:
    """A sheet as CSV, in UTF-8, every field in quotes; rows without anything are left out.

    So are rows above the header, and those between it and the first trip, as Excel numbers them.
    """
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    with _Workbook(path) as book:
        width = 0
        for number, row in book.rows(sheet):
            if number < header or (width and number < trips):
                continue
            width = width or len(row)
            writer.writerow([*row, *[""] * (width - len(row))])
    return io.BytesIO(text.getvalue().encode())


def first_rows(path: Path, sheet: str, most: int) -> list[tuple[int, list[str]]]:
    """The first rows of a sheet that have anything in them, each with its number."""
    with _Workbook(path) as book:
        return list(itertools.islice(book.rows(sheet), most))


class _Workbook:
    """An open workbook."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> _Workbook:
        try:
            self._archive = zipfile.ZipFile(self._path)
            book = self._xml("xl/workbook.xml")
            linked = {link.get("Id"): link.get("Target", "") for link in self._xml("xl/_rels/workbook.xml.rels")}
        except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, EOFError):
            raise TripDataError(f"{self._path.name} is not a complete Excel workbook; copy it again") from None
        if sum(member.file_size for member in self._archive.infolist()) > MOST_BYTES:
            raise TripDataError(f"{self._path.name} is too large for a workbook; export the trips as CSV")
        listed = book.iter(f"{_MAIN}sheet")
        self.sheets = {each.get("name", ""): linked.get(each.get(_LINK), "") for each in listed}
        about = book.find(f"{_MAIN}workbookPr")
        from_1904 = about is not None and about.get("date1904") in ("1", "true")
        self._zero = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30)
        return self

    def __exit__(self, *error: object) -> None:
        self._archive.close()

    def rows(self, sheet: str) -> Iterator[tuple[int, list[str]]]:
        """The rows of a sheet that have anything in them, as texts, each with its number."""
        target = self.sheets[sheet].lstrip("/")
        name = target if target.startswith("xl/") else f"xl/{target}"
        try:
            number, texts, dates = 0, self._shared_texts(), self._date_styles()
            with self._archive.open(name) as file:
                for _, row in ElementTree.iterparse(file):  # noqa: S314 (the custodian's own file; expat refuses bombs)
                    if row.tag == f"{_MAIN}row":
                        number = int(row.get("r") or number + 1)
                        if any(values := self._values(row, texts, dates)):
                            yield number, values
                        row.clear()
        except (KeyError, IndexError, ValueError, EOFError, zipfile.BadZipFile, ElementTree.ParseError):
            raise TripDataError(f"{self._path.name} is damaged, or not a workbook of Excel; export it as CSV") from None

    def _values(self, row: ElementTree.Element, texts: list[str], dates: list[_Shown | None]) -> list[str]:
        values: list[str] = []
        for cell in row.iter(f"{_MAIN}c"):
            column = _column(cell.get("r", "")) if cell.get("r") else len(values)
            values += [""] * (column - len(values))
            values.append(" ".join(self._value(cell, texts, dates).split("\n")).replace("\r", ""))
        return values

    def _value(self, cell: ElementTree.Element, texts: list[str], dates: list[_Shown | None]) -> str:
        kind, given = cell.get("t", "n"), cell.findtext(f"{_MAIN}v") or ""
        if kind == "s":
            return texts[int(given)]
        if kind == "inlineStr":
            return "".join(part.text or "" for part in cell.iter(f"{_MAIN}t"))
        if kind != "n" or not given:
            return given
        style = int(cell.get("s", "0"))
        shown = dates[style] if style < len(dates) else None
        return self._moment(float(given), shown) if shown and 0 <= float(given) < _LAST else _number(given)

    def _moment(self, days: float, shown: _Shown) -> str:
        """A day, a time of day, or both: what the number has of them; midnight where a time is shown."""
        seconds = round(days * 86400)
        if days < (_A_YEAR if shown == "time" else 1):  # 24:10 of a service day is a number above 1
            return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        moment = self._zero + timedelta(seconds=seconds)
        whole = days == int(days) and shown == "day"
        return f"{moment:%Y-%m-%d}" if whole else f"{moment:%Y-%m-%d %H:%M:%S}"

    def _shared_texts(self) -> list[str]:
        if "xl/sharedStrings.xml" not in self._archive.namelist():
            return []
        listed = self._xml("xl/sharedStrings.xml").iter(f"{_MAIN}si")
        return ["".join(part.text or "" for part in each.iter(f"{_MAIN}t")) for each in listed]

    def _date_styles(self) -> list[_Shown | None]:
        """Which styles of cells show a number as a day, or with a time."""
        if "xl/styles.xml" not in self._archive.namelist():
            return []
        styles = self._xml("xl/styles.xml")
        formats = {each.get("numFmtId"): each.get("formatCode", "") for each in styles.iter(f"{_MAIN}numFmt")}
        codes = {number: _NOT_SHOWN.sub("", code) for number, code in formats.items()}
        used = styles.find(f"{_MAIN}cellXfs")
        numbers = [each.get("numFmtId", "0") for each in used] if used is not None else []
        return [_shown(codes[number]) if number in codes else _BUILT_IN.get(int(number)) for number in numbers]

    def _xml(self, name: str) -> ElementTree.Element:
        return ElementTree.fromstring(self._archive.read(name))  # noqa: S314 (the custodian's own file)


def _shown(code: str) -> _Shown | None:
    """What a format of numbers shows of a moment.

    >>> _shown("yyyy-mm-dd"), _shown("dd.mm.yyyy hh:mm"), _shown("[h]:mm"), _shown("0.00")
    ('day', 'time', 'time', None)
    """
    return "time" if _A_TIME.search(code) else "day" if _A_DATE.search(code) else None


def _column(reference: str) -> int:
    """The number of a column, from 0.

    >>> _column("A1"), _column("Z9"), _column("AB12")
    (0, 25, 27)
    """
    number = 0
    for letter in re.match(r"[A-Z]*", reference)[0]:  # type: ignore[index]
        number = 26 * number + ord(letter) - 64
    return number - 1


def _number(given: str) -> str:
    """A number without the digits that only a float has."""
    value = float(given)
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
