"""A schedule of releases: what each may spend, and how accurate its tables are, next to others."""

from __future__ import annotations

from fractions import Fraction

from rich.console import Console

from tapveil.base.errors import PlanError
from tapveil.base.text_table import Grid
from tapveil.cli.console.text import head, say
from tapveil.internal.confidential import NOTICE
from tapveil.internal.schedule import EVERY, Need, Schedule
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import loss_in_words, rounded_up
from tapveil.published.manifest import ERROR_CONFIDENCE

TEN_PER_CENT = 10
"""A count is within 10 % if it is at least ten times its error bound."""


def show_schedule(console: Console, schedule: Schedule) -> None:
    """What each release may spend, its noise and accuracy, and the same for fewer releases and coarser bins."""
    epsilon = schedule.epsilon
    say(console, f"{_releases(schedule)}: {loss_in_words(schedule.total)} in all.")
    divided = rounded_up(schedule.total.epsilon / schedule.number)
    say(
        console,
        f"Each release may spend epsilon = {decimal_text(epsilon, 3)}, delta = {rounded_up(schedule.delta)}, by exact "
        f"accounting of all of them together (division would give epsilon = {divided}).",
    )
    if schedule.plan.privacy.unit != "card":
        unit = schedule.plan.privacy.unit
        say(console, f"Releases of other days do not add up for a {unit}. For a person they do: see tapveil check.")
    head(console, "Accuracy of each table")
    grid = Grid("table", "noise scale", "95 % error bound", "smallest published", "within 10 % from a count of")
    mechanisms = schedule.with_epsilon(epsilon).guarantee.mechanisms
    for name, mechanism in mechanisms.items():
        bound = mechanism.error_bound(1 - ERROR_CONFIDENCE)
        smallest = "all" if mechanism.publishes_every_cell else str(mechanism.smallest_published)
        grid.add(name, decimal_text(mechanism.scale, 4), f"± {bound}", smallest, f"{TEN_PER_CENT * bound:,}")
    grid.show(console)
    _show_others(console, schedule)


def _show_others(console: Console, schedule: Schedule) -> None:
    head(console, "Fewer or coarser releases")
    finest = min(schedule.plan.guarantee.mechanisms, key=lambda name: schedule.plan.guarantee.mechanisms[name].scale)
    first = f"within 10 % from a count of ({finest})"
    grid = Grid("a release every", "releases", "epsilon of each", first, "trips of a week for that")
    longer = [every for every, days in EVERY.items() if days >= schedule.days]
    for every in longer:
        other = schedule if every == schedule.every else schedule.instead(every)
        try:
            epsilon = other.epsilon
        except PlanError:
            grid.add(every, str(other.number), "none fits")
            continue
        bound = other.with_epsilon(epsilon).guarantee.mechanisms[finest].error_bound(1 - ERROR_CONFIDENCE)
        weekly = TEN_PER_CENT * bound * Fraction(schedule.days, other.days)
        grid.add(every, str(other.number), decimal_text(epsilon, 3), f"{TEN_PER_CENT * bound:,}", f"{int(weekly):,}")
    grid.show(console)
    minutes = schedule.plan.coarsen.time_minutes
    if minutes < 60:
        times = 60 // minutes
        say(
            console,
            f"Hours instead of bins of {minutes} minutes: the same noise on about {times} times the count, so cells "
            f"with a {times}th of the trips are as accurate.",
        )


def show_need(
    console: Console, schedule: Schedule, need: Need, epsilon: Fraction | None, *, confidential: bool = False
) -> None:
    """The least ε that gives the accuracy that is needed, for each release and for all."""
    if confidential:
        say(console, NOTICE)
    per_cent = decimal_text(100 * need.within, 4)
    asked = f"{need.table} within {per_cent} % where at least {need.least:,} (19 of 20 cells)"
    if epsilon is None:
        say(console, f"No epsilon gives {asked}.")
        return
    spent = schedule.spent(epsilon)
    say(console, f"{asked}: the least epsilon of a release is {decimal_text(epsilon, 3)}.")
    year = "no epsilon is enough" if spent is None else f"epsilon = {rounded_up(spent)}"
    say(console, f"{_releases(schedule)}: {year} at delta = {rounded_up(schedule.total.delta)} in all.")
    fits = "fit" if schedule.fits(epsilon) else "do not fit"
    say(console, f"They {fits} into {loss_in_words(schedule.total)}.")


def _releases(schedule: Schedule) -> str:
    return f"{schedule.number} releases, one every {schedule.every.replace('-', ' ')}"
