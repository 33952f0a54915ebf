"""Calendars: the period and the kind of a day. Pure: they depend on the day and on public lists, never on a trip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, timedelta
from itertools import groupby
from typing import Literal, get_args

Period = Literal["week", "month", "quarter", "season", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)
DayName = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "holiday"]
DAYS: tuple[DayName, ...] = get_args(DayName)
WEEK = DAYS[:7]
HOLIDAY: DayName = "holiday"

KindsOfDay = Mapping[str, Sequence[DayName]]
"""The days of the week of each kind, and `holiday` for public holidays; without it, holidays are like Sundays."""
_WORK = WEEK[:5]
KINDS_OF_DAY: Mapping[str, KindsOfDay] = {
    "weekday-weekend": {"weekday": _WORK, "weekend": ("saturday", "sunday", HOLIDAY)},
    "weekday-saturday-sunday": {"weekday": _WORK, "saturday": ("saturday",), "sunday": ("sunday", HOLIDAY)},
    "monday-midweek-friday-saturday-sunday": {
        "monday": ("monday",),
        "midweek": ("tuesday", "wednesday", "thursday"),
        "friday": ("friday",),
        "saturday": ("saturday",),
        "sunday": ("sunday", HOLIDAY),
    },
    "day-of-week": {day: (day,) for day in WEEK},
}
"""The kinds of day that have a name."""

_SEASONS = ("DJF", "MAM", "JJA", "SON")
"""By the first letters of their months, which are the same on both halves of the globe."""


def days_from(first: date, last: date) -> list[date]:
    """All days from the first to the last.

    >>> len(days_from(date(2016, 8, 1), date(2016, 8, 31)))
    31
    """
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def period_of(day: date, period: Period) -> str:
    """The label of the period that contains a day; a December belongs to the season of the next January.

    >>> [period_of(date(2016, 12, 31), period) for period in PERIODS]
    ['2016-W52', '2016-12', '2016-Q4', '2017-DJF', '2016']
    >>> period_of(date(2021, 1, 1), "week")
    '2020-W53'
    """
    if period == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if period == "month":
        return f"{day.year:04d}-{day.month:02d}"
    if period == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    if period == "season":
        return f"{day.year + day.month // 12:04d}-{_SEASONS[day.month % 12 // 3]}"
    return f"{day.year:04d}"


def kind_of(day: date, kinds: KindsOfDay, holidays: Set[date] = frozenset()) -> str:
    """The kind of a day.

    >>> kinds = KINDS_OF_DAY["weekday-saturday-sunday"]
    >>> kind_of(date(2016, 8, 8), kinds), kind_of(date(2016, 8, 8), kinds, {date(2016, 8, 8)})
    ('weekday', 'sunday')
    """
    named = {name: kind for kind, names in kinds.items() for name in names}
    return named.get(HOLIDAY, named["sunday"]) if day in holidays else named[WEEK[day.weekday()]]


def fault_of_kinds(kinds: KindsOfDay) -> str | None:
    """What is wrong with kinds of day: a day in two of them, or in none.

    >>> fault_of_kinds({"work": ["monday", "tuesday"], "rest": ["monday"]})
    '`monday` is in two kinds of day; keep it in one'
    """
    times = Counter(name for names in kinds.values() for name in names)
    if twice := next((name for name, number in times.items() if number > 1), None):
        return f"`{twice}` is in two kinds of day; keep it in one"
    if missing := next((name for name in WEEK if name not in times), None):
        return f"`{missing}` is in no kind of day; add it to one"
    return None


def days_by_label(labels: Iterable[str]) -> dict[str, int]:
    """How many days have each label, in the order of the labels.

    >>> days_by_label(["weekday", "sunday", "weekday"])
    {'sunday': 1, 'weekday': 2}
    """
    return dict(sorted(Counter(labels).items()))


def spans_by_label(labels: Mapping[date, str]) -> dict[str, tuple[str, ...]]:
    """The days of each label, in as few spans as there are, each by its first and its last day.

    >>> days = days_from(date(2016, 8, 1), date(2016, 8, 4))
    >>> spans_by_label(dict(zip(days, ["term", "term", "holidays", "term"])))
    {'holidays': ('2016-08-03',), 'term': ('2016-08-01/2016-08-02', '2016-08-04')}
    """
    found: dict[str, list[str]] = {}
    for label, same in groupby(sorted(labels), key=labels.__getitem__):
        first, *others = same
        found.setdefault(label, []).append("/".join([f"{first}", *(f"{last}" for last in others[-1:])]))
    return {label: tuple(found[label]) for label in sorted(found)}


def days_of_spans(spans: Iterable[str]) -> Iterator[date]:
    """The days of such spans; ValueError where one is none.

    >>> [str(day) for day in days_of_spans(["2016-08-31/2016-09-01"])]
    ['2016-08-31', '2016-09-01']
    """
    for span in spans:
        first, _, last = span.partition("/")
        yield from days_from(date.fromisoformat(first), date.fromisoformat(last or first))
