"""README.md of a folder: for a person who opens it. From the plan alone, never from the data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from tapveil._version import __version__
from tapveil.base.time_bins import Times
from tapveil.base.types import MINUTES_PER_DAY, clock_text
from tapveil.base.vocabulary import EVERY_MODE, EXPLORER, HIGH, LOW, NOUNS, OPAL_SHAPES, PLACES, TOTAL, WIDER
from tapveil.plan.model import Level, Plan, Table
from tapveil.privacy.intervals import MISS, interval, mean_error
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import COUNTED, NOT_ON_THE_LIST, NOT_PROTECTED
from tapveil.veil.statement import ERROR_CONFIDENCE, LOOKED, gaussian_in_words, promise


def readme(plan: Plan, created: date, *, signed: bool, places: bool = False) -> str:
    """README.md of the folder: for a person who opens it."""
    return "\n\n".join(_readme_parts(plan, created, signed, places)) + "\n"


def _readme_parts(plan: Plan, created: date, signed: bool, places: bool) -> Iterator[str]:
    release = plan.release
    yield f"# {release.title}"
    if release.description:
        yield release.description
    publisher = f"Published by {release.publisher}. " if release.publisher else ""
    licence = f" Licence: {release.licence}." if release.licence else ""
    yield f"{publisher}Made on {created.isoformat()} with tapveil {__version__}.{licence}"
    yield "## What it is"
    yield " ".join(_what_it_is(plan))
    yield " ".join(_what_is_where(plan, places))
    yield " ".join(_how_to_check(signed))
    yield "## How to read a number"
    yield (
        "Each count is the true count plus random noise. Small counts are left out altogether. "
        f"{_intervals_in_words(plan)}"
    )
    yield "\n".join([_readme_head(plan), *(_readme_row(plan, table) for table in plan.table)])
    yield "\n".join(_how_to_read(plan))
    yield "## Numbers that add up"
    yield " ".join(_what_adds_up(plan))
    yield "## What it protects"
    yield f"{promise(plan)} {_PROTECTS} {NOT_PROTECTED[plan.privacy.unit]}"
    yield from gaussian_in_words(plan)
    yield " ".join(_how_it_was_planned(plan))


def _what_it_is(plan: Plan) -> Iterator[str]:
    parts = " and ".join(f"`{name}`" for name in plan.release.partition)
    what = "public-transport trips" if plan.privacy.unit == "trip" else "public-transport " + COUNTED[plan.privacy.unit]
    yield f"Counts of {what}" + (f", each table split by {parts}." if parts else ".")
    covered = _coverage_in_words(plan)
    if covered:
        yield f"Only trips {covered} are counted."
    if _by_list(plan):
        yield "Only cells of a list that was fixed beforehand are counted; trips elsewhere are left out."
    if plan.privacy.trips_per_day:
        yield f"Of each card and day at most {plan.privacy.trips_per_day} trips are counted."
    if plan.privacy.trips_per_card:
        yield f"Of each card at most {plan.privacy.trips_per_card} trips are counted in all."
    if plan.privacy.without_card:
        yield {"refuse": "Trips without a card are left out.", "own-unit": "A trip without a card counts as a card."}[
            plan.privacy.without_card
        ]
    if "time" in plan.published_kinds:
        yield f"Times are the starts of {plan.coarsen.time_minutes}-minute bins; `-1` means there was no tap."
    for table in plan.table:
        if table.level.times:
            ends = Times.parts(table.level.times, _first_minute(plan)).ends.items()
            yield (
                f"In `{table.name}` they are those of parts of the day: "
                + ", ".join(f"{start}–{end}" for start, end in ends)
                + "."
            )
    if plan.source.day_starts:
        yield from _days_in_words(plan)
    if plan.source.timezone and "time" in plan.published_kinds:
        yield (
            f"Times are those of the clock in {plan.source.timezone}: where daylight saving repeats an hour, both are "
            "in the same bins."
        )
    yield from _taps_in_words(plan)
    for mode, area in plan.coarsen.location.items() if "location" in plan.published_kinds else ():
        whose = "Stops" if mode == EVERY_MODE else f"Stops of mode `{mode}`"
        yield f"{whose} are given by their `{area.label}`."
    if "location" in plan.published_kinds:
        yield "`UNKNOWN` means there was no tap, or the stop is not known."


def _first_minute(plan: Plan) -> int:
    return plan.source.day_starts if plan.coarsen.after_midnight == "continued" else 0


def _taps_in_words(plan: Plan) -> Iterator[str]:
    """Where a row was one tap: what was counted."""
    taps = plan.source.taps
    if taps is None:
        return
    if {"on", "off"} & set(plan.sides):
        yield "Taps on are counted in the tables of tap-ons, taps off in those of tap-offs, each on its own day."
    if "both" in plan.sides:
        day = " and day" if plan.privacy.unit == "card-day" else ""
        common = "" if taps.same == "card" else f" and {taps.same}"
        yield (
            f"Where a table has both ends, a tap on and the tap off right after it, of one card{day}{common}, within "
            f"{taps.within_minutes} minutes, are a trip; any other tap is one whose other end is not known."
        )


def _days_in_words(plan: Plan) -> Iterator[str]:
    starts, late = clock_text(plan.source.day_starts), plan.source.day_starts - plan.coarsen.time_minutes
    if "date" in plan.used_columns:
        yield f"A day runs from {starts} to {starts} of the next morning."
    if plan.coarsen.after_midnight == "continued":
        yield f"Its hours after midnight go on, to {clock_text(MINUTES_PER_DAY + late)}."
    else:
        yield f"So times before {starts} are those of the morning after."


def _coverage_in_words(plan: Plan) -> str:
    source, parts = plan.source, []
    if source.first_day and source.last_day:
        parts.append(f"from {source.first_day.isoformat()} to {source.last_day.isoformat()}")
    if source.modes:
        parts.append("of mode " + ", ".join(f"`{mode}`" for mode in source.modes))
    return " ".join(parts)


def _what_is_where(plan: Plan, places: bool) -> Iterator[str]:
    opal = sorted({OPAL_SHAPES[table.columns][0] for table in plan.table}) if plan.release.layout == "opal" else []
    files = " and ".join(f"`{name}`" for name in opal) or "one file per table"
    yield f"Open `{EXPLORER}` in a browser to look at it: it needs no network."
    yield f"`data/` holds {files}, as CSV and Parquet;"
    if plan.release.synthetic:
        yield "`synthetic/` the same as rows, as many for each cell as its count says (not trips that took place);"
    if places:
        yield f"`{PLACES}` says where all places lie that could be named, whether they are or not;"
    if any(table.level.location for table in plan.table):
        yield f"`{WIDER}` says which wider area each published place lies in;"
    yield "`datapackage.json` describes every column; `privacy.json` states the privacy parameters;"
    yield "`dp-registry.yaml`, `croissant.json` and `dcat.jsonld` say the same to portals;"
    yield "`SHA256SUMS` lets you check that the files are whole (`sha256sum -c SHA256SUMS`)."


def _how_to_check(signed: bool) -> Iterator[str]:
    yield "`tapveil verify` checks all of it from this folder alone, and computes the promise below anew."
    if signed:
        yield (
            "`SHA256SUMS.sig` is the publisher's signature: with a line `NAME ssh-ed25519 ...` (the publisher's public "
            "key) in a file `allowed_signers` outside this folder, `ssh-keygen -Y verify -f ../allowed_signers -I NAME "
            "-n tapveil -s SHA256SUMS.sig < SHA256SUMS` checks it."
        )


def _readme_head(plan: Plan) -> str:
    absent = "a cell of the list that is not there" if _by_list(plan) else "a cell that is not listed"
    columns = (
        *("table", "columns", "noise scale", "a number is off by, on average", "19 of 20 are off by at most"),
        *("smallest number printed", f"{absent} has at most"),
    )
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def _by_list(plan: Plan) -> bool:
    """Whether the cells of a public list are counted, and no others."""
    return plan.privacy.mechanism == "dictionary"


def _intervals_in_words(plan: Plan) -> str:
    where = f"Beside it, `{LOW}` and `{HIGH}` say" if plan.release.layout == "tables" else "The table below says"
    cells = "cells of the list" if _by_list(plan) else "cells"
    absent = "A cell that is not listed lies between 0 and the number in the last column."
    if _by_list(plan):
        absent = (
            "A cell that is not there had at most the number in the last column if it is on the list of cells that was "
            f"fixed beforehand; {NOT_ON_THE_LIST}."
        )
    return (
        f"{where} between which numbers the true one lies: in at least 19 of 20 {cells}, published or not, whatever "
        f"their true numbers are. {absent}"
    )


def _what_adds_up(plan: Plan) -> Iterator[str]:
    """The consistent version, and the finest: what they are, how they lean."""
    adds_up = plan.privacy.unit == "trip" and not _by_list(plan) and not plan.source.taps
    if plan.privacy.unit != "trip":
        yield "There is no consistent version: a card counts once in each cell, so cells of cards do not add up."
    elif _by_list(plan):
        yield "There is no consistent version: lists of two tables need not be of the same trips."
    elif plan.source.taps:
        yield "There is no consistent version: taps on and taps off are counted apart."
    else:
        yield (
            "`data/` has the numbers as the noise left them. Use them for statistics of your own: single numbers lean "
            "a little high where they are near the smallest, sums over a fine table lean low. `consistent/` has the "
            "same cells with numbers that add up, made from `data/` alone: moved as little as the noise explains, and "
            "whole. Use them for shares and maps. `consistent/FINE.by.COARSE.csv` says for each cell of a coarser "
            "table how much of its `total` is `listed` in the finer one, and how much is `other`: in cells too small "
            "to be listed."
        )
    yield from _totals_in_words(plan)
    if len({frozenset(table.columns) for table in plan.table}) < len(plan.table):
        yield (
            "`finest/` has, for each table that is published at several resolutions, what shows, as finely as it does. "
            "A row `cell` is a cell of some resolution, from its time until `…_until`;"
        )
        yield (
            "a row `rest` is what the finer cells leave of a coarser one, so that every trip that shows is in one row."
            if adds_up
            else "a row `around` is a coarser cell of which finer ones are listed, too: do not add them up."
        )


def _totals_in_words(plan: Plan) -> Iterator[str]:
    """Totals are published like any other number, or not at all."""
    if TOTAL not in plan.tables:
        yield "There are no totals: what a table lists is less than there is, by what it hides."
        return
    what = "taps on" if plan.source.taps and not plan.privacy.by_card else NOUNS[plan.privacy.unit]
    each = f" for each {' and '.join(plan.release.partition)}" if plan.release.partition else ""
    yield f"The table `{TOTAL}` has one number{each}: all {what}, with an interval like any other."


def _how_to_read(plan: Plan) -> Iterator[str]:
    if _by_list(plan):
        yield "- **A number may be noise alone.** Cells that nobody used get noise like all others; some are printed."
        yield (
            "- **A cell that is not there is not zero.** If it is on the list, it was absent, or too small to print: "
            "see the last column. If it is not, it was not counted, and may have any number."
        )
    else:
        yield "- **A cell that is not listed is not zero.** It was absent, or too small to print: see the last column."
    yield (
        "- Tables are noised separately, so their totals do not agree exactly. Sums over a fine table come out low, "
        "because its small cells are missing."
    )
    if plan.privacy.by_card:
        yield (
            "- **A sum of cells is not a number of people.** A card counts once in each cell that it was in, so it may "
            "be in several; and trips beyond the limit for a card are missing, so busy cells come out low."
        )
    yield (
        "- **A number just above the smallest says little about how small the true count was**: noise may have raised "
        "it. In a table that lists few cells, most may be such; then take a coarser one."
    )


_PROTECTS = "This holds whatever else anyone knows or will ever know."


def _how_it_was_planned(plan: Plan) -> Iterator[str]:
    """What the promise does not cover: which plan it was made for."""
    looked = plan.privacy.looked_at_trips
    yield LOOKED[looked]
    if looked:
        yield "Its choices, such as bins, areas and which tables there are, may tell something about them."
    elif looked is None:
        yield "If it was, epsilon does not account for that."


def _readme_row(plan: Plan, table: Table) -> str:
    mechanism = plan.mechanisms[table.name]
    error = mechanism.error_bound(1 - ERROR_CONFIDENCE)
    columns = table.in_words + ("" if table.level == Level() else f" ({table.level.in_words})")
    cells = (
        table.name,
        columns,
        decimal_text(mechanism.scale, 4),
        f"{mean_error(mechanism):.1f}",
        error,
        mechanism.smallest_published,
        interval(mechanism, MISS).absent,
    )
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
