"""CSV as people write it, quotes only where needed: the one way in which a folder has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS_AT_ONCE = 50_000
"""Few enough that the memory of one piece serves the next: new memory costs more than the writing."""
_NEEDS_QUOTES = r'[",\r\n]'
_QUOTED_MARKS = (b'"', b",", b"\r", b"\n")


def csv_bytes(cells: pa.Table, *, header: bool = True) -> bytes:
    """A table as CSV (Arrow's own writer quotes every text).

    >>> csv_bytes(pa.table({"stop": ["Central", "a, b"], "count": [18, 20]})).decode().splitlines()
    ['stop,count', 'Central,18', '"a, b",20']
    """
    names = _line([pa.array([name], pa.string()) for name in cells.column_names]) if header else b""
    if not len(cells):
        return names
    columns = [column.combine_chunks() for column in cells.columns]
    return names + _line([_quoted(each) if pa.types.is_string(each.type) else each.cast("string") for each in columns])


def _line(columns: list[pa.Array]) -> bytes:
    lines = pc.binary_join_element_wise(*columns, ",")
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "\n")
    return bytes(whole[0].as_buffer()) + b"\n"


def _quoted(texts: pa.Array) -> pa.Array:
    _, ends, characters = texts.buffers()
    places = memoryview(ends).cast("i")
    every = bytes(memoryview(characters)[places[texts.offset] : places[texts.offset + len(texts)]])
    if not any(mark in every for mark in _QUOTED_MARKS):
        return texts
    coded = texts.dictionary_encode()  # there are far fewer texts than rows
    needed = pc.match_substring_regex(coded.dictionary, _NEEDS_QUOTES)
    doubled = pc.replace_substring(coded.dictionary, '"', '""')
    quoted = pc.if_else(needed, pc.binary_join_element_wise('"', doubled, '"', ""), coded.dictionary)
    return quoted.take(coded.indices)


def write_csv(path: Path, cells: Iterable[pa.Table]) -> None:
    """The rows of some tables of the same columns, one after the other."""
    with path.open("wb") as file:
        for number, piece in enumerate(cells):
            file.write(csv_bytes(piece, header=number == 0))


def pieces(cells: pa.Table) -> Iterator[pa.Table]:
    """The rows of a table, some at a time; of one without rows, its columns."""
    for start in range(0, max(len(cells), 1), ROWS_AT_ONCE):
        yield cells.slice(start, ROWS_AT_ONCE)


def pieces_of(parquet: Path) -> Iterator[pa.Table]:
    """The rows of a Parquet file, some at a time; of one without rows, its columns."""
    with pq.ParquetFile(parquet) as file:
        yield file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            yield pa.Table.from_batches([batch])
