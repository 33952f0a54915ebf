"""The calendar of a feed: on which days its services run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from tapveil.base.calendar import WEEK
from tapveil.base.errors import InputFileError
from tapveil.inputs.gtfs.files import Files, missing
from tapveil.inputs.gtfs.table import Flags, Ints, Table, ordinal, read_if_there

SUNDAY = 6


@dataclass(frozen=True, eq=False)
class Calendar:
    """The days on which services run, as numbers of `date.toordinal`."""

    called: str
    services: tuple[str, ...]
    weekly: Ints
    """The services of calendar.txt; `weekdays`, `start` and `end` have a row for each."""
    weekdays: Flags
    start: Ints
    end: Ints
    excepted: Ints
    """The services of calendar_dates.txt, one per row, like `day` and `added`."""
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
            raise InputFileError(
                f"{self.called}: no service runs on any day; check calendar.txt and calendar_dates.txt"
            )
        return days

    def days(self, first: date, last: date) -> dict[str, tuple[date, ...]]:
        """The days from first to last on which each service runs."""
        span = np.arange(max(first, self.first).toordinal(), min(last, self.last).toordinal() + 1)
        runs = self._runs(span)
        calendar = [date.fromordinal(day) for day in span.tolist()]
        return {
            service: tuple(calendar[day] for day in np.flatnonzero(row))
            for service, row in zip(self.services, runs, strict=True)
        }

    def like_sundays(self, first: date, last: date) -> frozenset[date]:
        """Days of the week whose services are more like those of a Sunday than those of their own day."""
        if first < self.first or last > self.last:
            raise InputFileError(
                f"{self.called} runs from {self.first} to {self.last}, and the plan has other days, so their holidays "
                "are not known; list them as `holidays`"
            )
        if not self.weekdays[:, SUNDAY].any():
            raise InputFileError(
                f"{self.called}: calendar.txt has no service on Sundays, so what is like one is not known; list the "
                "days as `holidays`"
            )
        span = np.arange(first.toordinal(), last.toordinal() + 1)
        runs, own = self._runs(span), self._regular(span, (span - 1) % 7)
        sunday = self._regular(span, np.full(len(span), SUNDAY))
        closer = (runs != sunday).sum(axis=0) < (runs != own).sum(axis=0)
        return frozenset(date.fromordinal(int(day)) for day in span[closer])

    def _regular(self, span: Ints, weekdays: Ints) -> Flags:
        """The services of calendar.txt in force on each day that run on these days of the week."""
        runs = np.zeros((len(self.services), len(span)), dtype=np.bool_)
        in_force = (self.start[:, None] <= span) & (span <= self.end[:, None])
        runs[self.weekly] = in_force & self.weekdays[:, weekdays]
        return runs

    def _runs(self, span: Ints) -> Flags:
        """Which services run on each day, with the exceptions of calendar_dates.txt."""
        added, removed = self._excepted(span, self.added), self._excepted(span, ~self.added)
        for service, day in np.argwhere(added & removed)[:1]:
            raise InputFileError(
                f"{self.called}: calendar_dates.txt adds and removes the service `{self.services[service]}` "
                f"on {date.fromordinal(int(span[day]))}; keep one"
            )
        return self._regular(span, (span - 1) % 7) & ~removed | added  # day 1 was a Monday

    def _excepted(self, span: Ints, which: Flags) -> Flags:
        marks = np.zeros((len(self.services), len(span)), dtype=np.bool_)
        inside = which & np.isin(self.day, span)
        marks[self.excepted[inside], np.searchsorted(span, self.day[inside])] = True
        return marks


def read_calendar(files: Files) -> Calendar:
    if "calendar.txt" not in files.members and "calendar_dates.txt" not in files.members:
        raise missing(files, "calendar.txt or calendar_dates.txt", "to know on which days a service runs")
    week = read_if_there(files, "calendar.txt", ("service_id", *WEEK, "start_date", "end_date"))
    other = read_if_there(files, "calendar_dates.txt", ("service_id", "date", "exception_type"))
    services = week.index("service_id")
    other.require("service_id")
    for service in other.columns["service_id"].distinct:
        services.setdefault(service, len(services))
    weekdays = [week.numbers(day, {"0": 0, "1": 1}.get, "is neither 0 nor 1") == 1 for day in WEEK]
    added = other.numbers("exception_type", {"1": 1, "2": 0}.get, "is neither 1 (added) nor 2 (removed)") == 1
    calendar = Calendar(
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


def _dates(table: Table, column: str) -> Ints:
    return table.numbers(column, ordinal, "cannot be read as a date such as 20161231")
