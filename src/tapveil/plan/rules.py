"""Rules between the parts of a plan, each of which is valid by itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tapveil.base.errors import did_you_mean
from tapveil.base.layouts import LAYOUTS
from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import (
    CARD,
    COUNT,
    EVERY_MODE,
    MOST_LEVELS,
    RESERVED,
    TAP,
    TOTAL,
    VEHICLE,
    YEARS,
)
from tapveil.plan.model import TIMETABLE
from tapveil.plan.problem import Location, Problem
from tapveil.privacy.effort import too_much
from tapveil.privacy.loss import certified

if TYPE_CHECKING:
    from tapveil.plan.model import Plan, Privacy, Table
    from tapveil.plan.source import Source

RELEASE, COARSEN, PRIVACY, TABLES = ("release",), ("coarsen",), ("privacy",), ("table",)
SOURCE, COLUMNS = ("source",), ("source", "columns")


def problems(plan: Plan) -> Iterator[Problem]:
    """All problems of a plan. Noise is only calibrated once unit and budget are valid."""
    yield from _column_problems(plan)
    for table in plan.table:
        yield from _table_problems(plan, table)
    yield from _family_problems(plan)
    yield from _coverage_problems(plan)
    yield from _day_problems(plan)
    yield from _place_problems(plan)
    yield from _tap_problems(plan)
    promise = [*_unit_problems(plan), *_budget_problems(plan)]
    yield from promise or _mechanism_problems(plan)
    yield from _total_problems(plan)
    yield from _layout_problems(plan)
    yield from _world_problems(plan)


def _of(table: Table) -> Location:
    return ("table", table.name)


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _column_problems(plan: Plan) -> Iterator[Problem]:
    """Whether the columns that are published are there, and may be."""
    source = plan.source
    for name in _twice(table.name for table in plan.table):
        words = f"table name `{name}` is used twice (with `levels`, give all but one a `name`)"
        yield Problem(("table", name), "table-twice", words)
    seen = set()
    for table in plan.table:
        alike = (frozenset(table.columns), table.level)
        if alike in seen:
            columns = f"{', '.join(sorted(table.columns))} ({table.level.in_words})"
            yield Problem(_of(table), "columns-twice", f"set of columns in a table `{columns}` is used twice")
        seen.add(alike)
    for column in _twice(plan.release.partition):
        yield Problem(RELEASE, "column-twice", f"partition column `{column}` is used twice", "partition")
    for section, key, column in _published(plan):
        if column not in source.columns:
            hint = did_you_mean(column, source.columns) or " (it is not under [source.columns])"
            yield Problem(section, "unknown-column", f"unknown column `{column}`{hint}", key)
        elif column in RESERVED:
            words = f"`{column}` is reserved for published numbers; rename it under [source.columns]"
            yield Problem(section, "reserved-column", words, key)
        elif column.endswith("_until"):
            words = f"Column names ending in `_until` are reserved; rename `{column}` under [source.columns]."
            yield Problem(section, "reserved-column", words, key)
        elif source.kind(column) == "card":
            yield Problem(section, "card-published", f"`{column}` identifies people and can never be published", key)
        elif (theirs := source.columns[column].column) and theirs == source.card:
            words = f"`{column}` is read from `{theirs}`, the column of card IDs, and can never be published"
            yield Problem(section, "card-published", words, key)
    if not any(column not in source.columns or source.columns[column].column for column in plan.columns.used):
        yield Problem(COLUMNS, "nothing-read", "every column has a fixed value; read at least one from the files")
    if "mode" in source.columns and source.kind("mode") != "label":
        yield Problem(COLUMNS, "kind", "must have the kind `label`", "mode")


def _published(plan: Plan) -> Iterator[tuple[Location, str | None, str]]:
    for column in plan.release.partition:
        yield RELEASE, "partition", column
    for table in plan.table:
        for column in table.columns:
            yield _of(table), None, column


def _table_problems(plan: Plan, table: Table) -> Iterator[Problem]:
    """Whether the columns of a table are its own, and its level is made of the plan's bins and areas."""
    where, level, bin_minutes = _of(table), table.level, plan.coarsen.time_minutes
    for column in _twice(table.columns):
        yield Problem(where, "column-twice", f"column `{column}` is used twice")
    for column in set(table.columns) & set(plan.release.partition):
        words = f"`{column}` is already a partition column; remove it from the table"
        yield Problem(where, "column-of-partition", words)
    if (table.name == TOTAL) != (not table.columns):
        words = f"only the table of totals has columns = [], and it must be named `{TOTAL}`"
        yield Problem(where, "total-name", words)
    if any(column not in plan.source.columns for column in table.columns):
        return
    kinds = {plan.source.kind(column) for column in table.columns}
    if (level.time_minutes or level.times) and "time" not in kinds:
        yield Problem(where, "level-without-times", "the level has times, but the table has no time column")
    if level.time_minutes and (level.time_minutes % bin_minutes or level.time_minutes == bin_minutes):
        yield Problem(
            where, "level-bins", f"time_minutes of a level must be a multiple of the bins of {bin_minutes} minutes"
        )
    if any(minute % bin_minutes for minute in level.times or ()):
        yield Problem(where, "level-bins", f"times of a level must be start times of bins of {bin_minutes} minutes")
    if level.location is None:
        return
    if "location" not in kinds:
        yield Problem(where, "level-without-places", "the level has wider areas, but the table has no location column")
    wider = plan.coarsen.wider.get(level.location)
    if wider is None:
        hint = did_you_mean(level.location, plan.coarsen.wider) or " (define them under [coarsen.wider])"
        yield Problem(where, "unknown-areas", f"there are no wider areas `{level.location}`{hint}")
    elif any(mode != EVERY_MODE for mode in wider) and "mode" not in plan.columns.of(table):
        words = f'wider areas by mode need a `mode` column in the table; or use [coarsen.wider.{level.location}."*"]'
        yield Problem(where, "areas-by-mode", words)


