"""Shapes: how published tables become the files that an agency's readers know. Data, not code: TOML, or a manifest.

A shape names files, their columns and order, and from which tables their numbers are; it decides nothing by a trip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from tapveil.base.template import Part, Template
from tapveil.base.types import Clock, Frozen, Name

Text = Annotated[str, Field(min_length=1, max_length=100)]
Number = Literal["count", "low", "high", "share"]
MOST_COLUMNS, MOST_FILES, MOST_WORDS = 40, 20, 100
HOUR = "hour"
DAYS = "days"
"""The key that stands for the days behind a row."""
OF_THE_DAYS = ("first", "last", "number", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
END, MOMENT, END_MOMENT = "end", "moment", "end_moment"
OF_A_TIME = (END, MOMENT, END_MOMENT)
"""What a template may say of a time: the end of its bin, and both on the first of the days behind the row."""


@dataclass(frozen=True)
class Tables:
    """The tables of a release, the finest first: what files of shapes can be made from."""

    partition: tuple[str, ...]
    """The columns that split every table."""
    own: Mapping[str, tuple[str, ...]]
    """The columns of each table, by its name."""
    of_days: Set[str] = frozenset()
    """The columns that follow from the day, and the date."""
    only_exact: bool = False
    """Whether files are made from tables with just the columns that they name, as in version 1."""

    def keys(self, name: str) -> tuple[str, ...]:
        """All columns that distinguish the cells of a table."""
        return (*self.partition, *self.own[name])


class ShapeColumn(Frozen):
    """A column of a file: a key, a text made of keys, a number, or the same text in each row."""

    name: Text
    """Name of the column in the file. With `across` of the file: a name with that key in braces, such as
    `HR_{time:%-H}`, is a column for each of its values."""
    key: Name | None = None
    """Key that it holds: a column of the tables, or one of `keys`."""
    words: Annotated[dict[Text, Text], Field(max_length=MOST_WORDS)] = Field(default={})
    """With `key` or `text`: what labels are called in the file; others keep their name."""
    format: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    """With `key`, for days, periods and times: such as `%Y%m%d` or `%H:%M`; `hour` writes 7 for 07:00."""
    text: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Or: a text with keys in braces, such as `{date:%Y%m%d}`, `{tap_on_location.latitude}` or `{days.number}`."""
    count: Name | None = None
    """Or: the count of one of `tables`."""
    low: Name | None = None
    """Or: the lower end of its 95 % interval."""
    high: Name | None = None
    """Or: the upper end of its 95 % interval."""
    share: Name | None = None
    """Or: its count in per cent of the sum of all rows with the same `within`."""
    within: Annotated[tuple[Name, ...], Field(max_length=10)] = Field(default=())
    """With `share`: keys."""
    per: Literal["day"] | None = None
    """With a number: `day` divides it by the number of days behind the row."""
    digits: Annotated[int, Field(ge=0, le=9)] | None = None
    """With `share` and `per`: how many decimals are written; 2 by default."""
    between: tuple[Clock, Clock] | None = None
    """With `count` and `across` of the file: the sum from one time of day to another, such as `["07:00", "10:00"]`."""
    value: Annotated[str, Field(max_length=100)] | None = None
    """Or: a text, the same in each row, which may be empty. With `optional`: what is written without the key."""
    optional: bool = False
    """With `key` or `text`: tables may lack its keys, and public lists what it says of a place."""

    @pydantic.model_validator(mode="after")
    def _one_content(self) -> Self:
        given = [self.key, self.text, self.count, self.low, self.high, self.share]
        if not self.optional or not (self.key or self.text):
            given.append(self.value)
        if len([each for each in given if each is not None]) != 1:
            raise ValueError("give exactly one of `key`, `text`, `count`, `low`, `high`, `share` and `value`")
        if (self.words or self.optional) and not (self.key or self.text):
            raise ValueError("`words` and `optional` need `key` or `text`")
        if self.format and not self.key:
            raise ValueError("`format` needs `key`")
        if (self.per and not self.number) or (self.share and self.per):
            raise ValueError("`per` needs `count`, `low` or `high`")
        if self.within and not self.share:
            raise ValueError("`within` needs `share`")
        if self.digits is not None and not (self.per or self.share):
            raise ValueError("`digits` needs `share` or `per`")
        if self.between and not self.count:
            raise ValueError("`between` needs `count`")
        _ = self.template, self.named
        return self

    @property
    def number(self) -> tuple[Number, str] | None:
        """Which number it is, and of which table."""
        given: dict[Number, str | None] = {
            "count": self.count,
            "low": self.low,
            "high": self.high,
            "share": self.share,
        }
        return next(((number, table) for number, table in given.items() if table), None)

    @cached_property
    def template(self) -> Template | None:
        """The text that it writes of the keys of a row."""
        if self.key:
            form = "%-H" if self.format == HOUR else self.format
            return Template(f"{{{self.key}{f':{form}' if form else ''}}}")
        return Template(self.text) if self.text else None

    @cached_property
    def named(self) -> Template:
        """Its name, which may have a key."""
        return Template(self.name)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it writes."""
        return self.template.keys if self.template else ()

    @property
    def decimals(self) -> int | None:
        """How many decimals its numbers have; None where they are whole."""
        return (2 if self.digits is None else self.digits) if self.per or self.share else None


class Rest(Frozen):
    """Rows for what a coarser table counts beyond the rows of a finer one, in the place of a mask.

    They are there if the release has such a table.
    """

    key: Name
    """The key that the coarser table lacks; all others it has."""
    word: Text
    """What such rows have there."""


class ShapeFile(Frozen):
    """A file: its columns, and the tables that it is made from."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9{][A-Za-z0-9_{}:.%-]{0,99}\.(csv|txt|xlsx)$")]
    """Name of the file: `.csv`, `.txt` or `.xlsx`. With a key in braces, such as `taps-{month}.csv`, there is a file
    for each of its values: of `mode`, and of keys that follow from the day."""
    sheet: Annotated[str, Field(min_length=1, max_length=31, pattern=r"^[^\[\]:*?/\\]+$")] | None = None
    """Of a workbook (`.xlsx`): the name of the sheet. Files with one name are sheets of one workbook."""
    tables: Annotated[dict[Name, tuple[Name, ...]], Field(min_length=1, max_length=4)]
    """Tables in one row, each by a name of its own and with its columns. The file is made if a release has them all; of
    several files with one name, the first that can be made."""
    keys: Annotated[dict[Name, tuple[Name, ...]], Field(max_length=10)] = Field(default={})
    """Keys that the tables call differently, such as `time = ["tap_on_time", "tap_off_time"]`."""
    column: Annotated[tuple[ShapeColumn, ...], Field(min_length=1, max_length=MOST_COLUMNS)]
    """Columns, in their order."""
    above: Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(max_length=10)] = Field(default=())
    """Lines above the names of the columns."""
    header: bool = True
    """Whether the first line has the names of the columns."""
    delimiter: Literal[",", ";", "\t", "|"] = ","
    """Field separator."""
    decimal: Literal[".", ","] = "."
    """Decimal separator."""
    missing: Annotated[str, Field(max_length=100)] = ""
    """What stands for a number that was not published."""
    complete: bool = False
    """Whether to leave out cells without a time (`-1`) or with an unknown place."""
    zeros: bool = False
    """Of estimates: whether to write rows in which all numbers are 0."""
    across: Name | None = None
    """Key whose values are columns and not rows: a time, or a key that follows from the day."""
    sum: Annotated[tuple[Name, ...], Field(max_length=10)] = Field(default=())
    """Keys that the file does not have: cells are added up over them, as far as they were published."""
    merge: bool = False
    """Whether rows that would be written alike are added up, as far as they were published: where `words` call several
    labels the same."""
    stack: Name | None = None
    """Key that says of which table a row is, by its name in `tables`: its rows are one below the other, and numbers are
    of the table called by this key. The file is made if a release has one of the tables."""
    rest: Rest | None = None
    """Rows for what a coarser table counts beyond the rows of the only table of this file."""

    @pydantic.model_validator(mode="after")
    def _of_its_tables(self) -> Self:
        known = {self.stack} if self.stack else {*self.tables}
        for column in self.column:
            if column.number and column.number[1] not in known:
                raise ValueError(f"column `{column.name}` is of `{column.number[1]}`, which is not one of `tables`")
        if not any(column.number for column in self.column) and any(column.keys != (DAYS,) for column in self._made):
            raise ValueError(f"`{self.name}` has no column with a number")
        if self.name.endswith(".xlsx") != bool(self.sheet):
            raise ValueError(f"`{self.name}`: `sheet` is for workbooks, which need it")
        _ = self.named
        for wrong in self._contradictions():
            raise ValueError(wrong)
        return self

    def _contradictions(self) -> Iterator[str]:
        numbers = {column.number[0] for column in self.column if column.number}
        if self.sum and numbers & {"low", "high"}:
            yield "`low` and `high` cannot be added up; leave out `sum`"
        shown = {key for column in self._made for key in column.keys} | {*self.named.keys}
        if gone := next((key for key in (*self.sum, self.across) if key in shown), None):
            yield f"`{gone}` is in a column or in the name, and so neither `across` nor added up"
        wide = [column for column in self.column if column.named.parts]
        if any(column.named.keys != (self.across,) or not column.number for column in wide):
            yield "a name of a column has a key in braces that is not `across`, or is not that of a number"
        if self.across and ("share" in numbers or self.stack or self.rest):
            yield "`across` has neither shares, nor `stack`, nor `rest`"
        if self.across and any(
            column.number and column.number[0] != "count" for column in self.column if column not in wide
        ):
            yield "with `across`, a column without a key in its name is a sum, and so a `count`"
        if any(column.between for column in self.column if not self.across or column in wide):
            yield "`between` is for a sum over `across`"
        if self.rest and (len(self.tables) > 1 or self.stack):
            yield "`rest` is for files of one table"
        if self.merge and (self.across or numbers != {"count"}):
            yield "`merge` adds up counts, and is not for `across`"
        for column in self.column:
            for part in (*column.named.parts, *(column.template.parts if column.template else ())):
                if part.key == DAYS and part.fact not in OF_THE_DAYS:
                    yield f"`{column.name}`: `days` has {', '.join(OF_THE_DAYS)}"

    @property
    def _made(self) -> Iterator[ShapeColumn]:
        return (column for column in self.column if column.template)

    @cached_property
    def named(self) -> Template:
        """Its name, which may have keys."""
        return Template(self.name)

    @property
    def identity(self) -> tuple[str, str | None]:
        """What no other file of a release has: the name, and the sheet."""
        return self.name, self.sheet

    @property
    def has_rows(self) -> bool:
        """Whether it has rows of tables; others have one row, of all days."""
        return any(column.number for column in self.column)

    def key_of(self, column: str) -> str:
        """What this file calls a column of a table."""
        return next((key for key, columns in self.keys.items() if column in columns), column)

    def facts(self) -> Iterator[tuple[ShapeColumn, Part]]:
        """What it says of places, from public lists."""
        for column in self.column:
            parts = column.template.parts if column.template else ()
            yield from (
                (column, part) for part in parts if part.fact and part.key != DAYS and part.fact not in OF_A_TIME
            )

    @cached_property
    def written(self) -> Mapping[str, bool]:
        """The keys that it writes, and whether tables must have them."""
        found = {key: True for key in (*self.named.keys, *([self.across] if self.across else []))}
        for column in self._made:
            for key in column.keys:
                found[key] = found.get(key, False) or not column.optional
        return {key: needed for key, needed in found.items() if key not in (DAYS, self.stack)}

    @property
    def tells_days(self) -> bool:
        """Whether a row says of which days it is, whatever columns follow from these."""
        parts = [part for column in self._made if column.template for part in column.template.parts]
        return any(part.key == DAYS or part.fact in (MOMENT, END_MOMENT) for part in parts)

    def made_from(self, tables: Tables) -> dict[str, str] | None:
        """The tables of a release that it is made from, by their names in it; None where it lacks one."""
        names = {called: self._with(tables, set(columns)) for called, columns in self.tables.items()}
        known = {called: name for called, name in names.items() if name is not None}
        return known if known and (self.stack or len(known) == len(names)) else None

    def _with(self, tables: Tables, wanted: Set[str]) -> str | None:
        """The table with these columns, and with the most others that the file has columns for; the finest such."""
        if tables.only_exact:
            return next((name for name, own in tables.own.items() if set(own) == wanted), None)
        shown = {*self.written, *self.sum}
        fits = [
            name
            for name, own in tables.own.items()
            if wanted <= {*own, *tables.partition}
            and len({self.key_of(column) for column in own}) == len(own)
            and all(
                self.key_of(more) in shown or (more in tables.of_days and self.tells_days) for more in set(own) - wanted
            )
        ]
        return max(fits, key=lambda name: len(tables.own[name]), default=None)

    def rest_of(self, tables: Tables, fine: str) -> str | None:
        """The coarser table of `rest`, if a release has it: with all columns of the finer one but its key."""
        if self.rest is None:
            return None
        wanted = {column for column in tables.own[fine] if self.key_of(column) != self.rest.key}
        return next((name for name, own in tables.own.items() if set(own) == wanted), None)

    def fault(self, called: Mapping[str, Sequence[str]], of_days: Set[str]) -> str | None:
        """What is wrong with it for tables of these columns, those of the partition included.

        `of_days`: the columns that follow from the day.
        """
        sets = []
        for name, columns in called.items():
            keys = [self.key_of(column) for column in columns]
            told = {*self.written, *self.sum, *(of_days if self.tells_days or not self.has_rows else ())}
            if missing := next((key for key in keys if key not in told and self.has_rows), None):
                return f"has no column for `{missing}`, by which {name} is split"
            if unknown := next((key for key, needed in self.written.items() if needed and key not in keys), None):
                return f"has a column for `{unknown}`, which {name} does not have"
            within = (key for column in self.column for key in column.within)
            if unknown := next((key for key in within if key not in {*keys} - {*self.sum}), None):
                return f"has a share within `{unknown}`, by which {name} is not split"
            sets.append({*keys} - {*self.sum})
        if any(keys != sets[0] for keys in sets) and self.has_rows:
            return f"has rows of tables that are not split by the same columns: {', '.join(called)}"
        return None


class Shape(Frozen):
    """Files that are made from published tables."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    """Whose files these are."""
    file: Annotated[tuple[ShapeFile, ...], Field(min_length=1, max_length=MOST_FILES)]
    """The files."""

    def made(self, tables: Tables) -> list[tuple[ShapeFile, dict[str, str]]]:
        """The files that a release has the tables for, each with the names of these; ValueError where one has none."""
        found: dict[tuple[str, str | None], tuple[ShapeFile, dict[str, str]]] = {}
        for file in self.file:
            if file.identity not in found and (known := file.made_from(tables)):
                found[file.identity] = file, known
        if not found:
            wanted = " or ".join(
                " and ".join(" × ".join(columns) for columns in file.tables.values()) for file in self.file
            )
            raise ValueError(f"no file can be made: it needs tables with the columns {wanted}")
        for file, known in found.values():
            if fault := file.fault({name: tables.keys(name) for name in known.values()}, tables.of_days):
                raise ValueError(f"{file.name} {fault}")
        return list(found.values())
