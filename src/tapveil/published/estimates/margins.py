"""Noisy tables of the same trips made to agree: where several tell the same sum, each is believed by its variance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.parts import PARTS, Floats, in_parts, normals, signs
from tapveil.published.estimates.world import DATE, KIND, Columns, Measurement, World, in_order

Number = TypeVar("Number", np.float64, np.int64)

STEP = 2.0**-7
"""How far a measurement is moved, in deviations of its noise, to see how far the estimates follow."""


@dataclass(frozen=True, eq=False)
class Noisy:
    """A table of some days: whole parts of trips, each with noise of this variance (in trips²)."""

    numbers: Floats
    variance: float


Tables = dict[Columns, Noisy]


APART = 0.5
"""The share of the variance of a measurement by which its first half has more; its second half has 1/APART more."""
_OTHER_SEEDS = 1 << 24


@dataclass(frozen=True)
class Measured:
    """All measurements of a mode; `moved`, with all of them moved a little, each cell up or down.

    Or one of their two halves: noise Z of its own is added to a measurement, and taken off it. Of N + a·Z and N − Z/a
    neither tells anything about the noise of the other, if Z has the deviation of the noise of N, which is normal but
    for its being whole (Rasines, Young 2023): what is found in one can be judged by the other, whatever was chosen.
    """

    world: World
    measurements: Sequence[Measurement]
    moved: bool = False
    half: int = 0
    """1, 2, or 0 for the whole."""

    @property
    def columns(self) -> list[Columns]:
        """Of the tables, without the day: fewer columns first."""
        return sorted({each.of_trips for each in self.measurements}, key=lambda columns: (len(columns), columns))

    def day(self, day: int) -> Tables:
        """What was measured of one day alone."""
        return _together(self._dated([day]))

    def kind(self, kind: int) -> Tables:
        """What was measured of a kind of day: by the day, or together."""
        return _together([*self._dated(self.world.alike(kind)), *self._of_kinds([kind])])

    def all_days(self) -> Tables:
        """What was measured of all days: by the day, by their kind, or together."""
        days, kinds = list(range(self.world.days)), sorted(set(self.world.kinds))
        together = ((each.of_trips, self._noisy(i, each, [None])) for i, each in self._with(None))
        return _together([*self._dated(days), *self._of_kinds(kinds), *together])

    def _dated(self, days: list[int]) -> Iterator[tuple[Columns, Noisy]]:
        return ((each.of_trips, self._noisy(i, each, days)) for i, each in self._with(DATE))

    def _of_kinds(self, kinds: list[int]) -> Iterator[tuple[Columns, Noisy]]:
        return ((each.of_trips, self._noisy(i, each, kinds)) for i, each in self._with(KIND))

    def _with(self, day: str | None) -> Iterator[tuple[int, Measurement]]:
        for index, each in enumerate(self.measurements):
            if {DATE, KIND} & set(each.columns) == ({day} if day else set()):
                yield index, each

    def _noisy(self, table: int, each: Measurement, entries: Sequence[int | None]) -> Noisy:
        total = np.zeros(self.world.shape(each.of_trips))
        for entry in entries:
            total += in_parts(each.entry(entry))
            if self.moved:
                seed = table << 12 | (0 if entry is None else entry)
                step = np.rint(STEP * np.sqrt(each.variance) * PARTS)
                total += step * signs(seed, total.size).reshape(total.shape)
            if self.half:
                seed = _OTHER_SEEDS | table << 12 | (0 if entry is None else entry)
                share = np.sqrt(APART) if self.half == 1 else -1 / np.sqrt(APART)
                far = share * np.sqrt(each.variance) * PARTS
                total += np.rint(far * normals(seed, total.size)).reshape(total.shape)
        wider = (1.0, 1 + APART, 1 + 1 / APART)[self.half]
        return Noisy(total, float(each.variance) * len(entries) * wider)


def _together(tables: Iterable[tuple[Columns, Noisy]]) -> Tables:
    found: Tables = {}
    for columns, table in tables:
        found[columns] = _both(found[columns], table) if columns in found else table
    return found


def _both(one: Noisy, other: Noisy) -> Noisy:
    """The same table measured twice."""
    share = other.variance / (one.variance + other.variance)
    numbers = np.rint(one.numbers * share + other.numbers * (1 - share))
    return Noisy(numbers, share * one.variance)


def agreeing(tables: Tables) -> Tables:
    """Least squares: from coarse sums to fine ones, each becomes the same in all tables that have it.

    The sums over fewer columns already agree, so what differs here is orthogonal to them, and the mean weighted by
    the inverse of the variances is the solution for it: all of weighted least squares, one component after another.
    """
    tables = dict(tables)
    axes = in_order([column for columns in tables for column in columns])
    for size in range(len(axes)):
        for columns in combinations(axes, size):
            holders = [other for other in tables if set(columns) <= set(other)]
            if len(holders) > 1:
                agreed = margin(tables, columns).numbers
                for other in holders:
                    table = tables[other]
                    own, cells = summed(table.numbers, other, columns)
                    change = spread(np.rint((agreed - own) / cells), columns, other)
                    tables[other] = Noisy(table.numbers + change, table.variance)
    return tables


def margin(tables: Tables, columns: Columns) -> Noisy:
    """The sums over some columns, from all tables that have them."""
    holders = sorted(other for other in tables if set(columns) <= set(other))
    if holders == [columns]:
        return tables[columns]
    weighted, precision = np.zeros(()), 0.0
    for other in holders:
        own, cells = summed(tables[other].numbers, other, columns)
        trust = 1 / (tables[other].variance * cells)
        weighted, precision = weighted + trust * own, precision + trust
    return Noisy(np.rint(weighted / precision), 1 / precision)


def known(tables: Collection[Columns], columns: Columns) -> bool:
    """Whether a measured table tells the sums over these columns."""
    return any(set(columns) <= set(other) for other in tables)


def summed(numbers: npt.NDArray[Number], columns: Columns, kept: Columns) -> tuple[npt.NDArray[Number], int]:
    """The sums over the columns that are kept, and how many cells are in each. Of whole numbers: exact."""
    gone = tuple(axis for axis, column in enumerate(columns) if column not in kept)
    cells = 1
    for axis in gone:
        cells *= numbers.shape[axis]
    return (numbers.sum(axis=gone) if gone else numbers), cells


def spread(numbers: Floats, columns: Columns, over: Columns) -> Floats:
    """An array over some columns, so that it fits one over more of them."""
    return numbers.reshape([numbers.shape[columns.index(c)] if c in columns else 1 for c in over])
