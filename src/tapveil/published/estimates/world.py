"""What is public: the lists of a world, and what was measured over them. One mode at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.clock import Clock

DATE, KIND = "date", "kind"
ON_TIME, OFF_TIME = "tap_on_time", "tap_off_time"
ON_PLACE, OFF_PLACE = "tap_on_location", "tap_off_location"
DISTANCE, DURATION = "distance", "duration"
AXES = (ON_TIME, OFF_TIME, ON_PLACE, OFF_PLACE, DISTANCE, DURATION)
"""Of a trip, in the order in which arrays have them; before them, the day or the kind of day."""
Columns = tuple[str, ...]


def in_order(columns: Sequence[str]) -> Columns:
    """The columns of a trip among these, in the order of arrays."""
    return tuple(axis for axis in AXES if axis in columns)


@dataclass(frozen=True)
class World:
    """The public lists of one mode: how many entries each has, counting the one for all else (elsewhere, no tap)."""

    kinds: tuple[int, ...]
    """Of each day, in order, its kind (weekday, Saturday, Sunday or holiday): days of a kind are taken to be alike."""
    sizes: Mapping[str, int]
    same_places: bool = False
    """Whether a trip begins and ends at places of one list, in the same order: then there are ways back."""
    excluded: Mapping[Columns, npt.NDArray[np.bool_]] = field(default_factory=dict)
    """By columns in the order of arrays: where there can be no trip, by a timetable or the hours of service."""
    distances: npt.NDArray[np.integer] | None = None
    """The class of distance of each pair of places, where a table has such classes."""
    clock: Clock | None = None
    """When bins and classes of durations begin: needed for trips that have both times."""

    def __post_init__(self) -> None:
        if not self.kinds or min(self.kinds) < 0:
            raise ValueError("a world has at least one day, and each day a kind: a number from 0")
        if ON_PLACE not in self.sizes and OFF_PLACE not in self.sizes:
            raise ValueError("a world has places where trips begin, or where they end")
        if unknown := set(self.sizes) - set(AXES):
            raise ValueError(f"a trip has no column {sorted(unknown)[0]}")
        if min(self.sizes.values()) < 1:
            raise ValueError("a public list has at least one entry")
        if DISTANCE in self.sizes and (
            self.distances is None or self.distances.shape != self.shape((ON_PLACE, OFF_PLACE))
        ):
            raise ValueError("classes of distance need the class of each pair of places")
        self._check_clock()
        for columns, where in self.excluded.items():
            if columns != in_order(columns) or where.shape != self.shape(columns):
                raise ValueError(f"what is excluded by {' × '.join(columns)} does not have the shape of the lists")

    def _check_clock(self) -> None:
        if self.clock is None:
            if {OFF_TIME, ON_TIME} <= set(self.sizes) or DURATION in self.sizes:
                raise ValueError("trips with two times, or with durations, need a clock: when bins and classes begin")
            return
        lists = {ON_TIME: self.clock.on, OFF_TIME: self.clock.off, DURATION: self.clock.durations}
        for column, entries in lists.items():
            if column in self.sizes and len(entries) != self.sizes[column]:
                raise ValueError(f"the clock does not have one entry for each of {column}")

    @property
    def days(self) -> int:
        """How many."""
        return len(self.kinds)

    def alike(self, kind: int) -> list[int]:
        """The days of a kind."""
        return [day for day, own in enumerate(self.kinds) if own == kind]

    def possible(self, columns: Columns) -> npt.NDArray[np.bool_]:
        """Where trips can be, over these columns."""
        found = np.ones(self.shape(columns), dtype=np.bool_)
        for excluded, where in self.excluded.items():
            if set(excluded) <= set(columns):
                found &= ~where.reshape([self.sizes[c] if c in excluded else 1 for c in columns])
        return found

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """Of an array over these columns."""
        return tuple(self.sizes[column] for column in columns)


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy number for every cell of a table, negative ones too, and the variance of its noise.

    The table may have the date among its columns, or the kind of day, or be over all days together. A table of many
    days may be anything that gives an array for `noisy[day]`, if the date comes first: one day is read at a time.
    """

    columns: Columns
    noisy: Any
    variance: float

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.columns) or {DATE, KIND} <= set(self.columns):
            raise ValueError("a table has a column once, and the date or the kind of day, not both")
        if unknown := set(self.columns) - {DATE, KIND, *AXES}:
            raise ValueError(f"a trip has no column {sorted(unknown)[0]}")
        if not 0 < self.variance < float("inf"):
            raise ValueError("the variance of the noise is a positive number")

    @property
    def of_trips(self) -> Columns:
        """Its columns but the day, in the order of arrays."""
        return in_order(self.columns)

    def entry(self, index: int | None) -> npt.NDArray[np.generic]:
        """The numbers of one day or one kind of day, or of a table without either, in the order of arrays."""
        rest = [column for column in self.columns if column not in (DATE, KIND)]
        if index is None:
            found = np.asarray(self.noisy)
        else:
            at = next(i for i, column in enumerate(self.columns) if column in (DATE, KIND))
            found = np.asarray(self.noisy[index]) if at == 0 else np.take(np.asarray(self.noisy), index, axis=at)
        return found.transpose([rest.index(column) for column in self.of_trips])


def check(world: World, measurements: Sequence[Measurement]) -> None:
    """Refuse tables that do not fit the lists, or from which no trip can be estimated."""
    ends = {column for each in measurements for column in each.of_trips}
    if missing := [column for column in (ON_PLACE, OFF_PLACE) if column in world.sizes and column not in ends]:
        raise ValueError(f"no measured table has {missing[0]}: measure one, or leave it out of the world")
    for each in measurements:
        lists = {DATE: world.days, KIND: max(world.kinds) + 1, **world.sizes}
        if unknown := [column for column in each.columns if column not in lists]:
            raise ValueError(f"the world has no list for {unknown[0]}")
        first = lists[each.columns[0]] if each.columns else None
        expected = tuple(lists[column] for column in each.columns)
        if isinstance(each.noisy, np.ndarray):
            fits = each.noisy.shape == expected
        else:
            fits = first is not None and len(each.noisy) == first
        if not fits:
            raise ValueError(f"the table {' × '.join(each.columns)} does not have a number for each cell of the lists")