def _total_problems(plan: Plan) -> Iterator[Problem]:
    """Without a partition, the table of totals is a single number: no list can name it, and no row can represent it."""
    if TOTAL not in plan.tables or plan.release.partition:
        return
    where: Location = ("table", TOTAL)
    if len(plan.table) == 1:
        words = "it would be the only number of the release; add a partition or another table"
        yield Problem(where, "total-alone", words)
    if plan.privacy.lists_cells:
        yield Problem(where, "total-listed", 'mechanism = "dictionary" needs a partition for a table of totals')
    if plan.release.synthetic:
        yield Problem(
            where, "total-synthetic", "synthetic = true needs a partition; without one, rows would have no columns"
        )


def _family_problems(plan: Plan) -> Iterator[Problem]:
    """Whether the levels of one table nest, so that published numbers can be combined."""
    first = plan.source.day_starts if plan.coarsen.after_midnight == "continued" else 0

    def times(table: Table) -> TimeBins:
        if table.level.times:
            return TimeBins.parts(table.level.times, first)
        return TimeBins.every(table.level.time_minutes or plan.coarsen.time_minutes, first)

    families: dict[frozenset[str], list[Table]] = {}
    for table in plan.table:
        families.setdefault(frozenset(table.columns), []).append(table)
    for family in families.values():
        if len(family) > MOST_LEVELS:
            yield Problem(_of(family[0]), "too-many-levels", f"has more than {MOST_LEVELS} levels; remove some")
        for fine, coarse in pairwise(family):
            within = fine.level.location in (None, coarse.level.location)
            if not within or not times(fine).nests_in(times(coarse)):
                words = f"Each bin or area of {coarse.name} must contain whole bins or areas of {fine.name}."
                yield Problem(_of(coarse), "levels-cross", f"{words} List levels from finest to coarsest.")


def _coverage_problems(plan: Plan) -> Iterator[Problem]:
    """Whether the days and modes that a release is limited to can be read from the trips."""
    source = plan.source
    if (source.first_day is None) != (source.last_day is None):
        given, other = ("first_day", "last_day") if source.last_day is None else ("last_day", "first_day")
        yield Problem(SOURCE, "one-day-given", f"needs {other} as well", given)
    elif source.first_day and source.last_day:
        if source.first_day.year < YEARS[0] or source.last_day.year > YEARS[-1]:
            yield Problem(SOURCE, "days-beyond", f"days must be between {YEARS[0]} and {YEARS[-1]}", "first_day")
        if source.first_day > source.last_day:
            yield Problem(SOURCE, "days-turned", "must not be before first_day", "last_day")
        if "date" not in source.columns or source.kind("date") != "date" or not source.calendar:
            words = 'needs a column `date` under [source.columns], and not dates = "labels"'
            yield Problem(SOURCE, "needs-date", words, "first_day")
        elif source.columns["date"].column is None:
            words = "needs a `date` that is read from the files, not one value for every row"
            yield Problem(SOURCE, "needs-date", words, "first_day")
    if source.modes and ("mode" not in source.columns or source.columns["mode"].column is None):
        yield Problem(SOURCE, "needs-mode", "needs a column `mode` that is read from the files", "modes")
    for mode in _twice(source.modes or ()):
        yield Problem(SOURCE, "mode-twice", f"`{mode}` is used twice", "modes")


