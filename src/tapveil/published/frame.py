"""A table of published numbers, for the analyst: every number with its interval, sums and differences with theirs.

A cell that is not there comes with what that means. Nothing here can see more than the folder holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.base.errors import UsageError, did_you_mean
from tapveil.base.vocabulary import COUNT, HIGH, LOW, NUMBERS
from tapveil.privacy.distribution import spread, variance
from tapveil.privacy.intervals import MISS, Interval, given_published, interval
from tapveil.privacy.mechanisms import Mechanism

Ints = npt.NDArray[np.int64]
ROWS_SHOWN = 20
LEANING = 3
"""How steeply the number of cells falls with their size, at most: as its third power. By so much small numbers lean."""
PUBLISHED = "published"
"""The column of a profile that tells a number from a cell that was not published."""


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; without a number where a cell was not published."""

    count: int | None
    low: int
    high: int

    def __str__(self) -> str:
        if self.count is None:
            return f"not published: between {self.low:,} and {self.high:,}"
        return f"{self.count:,} (between {self.low:,} and {self.high:,})"


@dataclass(frozen=True, eq=False)
class Frame:
    """A table of numbers: key columns, then `count`, `low` and `high`."""

    cells: pa.Table
    keys: tuple[str, ...]
    mechanism: Mechanism | None = None
    """What the numbers went through, where each cell is as it was published."""
    known: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """All values that a column can have, where that is known: parts and times."""
    adds_up: bool = True
    """Whether its rows are cells apart: differences, and profiles with cells that are not there, cannot be added up."""

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        shown = self.cells.slice(0, ROWS_SHOWN)
        texts = [[name, *map(_text, shown.column(name).to_pylist())] for name in self.columns]
        padded = [[text.ljust(max(map(len, column))) for text in column] for column in texts]
        more = [f"… and {len(self) - len(shown):,} more rows"] if len(self) > len(shown) else []
        return "\n".join(["  ".join(row).rstrip() for row in zip(*padded, strict=True)] + more)

    @property
    def columns(self) -> list[str]:
        return list(self.cells.column_names)

    # --- as other libraries have it -----------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """As an Arrow table; days are dates."""
        if "date" not in self.columns:
            return self.cells
        texts = self.cells.column("date")
        if not pc.all(pc.match_substring_regex(texts, r"^\d{4}-\d\d-\d\d$")).as_py():
            return self.cells
        return self.cells.set_column(self.columns.index("date"), "date", texts.cast(pa.date32()))

    def to_pandas(self) -> Any:
        """As a pandas DataFrame."""
        _needs("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """As a Polars DataFrame."""
        return _needs("polars").from_arrow(self.to_arrow())

    def to_duckdb(self) -> Any:
        """As a DuckDB relation."""
        return _needs("duckdb").from_arrow(self.to_arrow())

    # --- questions ----------------------------------------------------------------------------------------------------

    def where(self, **values: str | date) -> Frame:
        """The rows that have these values, without their columns: `where(mode="train", date="2025-03-03")`."""
        cells = self.cells
        for key, value in values.items():
            self._require(key)
            known = self.known.get(key)
            if known is not None and str(value) not in known:
                # A misspelt day or mode must not look like one with nothing published.
                hint = did_you_mean(str(value), known) or f" ({', '.join(sorted(known)[:8])}, …)"
                raise UsageError(f"there is no {key} `{value}`{hint}")
            cells = cells.filter(pc.equal(cells.column(key), str(value)))
        keys = tuple(key for key in self.keys if key not in values)
        return replace(self, cells=cells.drop_columns(list(values)), keys=keys)

    def _require(self, key: str) -> None:
        if key not in self.keys:
            hint = did_you_mean(key, self.keys) or f" (columns: {', '.join(self.keys)})"
            raise UsageError(f"there is no column `{key}`{hint}")

    def cell(self, **values: str | date) -> Estimate:
        """One cell, whether it was published or not."""
        if missing := set(self.keys) - set(values):
            raise UsageError(f"say which {' and '.join(sorted(missing))}: a cell has a value of each")
        if COUNT not in self.columns:
            raise UsageError("this table has several sorts of numbers: take its rows with where()")
        found = self.where(**values).cells.to_pylist()
        if found:
            return Estimate(found[0][COUNT], found[0][LOW], found[0][HIGH])
        return Estimate(None, 0, self._absent)

    def given_published(self) -> Frame:
        """The same numbers with intervals for whoever picks them because they are printed.

        `low` and `high` of a folder hold for cells, before it is known whether they are printed. These hold for the
        printed ones by themselves: near the smallest number they go down to 1.
        """
        if self.mechanism is None:
            raise UsageError("only numbers as they were published have such intervals")
        limits = [given_published(self.mechanism, count, MISS) for count in self._numbers(COUNT).tolist()]
        cells = self.cells
        for name, values in zip((LOW, HIGH), zip(*limits, strict=True) if limits else ((), ()), strict=True):
            cells = cells.set_column(cells.column_names.index(name), name, pa.array(values, pa.int64()))
        return replace(self, cells=cells)

    @property
    def _absent(self) -> int:
        """What a cell that is not there has, at most."""
        if self.mechanism is None:
            raise UsageError("what a cell that is not listed has, only the published version says")
        return interval(self.mechanism, MISS).absent

    def sum(self, by: str | Sequence[str] = ()) -> Frame:
        """The listed cells added up, and in how many of them that is. Cells that are not listed are not in it.

        Of published cells, the interval is that of their noise, added up, and below it as much as numbers near the
        smallest may lean. Other numbers hang together, and may all be wrong in the same direction: there the intervals
        themselves are added up.
        """
        by = [by] if isinstance(by, str) else list(by)
        for key in by:
            self._require(key)
        if COUNT not in self.columns:
            raise UsageError("this table has several sorts of numbers: add them up as they are meant")
        if not self.adds_up:
            raise UsageError(
                "differences and profiles are not added up: add up the table first, with where() and sum()"
            )
        below, above = self._margins()
        counted = self.cells.select([*by, COUNT]).append_column("#below", pa.array(below))
        counted = counted.append_column("#above", pa.array(above))
        wanted = [(COUNT, "sum"), (COUNT, "count"), ("#below", "sum"), ("#above", "sum")]
        grouped = counted.group_by(by).aggregate(wanted)
        if by:
            grouped = grouped.sort_by([(key, "ascending") for key in by])
        sums = (grouped.column(f"{name}_{what}").fill_null(0).to_numpy() for name, what in wanted)
        counts, cells, under, over = sums
        low, high = counts - np.ceil(under).astype(np.int64), counts + np.ceil(over).astype(np.int64)
        if self.mechanism is not None:  # how far the noise of a number of cells goes, added up
            spreads = {
                number: spread({self.mechanism: number}, MISS) if number else 0 for number in set(cells.tolist())
            }
            noise = np.array([spreads[number] for number in cells.tolist()], dtype=np.int64)
            low, high = low - noise, high + noise
        numbers = {COUNT: counts, LOW: np.maximum(low, 0), HIGH: high, "cells": cells}
        return Frame(pa.table({**{key: grouped.column(key) for key in by}, **numbers}), tuple(by))

    def _margins(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """What each cell adds to the interval of a sum, below and above, beside its noise."""
        counts = self._numbers(COUNT)
        if self.mechanism is None:
            return (counts - self._numbers(LOW)).astype(float), (self._numbers(HIGH) - counts).astype(float)
        half_width = interval(self.mechanism, MISS).half_width
        lean = np.minimum(LEANING * variance(self.mechanism) / np.maximum(counts, 1), half_width)
        near = counts < self.mechanism.smallest_published + half_width
        return np.where(near, float(half_width), lean), np.zeros(len(counts))

    def _numbers(self, name: str) -> Ints:
        return np.asarray(self.cells.column(name).to_numpy())

    def minus(self, other: Frame) -> Frame:
        """The difference to another table with the same keys, cell by cell: `today.minus(yesterday)`.

        Where a cell was published in one of them alone, there is no number, only an interval.
        """
        if self.keys != other.keys:
            raise UsageError(f"the tables have different columns: {', '.join(self.keys)}; {', '.join(other.keys)}")
        if self.mechanism is None or other.mechanism is None or not (self.adds_up and other.adds_up):
            raise UsageError("differences are of published tables: each of their cells has noise of its own")
        if any(self.known.get(key) != other.known.get(key) for key in self.keys):
            raise UsageError("the tables have different bins of time: their cells are not the same")
        # Half of the misses for cells that are both there; of the other half, half for each cell by itself.
        half = spread(Counter([self.mechanism, other.mechanism]), MISS / 2)
        rules = [interval(mechanism, MISS / 4) for mechanism in (self.mechanism, other.mechanism)]
        ours, theirs = self._by_key(), other._by_key()
        names = sorted({*ours, *theirs})
        rows = [_difference(ours.get(key), theirs.get(key), half, rules) for key in names]
        keys = {name: pa.array([key[index] for key in names], pa.string()) for index, name in enumerate(self.keys)}
        numbers = {name: pa.array([row[index] for row in rows], pa.int64()) for index, name in enumerate(NUMBERS)}
        return Frame(pa.table({**keys, **numbers}), self.keys, adds_up=False)

    def _by_key(self) -> dict[tuple[str, ...], int]:
        keys = zip(*(self.cells.column(key).to_pylist() for key in self.keys), strict=True)
        return dict(zip(keys if self.keys else [()] * len(self), self.cells.column(COUNT).to_pylist(), strict=True))

    def filled(self, key: str, values: Sequence[str]) -> Frame:
        """All of these values of a key, in this order; those that were not published without a number."""
        if self.keys != (key,):
            raise UsageError(
                f"only a table with the one column `{key}` can be filled: say which of the others with where()"
            )
        found = {row[key]: row for row in self.cells.to_pylist()}
        none: Mapping[str, int | None] = {COUNT: None, LOW: 0, HIGH: self._absent}
        rows = [{key: value, **{name: found.get(value, none)[name] for name in NUMBERS}} for value in values]
        columns = {name: pa.array([row[name] for row in rows], pa.int64()) for name in NUMBERS}
        listed = pa.array([value in found for value in values], pa.bool_())
        filled = pa.table({key: pa.array(values, pa.string()), **columns, PUBLISHED: listed})
        return Frame(filled, (key,), self.mechanism, adds_up=False)


def _text(value: object) -> str:
    """A value for a screen; what strangers wrote must not steer it."""
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


def _needs(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise UsageError(f"{library} is not installed: `pip install {library}`, or use to_arrow()") from None
