"""A timetable in GTFS: the stops, lines, calls and days that an operator has made public.

A feed says where and when a trip could have been, never where one was: nothing here sees a trip, and messages may
quote what the feed says. Files are read when they are asked for, each column as texts of which each distinct one is
looked at once, so a feed of millions of stop times is a matter of seconds.

What is not read: fares, shapes, transfers, and the areas of services on demand.
"""

from __future__ import annotations

import csv
import itertools
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from tapveil.errors import TripDataError, did_you_mean

LARGEST_FILE = 4 << 30
"""A file that unpacks to more than this is no timetable, but perhaps a trap for the disk or the memory."""
BLOCK = 8 << 20
BLANK = -1
"""A time that is left open."""
WEEK = tuple("monday tuesday wednesday thursday friday saturday sunday".split())

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Stop:
    """A place of stops.txt: a stop, a platform, a station, an entrance."""

    id: str
    code: str
    name: str
    latitude: float | None
    longitude: float | None
    station: str
    """The topmost station that it belongs to; itself, where it belongs to none."""
    zone: str

    @property
    def place(self) -> tuple[float, float] | None:
        """Latitude and longitude, where the feed has both."""
        return None if self.latitude is None or self.longitude is None else (self.latitude, self.longitude)


@dataclass(frozen=True)
class Line:
    """A route, and the stops at which its trips let someone board or alight."""

    id: str
    name: str
    route_type: int
    stops: frozenset[str]


@dataclass(frozen=True, eq=False)
class Calls:
    """Where and when someone may board or alight: each service, route type, stop and second at most once.

    A second is counted from noon minus 12 hours of the service day, so it goes past 86 400 after midnight.
    """

    service: Codes
    route_type: Codes
    stop: Codes
    second: Codes
    boards: Flags
    alights: Flags
    services: tuple[str, ...]
    stop_ids: tuple[str, ...]


@dataclass(frozen=True)
class Feed:
    """A feed whose stops are read; the rest is read when it is asked for, and kept."""

    stops: Mapping[str, Stop]
    timezone: str | None
    _files: _Files = field(repr=False)

    @property
    def has_lines(self) -> bool:
        """Whether there is more than a list of stops."""
        return {"routes.txt", "trips.txt", "stop_times.txt"} <= set(self._files.members)

    def lines(self) -> list[Line]:
        """Every route, in the order of routes.txt."""
        return _lines(self._timetable, tuple(self.stops))

    def calls(self) -> Calls:
        """Every call that the timetable has, whatever the day."""
        return _calls(self._timetable, _read_repeats(self._files, self._timetable), tuple(self.stops))

    def service_days(self, first: date, last: date) -> Mapping[str, tuple[date, ...]]:
        """The days from first to last on which each service of the calendar runs; none for some, perhaps."""
        return self._calendar.days(first, last)

    @property
    def first_day(self) -> date:
        """The first day that the calendar covers."""
        return self._calendar.first

    @property
    def last_day(self) -> date:
        """The last day that the calendar covers."""
        return self._calendar.last

    @cached_property
    def _timetable(self) -> _Timetable:
        return _read_timetable(self._files, tuple(self.stops))

    @cached_property
    def _calendar(self) -> _Calendar:
        return _read_calendar(self._files)


def read_feed(path: Path) -> Feed:
    """The feed of a zip file or a folder, or the stops alone of a CSV file with the columns of stops.txt."""
    files = _find_files(path)
    return Feed(_read_stops(files), _read_timezone(files), files)


# --- stops and time zone ------------------------------------------------------------------------------------------


