"""CSV as people write it, quotes only where needed: the one way in which a folder has it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS_AT_ONCE = 100_000
_NEEDS_QUOTES = r'[",\r\n]'


def csv_bytes(cells: pa.Table, *, header: bool = True) -> bytes:
    """A table as CSV (Arrow's own writer quotes every text).

    >>> csv_bytes(pa.table({"stop": ["Central", "a, b"], "count": [18, 20]})).decode().splitlines()
    ['stop,count', 'Central,18', '"a, b",20']
    """
    names = _line([pa.array([name], pa.string()) for name in cells.column_names]) if header else b""
    if not len(cells):
        return names
    columns = [column.combine_chunks() for column in cells.columns]
    texts = [pa.chunked_array([column]).cast(pa.string()).combine_chunks() for column in columns]
    return names + _line(
        [_quoted(text) if pa.types.is_string(c.type) else text for text, c in zip(texts, columns, strict=True)]
    )


def _line(columns: list[pa.Array]) -> bytes:
    lines = pc.binary_join_element_wise(*columns, ",")
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "\n")
    return bytes(whole[0].as_buffer()) + b"\n"


def _quoted(texts: pa.Array) -> pa.Array:
    coded = texts.dictionary_encode()  # there are far fewer texts than rows
    needed = pc.match_substring_regex(coded.dictionary, _NEEDS_QUOTES)
    if not pc.any(needed).as_py():
        return texts
    doubled = pc.replace_substring(coded.dictionary, '"', '""')
    quoted = pc.if_else(needed, pc.binary_join_element_wise('"', doubled, '"', ""), coded.dictionary)
    return quoted.take(coded.indices)


def write_csv(path: Path, cells: Iterable[pa.Table]) -> None:
    """The rows of some tables of the same columns, one after the other."""
    with path.open("wb") as file:
        for number, piece in enumerate(cells):
            file.write(csv_bytes(piece, header=number == 0))


def pieces_of(parquet: Path) -> Iterable[pa.Table]:
    """The rows of a Parquet file, some at a time; of one without rows, its columns."""
    with pq.ParquetFile(parquet) as file:
        yield file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            yield pa.Table.from_batches([batch])
