"""How the values of a column are written, from a sample of them: as times, as days, as whole numbers.

Values are looked at and none is kept or shown: what comes out are formats from a list that is fixed here. A few odd
rows decide nothing (`odd_rows`). Where values are not to be looked at, names and declared types decide alone.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from statistics import median
from typing import Literal
from zoneinfo import ZoneInfo

from tapveil.base.vocabulary import MINUTES_PER_DAY, MISSING_TIME
from tapveil.inputs.values import read_date, read_time
from tapveil.plan.source import has_a_day
from tapveil.trips import words
from tapveil.trips.files import RawType

FORMATS = (
    *("%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M"),
    *("%d/%m/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M:%S %p", "%d/%m/%Y %I:%M %p", "%m/%d/%Y %I:%M %p"),
    *("%d-%m-%Y %H:%M:%S", "%d-%m-%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M"),
    *("%d-%b-%Y %H:%M:%S", "%d-%b-%Y %H:%M", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M"),
    *("%d-%m-%Y %I:%M:%S %p", "%m-%d-%Y %I:%M:%S %p", "%m-%d-%Y %H:%M:%S", "%m-%d-%Y %H:%M"),
    *("%d/%m/%y %H:%M", "%m/%d/%y %H:%M", "%d/%m/%y %H:%M:%S", "%Y%m%d%H%M%S", "%Y%m%d%H%M", "%Y-%m-%d %H.%M.%S"),
    *("%d %b %Y %H:%M:%S", "%d %b %Y %H:%M", "%Y年%m月%d日 %H:%M:%S", "%Y年%m月%d日 %H:%M", "%Y년 %m월 %d일 %H:%M"),
    *("%Y.%m.%d %H:%M:%S", "%Y.%m.%d %H:%M", "%d.%m.%y %H:%M", "%Y-%m-%d %I:%M:%S %p", "%Y-%m-%d-%H.%M.%S"),
    *("%Y-%m-%d %I:%M %p", "%Y/%m/%d %I:%M:%S %p", "%Y/%m/%d %I:%M %p", "%d/%m/%Y %I:%M%p", "%m/%d/%Y %I:%M%p"),
    *("%d/%m/%y %I:%M %p", "%m/%d/%y %I:%M %p", "%d/%m/%y %I:%M:%S %p", "%m/%d/%y %I:%M:%S %p", "%d %B %Y %H:%M"),
    *("%y/%m/%d %H:%M", "%y/%m/%d %H:%M:%S", "%y-%m-%d %H:%M", "%y-%m-%d %H:%M:%S", "%y.%m.%d %H:%M"),
)
_DAYS = "%d/%m/%Y %m/%d/%Y %d-%m-%Y %m-%d-%Y %d.%m.%Y %d/%m/%y %m/%d/%y %d.%m.%y %d-%b-%Y %d-%b-%y %Y/%m/%d %Y.%m.%d"
_YEAR_FIRST = ("%y/%m/%d", "%y-%m-%d", "%y.%m.%d")
_DIGITS = {"%y%m%d": 6, "%d%m%y": 6, "%m%d%y": 6, "%d%m%Y": 8, "%m%d%Y": 8}
"""Days without anything between their parts, with the number of digits: strptime takes 0731 for one as well."""
DATE_FORMATS = (
    *_DAYS.split(),
    *_YEAR_FIRST,
    "%d %b %Y",
    "%d %B %Y",
    "%Y年%m月%d日",
    "%Y년 %m월 %d일",
    *_DIGITS,
    *FORMATS,
)
_HOURS = ("%Hh", "%H时", "%H時", "%H시", "%H Uhr")
_CLOCKS = ("%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p", "%H:%M %p", "%H:%M:%S %p")
"""`%H` with `%p`, by which PM adds nothing, is for 19:31 PM alone: so it comes after `%I`, which is tried first."""
TIME_FORMATS = ("%H.%M", *_CLOCKS, "%Hh%M", "%H時%M分", "%H시%M분", "%H:%M Uhr", *_HOURS, *FORMATS)
"""Ways to write a day or a time that need to be named, those with the day first before those with the month first."""

A_FEW, ONE_IN = 4, 1000
LOOKED_AT = 2000
ENOUGH = 10
MOST = 0.9
ANY_ZONE = ZoneInfo("UTC")
GRAINS = (60, 30, 15, 10, 5)
_A_CLOCK = re.compile(r".*\d\d?[:h時시]\d\d")
_A_TIME, _A_CLOCKED = r"\d{1,2}(?:[:.h]?\d{2})?h?", r"\d{1,2}(?:[:.h]\d{2}|h)?"
_NOON = r"(?!.*\d\s*[AaPp]\.?\s?[Mm])"
_TO = r"\s*(?:-|–|~|to|à|a|bis|至)\s*"
_FROM_TO = re.compile(rf"{_NOON}{_A_TIME}{_TO}{_A_TIME}\D*")
_CLOCKS_FROM_TO = re.compile(rf"{_NOON}{_A_CLOCKED}{_TO}{_A_CLOCKED}\D{{,4}}")
"""What nobody calls a time must look more like one: 1012-10 is a line."""
WHOLE = re.compile(r"([0-9]{1,20})(?:\.0+)?")
_SERIAL = re.compile(r"[34][0-9]{4}([.,][0-9]+)?")
TRAVELLED = range(1980, 2101)
_SINCE_1970 = range(946_684_800, 2_208_988_800)
"""Seconds from 2000 to 2040: other numbers of ten digits are no moments of trips."""

Written = Literal["time", "date"]


def odd_rows(rows: int) -> int:
    """How many of a number of rows may be odd without deciding anything: a few, or one in a thousand.

    >>> [odd_rows(rows) for rows in (1, 9, 10, 300, 40_000)]
    [0, 0, 1, 4, 40]
    """
    return max(min(A_FEW, rows // 10), rows // ONE_IN)


def telling(values: Iterable[str], of: int) -> set[str]:
    """The values that more than a few odd ones of a number of rows have."""
    return {value for value, rows in Counter(values).items() if rows > odd_rows(of)}


def share(found: Iterable[bool]) -> float:
    """Of which share it holds."""
    listed = list(found)
    return sum(listed) / len(listed) if listed else 0.0


@dataclass(frozen=True)
class Reading:
    """How well a column reads as a time or a date, and in which format; none for those that need no name."""

    share: float
    format: str | None = None
    other: str | None = None
    """Another format that would do as well: day and month the other way round."""
    doubt: str = ""
    """Why the format is not sure, though there is no other."""


@dataclass(frozen=True)
class Sample:
    """Some values of one column, as texts, row by row as the other columns have them; None where nobody looks."""

    name: str
    raw: RawType
    values: Sequence[str] | None = field(repr=False)

    @property
    def words(self) -> frozenset[str]:
        return words.words_of(self.name)

    @property
    def says(self) -> frozenset[str]:
        """What its name says."""
        return words.concepts(self.name)

    @cached_property
    def filled(self) -> list[str]:
        """The values that are there."""
        none = words.values("missing")
        return [value for value in self.values or () if value.strip() and value.strip() not in none]

    @property
    def some(self) -> list[str]:
        """Some of them, from first to last."""
        return _spread(self.filled)

    @property
    def rows(self) -> list[str]:
        """The values of some rows, the same rows for each column."""
        return _spread(self.values or ())

    @property
    def in_use(self) -> bool:
        """Whether it has values, in more than a few odd rows; taken for granted where they are not looked at."""
        return self.values is None or len(self.filled) > odd_rows(len(self.values))

    @property
    def missing(self) -> tuple[str, ...]:
        """Words in it that most likely mean that there is none."""
        values = self.values or ()
        return tuple(sorted(telling((value.strip() for value in values), len(values)) & words.values("missing")))

    @cached_property
    def kinds(self) -> int:
        """How many different values there are, without the rarest, which a few odd rows may have."""
        rows = itertools.accumulate(sorted(Counter(value.strip() for value in self.filled).values()))
        return sum(seen > odd_rows(len(self.filled)) for seen in rows)

    @property
    def frequent(self) -> list[str]:
        """The values that one in a hundred rows has, the commonest first."""
        counted = Counter(value.strip() for value in self.filled)
        least = max(odd_rows(len(self.filled)) + 1, len(self.filled) / 100)
        return [value for value, rows in counted.most_common() if rows >= least]

    @property
    def far_too_frequent(self) -> list[str]:
        """The values that more than one in a hundred rows has, and that are far more frequent than the usual one."""
        counted = Counter(value.strip() for value in self.filled)
        usual = median(counted.values()) if counted else 0
        least = max(len(self.filled) / 100, 10 * usual)
        return sorted(value for value, rows in counted.items() if rows > least and value != "-1")

    @property
    def whole(self) -> float:
        """Which share of its values are whole numbers, without zeros in front."""
        return share(
            bool((match := WHOLE.fullmatch(value.strip())) and match[1] == str(int(match[1]))) for value in self.some
        )

    @cached_property
    def time(self) -> Reading:
        """How it reads as a time."""
        return self._read_as("time")

    @cached_property
    def date(self) -> Reading:
        """How it reads as a date."""
        return self._read_as("date")

    @property
    def has_clock(self) -> bool:
        """Whether most of its values look like times, whatever its name."""
        return (
            share(bool(_A_CLOCK.match(value) or _CLOCKS_FROM_TO.fullmatch(value.strip())) for value in self.some[:100])
            >= MOST
        )

    @cached_property
    def is_midnight(self) -> bool:
        """Whether it has days, written as the first minute of them, and no times."""
        minutes = [minute for _, minute in self.moments if minute is not None] if self.date.share >= MOST else []
        return len(minutes) >= ENOUGH and sum(map(bool, minutes)) <= odd_rows(len(minutes))

    @property
    def is_serial(self) -> bool:
        """Whether days, or moments, are written as Excel numbers them: 45719 or 45719.313."""
        dated = bool(self.says & {"time", "day", "hour"})
        found = [_SERIAL.fullmatch(value.strip()) for value in self.some[:100]]
        return share(bool(each and (dated or each[1])) for each in found) >= MOST

    @cached_property
    def moments(self) -> list[tuple[str, int | None]]:
        """Day and minute of some rows, as it reads; the day is "" where the value has none."""
        way, dated = self.time.format, self.date.share >= MOST and self.raw != "time"
        read = [read_time(value, ANY_ZONE, way) for value in self.rows]
        days = [(read_date(value, ANY_ZONE, way) or "") if dated else "" for value in self.rows]
        return [
            (day, None if minute in (None, MISSING_TIME) else minute) for day, minute in zip(days, read, strict=True)
        ]

    @property
    def days(self) -> list[str]:
        """The day of some rows, as it reads; "" where there is none."""
        return [read_date(value, ANY_ZONE, self.date.format) or "" for value in self.rows]

    @property
    def grain(self) -> int:
        """The length of the bins, in minutes, that times start at without exception but for odd ones; 1 for none."""
        minutes = [minute for _, minute in self.moments if minute is not None]
        least = len(minutes) - odd_rows(len(minutes))
        return next((g for g in GRAINS if minutes and sum(m % g == 0 for m in minutes) >= least), 1)

    def _read_as(self, kind: Written) -> Reading:
        """The way to write a time or a date by which most values can be read; ways that differ by a few are equal."""
        if self.raw in (kind, "timestamp", "instant"):
            return Reading(1.0)
        if self.raw in ("date", "time", "binary"):
            return Reading(0.0)
        if self.values is None:  # the name alone says so, where the type leaves it open
            if kind == "time":
                return Reading(1.0, "hours" if "hour" in self.says - {"time"} and "time" not in self.says else None)
            return Reading(float((self.says >= {"day"} and "period" not in self.says) or bool(self.words & _STAMPS)))
        values = self.some
        if number := self._number(kind, values):
            return number
        found = share(_reads(kind, value, None) for value in values)
        if found >= MOST or not values:
            return Reading(found)
        if kind == "time" and (ranges := share(bool(_FROM_TO.fullmatch(value.strip())) for value in values)) >= MOST:
            return Reading(ranges, "range")
        return self._formatted(kind, values, found)

    def _formatted(self, kind: Written, values: Sequence[str], plain: float) -> Reading:
        ways = [(share(_reads(kind, value, way) for value in values), way) for way in _formats(kind, values)]
        best, slack = max(found for found, _ in ways), odd_rows(len(values)) / len(values)
        if best <= plain + slack:
            return Reading(plain)
        equal = [way for found, way in ways if found >= best - slack]
        spans = {way: _days_spanned(values, way) for way in equal}
        closest = [way for way in equal if spans[way] == min(spans.values())]
        other = next((way for way in closest[1:] if way[:2] != closest[0][:2] and has_a_day(way)), None)
        return Reading(best, closest[0], other)

    def _number(self, kind: Written, values: Sequence[str]) -> Reading | None:
        """What plain numbers mean: hours, clocks, minutes, moments since 1970. None where they are no such numbers."""
        digits = [match[1] for value in values if (match := WHOLE.fullmatch(value.strip()))]
        found = len(digits) / max(1, len(values))
        if found < MOST:
            return None
        odd = odd_rows(len(digits))
        lengths, numbers = Counter(map(len, digits)), sorted(map(int, digits))
        top = numbers[-1 - odd]
        usual, often = lengths.most_common(1)[0]
        if often >= len(digits) - odd and usual in (10, 13, 16):
            seconds = [number // 10 ** (usual - 10) for number in numbers]
            if sum(second in _SINCE_1970 for second in seconds) >= len(digits) - odd:
                return Reading(found, "epoch")
        if kind == "date" or usual >= 8:
            return None
        padded = sum(text != str(int(text)) for text in digits) > odd
        if top <= 24:
            doubt = "its hours go from 1 to 24: 1 is read as 01:00" if top == 24 and numbers[odd] >= 1 else ""
            return Reading(found, "hours", doubt=doubt)
        if padded and usual in (4, 6):
            return Reading(found, {4: "%H%M", 6: "%H%M%S"}[usual])
        if top < 120:
            return Reading(found, doubt=f"its numbers end at about {top}: they are read as minutes after midnight")
        if top < 2460 and self.kinds > 20 and sum(number % 100 >= 60 for number in numbers) <= odd:
            return Reading(found, "%H%M")
        clocks = sum(number < 246_000 and number % 100 < 60 and number // 100 % 100 < 60 for number in numbers)
        if usual in (5, 6) and self.kinds > 20 and clocks >= len(numbers) - odd:
            return Reading(found, "%H%M%S")
        return Reading(found if top < 2 * MINUTES_PER_DAY else 0.0)


_STAMPS = frozenset("datetime timestamp ts at datahora dateheure fechahora dataora horodatage".split())
"""How a column may be called that has a day as well as a time."""


def _formats(kind: Written, values: Sequence[str]) -> Iterable[str]:
    """The formats that may do: by the first few values, so that the others need not be tried on all."""
    listed = TIME_FORMATS if kind == "time" else DATE_FORMATS
    few = _spread(values, 40)
    return [way for way in listed if any(_reads(kind, value, way) for value in few)] or listed[:1]


def _spread(values: Sequence[str], most: int = LOOKED_AT) -> list[str]:
    step = len(values) / most
    return [values[int(index * step)] for index in range(most)] if step > 1 else list(values)


def _days_spanned(values: Sequence[str], way: str) -> int:
    """From the first day to the last, but for a few: of two readings, days that are close together are likelier."""
    if not has_a_day(way):
        return 0
    days = sorted(date.fromisoformat(day) for value in values if (day := read_date(value, ANY_ZONE, way)))
    odd = odd_rows(len(values))
    return (days[-1 - odd] - days[odd]).days if len(days) > 2 * odd else 0


def _reads(kind: Written, value: str, way: str | None) -> bool:
    if kind == "date":
        day = read_date(value, ANY_ZONE, way)
        lost = _DIGITS[way] - len(value.strip()) if way in _DIGITS else 0
        # A number that lost a zero in front, 4032025: but 2025063 is no day of the year 5063.
        return bool(day) and (lost == 0 or (lost == 1 and int((day or "0")[:4]) in TRAVELLED))
    minute = read_time(value, ANY_ZONE, way)
    return minute is not None and minute != MISSING_TIME
