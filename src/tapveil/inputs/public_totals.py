"""The exact totals that a plan declares: from the plan and a public list, never from the trips."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import pydantic

from tapveil.base.calendar import days_from
from tapveil.base.errors import InputFileError, PlanError
from tapveil.base.public_total import MOST_TOTALS, Lists, PublicTotal, days_together, faults
from tapveil.inputs.calendars import Calendars
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import PublicFiles
from tapveil.inputs.values import read_date
from tapveil.inputs.world import Places, modes
from tapveil.plan.model import GivenTotal, Plan

_DAYS = ("first_day", "last_day")


def read_totals(plan: Plan, files: PublicFiles) -> tuple[GivenTotal, ...]:
    """All totals: those of the plan, then those of its list."""
    found = (*plan.public.total, *(_listed(plan, files) if plan.public.totals else ()))
    if len(found) > MOST_TOTALS:
        raise PlanError(f"the plan declares {len(found):,} exact totals, and {MOST_TOTALS:,} are the most")
    return found


def _listed(plan: Plan, files: PublicFiles) -> list[GivenTotal]:
    path = plan.base / str(plan.public.totals)
    listed = PublicList(files, path, "list of totals", "[public] totals")
    columns = [name for name in plan.source.columns if name not in ("date", "card", "count")]
    found = []
    for line, row in listed.rows(("trips", "source"), (*_DAYS, *columns)):
        days: dict[str, Any] = {day: _day(path.name, line, day, row[day]) for day in _DAYS if row.get(day)}
        trips = row["trips"].replace(",", "")
        of = {column: row[column] for column in columns if row.get(column)}
        try:
            found.append(GivenTotal(trips=int(trips), of=of, source=row["source"], **days))
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            raise InputFileError(
                f"{path.name}, line {line}: {first.get('ctx', {}).get('error', first['msg'])}"
            ) from None
        except ValueError:
            raise InputFileError(f"{path.name}, line {line}: `trips` must be a whole number") from None
    return found


def _day(file: str, line: int, column: str, text: str) -> date:
    if not (day := read_date(text)):
        raise InputFileError(f"{file}, line {line}: `{column}` must be a day such as 2016-12-31, and is `{text}`")
    return date.fromisoformat(day)


def lists_of(plan: Plan, places: Places, calendars: Calendars) -> Lists:
    """What is public of the release of a plan."""
    first, last = plan.source.first_day, plan.source.last_day
    by_mode = "mode" in plan.release.partition
    keys = {column for table in plan.table for column in plan.columns.of(table)}
    labels: dict[str, Mapping[date, str]] = {
        name: {date.fromisoformat(day): label for day, label in each.items()} for name, each in calendars.items()
    }
    days = days_from(first, last) if first and last else []
    return Lists(
        days=days,
        calendars=labels,
        periods={name: each.period for name, each in plan.columns.calendars.items() if each.period},
        modes=modes(plan) if by_mode else (),
        places=places,
        columns=[column for column in keys if plan.source.kind(column) == "location"],
        together=days_together(days, labels, dated="date" in keys),
    )


def days_of(total: PublicTotal, lists: Lists) -> frozenset[date]:
    """The days that a total is of, also of days that the release does not have."""
    given = days_from(total.first_day, total.last_day) if total.first_day and total.last_day else lists.days
    labels = [(lists.calendars[column], label) for column, label in total.of.items() if column in lists.calendars]
    return frozenset(day for day in given if all(each.get(day) == label for each, label in labels))


def refuse_unmet(totals: tuple[GivenTotal, ...], lists: Lists) -> None:
    """PlanError where estimates could not add up to all totals at once."""
    if fault := next(faults([total for total in totals if total.calibrate], lists), None):
        raise PlanError(
            f"[public] the total of {fault}. Correct it; or set calibrate = false, so that it is stated only, and "
            "estimates do not add up to it"
        )
