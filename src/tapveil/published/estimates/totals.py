"""Totals that are known exactly: estimates are stretched to them, and rounded so that their sums are these numbers.

Of any two totals one contains the other, or no trip is of both. So each cell of each day belongs to the smallest total
that it is in, and what a total has beyond those within it is a number as well. The cells of each such part are
multiplied by one factor: of all tables with these sums it is the nearest in relative entropy (Csiszár 1975). Then whole
numbers are dealt to the days, and within a day to the cells with the largest remainders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import prod

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.margins import spread
from tapveil.published.estimates.parts import PARTS, Floats, Ints, in_trips
from tapveil.published.estimates.rounding import to_total
from tapveil.published.estimates.world import Columns, World

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Total:
    """A number of trips of some days, at one entry of some lists."""

    days: frozenset[int]
    at: Mapping[str, int]
    """By column of a trip, the entry of its public list."""
    trips: int

    def contains(self, other: Total) -> bool:
        """Whether it has all trips of another."""
        return other.days <= self.days and all(other.at.get(column) == entry for column, entry in self.at.items())

    def is_apart(self, other: Total) -> bool:
        """Whether no trip can be of both."""
        shared = self.at.keys() & other.at.keys()
        return self.days.isdisjoint(other.days) or any(self.at[column] != other.at[column] for column in shared)


@dataclass(frozen=True)
class Totals:
    """Those of one mode, and the columns of whole trips."""

    world: World
    columns: Columns
    given: Sequence[Total]

    def __post_init__(self) -> None:
        pairs = combinations(self.given, 2)
        if not all(a.contains(b) or b.contains(a) or a.is_apart(b) for a, b in pairs) or min(self.left) < 0:
            raise ValueError("of two totals one contains the other, or they are apart; those within one are no more")

    @cached_property
    def ordered(self) -> list[Total]:
        """Each after those that contain it."""
        return sorted(self.given, key=self._size, reverse=True)

    def _size(self, total: Total) -> int:
        return len(total.days) * prod(self.world.sizes[c] for c in self.columns if c not in total.at)

    @cached_property
    def left(self) -> list[int]:
        """Of each, what it has beyond those within it."""
        found = [total.trips for total in self.ordered]
        for number, total in enumerate(self.ordered):
            around = [other for other in range(number) if self.ordered[other].contains(total)]
            if around:
                found[around[-1]] -= total.trips
        return found

    def parts(self, day: int) -> Ints:
        """Which total each cell of a day belongs to, counted from 1; 0 where to none."""
        found = np.zeros(self.world.shape(self.columns), dtype=np.int64)
        for number, total in enumerate(self.ordered, 1):
            if day in total.days:
                found[tuple(total.at.get(column, slice(None)) for column in self.columns)] = number
        return found

    def sums(self, tables: Iterable[Floats]) -> Floats:
        """Of the tables of all days: how many parts of trips each day has of each total."""
        size = len(self.ordered) + 1
        found = [
            np.bincount(self.parts(day).reshape(-1), self._reachable(table).reshape(-1), minlength=size)
            for day, table in enumerate(tables)
        ]
        return np.array(found, dtype=np.float64).reshape(-1, size)

    def _reachable(self, table: Floats) -> Floats:
        """One part more wherever a trip can be: a total that is not nothing is met also where nothing was estimated."""
        return table + self.world.possible(self.columns)

    def wanted(self, sums: Floats) -> Ints:
        """Whole trips of each day of each total: in proportion to its sums, and of all days as many as there are."""
        found = np.zeros(sums.shape, dtype=np.int64)
        for number, trips in enumerate(self.left, 1):
            shares = sums[:, number] * (trips / max(float(sums[:, number].sum()), 1.0))
            numbers = np.floor(shares)
            to_total(shares, numbers, trips)
            found[:, number] = numbers.astype(np.int64)
        return found

    def stretch(self, table: Floats, day: int, sums: Floats) -> Floats:
        """The table of a day, stretched to the totals; what belongs to none stays as it is."""
        factors = np.ones(len(self.ordered) + 1)
        for number, trips in enumerate(self.left, 1):
            factors[number] = trips * PARTS / max(float(sums[:, number].sum()), 1.0)
        parts = self.parts(day)
        return np.where(parts > 0, np.rint(self._reachable(table) * factors[parts]), table)

    def meet(self, table: Floats, numbers: Ints, day: int, wanted: Ints) -> Ints:
        """Whole numbers of a day that have its share of each total: cells with the largest remainders change by one."""
        flat, parts, trips = numbers.reshape(-1).astype(np.float64), self.parts(day).reshape(-1), in_trips(table)
        # What a factor rounded to nothing can still be reached.
        trips = np.maximum(trips, self.world.possible(self.columns) / PARTS).reshape(-1)
        order = np.argsort(parts, kind="stable")
        ends = np.searchsorted(parts[order], np.arange(len(self.ordered) + 1), side="right")
        for number, (first, last) in enumerate(pairwise(ends.tolist()), 1):
            cells = order[first:last]
            own = flat[cells]
            to_total(trips[cells], own, int(wanted[day, number]))
            flat[cells] = own
        return flat.astype(np.int64).reshape(numbers.shape)

    def certain(self, days: Sequence[int], kept: Columns) -> Flags:
        """Which cells of a table over these columns, of these days together, follow from the totals alone.

        They are those that consist of what totals have beyond those within them, each of which they have all of; or of
        parts that have no trips. Of others, the totals tell at most how many there are of several together.
        """
        shape = self.world.shape(kept)
        cells = np.arange(prod(shape)).reshape(spread(np.empty(shape), kept, self.columns).shape)
        found = [self._together(self.parts(day), cells) for day in days]
        both, where = np.unique(np.concatenate([keys for keys, _ in found]), return_inverse=True)
        there = np.bincount(where, np.concatenate([number for _, number in found]))
        cell, part = np.divmod(both, len(self._sizes))
        told = (part > 0) & ((there == self._sizes[part]) | (np.array([-1, *self.left])[part] == 0))
        certain = np.ones(prod(shape), dtype=np.bool_)
        certain[cell[~told]] = False
        return certain.reshape(shape)

    def _together(self, parts: Ints, cells: Ints) -> tuple[Ints, Ints]:
        """How often each cell of a table meets each part."""
        keys, number = np.unique(cells * len(self._sizes) + parts, return_counts=True)
        return keys, number

    @cached_property
    def _sizes(self) -> Ints:
        """Of each part, how many cells of whole trips it has, on all days."""
        found = np.zeros(len(self.ordered) + 1, dtype=np.int64)
        for day in range(self.world.days):
            found += np.bincount(self.parts(day).reshape(-1), minlength=len(found))
        return found