def _read_stops(files: _Files) -> dict[str, Stop]:
    extra = ("stop_code", "stop_name", "stop_lat", "stop_lon", "zone_id", "parent_station")
    table = _read(files, "stops.txt", ("stop_id",), extra)
    known = {"": BLANK, **table.index("stop_id")}
    if len(known) == 1:
        raise TripDataError(f"{table.called} has a header but no stops")
    table.numbers("parent_station", known.get, "is not a stop_id of this file")
    parents = {stop: parent for stop, parent in table.rows("stop_id", "parent_station")}
    stops = {}
    for row, (stop, code, name, latitude, longitude, zone, _) in enumerate(table.rows("stop_id", *extra)):
        here = (_degrees(table, row, "stop_lat", latitude, 90), _degrees(table, row, "stop_lon", longitude, 180))
        stops[stop] = Stop(stop, code, name, *here, _station(table, row, stop, parents), zone)
    return stops


def _degrees(table: _Table, row: int, column: str, text: str, most: int) -> float | None:
    if not text:
        return None
    try:
        degrees = float(text)
    except ValueError:
        degrees = float("nan")
    if not abs(degrees) <= most:
        raise table.error(row, f"{column} `{text}` is not a number of degrees from -{most} to {most}")
    return degrees


def _station(table: _Table, row: int, stop: str, parents: Mapping[str, str]) -> str:
    chain = [stop]
    while parent := parents[chain[-1]]:
        if parent in chain:
            circle = ", ".join(f"`{each}`" for each in (*chain, parent))
            raise table.error(row, f"parent_station leads in a circle: {circle}. Leave it empty for the station itself")
        chain.append(parent)
    return chain[-1]


def _read_timezone(files: _Files) -> str | None:
    table = _read_if_there(files, "agency.txt", ("agency_timezone",))
    table.numbers("agency_timezone", lambda text: 0 if not text or _is_zone(text) else None, "is not a time zone")
    zones = sorted({zone for (zone,) in table.rows("agency_timezone") if zone})
    if len(zones) > 1:
        raise TripDataError(
            f"{table.called} has several time zones ({', '.join(zones)}), so a time of the feed could mean two things; "
            "make a feed for each"
        )
    return zones[0] if zones else None


def _is_zone(text: str) -> bool:
    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        return False
    return True


# --- the calendar -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Calendar:
    """On which days services run. Days are counted as `date.toordinal` does."""

    called: str
    services: tuple[str, ...]
    weekly: Ints
    """The services of calendar.txt; `weekdays`, `start` and `end` have a row for each."""
    weekdays: Flags
    start: Ints
    end: Ints
    excepted: Ints
    """The services of calendar_dates.txt, as often as they are there; so for `day` and `added`."""
    day: Ints
    added: Flags

    @property
    def first(self) -> date:
        return date.fromordinal(int(np.concatenate([self.start, self._added_days()]).min()))

    @property
    def last(self) -> date:
        return date.fromordinal(int(np.concatenate([self.end, self._added_days()]).max()))

    def _added_days(self) -> Ints:
        days: Ints = self.day[self.added]
        if not len(days) and not len(self.start):
            raise TripDataError(f"{self.called} has a calendar without a day on which anything runs")
        return days

    def days(self, first: date, last: date) -> dict[str, tuple[date, ...]]:
        span = np.arange(max(first, self.first).toordinal(), min(last, self.last).toordinal() + 1)
        runs = np.zeros((len(self.services), len(span)), dtype=np.bool_)
        in_force = (self.start[:, None] <= span) & (span <= self.end[:, None])
        runs[self.weekly] = in_force & self.weekdays[:, (span - 1) % 7]  # day 1 was a Monday
        added, removed = self._excepted(span, self.added), self._excepted(span, ~self.added)
        self._refuse_both(span, added & removed)
        runs = runs & ~removed | added
        calendar = [date.fromordinal(day) for day in span.tolist()]
        return {
            service: tuple(calendar[day] for day in np.flatnonzero(row))
            for service, row in zip(self.services, runs, strict=True)
        }

    def _excepted(self, span: Ints, which: Flags) -> Flags:
        marks = np.zeros((len(self.services), len(span)), dtype=np.bool_)
        inside = which & np.isin(self.day, span)
        marks[self.excepted[inside], np.searchsorted(span, self.day[inside])] = True
        return marks

    def _refuse_both(self, span: Ints, both: Flags) -> None:
        for service, day in np.argwhere(both)[:1]:
            raise TripDataError(
                f"{self.called}: calendar_dates.txt adds and removes the service `{self.services[service]}` "
                f"on {date.fromordinal(int(span[day]))}; keep one"
            )


