"""A schedule: how much each of several equal releases may spend, so that all of them keep one budget.

What fits is what the ledger would say to that many releases, by exact accounting: composition, not division. It follows
from the plan alone, unless accuracy is asked for at the counts of a published folder, or of the trips.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import count as count_from
from math import ceil, floor, log10, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tomlkit

from tapveil.base.errors import PlanError, UsageError
from tapveil.base.types import read_exact
from tapveil.counting.counter import count
from tapveil.counting.reveal import exact_counts
from tapveil.ledger.accounts import Account
from tapveil.ledger.entry import Budget, Scheduled, Spend
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import distribution
from tapveil.privacy.loss import Loss
from tapveil.privacy.mechanisms import LARGEST_EPSILON, SMALLEST_EPSILON, Mechanism
from tapveil.privacy.rational import decimal_text
from tapveil.published.folder import Folder
from tapveil.veil.spend import would_spend

EVERY = {"day": 1, "week": 7, "two-weeks": 14, "month": 30, "quarter": 91}
"""How many days a release covers."""
FIRST_MONDAY = date(2024, 1, 1)
DIGITS = 3
_LEAST, _OF_A_SIZE = 100, 900
"""Numbers of so many digits: the least, and how many there are."""
FEW = 6
"""Trials after which an interval is halved."""
ENOUGH = Fraction(95, 100)
"""The share of cells that must be as accurate as is needed."""
Counts = npt.NDArray[np.int64]


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
        if self.number < 1:
            raise UsageError("--for: must be at least 1")

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
        guess = total / Fraction(sqrt(self.number)) if self._adds_up else most
        for tried in count_from(0):
            place = max(low + 1, min(_place(guess), high - 1))
            low, high = (place, high) if self.fits(_at(place)) else (low, place)
            if high - low == 1:
                break
            # What is spent grows about in proportion to ε. Where that does not lead to the end, halving does.
            spent = self.spent(_at(place)) if tried < FEW else None
            guess = _at(place) * total / spent if spent else _at((low + high) // 2)
        if low < _place(least):
            raise PlanError(
                "no epsilon of a release is small enough for this budget: use fewer releases, or more delta"
            )
        return _at(low)

    def spent(self, epsilon: Fraction) -> Fraction | None:
        """What all releases together spend, at the budget's δ; None where no noise gives it."""
        try:
            return self.account(epsilon).epsilon
        except ValueError:
            return None

    def least(self, need: Need, counts: Counts | None = None) -> Fraction | None:
        """The least ε of a release that gives the accuracy that is needed; None where none does."""
        self.plan_has(need.table)

        def enough(epsilon: Fraction) -> bool:
            try:
                return need.is_met(self.with_epsilon(epsilon).guarantee.mechanisms[need.table], counts)
            except ValueError:
                return False

        low, high = SMALLEST_EPSILON * len(self.plan.table), LARGEST_EPSILON
        if not enough(high):
            return None
        while (middle := _rounded_down((low + high) / 2)) > low:
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def plan_has(self, table: str) -> None:
        """PlanError where it has no such table."""
        if table not in self.plan.tables:
            raise UsageError(f"--need: the plan has no table `{table}`; it has {', '.join(self.plan.tables)}")

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
        )
        return entry, spend

    def written(self, text: str, epsilon: Fraction) -> str:
        """The text of the plan with this ε and δ; comments and everything else stay as they are."""
        document: Any = tomlkit.parse(text)
        section = document["privacy"]
        for key, value in (("epsilon", epsilon), ("delta", self.delta)):
            if value or key in section:
                section[key] = _toml(value)
        written = str(document.as_string())
        if Plan.parse(written).guarantee.loss != self.with_epsilon(epsilon).guarantee.loss:
            raise PlanError(f"this plan cannot be rewritten automatically: set epsilon = {_toml(epsilon)} by hand")
        return written


@dataclass(frozen=True)
class Need:
    """How accurate a table must be.

    >>> Need.read("origin_hour within 10 % where at least 200")
    Need(table='origin_hour', within=Fraction(1, 10), least=200)
    """

    table: str
    within: Fraction
    least: int

    @classmethod
    def read(cls, text: str) -> Need:
        """UsageError if it is not in this form."""
        words = r"\s*(\S+)\s+within\s+([0-9.]+)\s*%\s+where\s+at\s+least\s+([0-9]+)\s*"
        if not (found := re.fullmatch(words, text)) or not read_exact(found[2]) or not int(found[3]):
            raise UsageError(f'--need: write "TABLE within 10 % where at least 200", not "{text}"')
        return cls(found[1], read_exact(found[2]) / 100, int(found[3]))

    def is_met(self, mechanism: Mechanism, counts: Counts | None = None) -> bool:
        """Whether cells are as accurate: at the least count, or 19 of 20 cells of these counts."""
        sizes = np.array([self.least]) if counts is None else counts[counts >= self.least]
        return len(sizes) > 0 and float(self.met(mechanism, sizes).mean()) >= ENOUGH

    def met(self, mechanism: Mechanism, sizes: Counts) -> npt.NDArray[np.float64]:
        """For each true count: the probability that it is published, and within the bound."""
        sizes, places = np.unique(sizes, return_inverse=True)
        law = distribution(mechanism)
        chances = [float(law.within(np.array([size]), floor(self.within * int(size)))[0]) for size in sizes]
        return np.array(chances)[places]


def counts_of_folder(folder: Path, table: str) -> Counts:
    """The published counts of a table: they cost nothing."""
    opened = Folder(folder)
    if table not in opened.tables:
        raise UsageError(f"--from: {folder} has no table `{table}`; it has {', '.join(opened.tables)}")
    return np.asarray(opened.table(table).to_arrow().column("count"), dtype=np.int64)


def counts_of_trips(plan: Plan, table: str) -> Counts:
    """The exact counts of a table: confidential."""
    return exact_counts(count(plan).tables[table])


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


def _in_turn(spend: Spend, days: int, number: int) -> Iterator[Spend]:
    for each in range(number):
        first = FIRST_MONDAY + timedelta(days=each * days)
        last = first + timedelta(days=days - 1)
        yield spend.model_copy(update={"id": f"{each:032x}", "first_day": first, "last_day": last})


def _rounded_down(x: Fraction) -> Fraction:
    """To a few digits.

    >>> _rounded_down(Fraction("1.23456")), _rounded_down(Fraction(8))
    (Fraction(123, 100), Fraction(8, 1))
    """
    return _at(_place(x))


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
