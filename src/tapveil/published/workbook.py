"""Workbooks of Excel (ECMA-376), as small as they can be: sheets of texts, numbers and days, the same bytes everywhere.

Nothing is compressed unless it is asked for, as programs differ in how they do it, and all files in it are of one day.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_DAY = (1980, 1, 1, 0, 0, 0)
_HEADERS, _END = 30 + 46, 22
"""Bytes that an archive has for each file, besides its name twice, and at its end (APPNOTE 4.3)."""
_LARGEST = 2**30
"""Bytes of a sheet."""
_STYLES_KIND = f'<Override PartName="/xl/styles.xml" ContentType="{_TYPES}.styles+xml"/>'
_STYLES = (  # the second style of cells is that of days
    f'<styleSheet xmlns="{_MAIN}"><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts>'
    '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)

_ZERO = date(1899, 12, 30)
"""The day before the first of Excel's days, which has a day too many in 1900."""
_FIRST = "1900-03-01"
DAY: Literal["day"] = "day"

Cell = tuple[str, bool | Literal["day"]]
"""A text, and whether it is a number if it looks like one, or a day, written as in 2025-03-03."""


def workbook(
    sheets: Mapping[str, Iterable[Sequence[Cell]]], names: Mapping[str, str] | None = None, *, compressed: bool = False
) -> bytes:
    """A workbook with these sheets, each of rows; and names for some of their ranges, such as `total!$C$2:$C$9`."""
    sheets = {name: list(rows) for name, rows in sheets.items()}
    dated = any(kind == DAY for rows in sheets.values() for row in rows for _, kind in row)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:

        def add(name: str, text: str) -> None:
            info = zipfile.ZipInfo(name, _DAY)
            info.create_system = 0  # else it depends on the machine
            archive.writestr(info, _HEAD + text, zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED)

        numbers = range(1, len(sheets) + 1)
        kinds = "".join(
            f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_TYPES}.worksheet+xml"/>'
            for number in numbers
        )
        kinds += _STYLES_KIND if dated else ""
        add(
            "[Content_Types].xml",
            f'<Types xmlns="{_PACKAGE}/content-types">'
            f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>{kinds}</Types>',
        )
        add("_rels/.rels", _links([("officeDocument", "xl/workbook.xml")]))
        parts = [("worksheet", f"worksheets/sheet{number}.xml") for number in numbers]
        add("xl/_rels/workbook.xml.rels", _links([*parts, *([("styles", "styles.xml")] if dated else [])]))
        named = "".join(
            f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="rId{number}"/>'
            for number, name in enumerate(sheets, 1)
        )
        ranges = "".join(
            f"<definedName name={quoteattr(name)}>{escape(of)}</definedName>"
            for name, of in sorted((names or {}).items())
        )
        listed = f"<sheets>{named}</sheets>" + (f"<definedNames>{ranges}</definedNames>" if ranges else "")
        add("xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">{listed}</workbook>')
        if dated:
            add("xl/styles.xml", _STYLES)
        for number, rows in enumerate(sheets.values(), 1):
            lines = "".join(f'<row r="{at}">{_row(row, at)}</row>\n' for at, row in enumerate(rows, 1))
            add(
                f"xl/worksheets/sheet{number}.xml",
                f'<worksheet xmlns="{_MAIN}"><sheetData>\n{lines}</sheetData></worksheet>',
            )
    return written.getvalue()


def contents(path: Path, most: int | None = None) -> list[tuple[str, bytes]] | None:
    """The files of a workbook as tapveil writes it; None of one with room for anything else, or that is damaged.

    `most`: bytes that all of them may have together; of a workbook of others.
    """
    try:
        size, used, unpacked = path.stat().st_size, _END, 0
        with zipfile.ZipFile(path) as archive:
            for each in archive.infolist():
                used += each.compress_size + _HEADERS + 2 * len(each.filename.encode())
                unpacked += each.file_size
                too_large = each.file_size > _LARGEST or (most is not None and unpacked > most)
                if each.extra or each.comment or each.date_time != _DAY or too_large:
                    return None
            return [(name, archive.read(name)) for name in archive.namelist()] if size == used else None
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        return None


def _links(targets: Sequence[tuple[str, str]]) -> str:
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'


def _row(cells: Sequence[Cell], at: int) -> str:
    return "".join(_cell(text, f"{letters(column)}{at}", number) for column, (text, number) in enumerate(cells) if text)


def _cell(text: str, place: str, number: bool | Literal["day"]) -> str:
    if number == DAY and text >= _FIRST:
        return f'<c r="{place}" s="1"><v>{(date.fromisoformat(text) - _ZERO).days}</v></c>'
    if number is True and _NUMBER.fullmatch(text):
        return f'<c r="{place}"><v>{text}</v></c>'
    shown = escape(_NOT_XML.sub("\ufffd", text))
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{shown}</t></is></c>'


def letters(column: int) -> str:
    """What a column is called, from 0 on.

    >>> [letters(column) for column in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    found = ""
    while column >= 0:
        column, last = divmod(column, 26)
        found, column = chr(65 + last) + found, column - 1
    return found
