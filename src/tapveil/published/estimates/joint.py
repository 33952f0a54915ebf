"""Whole trips of a day from noisy tables: from the product of margins to all days, to the kind of day, to the day.

Each step takes what the step before found as its prior, rakes it to the sums that were found so far (of single
columns, then of measured tables), believes the measurement as far as `shrinkage` says, and rakes again. Where there is
little noise this gives the measurements; where noise drowns them, the typical day with the sums of this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tapveil.published.estimates.margins import Measured, Tables, agreeing, known, margin, summed
from tapveil.published.estimates.parts import PARTS, Floats
from tapveil.published.estimates.raking import rake
from tapveil.published.estimates.shelf import Shelf
from tapveil.published.estimates.shrinkage import shrink
from tapveil.published.estimates.world import DURATION, OFF_PLACE, OFF_TIME, ON_PLACE, ON_TIME, Columns, World, in_order

STARTED, ENDED = (ON_TIME, OFF_PLACE), (OFF_TIME, OFF_PLACE)
"""When trips to a place start, and when they end."""
TIMES = (ON_TIME, OFF_TIME, OFF_PLACE)

Fitted = dict[Columns, Floats]
"""Estimates of some days by columns, in whole parts of trips."""


def trip_columns(world: World) -> Columns:
    """Of a whole trip: one time, and the places."""
    time = ON_TIME if ON_TIME in world.sizes else OFF_TIME
    return in_order([column for column in (time, ON_PLACE, OFF_PLACE) if column in world.sizes])


@dataclass(frozen=True)
class Joint:
    """Estimates of the trips of one mode."""

    measured: Measured
    adds_up: bool = True
    """Whether totals of days add up to those of their kind, also where noise makes some negative: from version 3."""

    @property
    def world(self) -> World:
        """Of which all this is."""
        return self.measured.world

    @cached_property
    def columns(self) -> Columns:
        """Of a whole trip."""
        return trip_columns(self.world)

    @cached_property
    def order(self) -> list[Columns]:
        """What is estimated, one after the other: each with sums found before."""
        axes = in_order([column for columns in (*self.measured.columns, self.columns) for column in columns])
        tables = [columns for columns in self.measured.columns if len(columns) > 1 and columns != self.columns]
        if self._ends is not None and ENDED in tables and STARTED not in tables:
            tables.append(STARTED)
        return [*((axis,) for axis in axes if (axis,) != self.columns), *tables, self.columns]

    @cached_property
    def beyond(self) -> list[Columns]:
        """Measured tables with columns that a whole trip does not have: the other time, durations."""
        return [columns for columns in self.measured.columns if not set(columns) <= set(self.columns)]

    @cached_property
    def _ends(self) -> Floats | None:
        both = {ON_TIME, OFF_TIME} <= set(self.world.sizes) and self.world.clock is not None
        return self.world.clock.ends() if both and self.world.clock is not None else None

    @property
    def all_days(self) -> Fitted:
        """The sums of all days."""
        return self._aside(0)

    def typical(self, kind: int) -> Fitted:
        """The sums of a kind of day. One kind is in memory: days of a kind mostly follow each other."""
        if kind not in self._current:
            self._current.clear()
            self._current[kind] = self._aside(1 + self._kinds.index(kind))
        return self._current[kind]

    def day(self, day: int) -> Fitted:
        """The estimates of one day."""
        total = self._of_days.get(day) if self.adds_up else None
        return self._fit(agreeing(self.measured.day(day)), self.typical(self.world.kinds[day]), total)

    @cached_property
    def _kinds(self) -> list[int]:
        return sorted(set(self.world.kinds))

    @cached_property
    def _current(self) -> dict[int, Fitted]:
        return {}

    @cached_property
    def _shelf(self) -> Shelf:
        """The tables of all days, then those of each kind: there may be more of them than of one day."""
        found = Shelf()
        shapes = {columns: self.world.possible(columns) * np.float64(PARTS) for columns in self.order}
        all_days = self._fit(agreeing(self.measured.all_days()), shapes, pooled=True)
        found.put_all(all_days.values())
        totals = self._of_kinds if self.adds_up else {}
        for kind in self._kinds:
            tables = agreeing(self.measured.kind(kind))
            found.put_all(self._fit(tables, all_days, totals.get(kind), pooled=True).values())
        return found

    def _aside(self, number: int) -> Fitted:
        columns: list[Columns] = [(), *self.order]
        return dict(zip(columns, self._shelf[number * len(columns) : (number + 1) * len(columns)], strict=True))

    @cached_property
    def _of_kinds(self) -> dict[int, float]:
        """Where noise makes the total of a kind of day negative: totals of all kinds, with the same sum."""
        noisy = {kind: _noisy_total(self.measured.kind(kind)) for kind in self._kinds}
        return lowered(noisy, 0.0) if min(noisy.values()) < PARTS else {}

    @cached_property
    def _of_days(self) -> dict[int, float]:
        """The same of days: those of a kind are lowered by as much as their kind was."""
        found: dict[int, float] = {}
        for kind in self._kinds:
            noisy = {day: _noisy_total(self.measured.day(day)) for day in self.world.alike(kind)}
            known = kind in self._of_kinds
            lost = _noisy_total(self.measured.kind(kind)) - self._of_kinds[kind] if known else 0.0
            if lost or min(noisy.values()) < PARTS:
                found |= lowered(noisy, lost)
        return found

    def _fit(
        self, tables: Tables, priors: Mapping[Columns, Floats], total: float | None = None, pooled: bool = False
    ) -> Fitted:
        found: Fitted = {(): self._total(tables, priors) if total is None else np.asarray(total)}
        for columns in self.order:
            sums = {kept: found[kept] for kept in _largest_within(columns, found)}
            table = rake(priors[columns].copy(), columns, sums)
            if columns == STARTED and ENDED in found and not known(tables, STARTED):
                table = self._by_start(table, found)
            if known(tables, columns):
                noisy = margin(tables, columns)
                if pooled and self.world.same_places and columns == (ON_PLACE, OFF_PLACE):
                    table = rake(_with_ways_back(noisy.numbers, table, noisy.variance), columns, sums)
                table = rake(shrink(noisy.numbers, table, noisy.variance, pooled), columns, sums)
            found[columns] = table
        return found

    def _by_start(self, table: Floats, found: Fitted) -> Floats:
        """When those set out who arrive at a place: from when they arrive, and how long trips take."""
        if self._ends is None:
            return table
        durations = found.get((DURATION,), np.ones(self._ends.shape[1]))
        kernel = np.zeros((self._ends.shape[0], self._ends.shape[2]))
        for each, share in enumerate((durations / float(durations.sum())).tolist()):
            kernel += self._ends[:, each] * share
        whole = np.rint(table[:, None, :] * kernel[:, :, None])
        sums = {(ON_TIME,): found[(ON_TIME,)], ENDED: found[ENDED]}
        return summed(rake(whole, TIMES, sums), TIMES, STARTED)[0]

    @staticmethod
    def _total(tables: Tables, priors: Mapping[Columns, Floats]) -> Floats:
        if tables:
            return np.maximum(margin(tables, ()).numbers, PARTS)
        return np.asarray(next(iter(priors.values())).sum())


def _noisy_total(tables: Tables) -> float:
    """In parts; where nothing was measured, more than any."""
    return float(margin(tables, ()).numbers) if tables else float("inf")


def lowered(numbers: Mapping[int, float], by: float) -> dict[int, float]:
    """The numbers nearest to these (least squares) whose sum is lower by as much, none below one part.

    All are lowered alike, but those that reach the least stay there, and the others are lowered further for them.

    >>> lowered({0: -3 * PARTS, 1: 5 * PARTS, 2: 9 * PARTS}, 0.0) == {0: PARTS, 1: 3 * PARTS, 2: 7 * PARTS}
    True
    """
    left = sorted(numbers.values())
    wanted = max(sum(left) - by, len(left) * PARTS)
    while left and (step := (sum(left) - wanted) / len(left)) > left[0] - PARTS:
        wanted -= PARTS
        left = left[1:]
    step = step if left else 0.0
    return {each: float(np.rint(max(number - step, PARTS))) for each, number in numbers.items()}


def _largest_within(columns: Columns, found: Fitted) -> list[Columns]:
    """The tables that have some of these columns, without those that another one has all of."""
    inside = [other for other in found if set(other) < set(columns)]
    return [other for other in inside if not any(set(other) < set(larger) for larger in inside)]


def _with_ways_back(numbers: Floats, prior: Floats, variance: float) -> Floats:
    """A better prior for pairs of places: who goes comes back, so the two directions are first believed together."""
    expected = prior + prior.T
    together = shrink(numbers + numbers.T, expected, 2 * variance, pooled=True)
    return np.rint(together * (prior / np.maximum(expected, 1.0)))
