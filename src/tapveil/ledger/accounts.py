"""What is spent where: every way in which one unit can change what all releases together show.

Releases that do not cover the place of a trip do not show it, so releases of other days or modes do not add up. A trip
that is exchanged may leave one place and enter another: each pair of places is accounted for (docs/privacy/proofs.md,
13). What a unit changes in several releases is accounted for as trips that react: who travels later may have read what
was published before (proofs, 8).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property

from tapveil.ledger.coverage import ANY_OTHER, ONE_DAY, Coverage, Covering
from tapveil.ledger.entry import Budget, Entry, Spend
from tapveil.privacy import accountant
from tapveil.privacy.loss import Change, epsilon_upper_bound
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.rational import float_below
from tapveil.privacy.units import Unit

SIZE: dict[Unit, int] = {"trip": 0, "card-day": 1, "card": 2}
"""Units by how much they hold: what protects a card protects its days, and they their trips; not the other way."""
PRECISION = 1e-6
FAR_ENOUGH = 20
"""The most further releases that are tried: whoever has room for them need not know how many more fit."""

Move = tuple[Covering, Covering]
"""What a unit can do: leave the place that some releases cover, and enter one that others do."""


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

    @property
    def fits(self) -> bool:
        """Whether the releases together show no more than the budget allows."""
        if len(self._generations) == 1:
            return all(change.keeps(self.budget.loss) for change in self._changes)
        return self.epsilon is not None and self.epsilon <= self.budget.epsilon

    @cached_property
    def coverage(self) -> Coverage:
        """Which days and modes its releases share."""
        return Coverage(self.budget.unit, self.spends)

    @property
    def smaller(self) -> list[Spend]:
        """Releases that protect less than the budget is about."""
        return [spend for spend in self.spends if SIZE[spend.unit] < SIZE[self.budget.unit]]

    @property
    def foreign(self) -> list[Spend]:
        """Releases whose units are other units: a card by another column, a card's day by another day."""
        if self.budget.unit == "trip":
            return []
        cards = next((spend.cards_by for spend in self.spends), None)
        days = next((spend.days_by for spend in self.spends if spend.unit == "card-day"), None)
        return [
            spend
            for spend in self.spends
            if spend.cards_by != cards or (spend.unit == "card-day" and spend.days_by != days)
        ]

    @property
    def unbounded(self) -> bool:
        """Whether some release gives no bound for this budget's unit."""
        return bool(self.smaller or self.foreign)

    @cached_property
    def epsilon(self) -> Fraction | None:
        """What is spent in the worst case, at the budget's δ; None where there is no bound."""
        return None if self.unbounded else self._least(self._moves)

    @property
    def left(self) -> Fraction:
        """What is left of ε in the worst place. Exact accounting does not just add: a release may fit that is more."""
        return max(Fraction(0), self.budget.epsilon - self.epsilon) if self.epsilon is not None else Fraction(0)

    @cached_property
    def delta(self) -> Fraction | None:
        """What is spent of δ in the worst case, at the budget's ε, from above; None where generations share it."""
        if self.unbounded or self.generations > 1:
            return None
        bounds = [(change, change.pure_epsilon) for change in self._changes]
        noisy = [change.cells for change, pure in bounds if pure is None or pure > self.budget.epsilon]
        return Fraction(accountant.worst_delta(noisy, float_below(self.budget.epsilon))) if noisy else Fraction(0)

    @property
    def generations(self) -> int:
        """How many there are of releases whose noise was chosen from what others showed, and of the others."""
        return len([among for among in self._generations if among])

    def _least(self, moves: Sequence[Move]) -> Fraction | None:
        """The ε of the worst of some moves, at the budget's δ."""
        if len(self._generations) > 1:
            found = [self._added_up(*move) for move in moves]
            return None if None in found else max((each for each in found if each is not None), default=Fraction(0))
        changes = [self._change(*move) for move in moves]
        if not any(change.left or change.entered for change in changes):
            return Fraction(0)
        return epsilon_upper_bound(changes, self.budget.delta, PRECISION)

    @cached_property
    def _generations(self) -> list[Covering]:
        """Releases planned by themselves; and all that were chosen from the same earlier one.

        Each generation is accounted for at once. What an earlier one showed may have decided on the noise of a later
        one: then their losses are added up (docs/privacy/proofs.md, 8).
        """
        found: dict[str | None, set[int]] = {None: set()}
        for position, spend in enumerate(self.spends):
            found.setdefault(spend.chosen_from, set()).add(position)
        return [frozenset(positions) for positions in found.values()]

    def _added_up(self, left: Covering, entered: Covering) -> Fraction | None:
        """The sum over the generations that a move changes: the first at half of δ, the next at half of what remains

        The last has what is left. So what an earlier one is charged with does not depend on how many follow, but on
        whether any does: how many there will be may be decided by what they show.
        """
        changes = [self._change(left, entered, among) for among in self._generations]
        changes = [change for change in changes if change.left or change.entered]
        last = len(changes) - 1
        deltas = [self.budget.delta / 2 ** min(number + 1, last) for number in range(len(changes))]
        found = [epsilon_upper_bound([change], delta, PRECISION) for change, delta in zip(changes, deltas, strict=True)]
        return None if None in found else sum((each for each in found if each is not None), start=Fraction(0))

    @property
    def places(self) -> list[Place]:
        """All places that a release covers, and what is spent on each."""
        joined: list[Place] = []
        spent: dict[object, Fraction | None] = {}
        for (first, last), mode, covering in self.coverage.grid:
            if not covering:
                continue
            modes: tuple[str, ...] | None = None if mode is ANY_OTHER else (mode,)
            releases = tuple(self.spends[position] for position in sorted(covering))
            before = joined[-1] if joined else None
            if before and before.releases == releases and (before.first_day, before.last_day) == (first, last):
                modes = None if modes is None or before.modes is None else (*before.modes, *modes)
                joined[-1] = Place(first, last, modes, releases, before.epsilon)
            else:
                alike = self._noise(covering)
                if alike not in spent:  # what is spent at a place follows from the noise there
                    spent[alike] = None if self.unbounded else self._least(list(self._at(covering)))
                joined.append(Place(first, last, modes, releases, spent[alike]))
        return joined

    def _noise(self, covering: Covering) -> object:
        """What accounting needs to know of the releases at a place, where their units are those of the budget."""
        if not self._by_noise:
            return covering
        return frozenset(Counter(self._kinds[position] for position in covering).items())

    @cached_property
    def _by_noise(self) -> bool:
        return all(spend.unit == self.budget.unit for spend in self.spends)

    @cached_property
    def _first_of_kind(self) -> dict[int, int]:
        return {kind: position for position, kind in reversed(list(enumerate(self._kinds)))}

    @cached_property
    def _kinds(self) -> list[int]:
        """Of each release, the number of its noise: weeks of one plan are alike."""
        numbers: dict[object, int] = {}
        return [
            numbers.setdefault((spend.tables, spend.cells, spend.chosen_from), len(numbers)) for spend in self.spends
        ]

    def _at(self, covering: Covering) -> Iterator[Move]:
        """A unit at one place added or removed or, if that is what the budget is about, exchanged."""
        if self.budget.neighbours == "replace":
            yield covering, covering
        else:
            yield covering, frozenset()
            yield frozenset(), covering

    @cached_property
    def _moves(self) -> list[Move]:
        """Every move that is not contained in another.

        Of two places with the same noise, what leaves the one may enter the other: worse than to stay in one release.
        """
        found = sorted({covering for _, _, covering in self.coverage.grid}, key=sorted)
        alike: dict[object, list[Covering]] = {}
        for covering in found:
            alike.setdefault(self._noise(covering), []).append(covering)
        largest = [group for group in alike.values() if not any(group[0] < other for other in found)]
        places = largest or [[Covering()]]
        if self.budget.neighbours == "replace":
            return [(left[0], entered[-1]) for left in places for entered in places]
        return [move for alike_places in places for move in self._at(alike_places[0])]

    @cached_property
    def _changes(self) -> list[Change]:
        return [self._change(*move) for move in self._moves]

    def _change(self, left: Covering, entered: Covering, among: Covering | None = None) -> Change:
        """What a unit that leaves one place and enters another changes, in all releases or among some.

        A release that protects a larger unit sees the kept trips of that unit exchanged for others, wherever the change
        is; and of two such units, if what leaves is of one and what enters is of another. The two taps of a trip may be
        in two days of a card.
        """
        units = 2 if left and entered and self.budget.neighbours == "replace" else 1
        changed = (Counter[Mechanism](), Counter[Mechanism]())
        touched = left | entered if among is None else (left | entered) & among
        # Equal releases are counted first, so that many of them cost no more than one.
        alike = Counter(
            (position if not self._by_noise else self._first_of_kind[self._kinds[position]], *sides)
            for position in touched
            for sides in [(position in left, position in entered)]
        )
        for (position, *sides), times in alike.items():
            spend = self.spends[position]
            larger = SIZE[spend.unit] > SIZE[self.budget.unit]
            days = 2 if self.coverage.is_of_taps(spend) and spend.unit == "card-day" else 1
            cells = times * spend.cells * (units * days if larger else 1)
            for side, is_in in zip(changed, sides, strict=True):
                if larger or is_in:
                    for mechanism in spend.mechanisms:
                        side[mechanism] += cells
        return Change(*changed, reactive=len(touched) > 1)


