"""`tapveil convert`: which files there are, and how each is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tapveil.base import atomic
from tapveil.base.errors import ReaderError, UsageError, did_you_mean
from tapveil.published.conversion.delimited import BOM, csv_text
from tapveil.published.conversion.flows import flow_files
from tapveil.published.conversion.geopackage import same_geopackage, write_geopackage
from tapveil.published.conversion.geoparquet import same_geoparquet, write_geoparquet
from tapveil.published.conversion.matrices import same_matrices, write_matrices
from tapveil.published.conversion.sheets import same_workbook, workbook_of
from tapveil.published.conversion.statement import STATEMENT, CsvStyle, Made, Statement
from tapveil.published.folder import Folder

_FORMULA = re.compile(r"(?![+-]?[0-9.,]*$)[=+@\t\r-]")
Files = Iterator[tuple[str, Callable[[Path], object]]]
"""The name of each file, and what writes it."""


def _same_bytes(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()


@dataclass(frozen=True)
class Choice:
    """What can be chosen of a form."""

    style: CsvStyle = field(default_factory=CsvStyle)
    """How CSV is written."""
    tables: tuple[str, ...] | None = None
    """Which tables; None for all of them."""

    def of(self, folder: Folder) -> list[str]:
        """The tables, in the order of the folder."""
        return [name for name in folder.tables if self.tables is None or name in self.tables]


@dataclass(frozen=True)
class Form:
    """A form that a folder can have for another program."""

    files: Callable[[Folder, Choice], Files]
    version: int = 1
    """Of what is written: whoever changes that raises it, and keeps what wrote the earlier ones."""
    same: Callable[[Path, Path], bool] = _same_bytes
    """Whether two files say the same, where a library of others may write them in another way."""
    has_tables: bool = False
    """Whether it holds tables as they are, so that some can be chosen."""


def convert(folder: Folder, to: str, out: Path, choice: Choice | None = None) -> list[Path]:
    """Write a folder in another form, to a folder that may be there; files that are there stay.

    Next to them, `converted.json` says what they are made from, so that anyone can make them again.

    Args:
        folder: The published folder.
        to: `flows`, `gpkg`, `geoparquet`, `xlsx`, `csv` or `omx`.
        out: Where to.
        choice: How CSV is written, and which tables.

    Returns:
        The files.
    """
    if to not in FORMS:
        known = f" (forms: {', '.join(FORMS)})"
        raise ReaderError(f"there is no form `{to}`{did_you_mean(str(to), FORMS) or known}")
    choice = choice or Choice()
    _require(folder, to, choice)
    source = Statement.of(folder)
    stated = Statement.read(out) or source
    if not stated.same_source(source):
        raise UsageError(f"{out} has files of another release, or of a folder that was changed: choose another folder")
    if folder.path.resolve() in (out.resolve(), *out.resolve().parents):
        raise UsageError(f"{out} is in the published folder, which would no longer verify: choose another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
        written = _written(folder, to, out, choice)
        made = Made(
            version=FORMS[to].version,
            style=choice.style if to == "csv" else None,
            tables=choice.tables,
            files={path.name: atomic.sha256(path) for path in written},
        )
        now = stated.model_copy(update={"forms": {**stated.forms, to: made}})
        atomic.write_whole(out / STATEMENT, lambda path: path.write_text(now.text, encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {atomic.why(error)}") from None
    return written


def _require(folder: Folder, to: str, choice: Choice) -> None:
    """ReaderError if tables are chosen that are not there, or of a form that has none."""
    if choice.tables is not None and not FORMS[to].has_tables:
        those = ", ".join(name for name, form in FORMS.items() if form.has_tables)
        raise ReaderError(f"tables cannot be chosen for `{to}`, only for {those}")
    for name in choice.tables or ():
        if name not in folder.tables:
            known = f" (tables: {', '.join(folder.tables)})"
            raise ReaderError(
                f"there is no table `{name}` in {folder.where}{did_you_mean(name, folder.tables) or known}"
            )


def _written(folder: Folder, to: str, out: Path, choice: Choice) -> list[Path]:
    """The files of a form, all of them or none."""
    written = list[Path]()
    try:
        for name, write in FORMS[to].files(folder, choice):
            path = out / name
            if path.exists():
                raise UsageError(f"{path} already exists; choose another folder")
            written.append(path)
            write(path)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return written


def _flows(folder: Folder, _: Choice) -> Files:
    for name, text in flow_files(folder):
        yield name, partial(_write, data=text.encode())


def _geopackage(folder: Folder, choice: Choice) -> Files:
    yield f"{folder.manifest.release}.gpkg", lambda path: write_geopackage(folder, path, choice.of(folder))


def _geoparquet(folder: Folder, _: Choice) -> Files:
    yield f"{folder.manifest.release}.parquet", lambda path: write_geoparquet(folder, path)


def _matrices(folder: Folder, _: Choice) -> Files:
    yield f"{folder.manifest.release}.omx", lambda path: write_matrices(folder, path)


def _csv(folder: Folder, choice: Choice) -> Files:
    style = choice.style
    for name in choice.of(folder):
        frame = folder.table(name)
        rows = zip(*(column.tolist() for column in frame.cells.values()), strict=True)
        text = csv_text(frame.columns, rows, style.delimiter)
        yield f"{name}.csv", partial(_write, data=((BOM if style.bom else "") + text).encode())


def _workbook(folder: Folder, choice: Choice) -> Files:
    data = workbook_of(folder, choice.of(folder))
    yield f"{folder.manifest.release}.xlsx", partial(_write, data=data)


def like_formulas(folder: Folder, choice: Choice) -> list[str]:
    """Texts in CSV files that spreadsheets take for formulas: data of others should not be run."""
    found = set[str]()
    for name in choice.of(folder):
        frame = folder.table(name)
        found.update(text for key in frame.keys for text in set(frame.cells[key].tolist()) if _FORMULA.match(text))
    return sorted(found)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


FORMS: Mapping[str, Form] = {
    "flows": Form(_flows),
    "gpkg": Form(_geopackage, same=same_geopackage, has_tables=True),
    "geoparquet": Form(_geoparquet, same=same_geoparquet),
    "xlsx": Form(_workbook, same=same_workbook, has_tables=True),
    "csv": Form(_csv, has_tables=True),
    "omx": Form(_matrices, same=same_matrices),
}
"""By the word that asks for them."""
