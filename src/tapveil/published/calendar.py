"""`calendar.csv`: every day that was counted, with its label in each column that follows from the day.

It follows from the manifest alone, and says how many days a cell is of.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from tapveil.base.calendar import DAYS, HOLIDAY, days_by_label, fault_of_kinds, kind_of, spans_by_label
from tapveil.published.manifest import CalendarClaim, Manifest


def calendar_text(manifest: Manifest) -> str:
    """The file: one row for each day."""
    written = io.StringIO(newline="")
    columns = manifest.calendar
    csv.writer(written, lineterminator="\n").writerows([columns, *zip(*columns.values(), strict=True)])
    return written.getvalue()


def faults(manifest: Manifest) -> Iterator[str]:
    """What is wrong with its calendars: each says of every day that was counted what the day is, in one way."""
    for name, claim in (manifest.calendars or {}).items():
        if wrong := _fault(manifest, claim):
            yield f"the calendar of `{name}` {wrong}"


def _fault(manifest: Manifest, claim: CalendarClaim) -> str | None:
    if claim.kinds is not None and fault_of_kinds(claim.kinds):
        return "has a day of the week in two kinds of day, or in none"
    try:
        labels = claim.labels(manifest.days)
    except (KeyError, ValueError):
        return "does not have every day that was counted"
    if any(not label or label != label.strip() for label in labels.values()):
        return "has an empty label"
    if days_by_label(labels.values()) != claim.days or list(claim.days) != sorted(claim.days):
        return "does not have as many days of each label as it states"
    if claim.listed is not None and list(spans_by_label(labels).items()) != list(claim.listed.items()):
        return "lists days twice, days that were not counted, or more spans than it needs"
    if claim.kinds is not None:
        if list(claim.kinds) != sorted(claim.kinds) or any(
            list(k) != sorted(k, key=DAYS.index) for k in claim.kinds.values()
        ):
            return "does not have its kinds of day in order"
        ordinary = {day: kind_of(day, claim.kinds) for day in manifest.days}
        if tuple(day for day in manifest.days if labels[day] != ordinary[day]) != claim.holidays:
            return f"has a {HOLIDAY} that is of the kind of its day of the week, or that was not counted"
    return None
