"""`tapveil convert`: which files there are, and how each is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from tapveil.base.errors import FolderError, UsageError
from tapveil.published.conversion.flows import flow_files
from tapveil.published.conversion.geopackage import write_geopackage
from tapveil.published.conversion.matrices import write_matrices
from tapveil.published.describe.wording import loss_in_words
from tapveil.published.folder import Folder
from tapveil.published.frame import Frame
from tapveil.published.workbook import Cell, workbook

MOST_ROWS = 1_048_576
"""Of a sheet of Excel."""
BOM = "\ufeff"
"""By which Excel knows that a file is UTF-8."""


def convert(folder: Folder, to: str, out: Path) -> list[Path]:
    """Write a folder in another form, to a folder that may be there; files that are there stay.

    Args:
        folder: The published folder.
        to: `flows`, `gpkg`, `xlsx`, `csv` or `omx`.
        out: Where to.

    Returns:
        The files.
    """
    if to not in FORMS:
        raise UsageError(f"there is no form `{to}`: {', '.join(FORMS)}")
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, write in FORMS[to](folder):
        path = out / name
        if path.exists():
            raise UsageError(f"{path} already exists; choose another folder")
        try:
            write(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        written.append(path)
    return written


Files = Iterator[tuple[str, Callable[[Path], object]]]


def _flows(folder: Folder) -> Files:
    for name, text in flow_files(folder):
        yield name, partial(_write, data=text.encode())


def _geopackage(folder: Folder) -> Files:
    yield f"{folder.manifest.release}.gpkg", lambda path: write_geopackage(folder, path)


def _matrices(folder: Folder) -> Files:
    yield f"{folder.manifest.release}.omx", lambda path: write_matrices(folder, path)


def _csv(folder: Folder) -> Files:
    from tapveil.published.csv import csv_bytes  # which needs pyarrow

    for name in folder.tables:
        yield f"{name}.csv", partial(_write, data=BOM.encode() + csv_bytes(folder.table(name).to_arrow()))


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _workbook(folder: Folder) -> Files:
    frames = {name: folder.table(name) for name in folder.tables}
    if large := [name for name, frame in frames.items() if len(frame) >= MOST_ROWS]:
        raise FolderError(f"table `{large[0]}` has more rows than a sheet of Excel: {MOST_ROWS:,}")
    sheets = {"About": _about(folder)}
    for name, frame in frames.items():
        sheets[_sheet_name(name, sheets)] = _rows(frame)
    yield f"{folder.manifest.release}.xlsx", lambda path: path.write_bytes(workbook(sheets))


def _about(folder: Folder) -> list[list[Cell]]:
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


def _rows(frame: Frame) -> list[list[Cell]]:
    columns = [
        [("" if value is None else str(value), np.ma.getdata(column).dtype != object) for value in column.tolist()]
        for column in frame.cells.values()
    ]
    return [[(name, False) for name in frame.columns], *map(list, zip(*columns, strict=True))]


def _sheet_name(name: str, taken: Mapping[str, object]) -> str:
    """At most 31 characters, and none twice."""
    short = name[:31]
    number = 2
    while short.casefold() in {each.casefold() for each in taken}:
        short, number = f"{name[:28]}~{number}", number + 1
    return short


FORMS: Mapping[str, Callable[[Folder], Files]] = {
    "flows": _flows,
    "gpkg": _geopackage,
    "xlsx": _workbook,
    "csv": _csv,
    "omx": _matrices,
}
"""By the word that asks for them."""
