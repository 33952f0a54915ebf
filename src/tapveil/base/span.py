"""A period of a routine: a day, week, month, quarter or year, and what stands for the gaps of a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Literal

from tapveil.base.calendar import period_of
from tapveil.base.errors import PlanError, did_you_mean

Every = Literal["day", "week", "month", "quarter", "year"]
ONE_DAY = timedelta(days=1)
_GAP = re.compile(r"\{([a-z_]+)\}")
"""An inline table of TOML has more than one word in its braces, or none."""


@dataclass(frozen=True)
class Span:
    """A period: its name, and its days."""

    every: Every
    first_day: date

    @property
    def name(self) -> str:
        return self.first_day.isoformat() if self.every == "day" else period_of(self.first_day, self.every)

    @cached_property
    def last_day(self) -> date:
        return self.next.first_day - ONE_DAY

    @property
    def next(self) -> Span:
        """The period after it."""
        first = self.first_day
        if self.every in ("day", "week"):
            return Span(self.every, first + (7 if self.every == "week" else 1) * ONE_DAY)
        months = first.month - 1 + {"month": 1, "quarter": 3, "year": 12}[self.every]
        return Span(self.every, date(first.year + months // 12, months % 12 + 1, 1))

    @property
    def begins_there(self) -> bool:
        """Whether a period can begin on its first day."""
        day = self.first_day
        return self.every == "day" or self.name != Span(self.every, day - ONE_DAY).name

    @property
    def gaps(self) -> dict[str, str]:
        """What stands for each gap of a text."""
        first = self.first_day
        return {
            "period": self.name,
            "first_day": first.isoformat(),
            "last_day": self.last_day.isoformat(),
            "year": f"{first.year:04d}",
            "quarter": period_of(first, "quarter"),
            "month": period_of(first, "month"),
            "month_number": f"{first.month:02d}",
            "week": period_of(first, "week"),
        }

    def filled(self, text: str, where: str) -> str:
        """A text without its gaps; PlanError if there is one that nothing stands for."""
        gaps = self.gaps

        def filled(gap: re.Match[str]) -> str:
            if gap[1] not in gaps:
                hint = did_you_mean(gap[1], gaps) or f" (known: {', '.join(f'{{{each}}}' for each in gaps)})"
                raise PlanError(f"{where}: nothing stands for {gap[0]}{hint}")
            return gaps[gap[1]]

        return _GAP.sub(filled, text)
