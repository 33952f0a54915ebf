"""Trips in Parquet files: one trip per row, as columns of the types that the files state.

A value that its type does not allow, such as text that is not UTF-8 or a time of day beyond 24 hours, refuses only its
row, like a broken line in CSV (`csv_reader`). DuckDB reads Parquet faster, but stops at such a value; then it gets the
rows that are read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapveil.base.errors import TripDataError
from tapveil.trips.buffers import Integers, Positions, per_day
from tapveil.trips.csv_reader import FEW, Reading
from tapveil.trips.files import DAMAGED
from tapveil.trips.reasons import ILL_TYPED

UNREADABLE = "a trip file could not be read to its end; check that none is damaged or being written"
ROWS = 1 << 18
BUFFER = 1 << 20
FARTHEST = 9 * 10**15
"""The maximum distance of timestamps in milliseconds from 1970 in DuckDB; beyond any calendar."""

_NONE: Positions = np.empty(0, dtype=np.intp)


@dataclass
class ParquetReading(Reading):
    """One pass over Parquet files with the same columns."""

    paths: Sequence[Path]
    columns: Sequence[str]
    listed: Sequence[str] = ()
    """Which of them are dictionary-encoded."""
    unchecked: Sequence[str] = ()
    """Which of them are not checked and refuse no row."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows of all files, once, except refused ones."""
        return (batch for _, _, batch in self._pieces() if batch.num_rows)

    def reader(self, names: Sequence[str], *, numbered: bool = False) -> pa.RecordBatchReader:
        """The same rows for an engine, with other names, and with types that it knows.

        With `numbered`, also the position of a row: `field_file`, the number of its path, and `field_line`.
        """
        place = ("field_line", "field_file") if numbered else ()
        schema = pq.read_schema(self.paths[0])  # files of a group have the same types
        types = [_for_engine(plain(pa.nulls(0, schema.field(name).type))).type for name in self.columns]
        given = pa.schema(zip((*names, *place), (*types, *(pa.int64() for _ in place)), strict=True))

        def batches() -> Iterator[pa.RecordBatch]:
            for file, rows, batch in self._pieces():
                where = [rows + 1, np.full(len(rows), file, dtype=np.int64)] if numbered else []
                yield pa.record_batch([*map(_for_engine, batch.columns), *map(pa.array, where)], schema=given)

        return pa.RecordBatchReader.from_batches(given, batches())

    def _pieces(self) -> Iterator[tuple[int, Integers, pa.RecordBatch]]:
        """The number of a file, the numbers of some of its rows, and these rows."""
        columns, listed = list(self.columns), list(self.listed)
        try:
            # Arrow would dictionary-encode such columns itself, and stop at a broken text.
            schema = pq.read_schema(self.paths[0])
            listed += [name for name in columns if pa.types.is_dictionary(schema.field(name).type)]
            for number, path in enumerate(self.paths):
                before, size, done = self.bytes_read, path.stat().st_size, 0
                with pq.ParquetFile(path, read_dictionary=listed, buffer_size=BUFFER, pre_buffer=False) as file:
                    rows = max(1, file.metadata.num_rows)
                    for batch in file.iter_batches(ROWS, columns=columns, use_threads=False):
                        done += batch.num_rows
                        self.bytes_read = before + size * min(1, done / rows)
                        yield number, *self._sound(path, batch.select(columns), done - batch.num_rows)
        except DAMAGED:
            self.failure = TripDataError(UNREADABLE)
            raise self.failure from None

    def _sound(self, path: Path, batch: pa.RecordBatch, first: int) -> tuple[Integers, pa.RecordBatch]:
        """The rows whose values are all valid for their types; the others are counted, and the first ones located."""
        rows = np.arange(first, first + batch.num_rows, dtype=np.int64)
        columns, refused = [], [_NONE]
        for name, column in zip(self.columns, map(plain, batch.columns), strict=True):
            checked, wrong = (column, _NONE) if name in self.unchecked else _checked(column)
            columns.append(checked)
            refused.append(wrong)
        batch, wrong = pa.record_batch(columns, names=list(self.columns)), np.unique(np.concatenate(refused))
        if not len(wrong):
            return rows, batch
        self.refused[ILL_TYPED] += len(wrong)
        known = self.located.setdefault(ILL_TYPED, [])
        known += [(path, int(row) + 1) for row in rows[wrong[: FEW - len(known)]]]
        kept = np.delete(np.arange(batch.num_rows), wrong)
        return rows[kept], batch.take(pa.array(kept))


def plain(column: pa.Array) -> pa.Array:
    """Texts and bytes in the usual layout: Arrow supports few computations on views."""
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_binary()).view(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(column.type) else column


def _checked(column: pa.Array) -> tuple[pa.Array, Positions]:
    """A column, and its invalid values, which are removed from the dictionary of a dictionary-encoded column."""
    if not pa.types.is_dictionary(column.type):
        return column, _ill_typed(column)
    least, most = pc.min_max(column.indices).as_py().values()
    if least is not None and not 0 <= least <= most < len(column.dictionary):
        raise pa.ArrowIndexError  # Arrow itself does not look, and would read past the end of the list
    wrong = _ill_typed(column.dictionary)
    if not len(wrong):
        return column, wrong
    allowed = np.ones(len(column.dictionary), dtype=np.bool_)
    allowed[wrong] = False
    listed = pc.if_else(pa.array(allowed), column.dictionary, None)
    rows = _where(pc.is_in(column.indices, pa.array(wrong, column.indices.type)))
    return pa.DictionaryArray.from_arrays(column.indices, listed), rows


def _ill_typed(values: pa.Array) -> Positions:
    """The values that their type does not allow; Arrow itself accepts them."""
    kind = values.type
    if pa.types.is_time(kind):
        number = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        return _where(pc.or_(pc.less(number, 0), pc.greater(number, per_day(kind))))
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (texts or pa.types.is_nested(kind)) or is_valid(values):
        return _NONE
    if pa.types.is_nested(kind):
        return np.array(_invalid(values, 0), dtype=np.intp)
    distinct = values.dictionary_encode()
    return _where(pc.is_in(distinct.indices, pa.array(_invalid(distinct.dictionary, 0), pa.int32())))


def _invalid(values: pa.Array, first: int) -> list[int]:
    """The values that Arrow finds invalid, by bisection, since Arrow does not report them."""
    if is_valid(values):
        return []
    if len(values) == 1:
        return [first]
    half = len(values) // 2
    one, other = (values.take(np.arange(*ends)) for ends in ((0, half), (half, len(values))))
    return [*_invalid(one, first), *_invalid(other, first + half)]


def is_valid(values: pa.Array) -> bool:
    """Whether Arrow finds all values valid."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _where(flags: pa.Array) -> Positions:
    return np.flatnonzero(pc.fill_null(flags, False).to_numpy(zero_copy_only=False))


def _for_engine(values: pa.Array) -> pa.Array:
    """A column as DuckDB would read it from the file; timestamps out of its range become its farthest ones."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _for_engine(values.dictionary_decode())
    if pa.types.is_timestamp(kind) and kind.unit == "ms":  # Parquet knows no seconds
        near = pc.max_element_wise(values.view(pa.int64()), -FARTHEST, skip_nulls=False)
        near = pc.min_element_wise(near, FARTHEST, skip_nulls=False)
        return pc.multiply(near, 1000).view(pa.timestamp("us", kind.tz))
    if pa.types.is_duration(kind):
        return values.view(pa.int64())
    if pa.types.is_float16(kind):
        return values.cast(pa.float32())
    return values.cast(pa.float64()) if pa.types.is_decimal256(kind) else values
