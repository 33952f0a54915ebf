"""A GTFS feed: its stops at once, everything else on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from zoneinfo import ZoneInfo

from tapveil.base.errors import InputFileError
from tapveil.inputs.gtfs.calendar import Calendar, read_calendar
from tapveil.inputs.gtfs.calls import Calls, Line, Timetable, calls_of, lines_of, read_repeats, read_timetable
from tapveil.inputs.gtfs.files import Files, find_files
from tapveil.inputs.gtfs.table import BLANK, Table, read, read_if_there, whole
from tapveil.inputs.snapshot import ON_DISK, PublicFiles

DEEPEST = 20
"""Maximum number of nested stations."""


@dataclass(frozen=True)
class Stop:
    """A row of stops.txt: a stop, a platform, a station or an entrance."""

    id: str
    code: str
    name: str
    latitude: float | None
    longitude: float | None
    station: str
    """The topmost station that it belongs to; itself, if it belongs to none."""
    zone: str

    @property
    def place(self) -> tuple[float, float] | None:
        """Latitude and longitude, if the feed has both."""
        return None if self.latitude is None or self.longitude is None else (self.latitude, self.longitude)


@dataclass(frozen=True)
class Feed:
    """A feed whose stops are read; everything else is read on demand, and kept."""

    stops: Mapping[str, Stop]
    timezone: str | None
    _files: Files = field(repr=False)

    @property
    def has_lines(self) -> bool:
        """Whether the feed is more than a list of stops."""
        return {"routes.txt", "trips.txt", "stop_times.txt"} <= set(self._files.members)

    @cached_property
    def route_types(self) -> tuple[int, ...]:
        """The types of its routes; none where it is a list of stops."""
        table = read_if_there(self._files, "routes.txt", ("route_type",))
        return tuple(sorted(set(table.numbers("route_type", whole, "is not a whole number such as 3").tolist())))

    def lines(self) -> list[Line]:
        """Every route, in the order of routes.txt."""
        return lines_of(self._timetable, tuple(self.stops))

    def calls(self) -> Calls:
        """Every call of the timetable, on any day."""
        return calls_of(self._timetable, read_repeats(self._files, self._timetable), tuple(self.stops))

    @cached_property
    def calendar(self) -> Calendar:
        """The days on which its services run."""
        return read_calendar(self._files)

    @cached_property
    def _timetable(self) -> Timetable:
        return read_timetable(self._files, tuple(self.stops))


def read_feed(path: Path, source: PublicFiles = ON_DISK) -> Feed:
    """The feed of a zip file or a folder, or the stops alone of a CSV file with the columns of stops.txt."""
    files = find_files(path, source)
    return Feed(_read_stops(files), _read_timezone(files), files)


def _read_stops(files: Files) -> dict[str, Stop]:
    extra = ("stop_code", "stop_name", "stop_lat", "stop_lon", "zone_id", "parent_station")
    table = read(files, "stops.txt", ("stop_id",), extra)
    known = {"": BLANK, **table.index("stop_id")}
    if len(known) == 1:
        raise InputFileError(f"{table.called} has a header but no stops; export it again")
    table.numbers("parent_station", known.get, "is not a stop_id of this file")
    parents = {stop: parent for stop, parent in table.rows("stop_id", "parent_station")}
    stops = {}
    for row, (stop, code, name, latitude, longitude, zone, _) in enumerate(table.rows("stop_id", *extra)):
        here = (_degrees(table, row, "stop_lat", latitude, 90), _degrees(table, row, "stop_lon", longitude, 180))
        stops[stop] = Stop(stop, code, name, *here, _station(table, row, stop, parents), zone)
    return stops


def _degrees(table: Table, row: int, column: str, text: str, most: int) -> float | None:
    if not text:
        return None
    try:
        degrees = float(text)
    except ValueError:
        degrees = float("nan")
    if not abs(degrees) <= most:
        raise table.error(
            row, f"{column} `{text}` is not a number of degrees from -{most} to {most} (WGS 84, not metres)"
        )
    return degrees


def _station(table: Table, row: int, stop: str, parents: Mapping[str, str]) -> str:
    chain = [stop]
    while parent := parents[chain[-1]]:
        if len(chain) > DEEPEST:
            raise table.error(row, f"parent_station is nested more than {DEEPEST} times")
        if parent in chain:
            circle = ", ".join(f"`{each}`" for each in (*chain, parent))
            raise table.error(row, f"parent_station forms a circle: {circle}. Leave it empty for the station itself")
        chain.append(parent)
    return chain[-1]


def _read_timezone(files: Files) -> str | None:
    def is_zone(text: str) -> int | None:
        try:
            return 0 if not text or ZoneInfo(text) else None
        except (KeyError, ValueError, OSError):
            return None

    table = read_if_there(files, "agency.txt", ("agency_timezone",))
    table.numbers("agency_timezone", is_zone, "is not a time zone")
    zones = sorted({zone for (zone,) in table.rows("agency_timezone") if zone})
    if len(zones) > 1:
        raise InputFileError(
            f"{table.called} has several time zones ({', '.join(zones)}), so times are ambiguous; split the feed"
        )
    return zones[0] if zones else None
