"""A table of published numbers, for the analyst: every number with its interval, sums and differences with theirs.

A cell that is not there comes with what that means. Nothing here can see more than the folder holds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from importlib import import_module
from typing import Any, Literal, TypeGuard

import numpy as np
import numpy.typing as npt

from tapveil.base.errors import ReaderError, did_you_mean
from tapveil.base.vocabulary import COUNT, HIGH, LOW, NUMBERS, WEIGHT
from tapveil.privacy.distribution import spread, variance
from tapveil.privacy.intervals import MISS, given_published, interval
from tapveil.privacy.mechanisms import Gaussian, Mechanism, World
from tapveil.published import change
from tapveil.published.columns import Column, texts, whole_numbers
from tapveil.published.variation import expected_by_chance, noise_quantile

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ROWS_SHOWN = 20
LEANING = 3
"""How steeply the number of cells falls with their size, at most: as its third power. By so much small numbers lean."""
PUBLISHED = "published"
"""The column of a profile that tells a number from a cell that was not published."""
DATE, DEFINITION = "date", "definition"
"""Of a series: which definition a number has, counted from 1; numbers of two definitions are not added up."""
RELEASE = "release"
"""Of a series: which release, or which releases, a number is from."""
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
    chosen: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The values that `where` kept, of each column."""
    history: Frame | None = field(default=None, repr=False)
    """The same cells on all days, by day, where only some days were kept, or days were added up."""
    coarser: Callable[[frozenset[str]], Frame | None] | None = field(default=None, repr=False)
    """Finds the coarsest table with some columns that has every trip of this one, listed here or not."""
    noise: Floats | None = field(default=None, repr=False)
    """The variance of the noise of each number, where that is not the same for all."""
    left_out: Floats | None = field(default=None, repr=False)
    """How much each number leaves out at most; infinite where that is not known."""
    leans: Floats | None = field(default=None, repr=False)
    """Of sums: by how much each may be too high, as its numbers near the smallest are."""
    absents: Mapping[str, float] = field(default_factory=dict, repr=False)
    """By day: what a cell that is not there has, at most; where mechanisms differ from day to day."""
    gaussian: bool = False
    """Whether all noise is Gaussian, where mechanisms differ."""
    parts: Mapping[str, Frame] = field(default_factory=dict, repr=False)
    """Of a series without days: the table of each release by itself, each of whose cells is as it was published."""
    counts: Frame | None = field(default=None, repr=False)
    """Of means per day: the counts that they are of."""
    definition: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of a table of one folder: what its numbers count, by what can change between releases."""

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
            kind = pandas.arrays.BooleanArray if column.dtype == bool else pandas.arrays.IntegerArray
            return kind(np.ma.getdata(column), np.ma.getmaskarray(column))

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

    def where(self, **values: str | date | Collection[str]) -> Frame:
        """Keep the rows that have these values, and drop the columns of which there is one value.

        Args:
            **values: A value for each of some key columns, such as `mode="train", date="2025-03-03"`; or a list of
                values.

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
        release = values.get(RELEASE)
        if isinstance(release, str) and release in self.parts:
            return self.parts[release].where(**{key: value for key, value in values.items() if key != RELEASE})
        kept = np.ones(len(self), dtype=bool)
        chosen, calendar = dict(self.chosen), self.calendar
        for key, value in values.items():
            self._require(key)
            wanted = set(map(_label, value)) if _several(value) else {_label(value)}
            found = _is_in(self.cells[key], wanted)
            for each in wanted if len(wanted) > 1 or not found.any() else ():
                self._require_value(key, each)
            kept &= found
            chosen[key] = chosen.get(key, frozenset(wanted)) & wanted
            if key in calendar:
                calendar = {name: labels[_is_in(calendar[key], wanted)] for name, labels in calendar.items()}
        single = {key for key, value in values.items() if not _several(value)}
        rows = self._only(kept)
        cells = {name: column for name, column in rows.cells.items() if name not in single}
        history = self.history or (self if DATE in values else None)
        if history is not None and (others := {key: value for key, value in values.items() if key != DATE}):
            history = history.where(**others)
        keys = tuple(key for key in self.keys if key not in single)
        rows = replace(rows, cells=cells, keys=keys, calendar=calendar, chosen=chosen, history=history)
        parts, counts = _parts_where(self.parts, values), None if self.counts is None else self.counts.where(**values)
        return replace(rows, parts=parts, counts=counts)

    def between(self, first: str | date, last: str | date) -> Frame:
        """Keep the days from the first to the last.

        Args:
            first: The first day, such as `"2025-03-03"`; or the first month, such as `"2025-03"`, or year.
            last: The last day, month or year.

        Returns:
            The rows of these days.

        Raises:
            ReaderError: The table is not split by the day, or there is no such day in it.

        Example:
            >>> import tapveil
            >>> len(tapveil.open("published").totals.between("2025-03-03", "2025-03-04"))
            2
        """
        self._require(DATE)
        days = [day for day in self.days if str(first) <= day[: len(str(first))] and day[: len(str(last))] <= str(last)]
        if not days:
            raise ReaderError(f"there is no day from {first} to {last} ({self._span()})")
        return self.where(date=days)

    @property
    def days(self) -> list[str]:
        """The days that its numbers are of, in order, as far as they are known."""
        known = self.calendar.get(DATE, self.cells.get(DATE))
        stated = self.chosen.get(DATE) or self.known.get(DATE) or set(() if known is None else known.tolist())
        return sorted(stated)

    def _span(self) -> str:
        return f"it has {self.days[0]} to {self.days[-1]}" if self.days else "it has none"

    def _require(self, key: str) -> None:
        if key in self.cells and key not in self.keys:
            raise ReaderError(f"`{key}` is no key column (key columns: {', '.join(self.keys) or 'none'})")
        if key not in self.keys:
            hint = did_you_mean(key, self.keys) or f" (columns: {', '.join(self.keys)})"
            raise ReaderError(f"there is no column `{key}`{hint}")

    def _require_value(self, key: str, value: str) -> None:
        """A misspelt day, mode or place must not look like one with nothing published."""
        known = self.known.get(key, self.names.get(key))
        if known is None or value in known:
            return
        if key == DATE:
            raise ReaderError(f"there is no day `{value}` ({self._span()})")
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
        return Estimate(None, 0, self._absent if self.mechanism or not self.absents else self._absent_on(values))

    def _absent_on(self, values: Mapping[str, object]) -> int:
        """What a cell of a series that is not there has at most, by its day."""
        days = {_label(values[DATE])} if DATE in values else self.chosen.get(DATE, self.absents.keys())
        most = max(self.absents.get(day, np.inf) for day in days)
        if np.isinf(most):
            raise ReaderError("what a cell that is not listed has, these numbers do not say")
        return int(np.ceil(most))

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
        """Add up cells, those that are not listed too, as far as the folder says what they hold.

        Small cells are not listed. Where a coarser table has all trips that are asked for, such as the table of totals,
        the sum is that of the coarser table. Where there is none, the sum is that of the listed cells, and its interval
        goes up to what cells that are not listed hold at most; if nobody knows how many these are, there is no sum.

        The interval is that of the noise of all cells, added up, and below it as much as numbers near the smallest may
        lean. Numbers that were adjusted hang together: there the intervals themselves are added up.

        Args:
            by: The key columns to keep; none for one sum of everything.

        Returns:
            The sums with their intervals: `count` and `high` are not there where it is not known what is left out. In
            `listed` the sum of the listed cells, in `other` what others add, in `cells` the number of listed cells.

        Raises:
            ReaderError: There is no such column, or these numbers cannot be added up.

        Example:
            >>> import tapveil
            >>> print(tapveil.open("published").table("on_location").sum(by="mode").columns)
            ['mode', 'count', 'low', 'high', 'listed', 'other', 'cells']
        """
        by = [by] if isinstance(by, str) else list(by or ())
        for key in by:
            self._require(key)
        if not self.adds_up:
            raise ReaderError(
                "differences and profiles are not added up: add up the table first, with where() and sum()"
            )
        if COUNT not in self.columns:
            raise ReaderError("this table has several sorts of numbers: add them up as they are meant")
        whole = self._whole(by)
        by += [DEFINITION] if DEFINITION in self.cells else []
        ours, theirs = self._groups(by), whole._groups(by)
        groups = sorted({*ours, *theirs}) if by else [()]
        listed, cells, *_ = self._added(ours, groups)
        counts, found, low, high, noise = whole._added(theirs, groups)
        left_out = whole._left_out(by, found)
        if whole.left_out is not None:  # sums, added up once more
            left_out = left_out + _by_group(theirs, groups, whole.left_out)
        limit = high + np.where(np.isfinite(left_out), np.ceil(left_out), 0).astype(np.int64)
        known = np.isfinite(left_out)
        numbers = {COUNT: counts, LOW: np.maximum(low, 0), HIGH: np.maximum(limit, 0)}
        other = np.maximum(counts - listed, 0)
        numbers = {name: _masked(each, ~known & (name != LOW)) for name, each in numbers.items()}
        numbers |= {"listed": listed, "other": _masked(other, ~known), "cells": cells}
        none = whole._left_out(by, np.zeros(1, np.int64))[0]  # of a day without any listed cell
        keys = _key_columns(by, groups)
        if DEFINITION in keys:
            keys[DEFINITION] = keys[DEFINITION].astype(np.int64)
        history, chosen = self.history, dict(self.chosen)
        if DATE in self.keys and DATE not in by and (history or self)._has_noise:
            history, chosen[DATE] = history or self, frozenset(self.days)
        if history is not None:
            history = history.sum([*(key for key in by if key not in (DATE, DEFINITION)), DATE])
        return Frame(
            {**keys, **numbers},
            tuple(key for key in by if key != DEFINITION),
            known=self.known,
            names=self.names,
            calendar=self.calendar,
            chosen=chosen,
            history=history,
            noise=noise,
            left_out=left_out,
            leans=_by_group(theirs, groups, whole._margins()[0]),
            absents=dict.fromkeys(self.days, none) if DATE in by else {},
            gaussian=whole._is_gaussian,
            definition=self.definition,
        )

    def _whole(self, by: Sequence[str]) -> Frame:
        """The coarsest table with all trips that a sum asks for, and the same rows of it; itself, if there is none."""
        found = None if self.coarser is None else self.coarser(frozenset({*by, *self.chosen}))
        if found is None:
            return self
        for key, values in self.chosen.items():
            found = found._only(_is_in(found.cells[key], values))
        return replace(found, chosen=self.chosen)

    def _only(self, kept: npt.NDArray[np.bool_]) -> Frame:
        """Some of its rows, with what is known of each."""
        noise, left_out, leans = (
            None if each is None else each[kept] for each in (self.noise, self.left_out, self.leans)
        )
        cells = {name: column[kept] for name, column in self.cells.items()}
        return replace(self, cells=cells, noise=noise, left_out=left_out, leans=leans)

    def _groups(self, by: Sequence[str]) -> list[tuple[str, ...]]:
        columns = [self.cells[key].tolist() for key in by]
        return list(zip(*(map(str, column) for column in columns), strict=True)) if by else [()] * len(self)

    def _added(
        self, rows: Sequence[tuple[str, ...]], groups: Sequence[tuple[str, ...]]
    ) -> tuple[Ints, Ints, Ints, Ints, Floats | None]:
        """Of each group: the sum of its rows, how many they are, its limits, and the variance of its noise."""
        place = {group: number for number, group in enumerate(groups)}
        group_of = np.array([place[row] for row in rows], dtype=np.intp)
        counts = np.zeros(len(groups), dtype=np.int64)
        np.add.at(counts, group_of, np.ma.getdata(self._numbers(COUNT)))  # whole numbers stay whole
        below, above = self._margins()
        cells, under, over = (np.bincount(group_of, weights, minlength=len(groups)) for weights in (None, below, above))
        low, high = counts - np.ceil(under).astype(np.int64), counts + np.ceil(over).astype(np.int64)
        noise = None
        if self._has_noise:
            noise = np.bincount(group_of, self._variances(), minlength=len(groups)).astype(np.float64)
        if self.mechanism is not None:  # how far the noise of a number of cells goes, added up
            spreads = {
                number: spread({self.mechanism: number}, MISS) if number else 0 for number in set(cells.tolist())
            }
            reach = np.array([spreads[number] for number in cells.tolist()], dtype=np.int64)
        elif noise is not None:
            reach = np.ceil(noise_quantile(float(MISS), gaussian=self._is_gaussian) * np.sqrt(noise)).astype(np.int64)
        else:
            reach = np.zeros(len(groups), np.int64)
        return counts, cells.astype(np.int64), low - reach, high + reach, noise

    def _left_out(self, by: Sequence[str], cells: Ints) -> Floats:
        """How much cells that are not listed add to each group at most; infinite where nobody knows how many."""
        every = self.mechanism is not None and self.mechanism.publishes_every_cell
        if every or (self.absents and max(self.absents.values()) == 0):
            return np.zeros(len(cells))
        expected = 1
        for key in (key for key in self.keys if key not in by):
            known = self.chosen.get(key) or self.known.get(key)
            if not known:
                return np.full(len(cells), np.inf)
            expected *= len(known)
        missing = np.maximum(expected - cells, 0)
        most = max(self.absents.values(), default=np.inf)
        if self.mechanism is not None:
            most = np.inf if self.mechanism.from_a_list else float(self._absent)
        # Adjusted numbers do not say what a missing cell holds, nor do those of a list.
        return np.where(missing > 0, missing * most, 0.0) if np.isfinite(most) else np.where(missing > 0, np.inf, 0.0)

    @property
    def _has_noise(self) -> bool:
        return self.mechanism is not None or self.noise is not None

    @property
    def _is_gaussian(self) -> bool:
        return self.gaussian if self.mechanism is None else isinstance(self.mechanism, Gaussian | World)

    def _variances(self) -> Floats:
        """The variance of the noise of each number."""
        if self.noise is not None:
            return self.noise
        return np.full(len(self), variance(self.mechanism) if self.mechanism else 0.0)

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
        if COUNT not in self.columns or not (self.adds_up or WEIGHT in self.columns):  # estimates have a weight
            raise ReaderError("only counts have means per day: take a table, or its sums")
        if not self.calendar:
            raise ReaderError("the folder does not say which days were counted, so there are no means per day")
        days = np.array(self._days_of(self._groups(self.keys)), dtype=np.int64)
        some = np.where(days > 0, days, np.nan)
        names = {COUNT: "mean", LOW: "mean_low", HIGH: "mean_high"}
        means = {mean: np.ma.filled(self.cells[name].astype(float), np.nan) / some for name, mean in names.items()}
        keys = {key: self.cells[key] for key in self.keys}
        cells = {**keys, "days": days, **means}
        return replace(self, cells=cells, mechanism=None, adds_up=False, history=None, parts={}, counts=self)

    def _days_of(self, groups: Sequence[tuple[str, ...]]) -> list[int]:
        """How many days cells with these keys are of: those that have the labels of the cell, such as its month."""
        dated = [place for place, key in enumerate(self.keys) if key in self.calendar]
        every = Counter(zip(*(self.calendar[self.keys[place]].tolist() for place in dated), strict=True))
        number = len(next(iter(self.calendar.values())))
        return [every[tuple(group[place] for place in dated)] if dated else number for group in groups]

    def _margins(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """What each cell adds to the interval of a sum, below and above, in addition to its noise."""
        counts = self._numbers(COUNT)
        if self.mechanism is None:
            if self.noise is not None:
                return self._leaning(), np.zeros(len(counts))
            return (counts - self._numbers(LOW)).astype(float), (self._numbers(HIGH) - counts).astype(float)
        if self.mechanism.publishes_every_cell:  # none is there because noise raised it
            return np.zeros(len(counts)), np.zeros(len(counts))
        half_width = interval(self.mechanism, MISS).half_width
        lean = np.minimum(LEANING * variance(self.mechanism) / np.maximum(counts, 1), half_width)
        near = counts < self.mechanism.smallest_published + half_width
        return np.where(near, float(half_width), lean), np.zeros(len(counts))

    def _leaning(self) -> Floats:
        """The same, below, where mechanisms differ: what a missing cell has at most is more than the smallest count."""
        counts, noise = np.ma.getdata(self._numbers(COUNT)), self._variances()
        absent = max(self.absents.values(), default=0.0)
        if self.leans is not None:  # sums
            return self.leans
        if self.left_out is not None or absent == 0:  # in a known world, nothing leans
            return np.zeros(len(counts))
        half_width = np.ceil(noise_quantile(float(MISS), gaussian=self._is_gaussian) * np.sqrt(noise))
        lean = np.minimum(LEANING * noise / np.maximum(counts, 1), half_width)
        return np.where(counts < absent + half_width, half_width, lean)

    def _numbers(self, name: str) -> Ints:
        return np.asarray(self.cells[name])

    def mean(self, over: Literal["date"] = "date") -> Frame:
        """The mean of a day, with what the noise and what chance between days may have added.

        Args:
            over: What the mean is over: the days.

        Returns:
            `days`, `mean`, and two intervals: from `noise_low` to `noise_high` lies the mean of the true counts of
            these days; from `low` to `high` that of days like these, as far as their spread tells. No mean where some
            day is not published; no second interval where there are too few days.

        Raises:
            ReaderError: The table is not split by the day, is not as it was published, or has a break.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").totals.mean(over="date").columns
            ['mode', 'days', 'mean', 'noise_low', 'noise_high', 'low', 'high']
        """
        _over_days(over)
        return change.mean(self)

    def trend(self, over: Literal["date"] = "date") -> Changes:
        """The change of a day per week, along the straight line that fits best, days of the week being compared alike.

        Args:
            over: What the trend is over: the days.

        Returns:
            `days`, the change `per_week`, its two intervals as those of `minus`, and whether it is `real`.

        Raises:
            ReaderError: The table is not split by the day, is not as it was published, has a break, or two days.

        Example:
            >>> import tapveil
            >>> week = tapveil.open("published").totals
            >>> week.trend() if len(week.days) > 2 else "it has two days"
            'it has two days'
        """
        _over_days(over)
        return change.trend(self)

    def share(self, of: Frame) -> Frame:
        """The share of each number in those of another table, over all days: of a peak in a day, of a place in a mode.

        Args:
            of: The whole: a table whose columns are among those of this one.

        Returns:
            `share`, between 0 and 1, and two intervals: of the noise, and of noise and days, as in `mean`. Of tables
            without days, such as those of months, that of the noise alone.

        Raises:
            ReaderError: The whole has other columns or days, or numbers are not as they were published.

        Example:
            >>> import tapveil
            >>> release = tapveil.open("published")
            >>> release.table("on_time").where(tap_on_time="08:00").share(of=release.totals).columns
            ['mode', 'share', 'noise_low', 'noise_high', 'low', 'high']
        """
        _a_table(of)
        return change.share(self, of)

    def minus(self, other: Frame) -> Changes:
        """The difference to another table with the same keys, cell by cell: `this_week.minus(last_week)`.

        Of tables of one day each, or of sums over days, it is that of their counts; of tables by day, or of their
        means, it is that of a mean day. Days of the week are compared alike. Of `per_day()`, such as those of two
        months, it is that of their means, with the interval of the noise alone.

        Args:
            other: The table to subtract.

        Returns:
            The differences with two intervals. From `noise_low` to `noise_high` lies the difference of the true counts.
            From `low` to `high` also has what chance between days adds, from the spread of the days that the tables
            are from; not there where they are too few. It is `real` if 0 is outside. Where a cell was published in one
            of the tables alone, there is no number, only an interval.

        Raises:
            ReaderError: The tables have different columns, times or definitions, or are not as they were published.

        Example:
            >>> import tapveil
            >>> ferries = tapveil.open("published").table("on_location").where(mode="ferry")
            >>> monday, tuesday = (ferries.where(date=day) for day in ("2025-03-03", "2025-03-04"))
            >>> tuesday.minus(monday).columns
            ['tap_on_location', 'count', 'noise_low', 'noise_high', 'low', 'high', 'real']
        """
        _a_table(other)
        return change.minus(self, other)

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
    if isinstance(value, float):
        return "" if value != value else f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"
    text = "" if value is None else str(value)
    return text if text.isprintable() else ascii(text)


def _by_group(rows: Sequence[tuple[str, ...]], groups: Sequence[tuple[str, ...]], numbers: Floats) -> Floats:
    """The sum of the numbers of the rows of each group."""
    place = {group: number for number, group in enumerate(groups)}
    group_of = np.array([place[row] for row in rows], dtype=np.intp)
    return np.bincount(group_of, numbers, minlength=len(groups)).astype(np.float64)


def _several(value: object) -> TypeGuard[Iterable[object]]:
    """Whether it is a list of values, and not one."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _label(value: object) -> str:
    """A value as tables have it: days as texts, whichever library they are from.

    >>> _label(date(2025, 3, 3)), _label(np.datetime64("2025-03-03T00:00")), _label(10009)
    ('2025-03-03', '2025-03-03', '10009')
    """
    if isinstance(value, datetime):
        value = value.date()
    return str(value)[:10] if isinstance(value, np.datetime64) else str(value)


def _over_days(over: str) -> None:
    if over != DATE:
        raise ReaderError(f"means and trends are over `{DATE}`, the days, not over `{over}`")


def _a_table(other: object) -> None:
    if not isinstance(other, Frame):
        raise ReaderError(f"another table is needed here, not {type(other).__name__}")


def _is_in(column: Column, values: Collection[str]) -> npt.NDArray[np.bool_]:
    """Which rows have one of these values."""
    if len(values) == 1:
        return np.asarray(column == next(iter(values)))
    wanted = frozenset(values)
    return np.fromiter((value in wanted for value in column.tolist()), bool, len(column))


def _parts_where(parts: Mapping[str, Frame], values: Mapping[str, Any]) -> dict[str, Frame]:
    """The same rows of the table of each release; not of one that has no such value."""
    found = dict[str, Frame]()
    for release, part in parts.items():
        with suppress(ReaderError):
            found[release] = part.where(**values)
    return found


def _masked(numbers: Ints, missing: npt.NDArray[np.bool_]) -> Column:
    """Whole numbers, without those that are not known."""
    return np.ma.MaskedArray(numbers, mask=missing) if missing.any() else numbers


@dataclass(frozen=True, eq=False)
class Changes(Frame):
    """Differences, or trends: each with two intervals, and whether it is real."""

    again: Callable[[int], Changes] | None = field(default=None, repr=False)
    """Makes the table for a number of comparisons; none where rows were chosen."""
    together: int = 0
    """Of `adjusted()`: for how many comparisons its intervals hold together."""

    def where(self, **values: str | date | Collection[str]) -> Changes:
        """Keep the rows that have these values, as in any table.

        Args:
            **values: A value, or a list of values, for each of some key columns.

        Returns:
            The rows that match.

        Example:
            >>> import tapveil
            >>> ferries = tapveil.open("published").table("on_location").where(mode="ferry")
            >>> monday, tuesday = (ferries.where(date=day) for day in ("2025-03-03", "2025-03-04"))
            >>> len(tuesday.minus(monday).where(tap_on_location="Quay"))
            1
        """
        found = super().where(**values)
        return Changes(found.cells, found.keys, adds_up=False, calendar=found.calendar, together=self.together)

    @property
    def comparisons(self) -> int:
        """How many comparisons it makes: with 20 of them, one looks real by chance."""
        return len(self)

    def adjusted(self) -> Changes:
        """The same with wider intervals, so that all of them hold together: at most once in 20 tables, one looks real.

        Returns:
            The table, its intervals being those of Bonferroni.

        Example:
            >>> import tapveil
            >>> ferries = tapveil.open("published").table("on_location").where(mode="ferry")
            >>> monday, tuesday = (ferries.where(date=day) for day in ("2025-03-03", "2025-03-04"))
            >>> changes = tuesday.minus(monday)
            >>> bool((changes.adjusted().cells["noise_high"] >= changes.cells["noise_high"]).all())
            True
        """
        return change.adjusted(self)

    def __repr__(self) -> str:
        number = self.comparisons
        if self.together > 1:
            return f"{super().__repr__()}\nthese intervals hold for all of {self.together:,} comparisons together"
        if number < 2:
            return super().__repr__()
        by_chance = expected_by_chance(number)
        note = f"{number:,} comparisons: by chance alone, at most {by_chance:,g} of them look real on average"
        return f"{super().__repr__()}\n{note}; adjusted() allows for that"


def load_optional(module: str) -> Any:
    """A module of a library that reading does without; ReaderError if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise ReaderError(f"{library} is not installed: `pip install {library}`, or use rows()") from None
