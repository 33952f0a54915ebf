"""A table of published numbers, for the analyst: every number with its interval, sums and differences with theirs.

A cell that is not there comes with what that means. Nothing here can see more than the folder holds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from tapveil.base.errors import ReaderError, did_you_mean
from tapveil.base.vocabulary import COUNT, HIGH, LOW, NUMBERS
from tapveil.privacy.distribution import spread, variance
from tapveil.privacy.intervals import MISS, Interval, given_published, interval
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.columns import Column, texts, whole_numbers

Ints = npt.NDArray[np.int64]
ROWS_SHOWN = 20
LEANING = 3
"""How steeply the number of cells falls with their size, at most: as its third power. By so much small numbers lean."""
PUBLISHED = "published"
"""The column of a profile that tells a number from a cell that was not published."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; without a number where a cell was not published.

    >>> from tapveil import Estimate
    >>> print(Estimate(1_250, 1_230, 1_270))
    1,250 (between 1,230 and 1,270)
    """

    count: int | None
    """The published number, or None."""
    low: int
    """The lower end of its 95 % interval."""
    high: int
    """The upper end of its 95 % interval."""

    def __str__(self) -> str:
        if self.count is None:
            return f"not published: between {self.low:,} and {self.high:,}"
        return f"{self.count:,} (between {self.low:,} and {self.high:,})"


@dataclass(frozen=True, eq=False)
class Frame:
    """A table of numbers: key columns, then `count`, `low` and `high`."""

    cells: Mapping[str, Column]
    """The columns, as NumPy arrays: texts, then whole numbers, masked where there is no number."""
    keys: tuple[str, ...]
    """The columns that say which cell it is."""
    mechanism: Mechanism | None = None
    """What the numbers went through, where each cell is as it was published."""
    known: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """All values that a column can have, where that is known: parts and times."""
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """All values that other columns have anywhere in the folder, or in its public lists."""
    adds_up: bool = True
    """Whether its rows are cells apart: differences, and profiles with cells that are not there, cannot be added up."""
    calendar: Mapping[str, Column] = field(default_factory=dict)
    """The days that it is of, each with its label in every column that follows from the day; none where not known."""

    def __len__(self) -> int:
        return next((len(column) for column in self.cells.values()), 0)

    def __repr__(self) -> str:
        shown = [[name, *map(_text, column[:ROWS_SHOWN].tolist())] for name, column in self.cells.items()]
        padded = [[text.ljust(max(map(len, column))) for text in column] for column in shown]
        more = [f"… and {len(self) - ROWS_SHOWN:,} more rows"] if len(self) > ROWS_SHOWN else []
        return "\n".join(["  ".join(row).rstrip() for row in zip(*padded, strict=True)] + more)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.cells)

    def rows(self) -> list[dict[str, Any]]:
        """The rows, as plain Python values.

        Returns:
            One mapping per row, from column to text, whole number or None.

        Example:
            >>> import tapveil
            >>> row = tapveil.open("published").totals.rows()[0]
            >>> list(row), row["date"]
            (['mode', 'date', 'count', 'low', 'high'], '2025-03-03')
        """
        columns = [column.tolist() for column in self.cells.values()]
        return [dict(zip(self.cells, row, strict=True)) for row in zip(*columns, strict=True)]

    # --- as other libraries have it -----------------------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """The table as an Arrow table; days are dates. Needs pyarrow.

        Returns:
            A `pyarrow.Table`.

        Raises:
            ReaderError: pyarrow is not installed.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").totals.to_arrow().schema.names
            ['mode', 'date', 'count', 'low', 'high']
        """
        arrow = load_optional("pyarrow")

        def as_arrow(column: Column) -> Any:
            # Of a column without rows, nobody could tell that it holds texts.
            return arrow.array(
                column.tolist() if column.dtype == object else np.ma.getdata(column),
                arrow.string() if column.dtype == object else None,
                mask=np.ma.getmaskarray(column) if np.ma.isMaskedArray(column) else None,
            )

        return arrow.table({name: as_arrow(column) for name, column in self._with_days().items()})

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame; days are timestamps, a missing number is `<NA>`. Needs pandas.

        Returns:
            A `pandas.DataFrame`.

        Raises:
            ReaderError: pandas is not installed.

        Example:
            >>> import tapveil
            >>> list(tapveil.open("published").totals.to_pandas().columns)
            ['mode', 'date', 'count', 'low', 'high']
        """
        pandas = load_optional("pandas")

        def as_pandas(column: Column) -> Any:
            if not np.ma.isMaskedArray(column):
                return column
            return pandas.arrays.IntegerArray(np.ma.getdata(column), np.ma.getmaskarray(column))

        return pandas.DataFrame({name: as_pandas(column) for name, column in self._with_days().items()})

    def to_polars(self) -> Any:
        """The table as a Polars DataFrame; days are dates. Needs polars.

        Returns:
            A `polars.DataFrame`.

        Raises:
            ReaderError: polars is not installed.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").totals.to_polars().columns
            ['mode', 'date', 'count', 'low', 'high']
        """
        polars = load_optional("polars")
        types = {"O": polars.String, "i": polars.Int64, "b": polars.Boolean, "M": polars.Date, "f": polars.Float64}
        columns = self._with_days().items()
        return polars.DataFrame(
            [polars.Series(name, column.tolist(), types[column.dtype.kind]) for name, column in columns]
        )

    def to_duckdb(self) -> Any:
        """The table as a DuckDB relation; days are dates. Needs duckdb and pyarrow.

        Returns:
            A `duckdb.DuckDBPyRelation`.

        Raises:
            ReaderError: duckdb or pyarrow is not installed.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").totals.to_duckdb().columns
            ['mode', 'date', 'count', 'low', 'high']
        """
        return load_optional("duckdb").from_arrow(self.to_arrow())

    def _with_days(self) -> dict[str, Column]:
        """The columns, with days as days where `date` holds them."""
        cells = dict(self.cells)
        if "date" in cells and all(map(_DAY.fullmatch, set(cells["date"].tolist()))):
            cells["date"] = cells["date"].astype("datetime64[D]")
        return cells

    # --- questions ----------------------------------------------------------------------------------------------------

    def where(self, **values: str | date) -> Frame:
        """Keep the rows that have these values, and drop their columns.

        Args:
            **values: A value for each of some key columns, such as `mode="train", date="2025-03-03"`.

        Returns:
            The rows that match; none where nothing was published.

        Raises:
            ReaderError: There is no such column; or no such day, mode or time; or the value, such as a place, occurs
                nowhere in the folder.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").table("on_time").where(mode="ferry", date="2025-03-03").columns
            ['tap_on_time', 'count', 'low', 'high']
        """
        kept = np.ones(len(self), dtype=bool)
        for key, value in values.items():
            self._require(key)
            found = self.cells[key] == str(value)
            if not found.any():
                self._require_value(key, str(value))
            kept &= found
        cells = {name: column[kept] for name, column in self.cells.items() if name not in values}
        calendar = self.calendar
        for key in (key for key in values if key in calendar):
            calendar = {name: labels[calendar[key] == str(values[key])] for name, labels in calendar.items()}
        keys = tuple(key for key in self.keys if key not in values)
        return replace(self, cells=cells, keys=keys, calendar=calendar)

    def _require(self, key: str) -> None:
        if key not in self.keys:
            hint = did_you_mean(key, self.keys) or f" (columns: {', '.join(self.keys)})"
            raise ReaderError(f"there is no column `{key}`{hint}")

    def _require_value(self, key: str, value: str) -> None:
        """A misspelt day, mode or place must not look like one with nothing published."""
        known = self.known.get(key, self.names.get(key))
        if known is None or value in known:
            return
        hint = did_you_mean(value, known) or (f" ({', '.join(sorted(known)[:8])}, …)" if known else "")
        noun = "place" if key.endswith("location") else key
        raise ReaderError(f"there is no {noun} `{value}`{'' if key in self.known else ' in the folder'}{hint}")

    def cell(self, **values: str | date) -> Estimate:
        """One cell, whether it was published or not.

        Args:
            **values: A value for each key column.

        Returns:
            Its number and interval; without a number, and with what that means, where it was not published.

        Raises:
            ReaderError: A key column has no value; or there is no such column, day, mode, time or place.

        Example:
            >>> import tapveil
            >>> at_night = tapveil.open("published").table("on_time").where(mode="ferry", date="2025-03-03")
            >>> print(at_night.cell(tap_on_time="02:00"))
            not published: between 0 and 76
        """
        if missing := set(self.keys) - set(values):
            raise ReaderError(f"say which {' and '.join(sorted(missing))}: a cell has a value of each")
        if COUNT not in self.columns:
            raise ReaderError("this table has several sorts of numbers: take its rows with where()")
        if found := self.where(**values).rows():
            return Estimate(found[0][COUNT], found[0][LOW], found[0][HIGH])
        return Estimate(None, 0, self._absent)

    def given_published(self) -> Frame:
        """The same numbers with intervals for whoever picks them because they are printed.

        `low` and `high` of a folder hold for cells, before it is known whether they are printed. These hold for the
        printed ones by themselves: near the smallest number they go down to 1.

        Returns:
            The table with other intervals.

        Raises:
            ReaderError: The numbers are not as they were published.

        Example:
            >>> import tapveil
            >>> table = tapveil.open("published").table("on_time")
            >>> table.given_published().columns == table.columns
            True
        """
        if self.mechanism is None:
            raise ReaderError("only numbers as they were published have such intervals")
        limits = [given_published(self.mechanism, count, MISS) for count in self._numbers(COUNT).tolist()]
        low, high = np.array(limits, np.int64).reshape(-1, 2).T
        return replace(self, cells={**self.cells, LOW: low, HIGH: high})

    @property
    def _absent(self) -> int:
        """What a cell that is not there has, at most."""
        if self.mechanism is None:
            raise ReaderError("what a cell that is not listed has, only the published version says")
        return interval(self.mechanism, MISS).absent

    def sum(self, by: str | Sequence[str] = ()) -> Frame:
        """Add up the listed cells. Cells that are not listed are not in the sum.

        Of published cells, the interval is that of their noise, added up, and below it as much as numbers near the
        smallest may lean. Other numbers hang together, and may all be wrong in the same direction: there the intervals
        themselves are added up.

        Args:
            by: The key columns to keep; none for one sum of everything.

        Returns:
            The sums with their intervals, and in `cells` the number of cells in each.

        Raises:
            ReaderError: There is no such column, or these numbers cannot be added up.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").table("on_location").sum(by="mode").columns
            ['mode', 'count', 'low', 'high', 'cells']
        """
        by = [by] if isinstance(by, str) else list(by)
        for key in by:
            self._require(key)
        if COUNT not in self.columns:
            raise ReaderError("this table has several sorts of numbers: add them up as they are meant")
        if not self.adds_up:
            raise ReaderError(
                "differences and profiles are not added up: add up the table first, with where() and sum()"
            )
        below, above = self._margins()
        rows = list(zip(*(self.cells[key].tolist() for key in by), strict=True)) if by else [()] * len(self)
        groups = sorted(set(rows)) if by else [()]
        place = {group: number for number, group in enumerate(groups)}
        group_of = np.array([place[row] for row in rows], dtype=np.intp)
        counts = np.zeros(len(groups), dtype=np.int64)
        np.add.at(counts, group_of, self._numbers(COUNT))  # whole numbers stay whole
        cells, under, over = (np.bincount(group_of, weights, minlength=len(groups)) for weights in (None, below, above))
        low, high = counts - np.ceil(under).astype(np.int64), counts + np.ceil(over).astype(np.int64)
        if self.mechanism is not None:  # how far the noise of a number of cells goes, added up
            spreads = {
                number: spread({self.mechanism: number}, MISS) if number else 0 for number in set(cells.tolist())
            }
            noise = np.array([spreads[number] for number in cells.tolist()], dtype=np.int64)
            low, high = low - noise, high + noise
        numbers = {COUNT: counts, LOW: np.maximum(low, 0), HIGH: np.maximum(high, 0), "cells": cells}
        return Frame({**_key_columns(by, groups), **numbers}, tuple(by), calendar=self.calendar)

    def per_day(self) -> Frame:
        """Means per day: each number and its interval, divided by the number of days that the cell is of.

        How many days that are is public: it follows from the days of the release, and from its calendar where tables
        have the month, the kind of day or another column that follows from the day.

        Returns:
            The table with `days`, `mean`, `mean_low` and `mean_high` instead of `count`, `low` and `high`; without a
            mean where a cell is of no day.

        Raises:
            ReaderError: The folder does not say which days were counted, or these numbers are no counts.

        Example:
            >>> import tapveil
            >>> release = tapveil.open("published")
            >>> release.totals.per_day() if release.manifest.days else "its plan names no days"
            'its plan names no days'
        """
        if COUNT not in self.columns or np.ma.isMaskedArray(self.cells[COUNT]):
            raise ReaderError("only counts have means per day: take a table, or its sums")
        if not self.calendar:
            raise ReaderError("the folder does not say which days were counted, so there are no means per day")
        dated = [key for key in self.keys if key in self.calendar]
        every, rows = (zip(*(of[key].tolist() for key in dated), strict=True) for of in (self.calendar, self.cells))
        number = len(next(iter(self.calendar.values())))
        of_cell = Counter(every) if dated else {(): number}
        days = np.array([of_cell[row] for row in (rows if dated else [()] * len(self))], dtype=np.int64)
        some = np.where(days > 0, days, np.nan)
        names = {COUNT: "mean", LOW: "mean_low", HIGH: "mean_high"}
        means = {mean: self._numbers(name) / some for name, mean in names.items()}
        keys = {key: self.cells[key] for key in self.keys}
        return replace(self, cells={**keys, "days": days, **means}, mechanism=None, adds_up=False)

    def _margins(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """What each cell adds to the interval of a sum, below and above, in addition to its noise."""
        counts = self._numbers(COUNT)
        if self.mechanism is None:
            return (counts - self._numbers(LOW)).astype(float), (self._numbers(HIGH) - counts).astype(float)
        if self.mechanism.publishes_every_cell:  # none is there because noise raised it
            return np.zeros(len(counts)), np.zeros(len(counts))
        half_width = interval(self.mechanism, MISS).half_width
        lean = np.minimum(LEANING * variance(self.mechanism) / np.maximum(counts, 1), half_width)
        near = counts < self.mechanism.smallest_published + half_width
        return np.where(near, float(half_width), lean), np.zeros(len(counts))

    def _numbers(self, name: str) -> Ints:
        return np.asarray(self.cells[name])

    def minus(self, other: Frame) -> Frame:
        """The difference to another table with the same keys, cell by cell: `today.minus(yesterday)`.

        Where a cell was published in one of them alone, there is no number, only an interval.

        Args:
            other: The table to subtract.

        Returns:
            The differences with their intervals.

        Raises:
            ReaderError: The tables have different columns or times, or are not as they were published.

        Example:
            >>> import tapveil
            >>> ferries = tapveil.open("published").table("on_location").where(mode="ferry")
            >>> monday, tuesday = (ferries.where(date=day) for day in ("2025-03-03", "2025-03-04"))
            >>> tuesday.minus(monday).columns
            ['tap_on_location', 'count', 'low', 'high']
        """
        if self.keys != other.keys:
            raise ReaderError(f"the tables have different columns: {', '.join(self.keys)}; {', '.join(other.keys)}")
        if self.mechanism is None or other.mechanism is None or not (self.adds_up and other.adds_up):
            raise ReaderError("differences are of published tables: each of their cells has noise of its own")
        if any(self.known.get(key) != other.known.get(key) for key in self.keys):
            raise ReaderError("the tables have different bins of time: their cells are not the same")
        # Half of the misses for cells that are both there; of the other half, half for each cell by itself.
        half = spread(Counter([self.mechanism, other.mechanism]), MISS / 2)
        rules = [interval(mechanism, MISS / 4) for mechanism in (self.mechanism, other.mechanism)]
        ours, theirs = self._by_key(), other._by_key()
        names = sorted({*ours, *theirs})
        rows = [_difference(ours.get(key), theirs.get(key), half, rules) for key in names]
        numbers = {name: whole_numbers([row[index] for row in rows]) for index, name in enumerate(NUMBERS)}
        return Frame({**_key_columns(self.keys, names), **numbers}, self.keys, adds_up=False)

    def _by_key(self) -> dict[tuple[str, ...], int]:
        keys = zip(*(self.cells[key].tolist() for key in self.keys), strict=True)
        return dict(zip(keys if self.keys else [()] * len(self), self.cells[COUNT].tolist(), strict=True))

    def filled(self, key: str, values: Sequence[str]) -> Frame:
        """All of these values of a key, in this order; those that were not published without a number.

        Args:
            key: The one key column of the table.
            values: The values to list.

        Returns:
            A row for each value; its column `published` says whether it has a number.

        Raises:
            ReaderError: The table has other key columns, too; or a value occurs nowhere in the folder.

        Example:
            >>> import tapveil
            >>> day = tapveil.open("published").table("on_time").where(mode="ferry", date="2025-03-03")
            >>> day.filled("tap_on_time", ["08:00", "23:00"]).rows()[1]["published"]
            False
        """
        if self.keys != (key,):
            raise ReaderError(
                f"only a table with the one column `{key}` can be filled: say which of the others with where()"
            )
        found = {row[key]: row for row in self.rows()}
        for value in values:
            self._require_value(key, value)
        none: Mapping[str, int | None] = {COUNT: None, LOW: 0, HIGH: self._absent}
        columns = {name: whole_numbers([found.get(value, none)[name] for value in values]) for name in NUMBERS}
        listed = np.array([value in found for value in values], dtype=bool)
        return Frame({key: texts(values), **columns, PUBLISHED: listed}, (key,), self.mechanism, adds_up=False)


def _key_columns(keys: Sequence[str], rows: Sequence[tuple[str, ...]]) -> dict[str, Column]:
    """Key columns from the keys of each row."""
    return {key: texts([row[index] for row in rows]) for index, key in enumerate(keys)}


def _text(value: object) -> str:
    """A value for a screen; what others wrote must not steer it."""
    text = "" if value is None else str(value)
    return text if text.isprintable() else ascii(text)


def _difference(
    ours: int | None, theirs: int | None, half: int, rules: Sequence[Interval]
) -> tuple[int | None, int, int]:
    """The difference, and its interval; no number where one of them was not published."""
    if ours is not None and theirs is not None:
        return ours - theirs, ours - theirs - half, ours - theirs + half
    (low, high), (their_low, their_high) = (rule.of(count) for rule, count in zip(rules, (ours, theirs), strict=True))
    return None, low - their_high, high - their_low


def load_optional(module: str) -> Any:
    """A module of a library that reading does without; ReaderError if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise ReaderError(f"{library} is not installed: `pip install {library}`, or use rows()") from None
