"""A schedule of releases: what each may spend, and how accurate its tables are, next to others."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from pathlib import Path

from rich.console import Console

from tapveil.base.text_table import Grid
from tapveil.cli.console.text import head, say
from tapveil.internal.accuracy import Need, Source, sources_of_folder
from tapveil.internal.bounds import Rule, around
from tapveil.internal.confidential import NOTICE
from tapveil.internal.forecast import SOURCES, CountsOf, Row, notes, rows
from tapveil.internal.schedule import Schedule
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import loss_in_words, rounded_up


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
    for row in rows(schedule, counts):
        grid.add(*_cells(row, counted=counts is not None))
    head(console, "Accuracy of each table, next to fewer or coarser releases")
    grid.show(console)
    say(
        console,
        "Trips a week: how many there must be in a time bin of this plan, if trips are spread evenly over days and "
        "bins, so that their cell is within 10 %.",
    )
    for note in notes(schedule):
        say(console, note)


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


def _cells(row: Row, *, counted: bool) -> tuple[str, ...]:
    length = (row.every.replace("-", " "), str(row.releases))
    if row.epsilon is None:
        return (*length, "none fits")
    shown = (
        row.time_bins or "-",
        row.table or "",
        row.noise_scale or "",
        f"± {row.error_95}",
        "all" if row.smallest_published is None else f"{row.smallest_published:,}",
        f"{row.within_10_from:,}",
        f"{row.trips_a_week:,}",
    )
    share = "-" if row.share_within_10 is None else f"{row.share_within_10:.1%}"
    return (*length, row.epsilon, *shown, *([share] if counted else []))


def show_folder(console: Console, schedule: Schedule, folder: Path) -> None:
    """What a published folder tells of less than all trips; and for cards, of the bound on their trips."""
    from tapveil.cli.console.check import show_bounds  # not loaded where the plan alone is asked
    from tapveil.published.folder import Folder

    plan, manifest = schedule.with_epsilon(schedule.epsilon), Folder(folder).manifest
    say(
        console,
        "If you change noise or limits because of this, they follow from what that release showed, which costs nothing "
        f'by itself but must be accounted for: set chosen_from = "{manifest.release_id}" under [privacy].',
    )
    tables = defaultdict[Source, list[str]](list)
    for name, source in sources_of_folder(folder, plan).items():
        tables[source].append(name)
    for source, names in tables.items():
        say(console, f"Counts of {', '.join(names)}: {SOURCES[source]}.")
    if not plan.privacy.by_card:
        return
    rule = Rule.of(folder, plan)
    if rule is None:
        say(
            console,
            f"{folder} does not tell how many trips a {plan.privacy.unit} has, by which a limit could be chosen: that "
            "needs every cell, and a table with columns = [] that counts each once.",
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
    for note in notes(schedule, alone=True):
        say(console, note)


def _releases(schedule: Schedule) -> str:
    return f"{schedule.number} releases, one every {schedule.every.replace('-', ' ')}"
