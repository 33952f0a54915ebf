"""Time bins and areas: the detail given up before counting.

Both are fixed by the plan alone, so giving up detail costs no privacy and promises none.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapveil.base.errors import TripDataError, did_you_mean
from tapveil.base.time_bins import Times
from tapveil.base.types import clock_text
from tapveil.base.vocabulary import EVERY_MODE, MINUTES_PER_DAY, MISSING_TIME, UNKNOWN
from tapveil.inputs.geometry import Place, Polygons, collection, h3_cell, h3_place, points
from tapveil.inputs.place_list import read_place_list
from tapveil.inputs.snapshot import PublicFiles, open_text
from tapveil.plan.model import Area, Level, Plan, Table, WiderArea

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

    from tapveil.inputs.gtfs import Stop


@dataclass(frozen=True)
class TimeBins:
    """A day in bins of equal length. Code 0 is a missing time; the rest are the bins in order.

    >>> bins = TimeBins(15)
    >>> bins.code(451), bins.labels[bins.code(451)], bins.labels[bins.code(1465)], bins.labels[bins.code(-1)]
    (31, '07:30', '00:15', '-1')
    >>> bins = TimeBins(15, 240)
    >>> [bins.labels[bins.code(minute)] for minute in (75, 1515, 240, 1680)]
    ['25:15', '25:15', '04:00', '04:00']
    """

    minutes: int
    starts: int = 0
    """The first minute: those before it are of the night after."""

    @classmethod
    def of(cls, plan: Plan) -> TimeBins:
        continued = plan.coarsen.after_midnight == "continued"
        return cls(plan.coarsen.time_minutes, plan.source.day_starts if continued else 0)

    @property
    def labels(self) -> tuple[str, ...]:
        """`-1`, then the start of each bin as HH:MM: in the order of the codes, and of the alphabet."""
        starts = range(self.starts, self.starts + MINUTES_PER_DAY, self.minutes)
        return (str(MISSING_TIME), *map(clock_text, starts))

    def code(self, minute: int) -> int:
        """The bin of a minute; after a whole day, it is the first again."""
        return 0 if minute == MISSING_TIME else 1 + (minute - self.starts) % MINUTES_PER_DAY // self.minutes


def times_of(plan: Plan, level: Level) -> Times:
    """The bins of a level of a table."""
    fine = TimeBins.of(plan)
    if level.times:
        return Times.parts(level.times, fine.starts)
    return Times.every(level.time_minutes or fine.minutes, fine.starts)


@dataclass(frozen=True)
class Areas:
    """Which area a stop is published under: itself, unless its mode has another way."""

    lookups: Mapping[str, Mapping[str, str]]

    @property
    def by_mode(self) -> bool:
        """Whether the area of a stop depends on the mode."""
        return any(mode != EVERY_MODE for mode in self.lookups)

    def area(self, mode: str, stop: str) -> str:
        """The area of a stop; `UNKNOWN` where there is no stop, or the lookup does not know it."""
        lookup = self.lookups.get(mode, self.lookups.get(EVERY_MODE))
        if lookup is None:
            return stop or UNKNOWN
        return lookup.get(stop, UNKNOWN)


@dataclass(frozen=True)
class Stops:
    """The stops of the timetable: by what the trips name them, and by their own ids."""

    by_name: Mapping[str, Stop]
    by_id: Mapping[str, Stop]

    def described(self, stop: Stop, what: str) -> str:
        """What the timetable says of a stop; nothing where it says nothing."""
        station = self.by_id[stop.station]
        said = {"stop_name": stop.name, "station": station.id, "station_name": station.name, "zone_id": stop.zone}
        return said[what]


@dataclass(frozen=True)
class Relabel:
    """What a label of a column becomes at a coarser level, by its mode."""

    label: Callable[[str, str], str]
    modes: tuple[str, ...] = ()
    """The modes that have a way of their own."""

    @classmethod
    def of_times(cls, bins: Mapping[str, str]) -> Relabel:
        return cls(lambda mode, label: bins[label])

    @classmethod
    def of_places(cls, areas: Areas) -> Relabel:
        """What has no area in the lists has no wider one."""
        modes = tuple(mode for mode in areas.lookups if mode != EVERY_MODE)
        return cls(lambda mode, label: label if label == UNKNOWN else areas.area(mode, label), modes)


def read_stops(plan: Plan, files: PublicFiles) -> Stops:
    """The stops of the plan's timetable; none where it has none."""
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
    """What the trips name a stop of the timetable by; nothing where it has no such name."""
    match = plan.gtfs.match if plan.gtfs else "stop_id"
    return {"stop_id": stop.id, "stop_code": stop.code, "stop_name": stop.name}[match]


def read_areas(plan: Plan, files: PublicFiles) -> Areas:
    """The areas of all stops that the plan's lists know, read and checked."""
    stops = read_stops(plan, files)
    return Areas({mode: _areas(plan, area, stops, files) for mode, area in plan.coarsen.location.items()})


def read_wider(plan: Plan, files: PublicFiles) -> Mapping[str, Areas]:
    """The wider areas of all published places, by the name of the level."""
    wider = plan.coarsen.wider.items()
    return {
        name: Areas({mode: _read_lookup(plan.base / area.lookup, area, files) for mode, area in modes.items()})
        for name, modes in wider
    }


def relabelling(plan: Plan, table: Table, wider: Mapping[str, Areas]) -> dict[str, Relabel]:
    """What the labels of a table's columns become at its level; only of those that become something else."""
    level, found = table.level, dict[str, Relabel]()
    for column in table.columns:
        if plan.source.kind(column) == "time" and (level.time_minutes or level.times):
            found[column] = Relabel.of_times(times_of(plan, Level()).within(times_of(plan, level)))
        if plan.source.kind(column) == "location" and level.location:
            found[column] = Relabel.of_places(wider[level.location])
    return found


