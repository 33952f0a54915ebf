"""Synthetic trips: one row each, whose sums are the estimates. They look like trips and are nobody's.

Rows follow from the whole numbers of a day, in the order of its cells. How long a trip takes, and so the bin in which
it ends, is dealt out along the rows by a sequence that fills every interval evenly (the multiples of the golden ratio,
modulo 1), so that any run of rows has nearly its share of each: no chance is involved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.clock import SELDOM, Clock
from tapveil.published.estimates.parts import PARTS, Floats, Ints
from tapveil.published.estimates.raking import rake
from tapveil.published.estimates.world import (
    DISTANCE,
    DURATION,
    OFF_PLACE,
    OFF_TIME,
    ON_PLACE,
    ON_TIME,
    Columns,
    World,
)

_NEVER = 2.0**-40
_AT_ONCE = 1 << 22
"""Weights."""
ROWS_AT_ONCE = 1 << 20
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Rows = dict[str, npt.NDArray[np.int32]]
"""By column, the entry of its public list for each trip."""


def even(first: int, size: int) -> Floats:
    """The multiples of the golden ratio from `first` on, modulo 1."""
    with np.errstate(over="ignore"):
        words = np.arange(first, first + size, dtype=np.uint64) * _GOLDEN
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True, eq=False)
class Endings:
    """How trips end, for all days: what durations there are, and in which bins trips of each end."""

    world: World
    clock: Clock
    durations: Floats
    """Parts of trips by class of duration, after any of distance, or origin and destination."""
    by: Columns
    """The columns of `durations` before the last."""
    ends: Floats
    """P(end | start, class)."""

    @staticmethod
    def of(world: World, clock: Clock, tables: dict[Columns, Floats]) -> Endings:
        """From estimates of all days; without a table of durations, from what is usual."""
        known = [by for by in ((ON_PLACE, OFF_PLACE), (DISTANCE,), ()) if (*by, DURATION) in tables]
        if not known:
            return Endings(world, clock, np.full(len(clock.durations or (0,)), PARTS), (), clock.ends())
        return Endings(world, clock, tables[(*known[0], DURATION)], known[0], clock.ends())

    def shares(self, origins: npt.NDArray[np.intp], destinations: npt.NDArray[np.intp]) -> Floats:
        """Weights of each class of duration for pairs of places; a little for each, so that none has nothing."""
        found = self.durations
        if self.by == (ON_PLACE, OFF_PLACE):
            found = self.durations[origins, destinations]
        elif self.world.distances is not None and self.by == (DISTANCE,):
            found = self.durations[self.world.distances[origins, destinations]]
        return np.broadcast_to(found + np.float64(1.0), (len(origins), found.shape[-1]))

    def expected(self, trips: Ints) -> Floats:
        """Of a day's trips by start, origin and destination: parts by start, end and destination."""
        starts, places, size = trips.shape[0], trips.shape[-1], len(self.clock.off)
        found = np.zeros((starts, size, places))
        for start, origins, destinations, count in _cells(trips):
            shares = self.shares(origins, destinations)
            total = _along(shares)[:, -1]
            for each in range(shares.shape[1]):
                part = np.rint(PARTS * count * shares[:, each] / total)
                by_place = np.bincount(destinations, part, minlength=places)
                found[start] += np.rint(self.ends[start, each][:, None] * by_place)
        return found

    def bends(self, trips: Ints, wanted: Floats) -> Floats:
        """By how much each start × end × destination must be more or less frequent to give the wanted ends."""
        columns = (ON_TIME, OFF_TIME, OFF_PLACE)
        expected = self.expected(trips)
        sums: dict[Columns, Floats] = {(OFF_TIME, OFF_PLACE): wanted, (ON_TIME, OFF_PLACE): trips.sum(axis=1) * PARTS}
        bent = rake(expected.copy(), columns, sums) / np.maximum(expected, 1.0)
        return np.maximum(bent, _NEVER)  # a trip that no measured end allows still ends

    def deal(self, trips: Ints, bends: Floats | None) -> Iterator[Rows]:
        """The trips of a day in the order of cells, some at a time, each with its class of duration and its end."""
        dealt = 0
        for start, origins, destinations, count in _cells(trips):
            classes, bins = np.nonzero(self._reached(start, bends is not None))
            size = max(1, _AT_ONCE // len(classes))
            for first in range(0, len(count), size):
                some = slice(first, first + size)
                weights = self.shares(origins[some], destinations[some])[:, classes] * self.ends[start][classes, bins]
                if bends is not None:
                    weights = weights * bends[start][bins][:, destinations[some]].T
                for cells, chosen in _dealt(weights, count[some], dealt):
                    yield {
                        ON_TIME: np.full(len(cells), start, dtype=np.int32),
                        ON_PLACE: origins[some][cells].astype(np.int32),
                        OFF_PLACE: destinations[some][cells].astype(np.int32),
                        OFF_TIME: bins[chosen].astype(np.int32),
                        DURATION: classes[chosen].astype(np.int32),
                    }
                    dealt += len(cells)

    def _reached(self, start: int, bent: bool) -> npt.NDArray[np.bool_]:
        """Which classes of duration end in which bins; where measured ends count, the longest in all that are left."""
        reached: npt.NDArray[np.bool_] = self.ends[start] > 2 * SELDOM
        if bent:
            reached[-1] |= ~reached.any(axis=0)
        return reached


def _dealt(weights: Floats, count: Ints, before: int) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """For each trip of some cells, its cell, and one of the choices that this has these weights for."""
    sums = _along(weights)
    cells, choices = sums.shape
    edges = (sums / sums[:, -1:] + np.arange(cells)[:, None]).reshape(-1)
    dealt = before
    for rows in repeated(np.arange(cells), count):
        found = np.searchsorted(edges, rows + even(dealt, len(rows)), side="right")
        yield rows, np.minimum(found - rows * choices, choices - 1)
        dealt += len(rows)


def repeated(cells: npt.NDArray[np.int64], count: Ints) -> Iterator[npt.NDArray[np.int64]]:
    """Each cell as often as it has trips, some at a time: memory does not depend on how many there are.

    >>> [each.tolist() for each in repeated(np.array([4, 7]), np.array([2, 1]))]
    [[4, 4, 7]]
    """
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    for first in range(0, total, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, total)
        some = slice(int(np.searchsorted(ends, first, side="right")), int(np.searchsorted(ends, last - 1, "right")) + 1)
        here = np.minimum(ends[some], last) - np.maximum(ends[some] - count[some], first)
        yield np.repeat(cells[some], here)


def _cells(
    trips: Ints,
) -> Iterator[tuple[int, npt.NDArray[np.intp], npt.NDArray[np.intp], Ints]]:
    """Of each start: the pairs of places with trips, and how many."""
    for start, table in enumerate(trips):
        origins, destinations = np.nonzero(table)
        yield start, origins, destinations, table[origins, destinations].astype(np.int64)


def _along(weights: Floats) -> Floats:
    """Sums from the first column on, one after the other."""
    found = np.array(weights, dtype=np.float64)
    for column in range(1, found.shape[1]):
        found[:, column] += found[:, column - 1]
    return found


def rows(columns: Columns, trips: Ints) -> Iterator[Rows]:
    """One row for each trip, in the order of cells, some at a time."""
    cells = np.flatnonzero(trips)
    for some in repeated(cells, trips.reshape(-1)[cells]):
        indices = np.unravel_index(some, trips.shape)
        yield {column: index.astype(np.int32) for column, index in zip(columns, indices, strict=True)}
