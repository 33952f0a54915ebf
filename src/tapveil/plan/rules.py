"""Rules between the parts of a plan, each of which is valid by itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tapveil.base.errors import did_you_mean
from tapveil.base.layouts import LAYOUTS
from tapveil.base.vocabulary import (
    CARD,
    COUNT,
    DURATION,
    EVERY_MODE,
    MOST_LEVELS,
    RESERVED,
    TAP,
    TOTAL,
    UNKNOWN,
    VEHICLE,
    YEARS,
)
from tapveil.plan.calendar import FREE
from tapveil.plan.model import TIMETABLE
from tapveil.plan.problem import Location, Problem, problem
from tapveil.privacy.effort import too_much
from tapveil.privacy.loss import certified

if TYPE_CHECKING:
    from tapveil.plan.model import Plan, Privacy, Table
    from tapveil.plan.source import Source

RELEASE, COARSEN, PRIVACY, TABLES = ("release",), ("coarsen",), ("privacy",), ("table",)
SHAPES = ("gtfs-ride", "idfm", "lta", "mta", "numbat", "opal", "queensland", "station-hour", "tides")
"""The shapes that ship with tapveil."""
SOURCE, COLUMNS = ("source",), ("source", "columns")


def problems(plan: Plan, *, noise: bool = True) -> Iterator[Problem]:
    """All problems of a plan. Noise is only calibrated once unit and budget are valid, and where it is asked for."""
    yield from _column_problems(plan)
    for table in plan.table:
        yield from _table_problems(plan, table)
    yield from _family_problems(plan)
    yield from _coverage_problems(plan)
    yield from _day_problems(plan)
    yield from _calendar_problems(plan)
    yield from _place_problems(plan)
    yield from _tap_problems(plan)
    promise = [*_unit_problems(plan), *_budget_problems(plan)]
    yield from promise or (_mechanism_problems(plan) if noise else ())
    yield from _total_problems(plan)
    yield from _layout_problems(plan)
    yield from _shape_problems(plan)
    yield from _world_problems(plan)


def _of(table: Table) -> Location:
    return ("table", table.name)


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _column_problems(plan: Plan) -> Iterator[Problem]:
    """Whether the columns that are published are there, and may be."""
    source = plan.source
    for name in _twice(table.name for table in plan.table):
        yield problem(("table", name), "table-twice", name=name)
    seen = set()
    for table in plan.table:
        alike = (frozenset(table.columns), table.level)
        if alike in seen:
            columns = f"{', '.join(sorted(table.columns))} ({table.level.in_words})"
            yield problem(_of(table), "columns-twice", columns=columns)
        seen.add(alike)
    for column in _twice(plan.release.partition):
        yield problem(RELEASE, "partition-twice", "partition", column=column)
    for section, key, column in _published(plan):
        if column not in source.columns:
            hint = did_you_mean(column, source.columns) or " (it is not under [source.columns])"
            yield problem(section, "unknown-column", key, column=column, hint=hint)
        elif column in RESERVED:
            yield problem(section, "reserved-column", key, column=column)
        elif column.endswith("_until"):
            yield problem(section, "reserved-until", key, column=column)
        elif source.kind(column) == "card":
            yield problem(section, "card-published", key, column=column)
        elif (theirs := source.columns[column].column) and theirs == source.card:
            yield problem(section, "read-from-cards", key, column=column, theirs=theirs)
    if not any(column not in source.columns or source.columns[column].column for column in plan.columns.used):
        yield problem(COLUMNS, "nothing-read")
    if "mode" in source.columns and source.kind("mode") != "label":
        yield problem(COLUMNS, "kind", "mode", kind="label")


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
        yield problem(where, "column-twice", column=column)
    for column in set(table.columns) & set(plan.release.partition):
        yield problem(where, "column-of-partition", column=column)
    if (table.name == TOTAL) != (not table.columns):
        yield problem(where, "total-name")
    if any(column not in plan.source.columns for column in table.columns):
        return
    kinds = {plan.source.kind(column) for column in table.columns}
    if (level.time_minutes or level.times) and "time" not in kinds:
        yield problem(where, "level-without-times")
    if level.time_minutes and (level.time_minutes % bin_minutes or level.time_minutes == bin_minutes):
        yield problem(where, "level-bins", minutes=bin_minutes)
    if any(minute % bin_minutes for minute in level.times or ()):
        yield problem(where, "level-times", minutes=bin_minutes)
    if level.location is None:
        return
    if "location" not in kinds:
        yield problem(where, "level-without-places")
    wider = plan.coarsen.wider.get(level.location)
    if wider is None:
        hint = did_you_mean(level.location, plan.coarsen.wider) or " (define them under [coarsen.wider])"
        yield problem(where, "unknown-areas", areas=level.location, hint=hint)
    elif any(mode != EVERY_MODE for mode in wider) and "mode" not in plan.columns.of(table):
        yield problem(where, "areas-by-mode", areas=level.location)


def _total_problems(plan: Plan) -> Iterator[Problem]:
    """Without a partition, the table of totals is a single number: no list can name it, and no row can represent it."""
    if TOTAL not in plan.tables or plan.release.partition:
        return
    where: Location = ("table", TOTAL)
    if len(plan.table) == 1:
        yield problem(where, "total-alone")
    if plan.privacy.lists_cells:
        yield problem(where, "total-listed")
    if plan.release.synthetic:
        yield problem(where, "total-synthetic")


def _family_problems(plan: Plan) -> Iterator[Problem]:
    """Whether the levels of one table nest, so that published numbers can be combined."""
    families: dict[frozenset[str], list[Table]] = {}
    for table in plan.table:
        families.setdefault(frozenset(table.columns), []).append(table)
    for family in families.values():
        if len(family) > MOST_LEVELS:
            yield problem(_of(family[0]), "too-many-levels", most=MOST_LEVELS)
        for fine, coarse in pairwise(family):
            within = fine.level.location in (None, coarse.level.location)
            if not within or not plan.columns.times(fine.level).nests_in(plan.columns.times(coarse.level)):
                yield problem(_of(coarse), "levels-cross", coarse=coarse.name, fine=fine.name)


def _coverage_problems(plan: Plan) -> Iterator[Problem]:
    """Whether the days and modes that a release is limited to can be read from the trips."""
    source = plan.source
    if (source.first_day is None) != (source.last_day is None):
        given, other = ("first_day", "last_day") if source.last_day is None else ("last_day", "first_day")
        yield problem(SOURCE, "one-day-given", given, other=other)
    elif source.first_day and source.last_day:
        if source.first_day.year < YEARS[0] or source.last_day.year > YEARS[-1]:
            yield problem(SOURCE, "days-beyond", "first_day", first=YEARS[0], last=YEARS[-1])
        if source.first_day > source.last_day:
            yield problem(SOURCE, "days-turned", "last_day")
        if "date" not in source.columns or source.kind("date") != "date" or not source.calendar:
            yield problem(SOURCE, "days-need-date", "first_day")
        elif source.columns["date"].column is None:
            yield problem(SOURCE, "days-need-files", "first_day")
    if source.modes and ("mode" not in source.columns or source.columns["mode"].column is None):
        yield problem(SOURCE, "modes-need-mode", "modes")
    for mode in _twice(source.modes or ()):
        yield problem(SOURCE, "mode-twice", "modes", mode=mode)


def _day_problems(plan: Plan) -> Iterator[Problem]:
    """Whether days that do not start at midnight can be determined, and their times labelled."""
    source, starts = plan.source, plan.source.day_starts
    for name, column in source.columns.items():
        if source.kind(name) == "date" and source.calendar and not column.tells_days_apart:
            yield problem(COLUMNS, "days-alike", name, format=column.format)
        if column.format == "epoch" and source.timezone is None:
            yield problem(COLUMNS, "needs-zone", name)
    if starts % plan.coarsen.time_minutes:
        yield problem(SOURCE, "day-within-bin", "day_starts", minutes=plan.coarsen.time_minutes)
    if starts and source.dates == "labels":
        yield problem(SOURCE, "start-needs-calendar", "day_starts")
    if starts and source.dates == "calendar" and "date" in source.columns and not source.deciding:
        yield problem(SOURCE, "start-needs-time", "day_starts")
    if plan.coarsen.after_midnight == "continued" and not starts:
        yield problem(COARSEN, "needs-day-start", "after_midnight")


def _calendar_problems(plan: Plan) -> Iterator[Problem]:
    """Whether columns that follow from the day can: the day is read from the files, and all days are known."""
    source, made, section = plan.source, plan.coarsen.date, (*COARSEN, "date")
    for name in source.columns:
        if source.kind(name) == "calendar" and name not in made:
            yield problem(COLUMNS, "calendar-kind", name)
    for name, column in made.items():
        if name in source.columns and source.kind(name) != "calendar":
            yield problem(section, "calendar-name", name)
        if column.timetable and plan.gtfs is None:
            yield problem((*section, name), "areas-need-timetable", "timetable")
    if made and not (source.can_name_days and source.first_day):
        yield problem(section, "calendar-needs-days")
    for where, key, name in _published(plan) if made else ():
        if name in FREE:
            yield problem(where, "reserved-column", key, column=name)


def _place_problems(plan: Plan) -> Iterator[Problem]:
    """Whether there is a timetable for what needs one."""
    for mode, area in plan.coarsen.location.items():
        if plan.gtfs is None and not area.lookup:
            what = "gtfs" if area.gtfs else "polygons" if area.polygons else "h3"
            yield problem(("coarsen", "location", mode), "areas-need-timetable", what)
    if "mode" not in plan.source.columns and any(mode != EVERY_MODE for mode in plan.coarsen.location):
        yield problem(("coarsen", "location"), "areas-need-mode")
    known = {"mode", "date", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"}
    for table in plan.table:
        where, what = _of(table), f'cells = "{table.cells}"'
        if table.cells != TIMETABLE:
            continue
        if plan.gtfs is None:
            yield problem(where, "cells-need-timetable", what=what)
        elif unknown := set(plan.columns.of(table)) - known:
            yield problem(where, "not-in-timetable", what=what, columns=", ".join(sorted(unknown)))
        elif plan.columns.ends(table) == "both":
            yield problem(where, "ends-not-in-timetable", what=what)
        elif not plan.source.calendar:
            yield problem(where, "timetable-needs-calendar", what=what)


def _tap_problems(plan: Plan) -> Iterator[Problem]:
    """Whether taps can be counted as the plan asks."""
    source, taps, section = plan.source, plan.source.taps, ("source", "taps")
    if taps is None:
        return
    for where, key, column in _published(plan):
        of_an_end = column.startswith(("tap_on_", "tap_off_")) and column in source.columns
        if of_an_end and source.kind(column) == "date":
            yield problem(where, "day-of-one-end", key, column=column)
        if column == TAP:
            yield problem(where, "tap-published", key)
    if taps.same == "vehicle" and (VEHICLE not in source.columns or source.columns[VEHICLE].column is None):
        yield problem(section, "needs-vehicle", "same")
    if taps.same == "mode" and "mode" not in source.columns and plan.columns.pairs_taps:
        yield problem(section, "pairs-need-mode", "same")
    for table in plan.columns.sides.get("both", ()):
        where = _of(table)
        if "tap_on_time" not in source.columns:
            yield problem(where, "pairs-need-time")
        elif CARD not in source.columns:
            yield problem(where, "pairs-need-card")
        elif plan.privacy.unit == "trip":
            # One tap more can pair the taps around it anew, in several cells (docs/privacy/proofs.md, taps).
            yield problem(where, "pairs-of-trips")
        elif plan.privacy.without_card == "own-unit":
            # Such a trip is two taps that nobody can pair: two cells, or one cell twice (docs/privacy/proofs.md, taps).
            yield problem(where, "pairs-without-card")


def _unit_problems(plan: Plan) -> Iterator[Problem]:
    """Whether units of protection can be distinguished, and how many trips they have."""
    privacy, source = plan.privacy, plan.source
    if source.shape == "counts" and privacy.by_card:
        yield problem(PRIVACY, "counts-of-cards", "unit")
        return
    if COUNT in source.columns and source.shape != "counts":
        yield problem(COLUMNS, "needs-counts", COUNT)
    elif COUNT in source.columns:
        yield from _count_problems(source)
    if not privacy.by_card:
        for key in ("trips_per_day", "trips_per_card", "without_card"):
            if dict(privacy)[key] is not None:
                yield problem(PRIVACY, "of-cards", key)
        return
    if CARD not in source.columns or source.columns[CARD].column is None:
        yield problem(PRIVACY, "unit-needs-card", "unit", unit=privacy.unit)
    elif source.kind(CARD) != "card":
        yield problem(COLUMNS, "kind", CARD, kind="card")
    if privacy.without_card is None:
        yield problem(PRIVACY, "without-card", "unit")
    if privacy.trips_per_day and "date" not in source.columns:
        yield problem(PRIVACY, "bound-needs-date", "trips_per_day")
    elif privacy.trips_per_day and source.kind("date") != "date":
        yield problem(COLUMNS, "kind", "date", kind="date")
    elif privacy.trips_per_day and source.columns["date"].column is None:
        # Of several days that pass for one, what is kept of the one would depend on the others.
        yield problem(PRIVACY, "days-become-one", "trips_per_day")
    if privacy.trips_per_day and not source.calendar:
        yield problem(PRIVACY, "bound-needs-calendar", "trips_per_day")
    if privacy.unit == "card" and privacy.trips_per_card is None:
        yield problem(PRIVACY, "card-needs-bound", "unit")
    if privacy.unit == "card-day" and privacy.trips_per_day is None:
        yield problem(PRIVACY, "day-needs-bound", "unit")
    if privacy.unit == "card-day" and privacy.trips_per_card is not None:
        # The trips kept of one day would depend on those of other days, and a changed day would show in all of them.
        yield problem(PRIVACY, "days-depend", "trips_per_card")


def _count_problems(source: Source) -> Iterator[Problem]:
    """Whether one trip more can change anything other than the number of one row, and that by more than one."""
    count = source.columns[COUNT]
    if count.kind is not None:
        yield problem(COLUMNS, "count-kind", COUNT)
    for key, given in (("missing", count.missing), ("format", count.format)):
        if given:
            yield problem(COLUMNS, "count-is-whole", COUNT, given=key)
    for name, column in source.columns.items():
        if name != COUNT and column.column == count.column:
            yield problem(COLUMNS, "count-published", name, column=column.column)


def _budget_problems(plan: Plan) -> Iterator[Problem]:
    """Whether there is one total with weights, or (ε, δ) for every table; and δ where it is needed."""
    privacy, listed, shared = plan.privacy, plan.privacy.lists_cells, plan.guarantee.is_shared
    if privacy.cut is not None and not listed:
        yield problem(PRIVACY, "cut", "cut")
    if shared:
        yield from _delta_problems(PRIVACY, privacy, listed)
    elif privacy.delta is not None:
        yield problem(PRIVACY, "delta-alone", "delta")
    for table in plan.table:
        where = _of(table)
        if (table.cells is not None) != listed:
            wanted = (
                "needs `cells`, a file that lists every possible cell" if listed else "does not use `cells`; remove it"
            )
            yield problem(where, "cells", mechanism=privacy.mechanism, wanted=wanted)
        if shared and (table.epsilon is not None or table.delta is not None):
            yield problem(where, "total-and-own")
        if shared:
            continue
        if table.weight is not None:
            yield problem(where, "weight-alone")
        elif table.epsilon is None:
            yield problem(where, "no-epsilon")
        else:
            yield from _delta_problems(where, table, listed)
    if sum(table.delta or 0 for table in plan.table) >= 1:
        yield problem(TABLES, "delta-of-one")


def _delta_problems(where: Location, budget: Privacy | Table, listed: bool) -> Iterator[Problem]:
    if listed and budget.delta:
        yield problem(where, "delta-of-list", "delta")
    if not listed and budget.delta is None:
        yield problem(where, "no-delta")
    elif not listed and budget.delta == 0:
        yield problem(where, "delta-of-zero", "delta")


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
        yield problem(where, "too-much", words=words, fewer=fewer)
    elif not certified(mechanisms, guarantee.loss, guarantee.exposure):
        yield problem(where, "too-coarse")


def _duration_problems(plan: Plan) -> Iterator[Problem]:
    """Whether durations follow from both times of a trip, in classes that the plan lists."""
    classes, columns = plan.world.durations, plan.source.columns
    made = {name for name in columns if plan.source.kind(name) == "duration"}
    if made - ({DURATION} if classes else set()):
        yield problem(SOURCE, "duration-kind", "columns")
    if classes and (DURATION not in made or columns[DURATION].column != columns["tap_off_time"].column):
        yield problem(("world",), "durations-need-times", "durations")
    if classes and (classes[0] != 0 or list(classes) != sorted(set(classes))):
        yield problem(("world",), "durations-in-order", "durations")


def _world_problems(plan: Plan) -> Iterator[Problem]:
    """Whether every column of the tables has a public list, so that all cells are known before a trip is read."""
    source, keys = plan.source, {column for table in plan.table for column in plan.columns.of(table)}
    yield from _per_cell_problems(plan)
    yield from _duration_problems(plan)
    if not plan.privacy.is_world:
        for given in sorted(plan.world.model_fields_set):
            yield problem(("world",), "world-alone", given)
        return
    of_days = plan.world.timetable or plan.world.holiday_list
    if ("date" in keys or of_days) and source.first_day is None:
        yield problem(SOURCE, "world-needs-days")
    if plan.world.timetable and plan.gtfs is None:
        yield problem(("world",), "areas-need-timetable", "timetable")
    if "date" in keys and not source.calendar:
        yield problem(SOURCE, "world-needs-calendar")
    if "mode" in keys and plan.release.partition[:1] != ("mode",):
        yield problem(RELEASE, "world-partition", "partition")
    if "mode" in keys and source.columns["mode"].value is None and not source.modes:
        yield problem(SOURCE, "world-needs-modes")
    for section, key, column in _published(plan):
        listed = {"time", "location", "duration", "calendar"}
        known = column in ("mode", "date", *plan.world.lists) or column not in source.columns
        known = known or source.kind(column) in listed
        if not known:
            yield problem(section, "not-in-world", key, column=column)
    for column, labels in plan.world.lists.items():
        if column == "mode" or column not in keys or source.kind(column) != "label":
            yield problem(("world",), "list-of-no-label", "lists", column=column)
        if UNKNOWN in labels or _twice(labels) or any(label != label.strip() for label in labels):
            yield problem(("world",), "list-not-plain", "lists", column=column)
    if unknown := sorted(set(plan.world.service) - {EVERY_MODE, *_listed_modes(plan)}):
        yield problem(("world",), "unknown-mode", "service", mode=unknown[0])
    for table in plan.table:
        if table.level.location:
            yield problem(_of(table), "wider-not-in-world")
    if plan.release.layout != "tables" or plan.release.synthetic:
        yield problem(RELEASE, "world-layout", "layout")


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
            yield problem(_of(table), "per-cell-of-cards", "trips_per_cell")
        elif table.trips_per_cell > privacy.trips_per_unit:
            yield problem(
                _of(table), "per-cell-at-most", "trips_per_cell", most=privacy.trips_per_unit, unit=privacy.unit
            )


def _shape_problems(plan: Plan) -> Iterator[Problem]:
    """Whether there are such shapes, and tables that have files of their own."""
    for name in plan.release.shapes:
        if name not in SHAPES and not name.endswith(".toml"):
            hint = did_you_mean(name, SHAPES) or f" ({', '.join(SHAPES)}, or a TOML file of your own)"
            yield problem(RELEASE, "unknown-shape", "shapes", name=name, hint=hint)
    if plan.release.shapes and plan.release.layout != "tables":
        yield problem(RELEASE, "shapes-of-tables", "shapes")


def _layout_problems(plan: Plan) -> Iterator[Problem]:
    """That of the published Opal data has one partition, one bin width and no levels."""
    name, layout = plan.release.layout, LAYOUTS[plan.release.layout]
    if layout.partition not in (None, plan.release.partition):
        needed = json.dumps(layout.partition)
        yield problem(RELEASE, "layout-partition", "layout", name=name, needed=needed)
    for table in plan.table:
        if not (layout.has_levels or table.level.is_finest):
            yield problem(_of(table), "layout-level", name=name)
        if not layout.has_file_for(table.columns):
            what = f"the columns {', '.join(table.columns)}" if table.columns else "totals; remove the table"
            yield problem(_of(table), "layout-columns", name=name, what=what)
