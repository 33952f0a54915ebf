"""A person: what releases mean for somebody who makes a number of trips a week, whatever unit they protect.

A unit may be a small part of a person: a commuter's year is 520 trips. What all of a person's trips change is a group
of changed cells (`group`), in all releases; later trips may react to what earlier releases showed, so it is accounted
for by (★★) of `accountant`. It is an upper bound, whatever the person does (docs/privacy/proofs.md, claim 20); no trip
is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, inf
from typing import Literal

from tapveil.privacy import accountant
from tapveil.privacy.accountant import Change, ChangedCells
from tapveil.privacy.group import moved
from tapveil.privacy.meaning import Meaning, Verdict
from tapveil.privacy.mechanisms import Dictionary, Mechanism
from tapveil.privacy.rational import decimal_text, float_below
from tapveil.privacy.units import Neighbours, Unit

TRIPS_A_WEEK = (2, 5, 10, 20)
"""The people of whom is spoken."""
WEEK, YEAR = 7, 365
"""In days."""
LARGEST_DELTA = Fraction(1, 1000)
"""Above it, nothing is promised: one of a thousand such people may be shown."""
WORTHLESS = Fraction(9999, 10_000)
"""Where a suspicious reader may be right more often, nothing that deserves the name is promised to a person."""
DIGITS = 3
PRECISION = 1e-5

PersonVerdict = Verdict | Literal["none"]


@dataclass(frozen=True)
class Releases:
    """Equal releases, each of the days after the one before."""

    unit: Unit
    tables: tuple[tuple[Mechanism, bool], ...]
    """Of each table: its mechanism, and whether each of its cells is of one day."""
    most: int
    """The number of trips of a unit that are counted, at most; 1 for a trip."""
    days: int
    """The length of a release."""
    number: int = 1
    weeks: int | None = None
    """Of releases shorter than a week: in how many weeks they are; None where each follows the one before."""

    def in_a_year(self) -> Releases:
        """As many as a year has, carried on."""
        return Releases(self.unit, self.tables, self.most, self.days, max(1, round(Fraction(YEAR, self.days))))

    def trips(self, a_week: int) -> int:
        """The trips of a person, at most: in proportion to the days, and all of a week's in one shorter release."""
        return self._each(a_week) * self._taken

    def _each(self, a_week: int) -> int:
        return ceil(Fraction(a_week * max(self.days, WEEK), WEEK))

    @property
    def _taken(self) -> int:
        """In how many releases all of these trips are: of several in a week, one has them all (claim 20)."""
        if self.days >= WEEK:
            return self.number
        return ceil(Fraction(self.number * self.days, WEEK)) if self.weeks is None else self.weeks

    def counted(self, a_week: int) -> int:
        """The trips of a person that count, at most."""
        each = self._each(a_week)
        days = 1 if self.unit == "card" else min(self.days, each)
        return min(each * self._taken, each * self._taken if self.unit == "trip" else days * self.most * self.number)

    def moved_cells(self, a_week: int, *, apart: bool) -> Counter[ChangedCells]:
        """The changed cells of a person; `apart`: if no two of the trips are in the same cell of a table."""
        found: Counter[ChangedCells] = Counter()
        for mechanism, dated in self.tables:
            most = 1 if apart else self._most_in_a_cell(a_week, mechanism, dated=dated)
            if most == 1:
                found[moved(mechanism, 1)] += self.counted(a_week)
            else:
                # Cells are joined while two together have no more than `most`: then any two have more.
                trips = ceil(Fraction(self.counted(a_week), self._taken))
                found[moved(mechanism, most)] += max(1, ceil(Fraction(2 * trips, most)) - 1) * self._taken
        return found

    def _most_in_a_cell(self, a_week: int, mechanism: Mechanism, *, dated: bool) -> int:
        """By how much a person changes one cell, at most: a card counts `per_cell` times in it, a card's day too."""
        each, often = self._each(a_week), mechanism.per_cell
        return min(each, {"trip": each, "card-day": often * (1 if dated else self.days), "card": often}[self.unit])

    def most_in_a_cell(self, a_week: int) -> int:
        """The trips of a person that may be in one cell of a release."""
        return max(self._most_in_a_cell(a_week, mechanism, dated=dated) for mechanism, dated in self.tables)

    @property
    def pure_epsilon_of_a_trip(self) -> Fraction | None:
        """Where the noise is pure: the ε of one trip in one cell of every table."""
        if not all(isinstance(mechanism, Dictionary) for mechanism, _ in self.tables):
            return None
        return sum((1 / mechanism.scale for mechanism, _ in self.tables), start=Fraction(0))


