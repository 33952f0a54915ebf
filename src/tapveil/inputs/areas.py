"""Time bins and areas: the detail removed before counting.

Both are fixed by the plan alone, so removing detail costs no privacy and adds none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tapveil.base.errors import InputFileError
from tapveil.base.vocabulary import EVERY_MODE, MISSING, UNKNOWN
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import PublicFiles
from tapveil.plan.model import Area, Plan, Table, WiderArea

if TYPE_CHECKING:
    from tapveil.inputs.gtfs import Stop


@dataclass(frozen=True)
class Areas:
    """The published area of each stop: the stop itself, unless its mode has a lookup. And the labels of days."""

    lookups: Mapping[str, Mapping[str, str]]
    calendars: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The label of each day, by the column that has it."""

    def area(self, mode: str, stop: str) -> str:
        """The area of a stop; `UNKNOWN` where there is no stop, or the lookup does not know it."""
        lookup = self.lookups.get(mode, self.lookups.get(EVERY_MODE))
        if lookup is None:
            return stop or UNKNOWN
        return lookup.get(stop, UNKNOWN)


@dataclass(frozen=True)
class Stops:
    """The stops of the timetable, by their name in the trips and by their ID."""

    by_name: Mapping[str, Stop]
    by_id: Mapping[str, Stop]

    def described(self, stop: Stop, what: str) -> str:
        """A property of a stop in the timetable; empty where it has none."""
        station = self.by_id[stop.station]
        said = {"stop_name": stop.name, "station": station.id, "station_name": station.name, "zone_id": stop.zone}
        return said[what]


@dataclass(frozen=True)
class Relabel:
    """The label of a column at a coarser level, by mode."""

    label: Callable[[str, str], str]
    modes: tuple[str, ...] = ()
    """The modes with their own lookup."""

    @classmethod
    def of_times(cls, bins: Mapping[str, str], outside: Mapping[str, Set[str]]) -> Relabel:
        """`outside`: by mode, the labels of bins without service, which become that of a missing time."""
        every = outside.get(EVERY_MODE, frozenset())
        modes = tuple(mode for mode in outside if mode != EVERY_MODE)
        return cls(lambda mode, label: MISSING if label in outside.get(mode, every) else bins[label], modes)

    @classmethod
    def of_places(cls, areas: Areas) -> Relabel:
        """A place without an area has no wider area either."""
        modes = tuple(mode for mode in areas.lookups if mode != EVERY_MODE)
        return cls(lambda mode, label: label if label == UNKNOWN else areas.area(mode, label), modes)


def _outside(plan: Plan) -> dict[str, Set[str]]:
    bins = plan.columns.times()
    return {mode: {*bins.labels} - {*bins.within_hours(hours)} for mode, hours in plan.world.service.items()}


def read_stops(plan: Plan, files: PublicFiles) -> Stops:
    """The stops of the plan's timetable; empty without a timetable."""
    if plan.gtfs is None:
        return Stops({}, {})
    from tapveil.inputs.gtfs import read_feed  # most plans have no timetable

    by_name: dict[str, Stop] = {}
    by_id = read_feed(plan.base / plan.gtfs.path, files).stops
    for stop in by_id.values():
        if name := stop_name(plan, stop):
            by_name.setdefault(name, stop)
    return Stops(by_name, by_id)


def stop_name(plan: Plan, stop: Stop) -> str:
    """The name in the trips of a stop of the timetable; empty where it has none."""
    match = plan.gtfs.match if plan.gtfs else "stop_id"
    return {"stop_id": stop.id, "stop_code": stop.code, "stop_name": stop.name}[match]


def read_areas(plan: Plan, files: PublicFiles) -> Areas:
    """The areas of all stops in the plan's lists, read and checked."""
    stops = read_stops(plan, files)
    return Areas({mode: _areas(plan, area, stops, files) for mode, area in plan.coarsen.location.items()})


def read_wider(plan: Plan, files: PublicFiles) -> Mapping[str, Areas]:
    """The wider areas of all published places, by the name of the level."""
    return {
        name: Areas({mode: _read_lookup(plan.base / area.lookup, area, files) for mode, area in modes.items()})
        for name, modes in plan.coarsen.wider.items()
    }


def relabelling(plan: Plan, table: Table, wider: Mapping[str, Areas]) -> dict[str, Relabel]:
    """The columns of a table whose labels change at its level, and how."""
    level, found = table.level, dict[str, Relabel]()
    for column in plan.columns.of(table):
        own = level if column in table.columns else None
        if plan.source.kind(column) == "time" and (plan.world.service or (own and (own.time_minutes or own.times))):
            found[column] = Relabel.of_times(plan.columns.times().within(plan.columns.times(own)), _outside(plan))
    for column in table.columns:
        if plan.source.kind(column) == "location" and level.location:
            found[column] = Relabel.of_places(wider[level.location])
    return found


def _areas(plan: Plan, area: Area, stops: Stops, files: PublicFiles) -> Mapping[str, str]:
    """The area of each stop, in one of the four ways."""
    if area.lookup is not None:
        return _read_lookup(plan.base / area.lookup, area, files)
    if area.gtfs is not None:
        return {name: label for name, stop in stops.by_name.items() if (label := stops.described(stop, area.gtfs))}
    from tapveil.inputs.geometry import h3_cell, polygons  # most plans have none

    places = {name: place for name, stop in stops.by_name.items() if (place := stop.place)}
    if area.polygons is not None:
        found = polygons(plan, area, files).areas(list(places.values()))
    else:
        found = [h3_cell(*place, area.h3 or 0) for place in places.values()]
    return {name: label for name, label in zip(places, found, strict=True) if label}


def _read_lookup(path: Path, lookup: Area | WiderArea, files: PublicFiles) -> dict[str, str]:
    listed = PublicList(files, path, "lookup", "[coarsen]")
    stop_column, area_column = str(lookup.from_), str(lookup.to)
    areas: dict[str, str] = {}
    for line, row in listed.rows([stop_column, area_column], delimiter=lookup.delimiter):
        stop, area = row[stop_column], row[area_column] or UNKNOWN
        if areas.setdefault(stop, area) != area:
            raise InputFileError(
                f"{path.name}, line {line}: stop `{stop}` has two different values of `{lookup.to}`; keep one"
            )
    areas.pop("", None)
    return areas
