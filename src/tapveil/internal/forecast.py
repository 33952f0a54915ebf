"""A forecast: how accurate the tables of a schedule would be, next to those of longer releases and of hours.

What the terminal shows, and `--json` prints. Without counts it follows from the plan alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from tapveil.base.errors import PlanError
from tapveil.base.time_bins import TimeBins
from tapveil.internal.accuracy import Counts, Need, Source, share_within
from tapveil.internal.confidential import NOTICE
from tapveil.internal.schedule import EVERY, Schedule
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import rounded_up
from tapveil.published.manifest import ERROR_CONFIDENCE

TEN_PER_CENT = 10
"""A count is within 10 % if it is at least ten times its error bound."""
CountsOf = Callable[[Schedule], Mapping[str, Counts]]
"""Which counts the tables of a schedule have."""

SOURCES: Mapping[Source, str] = {
    "published": "published counts; smaller cells are missing, so of all trips fewer are within 10 %",
    "estimates": "estimates of the folder, which are never negative",
    "measurements": "measurements above their error bound; all other cells have equal parts of what is left",
}
MEASURED = (
    "In a known world this is the accuracy of measurements. The estimates that a folder has next to them are nearer, "
    "as a rule."
)
BOUNDED = (
    "Trips of a card beyond its limit are left out of every count. That bias comes on top, and is not in these figures."
)
EVERY_WEEK = "Cells count cards: one that is there every week counts no more often in a longer release."


class Row(NamedTuple):
    """One table, in releases of one length and in bins of one length."""

    every: str
    releases: int
    epsilon: str | None
    """Of a release; None where none fits: then nothing else is known."""
    time_bins: str | None = None
    table: str | None = None
    noise_scale: str | None = None
    error_95: int | None = None
    smallest_published: int | None = None
    """None where every cell is published."""
    within_10_from: int | None = None
    trips_a_week: int | None = None
    """How many there must be in a bin of the plan."""
    share_within_10: float | None = None
    """Of the trips, at the counts that are asked for."""


def rows(schedule: Schedule, counts: CountsOf | None = None) -> Iterator[Row]:
    """The schedule, then longer releases; each with hours where bins are shorter."""
    for every, days in EVERY.items():
        if days >= schedule.days:
            yield from _rows(schedule if every == schedule.every else schedule.instead(every), schedule, counts)


def _rows(other: Schedule, schedule: Schedule, counts: CountsOf | None) -> Iterator[Row]:
    """One for each table, and one more in hours if its bins are shorter."""
    try:
        epsilon = other.epsilon
    except PlanError:
        yield Row(other.every, other.number, None)
        return
    for each in filter(None, (other, other.in_hours)):
        held = counts(each) if counts else {}
        for name, mechanism in each.with_epsilon(epsilon).guarantee.mechanisms.items():
            bins = each.bins(name)
            if each is not other and bins == other.bins(name):
                continue
            bound = mechanism.error_bound(1 - ERROR_CONFIDENCE)
            smallest = None if mechanism.publishes_every_cell else mechanism.smallest_published
            least = max(TEN_PER_CENT * bound, smallest or 0)  # what is not published is not accurate
            yield Row(
                other.every,
                other.number,
                decimal_text(epsilon, 3),
                _in_words(bins),
                name,
                decimal_text(mechanism.scale, 4),
                bound,
                smallest,
                least,
                ceil(each.a_week(name, least, schedule.bins(name))),
                share_within(mechanism, held[name]) if name in held else None,
            )


def _in_words(bins: TimeBins | None) -> str | None:
    if bins is None:
        return None
    return f"{bins.minutes} min" if bins == TimeBins.every(bins.minutes, bins.first) else "parts of the day"


def notes(schedule: Schedule, *, alone: bool = False) -> list[str]:
    """What these figures are not; `alone`: without longer releases next to them."""
    privacy = schedule.plan.privacy
    holds = {MEASURED: privacy.is_world, BOUNDED: privacy.by_card, EVERY_WEEK: privacy.by_card and not alone}
    return [note for note, is_so in holds.items() if is_so]


def as_json(
    schedule: Schedule,
    epsilon: Fraction | None,
    counts: CountsOf | None = None,
    *,
    need: Need | None = None,
    sources: Mapping[str, Source] | None = None,
    confidential: bool = False,
) -> dict[str, Any]:
    """What `tapveil ledger plan --json` prints; with a need, the least ε that gives it instead of other lengths."""
    shown = decimal_text(epsilon, 3) if epsilon is not None else None
    found: dict[str, Any] = {
        **({"notice": NOTICE} if confidential else {}),
        "every": schedule.every,
        "releases": schedule.number,
        "total": {"epsilon": decimal_text(schedule.total.epsilon, 6), "delta": rounded_up(schedule.total.delta)},
        "epsilon": shown,
        "delta": rounded_up(schedule.delta),
        "counts": sources,
        "notes": notes(schedule, alone=need is not None),
    }
    if need is None:
        return {**found, "tables": [row._asdict() for row in rows(schedule, counts)]}
    spent = schedule.spent(epsilon) if epsilon is not None else None
    asked = {"table": need.table, "within": float(need.within), "least": need.least}
    fits = epsilon is not None and schedule.fits(epsilon)
    return {**found, "need": asked, "spent_epsilon": None if spent is None else rounded_up(spent), "fits": fits}