@dataclass(frozen=True)
class Person:
    """What some releases mean for a person with this many trips a week."""

    trips_a_week: int
    releases: tuple[Releases, ...]
    promised: Fraction
    """δ of the promise: the person's is the same, or twice the probability that a cell of hers alone appears."""
    apart: bool = False
    """Whether no two of her trips are in the same cell of a table."""

    @property
    def trips(self) -> int:
        return sum(each.trips(self.trips_a_week) for each in self.releases)

    @cached_property
    def _cells(self) -> Counter[ChangedCells]:
        found = (each.moved_cells(self.trips_a_week, apart=self.apart) for each in self.releases)
        return sum(found, start=Counter[ChangedCells]())

    @cached_property
    def delta(self) -> Fraction:
        """The δ at which ε is stated, to a few digits."""
        if self._pure_epsilon is not None:
            return self.promised
        absent = 1.0
        for cells, number in self._cells.items():
            absent *= float_below(1 - cells.singleton) ** number
        alone = 2 * Fraction(min(1.0, (1 - absent) * (1 + 1e-9) + 2e-16 * (absent < 1)))
        return min(Fraction(1), _rounded_up(max(self.promised, alone)))

    @property
    def _pure_epsilon(self) -> Fraction | None:
        """The sum of the losses of all her trips, in any cells; None where noise is not pure."""
        pure = [each.pure_epsilon_of_a_trip for each in self.releases]
        counted = (each.counted(self.trips_a_week) for each in self.releases)
        sums = (number * one for number, one in zip(counted, pure, strict=True) if one is not None)
        return None if None in pure else sum(sums, start=Fraction(0))

    def epsilon(self, neighbours: Neighbours) -> Fraction | None:
        """ε at that δ, from above; None where none up to 700 is enough."""
        return self._if_replaced if neighbours == "replace" else self._if_added_or_removed

    @cached_property
    def _if_replaced(self) -> Fraction | None:
        return self._least("replace")

    @cached_property
    def _if_added_or_removed(self) -> Fraction | None:
        return self._least("add-remove")

    def _least(self, neighbours: Neighbours) -> Fraction | None:
        if (pure := self._pure_epsilon) is not None:
            return pure * (2 if neighbours == "replace" else 1)
        if self.delta > LARGEST_DELTA:
            return None
        bound = _least_epsilon(tuple(self._cells.items()), float_below(self.delta), neighbours)
        return None if bound == inf else Fraction(bound)

    def shown_epsilon(self, neighbours: Neighbours = "add-remove") -> Fraction | None:
        """ε to a few digits, rounded up by more than the floats of another machine may be off."""
        found = self.epsilon(neighbours)
        if found is None:
            return None
        return _rounded_up(found if self._pure_epsilon is not None else found * (1 + 2 * Fraction(PRECISION)))

    @property
    def meaning(self) -> Meaning | None:
        """In frequencies, for a reader who wonders whether she travelled at all; None where there is no ε."""
        epsilon = self.shown_epsilon()
        return None if epsilon is None else Meaning(epsilon, self.delta)

    @property
    def is_apart_anyway(self) -> bool:
        """Whether no two of her trips can count in the same cell of a release."""
        return all(each.most_in_a_cell(self.trips_a_week) == 1 for each in self.releases)


@lru_cache(maxsize=1024)
def _least_epsilon(changed: tuple[tuple[ChangedCells, int], ...], delta: float, neighbours: Neighbours) -> float:
    cells, none = dict(changed), dict[ChangedCells, int]()
    sides = [(cells, cells)] if neighbours == "replace" else [(cells, none), (none, cells)]
    changes = [Change(left, entered, reactive=True) for left, entered in sides]
    return accountant.epsilon_upper_bound(changes, delta, PRECISION, blocks=0)


def verdict(meaning: Meaning | None) -> PersonVerdict:
    """In a word: "none" where nothing meaningful is promised to a person."""
    return "none" if meaning is None or meaning.right > WORTHLESS else meaning.verdict


def people(releases: Sequence[Releases], promised: Fraction) -> list[Person]:
    """The people of whom is spoken."""
    return [Person(trips, tuple(releases), promised) for trips in TRIPS_A_WEEK]


def people_of_a_year(released: Releases, promised: Fraction) -> list[Person]:
    """The same, of one release and then of as many as a year has, if these are more."""
    both = dict.fromkeys((released, released.in_a_year()))
    return [person for each in both for person in people([each], promised)]


def _rounded_up(x: Fraction) -> Fraction:
    return Fraction(decimal_text(x, DIGITS, ROUND_CEILING)) if x else x
