"""The days that a release is of: as the names of its files have them, as a person says them, as the trips have them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

_DAY = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12][0-9]|3[01])(?![0-9])")
_DAY_AND_MORE = re.compile(_DAY.pattern + r"[-_.~][0-9]{1,2}(?![0-9])")
"""`20250303-09`: the ninth may be the last day, or the ninth file."""
_MONTH = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})[-_.]?(0[1-9]|1[0-2])(?![0-9])")
_A_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


Source = Literal["names", "answer", "trips"]
IN_WORDS: dict[Source, str] = {"names": "the names of the files", "answer": "your answer", "trips": "the trips"}


@dataclass(frozen=True)
class Days:
    """A first and a last day, and who says so."""

    first: date
    last: date
    by: Source

    @property
    def source(self) -> str:
        """Who says so, in words."""
        return IN_WORDS[self.by]

    def __str__(self) -> str:
        return f"{self.first} to {self.last}"

    @property
    def of_trips(self) -> bool:
        """Whether they were taken from the trips."""
        return self.by == "trips"

    def hold(self, other: Days) -> bool:
        """Whether these days have those in them; a night may reach into the next."""
        return self.first <= other.first and other.last <= self.last + timedelta(days=1)

    @classmethod
    def read(cls, text: str, proposed: Days | None) -> Days | None:
        """Two days, or one, as a person writes them.

        >>> print(Days.read("2025-03-01 to 2025-03-31", None), Days.read("2025-03-01", None), Days.read("March", None))
        2025-03-01 to 2025-03-31 2025-03-01 to 2025-03-01 None
        """
        if proposed and text == str(proposed):
            return proposed
        try:
            found = [date.fromisoformat(each) for each in _A_DATE.findall(text)]
        except ValueError:
            return None
        return cls(min(found), max(found), "answer") if found else None


def days_in_names(path: str, files: Sequence[Path]) -> Days | None:
    """The days that the names of the files say, if all of them do: `2025-03-01.csv`, `dt=20250301/…`, `t_202503.csv`.

    >>> files = [Path("t/dt=2025-03-01/p.csv"), Path("t/dt=2025-03-02/p.csv")]
    >>> print(days_in_names("t", files), days_in_names("a_202502.csv", [Path("a_202502.csv")]))
    2025-03-01 to 2025-03-02 2025-02-01 to 2025-02-28
    """
    named = [_in_name("/".join(file.parts[len(Path(path).parts) :]) or file.name) for file in files]
    if not named or any(days is None for days in named):
        return None
    found = [day for days in named if days for day in days]
    return Days(min(found), max(found), "names")


def _in_name(name: str) -> tuple[date, date] | None:
    if _DAY_AND_MORE.search(name):
        return None
    found = []
    for year, month, day in _DAY.findall(name):
        try:
            found.append(date(int(year), int(month), int(day)))
        except ValueError:  # no such day
            return None
    for year, month in [] if found else _MONTH.findall(name):
        last = calendar.monthrange(int(year), int(month))[1]
        found += [date(int(year), int(month), 1), date(int(year), int(month), last)]
    return (min(found), max(found)) if found else None
