"""Estimates of whole trips: whole numbers that add up, intervals, and how far each rests on its own measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.joint import Joint
from tapveil.published.estimates.margins import Measured, Tables, known, margin, summed
from tapveil.published.estimates.parts import Floats, Ints
from tapveil.published.estimates.rounding import whole
from tapveil.published.estimates.spread import UNSEEN, Evidence, Spread
from tapveil.published.estimates.world import DATE, KIND, Columns, Measurement, World, check, in_order


@dataclass(frozen=True, eq=False)
class Table:
    """Estimates over some columns, in the order in which they were asked for."""

    columns: Columns
    count: Ints
    low: Ints
    high: Ints
    weight: Floats
    """From 0, the typical day and coarser tables, to 1, its own measurement."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Whole trips of each day; every table is a sum of them, so all tables add up."""

    world: World
    columns: Columns
    """Of the arrays of days."""
    days: Sequence[npt.NDArray[np.int32]]
    spreads: Mapping[Columns, Spread]
    """Of tables that a measurement tells; the date comes first."""

    def spread(self, columns: Sequence[str]) -> Spread:
        """Of the estimates over these columns."""
        dated = (DATE,) if {DATE, KIND} & set(columns) else ()
        return self.spreads.get((*dated, *in_order(columns)), UNSEEN)

    def count(self, columns: Sequence[str]) -> Ints:
        """How many trips, over columns of a trip, the date or the kind of day, in their order."""
        kept = in_order(columns)
        if beyond := set(columns) - {*self.columns, DATE, KIND}:
            raise ValueError(f"there are no estimates by {sorted(beyond)[0]}")
        days = [summed(day.astype(np.int64), self.columns, kept)[0] for day in self.days]
        if DATE in columns:
            found = np.stack(days)
        elif KIND in columns:
            kinds = range(max(self.world.kinds) + 1)
            found = np.stack([sum((days[d] for d in self.world.alike(k)), np.zeros_like(days[0])) for k in kinds])
        else:
            return sum(days[1:], days[0]).transpose([kept.index(column) for column in columns])
        order = [DATE if DATE in columns else KIND, *kept]
        return found.transpose([order.index(column) for column in columns])

    def table(self, columns: Sequence[str]) -> Table:
        """Estimates with intervals."""
        count, spread = self.count(columns), self.spread(columns)
        low, high = spread.around(count)
        return Table(
            tuple(columns), count, low, high * self._possible(columns), spread.weight(count.astype(np.float64))
        )

    def _possible(self, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
        kept = in_order(columns)
        possible = self.world.possible(kept).transpose([kept.index(c) for c in columns if c in kept])
        return np.expand_dims(possible, [i for i, c in enumerate(columns) if c not in kept])


def estimate(world: World, measurements: Sequence[Measurement]) -> Estimates:
    """From what was measured and what is public, nothing else: anyone can make it again, byte for byte."""
    check(world, measurements)
    joint, moved = (Joint(Measured(world, measurements, moved)) for moved in (False, True))
    seen, days = _Seen(joint, moved), []
    for day in range(world.days):
        found = joint.day(day)[joint.columns]
        numbers = whole(found)
        seen.add(day, numbers, found, moved.day(day)[joint.columns])
        days.append(numbers.astype(np.int32))
    return Estimates(world, joint.columns, days, seen.spreads())


class _Seen:
    """What is seen of errors, table by table, day after day."""

    def __init__(self, joint: Joint, moved: Joint) -> None:
        self.joint, self.moved = joint, moved
        self.dated: dict[Columns, Evidence] = {}
        self.sums: dict[Columns, list[Floats]] = {}

    def add(self, day: int, numbers: Ints, found: Floats, moved: Floats) -> None:
        """One day: its whole numbers, and its estimates from the measurements and from the moved ones."""
        measured, other = self.joint.measured.day(day), self.moved.measured.day(day)
        for columns in _subsets(self.joint.columns):
            sums = [summed(each, self.joint.columns, columns)[0] for each in (numbers.astype(np.float64), found, moved)]
            if known(measured, columns):
                evidence = self.dated.setdefault(columns, Evidence(margin(measured, columns).variance))
                _add(evidence, columns, sums, measured, other)
            have = self.sums.get(columns)
            self.sums[columns] = [a + b for a, b in zip(have, sums, strict=True)] if have else sums

    def spreads(self) -> dict[Columns, Spread]:
        """The curves of all tables that a measurement tells."""
        found = {(DATE, *columns): evidence.spread() for columns, evidence in self.dated.items()}
        measured, other = self.joint.measured.all_days(), self.moved.measured.all_days()
        for columns, sums in self.sums.items():
            if known(measured, columns):
                evidence = Evidence(margin(measured, columns).variance)
                _add(evidence, columns, sums, measured, other)
                found[columns] = evidence.spread()
        return found


def _add(evidence: Evidence, columns: Columns, sums: list[Floats], measured: Tables, moved: Tables) -> None:
    numbers, found, follows = sums
    noisy, other = margin(measured, columns).numbers, margin(moved, columns).numbers
    evidence.add(numbers.astype(np.int64), noisy, follows - found, other - noisy)


def _subsets(columns: Columns) -> Iterator[Columns]:
    for size in range(len(columns) + 1):
        yield from combinations(columns, size)