def _areas(plan: Plan, area: Area, stops: Stops, files: PublicFiles) -> Mapping[str, str]:
    """The area of each stop, in one of the four ways."""
    if area.lookup is not None:
        return _read_lookup(plan.base / area.lookup, area, files)
    if area.gtfs is not None:
        return {name: label for name, stop in stops.by_name.items() if (label := stops.described(stop, area.gtfs))}
    places = {name: place for name, stop in stops.by_name.items() if (place := stop.place)}
    if area.polygons is not None:
        found = _polygons(plan, area, files).areas(list(places.values()))
    else:
        found = [h3_cell(*place, area.h3 or 0) for place in places.values()]
    return {name: label for name, label in zip(places, found, strict=True) if label}


def _polygons(plan: Plan, area: Area, files: PublicFiles) -> Polygons:
    return Polygons.read(plan.base / str(area.polygons), area.name or "", files)


def read_places(plan: Plan, files: PublicFiles, areas: Areas) -> dict[str, Any] | None:
    """Where the published places lie, as GeoJSON, so that a map can be drawn; None where that is not known.

    All places that the public lists know, not those of the trips: which of them occur is for the mechanism to say.
    """
    if (plan.gtfs is None and plan.places is None) or "location" not in plan.columns.kinds:
        return None
    listed = read_place_list(plan.base, plan.places, files) if plan.places else []
    drawn = {(place.mode, place.name): place for place in [*_places_of_stops(plan, files, areas), *listed]}
    return collection(drawn.values())


def _places_of_stops(plan: Plan, files: PublicFiles, areas: Areas) -> Iterator[Place]:
    """By the timetable, what can be told from its stops."""
    if plan.gtfs is None:
        return
    stops = read_stops(plan, files)
    for mode in [*plan.coarsen.location, *([] if EVERY_MODE in plan.coarsen.location else [EVERY_MODE])]:
        area = plan.coarsen.location.get(mode)
        found = _polygons(plan, area, files).places if area and area.polygons else _drawn(area, mode, stops, areas)
        yield from (replace(place, mode=mode) for place in found)


def _drawn(area: Area | None, mode: str, stops: Stops, areas: Areas) -> Iterable[Place]:
    """The cells of H3, or the points of the stops."""
    if area and area.h3 is not None:
        return [h3_place(cell) for cell in sorted(set(areas.lookups[mode].values()))]
    return _stop_places(mode, stops, areas)


def _stop_places(mode: str, stops: Stops, areas: Areas) -> Iterator[Place]:
    """An area that is nowhere drawn is the points of its stops; a stop that keeps its id brings its name."""
    members: dict[str, list[Stop]] = {}
    for name, stop in stops.by_name.items():
        members.setdefault(areas.area(mode, name), []).append(stop)
    for label, stops_of in members.items():
        where = [stop.place for stop in stops_of if stop.place]
        if where and label != UNKNOWN:
            title = stops_of[0].name if len(stops_of) == 1 and stops_of[0].name != label else ""
            yield replace(points(label, where), title=title)


def _read_lookup(path: Path, lookup: Area | WiderArea, files: PublicFiles) -> dict[str, str]:
    try:
        with open_text(files, path) as file:
            rows = csv.reader(file, delimiter=lookup.delimiter or ",", skipinitialspace=True)
            columns = [name.strip() for name in next(rows, [])]
            _require_columns(path, lookup, columns)
            pairs = _pairs(rows, columns.index(str(lookup.from_)), columns.index(str(lookup.to)))
            return _areas_by_stop(path, lookup, pairs)
    except FileNotFoundError:
        raise TripDataError(f"there is no lookup {lookup.lookup} (under [coarsen]; it starts from the plan)") from None
    except IsADirectoryError:
        raise TripDataError(f"the lookup {lookup.lookup} is a folder") from None
    except PermissionError:
        raise TripDataError(f"no permission to read the lookup {lookup.lookup}") from None
    except (UnicodeDecodeError, csv.Error):
        raise TripDataError(f"the lookup {lookup.lookup} is not a CSV file in UTF-8") from None


def _require_columns(path: Path, lookup: Area | WiderArea, columns: Sequence[str]) -> None:
    for wanted in (str(lookup.from_), str(lookup.to)):
        if wanted not in columns:
            hint = did_you_mean(wanted, columns) or f" (columns: {', '.join(columns)})"
            raise TripDataError(f"the lookup {path.name} has no column `{wanted}`{hint}")
        if columns.count(wanted) > 1:
            raise TripDataError(
                f"the lookup {path.name} has {columns.count(wanted)} columns named `{wanted}`; keep one"
            )


def _pairs(rows: CsvReader, from_: int, to: int) -> Iterator[tuple[int, str, str]]:
    """The line, the stop and the area of each row; nothing where a row ends before them."""
    needed = max(from_, to) + 1
    for row in rows:
        if row:
            row += [""] * (needed - len(row))
            yield rows.line_num, row[from_].strip(), row[to].strip()


def _areas_by_stop(path: Path, lookup: Area | WiderArea, pairs: Iterable[tuple[int, str, str]]) -> dict[str, str]:
    areas: dict[str, str] = {}
    for line, stop, area in pairs:
        if areas.setdefault(stop, area or UNKNOWN) != (area or UNKNOWN):
            raise TripDataError(f"{path.name}, line {line}: stop `{stop}` has two values of `{lookup.to}`; keep one")
    areas.pop("", None)
    return areas
