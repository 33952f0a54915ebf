"""Counts of keys: an array with a counter for every key where that is small, otherwise sorted runs.

A key is a cell's codes in a mixed radix, the `room` of each column. Codes are learnt on the way, so a column can
outgrow its room. Then all keys are recomputed, which is rare, since there is some spare room.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tapveil.counting.direct.batches import NeedsEngineError
from tapveil.trips.buffers import Integers

MOST_COUNTERS = 1 << 25
"""Maximum number of counters: 128 MB, of which only used pages take memory."""
COUNTERS_PER_KEY = 4
"""Maximum number of counters per expected key; with more, most would stay empty."""
SETTLED = 1 << 17
"""After this many keys most labels are known, so keys are rarely recomputed."""
MOST_KEYS = 1 << 62
NOT_COUNTED = -1
"""The key of a row that is not counted."""
AT_ONCE = 1 << 20
"""Keys sorted at a time."""
CELLS_AT_ONCE = 1 << 16
MOST_IN_32_BITS = 2**31 - 1
Counters = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class Tally:
    """The counts of the cells of some columns; the first column has all the room that is left."""

    def __init__(
        self, columns: Sequence[str], fixed: Mapping[str, int], most_counters: int, most_runs: int, expected: int = 0
    ) -> None:
        """`fixed` has the number of codes of some columns; `expected` is the number of keys, if known."""
        self.columns = tuple(columns)
        self._most_counters, self._most_runs = min(MOST_COUNTERS, most_counters), most_runs
        self._room = [fixed.get(column, 1) for column in self.columns[1:]]
        self.used = self.added = 0
        self._expected = expected
        self._counters: Counters | None = None
        self._waiting: list[Integers] = []
        self._runs: list[tuple[Integers, Integers]] = []

    def strides(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The factor of each column's code in a key, when the columns have `sizes` codes."""
        needed = [sizes[column] for column in self.columns[1:]]
        if any(size > room for size, room in zip(needed, self._room, strict=True)):
            both = zip(needed, self._room, strict=True)
            self._move([size + size // 4 + 2 if size > room else room for size, room in both])
        strides = {column: math.prod(self._room[position:]) for position, column in enumerate(self.columns)}
        self.used = sizes[self.columns[0]] * strides[self.columns[0]]
        if self.used > MOST_KEYS:
            raise NeedsEngineError
        return strides

    def add(self, keys: Integers) -> None:
        """Count these keys, except `NOT_COUNTED`; they must use the current strides."""
        self.added += len(keys)
        expected = max(self.added, self._expected) if self.added >= SETTLED else self.added
        if self._counters is None and self.used <= min(self._most_counters, expected * COUNTERS_PER_KEY):
            self._spread()
        elif self._counters is not None and self.used > self._most_counters:
            self._runs, self._counters = [_joined(list(self._keys()))], None
        if self._counters is not None:
            if self.added > MOST_IN_32_BITS and self._counters.dtype == np.int32:
                self._counters = self._counters.astype(np.int64)
            np.add.at(self._counters, keys, self._counters.dtype.type(1))  # of another type it would be slow
            return
        self._waiting.append(keys.copy())  # the array is used again
        if sum(map(len, self._waiting)) >= AT_ONCE:
            self._sort()

    def cells(self) -> Iterator[tuple[dict[str, Integers], Integers]]:
        """The codes of every counted cell, by column, and its count; a piece at a time."""
        for keys, numbers in self._keys():
            codes = {}
            for column, room in reversed(list(zip(self.columns[1:], self._room, strict=True))):
                above = keys // room
                keys, codes[column] = above, keys - above * room  # `divmod` divides one by one
            yield codes | {self.columns[0]: keys}, numbers

    def _keys(self) -> Iterator[tuple[Integers, Integers]]:
        """Every counted key, in order, and its count."""
        if self._counters is not None:
            for start in range(0, min(self.used, self._most_counters), CELLS_AT_ONCE):
                some = self._counters[start : min(start + CELLS_AT_ONCE, self._most_counters)]
                found = np.flatnonzero(some)
                yield start + found, some[found].astype(np.int64)
            return
        self._sort()
        self._runs = [_merged(self._runs)] if len(self._runs) > 1 else self._runs
        for keys, numbers in self._runs:
            for start in range(0, len(keys), CELLS_AT_ONCE):
                yield keys[start : start + CELLS_AT_ONCE], numbers[start : start + CELLS_AT_ONCE]

    def _move(self, room: list[int]) -> None:
        """Change the room of the columns, and recompute all keys."""
        moved = []
        for codes, numbers in self.cells():
            keys = codes[self.columns[0]]
            for column, each in zip(self.columns[1:], room, strict=True):
                keys = keys * each + codes[column]
            moved.append((keys, numbers))
        self._room, self._counters, self._runs = room, None, [_joined(moved)] if moved else []

    def _spread(self) -> None:
        """Switch to one counter per key, which is fastest for many keys."""
        counters: Counters = np.zeros(self._most_counters + 1, dtype=np.int32)  # the last is for what is not counted
        if self.added > MOST_IN_32_BITS:
            counters = counters.astype(np.int64)
        for keys, numbers in self._keys():
            counters[keys] = numbers
        self._counters, self._runs = counters, []

    def _sort(self) -> None:
        """Turn waiting keys into a run: each key once, in order, with its count."""
        if self._waiting:
            keys, self._waiting = np.sort(np.concatenate(self._waiting)), []
            keys = keys[np.searchsorted(keys, 0) :]
            starts = np.flatnonzero(np.diff(keys, prepend=NOT_COUNTED))
            self._runs.append((keys[starts], np.diff(starts, append=len(keys))))
        # a run is merged with those before it once they are not longer: each key is moved only a few times
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            self._runs[-2:] = [_merged(self._runs[-2:])]
        if sum(len(keys) for keys, _ in self._runs) > self._most_runs:
            raise NeedsEngineError


def _joined(runs: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    return np.concatenate([keys for keys, _ in runs]), np.concatenate([numbers for _, numbers in runs])


def _merged(runs: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    return summed(*_joined(runs))


def summed(keys: Integers, numbers: Integers) -> tuple[Integers, Integers]:
    """Each key once, in order, with the sum of its counts."""
    if not len(keys):
        return keys, numbers
    order = np.argsort(keys, kind="stable")
    keys, numbers = keys[order], numbers[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(numbers, starts)