def _read_calendar(files: _Files) -> _Calendar:
    if "calendar.txt" not in files.members and "calendar_dates.txt" not in files.members:
        raise _missing(files, "calendar.txt or calendar_dates.txt", "to know on which days a service runs")
    week = _read_if_there(files, "calendar.txt", ("service_id", *WEEK, "start_date", "end_date"))
    other = _read_if_there(files, "calendar_dates.txt", ("service_id", "date", "exception_type"))
    services = week.index("service_id")
    other.require("service_id")
    for service in other.columns["service_id"].distinct:
        services.setdefault(service, len(services))
    weekdays = [week.numbers(day, {"0": 0, "1": 1}.get, "is neither 0 nor 1") == 1 for day in WEEK]
    added = other.numbers("exception_type", {"1": 1, "2": 0}.get, "is neither 1 (added) nor 2 (removed)") == 1
    calendar = _Calendar(
        called=files.called,
        services=tuple(services),
        weekly=week.numbers("service_id", services.get),
        weekdays=np.stack(weekdays, axis=1),
        start=_dates(week, "start_date"),
        end=_dates(week, "end_date"),
        excepted=other.numbers("service_id", services.get),
        day=_dates(other, "date"),
        added=added,
    )
    week.refuse(calendar.end < calendar.start, "end_date is before start_date")
    return calendar


def _dates(table: _Table, column: str) -> Ints:
    return table.numbers(column, _ordinal, "cannot be read as a date such as 20161231")


# --- the timetable ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Route:
    id: str
    name: str
    route_type: int


@dataclass(frozen=True, eq=False)
class _StopTimes:
    """A row for each stop time, in the order of the trips, and by stop_sequence within a trip."""

    trip: Ints
    stop: Ints
    arrival: Ints
    departure: Ints
    boards: Flags
    alights: Flags


@dataclass(frozen=True, eq=False)
class _Timetable:
    """Trips, each with its row in `route` and `service`, and their stop times."""

    routes: tuple[_Route, ...]
    services: tuple[str, ...]
    trips: Mapping[str, int]
    route: Ints
    service: Ints
    times: _StopTimes


def _read_timetable(files: _Files, stop_ids: Sequence[str]) -> _Timetable:
    for name in ("routes.txt", "trips.txt", "stop_times.txt"):  # before minutes are spent on one of them
        if name not in files.members:
            raise _missing(files, name, "to know which line calls where and when")
    routes = _read_routes(files)
    trips = _read(files, "trips.txt", ("trip_id", "route_id", "service_id"))
    route_ids = {route.id: row for row, route in enumerate(routes)}
    service = trips.columns["service_id"]
    trips.require("service_id")
    index = trips.index("trip_id")
    return _Timetable(
        routes=routes,
        services=service.distinct,
        trips=index,
        route=trips.numbers("route_id", route_ids.get, "is not in routes.txt"),
        service=service.codes.astype(np.int64),
        times=_read_stop_times(files, index, {stop: row for row, stop in enumerate(stop_ids)}),
    )


def _read_routes(files: _Files) -> tuple[_Route, ...]:
    table = _read(files, "routes.txt", ("route_id", "route_type"), ("route_short_name", "route_long_name"))
    table.index("route_id")
    types = table.numbers("route_type", _whole, "is not a whole number such as 3")
    names = table.rows("route_id", "route_short_name", "route_long_name")
    return tuple(
        _Route(route, short or long or route, kind)
        for (route, short, long), kind in zip(names, types.tolist(), strict=True)
    )


