"""A look at an unknown export: its files, their encoding, and some values of each column, spread over all of it.

The values are for `recognition` to look at, and are neither kept nor shown.
"""

from __future__ import annotations

import glob
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tapveil import trips
from tapveil.counting.parquet import plain
from tapveil.csvlines import CsvReading, Encoding, open_bytes
from tapveil.errors import TapveilError, TripDataError
from tapveil.recognition import LOOKED_AT, Sample

MOST_FILES = 12
ROWS_OF_A_PIECE = 1000
"""So many rows are looked at of each piece of a file, and as many pieces as there are."""
MOST_ROWS = 40_000
LONGEST_NAME = 200
"""A column with a longer name is not one that people named."""


def trip_files(path: str) -> list[Path]:
    """The files that a user means by a file, a folder or a pattern."""
    whole = Path(path)
    if whole.is_dir():
        found = sorted(each for each in whole.iterdir() if _may_be_trips(each))
        tables = [each for each in found if each.suffix.lower() != ".txt"]
        found = tables or found  # beside tables, a text explains them
    else:
        matches = glob.glob(path, recursive=True)  # noqa: PTH207 (an absolute pattern)
        found = [whole] if whole.exists() else sorted(map(Path, matches))
    found = [each for each in found if each.is_file()]
    if not found:
        raise TripDataError(
            f"there are no trips at {path}: name a file, a folder with files in it (not folders), or a pattern in "
            "quotes, such as 'trips/*/*.csv'"
        )
    return found


def _may_be_trips(path: Path) -> bool:
    return not path.name.startswith(".") and bool(
        re.search(r"\.(csv|tsv|txt|gz|parquet|pq)$", path.name, re.IGNORECASE)
    )


def encoding_of(files: Sequence[Path]) -> Encoding:
    """UTF-8, unless the first megabyte of a file cannot be that."""
    for path in files[:MOST_FILES]:
        with path.open("rb") as file:
            if file.read(4) == b"PAR1":
                continue
        try:
            with open_bytes(path) as file:
                start = file.read(1 << 20)
        except (OSError, EOFError, zlib.error):
            continue  # what is wrong with it is said when it is read
        try:
            start[: start.rfind(b"\n") + 1].decode()
        except UnicodeDecodeError:
            if not start.startswith((b"\xff\xfe", b"\xfe\xff")):
                return "windows-1252"
    return "utf-8"


def shape_of(path: Path, encoding: Encoding) -> trips.Shape:
    """Format and columns of a file."""
    return trips.inspect(path, _AnySource(encoding), ())


@dataclass(frozen=True)
class _AnySource:
    """All that a first look at a file needs to know of a plan, where there is none yet."""

    encoding: Encoding
    delimiter: None = None


def samples(files: Sequence[Path], encoding: Encoding) -> list[Sample]:
    """Values of each column of the first file that has rows, from it and from others that have the same column."""
    values: dict[str, list[str]] = {}
    columns: dict[str, trips.RawType] = {}
    for path in _spread(files, MOST_FILES):
        shape = shape_of(path, encoding)
        pieces = list(_pieces(path, shape, encoding))
        if not pieces:
            continue
        texts = [_texts(pa.chunked_array([piece.column(index) for piece in pieces])) for index in range(len(shape[1]))]
        if shape[0] == "csv":
            _require_header(path, shape, texts)
        columns = columns or dict(zip(shape[1], shape[2], strict=True))
        for name, found in zip(shape[1], texts, strict=True):
            values.setdefault(name, []).extend(found)
    if not columns:
        raise TripDataError("the files have a header but no trips")
    return [
        Sample(name, raw, _spread(values[name], MOST_ROWS))
        for name, raw in columns.items()
        if name and len(name) <= LONGEST_NAME
    ]


def _spread(things: Sequence[Any], most: int) -> list[Any]:
    """Not more than so many, from first to last."""
    if len(things) <= most:
        return list(things)
    return [things[round(index)] for index in np.linspace(0, len(things) - 1, most)]


def _pieces(path: Path, shape: trips.Shape, encoding: Encoding) -> Iterator[pa.RecordBatch]:
    """Some rows of every piece of a file."""
    reading = CsvReading([path], shape[3], len(shape[1]), range(len(shape[1])), encoding=encoding)
    try:
        batches = pq.ParquetFile(path).iter_batches() if shape[0] == "parquet" else reading.reader()
        for batch in batches:
            if batch.num_rows:
                some = pa.array(_spread(range(batch.num_rows), ROWS_OF_A_PIECE))
                yield pa.record_batch([plain(column).take(some) for column in batch.columns], batch.schema.names)
    except trips.DAMAGED:
        if isinstance(reading.failure, TapveilError):
            raise reading.failure from None
        raise TripDataError(f"{path.name} could not be read; is it damaged, or being written?") from None


def _texts(column: pa.ChunkedArray) -> list[str]:
    """Values as texts; none of a column that has no texts, such as one of lists, or of bytes that are not UTF-8."""
    try:
        return ["" if value is None else value for value in column.cast(pa.string()).to_pylist()]
    except (pa.ArrowException, UnicodeDecodeError):
        return []


def _require_header(path: Path, shape: trips.Shape, texts: Sequence[Sequence[str]]) -> None:
    """A first line that is a trip must not be taken for names: they would be shown, and written into the plan."""
    names = shape[1]
    if 2 * sum(not name for name in names) > len(names):
        raise TripDataError(
            f"the first line of {path.name} leaves most columns without a name: is it a title? Delete it"
        )
    if _is_a_moment(names) or any(_is_value(name, values) for name, values in zip(names, texts, strict=True)):
        raise TripDataError(f"the first line of {path.name} seems to be a trip; it must name the columns")


_DIGITS = re.compile(r"[0-9]")


def _is_a_moment(names: Sequence[str]) -> bool:
    """Whether one of the names is a time or a date; many at once, as each way to write them takes long to prepare."""
    some = [Sample("", "text", names[start : start + LOOKED_AT]) for start in range(0, len(names), LOOKED_AT)]
    return any(each.read_as(kind).share > 0 for each in some for kind in ("time", "date"))


def _is_value(name: str, values: Sequence[str]) -> bool:
    """Whether the name of a column is one of its values, or like them, or what no column is called, such as 07:31."""
    if not name:
        return False
    if re.search(r"[0-9]{5}|[0-9]:[0-9]", name):
        return True
    known = {value.strip() for value in values}
    alike = {_DIGITS.sub("0", value) for value in known} if _DIGITS.search(name) else set()
    return name in known or _DIGITS.sub("0", name) in alike
