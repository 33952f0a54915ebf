"""Texts with keys in braces, as a shape writes them: `{date:%Y-%m-%d}`, `{tap_on_time.end:%H:%M}`. Pure.

Formats are ours and English, so that a file is the same wherever it is made again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

_PART = re.compile(r"\{([a-z][a-z0-9_-]*)(?:\.([a-z][a-z0-9_]*))?(?::([^{}]*))?\}")
_TOKEN = re.compile(r"%(-?)([A-Za-z%])")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = tuple("January February March April May June July August September October November December".split())
OF_DAYS, OF_TIMES = "YymdqAaBbju", "HIMSp"
"""The letters of formats: of days, and of times."""


@dataclass(frozen=True)
class Part:
    """What stands in braces: a key, what of it, and how it is written."""

    key: str
    fact: str = ""
    format: str = ""


@dataclass(frozen=True)
class Template:
    """A text with keys in braces.

    >>> found = Template("{time:%H}h-{time.end:%H}h")
    >>> [(part.key, part.fact, part.format) for part in found.parts]
    [('time', '', '%H'), ('time', 'end', '%H')]
    >>> found.filled(lambda part: "8" if part.fact else "7")
    '7h-8h'
    """

    text: str

    def __post_init__(self) -> None:
        if set(_PART.sub("", self.text)) & set("{}"):
            raise ValueError(f"`{self.text}` has braces that hold no key, such as {{date:%Y%m%d}}")
        for part in self.parts:
            if wrong := next((letter for letter in letters(part.format) if letter not in OF_DAYS + OF_TIMES), None):
                raise ValueError(f"`%{wrong}` in `{self.text}` is not a format of days or times")

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What stands in braces, in its order."""
        return tuple(Part(key, fact or "", form or "") for key, fact, form in _PART.findall(self.text))

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, each once."""
        return tuple(dict.fromkeys(part.key for part in self.parts))

    def filled(self, text_of: Callable[[Part], str]) -> str:
        """The text with each part in its place."""
        return _PART.sub(lambda found: text_of(Part(found[1], found[2] or "", found[3] or "")), self.text)


def letters(form: str) -> Iterator[str]:
    """The letters of a format, without `%%`."""
    return (letter for _, letter in _TOKEN.findall(form) if letter != "%")


def day_text(day: date, form: str) -> str:
    """A day in a format; `%-m` is without a zero in front.

    >>> day_text(date(2016, 8, 8), "%Y%m%d"), day_text(date(2016, 8, 8), "%A %-d %B, Q%q")
    ('20160808', 'Monday 8 August, Q3')
    """
    return _written(form, _of_day(day))


def time_text(minutes: int, form: str) -> str:
    """A time in a format, by its minutes from midnight on, which may be those of the next morning.

    >>> time_text(455, "%H:%M:%S"), time_text(455, "%-H"), time_text(1515, "%H:%M"), time_text(780, "%I %p")
    ('07:35:00', '7', '25:15', '01 PM')
    """
    return _written(form, _of_time(minutes // 60, minutes % 60))


def moment_text(moment: datetime, form: str) -> str:
    """A day and a time in a format.

    >>> moment_text(datetime(2016, 8, 8, 0, 30), "%m/%d/%Y %I:%M:%S %p")
    '08/08/2016 12:30:00 AM'
    """
    return _written(form, _of_day(moment.date()) | _of_time(moment.hour, moment.minute))


def _of_day(day: date) -> dict[str, str]:
    return {
        **{"Y": f"{day.year:04d}", "y": f"{day.year % 100:02d}", "m": f"{day.month:02d}", "d": f"{day.day:02d}"},
        **{"q": f"{(day.month + 2) // 3}", "A": _DAYS[day.weekday()], "a": _DAYS[day.weekday()][:3]},
        **{"B": _MONTHS[day.month - 1], "b": _MONTHS[day.month - 1][:3]},
        **{"j": f"{day.timetuple().tm_yday:03d}", "u": f"{day.isoweekday()}"},
    }


def _of_time(hour: int, minute: int) -> dict[str, str]:
    halves = {"I": f"{(hour - 1) % 12 + 1:02d}", "p": "PM" if hour % 24 >= 12 else "AM"}
    return {"H": f"{hour:02d}", "M": f"{minute:02d}", "S": "00", **halves}


def _written(form: str, values: dict[str, str]) -> str:
    def one(found: re.Match[str]) -> str:
        if found[2] == "%":
            return "%"
        if found[2] not in values:
            raise ValueError(f"`%{found[2]}` has no meaning here")
        return (values[found[2]].lstrip("0") or "0") if found[1] else values[found[2]]

    return _TOKEN.sub(one, form)


def day_in(label: str) -> date:
    """The day that a label names, or the first of its period; ValueError for other labels.

    >>> [str(day_in(label)) for label in ("2016-08-08", "2016-08", "2016-Q3", "2016-W32", "2016")]
    ['2016-08-08', '2016-08-01', '2016-07-01', '2016-08-08', '2016-01-01']
    """
    if found := re.fullmatch(r"(\d{4})(?:-(\d\d|Q[1-4]))?", label):
        month = found[2] or "01"
        return date(int(found[1]), 3 * int(month[1]) - 2 if month[0] == "Q" else int(month), 1)
    return date.fromisoformat(label)
