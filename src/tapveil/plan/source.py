"""The [source] section of a plan: where the trips are, how their files are written, and what their columns hold."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from tapveil.base.defaults import Encoding
from tapveil.base.types import Clock, Delimiter, Exact, Frozen, Name, Text, Texts, known_zone
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
"""The kinds of known columns; any other column is a label unless the plan states its kind."""


FORMATS = ("hours", "range", "epoch")
"""Ways to write a time that strptime does not know: 7 for 07:00; 07:00-08:00, by its start; and seconds since 1970."""


def has_a_day(written: str) -> bool:
    """Whether what is written in a format brings its own day: of the month, the year or the ISO week, or as epoch."""
    return written == "epoch" or any(directive in written for directive in ("%d", "%j", "%u"))


class SourceColumn(Frozen):
    """Origin of a column of the plan: a column of the files, or one value for every row."""

    column: Text | None = None
    """Name of the column in the files."""
    value: Text | None = None
    """Or: one value for every row."""
    kind: Kind | None = None
    """Kind of its values, if the name does not imply it."""
    missing: Texts = ()
    """Texts that stand for a missing value, such as `NA`, or `0` for an exit time."""
    format: Text | None = None
    """Format of a time or date, as in strptime, or `hours`, `range`, `epoch`. Not needed for common formats."""

    @pydantic.model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.column is None) == (self.value is None):
            raise ValueError('give either `column = "…"` or `value = "…"`')
        if self.value is not None and (self.missing or self.format):
            raise ValueError("`missing` and `format` need `column`; remove them, or replace `value`")
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
            raise ValueError(f'`{value}` has no day and no hour; use a format such as "%d/%m/%Y" or "%H.%M"')
        return value

    @property
    def tells_days_apart(self) -> bool:
        """Whether its format, if any, identifies the day: `%d/%m` makes one day of many."""
        if self.format is None or self.format in FORMATS:
            return self.format in (None, "epoch")
        return _read_back(self.format).date() == _A_MOMENT.date()


_A_MOMENT = datetime(2016, 12, 31, 17, 5, tzinfo=UTC)


def _read_back(written: str) -> datetime:
    """A sample moment, written in a format and read back; ValueError if that fails."""
    return datetime.strptime(_A_MOMENT.strftime(written), written)


def _table_name(value: str) -> str:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*){0,2}", value):
        raise ValueError(
            f"`{value}` is not a table name such as `trips` or `transit.trips`; create a view with a plain name"
        )
    return value


_FROM_ITS_NAME = BeforeValidator(lambda value: {"column": value} if isinstance(value, str) else value)
Engine = Literal["duckdb", "spark", "adbc"]
Minutes = Annotated[int, Field(ge=1, le=1440, strict=True)]
LineNumber = Annotated[int, Field(ge=1, le=1000, strict=True)]


class Taps(Frozen):
    """Which rows are taps on and taps off, and how they are paired. Other rows are ignored."""

    on: Texts
    """Values of `tap` that mean tap on."""
    off: Texts = ()
    """Values of `tap` that mean tap off."""
    within_minutes: Minutes = 180
    """Maximum time in minutes between the two taps of a trip."""
    same: Literal["mode", "vehicle", "card"] = "mode"
    """What the two taps of a trip must have in common, in addition to the card."""

    @pydantic.model_validator(mode="after")
    def _distinguished(self) -> Self:
        if not self.on and not self.off:
            raise ValueError("list the values that mean on, or off")
        for word in sorted({text.strip() for text in self.on} & {text.strip() for text in self.off}):
            raise ValueError(f"`{word}` cannot mean both on and off")
        return self


class Counts(Frozen):
    """Rows that are counts: the maximum number of trips counted per row."""

    most: Annotated[int, Field(ge=1, le=10**9, strict=True)] = 1_000_000
    """Maximum number of trips per row; larger numbers count as this, so that one trip changes a cell by at most one."""


class Source(Frozen):
    """Where the trips are, and which of their columns are read."""

    path: Texts = ()
    """The files: a name, a pattern such as `"trips/*.parquet"`, or a list of them. CSV, CSV.gz, Parquet, .xlsx."""
    engine: Engine = "duckdb"
    """Counting engine: `duckdb` (built in), `spark` (your Spark session) or `adbc` (your PostgreSQL database)."""
    table: Annotated[str, AfterValidator(_table_name)] | None = None
    """Instead of files: the table or view with the trips in the engine, such as `"transit.trips"`."""
    columns: dict[Name, Annotated[SourceColumn, _FROM_ITS_NAME]]
    """Columns of the plan, each with the name of your column, or with a section of its own."""
    shape: Literal["trips", "taps", "counts"] = "trips"
    """What a row is: a trip, a tap, or a number of trips (column `count`)."""
    taps: Taps | None = None
    """With `shape = "taps"`: which rows are taps, and how they are paired."""
    counts: Counts | None = None
    """With `shape = "counts"`: the maximum number of trips per row."""
    encoding: Encoding = "utf-8"
    """Encoding of CSV files."""
    delimiter: Delimiter | None = None
    """Field separator of CSV files; detected in the header by default. A tab is `"\\t"`."""
    header_line: LineNumber | None = None
    """Line, or row of a sheet, with the column names, where a title stands above it; the first by default."""
    first_trip_line: LineNumber | None = None
    """Line of the first trip, where a second header or units stand above it; the one after the header by default."""
    sheet: Text | None = None
    """Sheet of Excel workbooks with the trips; not needed if there is only one."""
    dates: Literal["calendar", "service", "labels"] = "calendar"
    """`calendar`: dates and timestamps; `service`: dates of service days; `labels`: any text, unchanged."""
    day_starts: Clock = 0
    """Start of a day; a trip before this time belongs to the day before."""
    timezone: Annotated[str, AfterValidator(known_zone)] | None = None
    """Time zone, such as `"Australia/Sydney"`; required if times have an offset from UTC."""
    max_refused: Exact = Fraction(1, 100)
    """Maximum share of unreadable rows; with more, nothing is released."""
    first_day: date | None = None
    """First day to count. Releases of different days do not add up in the ledger."""
    last_day: date | None = None
    """Last day to count."""
    modes: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Modes to count; all by default."""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _both_ends(cls, data: Any) -> Any:
        """Where a row is one tap, its time and place are those of either end of a trip."""
        columns = data.get("columns") if isinstance(data, dict) and data.get("shape") == "taps" else None
        if not isinstance(columns, dict):
            return data
        ends = {end: columns[ours] for ours, both in ENDS.items() if ours in columns for end in both}
        if set(ends) & set(columns):
            raise ValueError('shape = "taps" uses `tap_time` and `tap_location`; remove tap_on_… and tap_off_…')
        others = {ours: theirs for ours, theirs in columns.items() if ours not in ENDS}
        return {**data, "columns": {**others, **ends}}

    @pydantic.model_validator(mode="after")
    def _one_place_and_shape(self) -> Self:
        if bool(self.path) == bool(self.table):
            raise ValueError('give either files, `path = "…"`, or the table of an engine, `table = "…"`')
        if self.table and self.engine == "duckdb":
            raise ValueError('`table` needs engine = "spark" or "adbc"; the built-in engine reads files: `path = "…"`')
        if self.path and self.engine == "adbc":
            raise ValueError('engine = "adbc" counts in a database; replace `path` by `table = "…"`')
        if self.shape == "taps" and self.taps is None:
            words = 'shape = "taps" needs a section [source.taps] with on = […] and off = […]'
            raise ValueError(words)
        if self.shape != "taps" and self.taps is not None:
            raise ValueError('[source.taps] needs shape = "taps" under [source]')
        if self.counts is not None and self.shape != "counts":
            raise ValueError('[source.counts] needs shape = "counts" under [source]')
        if self.shape == "counts" and (COUNT not in self.columns or self.columns[COUNT].column is None):
            raise ValueError(
                f'shape = "counts" needs `{COUNT}` under [source.columns], the column with the number of trips'
            )
        if self.taps and (TAP not in self.columns or self.columns[TAP].column is None):
            raise ValueError(f'shape = "taps" needs `{TAP}` under [source.columns], the column with on or off')
        return self

    @pydantic.model_validator(mode="after")
    def _trips_below_the_header(self) -> Self:
        if self.first_trip_line is not None and self.first_trip_line <= (self.header_line or 1):
            raise ValueError("first_trip_line must come after the header (header_line, or else the first line)")
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
        """The column of card IDs in the files, if the plan names one."""
        return self.columns[CARD].column if CARD in self.columns else None

    @property
    def calendar(self) -> bool:
        """Whether dates are calendar dates, not labels."""
        return self.dates != "labels"

    @property
    def can_name_days(self) -> bool:
        """Whether a plan can name the days it covers: the files give the date of every trip."""
        dated = self.columns.get("date")
        return dated is not None and dated.column is not None and self.kind("date") == "date" and self.calendar

    @property
    def day_follows_time(self) -> bool:
        """Whether the day of a trip depends on its time: before 04:00 it is still the day before."""
        return self.day_starts > 0 and self.dates == "calendar" and "date" in self.columns and bool(self.deciding)

    @property
    def deciding(self) -> tuple[str, ...]:
        """The time columns that decide the day of a trip: the first with a value counts."""
        return tuple(name for name in ("tap_on_time", "tap_off_time") if name in self.columns)

    def missing(self, name: str) -> frozenset[str]:
        """Texts, other than the empty one, that stand for a missing value of a column."""
        return frozenset(text.strip() for text in self.columns[name].missing)

    def kind(self, name: str) -> Kind:
        """The kind of the values of a column."""
        return self.columns[name].kind or KINDS.get(name, "label")
