"""The cells of a timetable: every mode, day, time bin and stop at which someone could have tapped.

This list of all possible cells is made from public knowledge alone, so that no threshold is needed. A tap may be a
little before or after the scheduled time; the plan states how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.base.errors import InputFileError
from tapveil.base.vocabulary import MINUTES_PER_DAY, UNKNOWN, YEARS, End
from tapveil.inputs.areas import Areas, stop_name
from tapveil.inputs.gtfs import Calls, Feed
from tapveil.inputs.gtfs.table import LATEST
from tapveil.inputs.values import Days
from tapveil.plan.model import Plan, Table

MODES = {
    **{0: "tram", 1: "metro", 2: "train", 3: "bus", 4: "ferry", 5: "cable tram", 6: "gondola", 7: "funicular"},
    **{11: "trolleybus", 12: "monorail"},
}
"""The mode of a route_type, unless the plan names it."""
EXTENDED = {1: 2, 2: 3, 3: 2, 4: 1, 5: 1, 6: 1, 7: 3, 8: 11, 9: 0, 10: 4, 12: 4, 13: 6, 14: 7}
"""The basic route type for each hundred of the extended route types."""

MOST_DAYS = 800
"""A longer calendar is open-ended, not a timetable for all that time."""

Ints = npt.NDArray[np.int64]
Cells = list[Ints]
"""Distinct cells of one service day, as parallel codes: days after the service day, mode, time, place."""


def mode_of(plan: Plan, route_type: int) -> str:
    """The mode of a route, as named in the trips."""
    fixed = plan.source.columns["mode"].value if "mode" in plan.source.columns else None
    named = plan.gtfs.modes.get(str(route_type)) if plan.gtfs else None
    return fixed or named or plain_mode(route_type)


def plain_mode(route_type: int) -> str:
    """The mode of a route type.

    >>> plain_mode(3), plain_mode(702), plain_mode(1501)
    ('bus', 'bus', 'type 1501')
    """
    plain = EXTENDED.get(route_type // 100, -1) if route_type >= 100 else route_type
    return MODES.get(plain, f"type {route_type}")


@dataclass(frozen=True)
class Timetable:
    """The timetable of a plan, and the areas of its stops."""

    plan: Plan
    areas: Areas
    feed: Feed

    @cached_property
    def _calls(self) -> Calls:
        return self.feed.calls()

    @cached_property
    def _zone(self) -> ZoneInfo | None:
        name = self.plan.source.timezone or self.feed.timezone
        return ZoneInfo(name) if name else None

    @cached_property
    def _modes(self) -> tuple[str, ...]:
        return tuple(sorted({mode_of(self.plan, int(each)) for each in np.unique(self._calls.route_type)}))

    @cached_property
    def _places(self) -> tuple[str, ...]:
        named = {label for mode in self._modes for stop in self._calls.stop_ids for label in self._labels(mode, stop)}
        return tuple(sorted(named | {UNKNOWN}))

    def _labels(self, mode: str, stop_id: str) -> set[str]:
        """The labels of a stop: its own, and that of its station."""
        stop = self.feed.stops[stop_id]
        both = (stop, self.feed.stops[stop.station])
        return {self.areas.area(mode, stop_name(self.plan, each)) for each in both}

    def cells(self, table: Table) -> pa.Table:
        """All cells of a table: a text column for each key, a row for each cell, sorted, without duplicates."""
        keys, end, source = self.plan.columns.of(table), self.plan.columns.ends(table), self.plan.source
        names = {"mode": self._modes, "time": self.plan.columns.times().labels, "place": self._places}
        parts = [np.zeros((4, 0), np.int64)]
        for day, (later, *others) in self._by_day("off" if end == "off" else "on"):
            parts.append(np.stack([day.toordinal() + later, *others]))
        codes = dict(zip(("date", "mode", "time", "place"), np.concatenate(parts, axis=1), strict=True))
        covered = np.ones(len(codes["date"]), dtype=bool)
        if source.first_day and source.last_day:
            covered &= (codes["date"] >= source.first_day.toordinal()) & (codes["date"] <= source.last_day.toordinal())
        if source.modes:
            covered &= np.isin(codes["mode"], [self._modes.index(mode) for mode in source.modes if mode in self._modes])
        distinct = _distinct([codes[_ROLES[key]][covered] for key in keys])
        return pa.table({key: _texts(_ROLES[key], part, names) for key, part in zip(keys, distinct, strict=True)})

    def _by_day(self, end: End) -> Iterator[tuple[date, Cells]]:
        """The cells of each service day; days with the same services and clock times share them."""
        source, feed = self.plan.source, self.feed
        first = source.first_day - timedelta(days=LATEST // 24) if source.first_day else feed.calendar.first
        last = source.last_day + timedelta(days=1) if source.last_day else feed.calendar.last
        if (last - first).days > MOST_DAYS or not YEARS[0] <= first.year <= last.year <= YEARS[-1]:
            raise InputFileError(
                f"the calendar of {self.plan.gtfs and self.plan.gtfs.path} runs from {first} to {last}; limit it with "
                "first_day and last_day under [source]"
            )
        running: dict[date, set[str]] = {}
        for service, days in feed.calendar.days(first, last).items():
            for day in days:
                running.setdefault(day, set()).add(service)
        known: dict[tuple[frozenset[str], bytes], Cells] = {}
        for day, services in sorted(running.items()):
            clock = self._clock(day)
            alike = (frozenset(services), clock.tobytes())
            if alike not in known:
                known[alike] = self._cells(services, end, clock)
            yield day, known[alike]

    @property
    def _slack(self) -> tuple[int, int]:
        """Minutes before and after a call at which someone may tap."""
        gtfs = self.plan.gtfs
        return (gtfs.minutes_before, gtfs.minutes_after) if gtfs else (0, 0)

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The minutes of a service day, from the first to the last at which someone may tap."""
        (early, late), minutes = self._slack, self._calls.second // 60
        return int(minutes.min(initial=0)) - early, int(minutes.max(initial=0)) + late

    def _clock(self, day: date) -> Ints:
        """For each minute of a service day, counted from 12 hours before noon: its day after this one, and its bin."""
        days, bins = Days.of(self.plan.source), self.plan.columns.times()
        noon = datetime.combine(day, time(12), tzinfo=self._zone or UTC).astimezone(UTC)
        found = []
        for minute in range(self._span[0], self._span[1] + 1):
            moment = (noon + timedelta(minutes=minute - MINUTES_PER_DAY // 2)).astimezone(self._zone or UTC)
            shown = 60 * moment.hour + moment.minute
            of = day if days.service else date.fromisoformat(days.day_of(moment.date().isoformat(), shown) or "")
            found.append((of.toordinal() - day.toordinal(), bins.code(shown)))
        return np.array(found, dtype=np.int64).T

    def _cells(self, services: set[str], end: End, clock: Ints) -> Cells:
        calls, (early, late) = self._calls, self._slack
        numbers = [index for index, service in enumerate(calls.services) if service in services]
        usable = calls.boards if end == "on" else calls.alights
        chosen = np.flatnonzero(np.isin(calls.service, numbers) & usable)
        called = _distinct([part[chosen] for part in (calls.route_type, calls.stop, calls.second // 60)])
        around = np.unique([*range(-early, late, self.plan.coarsen.time_minutes), late])
        route_type, stop = (np.repeat(part, len(around)) for part in called[:2])
        minute = (called[2][:, None] + around[None, :]).ravel()
        later, bin_ = clock[:, minute - self._span[0]]
        return _distinct(self._named(later, route_type, bin_, stop))

    def _named(self, later: Ints, route_type: Ints, bin_: Ints, stop: Ints) -> Cells:
        """Codes with published modes and places; every call also allows a tap without a place or a time."""
        types, which = np.unique(route_type * len(self._calls.stop_ids) + stop, return_inverse=True)
        position = {label: index for index, label in enumerate(self._places)}
        modes, places = np.zeros(len(types), np.int64), np.zeros((2, len(types)), np.int64)
        for row, (kind, index) in enumerate(divmod(int(each), len(self._calls.stop_ids)) for each in types):
            mode = mode_of(self.plan, kind)
            labels = sorted(self._labels(mode, self._calls.stop_ids[index]))
            modes[row], places[:, row] = self._modes.index(mode), (position[labels[0]], position[labels[-1]])
        nowhere, never = np.full(len(later), position[UNKNOWN]), np.zeros(len(later), np.int64)
        taps = [*((bin_, place[which]) for place in places), (bin_, nowhere), (never, nowhere)]
        every = [(later, modes[which], *tap) for tap in taps]
        return [np.concatenate(codes) for codes in zip(*every, strict=True)]


def _distinct(columns: Sequence[npt.NDArray[np.integer[Any]]]) -> list[Ints]:
    """Each combination of codes once, in order; packed into one number, which sorts quickly."""
    least = [int(column.min(initial=0)) for column in columns]
    sizes = [int(column.max(initial=0)) - low + 1 for column, low in zip(columns, least, strict=True)]
    packed = np.zeros(len(columns[0]), dtype=np.int64)
    for column, low, size in zip(columns, least, sizes, strict=True):
        packed = packed * size + (column.astype(np.int64) - low)
    packed = np.unique(packed)
    found: list[Ints] = []
    for low, size in zip(reversed(least), reversed(sizes), strict=True):
        found.append(packed % size + low)
        packed = packed // size
    return found[::-1]


_ROLES = {
    **{"mode": "mode", "date": "date"},
    **{"tap_on_time": "time", "tap_off_time": "time", "tap_on_location": "place", "tap_off_location": "place"},
}


def _texts(role: str, codes: Ints, names: Mapping[str, Sequence[str]]) -> pa.Array:
    if role == "date":
        days, which = np.unique(codes, return_inverse=True)
        return pa.array([date.fromordinal(int(day)).isoformat() for day in days], pa.string()).take(pa.array(which))
    return pa.array(names[role], pa.string()).take(pa.array(codes))
