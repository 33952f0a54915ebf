"""The known world: every cell that a table can have, from public lists alone.

The modes, the days from the first to the last, the bins of a day and the places of each mode are public, each with an
entry for all that is not listed. So every cell can be measured, whether anyone was in it or not, and none tells by its
presence that somebody was there. A list that was made from the trips would tell just that: it is not public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import pyarrow as pa

from tapveil.base.calendar import days_from
from tapveil.base.domain import MOST_CELLS, Lists, every_cell, number_of_cells
from tapveil.base.errors import PlanError
from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import EVERY_MODE, UNKNOWN
from tapveil.inputs.areas import Areas
from tapveil.inputs.calendars import Calendars
from tapveil.inputs.place_list import read_place_list
from tapveil.inputs.snapshot import PublicFiles
from tapveil.plan.model import Plan, Table

Places = Mapping[str, tuple[str, ...]]
"""All places of each mode, sorted, with one entry for those that are not listed; under `EVERY_MODE` where tables have
no mode."""


def with_listed_places(plan: Plan, areas: Areas, files: PublicFiles) -> Areas:
    """Places of modes without a list of areas: those of [places], as they are named there; all others are unknown.

    What is not listed becomes `UNKNOWN` before it is counted, so that a card counts once in that cell, too.
    """
    if plan.places is None:
        return areas
    listed: dict[str, dict[str, str]] = {}
    for place in read_place_list(plan.base, plan.places, files):
        listed.setdefault(place.mode if _by_mode(plan) else EVERY_MODE, {})[place.name] = place.name
    everywhere = listed.pop(EVERY_MODE, {})
    own = {mode: {**everywhere, **names} for mode, names in listed.items()} | {EVERY_MODE: everywhere}
    missing = {mode: names for mode, names in own.items() if names and mode not in areas.lookups}
    # An area of the plan for every mode is meant for those that have no list of their own.
    return replace(areas, lookups={**areas.lookups, **({} if EVERY_MODE in areas.lookups else missing)})


def listed_places(plan: Plan, areas: Areas) -> Places:
    """All places that tables can have; none where no table has places."""
    if "location" not in plan.columns.kinds:
        return {}
    if _by_mode(plan):
        return {mode: tuple(sorted({*_listed(areas, mode).values(), UNKNOWN})) for mode in modes(plan)}
    # Without the mode among the keys, a cell has the places of all modes.
    lists = [_listed(areas, mode) for mode in {EVERY_MODE, *areas.lookups}]
    return {EVERY_MODE: tuple(sorted({UNKNOWN, *(place for each in lists for place in each.values())}))}


def _listed(areas: Areas, mode: str) -> Mapping[str, str]:
    if listed := areas.lookups.get(mode, areas.lookups.get(EVERY_MODE)):
        return listed
    whose = "" if mode == EVERY_MODE else f" of mode {mode}"
    raise PlanError(
        f'there is no public list of the places{whose}, and mechanism = "world" needs one: give it under [places] or '
        "[coarsen.location]. A list made from the trips is not public"
    )


def _by_mode(plan: Plan) -> bool:
    return "mode" in plan.release.partition


def modes(plan: Plan) -> tuple[str, ...]:
    """The modes that are counted."""
    given = plan.source.columns["mode"].value
    return (given,) if given is not None else tuple(sorted(plan.source.modes or ()))


def world_cells(plan: Plan, places: Places, calendars: Calendars) -> dict[str, pa.Table]:
    """All cells of each table, sorted by their labels: for each mode the product of its lists."""
    lists = {table.name: list(_lists(plan, table, places, calendars)) for table in plan.table}
    if (cells := sum(map(number_of_cells, lists.values()))) > MOST_CELLS:
        largest = max(lists, key=lambda name: number_of_cells(lists[name]))
        raise PlanError(
            f"the world of this plan has {cells:,} cells, and {MOST_CELLS:,} are the most; most of them are in table "
            f"{largest}: use larger areas ([coarsen.location]), longer bins, or fewer columns"
        )
    return {name: _table(each) for name, each in lists.items()}


def _table(modes: list[Lists]) -> pa.Table:
    coded = every_cell(modes)
    columns = {
        key: pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels, pa.string()))
        for key, (labels, codes) in coded.items()
    }
    return pa.table(columns) if columns else pa.table({"": pa.nulls(1)}).select([])


def _lists(plan: Plan, table: Table, places: Places, calendars: Calendars) -> Iterator[Lists]:
    """The public lists of the keys of a table, for each mode."""
    for mode in modes(plan) if _by_mode(plan) else (EVERY_MODE,):
        labels = partial(_labels, plan, table, places, mode)
        keys = plan.columns.of(table)
        yield {key: tuple(sorted({*calendars[key].values()})) if key in calendars else labels(key) for key in keys}


def _labels(plan: Plan, table: Table, places: Places, mode: str, key: str) -> tuple[str, ...]:
    if key == "mode":
        return (mode,)
    kind, first, last = plan.source.kind(key), plan.source.first_day, plan.source.last_day
    if kind == "date" and first and last:
        return tuple(day.isoformat() for day in days_from(first, last))
    if kind == "time":
        hours = plan.world.service.get(mode, plan.world.service.get(EVERY_MODE))
        return plan.columns.times(table.level if key in table.columns else None).within_hours(hours)
    if kind == "duration":
        return TimeBins.parts(plan.world.durations).labels
    if listed := plan.world.lists.get(key):
        return tuple(sorted({UNKNOWN, *listed}))
    return places[mode]