def _day_problems(plan: Plan) -> Iterator[Problem]:
    """Whether days that do not start at midnight can be determined, and their times labelled."""
    source, starts = plan.source, plan.source.day_starts
    for name, column in source.columns.items():
        if source.kind(name) == "date" and source.calendar and not column.tells_days_apart:
            words = f"`{column.format}` lacks the year, month or day, so several days would become one; add it"
            yield Problem(COLUMNS, "days-alike", words, name)
        if column.format == "epoch" and source.timezone is None:
            words = 'needs the time zone of the place: add timezone = "…" under [source]'
            yield Problem(COLUMNS, "needs-zone", words, name)
    if starts % plan.coarsen.time_minutes:
        words = f"must be the start of a time bin of {plan.coarsen.time_minutes} minutes"
        yield Problem(SOURCE, "day-within-bin", words, "day_starts")
    if starts and source.dates == "labels":
        yield Problem(SOURCE, "needs-calendar", 'needs dates = "calendar" or "service"', "day_starts")
    if starts and source.dates == "calendar" and "date" in source.columns and not source.deciding:
        words = "needs a column `tap_on_time` or `tap_off_time`, which decides the day of a trip"
        yield Problem(SOURCE, "needs-time", words, "day_starts")
    if plan.coarsen.after_midnight == "continued" and not starts:
        words = '"continued" needs [source] day_starts, such as "04:00"'
        yield Problem(COARSEN, "needs-day-start", words, "after_midnight")


