"""What is suppressed where: the trips in cells that are not published, by part, hour and place. Confidential.

A cell is not published because it is too small, or because the table has a public list and it is not on it: these are
two things, and what helps against one does nothing about the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tapveil.base.vocabulary import MISSING
from tapveil.internal.report.model.cells import Cells, Ints

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
    (whole,) = _groups(cells, np.zeros(len(cells.true), dtype=np.int64), [cells.name])
    places = [_places(cells, column) for column in cells.columns("location")]
    return Suppression(
        whole,
        _strip(cells) if cells.partition else None,
        _hours(cells, bin_minutes),
        tuple(each for each in places if each.worst),
    )


def _groups(cells: Cells, codes: Ints, labels: Sequence[str]) -> list[Group]:
    """The trips of the cells added up in groups: for each cell, the code is the place of its group's label."""
    lost = cells.true * (1 - cells.shown)
    sums = (np.bincount(codes, each, len(labels)) for each in (cells.true, lost, cells.true * ~cells.listed))
    return [Group(label, *each) for label, *each in zip(labels, *(each.tolist() for each in sums), strict=True)]


def _strip(cells: Cells) -> Strip:
    days = [column for column in cells.partition if cells.kinds[column] == "date"][:1]
    rows, row_labels = cells.joined([column for column in cells.partition if column not in days])
    rows, row_labels = _largest(rows, row_labels, cells.true)
    columns, column_labels = cells.joined(days)
    run = -(-len(column_labels) // MOST_COLUMNS) or 1
    columns, column_labels = columns // run, column_labels[::run]
    wide = len(column_labels)
    labels = [", ".join(filter(None, (row, column))) for row in row_labels for column in column_labels]
    groups = [each if each.trips else None for each in _groups(cells, rows * wide + columns, labels)]
    by_row = tuple(tuple(groups[start : start + wide]) for start in range(0, len(groups), wide or 1))
    return Strip(row_labels, column_labels, by_row, run)


def _largest(rows: Ints, labels: tuple[str, ...], trips: Ints) -> tuple[Ints, tuple[str, ...]]:
    """The rows with most trips, and all others as one."""
    if len(labels) <= MOST_ROWS:
        return rows, labels
    sizes = np.bincount(rows, trips, len(labels))
    largest = np.sort(np.argsort(-sizes, kind="stable")[: MOST_ROWS - 1])
    place = np.full(len(labels), MOST_ROWS - 1)
    place[largest] = np.arange(len(largest))
    return place[rows], (*(labels[each] for each in largest), f"{OTHERS} ({len(labels) - len(largest)})")


def _hours(cells: Cells, bin_minutes: int) -> tuple[Group, ...]:
    """By the hour, where bins are no longer than that; else by the bins themselves."""
    timed = cells.columns("time")
    if not timed:
        return ()
    by_hour = bin_minutes <= HOUR and not cells.table.level.times
    named = [label[:2] if by_hour and ":" in label else label for label in cells.labels[timed[0]]]
    names = list(dict.fromkeys(named))
    codes = np.array([names.index(name) for name in named], dtype=np.int64)[cells.codes[timed[0]]]
    return tuple(group for group in _groups(cells, codes, names) if group.trips or group.label != MISSING)


def _places(cells: Cells, column: str) -> Places:
    """The places that lose most, distinguished by their mode."""
    codes, labels = cells.joined(["mode", column] if "mode" in cells.codes else [column])
    worst = sorted(_groups(cells, codes, labels), key=lambda group: -group.lost)[:WORST_PLACES]
    return Places(column, tuple(group for group in worst if group.lost > 0), len(labels))
