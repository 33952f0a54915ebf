"""Budget: the ledger as a time line, and a schedule of releases that keeps one budget. The fourth of six steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

import pydantic

from tapveil.base.errors import LedgerError, PlanError, UsageError
from tapveil.base.time_bins import TimeBins
from tapveil.ledger import words
from tapveil.ledger.accounts import Account, accounts
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Budget, Entry, Published, Spend, Withdrawn
from tapveil.ledger.refusals import repeated
from tapveil.ledger.witness import around_ledger, folder_of, refuse_outdated
from tapveil.plan.model import Plan
from tapveil.privacy.meaning import Meaning
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import loss_in_words, rounded_up
from tapveil.studio.edits import Edit, read_edits
from tapveil.studio.promise import loss_given, number, table_accuracy
from tapveil.studio.studio import Found, Given, Studio, sentence_of
from tapveil.veil.spend import would_spend

if TYPE_CHECKING:
    from fractions import Fraction

    from tapveil.internal.schedule import Schedule

DIGITS = 5
LATEST = 11
"""Releases that are drawn on the line of their days."""


def ledger(studio: Studio, given: Given) -> Found:
    """What was spent, what is left, and what the ledger would say to the plan."""
    plan = studio.project.plan()
    path = plan.ledger_path
    found: dict[str, Any] = {
        "exists": path.exists(),
        "path": studio.project.shown(path),
        "data_set": plan.ledger.data_set,
    }
    loss = plan.guarantee.loss
    found |= {
        "next": "start-ledger",
        "plan_spends": {
            "epsilon": rounded_up(loss.epsilon),
            "delta": rounded_up(loss.delta),
            "unit": plan.privacy.unit,
        },
        "entries": [],
        "accounts": [],
        "findings": [],
        "missing": None,
        "refused": None,
        "repeats": False,
    }
    if not path.exists():
        left = [each.name for each in map(folder_of, around_ledger(path)) if each.ledger]
        lost = {"next": "missing", "missing": words.missing(path, left)} if left else {}
        return found | {"intact": not left, **lost}
    refused, repeats = None, False
    try:
        with Ledger.open(path) as book:
            entries = book.entries
            try:
                spend = would_spend(plan)
                repeats = bool(repeated(entries, spend))
                refuse_outdated(book, studio.project.folder, paid=False)
                book.refuse(spend, again=True)
            except LedgerError as error:
                refused = str(error)
            findings = [each.sentence for each in book.findings(beside=map(folder_of, around_ledger(path)))]
    except LedgerError as error:
        return found | {"intact": False, "findings": [str(error)], "next": "refused", "refused": str(error)}
    kept = accounts(entries)
    return found | {
        "next": "refused" if refused else "again" if repeats else "release",
        "refused": refused,
        "repeats": repeats,
        "intact": not findings,
        "findings": findings,
        "entries": [*_entries(entries, _alone(studio, kept))],
        "accounts": [_account(each) for each in kept],
    }


def _alone(studio: Studio, kept: Sequence[Account]) -> dict[str, str]:
    """What each of the latest releases spends by itself, at the delta of its budget, where there is a bound."""
    found = {}
    for account in kept:
        for spend in account.spends[-LATEST:]:
            key = ("alone", spend.id, str(account.budget.delta))
            epsilon = studio.remembered(key, partial(_epsilon, Account(account.budget, (spend,))))
            if epsilon is not None:
                found[spend.id] = decimal_text(epsilon, 3, ROUND_CEILING)
    return found


def _epsilon(account: Account) -> Fraction | None:
    return account.epsilon


def _entries(entries: Sequence[Entry], alone: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    status = {entry.id: "published" for entry in entries if isinstance(entry, Published)}
    status |= {entry.id: "withdrawn" for entry in entries if isinstance(entry, Withdrawn)}
    for entry in entries:
        told: dict[str, Any] = {"on": entry.on.isoformat(), "kind": entry.kind, "what": entry.kind}
        if isinstance(entry, Spend):
            told |= {
                "kind": "release",
                "what": words.release(entry),
                "release_id": entry.id,
                "epsilon": alone.get(entry.id),
                "data_set": entry.data_set,
                "unit": entry.unit,
                "first_day": entry.first_day and entry.first_day.isoformat(),
                "last_day": entry.last_day and entry.last_day.isoformat(),
                "modes": list(entry.modes or ()),
                "status": status.get(entry.id, "not finished"),
            }
        elif isinstance(entry, Budget):
            told |= {"what": loss_in_words(entry.loss), "data_set": entry.data_set, "unit": entry.unit}
            told |= {"reason": entry.reason, "by": entry.by}
        elif isinstance(entry, Published | Withdrawn):
            told |= {"release_id": entry.id}
        yield told


def _account(account: Account) -> dict[str, Any]:
    budget = account.budget
    return {
        "data_set": budget.data_set,
        "unit": budget.unit,
        "neighbours": budget.neighbours,
        "budget": {"epsilon": decimal_text(budget.epsilon, 6), "delta": rounded_up(budget.delta)},
        "limit": words.limit(budget),
        "meaning": Meaning(budget.loss.epsilon, budget.loss.delta).in_words(budget.unit, budget.neighbours),
        "spent": None if account.epsilon is None else decimal_text(account.epsilon, DIGITS, ROUND_CEILING),
        "left": decimal_text(account.left, DIGITS, ROUND_FLOOR),
        "left_in_words": words.left(account),
        "releases": len(account.spends),
        "places": [
            {
                "first_day": place.first_day and place.first_day.isoformat(),
                "last_day": place.last_day and place.last_day.isoformat(),
                "modes": list(place.modes or ()),
                "releases": [words.release(each) for each in place.releases],
                "spent": None if place.epsilon is None else decimal_text(place.epsilon, DIGITS, ROUND_CEILING),
            }
            for place in account.places
        ],
    }


def start(studio: Studio, given: Given) -> Found:
    """Start the ledger that the plan names, with its budget."""
    from tapveil.internal.approval import appoint
    from tapveil.studio.approval import officers

    plan = studio.project.plan()
    budget = _budget(plan, given)
    keys = officers(studio, given["approval"]) if given.get("approval") else []
    Ledger.start(plan.ledger_path, budget.on)
    with Ledger.open(plan.ledger_path) as book:
        book.declare(budget)
    if keys:
        appoint(plan.ledger_path, keys)
    return ledger(studio, given)


def declare(studio: Studio, given: Given) -> Found:
    """Set another budget; the ones before stay on record."""
    plan = studio.project.plan()
    budget = _budget(plan, given)
    with Ledger.open(plan.ledger_path) as book:
        book.declare(budget)
    return ledger(studio, given)


def _budget(plan: Plan, given: Given) -> Budget:
    whose = {"data_set": plan.ledger.data_set, **plan.privacy.model_dump(include={"unit", "neighbours"})}
    said = {key: str(given[key]) for key in ("epsilon", "delta", "reason", "by") if given.get(key)}
    if ("reason" in said) != ("by" in said):
        raise UsageError("say why, and who decided it: both or none")
    try:
        return Budget.model_validate({**whose, **said, "on": datetime.now(UTC).date()})
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        cause = first.get("ctx", {}).get("error")
        raise UsageError(f"{first['loc'][0]}: {cause or first['msg']}") from None


# --- the planner ------------------------------------------------------------------------------------------------------


def _schedule(studio: Studio, given: Given) -> Schedule:
    from tapveil.internal.schedule import EVERY, Schedule

    plan = studio.project.plan(read_edits(given.get("edits")))
    every = str(given.get("every") or "week")
    if every not in EVERY:
        raise UsageError(f"every: must be one of {', '.join(EVERY)}")
    return Schedule(plan, every, int(given.get("number") or 1), loss_given(given))


def planner(studio: Studio, given: Given) -> Found:
    """What each of several releases may spend under one budget, and how accurate it is."""
    schedule = _schedule(studio, given)
    epsilon = schedule.epsilon
    divided = rounded_up(schedule.total.epsilon / schedule.number)
    every = schedule.every.replace("-", " ")
    said = (
        f"{schedule.number} releases, one every {every}: {loss_in_words(schedule.total)} in all. Each may "
        f"spend epsilon = {decimal_text(epsilon, 3)}, delta = {rounded_up(schedule.delta)}, by exact accounting of "
        f"all of them together (division would give epsilon = {divided})."
    )
    return {
        "epsilon": decimal_text(epsilon, 3),
        "delta": rounded_up(schedule.delta),
        "divided": divided,
        "sentence": said,
        "adds_up": schedule.plan.privacy.unit == "card",
        "rows": [row for each in _others(schedule) for row in _rows(each, schedule)],
        "edits": _edits(schedule, decimal_text(epsilon, 3)),
    }


def _others(schedule: Schedule) -> Iterator[Schedule]:
    """The schedule, and those with longer releases."""
    from tapveil.internal.schedule import EVERY

    for every, days in EVERY.items():
        if days >= schedule.days:
            yield schedule if every == schedule.every else schedule.instead(every)


def _rows(one: Schedule, schedule: Schedule) -> Iterator[dict[str, Any]]:
    length = {"every": one.every, "number": one.number}
    try:
        epsilon = one.epsilon
    except PlanError as error:
        yield {**length, "epsilon": None, "why_not": sentence_of(error)}
        return
    plan = one.with_epsilon(epsilon)
    for name in plan.tables:
        told = table_accuracy(plan, name, plan.guarantee.mechanisms[name])
        week = one.a_week(name, told["within10_from"], schedule.bins(name))
        yield {
            **length,
            "epsilon": decimal_text(epsilon, 3),
            "table": name,
            "bins": _in_words(one.bins(name)),
            **{key: told[key] for key in ("scale", "error", "smallest", "within10_from")},
            "trips_a_week": ceil(week),
        }


def _in_words(bins: TimeBins | None) -> str | None:
    if bins is None:
        return None
    return f"{bins.minutes} min" if bins == TimeBins.every(bins.minutes, bins.first) else "parts of the day"


def _edits(schedule: Schedule, epsilon: str) -> list[Edit]:
    edits: list[Edit] = [{"at": ["privacy", "epsilon"], "value": number(epsilon)}]
    if not schedule.plan.privacy.lists_cells:
        edits.append({"at": ["privacy", "delta"], "value": str(schedule.delta)})
    return edits


def keep(studio: Studio, given: Given) -> Found:
    """Record a schedule in the ledger, which then keeps it."""
    schedule = _schedule(studio, given)
    with Ledger.open(schedule.plan.ledger_path) as book:
        book.schedule(*schedule.to_keep(schedule.epsilon))
    return ledger(studio, given)
