"""Workbooks of Excel, as small as they can be: what Excel itself writes, without its looks."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

_SPACE = "http://schemas.openxmlformats.org"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_MAIN = f'xmlns="{_SPACE}/spreadsheetml/2006/main"'
_STYLES = (
    f'{_HEAD}<styleSheet {_MAIN}><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm"/></numFmts>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="20"/></cellXfs></styleSheet>'
)


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[object]]], *, shared: bool = True) -> Path:
    """A workbook of sheets; texts are shared between cells, as Excel does, or written in them, as libraries do."""
    texts: dict[str, int] = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        listed = "".join(
            f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(sheets, 1)
        )
        links = "".join(
            f'<Relationship Id="rId{n}" Type="t" Target="worksheets/sheet{n}.xml"/>' for n in range(1, len(sheets) + 1)
        )
        spaces = f'{_MAIN} xmlns:r="{_SPACE}/officeDocument/2006/relationships"'
        book = f"{_HEAD}<workbook {spaces}><sheets>{listed}</sheets></workbook>"
        archive.writestr("xl/workbook.xml", book)
        archive.writestr("xl/_rels/workbook.xml.rels", f'{_HEAD}<Relationships xmlns="r">{links}</Relationships>')
        archive.writestr("xl/styles.xml", _STYLES)
        for number, rows in enumerate(sheets.values(), 1):
            body = "".join(_row(at, row, texts if shared else None) for at, row in enumerate(rows, 1))
            archive.writestr(
                f"xl/worksheets/sheet{number}.xml",
                f"{_HEAD}<worksheet {_MAIN}><sheetData>{body}</sheetData></worksheet>",
            )
        if shared:
            items = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
            archive.writestr("xl/sharedStrings.xml", f"{_HEAD}<sst {_MAIN}>{items}</sst>")
    return path


def _row(at: int, row: Sequence[object], texts: dict[str, int] | None) -> str:
    cells = (_cell(f"{_letters(column)}{at}", value, texts) for column, value in enumerate(row) if value is not None)
    return f'<row r="{at}">{"".join(cells)}</row>'


def _cell(where: str, value: object, texts: dict[str, int] | None) -> str:
    zero = datetime(1899, 12, 30)
    if isinstance(value, datetime):
        return f'<c r="{where}" s="2"><v>{(value - zero) / timedelta(days=1)!r}</v></c>'
    if isinstance(value, date):
        return f'<c r="{where}" s="1"><v>{(datetime.combine(value, time()) - zero).days}</v></c>'
    if isinstance(value, time):
        return f'<c r="{where}" s="3"><v>{(60 * value.hour + value.minute) / 1440!r}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{where}"><v>{value}</v></c>'
    if texts is None:
        return f'<c r="{where}" t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'
    return f'<c r="{where}" t="s"><v>{texts.setdefault(str(value), len(texts))}</v></c>'


def _letters(column: int) -> str:
    return ("" if column < 26 else _letters(column // 26 - 1)) + chr(65 + column % 26)
