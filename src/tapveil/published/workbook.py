"""Workbooks of Excel (ECMA-376), as small as they can be: sheets of texts and numbers, the same bytes everywhere.

Nothing is compressed, as programs differ in how they do it, and all files in it are of one day.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_DAY = (1980, 1, 1, 0, 0, 0)

Cell = tuple[str, bool]
"""A text, and whether it is a number if it looks like one."""


def workbook(sheets: Mapping[str, Iterable[Sequence[Cell]]]) -> bytes:
    """A workbook with these sheets, each of rows."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:

        def add(name: str, text: str) -> None:
            info = zipfile.ZipInfo(name, _DAY)
            info.create_system = 0  # else it depends on the machine
            archive.writestr(info, _HEAD + text)

        numbers = range(1, len(sheets) + 1)
        kinds = "".join(
            f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_TYPES}.worksheet+xml"/>'
            for number in numbers
        )
        add(
            "[Content_Types].xml",
            f'<Types xmlns="{_PACKAGE}/content-types">'
            f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>{kinds}</Types>',
        )
        add("_rels/.rels", _links([("officeDocument", "xl/workbook.xml")]))
        add(
            "xl/_rels/workbook.xml.rels", _links([("worksheet", f"worksheets/sheet{number}.xml") for number in numbers])
        )
        named = "".join(
            f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="rId{number}"/>'
            for number, name in enumerate(sheets, 1)
        )
        add("xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{named}</sheets></workbook>')
        for number, rows in enumerate(sheets.values(), 1):
            lines = "".join(f'<row r="{at}">{_row(row, at)}</row>\n' for at, row in enumerate(rows, 1))
            add(
                f"xl/worksheets/sheet{number}.xml",
                f'<worksheet xmlns="{_MAIN}"><sheetData>\n{lines}</sheetData></worksheet>',
            )
    return written.getvalue()


def _links(targets: Sequence[tuple[str, str]]) -> str:
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'


def _row(cells: Sequence[Cell], at: int) -> str:
    return "".join(
        _cell(text, f"{_letters(column)}{at}", number) for column, (text, number) in enumerate(cells) if text
    )


def _cell(text: str, place: str, number: bool) -> str:
    if number and _NUMBER.fullmatch(text):
        return f'<c r="{place}"><v>{text}</v></c>'
    shown = escape(_NOT_XML.sub("\ufffd", text))
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{shown}</t></is></c>'


def _letters(column: int) -> str:
    """What a column is called, from 0 on.

    >>> [_letters(column) for column in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    found = ""
    while column >= 0:
        column, last = divmod(column, 26)
        found, column = chr(65 + last) + found, column - 1
    return found
