"""How often each key came up: an array with a counter for every key where that is small, else sorted runs.

A key is a cell's codes in a mixed radix, the `room` of each column. Codes are learnt as they are met, so a column can
outgrow its room: then everything moves, which is rare, since room is made for a few more than are needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tapveil.counting.direct.batches import NeedsEngineError
from tapveil.trips.buffers import Integers

MOST_COUNTERS = 1 << 25
"""Keys that have a counter of their own: 128 MB of them, of which only those that are used take memory."""
COUNTERS_PER_KEY = 4
"""No more counters than this are made for each key that came or will come: else most would stay empty."""
SETTLED = 1 << 17
"""After this many keys most labels are known, so that keys will hardly move any more."""
MOST_KEYS = 1 << 62
NOT_COUNTED = -1
"""The key of a row that is not counted."""
AT_ONCE = 1 << 20
"""Keys that are sorted at a time."""
CELLS_AT_ONCE = 1 << 16
MOST_IN_32_BITS = 2**31 - 1
Counters = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class Tally:
    """The counts of the cells over some columns; the first has all the room that the others leave."""

    def __init__(
        self, columns: Sequence[str], fixed: Mapping[str, int], most_counters: int, most_runs: int, expected: int = 0
    ) -> None:
        """Of some columns it is known from the start how many codes they have; and perhaps how many keys will come."""
        self.columns = tuple(columns)
        self._most_counters, self._most_runs = min(MOST_COUNTERS, most_counters), most_runs
        self._room = [fixed.get(column, 1) for column in self.columns[1:]]
        self.used = self.added = 0
        self._expected = expected
        self._counters: Counters | None = None
        self._waiting: list[Integers] = []
        self._runs: list[tuple[Integers, Integers]] = []

    def strides(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """By how much a code of each column counts in a key, when the columns have `sizes` codes."""
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
        """One more for each of these keys, except `NOT_COUNTED`; of these strides."""
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
        """The codes of every cell that came up, by column, and how often it did; some cells at a time."""
        for keys, numbers in self._keys():
            codes = {}
            for column, room in reversed(list(zip(self.columns[1:], self._room, strict=True))):
                above = keys // room
                keys, codes[column] = above, keys - above * room  # `divmod` divides one by one
            yield codes | {self.columns[0]: keys}, numbers

    def _keys(self) -> Iterator[tuple[Integers, Integers]]:
        """Every key that came up, in order, and how often it did."""
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
        """Make room: every key becomes another."""
        moved = []
        for codes, numbers in self.cells():
            keys = codes[self.columns[0]]
            for column, each in zip(self.columns[1:], room, strict=True):
                keys = keys * each + codes[column]
            moved.append((keys, numbers))
        self._room, self._counters, self._runs = room, None, [_joined(moved)] if moved else []

    def _spread(self) -> None:
        """Every key gets a counter of its own: counting is then quickest, once there are many keys to count."""
        counters: Counters = np.zeros(self._most_counters + 1, dtype=np.int32)  # the last is for what is not counted
        if self.added > MOST_IN_32_BITS:
            counters = counters.astype(np.int64)
        for keys, numbers in self._keys():
            counters[keys] = numbers
        self._counters, self._runs = counters, []

    def _sort(self) -> None:
        """Keys that wait become a run: each key once, in order, with its number."""
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
    """Each key once, in order, with the sum of its numbers."""
    if not len(keys):
        return keys, numbers
    order = np.argsort(keys, kind="stable")
    keys, numbers = keys[order], numbers[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(numbers, starts)
