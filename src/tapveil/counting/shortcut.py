"""Counting ordinary rows by lookups alone: those in which nothing is new and nothing is wrong, which are nearly all.

Every value has a place in a table of codes. A row's key is the sum of what stands there, times the stride of each
column. What has no code, because it is new or refused, makes a key fall far below zero: such rows are left to the
`coder`, which gives codes, or tells what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tapveil.counting.coder import Coder, Positions
from tapveil.counting.codes import Column
from tapveil.counting.places import Desk, Placed
from tapveil.counting.stored import Integers
from tapveil.counting.tally import NOBODY, Tally

UNSETTLED = -(1 << 57)
"""Instead of a code times its stride: sixteen of them and any key are still below zero, and still an integer."""
MOST_COLUMNS = 16


class Shortcut:
    """Counts what it can of each batch."""

    def __init__(self, coder: Coder, tallies: Sequence[Tally]) -> None:
        self._coder, self._tallies = coder, tallies
        in_keys = {name for tally in tallies for name in tally.columns}
        self._only_checked = tuple(column.name for column in coder.columns if column.name not in in_keys)
        self._is_open = len(coder.columns) <= MOST_COLUMNS
        self._desk, self._own = Desk(), Desk()
        self._weighted: dict[tuple[int, str], tuple[Integers, int, Integers]] = {}

    def add(self, batch: pa.RecordBatch) -> Positions:
        """Count the ordinary rows of a batch; which rows are left."""
        rows, sizes = batch.num_rows, self._coder.sizes
        strides = [tally.strides(sizes) for tally in self._tallies]
        if not self._is_open or any(tally.used >= -UNSETTLED for tally in self._tallies):
            return np.arange(rows)
        found = self._looked_up(batch)
        keys = [self._own.array(f"keys {number}", rows) for number in range(len(self._tallies))]
        for number, (tally, of) in enumerate(zip(self._tallies, strides, strict=True)):
            checked = self._only_checked if number == 0 else ()
            weights = {name: of[name] for name in tally.columns} | dict.fromkeys(checked, 0)
            self._sum(number, found, weights, keys[number])
        left = _below_zero(keys)
        for tally, each in zip(self._tallies, keys, strict=True):
            each[left] = NOBODY
            tally.add(each)
        if 4 * len(left) > rows:
            for clock in self._coder.clocks.values():
                clock.forget()
        return left

    def _looked_up(self, batch: pa.RecordBatch) -> dict[str, tuple[Integers, Integers | int]]:
        """For each column a table of codes, and the place of each row in it."""
        found: dict[str, tuple[Integers, Integers | int]] = {}
        mode: Placed | None = None
        for column in self._coder.columns:
            array = self._coder.places.array(column, batch)
            if column.arithmetic and array is not None:
                found[column.name] = self._times(column, array)
                continue
            placed = self._coder.places.of(column, batch, mode)
            mode = placed if column.name == "mode" else mode
            found[column.name] = placed.entries.codes, placed.places
        return found

    def _times(self, column: Column, array: pa.Array) -> tuple[Integers, Integers]:
        places = self._desk.array(column.name, len(array))
        return self._coder.clocks[column.name].places(array, places), places

    def _sum(
        self,
        number: int,
        found: dict[str, tuple[Integers, Integers | int]],
        weights: dict[str, int],
        out: Integers,
    ) -> None:
        """The keys of a tally."""
        part, same_for_all, is_first = self._own.array("part", len(out)), 0, True
        for name, weight in weights.items():
            table, places = found[name]
            weighted = self._times_stride(number, name, table, weight)
            if isinstance(places, int):
                same_for_all += int(weighted[places])
                continue
            np.take(weighted, places, out=out if is_first else part, mode="clip")
            if not is_first:
                out += part
            is_first = False
        if is_first:
            out[:] = same_for_all
        elif same_for_all:
            out += same_for_all

    def _times_stride(self, number: int, name: str, table: Integers, stride: int) -> Integers:
        """A table of codes as what they add to a key; made again only when either changes."""
        before = self._weighted.get((number, name))
        if before is None or before[0] is not table or before[1] != stride:
            before = table, stride, np.where(table < 0, UNSETTLED, table * stride)
            self._weighted[number, name] = before
        return before[2]


def _below_zero(keys: Sequence[Integers]) -> Positions:
    """Where any of the keys of a row is."""
    found = keys[0] < 0
    for each in keys[1:]:
        found |= each < 0
    return np.flatnonzero(found)
