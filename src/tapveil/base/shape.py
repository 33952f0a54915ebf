"""Shapes: how published tables become the files that an agency's readers know. Data, not code: TOML, or a manifest.

A shape names files, their columns and order, and from which tables their numbers are; it decides nothing by a trip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from tapveil.base.types import Frozen, Name

Text = Annotated[str, Field(min_length=1, max_length=100)]
Number = Literal["count", "low", "high"]
MOST_COLUMNS, MOST_FILES, MOST_WORDS = 40, 10, 100


class ShapeColumn(Frozen):
    """A column of a file: a key, a number, or the same text in each row."""

    name: Text
    """Name of the column in the file."""
    key: Name | None = None
    """Key that it holds: a column of the tables, or one of `keys`."""
    words: Annotated[dict[Text, Text], Field(max_length=MOST_WORDS)] = Field(default={})
    """With `key`: what labels are called in the file; others keep their name."""
    format: Literal["hour"] | None = None
    """With `key`, for times: `hour` writes 7 for 07:00."""
    count: Name | None = None
    """Or: the count of one of `tables`."""
    low: Name | None = None
    """Or: the lower end of its 95 % interval."""
    high: Name | None = None
    """Or: the upper end of its 95 % interval."""
    value: Text | None = None
    """Or: a text, the same in each row."""

    @pydantic.model_validator(mode="after")
    def _one_content(self) -> Self:
        if len([each for each in (self.key, self.count, self.low, self.high, self.value) if each]) != 1:
            raise ValueError("give exactly one of `key`, `count`, `low`, `high` and `value`")
        if (self.words or self.format) and not self.key:
            raise ValueError("`words` and `format` need `key`")
        return self

    @property
    def number(self) -> tuple[Number, str] | None:
        """Which number it is, and of which table."""
        given: dict[Number, str | None] = {"count": self.count, "low": self.low, "high": self.high}
        return next(((number, table) for number, table in given.items() if table), None)


class ShapeFile(Frozen):
    """A file: its columns, and the tables that it is made from."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}\.(csv|txt)$")]
    """Name of the file."""
    tables: Annotated[dict[Name, tuple[Name, ...]], Field(min_length=1, max_length=4)]
    """Tables in one row, each by a name of its own and with its columns. The file is made if a release has them all."""
    keys: Annotated[dict[Name, tuple[Name, ...]], Field(max_length=10)] = Field(default={})
    """Keys that the tables call differently, such as `time = ["tap_on_time", "tap_off_time"]`."""
    column: Annotated[tuple[ShapeColumn, ...], Field(min_length=1, max_length=MOST_COLUMNS)]
    """Columns, in their order."""
    header: bool = True
    """Whether the first line has the names of the columns."""
    delimiter: Literal[",", ";", "\t", "|"] = ","
    """Field separator."""
    missing: Annotated[str, Field(max_length=100)] = ""
    """What stands for a number that was not published."""
    complete: bool = False
    """Whether to leave out cells without a time (`-1`) or with an unknown place."""

    @pydantic.model_validator(mode="after")
    def _of_its_tables(self) -> Self:
        for column in self.column:
            if column.number and column.number[1] not in self.tables:
                raise ValueError(f"column `{column.name}` is of `{column.number[1]}`, which is not one of `tables`")
        if not any(column.number for column in self.column):
            raise ValueError(f"`{self.name}` has no column with a number")
        return self

    def key_of(self, column: str) -> str:
        """What this file calls a column of a table."""
        return next((key for key, columns in self.keys.items() if column in columns), column)


class Shape(Frozen):
    """Files that are made from published tables."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    """Whose files these are."""
    file: Annotated[tuple[ShapeFile, ...], Field(min_length=1, max_length=MOST_FILES)]
    """The files."""

    @pydantic.model_validator(mode="after")
    def _names_apart(self) -> Self:
        if len({file.name for file in self.file}) < len(self.file):
            raise ValueError("two files have the same name")
        return self

    def made(
        self, partition: Iterable[str], tables: Mapping[str, tuple[str, ...]]
    ) -> list[tuple[ShapeFile, dict[str, str]]]:
        """The files that a release has the tables for, each with the names of these; ValueError where one has none.

        `tables`: the columns of those at the plan's own level.
        """
        found = []
        for file in self.file:
            names = {each: _with(tables, columns) for each, columns in file.tables.items()}
            known = {each: name for each, name in names.items() if name is not None}
            if len(known) == len(names):
                found.append((file, known))
        if not found:
            wanted = " or ".join(
                " and ".join(" × ".join(columns) for columns in file.tables.values()) for file in self.file
            )
            raise ValueError(f"no file can be made: it needs tables with the columns {wanted}")
        for file, known in found:
            written = {column.key for column in file.column if column.key}
            for name in known.values():
                keys = [file.key_of(column) for column in (*partition, *tables[name])]
                if missing := next((key for key in keys if key not in written), None):
                    raise ValueError(f"{file.name} has no column for `{missing}`, by which {name} is split")
                if unknown := next((key for key in written if key not in keys), None):
                    raise ValueError(f"{file.name} has a column for `{unknown}`, which {name} does not have")
        return found


def _with(tables: Mapping[str, tuple[str, ...]], columns: tuple[str, ...]) -> str | None:
    return next((name for name, own in tables.items() if set(own) == set(columns)), None)
