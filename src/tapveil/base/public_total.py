"""Exact totals that are public anyway, such as the patronage of a month in an annual report.

Each is a number of trips that somebody published without noise. It says of which trips it is: of some days, and of one
label in some columns. Nothing here knows a trip, and nothing compares a total with what was counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import combinations
from typing import Annotated, Self

from pydantic import Field, model_validator

from tapveil.base.calendar import Period, days_from, period_of
from tapveil.base.types import Frozen, Text

MOST_TRIPS = 10**10
MOST_TOTALS = 500
"""Of one release."""


class PublicTotal(Frozen):
    """A number of trips that was published without noise, elsewhere."""

    trips: Annotated[int, Field(ge=0, le=MOST_TRIPS, strict=True)]
    """How many trips."""
    of: Annotated[dict[Annotated[str, Field(max_length=100)], Text], Field(max_length=10)] = Field(default={})
    """Of which: a label for each column that limits it, such as `{ mode = "train" }`; of all trips without any."""
    first_day: date | None = None
    """First day of the trips; without it, the days are those of the release."""
    last_day: date | None = None
    """Last day of the trips, likewise."""
    source: Text
    """Where it was published: the report and its page, or an address."""

    @model_validator(mode="after")
    def _both_days(self) -> Self:
        if (self.first_day is None) != (self.last_day is None):
            raise ValueError("give `first_day` and `last_day`, or neither")
        if self.first_day and self.last_day and self.first_day > self.last_day:
            raise ValueError("`last_day` is before `first_day`")
        if "date" in self.of:
            raise ValueError("give days as `first_day` and `last_day`, not as `date`")
        return self

    @property
    def in_words(self) -> str:
        """It in a few words: of what it is, and how many."""
        labels = ", ".join(f"{column} {label}" for column, label in self.of.items())
        days = f"{self.first_day} to {self.last_day}" if self.first_day else "all days"
        return f"{self.trips:,} trips ({', '.join(filter(None, (labels, days)))})"


Calendars = Mapping[str, Mapping[date, str]]
"""By column, the label of each day."""


@dataclass(frozen=True)
class Lists:
    """What is public of a release, as far as totals can be of it."""

    days: Sequence[date]
    """That were counted; none where the release does not name them."""
    calendars: Calendars
    periods: Mapping[str, Period] = field(default_factory=dict)
    """Of columns that are periods: which."""
    modes: Collection[str] = ()
    """That tables are split by; none where they are not."""
    places: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By mode, or `*`."""
    columns: Collection[str] = ()
    """The columns of places that tables have."""
    together: Sequence[frozenset[date]] = ()
    """The days that estimates do not distinguish; each by itself where nothing is said."""


@dataclass(frozen=True)
class Part:
    """The trips that a total is of."""

    days: frozenset[date]
    """Of the release; none where it names no days, and the total is of all."""
    of: Mapping[str, str]
    """The mode, and the places."""

    def contains(self, other: Part) -> bool:
        """Whether it has all trips of another, by what they are of."""
        return other.days <= self.days and all(other.of.get(column) == label for column, label in self.of.items())

    def is_apart(self, other: Part) -> bool:
        """Whether no trip can be of both."""
        shared = self.of.keys() & other.of.keys()
        no_day = bool(self.days or other.days) and self.days.isdisjoint(other.days)
        return no_day or any(self.of[column] != other.of[column] for column in shared)


