"""The lines of a feed and their calls: where and when someone may board or alight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tapveil.base.errors import InputFileError
from tapveil.inputs.gtfs.files import Files, missing
from tapveil.inputs.gtfs.table import BLANK, Codes, Flags, Ints, Table, read, read_if_there, seconds, whole

MOST_REPEATED = 20_000_000


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


@dataclass(frozen=True, eq=False)
class StopTimes:
    """A row for each stop time, in the order of the trips, and by stop_sequence within a trip."""

    trip: Ints
    stop: Ints
    arrival: Ints
    departure: Ints
    boards: Flags
    alights: Flags


@dataclass(frozen=True, eq=False)
class Timetable:
    """Trips, each with its row in `route` and `service`, and their stop times."""

    routes: tuple[tuple[str, str, int], ...]
    """The id, the name and the type of each."""
    services: tuple[str, ...]
    trips: Mapping[str, int]
    route: Ints
    service: Ints
    times: StopTimes


def read_timetable(files: Files, stop_ids: Sequence[str]) -> Timetable:
    for name in ("routes.txt", "trips.txt", "stop_times.txt"):  # before minutes are spent on one of them
        if name not in files.members:
            raise missing(files, name, "to know which line calls where and when")
    routes = read(files, "routes.txt", ("route_id", "route_type"), ("route_short_name", "route_long_name"))
    route_ids = routes.index("route_id")
    types = routes.numbers("route_type", whole, "is not a whole number such as 3").tolist()
    names = routes.rows("route_id", "route_short_name", "route_long_name")
    trips = read(files, "trips.txt", ("trip_id", "route_id", "service_id"))
    service = trips.columns["service_id"]
    trips.require("service_id")
    index = trips.index("trip_id")
    return Timetable(
        routes=tuple((id_, short or long or id_, kind) for (id_, short, long), kind in zip(names, types, strict=True)),
        services=service.distinct,
        trips=index,
        route=trips.numbers("route_id", route_ids.get, "is not in routes.txt"),
        service=service.codes.astype(np.int64),
        times=_read_stop_times(files, index, {stop: row for row, stop in enumerate(stop_ids)}),
    )


def _read_stop_times(files: Files, trips: Mapping[str, int], stops: Mapping[str, int]) -> StopTimes:
    needed = ("trip_id", "stop_id", "stop_sequence", "arrival_time", "departure_time")
    table = read(files, "stop_times.txt", needed, ("pickup_type", "drop_off_type"))
    trip = table.numbers("trip_id", trips.get, "is not in trips.txt")
    stop = table.numbers("stop_id", stops.get, "is not in stops.txt")
    sequence = table.numbers("stop_sequence", whole, "is not a whole number such as 3")
    order = np.lexsort((sequence, trip))
    trip, sequence = trip[order], sequence[order]
    first, last = np.diff(trip, prepend=-1) != 0, np.diff(trip, append=-1) != 0
    table.refuse(~first & (np.diff(sequence, prepend=-1) == 0), "this stop_sequence is used twice in the trip", order)
    arrival, departure = _times(table, order, first | last)
    allowed = {"": 1, "0": 1, "1": 0, "2": 1, "3": 1}
    boards = table.numbers("pickup_type", allowed.get, "is not 0, 1, 2 or 3")[order] == 1
    alights = table.numbers("drop_off_type", allowed.get, "is not 0, 1, 2 or 3")[order] == 1
    return StopTimes(trip, stop[order], arrival, departure, boards & ~last, alights & ~first)


def _times(table: Table, order: Ints, ends: Flags) -> tuple[Ints, Ints]:
    """Arrival and departure of each stop time; one replaces the other if it is missing, and gaps are interpolated."""
    arrival, departure = seconds(table, "arrival_time")[order], seconds(table, "departure_time")[order]
    arrival, departure = (
        np.where(arrival == BLANK, departure, arrival),
        np.where(departure == BLANK, arrival, departure),
    )
    open_ = arrival == BLANK
    table.refuse(open_ & ends, "the first and the last stop of a trip need a time; add it", order)
    # In equal steps from the departure before to the arrival after: both of the same trip, because its ends have times.
    row, known = np.flatnonzero(open_), np.flatnonzero(~open_)
    place = np.searchsorted(known, row)
    before, after = known[place - 1], known[place]
    steps = (arrival[after] - departure[before]) * (row - before) // (after - before)
    arrival[row] = departure[row] = departure[before] + steps
    return arrival, departure


def lines_of(timetable: Timetable, stop_ids: Sequence[str]) -> list[Line]:
    times, width = timetable.times, len(stop_ids)
    used = times.boards | times.alights
    stops: list[set[str]] = [set() for _ in timetable.routes]
    for pair in _distinct(timetable.route[times.trip[used]] * width + times.stop[used]).tolist():
        stops[pair // width].add(stop_ids[pair % width])
    return [Line(*route, frozenset(called)) for route, called in zip(timetable.routes, stops, strict=True)]


@dataclass(frozen=True, eq=False)
class _Repeats:
    """Trips of frequencies.txt: each row runs from start (inclusive) to end (exclusive)."""

    trip: Ints
    start: Ints
    end: Ints
    headway: Ints


def read_repeats(files: Files, timetable: Timetable) -> _Repeats:
    table = read_if_there(files, "frequencies.txt", ("trip_id", "start_time", "end_time", "headway_secs"))
    trip = table.numbers("trip_id", timetable.trips.get, "is not in trips.txt")
    start, end = seconds(table, "start_time"), seconds(table, "end_time")
    table.refuse((start == BLANK) | (end == BLANK), "start_time or end_time is missing")
    headway = table.numbers("headway_secs", whole, "is not a whole number of seconds")
    table.refuse(headway == 0, "headway_secs is 0; it must be positive")
    # A stop before the start of its trip would have times before the start of the day.
    times = timetable.times
    begin = times.departure[np.searchsorted(times.trip, times.trip)]
    early = times.boards & (times.departure < begin) | times.alights & (times.arrival < begin)
    for row in np.flatnonzero(early & np.isin(times.trip, trip))[:1]:
        name = list(timetable.trips)[times.trip[row]]
        raise InputFileError(f"{table.called} repeats the trip `{name}`, whose times go backwards in stop_times.txt")
    return _Repeats(trip, start, end, headway)


def _runs(times: StopTimes, repeats: _Repeats) -> tuple[Ints, Ints]:
    """The stop times that take place, by row, and their shift in seconds."""
    rows = [np.flatnonzero(~np.isin(times.trip, repeats.trip))]
    shifts = [np.zeros(len(rows[0]), dtype=np.int64)]
    begins = np.searchsorted(times.trip, repeats.trip)
    ends = np.searchsorted(times.trip, repeats.trip, side="right")
    runs = np.maximum(0, (repeats.end - repeats.start) // repeats.headway + 1)
    if int(((ends - begins) * runs).sum()) > MOST_REPEATED:
        raise InputFileError(f"frequencies.txt makes more than {MOST_REPEATED:,} stop times; check headway_secs")
    for place in np.flatnonzero(begins < ends):  # a trip without stop times may be repeated, to no effect
        begin, end = begins[place], ends[place]
        starts = np.arange(repeats.start[place], repeats.end[place], repeats.headway[place])
        rows.append(np.tile(np.arange(begin, end), len(starts)))
        shifts.append(np.repeat(starts - times.departure[begin], end - begin))
    return np.concatenate(rows), np.concatenate(shifts)


def calls_of(timetable: Timetable, repeats: _Repeats, stop_ids: tuple[str, ...]) -> Calls:
    """Boardings at departure and alightings at arrival. Each call is one number, so that equal calls merge."""
    times = timetable.times
    types, kind_of = np.unique([kind for _, _, kind in timetable.routes], return_inverse=True)
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
    return np.asarray(ordered[np.diff(ordered, prepend=-1) != 0])
