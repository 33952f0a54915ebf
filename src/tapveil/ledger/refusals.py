"""Why a ledger says no: a code and the facts. `words` says it to a person; nothing is decided by what is said.

Some of it asks for consent. Days that are released again, and a budget that allows more, are not wrong. But both are
easily done by mistake, and the ledger is to tell later that they were meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from fractions import Fraction

from tapveil.ledger.accounts import Account, accounts
from tapveil.ledger.coverage import Everywhere, unlimited
from tapveil.ledger.entry import Budget, Entry, Published, Scheduled, Spend

FAR_DAY = date(4000, 1, 1)
"""From here on are the days of releases that are to come."""


class Code(StrEnum):
    """What is refused, and for what."""

    NO_BUDGET = "no-budget"
    SMALLER_UNIT = "smaller-unit"
    """A release that protects trips says nothing about a card, however small its ε."""
    OTHER_UNITS = "other-units"
    """Cards, or their days, by another column or time zone: one of these may be many of those."""
    TOO_MUCH = "too-much"
    """A release that does not fit by itself."""
    ADDS_UP = "adds-up"
    """A release that fits by itself, and not with those before it."""
    OVERDRAWN = "overdrawn"
    """More is spent than the budget allows, without this release."""
    SCHEDULE_COMPLETE = "schedule-complete"
    """All releases of the schedule were made, and this is one more."""
    BREAKS_SCHEDULE = "breaks-schedule"
    """A release that fits, and leaves no room for those that are to come."""
    REPEATED = "repeated"
    """Days and modes that were released before, and nobody said `again`."""
    UNEXPLAINED = "unexplained"
    """A budget that allows more than the one in force, without a reason."""


class Across(StrEnum):
    """Why releases add up that share no day and mode."""

    EXCHANGED = "exchanged"
    """A unit may be exchanged for one of other days: it leaves the one release and enters the other."""
    CHOSEN = "chosen"
    """The same; and the noise of the one was chosen from what the other showed: their losses are added (proofs, 8)."""


@dataclass(frozen=True)
class Clash:
    """An earlier release, and why it is in the way of the newest."""

    earlier: Spend
    finished: bool
    """Whether its folder appeared; else it is paid for, and can be finished."""
    everywhere: Everywhere | None
    """Why the earlier one counts for every day, if it does."""
    days_by: str | None
    """How a day is read by the release that was first to say it."""
    across: Across | None = None


@dataclass(frozen=True)
class Refusal:
    """What is refused, and the facts. Some have no budget, some no release."""

    code: Code
    budget: Budget | None = None
    """The one that would not hold, or that holds now."""
    newest: Spend | None = None
    """The release that is refused."""
    culprit: Spend | None = None
    """The release whose unit no such budget can hold."""
    everywhere: Everywhere | None = None
    """Why the newest counts for every day, if it does."""
    epsilon: Fraction | None = None
    """What would be spent, at the budget's δ; None: no ε is enough."""
    delta: Fraction | None = None
    """What would be spent at the budget's ε; None: not known."""
    clashes: tuple[Clash, ...] = ()
    """The newest last."""
    schedule: Scheduled | None = None
    """The schedule that would not be kept."""


def of_release(entries: Sequence[Entry], spend: Spend, *, again: bool) -> Refusal | None:
    """Why one more release is refused: every budget of its data set must have room, and what repeats must be meant."""
    concerned = [each for each in accounts([*entries, spend]) if each.budget.data_set == spend.data_set]

    def found() -> Iterator[Refusal | None]:
        yield from (_other_unit(account, spend) for account in concerned)
        if not any(account.budget.unit == spend.unit for account in concerned):
            yield Refusal(Code.NO_BUDGET, newest=spend)
        yield from (_overdraft(account, entries) for account in concerned)
        yield _unscheduled(entries, spend, concerned)
        if not again and (earlier := repeated(entries, spend)):
            by = earlier[-1].days_by or spend.days_by
            clashes = (Clash(each, _appeared(entries, each), unlimited(each, by), by) for each in earlier)
            yield Refusal(Code.REPEATED, newest=spend, everywhere=unlimited(spend, by), clashes=tuple(clashes))

    return next(filter(None, found()), None)


def of_schedule(entries: Sequence[Entry], schedule: Scheduled, newest: Spend) -> Refusal | None:
    """Why a schedule is refused: its releases would not fit after those on record."""
    concerned = [each for each in accounts([*entries, newest]) if each.budget.data_set == schedule.data_set]
    if not any(account.budget.unit == schedule.unit for account in concerned):
        return Refusal(Code.NO_BUDGET, newest=newest)
    for account in concerned:
        planned = Account(account.budget, (*account.spends[:-1], *_to_come(newest, schedule.days, schedule.releases)))
        if planned.unbounded or not planned.fits:
            return Refusal(Code.BREAKS_SCHEDULE, account.budget, newest, schedule=schedule)
    return None