def part_of(total: PublicTotal, lists: Lists) -> Part:
    """The trips that a total is of; ValueError where these are not whole days, modes and places of a release."""
    days = set(lists.days)
    if total.first_day and total.last_day:
        if not days:
            raise ValueError("is of some days, and the release does not name its days")
        # The ends first: a total of all days of the calendar is refused before they are listed.
        inside = {total.first_day, total.last_day} <= days
        days = set(days_from(total.first_day, total.last_day)) if inside else set()
        if not inside or not days <= set(lists.days):
            raise ValueError("is of days that the release does not have")
    of = {}
    for column, label in total.of.items():
        if column in lists.calendars:
            labels = lists.calendars[column]
            days &= {day for day in lists.days if labels[day] == label}
            if label not in labels.values():
                raise ValueError(f"is of {column} `{label}`, which no day of the release has")
            if column in lists.periods and not _is_whole(lists.days, lists.periods[column], label):
                raise ValueError(f"is of {column} `{label}`, of which the release has only some days")
        elif column == "mode" and lists.modes:
            if label not in lists.modes:
                raise ValueError(f"is of mode `{label}`, which the release does not have")
            of[column] = label
        elif column in lists.columns:
            of[column] = label
        else:
            raise ValueError(f"is limited by {column}, and estimates can meet totals of days, modes and places only")
    if len(lists.modes) > 1 and "mode" not in of:
        raise ValueError("is of all modes, and estimates are made for each mode")
    of |= {"mode": next(iter(lists.modes))} if lists.modes and "mode" not in of else {}
    listed = lists.places.get(of.get("mode", "*"), ())
    for column, label in of.items():
        if column != "mode" and label not in listed:
            raise ValueError(f"is of {column} `{label}`, which is not on the list of places")
    if lists.days and not days:
        raise ValueError("is of no day of the release")
    if any(each & days and not each <= days for each in lists.together):
        raise ValueError("is of some of the days that tables count together")
    return Part(frozenset(days), of)


def days_together(days: Sequence[date], calendars: Calendars, dated: bool) -> list[frozenset[date]]:
    """The days that tables do not distinguish: by the date each is by itself, else those with the same labels."""
    if dated:
        return [frozenset({day}) for day in days]
    found: dict[tuple[str, ...], set[date]] = {}
    for day in days:
        found.setdefault(tuple(calendars[column][day] for column in sorted(calendars)), set()).add(day)
    return [frozenset(found[labels]) for labels in sorted(found)] or [frozenset()]


def _is_whole(days: Sequence[date], period: Period, label: str) -> bool:
    """Whether all days of a period are there."""
    before, after = date.fromordinal(days[0].toordinal() - 1), date.fromordinal(days[-1].toordinal() + 1)
    return label not in (period_of(before, period), period_of(after, period))


def faults(totals: Sequence[PublicTotal], lists: Lists) -> Iterator[str]:
    """Why estimates cannot have these totals, all of them at once: each names a total."""
    parts: list[tuple[PublicTotal, Part]] = []
    for total in totals:
        try:
            parts.append((total, part_of(total, lists)))
        except ValueError as error:
            yield f"{total.in_words} {error}"
    if len(parts) < len(totals):
        return
    for (one, its), (other, others) in combinations(parts, 2):
        if its == others:
            yield f"{one.in_words} and {other.in_words} are of the same trips"
        elif not (its.contains(others) or others.contains(its) or its.is_apart(others)):
            yield f"{one.in_words} and {other.in_words} have some trips in common, and neither has all of the other's"
    if len({(part.days, tuple(sorted(part.of.items()))) for _, part in parts}) == len(parts):
        yield from _sums(parts, lists)


def _sums(parts: Sequence[tuple[PublicTotal, Part]], lists: Lists) -> Iterator[str]:
    """Whether those within a total are at most as many, and just as many where they are all of it."""
    for total, part in parts:
        within = [(other, its) for other, its in parts if its != part and part.contains(its)]
        largest = [(o, its) for o, its in within if not any(b != its and b.contains(its) for _, b in within)]
        trips = sum(other.trips for other, _ in largest)
        if trips > total.trips:
            yield f"{total.in_words} is less than the totals within it, which are {trips:,} in all"
        elif trips < total.trips and _size(part, lists) == sum(_size(its, lists) for _, its in largest):
            yield f"{total.in_words} is more than the totals that it consists of, which are {trips:,} in all"


def _size(part: Part, lists: Lists) -> int:
    """Of how many days and places it is."""
    places = len(lists.places.get(part.of.get("mode", "*"), ())) or 1
    free = sum(column not in part.of for column in lists.columns)
    return (len(part.days) or 1) * int(places**free)
