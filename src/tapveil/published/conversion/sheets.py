"""A folder as a workbook of Excel: notes, the noise, places, and a sheet for each table, with names for its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from tapveil.base.errors import FolderError
from tapveil.base.vocabulary import PLACES
from tapveil.published.conversion.places import places
from tapveil.published.describe.wording import loss_in_words
from tapveil.published.folder import Folder
from tapveil.published.frame import DATE, Frame
from tapveil.published.workbook import DAY, Cell, contents, letters, workbook

MOST_ROWS = 1_048_576
"""Of a sheet of Excel."""
MOST_STORED = 20_000
"""Rows of a workbook that is not compressed, so that its bytes are the same everywhere."""
LONGEST_NAME = 31
_NO_LETTER = re.compile(r"[^\w.]")
_IS_DAY = re.compile(r"\d{4}-\d\d-\d\d")
Rows = list[list[Cell]]


def workbook_of(folder: Folder, tables: Sequence[str]) -> bytes:
    """The workbook: in formulas, `on_time.count` is the column `count` of the sheet `on_time`."""
    frames = {name: folder.table(name) for name in tables}
    _require_rows(frames)
    sheets = {"About": _about(folder), "Noise": _noise(folder)}
    if folder.file(PLACES).is_file():
        sheets["Places"] = _places(folder)
    names = {name: name for name in sheets if name != "About"}
    for name, frame in frames.items():
        names[name] = _sheet_name(name, sheets)
        sheets[names[name]] = _rows(frame)
    ranges = {
        _NO_LETTER.sub(
            "_", f"{name}.{column}"
        ): f"'{sheet}'!${letters(at)}$2:${letters(at)}${max(len(sheets[sheet]), 2)}"
        for name, sheet in names.items()
        for at, (column, _) in enumerate(sheets[sheet][0])
    }
    rows = sum(len(frame) for frame in frames.values())
    return workbook(sheets, ranges, compressed=rows > MOST_STORED)


def _require_rows(frames: Mapping[str, Frame]) -> None:
    """FolderError if a table has more rows than a sheet, which names the tables that have not."""
    sizes = {name: len(frame) for name, frame in frames.items()}
    large = [name for name, rows in sizes.items() if rows >= MOST_ROWS]
    if not large:
        return
    said = ", ".join(f"`{name}` has {sizes[name]:,}" for name in large)
    others = [f"--table {name}" for name in sizes if name not in large]
    instead = f"choose others with {' '.join(others)}, or " if others else ""
    raise FolderError(
        f"a sheet of Excel has at most {MOST_ROWS:,} rows with its header: {said}; "
        f"{instead}take --to csv, or the Parquet files of the folder"
    )


def same_workbook(one: Path, other: Path) -> bool:
    """Whether two workbooks hold the same files; those of large ones are compressed, as programs do it differently."""
    if one.read_bytes() == other.read_bytes():
        return True
    ours = contents(one)
    return ours is not None and ours == contents(other, sum(len(data) for _, data in ours))


def _about(folder: Folder) -> Rows:
    manifest = folder.manifest
    lines = [
        ("Title", manifest.title),
        ("Release", manifest.release_id),
        ("Guarantee", f"{loss_in_words(manifest.exact.loss)}; protected is a {manifest.unit}"),
        ("count", "the published number: the true one plus noise"),
        ("low, high", "the true count lies between them in at least 19 of 20 cells"),
    ]
    lines += [
        (table.name, f"{table.in_words}; a cell that is missing is not zero: it has {table.absent_95} at most, mostly")
        for table in manifest.tables
    ]
    return [[(key, False), (text, False)] for key, text in lines]


def _noise(folder: Folder) -> Rows:
    """How far numbers of each table are off, and what a cell that is not listed has at most."""
    tables = folder.manifest.tables
    rows = [(each.name, each.error_95, each.smallest_published, each.absent_95) for each in tables]
    return _sheet(("table", "error_95", "smallest_published", "absent_95"), rows, (False, True, True, True))


def _places(folder: Folder) -> Rows:
    rows = [(each.mode, each.name, each.title, each.latitude, each.longitude) for each in places(folder)]
    return _sheet(("mode", "name", "title", "latitude", "longitude"), rows, (False, False, False, True, True))


def _rows(frame: Frame) -> Rows:
    kinds = [DAY if _has_days(frame, name) else column.dtype != object for name, column in _data(frame).items()]
    return _sheet(frame.columns, zip(*(each.tolist() for each in frame.cells.values()), strict=True), kinds)


def _data(frame: Frame) -> dict[str, np.ndarray]:
    return {name: np.ma.getdata(column) for name, column in frame.cells.items()}


def _has_days(frame: Frame, column: str) -> bool:
    return column == DATE and all(map(_IS_DAY.fullmatch, set(frame.cells[column].tolist())))


def _sheet(header: Sequence[str], rows: Iterable[Sequence[object]], kinds: Sequence[bool | Literal["day"]]) -> Rows:
    cells: Rows = [[(name, False) for name in header]]
    for row in rows:
        cells.append([("" if value is None else str(value), kind) for value, kind in zip(row, kinds, strict=True)])
    return cells


def _sheet_name(name: str, taken: Mapping[str, object]) -> str:
    """At most 31 characters, and none twice."""
    short = name[:LONGEST_NAME]
    number = 2
    while short.casefold() in {each.casefold() for each in taken}:
        short, number = f"{name[: LONGEST_NAME - 3]}~{number}", number + 1
    return short
