"""Counting ordinary rows by lookups alone: those in which nothing is new and nothing is wrong, which are nearly all.

Every value has a place in a table of codes. A row's key is the sum of what stands there, times the stride of each
column. What has no code, because it is new or refused, makes a key fall far below zero: such rows are left to the
`coder`, which gives codes, or tells what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tapveil.counting.coding import Column
from tapveil.counting.direct.dictionary_index import Desk, Placed
from tapveil.counting.direct.slow_path import Coder, Positions
from tapveil.counting.direct.tally import NOBODY, Tally
from tapveil.counting.direct.vocabulary import Entries
from tapveil.trips.buffers import Integers

UNSETTLED = -(1 << 57)
"""Instead of a code times its stride: two for each column and any key are still below zero, and still an integer."""
MOST_COLUMNS = 16
MOST_PAIRS = 1 << 18
MODE = "mode"


@dataclass(frozen=True, eq=False)
class _Look:
    """A column of a batch: for each row its place, or one for all; and what has a code at each place.

    Stops that mean something else in each mode may have the modes with them: then there is a place for every pair.
    """

    columns: tuple[str, ...]
    places: Integers | int
    codes: Integers
    stops: int = 0
    modes: Entries | None = None

    def table(self, strides: Mapping[str, int]) -> Integers:
        """What each place adds to a key."""
        own = _times_stride(self.codes, strides.get(self.columns[0], 0))
        if self.modes is None:
            return own
        by_mode = own.reshape(-1, self.stops)[self.modes.modes]
        return (by_mode + _times_stride(self.modes.codes, strides.get(MODE, 0))[:, None]).reshape(-1)

    def is_like(self, other: _Look) -> bool:
        """Whether the same table will do."""
        return self.codes is other.codes and self.modes is other.modes


def _times_stride(codes: Integers, stride: int) -> Integers:
    return np.where(codes < 0, UNSETTLED, codes * stride)


class Shortcut:
    """Counts what it can of each batch."""

    def __init__(self, coder: Coder, tallies: Sequence[Tally]) -> None:
        self._coder, self._tallies = coder, tallies
        in_keys = {name for tally in tallies for name in tally.columns}
        self._only_checked = [column.name for column in coder.columns if column.name not in in_keys]
        self._is_open = len(coder.columns) <= MOST_COLUMNS
        self._desk, self._own = Desk(), Desk()
        self._tables: dict[tuple[int, str], tuple[_Look, Mapping[str, int], Integers]] = {}

    def add(self, batch: pa.RecordBatch) -> Positions:
        """Count the ordinary rows of a batch; which rows are left."""
        rows, sizes = batch.num_rows, self._coder.sizes
        strides = [tally.strides(sizes) for tally in self._tallies]
        if not self._is_open or any(tally.used >= -UNSETTLED for tally in self._tallies):
            return np.arange(rows)
        looks = self._looks(batch)
        keys = [self._own.array(f"keys {number}", rows) for number in range(len(self._tallies))]
        for number, of_keys in enumerate(strides):
            checked = dict.fromkeys(self._only_checked, 0) if number == 0 else {}
            self._sum(number, looks, of_keys | checked, keys[number])
        left = _below_zero(keys)
        for tally, each in zip(self._tallies, keys, strict=True):
            each[left] = NOBODY
            tally.add(each)
        if 4 * len(left) > rows:
            for clock in self._coder.clocks.values():
                clock.forget()
        return left

    # --- places -------------------------------------------------------------------------------------------------------

    def _looks(self, batch: pa.RecordBatch) -> list[_Look]:
        """Every column; those with the mode first."""
        found, mode = list[_Look](), None
        for column in self._coder.columns:
            array = self._coder.places.array(column, batch)
            if column.arithmetic and array is not None:
                found.append(self._times(column, array))
                continue
            look, placed = self._look(column, batch, mode)
            mode = placed if column.name == MODE else mode
            found.append(look)
        return sorted(found, key=lambda look: look.modes is None)

    def _times(self, column: Column, array: pa.Array) -> _Look:
        places = self._desk.array(column.name, len(array))
        return _Look((column.name,), places, self._coder.clocks[column.name].places(array, places))

    def _look(self, column: Column, batch: pa.RecordBatch, mode: Placed | None) -> tuple[_Look, Placed]:
        placed = self._coder.places.of(column, batch, None)
        if mode is None or not column.for_mode:
            return _Look((column.name,), placed.places, placed.entries.codes), placed
        pairs = len(mode.entries) * len(placed.entries)
        if isinstance(mode.places, int) or isinstance(placed.places, int) or pairs > MOST_PAIRS:
            placed = self._coder.places.of(column, batch, mode)
            return _Look((column.name,), placed.places, placed.entries.codes), placed
        places = np.multiply(mode.places, len(placed.entries), out=self._desk.array(column.name, batch.num_rows))
        places += placed.places
        return _Look((column.name, MODE), places, placed.entries.codes, len(placed.entries), mode.entries), placed

    # --- keys ---------------------------------------------------------------------------------------------------------

    def _sum(self, number: int, looks: Sequence[_Look], strides: dict[str, int], out: Integers) -> None:
        """The keys of a tally."""
        part, same_for_all, is_first = self._own.array("part", len(out)), 0, True
        for look in looks:
            own = {name: strides.pop(name) for name in look.columns if name in strides}
            if look.columns[0] not in own:  # not of this tally, or a mode that came with a stop
                strides |= own
                continue
            table = self._table(number, look, own)
            if isinstance(look.places, int):
                same_for_all += int(table[look.places])
                continue
            np.take(table, look.places, out=out if is_first else part, mode="clip")
            if not is_first:
                out += part
            is_first = False
        if is_first:
            out[:] = same_for_all
        elif same_for_all:
            out += same_for_all

    def _table(self, number: int, look: _Look, strides: Mapping[str, int]) -> Integers:
        """The table of a look; made again only when something of it changes."""
        before = self._tables.get((number, look.columns[0]))
        if before is None or not look.is_like(before[0]) or before[1] != strides:
            before = look, strides, look.table(strides)
            self._tables[number, look.columns[0]] = before
        return before[2]


def _below_zero(keys: Sequence[Integers]) -> Positions:
    """Where any of the keys of a row is."""
    found = keys[0] < 0
    for each in keys[1:]:
        found |= each < 0
    return np.flatnonzero(found)