def _read_stop_times(files: _Files, trips: Mapping[str, int], stops: Mapping[str, int]) -> _StopTimes:
    needed = ("trip_id", "stop_id", "stop_sequence", "arrival_time", "departure_time")
    table = _read(files, "stop_times.txt", needed, ("pickup_type", "drop_off_type"))
    trip = table.numbers("trip_id", trips.get, "is not in trips.txt")
    stop = table.numbers("stop_id", stops.get, "is not in stops.txt")
    sequence = table.numbers("stop_sequence", _whole, "is not a whole number such as 3")
    order = np.lexsort((sequence, trip))
    trip, sequence = trip[order], sequence[order]
    first, last = np.diff(trip, prepend=-1) != 0, np.diff(trip, append=-1) != 0
    table.refuse(~first & (np.diff(sequence, prepend=-1) == 0), "this stop_sequence is there twice in the trip", order)
    arrival, departure = _times(table, order, first | last)
    allowed = {"": 1, "0": 1, "1": 0, "2": 1, "3": 1}
    boards = table.numbers("pickup_type", allowed.get, "is not 0, 1, 2 or 3")[order] == 1
    alights = table.numbers("drop_off_type", allowed.get, "is not 0, 1, 2 or 3")[order] == 1
    return _StopTimes(trip, stop[order], arrival, departure, boards & ~last, alights & ~first)


def _times(table: _Table, order: Ints, ends: Flags) -> tuple[Ints, Ints]:
    """When each stop time arrives and departs; one of both stands for the other, and open ones are filled in."""
    arrival, departure = _seconds(table, "arrival_time")[order], _seconds(table, "departure_time")[order]
    arrival, departure = (
        np.where(arrival == BLANK, departure, arrival),
        np.where(departure == BLANK, arrival, departure),
    )
    open_ = arrival == BLANK
    table.refuse(open_ & ends, "the first and the last stop of a trip need a time", order)
    between = _between(arrival, departure, open_)
    arrival[open_] = between
    departure[open_] = between
    return arrival, departure


def _between(arrival: Ints, departure: Ints, open_: Flags) -> Ints:
    """The times that are open, in equal steps from the departure before to the arrival after.

    They lie between the ends of their own trip, because those have times.
    """
    row, known = np.flatnonzero(open_), np.flatnonzero(~open_)
    place = np.searchsorted(known, row)
    before, after = known[place - 1], known[place]
    steps: Ints = (arrival[after] - departure[before]) * (row - before) // (after - before)
    return departure[before] + steps


