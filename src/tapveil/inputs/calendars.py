"""The calendars of a plan: the label of each day that is counted, from the plan and public lists alone.

A label is a function of the day, fixed before a trip is read: it removes detail, as time bins and areas do.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from tapveil.base.calendar import days_from, kind_of, period_of
from tapveil.base.errors import InputFileError
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import PublicFiles
from tapveil.inputs.values import read_date
from tapveil.plan.calendar import CalendarColumn
from tapveil.plan.model import Plan

Calendars = Mapping[str, Mapping[str, str]]
"""By column, the label of each day."""
LONGEST_LABEL = 100


def read_calendars(plan: Plan, files: PublicFiles) -> Calendars:
    """The calendars of the columns that tables have, read and checked."""
    first, last = plan.source.first_day, plan.source.last_day
    if first is None or last is None:
        return {}
    days = days_from(first, last)
    found = {}
    for name, column in plan.columns.calendars.items():
        if column.lookup is not None:
            labels = _listed(plan, name, column, days, files)
        elif column.period is not None:
            labels = {day: period_of(day, column.period) for day in days}
        else:
            holidays = _holidays(plan, column, files, days)
            labels = {day: kind_of(day, column.days or {}, holidays) for day in days}
        found[name] = {day.isoformat(): labels[day] for day in days}
    return found


def read_holidays(plan: Plan, files: PublicFiles) -> tuple[date, ...]:
    """The days of a known world that are like Sundays: those of the plan, and those of public lists that it counts."""
    world, first, last = plan.world, plan.source.first_day, plan.source.last_day
    found = set(world.holidays)
    if first and last and world.holiday_list:
        listed = PublicList(files, path := plan.base / world.holiday_list, "list of holidays", "[world] holiday_list")
        days = [_day(path.name, line, "date", row["date"]) for line, row in listed.rows(["date"])]
        found |= {day for day in days if first <= day <= last}
    if first and last and world.timetable:
        found |= _of_timetable(plan, files, first, last)
    return tuple(sorted(found))


def _of_timetable(plan: Plan, files: PublicFiles, first: date, last: date) -> frozenset[date]:
    """The days on which the timetable runs as on a Sunday."""
    if plan.gtfs is None:
        return frozenset()
    from tapveil.inputs.gtfs import read_feed  # most plans have no timetable

    return read_feed(plan.base / plan.gtfs.path, files).calendar.like_sundays(first, last)


def _holidays(plan: Plan, column: CalendarColumn, files: PublicFiles, days: list[date]) -> frozenset[date]:
    """The holidays of this column and of a known world, and those of the timetable where the plan says so."""
    listed = frozenset(column.holidays).union(read_holidays(plan, files) if plan.privacy.is_world else ())
    return listed | _of_timetable(plan, files, days[0], days[-1]) if column.timetable else listed


def _listed(plan: Plan, name: str, column: CalendarColumn, days: list[date], files: PublicFiles) -> Mapping[date, str]:
    """The label that a public list has for each day."""
    path = plan.base / str(column.lookup)
    listed = PublicList(files, path, "calendar", f"[coarsen.date] {name}")
    begins, ends, to = str(column.from_), column.until or str(column.from_), str(column.to)
    labels: dict[date, str] = {}
    for line, row in listed.rows(list(dict.fromkeys([begins, ends, to])), delimiter=column.delimiter):
        day, last = (_day(path.name, line, each, row[each]) for each in (begins, ends))
        if last < day:
            raise InputFileError(f"{path.name}, line {line}: `{ends}` is before `{begins}`; correct one of them")
        label = row[to]
        if not label or len(label) > LONGEST_LABEL:
            raise InputFileError(
                f"{path.name}, line {line}: `{to}` must be a text of at most {LONGEST_LABEL} characters; correct it"
            )
        for each in days_from(max(day, days[0]), min(last, days[-1])):  # days that are not counted need no label
            if labels.setdefault(each, label) != label:
                raise InputFileError(
                    f"{path.name}, line {line}: {each} is in two kinds, `{labels[each]}` and `{label}`; keep one"
                )
    missing = [day for day in days if day not in labels]
    if missing and column.otherwise is None:
        raise InputFileError(
            f"the calendar {path.name} does not have {missing[0]}, which the plan counts ({len(missing)} of "
            f"{len(days)} days are missing); add them, or give `otherwise` under [coarsen.date] {name}"
        )
    return {**dict.fromkeys(missing, column.otherwise or ""), **labels}


def _day(file: str, line: int, column: str, text: str) -> date:
    day = read_date(text)
    if not day:
        raise InputFileError(f"{file}, line {line}: `{column}` must be a day such as 2016-12-31, and is `{text}`")
    return date.fromisoformat(day)
