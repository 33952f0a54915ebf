"""What is spent where: every way in which one unit can change what all releases together show.

A trip is at one place: one day and one mode. Releases that do not cover the place do not show it, so releases of other
days or modes do not add up. A trip that is exchanged may leave one place and enter another: each pair of places is
accounted for. A card's day is at one day, whatever its modes; a card may be everywhere (docs/privacy/proofs.md, 13).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_CEILING
from fractions import Fraction
from functools import cached_property

from tapveil.errors import BudgetError
from tapveil.ledger.entry import Budget, Entry, Spend
from tapveil.plan import Unit
from tapveil.privacy.loss import Change, least_epsilon
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.rational import decimal_text

SIZE: dict[Unit, int] = {"trip": 0, "card-day": 1, "card": 2}
"""Units by how much they hold: what protects a card protects its days, and they their trips; not the other way."""
ANY_OTHER = None
"""Stands for all modes that no release names."""
PRECISION = 1e-6
ONE_DAY = timedelta(days=1)

Covering = frozenset[int]
"""The releases that cover a place, by their positions."""


@dataclass(frozen=True)
class Place:
    """Days and modes that the same releases cover. None: no limit on that side; no modes: all of them."""

    first_day: date | None
    last_day: date | None
    modes: tuple[str, ...] | None
    releases: tuple[Spend, ...]
    epsilon: Fraction | None
    """What is spent here at the budget's δ, from above; None where no ε is enough."""


@dataclass(frozen=True)
class Account:
    """One budget, and the releases that draw on it."""

    budget: Budget
    spends: tuple[Spend, ...]

    def refuse_overdraft(self) -> None:
        """BudgetError if the releases together may show more than the budget allows."""
        self.refuse_smaller_units()
        if not all(change.keeps(self.budget.loss) for change in self._changes):
            spent = self.epsilon
            words = "no epsilon is enough" if spent is None else f"epsilon {decimal_text(spent, 6)}"
            raise BudgetError(
                f"refused: the budget of `{self.budget.data_set}` (unit {self.budget.unit}) is epsilon "
                f"{decimal_text(self.budget.epsilon, 6)}, delta {decimal_text(self.budget.delta, 4)}; with this "
                f"release it would be {words} at this delta. Nothing was spent. See: tapveil ledger"
            )

    def refuse_smaller_units(self) -> None:
        """A release that protects trips says nothing about a card, however small its ε."""
        for spend in self.spends:
            if SIZE[spend.unit] < SIZE[self.budget.unit]:
                raise BudgetError(
                    f"refused: `{self.budget.data_set}` has a budget for unit {self.budget.unit}, and a release that "
                    f"protects only a {spend.unit} may show any amount of it. Nothing was spent"
                )

    @cached_property
    def epsilon(self) -> Fraction | None:
        """What is spent in the worst case, at the budget's δ."""
        return self._least(self._changes)

    @property
    def left(self) -> Fraction:
        """What is left of ε in the worst place. Exact accounting does not just add: a release may fit that is more."""
        return max(Fraction(0), self.budget.epsilon - self.epsilon) if self.epsilon is not None else Fraction(0)

    def _least(self, changes: Sequence[Change]) -> Fraction | None:
        if not any(change.left or change.entered for change in changes):
            return Fraction(0)
        return least_epsilon(changes, self.budget.delta, PRECISION)

    @property
    def places(self) -> list[Place]:
        """All places that a release covers, and what is spent on each."""
        joined: list[Place] = []
        for (first, last), mode, covering in self._grid():
            if not covering:
                continue
            modes: tuple[str, ...] | None = None if mode is ANY_OTHER else (mode,)
            releases = tuple(self.spends[position] for position in sorted(covering))
            before = joined[-1] if joined else None
            if before and before.releases == releases and (before.first_day, before.last_day) == (first, last):
                modes = None if modes is None or before.modes is None else (*before.modes, *modes)
                joined[-1] = Place(first, last, modes, releases, before.epsilon)
            else:
                joined.append(Place(first, last, modes, releases, self._least(list(self._at(covering)))))
        return joined

    def _at(self, covering: Covering) -> Iterator[Change]:
        """A unit at one place added or removed or, if that is what the budget is about, exchanged."""
        if self.budget.neighbours == "replace":
            yield self._change(covering, covering)
        else:
            yield self._change(covering, frozenset())
            yield self._change(frozenset(), covering)

    @cached_property
    def _changes(self) -> list[Change]:
        """Every change that is not contained in another."""
        places = self._distinct_places()
        if self.budget.neighbours == "replace":
            return [self._change(left, entered) for left in places for entered in places]
        return [change for covering in places for change in self._at(covering)]

    def _change(self, left: Covering, entered: Covering) -> Change:
        """What a unit that leaves one place and enters another changes.

        A release that protects a larger unit sees some of that unit's trips exchanged, wherever the change is.
        """
        changed = (Counter[Mechanism](), Counter[Mechanism]())
        for position in left | entered:
            spend = self.spends[position]
            larger = SIZE[spend.unit] > SIZE[self.budget.unit]
            for side, covering in zip(changed, (left, entered), strict=True):
                if larger or position in covering:
                    for mechanism in spend.mechanisms:
                        side[mechanism] += spend.cells
        return Change(*changed)

    def _distinct_places(self) -> list[Covering]:
        found = {covering for _, _, covering in self._grid()}
        if all(spend.unit == self.budget.unit for spend in self.spends):
            # Then only the noise matters, and not which release it is of: weeks of one plan are one place.
            found = set({self._noise(covering): covering for covering in sorted(found, key=sorted)}.values())
        return [one for one in found if not any(one < other for other in found)] or [frozenset()]

    def _noise(self, covering: Covering) -> frozenset[tuple[object, int]]:
        releases = Counter((self.spends[position].tables, self.spends[position].cells) for position in covering)
        return frozenset(releases.items())

    def _grid(self) -> Iterator[tuple[tuple[date | None, date | None], str | None, Covering]]:
        """The days between which coverage changes, times the modes that are named, and all others."""
        by_mode = self.budget.unit == "trip"
        names = sorted({mode for spend in self.spends for mode in spend.modes or ()}) if by_mode else []
        for days in self._spans():
            active = [index for index, spend in enumerate(self.spends) if self._covers_days(spend, days)]
            for mode in [*names, ANY_OTHER]:
                covering = (
                    index
                    for index in active
                    if not by_mode or self.spends[index].modes is None or mode in (self.spends[index].modes or ())
                )
                yield days, mode, frozenset(covering)

    def _spans(self) -> list[tuple[date | None, date | None]]:
        if self.budget.unit == "card":
            return [(None, None)]
        starts = {spend.first_day for spend in self.spends if spend.first_day}
        starts |= {spend.last_day + ONE_DAY for spend in self.spends if spend.last_day}
        cuts: list[date | None] = [None, *sorted(starts), None]
        return [(cuts[i], (end - ONE_DAY) if (end := cuts[i + 1]) else None) for i in range(len(cuts) - 1)]

    def _covers_days(self, spend: Spend, days: tuple[date | None, date | None]) -> bool:
        if self.budget.unit == "card" or spend.first_day is None or spend.last_day is None:
            return True
        first, last = days
        return first is not None and last is not None and spend.first_day <= first and last <= spend.last_day


