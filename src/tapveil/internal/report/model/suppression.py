"""What is suppressed where: the trips in cells that are not published, by part, hour and place. Confidential.

A cell is not published because it is too small, or because the table has a public list and it is not on it: these are
two things, and what helps against one does nothing about the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tapveil.base.vocabulary import MISSING
from tapveil.internal.report.model.cells import Cells, Floats, Ints

MOST_ROWS, MOST_COLUMNS = 10, 62
"""Of a strip: more modes are put together as others, more days in runs of several."""
WORST_PLACES = 6
HOUR = 60
OTHERS = "others"


@dataclass(frozen=True, repr=False)
class Group:
    """Some trips, and how many of them are in cells that are not published."""

    label: str
    trips: float
    lost: float
    unlisted: float = 0.0
    """Of those lost, how many are in cells that are not on the table's public list."""

    @property
    def share(self) -> float:
        return self.lost / self.trips if self.trips else 0.0

    @property
    def unlisted_share(self) -> float:
        return self.unlisted / self.trips if self.trips else 0.0

    @property
    def small(self) -> float:
        """Of those lost, how many are in cells that could be published, and are too small."""
        return self.lost - self.unlisted

    @property
    def small_share(self) -> float:
        return self.small / self.trips if self.trips else 0.0

    @property
    def is_mostly_unlisted(self) -> bool:
        return self.unlisted > self.small


@dataclass(frozen=True, repr=False)
class Strip:
    """Groups in rows, a mode each, and in columns, a day each; None where there is no trip."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    groups: tuple[tuple[Group | None, ...], ...]
    run: int = 1
    """How many days a column is."""


@dataclass(frozen=True, repr=False)
class Places:
    """The places of one column that lose most trips."""

    column: str
    worst: tuple[Group, ...]
    of: int
    """How many places there are."""


@dataclass(frozen=True, repr=False)
class Suppression:
    """What one table loses, and where."""

    whole: Group
    parts: Strip | None
    hours: tuple[Group, ...]
    places: tuple[Places, ...]

    @property
    def worst_part(self) -> Group | None:
        """The mode and day that lose the most trips."""
        groups = [group for row in self.parts.groups for group in row if group] if self.parts else []
        return max(groups, key=lambda group: group.lost, default=None)


def suppression(cells: Cells, bin_minutes: int) -> Suppression:
    """Where a table loses trips."""
    every = np.zeros(len(cells.true), dtype=np.int64)
    return Suppression(
        _Grouped.of(cells, every, 1).group(cells.name, 0),
        _strip(cells) if cells.partition else None,
        _hours(cells, bin_minutes),
        tuple(_places(cells, column) for column in cells.columns("location")),
    )


def _sums(codes: Ints, values: Ints | Floats, size: int) -> Floats:
    return np.bincount(codes, values, minlength=size).astype(np.float64)


@dataclass(frozen=True, repr=False, eq=False)
class _Grouped:
    """The trips of the cells, added up in groups."""

    trips: Floats
    lost: Floats
    unlisted: Floats

    @classmethod
    def of(cls, cells: Cells, groups: Ints, number: int) -> _Grouped:
        """For each cell, which group it is in."""
        lost = cells.true * (1 - cells.shown)
        return cls(*(_sums(groups, each, number) for each in (cells.true, lost, cells.true * ~cells.listed)))

    def group(self, label: str, place: int) -> Group:
        return Group(label, float(self.trips[place]), float(self.lost[place]), float(self.unlisted[place]))


# --- parts ----------------------------------------------------------------------------------------------------------


def _strip(cells: Cells) -> Strip:
    days = [column for column in cells.partition if cells.kinds[column] == "date"][:1]
    rows, row_labels = _joined(cells, [column for column in cells.partition if column not in days])
    columns, column_labels = _joined(cells, days)
    rows, row_labels = _largest(rows, row_labels, cells.true)
    columns, column_labels, run = _in_runs(columns, column_labels)
    wide = len(column_labels)
    found = _Grouped.of(cells, rows * wide + columns, len(row_labels) * wide)
    groups = tuple(
        tuple(
            found.group(", ".join(filter(None, (row, column))), place) if found.trips[place] else None
            for place, column in enumerate(column_labels, start=number * wide)
        )
        for number, row in enumerate(row_labels)
    )
    return Strip(row_labels, column_labels, groups, run)


def _joined(cells: Cells, columns: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Several columns as one that has what occurs of them."""
    code = np.zeros(len(cells.true), dtype=np.int64)
    for column in columns:
        code = code * len(cells.labels[column]) + cells.codes[column]
    known, code = np.unique(code, return_inverse=True)
    labels = []
    for each in known.tolist():
        words = []
        for column in reversed(columns):
            each, last = divmod(each, len(cells.labels[column]))
            words.append(cells.labels[column][last])
        labels.append(" · ".join(reversed(words)))
    return code.astype(np.int64), tuple(labels)


def _largest(rows: Ints, labels: tuple[str, ...], trips: Ints) -> tuple[Ints, tuple[str, ...]]:
    """The rows with most trips, and all others as one."""
    if len(labels) <= MOST_ROWS:
        return rows, labels
    sizes = _sums(rows, trips, len(labels))
    largest = np.sort(np.argsort(-sizes, kind="stable")[: MOST_ROWS - 1])
    place = np.full(len(labels), MOST_ROWS - 1)
    place[largest] = np.arange(len(largest))
    return place[rows], (*(labels[each] for each in largest), f"{OTHERS} ({len(labels) - len(largest)})")


def _in_runs(columns: Ints, labels: tuple[str, ...]) -> tuple[Ints, tuple[str, ...], int]:
    """Days one after another put together, until they fit."""
    run = -(-len(labels) // MOST_COLUMNS) or 1
    return columns // run, labels[::run], run


# --- hours and places -----------------------------------------------------------------------------------------------


def _hours(cells: Cells, bin_minutes: int) -> tuple[Group, ...]:
    """By the hour, where bins are no longer than that; else by the bins themselves."""
    timed = cells.columns("time")
    if not timed:
        return ()
    column = timed[0]
    labels = cells.labels[column]
    by_hour = bin_minutes <= HOUR and not cells.table.level.times
    named = [label[:2] if by_hour and ":" in label else label for label in labels]
    names = list(dict.fromkeys(named))
    codes = np.array([names.index(name) for name in named], dtype=np.int64)[cells.codes[column]]
    found = _Grouped.of(cells, codes, len(names))
    present = [place for place, name in enumerate(names) if found.trips[place] or name != MISSING]
    return tuple(found.group(names[place], place) for place in present)


def _places(cells: Cells, column: str) -> Places:
    """The places that lose most, distinguished by their mode."""
    by_mode = ["mode"] if "mode" in cells.codes else []
    codes, labels = _joined(cells, [*by_mode, column])
    found = _Grouped.of(cells, codes, len(labels))
    worst = [place for place in np.argsort(-found.lost, kind="stable")[:WORST_PLACES] if found.lost[place] > 0]
    return Places(column, tuple(found.group(labels[place], place) for place in worst), len(labels))
