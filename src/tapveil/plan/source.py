"""The [source] part of a plan: where the trips are, how their files are written, and what their columns hold."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from tapveil.base.types import Clock, Exact, Frozen, Name, Text, Texts, known_zone
from tapveil.base.vocabulary import CARD, COUNT, ENDS, TAP, Kind

KINDS: dict[str, Kind] = {
    CARD: "card",
    "mode": "label",
    "date": "date",
    "tap_on_time": "time",
    "tap_on_location": "location",
    "tap_off_time": "time",
    "tap_off_location": "location",
}
"""The columns tapveil knows by name; any other column is a label unless the plan says its kind."""


FORMATS = ("hours", "range", "epoch")
"""Ways to write a time that strptime does not know: 7 for 07:00; 07:00-08:00, by its start; and seconds since 1970."""


def has_a_day(written: str) -> bool:
    """Whether what is written in a format brings its own day: of the month, the year or the ISO week, or as epoch."""
    return written == "epoch" or any(directive in written for directive in ("%d", "%j", "%u"))


class SourceColumn(Frozen):
    """Where one of our columns comes from: a column of the files, or one value for every row."""

    column: Text | None = None
    """The column of the files."""
    value: Text | None = None
    """Or: one value for every row."""
    kind: Kind | None = None
    """What sort of values it holds, where its name does not say so."""
    missing: Texts = ()
    """Texts that mean that there is none: `0` as an exit time, `NA`."""
    format: Text | None = None
    """How a time or a date is written: as in strptime, or one of `hours`, `range`, `epoch`. Not for the usual ways."""

    @pydantic.model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.column is None) == (self.value is None):
            raise ValueError('give either `column = "…"` or `value = "…"`')
        if self.value is not None and (self.missing or self.format):
            raise ValueError("`missing` and `format` are for a column of the files, not for one value")
        return self

    @pydantic.field_validator("format")
    @classmethod
    def _can_be_read(cls, value: str | None) -> str | None:
        if value is None or value in FORMATS:
            return value
        try:
            _read_back(value)
        except (ValueError, re.error):  # a directive twice is a group twice to strptime
            raise ValueError(f'`{value}` is not a format such as "%d/%m/%Y %H:%M"') from None
        if "%Z" in value:
            raise ValueError("names of time zones (%Z) cannot be read; %z reads an offset such as +1000")
        if not has_a_day(value) and "%H" not in value and "%I" not in value:
            raise ValueError(f'`{value}` has no day or hour in it: write it as "%d/%m/%Y", "%H.%M", …')
        return value

    @property
    def tells_days_apart(self) -> bool:
        """Whether its format, if it has one, says which day of which year: `%d/%m` makes one day of many."""
        if self.format is None or self.format in FORMATS:
            return self.format in (None, "epoch")
        return _read_back(self.format).date() == _A_MOMENT.date()


_A_MOMENT = datetime(2016, 12, 31, 17, 5, tzinfo=UTC)


def _read_back(written: str) -> datetime:
    """Some moment, written in a format and read again; ValueError if that cannot be."""
    return datetime.strptime(_A_MOMENT.strftime(written), written)


def _separates(value: str) -> str:
    if len(value) != 1 or not value.isascii() or value.isalnum() or value in "\"'\r\n\\":
        raise ValueError('must be one character, such as ",", ";" or "\\t"')
    return value


def _table_name(value: str) -> str:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*){0,2}", value):
        raise ValueError(
            f"`{value}` is not the name of a table such as `trips` or `transit.trips`; make a view with a plain name"
        )
    return value


_FROM_ITS_NAME = BeforeValidator(lambda value: {"column": value} if isinstance(value, str) else value)
Engine = Literal["duckdb", "spark", "adbc"]
Delimiter = Annotated[str, AfterValidator(_separates)]
Minutes = Annotated[int, Field(ge=1, le=1440, strict=True)]


class Taps(Frozen):
    """Which rows are taps on, which taps off, and which of them belong together; other rows are left out."""

    on: Texts
    """The values of `tap` that mean on."""
    off: Texts = ()
    """The values of `tap` that mean off."""
    within_minutes: Minutes = 180
    """A tap off later than this is not of the same trip."""
    same: Literal["mode", "vehicle", "card"] = "mode"
    """What the two taps of a trip have in common, besides the card."""

    @pydantic.model_validator(mode="after")
    def _told_apart(self) -> Self:
        if not self.on and not self.off:
            raise ValueError("name the values that mean on, or off")
        for word in sorted({text.strip() for text in self.on} & {text.strip() for text in self.off}):
            raise ValueError(f"`{word}` cannot mean both on and off")
        return self


class Counts(Frozen):
    """Rows that are counts already: how many trips of one row are counted at most."""

    most: Annotated[int, Field(ge=1, le=10**9, strict=True)] = 1_000_000
    """A larger number counts as this one, so that one trip more or less changes a cell by at most one."""


class Source(Frozen):
    """Where trips are, and which of their columns are read."""

    path: Texts = ()
    """The files: a name, a pattern such as `"trips/*.parquet"`, or a list of them. CSV, CSV.gz, Parquet, .xlsx."""
    engine: Engine = "duckdb"
    """What counts: `duckdb` is built in; `spark` is a Spark session, `adbc` a PostgreSQL database, of your own."""
    table: Annotated[str, AfterValidator(_table_name)] | None = None
    """Instead of files: the table or view that has the trips, as the engine knows it, such as `"transit.trips"`."""
    columns: dict[Name, Annotated[SourceColumn, _FROM_ITS_NAME]]
    """Our columns, and where each comes from: the name of one of yours, or a section of its own."""
    shape: Literal["trips", "taps", "counts"] = "trips"
    """What a row is: a trip, one tap, or a number of trips, which the column `count` has."""
    taps: Taps | None = None
    """With `shape = "taps"`: which rows are taps, and which of them belong together."""
    counts: Counts | None = None
    """With `shape = "counts"`: the bound on the trips of one row."""
    encoding: Literal["utf-8", "windows-1252"] = "utf-8"
    """Of CSV."""
    delimiter: Delimiter | None = None
    """Of CSV; found in the header if not given. A tab is `"\\t"`."""
    sheet: Text | None = None
    """Of workbooks of Excel: the sheet that has the trips; not needed where there is only one."""
    dates: Literal["calendar", "service", "labels"] = "calendar"
    """`calendar`: dates and timestamps; `service`: the same, of service days; `labels`: any text, as it is."""
    day_starts: Clock = 0
    """A trip before this time belongs to the day before."""
    timezone: Annotated[str, AfterValidator(known_zone)] | None = None
    """Such as `"Australia/Sydney"`; needed if times carry an offset from UTC."""
    max_refused: Exact = Fraction(1, 100)
    """The share of rows that may be unreadable before a release stops."""
    first_day: date | None = None
    """Count from this day on; releases of other days then do not add up."""
    last_day: date | None = None
    """Count up to this day."""
    modes: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Count these modes only."""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _both_ends(cls, data: Any) -> Any:
        """Where a row is one tap, its time and place are those of either end of a trip."""
        columns = data.get("columns") if isinstance(data, dict) and data.get("shape") == "taps" else None
        if not isinstance(columns, dict):
            return data
        ends = {end: columns[ours] for ours, both in ENDS.items() if ours in columns for end in both}
        if set(ends) & set(columns):
            raise ValueError('shape = "taps" has `tap_time` and `tap_location`, not one column for each end')
        others = {ours: theirs for ours, theirs in columns.items() if ours not in ENDS}
        return {**data, "columns": {**others, **ends}}

    @pydantic.model_validator(mode="after")
    def _one_place_and_shape(self) -> Self:
        if bool(self.path) == bool(self.table):
            raise ValueError('give either the files, `path = "…"`, or the table of an engine, `table = "…"`')
        if self.table and self.engine == "duckdb":
            raise ValueError('`table` is for engine = "spark" or "adbc"; the built-in one reads files: `path = "…"`')
        if self.path and self.engine == "adbc":
            raise ValueError('engine = "adbc" counts in a database: name its table, `table = "…"`, instead of a path')
        if self.shape == "taps" and self.taps is None:
            words = 'shape = "taps" needs a section [source.taps] that says which rows are on = […], off = […]'
            raise ValueError(words)
        if self.shape != "taps" and self.taps is not None:
            raise ValueError('[source.taps] is for shape = "taps", which is missing')
        if self.counts is not None and self.shape != "counts":
            raise ValueError('[source.counts] is for shape = "counts", which is missing')
        if self.shape == "counts" and (COUNT not in self.columns or self.columns[COUNT].column is None):
            raise ValueError(f'shape = "counts" needs under [source.columns] `{COUNT}`, the column of numbers of trips')
        if self.taps and (TAP not in self.columns or self.columns[TAP].column is None):
            raise ValueError(f'shape = "taps" needs under [source.columns] `{TAP}`, the column that says on or off')
        return self

    @pydantic.field_validator("max_refused")
    @classmethod
    def _a_share(cls, value: Fraction) -> Fraction:
        if not 0 <= value <= 1:
            raise ValueError('must be a share between 0 and 1, such as 0.01 or "1 %"')
        return value

    @property
    def most_per_row(self) -> int | None:
        """How many trips of one row are counted at most, where a row is a number of trips."""
        return (self.counts or Counts()).most if self.shape == "counts" else None

    @property
    def card(self) -> str | None:
        """Their column of cards, if the plan names one."""
        return self.columns[CARD].column if CARD in self.columns else None

    @property
    def calendar(self) -> bool:
        """Whether dates are dates, and not any texts."""
        return self.dates != "labels"

    @property
    def day_follows_time(self) -> bool:
        """Whether it takes the time of a trip to know its day: before 04:00 it is still the day before."""
        return self.day_starts > 0 and self.dates == "calendar" and "date" in self.columns and bool(self.deciding)

    @property
    def deciding(self) -> tuple[str, ...]:
        """The times that decide the day of a trip: the first that there is."""
        return tuple(name for name in ("tap_on_time", "tap_off_time") if name in self.columns)

    def missing(self, name: str) -> frozenset[str]:
        """What else than nothing means that a column has no value."""
        return frozenset(text.strip() for text in self.columns[name].missing)

    def kind(self, name: str) -> Kind:
        """What sort of values a column holds."""
        return self.columns[name].kind or KINDS.get(name, "label")
