"""A schedule of releases: what each may spend, and how accurate its tables are, next to others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil
from pathlib import Path

from rich.console import Console

from tapveil.base.errors import PlanError
from tapveil.base.text_table import Grid
from tapveil.base.time_bins import TimeBins
from tapveil.cli.console.check import show_bounds
from tapveil.cli.console.text import head, say
from tapveil.internal.accuracy import Counts, Need, share_within
from tapveil.internal.bounds import Rule, around
from tapveil.internal.confidential import NOTICE
from tapveil.internal.schedule import EVERY, Schedule
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import UNIT_NAMES, loss_in_words, rounded_up
from tapveil.published.folder import Folder
from tapveil.published.manifest import ERROR_CONFIDENCE

TEN_PER_CENT = 10
"""A count is within 10 % if it is at least ten times its error bound."""
CountsOf = Callable[[Schedule], Mapping[str, Counts]]
"""Which counts the tables of a schedule have."""


def show_schedule(
    console: Console, schedule: Schedule, counts: CountsOf | None = None, *, confidential: bool = False
) -> None:
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
    if confidential:
        say(console, NOTICE)
    grid = Grid(*_HEADINGS, *(["trips in cells within 10 %"] if counts else []))
    for every, days in EVERY.items():
        if days >= schedule.days:
            other = schedule if every == schedule.every else schedule.instead(every)
            for row in _rows(other, schedule, counts):
                grid.add(*row)
    head(console, "Accuracy of each table, next to fewer or coarser releases")
    grid.show(console)
    say(
        console,
        "Trips a week: how many there must be in a time bin of this plan, if trips are spread evenly over days and "
        "bins, so that their cell is within 10 %.",
    )
    if schedule.plan.privacy.by_card:
        say(console, "Cells count cards: one that is there every week counts no more often in a longer release.")


_HEADINGS = (
    "a release every",
    "releases",
    "epsilon",
    "time bins",
    "table",
    "noise scale",
    "95 % error bound",
    "smallest published",
    "within 10 % from",
    "trips a week",
)


def _rows(other: Schedule, schedule: Schedule, counts: CountsOf | None) -> Iterator[tuple[str, ...]]:
    """One for each table, and one more in hours if its bins are shorter."""
    length = (other.every.replace("-", " "), str(other.number))
    try:
        epsilon = other.epsilon
    except PlanError:
        yield (*length, "none fits")
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
            yield (
                *length,
                decimal_text(epsilon, 3),
                _in_words(bins),
                name,
                decimal_text(mechanism.scale, 4),
                f"± {bound}",
                "all" if smallest is None else f"{smallest:,}",
                f"{least:,}",
                f"{ceil(each.a_week(name, least, schedule.bins(name))):,}",
                *([f"{share_within(mechanism, held[name]):.1%}" if name in held else "-"] if counts else []),
            )


def _in_words(bins: TimeBins | None) -> str:
    if bins is None:
        return "-"
    return f"{bins.minutes} min" if bins == TimeBins.every(bins.minutes, bins.first) else "parts of the day"


def show_folder(console: Console, schedule: Schedule, folder: Path) -> None:
    """What a published folder tells of less than all trips; and for cards, of the bound on their trips."""
    plan, manifest = schedule.with_epsilon(schedule.epsilon), Folder(folder).manifest
    say(
        console,
        "If you change noise or limits because of this, they follow from what that release showed, which costs nothing "
        f'by itself but must be accounted for: set chosen_from = "{manifest.release_id}" under [privacy].',
    )
    if not manifest.is_world:
        say(console, f"{folder} has the larger cells only: of all trips, fewer are within 10 % than of those in it.")
    if not plan.privacy.by_card:
        return
    rule = Rule.of(folder, plan)
    if rule is None:
        unit = UNIT_NAMES[plan.privacy.unit]
        say(
            console,
            f"{folder} does not tell how many trips {unit} makes, by which a limit could be chosen: that needs every "
            "cell, and a table with columns = [] that counts each once.",
        )
        return
    show_bounds(console, plan, [*around(plan, rule.left_out)], source=", by a rule of thumb from the folder alone")
    if best := rule.best(plan):
        say(console, f"The expected error of a cell of {rule.table} is least at about {best}.")


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
