"""The fast path: ordinary rows, without new or wrong values, are counted by lookups alone.

Every value has an index into a table of codes. A row's key is the sum of the codes found there, times the stride of
each column. A value without a code, because it is new or refused, makes the key fall far below zero: such rows are left
to the slow path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tapveil.counting.direct.dictionary_index import ArrayPool, IndexedColumn
from tapveil.counting.direct.slow_path import SlowPath
from tapveil.counting.direct.tally import NOT_COUNTED, Tally
from tapveil.counting.direct.vocabulary import Entries
from tapveil.trips.buffers import Integers, Positions

UNSETTLED = -(1 << 57)
"""Replaces a code times its stride. Two for each column, added to any key, are below zero and fit into 64 bits."""
MOST_COLUMNS = 16
MOST_PAIRS = 1 << 18
MODE = "mode"


@dataclass(frozen=True, eq=False)
class _Lookup:
    """A column of a batch: the index of each row, or one for all rows; and the code at each index.

    Stops that mean something else in each mode may be combined with the modes: then there is an index for every pair.
    """

    columns: tuple[str, ...]
    indices: Integers | int
    codes: Integers
    stops: int = 0
    modes: Entries | None = None

    def table(self, strides: Mapping[str, int]) -> Integers:
        """The number that each index adds to a key."""
        own = _times_stride(self.codes, strides.get(self.columns[0], 0))
        if self.modes is None:
            return own
        by_mode = own.reshape(-1, self.stops)[self.modes.modes]
        return (by_mode + _times_stride(self.modes.codes, strides.get(MODE, 0))[:, None]).reshape(-1)


def _times_stride(codes: Integers, stride: int) -> Integers:
    return np.where(codes < 0, UNSETTLED, codes * stride)


class FastPath:
    """Counts the ordinary rows of each batch."""

    def __init__(self, slow_path: SlowPath, tallies: Sequence[Tally]) -> None:
        self._columns, self._clocks, self._index = slow_path.columns, slow_path.clocks, slow_path.index
        self._durations = slow_path.durations
        self._tallies = tallies
        in_keys = {name for tally in tallies for name in tally.columns}
        self._only_checked = [column.name for column in self._columns if column.name not in in_keys]
        self._pool, self._own = ArrayPool(), ArrayPool()
        self._tables: dict[tuple[int, str], tuple[_Lookup, Mapping[str, int], Integers]] = {}

    def add(self, batch: pa.RecordBatch) -> Positions:
        """Count the ordinary rows of a batch; return the others."""
        rows, sizes = batch.num_rows, self._index.sizes
        strides = [tally.strides(sizes) for tally in self._tallies]
        if len(self._columns) > MOST_COLUMNS or any(tally.used >= -UNSETTLED for tally in self._tallies):
            return np.arange(rows)
        lookups = self._lookups(batch)
        keys = [self._own.array(f"keys {number}", rows) for number in range(len(self._tallies))]
        for number, of_keys in enumerate(strides):
            checked = dict.fromkeys(self._only_checked, 0) if number == 0 else {}
            self._sum(number, lookups, of_keys | checked, keys[number])
        below_zero = keys[0] < 0
        for each in keys[1:]:
            below_zero |= each < 0
        left = np.flatnonzero(below_zero)
        for tally, each in zip(self._tallies, keys, strict=True):
            each[left] = NOT_COUNTED
            tally.add(each)
        if 4 * len(left) > rows:
            for clock in self._clocks.values():
                clock.forget()
        return left

    def _lookups(self, batch: pa.RecordBatch) -> list[_Lookup]:
        """The lookups of all columns; those with the mode come first."""
        found: list[_Lookup] = []
        mode: IndexedColumn | None = None
        for column in self._columns:
            if column.kind == "duration" and self._durations:
                found.append(_Lookup((column.name,), self._durations.codes(batch)[0], self._durations.table))
                continue
            array = self._index.array(column, batch)
            if column.arithmetic and array is not None:
                indices = self._pool.array(column.name, len(array))
                found.append(_Lookup((column.name,), indices, self._clocks[column.name].indices(array, indices)))
                continue
            indexed = self._index.of(column, batch, None)
            mode = indexed if column.name == MODE else mode
            if mode is not None and column.for_mode:
                size, own, modes = len(indexed.entries), indexed.indices, mode.indices
                if not (isinstance(modes, int) or isinstance(own, int) or len(mode.entries) * size > MOST_PAIRS):
                    pairs = np.multiply(modes, size, out=self._pool.array(column.name, batch.num_rows))
                    pairs += own
                    found.append(_Lookup((column.name, MODE), pairs, indexed.entries.codes, size, mode.entries))
                    continue
                indexed = self._index.of(column, batch, mode)
            found.append(_Lookup((column.name,), indexed.indices, indexed.entries.codes))
        return sorted(found, key=lambda lookup: lookup.modes is None)

    def _sum(self, number: int, lookups: Sequence[_Lookup], strides: dict[str, int], out: Integers) -> None:
        part, same_for_all, is_first = self._own.array("part", len(out)), 0, True
        for lookup in lookups:
            own = {name: strides.pop(name) for name in lookup.columns if name in strides}
            if lookup.columns[0] not in own:  # not of this tally, or a mode that came with a stop
                strides |= own
                continue
            table = self._table(number, lookup, own)
            if isinstance(lookup.indices, int):
                same_for_all += int(table[lookup.indices])
                continue
            np.take(table, lookup.indices, out=out if is_first else part, mode="clip")
            if not is_first:
                out += part
            is_first = False
        if is_first:
            out[:] = same_for_all
        elif same_for_all:
            out += same_for_all

    def _table(self, number: int, lookup: _Lookup, strides: Mapping[str, int]) -> Integers:
        """The table of a lookup, cached until its input changes."""
        before = self._tables.get((number, lookup.columns[0]))
        if before and before[0].codes is lookup.codes and before[0].modes is lookup.modes and before[1] == strides:
            return before[2]
        table = lookup.table(strides)
        self._tables[number, lookup.columns[0]] = lookup, strides, table
        return table
