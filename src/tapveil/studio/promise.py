"""Promise: what an ε means for a person, how accurate tables are with it, and which ε gives an accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tapveil.base.errors import PlanError, UsageError
from tapveil.base.progress import Reporter, Stage
from tapveil.internal import explain
from tapveil.internal.plan_in_words import warnings
from tapveil.internal.schedule import EVERY
from tapveil.plan.model import Plan
from tapveil.privacy.attacker import Attacker, attacker
from tapveil.privacy.loss import Loss
from tapveil.privacy.meaning import Meaning
from tapveil.privacy.mechanisms import SMALLEST_EPSILON, Mechanism
from tapveil.privacy.person import YEAR, Person, people, verdict
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import UNIT_NAMES, rounded_up
from tapveil.published.manifest import ERROR_CONFIDENCE
from tapveil.studio.ahead import SCALE, Mechanisms, exact, with_epsilon
from tapveil.studio.edits import read_edits
from tapveil.studio.studio import Found, Given, Studio
from tapveil.veil.statement import released

if TYPE_CHECKING:
    from tapveil.internal.accuracy import Need
    from tapveil.internal.schedule import Schedule

TEN_PER_CENT = 10
PERIODS = {**EVERY, "year": YEAR}
"""How long the releases of a year may be, in days."""


def promise(studio: Studio, given: Given) -> Found:
    """What a plan promises; no trip is read. While a slider is moved (`moving`), as much as can be said at once."""
    plan = studio.plan(read_edits(given.get("edits")))
    if given.get("moving") is True:
        noise, is_exact = studio.ahead.mechanisms(plan)
        loss = plan.guarantee.loss
        # Of the best attacker it says what is promised alone: a distance between two data sets is never above 1.
        promised = Attacker(plan.guarantee.exposure.neighbours, Meaning(loss.epsilon, loss.delta), 1.0)
        return {**_promised(plan, promised, noise), "about": not is_exact}
    every = str(given.get("every") or "")
    if every and every not in PERIODS:
        raise UsageError(f"every: must be one of {', '.join(PERIODS)}")
    return {**promise_of(plan, studio.ahead.exactly(plan)), "about": False, "people": _people(plan, every)}


def promise_of(plan: Plan, mechanisms: Mechanisms) -> dict[str, Any]:
    """What a plan promises, in frequencies, for one unit, with the best that anyone can do; and its accuracy."""
    found = attacker(list(mechanisms.values()), plan.guarantee.loss, plan.guarantee.exposure)
    return {**_promised(plan, found, mechanisms), "computed": explain.computed(found)}


def _promised(plan: Plan, found: Attacker, mechanisms: Mechanisms) -> dict[str, Any]:
    guarantee, unit = plan.guarantee, plan.privacy.unit
    return {
        "unit": unit,
        "unit_name": UNIT_NAMES[unit],
        "neighbours": plan.privacy.neighbours,
        "epsilon": decimal_text(guarantee.loss.epsilon, 6),
        "delta": rounded_up(guarantee.loss.delta),
        "shared": guarantee.is_shared,
        "verdict": found.verdict,
        "sentence": explain.sentence(found, unit),
        "headings": list(explain.headings(found, unit)),
        "of_100": list(found.promised.of_100),
        "warnings": list(warnings(plan)),
        "grid": scale(plan),
        "tables": [table_accuracy(plan, name, mechanisms[name]) for name in plan.tables],
    }


def scale(plan: Plan) -> list[dict[str, Any]]:
    """The ε of the slider, in frequencies: those of which every table has enough."""
    weights = plan.guarantee.weights.values()
    least = SMALLEST_EPSILON * sum(weights) / min(weights) if plan.guarantee.is_shared else Fraction(0)
    meanings = ((epsilon, Meaning(Fraction(epsilon))) for epsilon in SCALE if Fraction(epsilon) >= least)
    return [{"epsilon": text, "of_100": list(each.of_100), "verdict": each.verdict} for text, each in meanings]


def table_accuracy(plan: Plan, name: str, mechanism: Mechanism) -> dict[str, Any]:
    """How accurate a table is, whatever its counts are."""
    table = plan.tables[name]
    bound = mechanism.error_bound(1 - ERROR_CONFIDENCE)
    smallest = None if mechanism.publishes_every_cell else mechanism.smallest_published
    return {
        "name": name,
        "columns": list(table.columns),
        "in_words": table.in_words,
        "weight": decimal_text(plan.guarantee.weights[name], 6) if plan.guarantee.is_shared else None,
        "scale": decimal_text(mechanism.scale, 4),
        "error": bound,
        "smallest": smallest,
        "every_cell": mechanism.publishes_every_cell,
        "within10_from": max(TEN_PER_CENT * bound, smallest or 0),
    }


def _people(plan: Plan, every: str) -> list[dict[str, Any]]:
    """All trips of a person: in this release, and in as many of a length as a year has; without one, of its own."""
    first, last, delta = plan.source.first_day, plan.source.last_day, plan.guarantee.loss.delta
    own = released(plan, (last - first).days + 1) if first and last else None
    one = released(plan, PERIODS[every]) if every else own
    if one is None:
        return []
    year = people([one.in_a_year()], delta)
    now = people([own], delta) if own else [None] * len(year)
    return [
        {"trips_a_week": later.trips_a_week, "release": _person(each) if each else None, "year": _person(later)}
        for each, later in zip(now, year, strict=True)
    ]


def _person(person: Person) -> dict[str, Any]:
    epsilon, meaning = person.shown_epsilon(), person.meaning
    return {
        "trips": person.trips,
        "releases": sum(each.number for each in person.releases),
        "epsilon": None if epsilon is None else rounded_up(epsilon),
        "delta": rounded_up(person.delta),
        "of_100": list(meaning.of_100) if meaning else None,
        "verdict": verdict(meaning),
    }


# --- say the accuracy -------------------------------------------------------------------------------------------------


def need(studio: Studio, given: Given) -> Found:
    """The least ε that gives an accuracy: of one release, and of all of a schedule; as long work."""
    from tapveil.internal.accuracy import Need
    from tapveil.internal.schedule import Schedule

    plan = studio.project.plan(read_edits(given.get("edits")))
    asked = Need.read(str(given.get("need", "")))
    loss = plan.guarantee.loss
    budget = given.get("budget") or {}
    total = loss_given(budget, loss) if budget else loss
    schedule = Schedule(plan, str(given.get("every") or "month"), int(given.get("number") or 1), total)
    schedule.plan_has(asked.table)

    def work(progress: Reporter) -> Found:
        with progress.stage(Stage.FINDING_NOISE):
            return _needed(schedule, asked, in_all=bool(budget))

    return studio.start("need", work)


def _needed(schedule: Schedule, asked: Need, *, in_all: bool) -> Found:
    from tapveil.internal.schedule import Schedule

    plan = schedule.plan
    per_cent = decimal_text(100 * asked.within, 4)
    words = f"{asked.table} within {per_cent} % where at least {asked.least:,} (19 of 20 cells)"
    one = Schedule(plan, schedule.every, 1, plan.guarantee.loss)
    epsilon = one.least(asked)
    if epsilon is None:
        return {"epsilon": None, "edits": [], "sentence": f"No epsilon gives {words}.", "promise": None}
    shown = decimal_text(epsilon, 3)
    all_of_them: dict[str, Any] = {}
    if in_all:
        spent = schedule.spent(epsilon)
        all_of_them = {"in_all": None if spent is None else rounded_up(spent), "fits": schedule.fits(epsilon)}
    chosen = with_epsilon(plan, Fraction(shown))
    return {
        "epsilon": shown,
        "edits": [{"at": ["privacy", "epsilon"], "value": number(shown)}],
        "sentence": f"{words}: the least epsilon of a release is {shown}.",
        "promise": promise_of(chosen, exact(chosen)),
        **all_of_them,
    }


def loss_given(given: Mapping[str, Any], otherwise: Loss | None = None) -> Loss:
    """An ε and a δ as somebody typed them."""
    from tapveil.base.types import read_exact

    try:
        return Loss(read_exact(str(given["epsilon"])), read_exact(str(given["delta"])))
    except (KeyError, ValueError) as error:
        if otherwise is not None and not given:
            return otherwise
        raise PlanError(f"give epsilon and delta as numbers, such as 8 and 1e-6: {error}") from None


def number(text: str) -> int | float:
    """A number as TOML writes it."""
    return int(text) if text.isdecimal() else float(text)