def accounts(entries: Iterable[Entry]) -> list[Account]:
    """Every budget that holds now, with all releases of its data set."""
    budgets: dict[tuple[str, Unit], Budget] = {}
    spends: list[Spend] = []
    for entry in entries:
        if isinstance(entry, Budget):
            budgets[entry.data_set, entry.unit] = entry
        elif isinstance(entry, Spend):
            spends.append(entry)
    return [
        Account(budget, tuple(spend for spend in spends if spend.data_set == budget.data_set))
        for budget in budgets.values()
    ]


def refuse_overdraft(entries: Sequence[Entry], spend: Spend) -> None:
    """BudgetError unless every budget of the data set has room for one more release."""
    concerned = [account for account in accounts([*entries, spend]) if account.budget.data_set == spend.data_set]
    if not any(account.budget.unit == spend.unit for account in concerned):
        raise BudgetError(
            f"refused: the ledger has no budget for unit {spend.unit} of the data set `{spend.data_set}`. "
            "Declare one: tapveil ledger budget PLAN --epsilon … --delta …"
        )
    for account in concerned:
        account.refuse_overdraft()


def report(entries: Sequence[Entry]) -> dict[str, object]:
    """All of it, for a program: entries as they are written, and every budget with what is spent where."""
    return {
        "entries": [entry.model_dump(mode="json") for entry in entries],
        "budgets": [_account_report(each) for each in accounts(entries)],
    }


def _account_report(one: Account) -> dict[str, object]:
    return {
        **one.budget.model_dump(mode="json", include={"data_set", "unit", "neighbours", "epsilon", "delta"}),
        "spent_epsilon": _shown(one.epsilon),
        "left_epsilon": _shown(one.left),
        "places": [
            {
                "first_day": place.first_day and place.first_day.isoformat(),
                "last_day": place.last_day and place.last_day.isoformat(),
                "modes": place.modes,
                "releases": [spend.id for spend in place.releases],
                "spent_epsilon": _shown(place.epsilon),
            }
            for place in one.places
        ],
    }


def _shown(value: Fraction | None) -> str | None:
    return None if value is None else decimal_text(value, 9, ROUND_CEILING)
