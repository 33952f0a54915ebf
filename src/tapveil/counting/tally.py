"""How often each key came up: an array with a place for every key where that is small, and sorted runs where it is not.

A key is a cell's codes in a mixed radix, the `room` of each column. Codes are learnt as they are met, so a column can
outgrow its room: then everything moves, which is rare, since room is made for a few more than are needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tapveil.counting.batches import NeedsEngineError
from tapveil.counting.stored import Integers

MOST_PLACES = 1 << 25
"""Keys that have a place of their own: 256 MB of counters, of which only those that are used take memory."""
PLACES_PER_KEY = 4
"""No more places than this are made for each key that came: before, most would stay empty."""
MOST_KEYS = 1 << 62
NOBODY = -1
"""The key of a row that is not counted."""
AT_ONCE = 1 << 20
"""So many keys are sorted at a time."""


class Tally:
    """The counts of the cells over some columns; the first has all the room that the others leave."""

    def __init__(self, columns: Sequence[str], fixed: Mapping[str, int], most_places: int, most_runs: int) -> None:
        """Of some columns it is known from the start how many codes they have."""
        self.columns = tuple(columns)
        self._most_places, self._most_runs = min(MOST_PLACES, most_places), most_runs
        self._room = [fixed.get(column, 1) for column in self.columns[1:]]
        self.used = self._added = 0
        self._places: Integers | None = None
        self._waiting: list[Integers] = []
        self._runs: list[tuple[Integers, Integers]] = []

    def strides(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """By how much a code of each column counts in a key, when the columns have so many codes."""
        needed = [sizes[column] for column in self.columns[1:]]
        if any(size > room for size, room in zip(needed, self._room, strict=True)):
            both = zip(needed, self._room, strict=True)
            self._move([size + size // 4 + 2 if size > room else room for size, room in both])
        strides = {column: math.prod(self._room[place:]) for place, column in enumerate(self.columns)}
        self.used = sizes[self.columns[0]] * strides[self.columns[0]]
        if self.used > MOST_KEYS:
            raise NeedsEngineError
        return strides

    def add(self, keys: Integers) -> None:
        """One more for each of these keys, except `NOBODY`; of these strides."""
        self._added += len(keys)
        if self._places is None and self.used <= min(self._most_places, self._added * PLACES_PER_KEY):
            self._spread()
        elif self._places is not None and self.used > self._most_places:
            self._runs, self._places = [self._all()], None
        if self._places is not None:
            np.add.at(self._places, keys, 1)
            return
        self._waiting.append(keys.copy())  # the array is used again
        if sum(map(len, self._waiting)) >= AT_ONCE:
            self._sort()

    def cells(self) -> tuple[dict[str, Integers], Integers]:
        """The codes of every cell that came up, by column, and how often it did."""
        keys, numbers = self._all()
        codes = {}
        for column, room in reversed(list(zip(self.columns[1:], self._room, strict=True))):
            keys, codes[column] = np.divmod(keys, room)
        return codes | {self.columns[0]: keys}, numbers

    def _all(self) -> tuple[Integers, Integers]:
        if self._places is not None:
            keys = np.flatnonzero(self._places[: min(self.used, self._most_places)])
            return keys, self._places[keys]
        self._sort()
        self._runs = [_merged(self._runs)] if len(self._runs) > 1 else self._runs
        return self._runs[0] if self._runs else (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def _move(self, room: list[int]) -> None:
        """Make room: every key becomes another."""
        codes, numbers = self.cells()
        self._room = room
        keys = codes[self.columns[0]]
        for column, each in zip(self.columns[1:], room, strict=True):
            keys = keys * each + codes[column]
        self._places, self._runs = None, [(keys, numbers)] if len(keys) else []

    def _spread(self) -> None:
        """Every key gets a place of its own: counting is then quickest, once there are many keys to count."""
        keys, numbers = self._all()
        self._places, self._runs = np.zeros(self._most_places + 1, dtype=np.int64), []  # the last is nobody's
        self._places[keys] = numbers

    def _sort(self) -> None:
        """Keys that wait become a run: each key once, in order, with its number."""
        if self._waiting:
            keys, self._waiting = np.sort(np.concatenate(self._waiting)), []
            keys = keys[np.searchsorted(keys, 0) :]
            starts = np.flatnonzero(np.diff(keys, prepend=NOBODY))
            self._runs.append((keys[starts], np.diff(starts, append=len(keys))))
        # a run is merged with those before it once they are not longer: each key is moved only a few times
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            self._runs[-2:] = [_merged(self._runs[-2:])]
        if sum(len(keys) for keys, _ in self._runs) > self._most_runs:
            raise NeedsEngineError


def _merged(runs: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    return summed(np.concatenate([keys for keys, _ in runs]), np.concatenate([numbers for _, numbers in runs]))


def summed(keys: Integers, numbers: Integers) -> tuple[Integers, Integers]:
    """Each key once, in order, with the sum of its numbers."""
    if not len(keys):
        return keys, numbers
    order = np.argsort(keys, kind="stable")
    keys, numbers = keys[order], numbers[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(numbers, starts)
