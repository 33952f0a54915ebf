"""The [coarsen.date] section of a plan: columns that follow from the day of a trip, by a public calendar."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Self

import pydantic
from pydantic import AfterValidator, Field

from tapveil.base.calendar import KINDS_OF_DAY, PERIODS, DayName, Period, fault_of_kinds
from tapveil.base.errors import did_you_mean
from tapveil.base.types import Delimiter, Frozen, Text

Label = Annotated[Text, Field(max_length=100)]
FREE = frozenset({"days", "mean", "mean_low", "mean_high"})
"""What readers of a folder call the number of days, and means per day: no column of a plan with calendars can be."""


def _kinds_by_name(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value not in KINDS_OF_DAY:
        hint = did_you_mean(value, KINDS_OF_DAY) or f" ({', '.join(KINDS_OF_DAY)}, or kinds of your own)"
        raise ValueError(f"there are no kinds of day `{value}`{hint}")
    return KINDS_OF_DAY[value]


def _each_day_once(kinds: dict[str, tuple[DayName, ...]]) -> dict[str, tuple[DayName, ...]]:
    if fault := fault_of_kinds(kinds):
        raise ValueError(fault)
    if blank := next((kind for kind in kinds if kind != kind.strip()), None):
        raise ValueError(f"`{blank}` has blanks at its ends; remove them")
    return kinds


class CalendarColumn(Frozen):
    """A column that follows from the day of a trip: a period, a kind of day, or what a public list says of the day."""

    period: Period | None = None
    """Period that contains the day: `week` (ISO), `month`, `quarter`, `season` (three months) or `year`."""
    days: Annotated[dict[Label, tuple[DayName, ...]], AfterValidator(_each_day_once)] | None = None
    """Or: kinds of day, by their name or each with its days of the week and `holiday`."""
    holidays: tuple[date, ...] = ()
    """With `days`: public holidays, which count as `holiday`; as `sunday` where no kind has `holiday`. Those of [world]
    count as well."""
    timetable: bool = False
    """With `days`: holidays are also the days on which the timetable runs as on a Sunday ([gtfs])."""
    lookup: Text | None = None
    """Or: CSV file with the label of each day."""
    from_: Annotated[Text | None, Field(alias="from")] = None
    """With `lookup`: column of days, as 2016-12-31 or 20161231."""
    until: Text | None = None
    """With `lookup`: column of last days, if a row is of all days `from` one `until` another."""
    to: Text | None = None
    """With `lookup`: column of labels to publish."""
    otherwise: Label | None = None
    """With `lookup`: label of the days that are not listed; without it, each day must be."""
    delimiter: Delimiter | None = None
    """With `lookup`: the field separator, if it is not a comma."""

    @pydantic.field_validator("days", mode="before")
    @classmethod
    def _by_name(cls, value: object) -> object:
        return _kinds_by_name(value)

    @pydantic.model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = {"period": self.period, "days": self.days, "lookup": self.lookup}
        given = [way for way, value in ways.items() if value is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of `period`, `days` and `lookup`")
        if self.days is None and (self.holidays or self.timetable):
            raise ValueError("`holidays` and `timetable` are only used with `days`")
        if self.lookup and not (self.from_ and self.to):
            raise ValueError("`lookup` needs `from` and `to`, its columns of days and of labels")
        if not self.lookup and any((self.from_, self.until, self.to, self.otherwise, self.delimiter)):
            raise ValueError("`from`, `until`, `to`, `otherwise` and `delimiter` are only used with `lookup`")
        return self

    @property
    def in_words(self) -> str:
        """What the column is, to follow its name and "is"."""
        if self.period:
            return f"the {self.period}"
        return f"{self.to}, from {self.lookup}" if self.lookup else f"the kind of day: {', '.join(self.days or ())}"


def from_its_name(value: object) -> object:
    """A period or kinds of day may be given by their name alone."""
    if not isinstance(value, str):
        return value
    if value in PERIODS:
        return {"period": value}
    if value in KINDS_OF_DAY:
        return {"days": value}
    known = (*PERIODS, *KINDS_OF_DAY)
    hint = did_you_mean(value, known) or f" ({', '.join(known)})"
    raise ValueError(f"there is no period and there are no kinds of day `{value}`{hint}")


def with_calendar_columns(data: Any) -> Any:
    """A plan whose calendar columns are among its columns: each is read from the column of the date."""
    match data:
        case {"coarsen": {"date": Mapping() as made}, "source": {"columns": {"date": dated, **others}} as source}:
            like = dict(dated) if isinstance(dated, Mapping) else {"column": dated}
            # What stands for a missing date refuses the row by the date itself.
            like = {key: value for key, value in like.items() if key != "missing"} | {"kind": "calendar"}
            columns = {name: like for name in made if name not in {"date", *others}}
            return {**data, "source": {**source, "columns": {"date": dated, **others, **columns}}}
    return data