def _lines(timetable: _Timetable, stop_ids: Sequence[str]) -> list[Line]:
    times, width = timetable.times, len(stop_ids)
    used = times.boards | times.alights
    stops: list[set[str]] = [set() for _ in timetable.routes]
    for pair in _distinct(timetable.route[times.trip[used]] * width + times.stop[used]).tolist():
        stops[pair // width].add(stop_ids[pair % width])
    return [
        Line(route.id, route.name, route.route_type, frozenset(called))
        for route, called in zip(timetable.routes, stops, strict=True)
    ]


# --- calls --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Repeats:
    """Trips of frequencies.txt: each row runs from start (inclusive) to end (exclusive)."""

    trip: Ints
    start: Ints
    end: Ints
    headway: Ints


def _read_repeats(files: _Files, timetable: _Timetable) -> _Repeats:
    table = _read_if_there(files, "frequencies.txt", ("trip_id", "start_time", "end_time", "headway_secs"))
    trip = table.numbers("trip_id", timetable.trips.get, "is not in trips.txt")
    start, end = _seconds(table, "start_time"), _seconds(table, "end_time")
    table.refuse((start == BLANK) | (end == BLANK), "start_time and end_time are both needed")
    headway = table.numbers("headway_secs", _whole, "is not a whole number of seconds")
    table.refuse(headway == 0, "headway_secs is 0, so the trip would run without end")
    _refuse_backwards(timetable, trip, table.called)
    return _Repeats(trip, start, end, headway)


def _refuse_backwards(timetable: _Timetable, repeated: Ints, called: str) -> None:
    """A stop before the start of its trip would have times before the start of the day."""
    times = timetable.times
    begin = times.departure[np.searchsorted(times.trip, times.trip)]
    early = times.boards & (times.departure < begin) | times.alights & (times.arrival < begin)
    for row in np.flatnonzero(early & np.isin(times.trip, repeated))[:1]:
        name = list(timetable.trips)[times.trip[row]]
        raise TripDataError(f"{called} repeats the trip `{name}`, which goes back in time in stop_times.txt")


def _runs(times: _StopTimes, repeats: _Repeats) -> tuple[Ints, Ints]:
    """The stop times that take place, by row, and how many seconds after the time written there."""
    rows = [np.flatnonzero(~np.isin(times.trip, repeats.trip))]
    shifts = [np.zeros(len(rows[0]), dtype=np.int64)]
    begins = np.searchsorted(times.trip, repeats.trip)
    ends = np.searchsorted(times.trip, repeats.trip, side="right")
    for place in np.flatnonzero(begins < ends):  # a trip without stop times may be repeated, to no effect
        begin, end = begins[place], ends[place]
        starts = np.arange(repeats.start[place], repeats.end[place], repeats.headway[place])
        rows.append(np.tile(np.arange(begin, end), len(starts)))
        shifts.append(np.repeat(starts - times.departure[begin], end - begin))
    return np.concatenate(rows), np.concatenate(shifts)


def _calls(timetable: _Timetable, repeats: _Repeats, stop_ids: tuple[str, ...]) -> Calls:
    """Boardings at departure and alightings at arrival, each call as one number: so equal ones fall together."""
    times = timetable.times
    types, kind_of = np.unique([route.route_type for route in timetable.routes], return_inverse=True)
    rows, shifts = _runs(times, repeats)
    departure, arrival = times.departure[rows] + shifts, times.arrival[rows] + shifts
    latest = max(int(departure.max(initial=0)), int(arrival.max(initial=0)))
    shape = (len(timetable.services), len(types), len(stop_ids), latest + 1)

    def numbered(which: Flags, second: Ints) -> Ints:
        row, trip = rows[which], times.trip[rows[which]]
        place = (timetable.service[trip], kind_of[timetable.route[trip]], times.stop[row], second[which])
        return _distinct(np.ravel_multi_index(place, shape))

    boarding, alighting = numbered(times.boards[rows], departure), numbered(times.alights[rows], arrival)
    numbers = _distinct(np.concatenate([boarding, alighting]))
    service, kind, stop, second = np.unravel_index(numbers, shape)
    return Calls(
        service=service.astype(np.int32),
        route_type=types[kind].astype(np.int32),
        stop=stop.astype(np.int32),
        second=second.astype(np.int32),
        boards=np.isin(numbers, boarding, assume_unique=True),
        alights=np.isin(numbers, alighting, assume_unique=True),
        services=timetable.services,
        stop_ids=stop_ids,
    )


def _distinct(numbers: Ints) -> Ints:
    """Each number once, in ascending order. `np.unique` may hash them first: ten times as slow for millions."""
    ordered = np.sort(numbers)
    once: Ints = ordered[np.diff(ordered, prepend=-1) != 0]
    return once


# --- what a text means --------------------------------------------------------------------------------------------

_CLOCK = re.compile(r"([0-9]{1,3}):([0-5][0-9]):([0-5][0-9])")
_DIGITS = re.compile(r"[0-9]{1,9}")
_DATE = re.compile(r"[0-9]{8}")


def _second(text: str) -> int | None:
    """Seconds after noon minus 12 hours, `BLANK` where the time is left open, None where it cannot be read.

    >>> _second("7:05:00"), _second("25:15:00"), _second(""), _second("07:05")
    (25500, 90900, -1, None)
    """
    if not text:
        return BLANK
    match = _CLOCK.fullmatch(text)
    return 3600 * int(match[1]) + 60 * int(match[2]) + int(match[3]) if match else None


def _whole(text: str) -> int | None:
    return int(text) if _DIGITS.fullmatch(text) else None


def _ordinal(text: str) -> int | None:
    """
    >>> _ordinal("20161231"), _ordinal("20161232"), _ordinal("2016-12-31")
    (736329, None, None)
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return None


def _seconds(table: _Table, column: str) -> Ints:
    return table.numbers(column, _second, "cannot be read as a time such as 07:05:00 or 25:15:00")


# --- one file of a feed -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Texts:
    """A column of texts: each distinct one that a row has, and which of them each row has."""

    distinct: tuple[str, ...]
    codes: Codes

    def where(self, kept: Flags) -> _Texts:
        """The rows that are kept, and no text that only the others have."""
        used, codes = np.unique(self.codes[kept], return_inverse=True)
        return _Texts(tuple(self.distinct[code] for code in used), codes.astype(np.int32))


@dataclass(frozen=True, eq=False)
class _Table:
    """The columns asked for of one file. Optional columns that the file does not have are empty."""

    files: _Files
    name: str
    columns: Mapping[str, _Texts]
    kept: Ints
    """Where each row was in the file, rows that were empty included."""

    @property
    def called(self) -> str:
        return self.files.call(self.name)

    def rows(self, *columns: str) -> Iterator[tuple[str, ...]]:
        texts = [self.columns[column] for column in columns]
        return zip(*([each.distinct[code] for code in each.codes.tolist()] for each in texts), strict=True)

    def numbers(self, column: str, read: Callable[[str], int | None], wrong: str = "cannot be read") -> Ints:
        """What each text of a column means; refused where it means nothing."""
        texts = self.columns[column]
        meaning = [read(text) for text in texts.distinct]
        if None in meaning:
            row = int(np.flatnonzero(np.array([each is None for each in meaning])[texts.codes])[0])
            text = texts.distinct[texts.codes[row]]
            raise self.error(row, f"{column} `{text}` {wrong}" if text else f"{column} is empty")
        return np.array(meaning, dtype=np.int64)[texts.codes]

    def require(self, column: str) -> None:
        """Refused where a row has nothing in this column."""
        self.numbers(column, lambda text: 0 if text else None)

    def index(self, column: str) -> dict[str, int]:
        """The row of each id; refused where one is empty or there twice."""
        self.require(column)
        found: dict[str, int] = {}
        for row, (text,) in enumerate(self.rows(column)):
            if found.setdefault(text, row) != row:
                raise self.error(row, f"{column} `{text}` is there twice; keep one")
        return found

    def refuse(self, wrong: Flags, words: str, order: Ints | None = None) -> None:
        """Stop at the first row that is wrong; the rows may have been brought in another order."""
        for row in np.flatnonzero(wrong)[:1]:
            raise self.error(int(row if order is None else order[row]), words)

    def error(self, row: int, words: str) -> TripDataError:
        """What is wrong with a row, and its line, which is found by reading again: good rows need none."""
        with self.files.open(self.name) as file:
            line, _ = next(itertools.islice(_records(file, self.called), int(self.kept[row]) + 1, None))
        return TripDataError(f"{self.called}, line {line}: {words}")


def _read(files: _Files, name: str, needed: Sequence[str], extra: Sequence[str] = ()) -> _Table:
    called = files.call(name)
    with files.open(name) as file:
        _, header = next(_records(file, called), (0, None))
        if header is None:
            raise TripDataError(f"{called} is empty; its first line must name the columns")
        used = _places([column.strip() for column in header], needed, extra, called)
        read = _read_fast(file, len(header), list(used.values()))
    if read is None:
        with files.open(name) as file:
            read = _read_slowly(file, list(used.values()), called)
    columns = {column: _texts(texts) for column, texts in zip(used, read, strict=True)}
    empty = _Texts(("",), np.zeros(len(read[0]), dtype=np.int32))
    columns |= {column: empty for column in extra if column not in columns}
    return _without_empty_rows(_Table(files, name, columns, np.arange(len(read[0]))))


def _read_if_there(files: _Files, name: str, needed: Sequence[str]) -> _Table:
    """A file that a feed need not have: without it, there are no rows."""
    if name in files.members:
        return _read(files, name, needed)
    none = _Texts((), np.zeros(0, dtype=np.int32))
    return _Table(files, name, dict.fromkeys(needed, none), np.zeros(0, dtype=np.int64))


def _places(header: Sequence[str], needed: Sequence[str], extra: Sequence[str], called: str) -> dict[str, int]:
    for column in (*needed, *extra):
        if column in needed and column not in header:
            raise TripDataError(f"{called} has no column `{column}`{did_you_mean(column, header)}")
        if header.count(column) > 1:
            raise TripDataError(f"{called} has {header.count(column)} columns named `{column}`; keep one")
    return {column: header.index(column) for column in (*needed, *extra) if column in header}


def _records(file: IO[bytes], called: str) -> Iterator[tuple[int, list[str]]]:
    """What a CSV file has, the header first, each with the line on which it starts; empty lines are left out."""
    rows, line = csv.reader((raw.decode("utf-8-sig") for raw in file), skipinitialspace=True), 1
    try:
        for fields in rows:
            if len(fields) > 1 or any(field.strip() for field in fields):
                yield line, fields
            line = rows.line_num + 1
    except UnicodeDecodeError:
        raise TripDataError(f"{called}, line {rows.line_num + 1} is not UTF-8; save the file as UTF-8") from None
    except csv.Error:
        raise TripDataError(
            f"{called}, line {line} cannot be read as CSV: is a quote opened and not closed, "
            "or do the lines not end in line feeds (an old Mac file)?"
        ) from None


def _read_fast(file: IO[bytes], width: int, used: Sequence[int]) -> list[pa.DictionaryArray] | None:
    """The columns after the header, by Arrow; None where it stumbles, or where a quote follows a blank."""
    names = [str(place) for place in range(width)]
    coded = pa.dictionary(pa.int32(), pa.string())
    try:
        read = pa_csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=pa_csv.ReadOptions(column_names=names, block_size=BLOCK),
            parse_options=pa_csv.ParseOptions(
                newlines_in_values=True, invalid_row_handler=lambda row: "error" if row.text.strip() else "skip"
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=[names[place] for place in used],
                column_types={names[place]: coded for place in used},
            ),
        ).read_all()
    except pa.ArrowInvalid:
        return None
    columns = [column.combine_chunks() for column in read.columns]
    quoted = (text.lstrip()[:1] == '"' for column in columns for text in column.dictionary.to_pylist())
    return None if any(quoted) else columns


def _read_slowly(file: IO[bytes], used: Sequence[int], called: str) -> list[pa.DictionaryArray]:
    """The columns after the header, by Python, which is slower but says what is wrong, and where."""
    records = _records(file, called)
    _, header = next(records)
    columns: list[list[str]] = [[] for _ in used]
    for line, fields in records:
        if len(fields) != len(header):
            raise TripDataError(
                f"{called}, line {line}: the header has {len(header)} fields, this line {len(fields)} "
                "(is a comma in a text without quotes, or a quote opened and not closed?)"
            )
        for place, column in zip(used, columns, strict=True):
            column.append(fields[place])
    return [pa.array(column, pa.string()).dictionary_encode() for column in columns]


def _texts(column: pa.DictionaryArray) -> _Texts:
    """A column without blanks around its texts, which may make two of them one."""
    stripped = [text.strip() for text in column.dictionary.to_pylist()]
    distinct = {text: code for code, text in enumerate(dict.fromkeys(stripped))}
    renumbered = np.array([distinct[text] for text in stripped], dtype=np.int32)
    return _Texts(tuple(distinct), renumbered[column.indices.to_numpy()])


def _without_empty_rows(table: _Table) -> _Table:
    """Lines of nothing but commas, as spreadsheets leave them, are no rows."""
    empty = np.ones(len(table.kept), dtype=np.bool_)
    for texts in table.columns.values():
        empty &= np.array([not text for text in texts.distinct], dtype=np.bool_)[texts.codes]
    if not empty.any():
        return table
    columns = {name: texts.where(~empty) for name, texts in table.columns.items()}
    return _Table(table.files, table.name, columns, table.kept[~empty])


# --- where the files are ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Files:
    """The files of a feed by the names that GTFS gives them: of a folder or alone, or members of a zip file."""

    path: Path
    members: Mapping[str, Path | zipfile.ZipInfo]

    @property
    def called(self) -> str:
        return self.path.name or str(self.path)

    def call(self, name: str) -> str:
        return self.called if self.members.get(name) == self.path else f"{name} in {self.called}"

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """A file, unpacked. Whatever goes wrong while it is read is told in our words."""
        member = self.members[name]
        with _in_our_words(self.call(name)):
            if isinstance(member, Path):
                with member.open("rb") as file:
                    yield file
            else:
                self._refuse_unreadable(name, member)
                with zipfile.ZipFile(self.path) as archive, archive.open(member) as file:
                    yield file

    def _refuse_unreadable(self, name: str, member: zipfile.ZipInfo) -> None:
        if member.flag_bits & 0x1:
            raise TripDataError(f"{self.call(name)} is encrypted; unpack the feed and name the folder")
        if member.file_size > LARGEST_FILE:
            raise TripDataError(
                f"{self.call(name)} unpacks to {member.file_size / (1 << 30):.1f} GB, more than a timetable has "
                f"(at most {LARGEST_FILE >> 30} GB); is this the right file?"
            )


def _missing(files: _Files, name: str, purpose: str) -> TripDataError:
    if files.members.get("stops.txt") == files.path:
        return TripDataError(f'{files.called} is a list of stops alone; cells = "gtfs" needs {name} {purpose}')
    return TripDataError(f'{files.called} has no {name}; cells = "gtfs" needs {name} {purpose}')


@contextmanager
def _in_our_words(called: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError):
        raise TripDataError(f"{called} is damaged (was its transfer cut off?); fetch the feed again") from None
    except NotImplementedError:
        raise TripDataError(
            f"{called} is packed in a way that cannot be read; unpack the feed and name the folder"
        ) from None
    except FileNotFoundError:
        raise TripDataError(
            f"there is no {called}; a feed is a GTFS zip file, a folder, or a CSV file of stops"
        ) from None
    except PermissionError:
        raise TripDataError(f"no permission to read {called}") from None
    except OSError as error:
        raise TripDataError(f"{called} cannot be read: {error.strerror or error}") from None


def _find_files(path: Path) -> _Files:
    called = path.name or str(path)
    with _in_our_words(called):
        members = _members(path)
    if "stops.txt" not in members:
        nested = any(name.lower().endswith(".zip") for name in members)
        hint = "it holds other zip files: unpack them and name one" if nested else "is it a GTFS feed?"
        raise TripDataError(f"{called} has no stops.txt; {hint}")
    return _Files(path, members)


def _members(path: Path) -> Mapping[str, Path | zipfile.ZipInfo]:
    if path.is_dir():
        return {each.name: each for each in path.iterdir()}
    with path.open("rb") as file:
        start = file.read(2)
    if start == b"PK" or path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            return _zip_members(path.name, archive.infolist())
    return {"stops.txt": path}


def _zip_members(called: str, infos: Sequence[zipfile.ZipInfo]) -> dict[str, Path | zipfile.ZipInfo]:
    """The files beside stops.txt: at the top of the zip file, or else in the one folder that has it."""
    files = {PurePosixPath(info.filename): info for info in infos if not info.is_dir()}
    homes = sorted({path.parent for path in files if path.name == "stops.txt"})
    if len(homes) > 1 and homes[0] != PurePosixPath():
        listed = ", ".join(str(home) for home in homes)
        raise TripDataError(f"{called} holds several feeds ({listed}); unpack it and name the folder of one")
    return {path.name: info for path, info in files.items() if not homes or path.parent == homes[0]}