def _place_problems(plan: Plan) -> Iterator[Problem]:
    """Whether there is a timetable for what needs one."""
    for mode, area in plan.coarsen.location.items():
        if plan.gtfs is None and not area.lookup:
            what = "gtfs" if area.gtfs else "polygons" if area.polygons else "h3"
            words = "needs a section [gtfs] with the names and coordinates of stops"
            yield Problem(("coarsen", "location", mode), "needs-timetable", words, what)
    if "mode" not in plan.source.columns and any(mode != EVERY_MODE for mode in plan.coarsen.location):
        words = f'there is no `mode` column; use [coarsen.location."{EVERY_MODE}"]'
        yield Problem(("coarsen", "location"), "needs-mode", words)
    known = {"mode", "date", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"}
    for table in plan.table:
        where, what = _of(table), f'cells = "{table.cells}"'
        if table.cells != TIMETABLE:
            continue
        if plan.gtfs is None:
            yield Problem(where, "needs-timetable", f"{what} needs a section [gtfs]")
        elif unknown := set(plan.columns.of(table)) - known:
            words = f"{what} does not know {', '.join(sorted(unknown))}; list the cells in a file"
            yield Problem(where, "not-in-timetable", words)
        elif plan.columns.ends(table) == "both":
            words = f"{what} only works for tables of one end of a trip; list the cells in a file"
            yield Problem(where, "not-in-timetable", words)
        elif not plan.source.calendar:
            yield Problem(where, "needs-calendar", f'{what} needs calendar dates, not [source] dates = "labels"')


def _tap_problems(plan: Plan) -> Iterator[Problem]:
    """Whether taps can be counted as the plan asks."""
    source, taps, section = plan.source, plan.source.taps, ("source", "taps")
    if taps is None:
        return
    for where, key, column in _published(plan):
        of_an_end = column.startswith(("tap_on_", "tap_off_")) and column in source.columns
        if of_an_end and source.kind(column) == "date":
            words = f"`{column}` is the day of one end of a trip only; use `date`"
            yield Problem(where, "day-of-one-end", words, key)
        if column == TAP:
            words = f"`{TAP}` only tells which end a row is; use the columns tap_on_… and tap_off_…"
            yield Problem(where, "tap-published", words, key)
    if taps.same == "vehicle" and (VEHICLE not in source.columns or source.columns[VEHICLE].column is None):
        yield Problem(section, "needs-vehicle", f"needs a column `{VEHICLE}` under [source.columns]", "same")
    if taps.same == "mode" and "mode" not in source.columns and plan.columns.pairs_taps:
        yield Problem(section, "needs-mode", 'needs a column `mode` under [source.columns], or same = "card"', "same")
    for table in plan.columns.sides.get("both", ()):
        where = _of(table)
        if "tap_on_time" not in source.columns:
            words = "needs both ends of a trip, and so a column `tap_time` for the order of taps"
            yield Problem(where, "needs-time", words)
        elif CARD not in source.columns:
            words = f"needs both ends of a trip, and so a column `{CARD}` to pair taps"
            yield Problem(where, "needs-card", words)
        elif plan.privacy.unit == "trip":
            # One tap more can pair the taps around it anew, in several cells (docs/privacy/proofs.md, taps).
            words = (
                "needs both ends of a trip. How taps are paired depends on the other taps of the card, "
                'so a single trip cannot be protected. Use unit = "card-day" or "card"'
            )
            yield Problem(where, "pairs-of-trips", words)
        elif plan.privacy.without_card == "own-unit":
            # Such a trip is two taps that nobody can pair: two cells, or one cell twice (docs/privacy/proofs.md, taps).
            words = (
                "needs both ends of a trip. Taps without a card cannot be paired, so such a trip would count "
                'twice. Use without_card = "refuse"'
            )
            yield Problem(where, "pairs-without-card", words)


def _unit_problems(plan: Plan) -> Iterator[Problem]:
    """Whether units of protection can be distinguished, and how many trips they have."""
    privacy, source = plan.privacy, plan.source
    if source.shape == "counts" and privacy.by_card:
        words = 'shape = "counts" has no cards; use unit = "trip"'
        yield Problem(PRIVACY, "counts-of-cards", words, "unit")
        return
    if COUNT in source.columns and source.shape != "counts":
        words = 'is reserved for the number of trips of a row with shape = "counts"; rename it'
        yield Problem(COLUMNS, "needs-counts", words, COUNT)
    elif COUNT in source.columns:
        yield from _count_problems(source)
    if not privacy.by_card:
        for key in ("trips_per_day", "trips_per_card", "without_card"):
            if dict(privacy)[key] is not None:
                yield Problem(PRIVACY, "of-cards", 'is only for unit = "card-day" or "card"; remove it', key)
        return
    if CARD not in source.columns or source.columns[CARD].column is None:
        yield Problem(PRIVACY, "needs-card", f'"{privacy.unit}" needs a column `{CARD}` under [source.columns]', "unit")
    elif source.kind(CARD) != "card":
        yield Problem(COLUMNS, "kind", "must have the kind `card`", CARD)
    if privacy.without_card is None:
        words = 'set without_card for rows without a card: "refuse" or "own-unit"'
        yield Problem(PRIVACY, "without-card", words, "unit")
    if privacy.trips_per_day and "date" not in source.columns:
        yield Problem(PRIVACY, "needs-date", "needs a column `date` under [source.columns]", "trips_per_day")
    elif privacy.trips_per_day and source.kind("date") != "date":
        yield Problem(COLUMNS, "kind", "must have the kind `date`", "date")
    elif privacy.trips_per_day and source.columns["date"].column is None:
        # Of several days that pass for one, what is kept of the one would depend on the others.
        words = (
            "needs a `date` that is read from the files; one value for every row would make all days of a "
            'card one. For files of a single day use unit = "card" with trips_per_card'
        )
        yield Problem(PRIVACY, "days-alike", words, "trips_per_day")
    if privacy.trips_per_day and not source.calendar:
        words = 'needs dates = "calendar" or "service"; with labels, one day could be several'
        yield Problem(PRIVACY, "needs-calendar", words, "trips_per_day")
    if privacy.unit == "card" and privacy.trips_per_card is None:
        words = '"card" needs trips_per_card, the maximum number of trips counted per card'
        yield Problem(PRIVACY, "needs-bound", words, "unit")
    if privacy.unit == "card-day" and privacy.trips_per_day is None:
        words = '"card-day" needs trips_per_day, the maximum number of trips counted per card and day'
        yield Problem(PRIVACY, "needs-bound", words, "unit")
    if privacy.unit == "card-day" and privacy.trips_per_card is not None:
        # The trips kept of one day would depend on those of other days, and a changed day would show in all of them.
        words = 'cannot be used with unit = "card-day", whose days must not depend on each other; remove it'
        yield Problem(PRIVACY, "days-depend", words, "trips_per_card")


def _count_problems(source: Source) -> Iterator[Problem]:
    """Whether one trip more can change anything other than the number of one row, and that by more than one."""
    count = source.columns[COUNT]
    if count.kind is not None:
        yield Problem(COLUMNS, "kind", "is a number of trips: it has no other kind", COUNT)
    for key, given in (("missing", count.missing), ("format", count.format)):
        if given:
            words = f"is a whole number of trips; remove `{key}`, and write 0 in the files where there are none"
            yield Problem(COLUMNS, "number-of-trips", words, COUNT)
    for name, column in source.columns.items():
        if name != COUNT and column.column == count.column:
            words = f"`{column.column}` is the number of trips; with one trip more, all of them would change their cell"
            yield Problem(COLUMNS, "number-of-trips", words, name)


def _budget_problems(plan: Plan) -> Iterator[Problem]:
    """Whether there is one total with weights, or (ε, δ) for every table; and δ where it is needed."""
    privacy, listed, shared = plan.privacy, plan.privacy.lists_cells, plan.guarantee.is_shared
    if privacy.cut is not None and not listed:
        words = 'is only for mechanism = "dictionary"; the thresholds of the others follow from delta'
        yield Problem(PRIVACY, "cut", words, "cut")
    if shared:
        yield from _delta_problems(PRIVACY, privacy, listed)
    elif privacy.delta is not None:
        yield Problem(PRIVACY, "delta-alone", "a total needs epsilon as well; give both or neither", "delta")
    for table in plan.table:
        where = _of(table)
        if (table.cells is not None) != listed:
            wanted = (
                "needs `cells`, a file that lists every possible cell" if listed else "does not use `cells`; remove it"
            )
            yield Problem(where, "cells", f'mechanism = "{privacy.mechanism}" {wanted}')
        if shared and (table.epsilon is not None or table.delta is not None):
            words = "[privacy] gives a total; replace epsilon and delta of this table by a weight"
            yield Problem(where, "total-and-own", words)
        if shared:
            continue
        if table.weight is not None:
            words = "a weight is a share of a total; give epsilon and delta under [privacy], or remove the weights"
            yield Problem(where, "weight-alone", words)
        elif table.epsilon is None:
            words = "epsilon is missing; give it here, or give a total under [privacy]"
            yield Problem(where, "no-epsilon", words)
        else:
            yield from _delta_problems(where, table, listed)
    if sum(table.delta or 0 for table in plan.table) >= 1:
        yield Problem(
            TABLES, "delta-of-one", "the deltas add up to 1 or more, which protects nothing; use smaller ones"
        )


def _delta_problems(where: Location, budget: Privacy | Table, listed: bool) -> Iterator[Problem]:
    if listed and budget.delta:
        yield Problem(where, "delta-of-list", 'mechanism = "dictionary" does not use it; remove it', "delta")
    if not listed and budget.delta is None:
        yield Problem(where, "no-delta", "delta is missing")
    elif not listed and budget.delta == 0:
        yield Problem(where, "delta-of-zero", "must be above 0; at 0 the threshold would be infinite", "delta")


def _mechanism_problems(plan: Plan) -> Iterator[Problem]:
    """Whether there is noise for the budget, and whether its integers satisfy (ε, δ)."""
    guarantee = plan.guarantee
    for table in () if guarantee.is_shared else plan.table:
        try:
            guarantee.own_mechanism(table)
        except ValueError as error:
            yield Problem(_of(table), "no-noise", str(error))
            return
    try:
        mechanisms = list(guarantee.mechanisms.values())
    except ValueError as error:
        yield Problem(PRIVACY, "no-noise", str(error), "epsilon")
        return
    where, fewer = (PRIVACY, "weights") if guarantee.is_shared else (TABLES, "epsilons and deltas")
    if words := too_much(mechanisms):
        yield Problem(where, "too-much", f"{words}; use a larger epsilon, or fewer different {fewer}")
    elif not certified(mechanisms, guarantee.loss, guarantee.exposure):
        words = "the noise is too coarse for these parameters; use a smaller epsilon or a larger delta"
        yield Problem(where, "too-coarse", words)


def _world_problems(plan: Plan) -> Iterator[Problem]:
    """Whether every column of the tables has a public list, so that all cells are known before a trip is read."""
    source, keys = plan.source, {column for table in plan.table for column in plan.columns.of(table)}
    yield from _per_cell_problems(plan)
    if not plan.privacy.is_world:
        for given in sorted(plan.world.model_fields_set):
            yield Problem(("world",), "world-alone", 'is for mechanism = "world"', given)
        return
    what = 'mechanism = "world"'
    if "date" in keys and source.first_day is None:
        yield Problem(SOURCE, "needs-days", f"{what} measures every day: give first_day and last_day")
    if "date" in keys and not source.calendar:
        yield Problem(SOURCE, "needs-calendar", f"{what} needs dates of a calendar: give the format of the date")
    if "mode" in keys and plan.release.partition[:1] != ("mode",):
        yield Problem(RELEASE, "world-partition", f"{what} needs `mode` as the first column", "partition")
    if "mode" in keys and source.columns["mode"].value is None and not source.modes:
        yield Problem(SOURCE, "needs-modes", f"{what} needs the list of modes, [source] modes")
    for section, key, column in _published(plan):
        listed = column in ("mode", "date") or source.kind(column) in ("time", "location")
        if column in source.columns and not listed:
            words = f"{what} has no public list for `{column}`: use times, places, the date and the mode"
            yield Problem(section, "not-in-world", words, key)
    if unknown := sorted(set(plan.world.service) - {EVERY_MODE, *_listed_modes(plan)}):
        words = f"there is no mode `{unknown[0]}` by which tables are split; give hours for all, or by [source] modes"
        yield Problem(("world",), "unknown-mode", words, "service")
    for table in plan.table:
        if table.level.location:
            words = f"{what} has no wider areas: give the areas under [coarsen.location]"
            yield Problem(_of(table), "not-in-world", words)
    if plan.release.layout != "tables" or plan.release.synthetic:
        words = f"{what} has files of its own: leave out `layout` and `synthetic`"
        yield Problem(RELEASE, "world-layout", words, "layout")


def _listed_modes(plan: Plan) -> tuple[str, ...]:
    """The modes that tables are split by, as far as the plan names them."""
    if "mode" not in plan.release.partition:
        return ()
    given = plan.source.columns["mode"].value if "mode" in plan.source.columns else None
    return (given,) if given is not None else tuple(plan.source.modes or ())


def _per_cell_problems(plan: Plan) -> Iterator[Problem]:
    """Whether several trips of a unit may count in one cell."""
    privacy = plan.privacy
    for table in plan.table:
        if table.trips_per_cell is None:
            continue
        if not privacy.is_world or not privacy.by_card:
            words = 'is for mechanism = "world" with unit = "card-day" or "card"; remove it'
            yield Problem(_of(table), "per-cell", words, "trips_per_cell")
        elif table.trips_per_cell > privacy.trips_per_unit:
            words = f"must be at most {privacy.trips_per_unit}, the trips of a {privacy.unit} that are counted"
            yield Problem(_of(table), "per-cell", words, "trips_per_cell")


def _layout_problems(plan: Plan) -> Iterator[Problem]:
    """That of the published Opal data has one partition, one bin width and no levels."""
    name, layout = plan.release.layout, LAYOUTS[plan.release.layout]
    if layout.partition not in (None, plan.release.partition):
        needed = json.dumps(layout.partition)
        yield Problem(RELEASE, f"{name}-partition", f'"{name}" needs partition = {needed}', "layout")
    for table in plan.table:
        if not (layout.has_levels or table.level.is_finest):
            words = f'layout "{name}" has no file for a coarser level; remove the level'
            yield Problem(_of(table), f"{name}-level", words)
        if not layout.has_file_for(table.columns):
            what = f"the columns {', '.join(table.columns)}" if table.columns else "totals; remove the table"
            yield Problem(_of(table), f"{name}-columns", f'layout "{name}" has no file for {what}')