def _unscheduled(entries: Sequence[Entry], spend: Spend, concerned: Sequence[Account]) -> Refusal | None:
    """Why a release does not go with the schedule of its data set and unit, if there is one."""
    same = (spend.data_set, spend.unit)
    plans = [n for n, each in enumerate(entries) if isinstance(each, Scheduled) and (each.data_set, each.unit) == same]
    if not plans or not isinstance(schedule := entries[plans[-1]], Scheduled):
        return None
    made = [each for each in entries[plans[-1] :] if isinstance(each, Spend) and schedule.is_of(each)]
    left = schedule.releases - len(made)
    if left <= 0:
        return Refusal(Code.SCHEDULE_COMPLETE, newest=spend, schedule=schedule)
    if schedule.is_of(spend):
        in_turn, left = _is_in_turn(schedule, spend), left - 1
        if in_turn and not repeated(entries, spend):
            return None  # of its own days, as planned
        made = [*made, spend] if in_turn else made
    first = _next_start(made, spend)
    noise = {"tables": schedule.tables, "cells": schedule.cells, "chosen_from": schedule.chosen_from}
    for account in concerned:
        scheduled = spend.model_copy(update={**noise, "days_by": account.coverage.days_by})
        if not Account(account.budget, (*account.spends, *_to_come(scheduled, schedule.days, left, first))).fits:
            return Refusal(Code.BREAKS_SCHEDULE, account.budget, spend, schedule=schedule)
    return None


def _to_come(spend: Spend, days: int, number: int, start: date = FAR_DAY) -> Iterator[Spend]:
    """Releases that are to come, one after the other, on days that no other has or from a given day on."""
    for each in range(number):
        first = start + each * timedelta(days=days)
        last = first + timedelta(days=days - 1)
        yield spend.model_copy(update={"id": f"{each:032x}", "first_day": first, "last_day": last})


def _is_in_turn(schedule: Scheduled, spend: Spend) -> bool:
    """Whether a release has the days of one of a schedule, and not of two: months differ in length."""
    if not (spend.first_day and spend.last_day):
        return False
    return spend.last_day - spend.first_day < timedelta(days=2 * schedule.days - 1)


def _next_start(made: Sequence[Spend], spend: Spend) -> date:
    """Where the next of a schedule may start so that it shares days with a release: a schedule goes forward.

    After one of its own, they come next: they do not share its days, but perhaps those of others before.
    """
    if not (spend.first_day and spend.last_day):
        return FAR_DAY
    after = max((each.last_day + timedelta(days=1) for each in made if each.last_day), default=spend.first_day)
    return max(after, spend.first_day) if after <= spend.last_day or spend in made else FAR_DAY


def of_budget(entries: Sequence[Entry], budget: Budget) -> Refusal | None:
    """Why a budget is refused: what is on record can never keep it, or it allows more and does not say why."""
    for account in accounts([*entries, budget]):
        if account.budget == budget and (impossible := _other_unit(account, None)):
            return impossible
    same = (budget.data_set, budget.unit)
    before = [entry for entry in entries if isinstance(entry, Budget) and (entry.data_set, entry.unit) == same]
    if before and budget.allows_more_than(before[-1]) and not (budget.reason and budget.by):
        return Refusal(Code.UNEXPLAINED, before[-1])
    return None


def repeated(entries: Iterable[Entry], spend: Spend) -> list[Spend]:
    """The releases of some of the same days and modes."""
    return [entry for entry in entries if isinstance(entry, Spend) and entry.repeats(spend)]


def _other_unit(account: Account, newest: Spend | None) -> Refusal | None:
    for code, culprits in ((Code.SMALLER_UNIT, account.smaller), (Code.OTHER_UNITS, account.foreign)):
        if culprits:
            return Refusal(code, account.budget, newest, culprits[0])
    return None


def _overdraft(account: Account, entries: Sequence[Entry]) -> Refusal | None:
    if account.fits:
        return None
    coverage, (*earlier, newest) = account.coverage, account.spends
    facts = (account.budget, newest, None, coverage.everywhere(newest))
    for code, spends in ((Code.TOO_MUCH, (newest,)), (Code.OVERDRAWN, tuple(earlier))):
        if not (part := Account(account.budget, spends)).fits:
            return Refusal(code, *facts, part.epsilon, part.delta)
    # It adds up with releases of places in common; or else with those that an exchange may lead to.
    generation = [spend for spend in earlier if spend.chosen_from != newest.chosen_from]
    generation.sort(key=lambda spend: spend.id == newest.chosen_from)  # it is named, however many there are
    sharing = [account.spends[position] for position in coverage.sharing_with(len(earlier))]
    across = None if sharing else Across.CHOSEN if generation else Across.EXCHANGED
    clashes = (
        Clash(spend, _appeared(entries, spend), coverage.everywhere(spend), coverage.days_by, across)
        for spend in sharing or generation or earlier
    )
    return Refusal(Code.ADDS_UP, *facts, account.epsilon, account.delta, tuple(clashes))


def _appeared(entries: Iterable[Entry], spend: Spend) -> bool:
    return any(isinstance(entry, Published) and entry.id == spend.id for entry in entries)