def accounts(entries: Sequence[Entry]) -> list[Account]:
    """Every budget that holds now, with all releases of its data set."""
    budgets = {(entry.data_set, entry.unit): entry for entry in entries if isinstance(entry, Budget)}
    spends = [entry for entry in entries if isinstance(entry, Spend)]
    return [
        Account(budget, tuple(spend for spend in spends if spend.data_set == budget.data_set))
        for budget in budgets.values()
    ]


def most_more(account: Account, spend: Spend) -> int:
    """How many more releases like one, of the same days and modes, the budget has room for: FAR_ENOUGH, or more."""
    fitting = 0
    while fitting < FAR_ENOUGH and not account.unbounded and _with_more(account, [spend] * (fitting + 1)).fits:
        fitting += 1
    return fitting


def other_days_fit(account: Account, spend: Spend) -> bool:
    """Whether the budget has room for any number of releases of the same plan, each of days that nothing covers yet."""
    lasts = [each.last_day for each in account.spends if each.last_day]
    if account.unbounded or not (spend.first_day and spend.last_day and lasts):
        return False
    length = spend.last_day - spend.first_day + ONE_DAY
    first = max(lasts) + ONE_DAY
    later = [(first, first + length - ONE_DAY), (first + length, first + 2 * length - ONE_DAY)]
    more = [spend.model_copy(update={"first_day": start, "last_day": end}) for start, end in later]
    once, twice = (_with_more(account, more[:number]) for number in (1, 2))
    return twice.fits and once.epsilon == twice.epsilon  # from the second on, each is as the one before


def _with_more(account: Account, spends: Sequence[Spend]) -> Account:
    """As if these were released as well."""
    more = (spend.model_copy(update={"id": f"{number:032x}"}) for number, spend in enumerate(spends))
    return Account(account.budget, (*account.spends, *more))


def over_budget(entries: Sequence[Entry], budget: Budget) -> Fraction | None:
    """What is spent already, if that is all of a budget or more."""
    spent = next(account.epsilon for account in accounts(entries) if account.budget == budget)
    return spent if spent is not None and spent >= budget.epsilon else None
