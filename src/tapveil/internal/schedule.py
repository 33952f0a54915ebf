"""A schedule: how much each of several equal releases may spend, so that all of them keep one budget.

What fits is what the ledger would say to that many releases, by exact accounting: composition, not division. It follows
from the plan alone, unless accuracy is asked for at the counts of a published folder, or of the trips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import count
from math import ceil, exp, floor, log, log10, sqrt
from typing import Any

import tomlkit

from tapveil.base.errors import PlanError, UsageError
from tapveil.base.time_bins import TimeBins
from tapveil.internal.accuracy import FINENESS, Counts, Need, dated
from tapveil.ledger.accounts import Account
from tapveil.ledger.entry import MOST_RELEASES, Budget, Scheduled, Spend
from tapveil.plan.model import Plan, Table
from tapveil.privacy.calibration import gaussian_distance
from tapveil.privacy.loss import Loss
from tapveil.privacy.mechanisms import LARGEST_EPSILON, SMALLEST_EPSILON
from tapveil.privacy.person import WEEK
from tapveil.privacy.rational import decimal_text
from tapveil.published.manifest import Manifest
from tapveil.veil.spend import would_spend

EVERY = {"day": 1, "week": 7, "two-weeks": 14, "month": 30, "quarter": 91}
"""How many days a release covers."""
FIRST_MONDAY = date(2024, 1, 1)
DIGITS = 3
_LEAST, _OF_A_SIZE = 100, 900
"""Numbers of this length: the least, and how many there are."""
FEW = 6
"""Trials after which an interval is halved."""
HOUR = 60
"""Minutes of a coarser time bin."""
_Point = tuple[float, float]


@dataclass(frozen=True)
class Schedule:
    """Equal releases of a plan, each of the days after the one before, under one budget."""

    plan: Plan
    every: str
    number: int
    total: Loss

    def __post_init__(self) -> None:
        if not self.plan.guarantee.is_shared:
            raise PlanError("a schedule needs one epsilon under [privacy], shared by weight, not one for each table")
        if not 1 <= self.number <= MOST_RELEASES:
            raise UsageError(f"--for: must be from 1 to {MOST_RELEASES:,}")

    @property
    def days(self) -> int:
        return EVERY[self.every]

    def instead(self, every: str) -> Schedule:
        """As long a time in releases of another length, with as many trips of a card in proportion."""
        number = ceil(Fraction(self.number * self.days, EVERY[every]))
        privacy = self.plan.privacy
        if privacy.trips_per_card:
            trips = max(1, ceil(Fraction(privacy.trips_per_card * EVERY[every], self.days)))
            privacy = privacy.model_copy(update={"trips_per_card": trips})
        return Schedule(self.plan.model_copy(update={"privacy": privacy}), every, number, self.total)

    @property
    def in_hours(self) -> Schedule | None:
        """The same with hours instead of shorter bins; None where no table has shorter ones that make up hours."""
        plan, minutes = self.plan, self.plan.coarsen.time_minutes
        coarsen = plan.coarsen.model_copy(update={"time_minutes": HOUR})
        tables = tuple(_in_hours(table) for table in plan.table)
        hours = replace(self, plan=plan.model_copy(update={"coarsen": coarsen, "table": tables}))
        can_be = minutes < HOUR and not HOUR % minutes and not plan.source.day_starts % HOUR
        return hours if can_be and any(hours.bins(name) != self.bins(name) for name in plan.tables) else None

    def bins(self, table: str) -> TimeBins | None:
        """The time bins of a table; None where it has no times."""
        own = self.plan.tables[table]
        timed = any(self.plan.source.kind(column) == "time" for column in own.columns)
        return self.plan.columns.times(own.level) if timed else None

    def a_week(self, table: str, in_a_cell: int, bins: TimeBins | None) -> Fraction:
        """The trips a week, in one of these shorter bins, of whom a cell has this number, if they are spread evenly.

        Of two times of a trip one decides: the other follows it.
        """
        days = 1 if dated(self.plan, self.plan.tables[table]) else self.days
        own = self.bins(table)
        shorter = Fraction(len(own.starts), len(bins.starts)) if own and bins else Fraction(1)
        return in_a_cell * Fraction(WEEK, days) * shorter

    @cached_property
    def delta(self) -> Fraction:
        """δ of each release: an equal part of half of the total, so that the other half is left for the sum of losses.

        Where cells are always there, nobody appears, and all of it is for the sum.
        """
        if self.plan.privacy.lists_cells:
            return Fraction(0)
        part = self.total.delta if self.plan.privacy.unit != "card" else self.total.delta / self.number
        return part if self.plan.privacy.is_world or self.number == 1 else part / (2 if self._adds_up else 1)

    @property
    def _adds_up(self) -> bool:
        """Whether a unit is in all releases."""
        return self.plan.privacy.unit == "card"

    def with_epsilon(self, epsilon: Fraction) -> Plan:
        """The plan with this ε for each release."""
        update = {"epsilon": epsilon, "delta": None if self.plan.privacy.lists_cells else self.delta}
        return self.plan.model_copy(update={"privacy": self.plan.privacy.model_copy(update=update)})

    def account(self, epsilon: Fraction, number: int | None = None) -> Account:
        """All releases of the schedule, or fewer, as the ledger would have them on record."""
        spend, budget = would_spend(self.with_epsilon(epsilon)), self.budget
        return Account(budget, tuple(_in_turn(spend, self.days, self.number if number is None else number)))

    @property
    def budget(self) -> Budget:
        privacy, today = self.plan.privacy, datetime.now(UTC).date()
        return Budget(
            on=today,
            data_set=self.plan.ledger.data_set,
            unit=privacy.unit,
            neighbours=privacy.neighbours,
            epsilon=self.total.epsilon,
            delta=self.total.delta,
        )

    def fits(self, epsilon: Fraction) -> bool:
        """Whether all releases with this ε keep the budget; not where no noise gives it."""
        try:
            return self.account(epsilon).fits
        except ValueError:
            return False

    @cached_property
    def epsilon(self) -> Fraction:
        """The most that each release may spend, to a few digits, rounded down."""
        total, most = self.total.epsilon, min(self.total.epsilon, LARGEST_EPSILON * len(self.plan.table))
        least = max(total / self.number, SMALLEST_EPSILON)
        low, high = _place(least) - 1, _place(most) + 1  # the last that is known to fit, the first that does not
        guess, before = self._guess, None
        for tried in count():
            place = max(low + 1, min(_place(guess), high - 1))
            low, high = (place, high) if self.fits(_at(place)) else (low, place)
            if high - low == 1:
                break
            if tried >= FEW or (spent := self.spent(_at(place))) is None:
                guess = _at((low + high) // 2)
                continue
            # What is spent grows about in proportion to ε, or as two trials show; where that leads nowhere, halve.
            here = log(_at(place)), log(spent)
            guess, before = _at_height(log(total), here, before, (0.1, 2.0)), here
        if low < _place(least):
            raise PlanError(
                "no epsilon of a release is small enough for this budget: use fewer releases, or more delta"
            )
        return _at(low)

    @property
    def _guess(self) -> Fraction:
        """About what each release may spend, by a formula for Gaussian noise: n releases show √n times its distance.

        Noise is calibrated for each ε that is tried: from here on twice, as a rule, for one that fits and the next that
        does not.
        """
        total = self.total
        if not self._adds_up or self.number == 1:
            return total.epsilon
        if not self.delta:
            return total.epsilon / Fraction(sqrt(self.number))
        for_sum = total.delta if self.plan.privacy.is_world else total.delta - self.number * self.delta
        apart = gaussian_distance(float(total.epsilon), float(for_sum)) / sqrt(self.number)
        low, high = 0.0, float(total.epsilon)
        while high - low > high / _OF_A_SIZE**2:
            middle = (low + high) / 2
            low, high = (middle, high) if gaussian_distance(middle, float(self.delta)) < apart else (low, middle)
        return Fraction(high)

    def spent(self, epsilon: Fraction) -> Fraction | None:
        """What all releases together spend, at the budget's δ; None where no noise gives it."""
        try:
            return self.account(epsilon).epsilon
        except ValueError:
            return None

    def least(self, need: Need, counts: Counts | None = None) -> Fraction | None:
        """The least ε of a release that gives the accuracy that is needed; None where none does.

        Noise is calibrated for each ε that is tried. How much wider or narrower it could be says where to try next;
        where that does not lead to the end, halving does.
        """
        self.plan_has(need.table)
        low, high = _place(SMALLEST_EPSILON * len(self.plan.table)), _place(LARGEST_EPSILON) + 1
        guess, before, is_possible = self.plan.privacy.epsilon or self.total.epsilon, None, False
        for tried in count():
            place = max(low + 1, min(_place(guess), high - 1))
            room, epsilon = self._room(_at(place), need, counts), _at(place)
            is_possible |= room is not None and room >= 1
            low, high = (low, place) if room is not None and room >= 1 else (place, high)
            if high - low == 1:
                return _at(high) if is_possible else None
            if room is None or tried >= FEW:
                guess = _at((low + high) // 2)
                continue
            here = log(epsilon), log(room)
            guess, before = _at_height(0.0, here, before, (0.5, 2.0)), here
        raise AssertionError("an interval has an end")

    def _room(self, epsilon: Fraction, need: Need, counts: Counts | None) -> Fraction | None:
        """How many times as wide noise of an ε may be: from 1 on it gives what is needed; None where there is none."""
        try:
            noise = self.with_epsilon(epsilon).guarantee.mechanisms[need.table]
        except ValueError:
            return None
        met = need.is_met(noise, counts)
        room = need.room(noise, counts)
        return max(room, Fraction(1)) if met else min(room, Fraction(FINENESS - 1, FINENESS))

    def plan_has(self, table: str) -> None:
        """PlanError where it has no such table."""
        if table not in self.plan.tables:
            raise UsageError(f"--need: the plan has no table `{table}`; it has {', '.join(self.plan.tables)}")

    def chosen_by(self, folder: Manifest | None) -> Schedule:
        """Where its ε follows from counts: of a folder, which the ledger must know, or else of the trips themselves."""
        looked = True if folder is None else folder.looked_at_trips or self.plan.privacy.looked_at_trips
        said = {"looked_at_trips": looked, **({"chosen_from": folder.release_id} if folder else {})}
        return replace(self, plan=self.plan.model_copy(update={"privacy": self.plan.privacy.model_copy(update=said)}))

    def to_keep(self, epsilon: Fraction) -> tuple[Scheduled, Spend]:
        """The entry of a ledger, and a release as it is to come."""
        spend = would_spend(self.with_epsilon(epsilon))
        entry = Scheduled(
            on=datetime.now(UTC).date(),
            data_set=spend.data_set,
            unit=spend.unit,
            releases=self.number,
            days=self.days,
            cells=spend.cells,
            tables=spend.tables,
            chosen_from=spend.chosen_from,
        )
        return entry, spend

    def written(self, text: str, epsilon: Fraction) -> str:
        """The text of the plan with this ε and δ; comments and everything else stay as they are."""
        document: Any = tomlkit.parse(text)
        section = document["privacy"]
        for key, value in (("epsilon", epsilon), ("delta", self.delta)):
            if value or key in section:
                section[key] = _toml(value)
        for key in ("chosen_from", "looked_at_trips"):
            if (said := dict(self.plan.privacy)[key]) is not None and section.get(key) != said:
                section[key] = said
        written = str(document.as_string())
        new, meant = Plan.parse(written), self.with_epsilon(epsilon)
        noted = [(each.privacy.chosen_from, each.privacy.looked_at_trips) for each in (new, meant)]
        if new.guarantee.loss != meant.guarantee.loss or noted[0] != noted[1]:
            raise PlanError(f"this plan cannot be rewritten automatically: set epsilon = {_toml(epsilon)} by hand")
        return written


def weeks_that_fit(
    plan_of: Callable[[Fraction], Plan], epsilons: Sequence[Fraction], total: Loss, most: int
) -> Iterator[tuple[Fraction, int]]:
    """For an ε per release: how many such releases fit into a budget, up to a number."""
    for epsilon in epsilons:
        spend = would_spend(plan_of(epsilon))
        budget = Schedule(plan_of(epsilon), "week", 1, total).budget
        low, high = 0, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            fits = Account(budget, tuple(_in_turn(spend, EVERY["week"], middle))).fits
            low, high = (middle, high) if fits else (low, middle)
        yield epsilon, low


def _in_hours(table: Table) -> Table:
    """A table whose own bins are not longer than hours has the plan's."""
    own = table.level.time_minutes
    level = table.level.model_copy(update={"time_minutes": None}) if own and own <= HOUR else table.level
    return table.model_copy(update={"level": level})


def _at_height(height: float, here: _Point, before: _Point | None, slopes: tuple[float, float]) -> Fraction:
    """The ε at which a line reaches a height; in logarithms, through one point, or two."""
    slope = (here[1] - before[1]) / (here[0] - before[0]) if before and before[0] != here[0] else 1.0
    least, most = slopes
    return Fraction(exp(here[0] + (height - here[1]) / min(max(slope, least), most)))


def _in_turn(spend: Spend, days: int, number: int) -> Iterator[Spend]:
    for each in range(number):
        first = FIRST_MONDAY + timedelta(days=each * days)
        last = first + timedelta(days=days - 1)
        yield spend.model_copy(update={"id": f"{each:032x}", "first_day": first, "last_day": last})


def _place(x: Fraction) -> int:
    """Where a number is, or the next below it, in the sequence of all numbers of a few digits."""
    size = floor(log10(x))
    return size * _OF_A_SIZE + floor(x / _power(size - DIGITS + 1)) - _LEAST


def _at(place: int) -> Fraction:
    size, number = divmod(place, _OF_A_SIZE)
    return (_LEAST + number) * _power(size - DIGITS + 1)


def _power(exponent: int) -> Fraction:
    return Fraction(10**exponent) if exponent >= 0 else Fraction(1, 10**-exponent)


def _toml(value: Fraction) -> float | int | str:
    text = decimal_text(value)
    if Fraction(text) != value:
        return str(value)
    return int(text) if text.isdigit() else float(text)
