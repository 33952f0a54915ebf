"""Estimates of whole trips: whole numbers that add up, intervals, and how far each rests on its own measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.joint import ENDED, Fitted, Joint
from tapveil.published.estimates.margins import Measured, Tables, known, margin, summed
from tapveil.published.estimates.parts import Floats, Ints
from tapveil.published.estimates.resolution import resolved
from tapveil.published.estimates.rounding import whole
from tapveil.published.estimates.spread import UNSEEN, Evidence, Spread
from tapveil.published.estimates.totals import Total, Totals
from tapveil.published.estimates.trips import Endings, Rows, rows
from tapveil.published.estimates.world import (
    DATE,
    DISTANCE,
    DURATION,
    KIND,
    OFF_PLACE,
    OFF_TIME,
    ON_PLACE,
    ON_TIME,
    Columns,
    Measurement,
    World,
    check,
    in_order,
)


@dataclass(frozen=True, eq=False)
class Table:
    """Estimates over some columns, in the order in which they were asked for."""

    columns: Columns
    count: Ints
    low: Ints
    high: Ints
    weight: Floats
    """From 0, the typical day and coarser tables, to 1, its own measurement."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Whole trips of each day; every table is a sum of them, so all tables add up."""

    world: World
    columns: Columns
    """Of the arrays of days."""
    days: Sequence[npt.NDArray[np.integer]]
    spreads: Mapping[Columns, Spread]
    """Of tables that a measurement tells; the date comes first."""

    endings: Endings | None = None
    """How trips end, where both times are known or durations were measured."""
    bends: Sequence[Floats | None] = ()
    """Of each day: how far its ends differ from what durations alone say."""
    resolves: bool = False
    """Whether tables that are too thin have only the cells that can be told from nothing: from version 4."""

    def spread(self, columns: Sequence[str]) -> Spread:
        """Of the estimates over these columns."""
        dated = (DATE,) if {DATE, KIND} & set(columns) else ()
        return self.spreads.get((*dated, *in_order(columns)), UNSEEN)

    def trips(self, day: int) -> Rows:
        """Synthetic trips of a day, by column the entry of its public list for each: their sums are the counts."""
        some = list(self.some_trips(day))
        none = np.zeros(0, dtype=np.int32)
        return {name: np.concatenate([none, *(each[name] for each in some)]) for name in self.trip_columns}

    @property
    def trip_columns(self) -> Columns:
        """Of synthetic trips: those of whole trips, and what durations tell."""
        if self.endings is None:
            return self.columns
        dealt = (OFF_TIME, *((DURATION,) if DURATION in self.world.sizes else ()))
        return in_order([*self.columns, *dealt])

    def some_trips(self, day: int) -> Iterator[Rows]:
        """The same, some at a time: memory does not depend on how many there are."""
        numbers = self.days[day].astype(np.int64)
        if self.endings is None:
            yield from rows(self.columns, numbers)
            return
        for each in self.endings.deal(numbers, self.bends[day]):
            yield {column: each[column] for column in self.trip_columns}

    def count(self, columns: Sequence[str]) -> Ints:
        """How many trips, over columns of a trip, the date or the kind of day, in their order."""
        kept = in_order(columns)
        if len(kept) + len({DATE, KIND} & set(columns)) < len(columns) or {DATE, KIND} <= set(columns):
            raise ValueError("the columns of a table are those of a trip, and the date or the kind of day")
        days = [self.of_day(day, kept) for day in range(self.world.days)]
        if DATE in columns:
            found = np.stack(days)
        elif KIND in columns:
            kinds = range(max(self.world.kinds) + 1)
            found = np.stack([sum((days[d] for d in self.world.alike(k)), np.zeros_like(days[0])) for k in kinds])
        else:
            return sum(days[1:], days[0]).transpose([kept.index(column) for column in columns])
        order = [DATE if DATE in columns else KIND, *kept]
        return found.transpose([order.index(column) for column in columns])

    def of_day(self, day: int, kept: Columns) -> Ints:
        """Of one day, over columns in the order of arrays."""
        if set(kept) <= set(self.columns):
            return summed(self.days[day].astype(np.int64), self.columns, kept)[0]
        trips = self.trips(day)
        if DISTANCE in kept and self.world.distances is not None:
            trips[DISTANCE] = self.world.distances[trips[ON_PLACE], trips[OFF_PLACE]].astype(np.int32)
        if missing := [column for column in kept if column not in trips]:
            raise ValueError(f"there are no estimates by {missing[0]}")
        ends = () if self.endings is None else self.endings.clock.off
        shape = tuple(len(ends) if column == OFF_TIME and ends else self.world.sizes[column] for column in kept)
        cells = np.ravel_multi_index(tuple(trips[column] for column in kept), shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)

    def table(self, columns: Sequence[str]) -> Table:
        """Estimates with intervals; a cell of a thin table that cannot be told from nothing is 0.

        Totals always tell something, and how trips end is dealt out along with them: such tables have all cells.
        """
        count, spread = self.count(columns), self.spread(columns)
        low, high = spread.around(count)
        weight = spread.weight(count.astype(np.float64))
        if self.resolves and (kept := in_order(columns)) and set(kept) <= set(self.columns):
            told = resolved(spread, count)
            count, low = count * told, low * told
        return Table(tuple(columns), count, low, high * self._possible(columns), weight)

    def _possible(self, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
        kept = in_order(columns)
        possible = self.world.possible(kept).transpose([kept.index(c) for c in columns if c in kept])
        return np.expand_dims(possible, [i for i, c in enumerate(columns) if c not in kept])


ADDS_UP, RESOLVES = 3, 4
"""The first versions in which totals of days add up, whatever noise is, and in which thin tables have fewer cells."""
NEWEST = RESOLVES
"""The version of estimates of new folders."""


def estimate(
    world: World, measurements: Sequence[Measurement], version: int = NEWEST, totals: Sequence[Total] = ()
) -> Estimates:
    """From what was measured and what is public, nothing else: anyone can make it again, byte for byte.

    Before version 3, days with a negative noisy total had none, so that all days together had too many. Before version
    4, tables had all cells, also where they are further off than zeros. With totals that are known exactly, sums are
    these, and tables have all cells.
    """
    check(world, measurements)
    joint, moved = (Joint(Measured(world, measurements, moved), version >= ADDS_UP) for moved in (False, True))
    endings, seen = _endings(joint), _Seen(joint, moved)
    meeting, meeting_moved = (_Meeting.of(each, totals) if totals else None for each in (joint, moved))
    days: list[npt.NDArray[np.integer]] = []
    bends: list[Floats | None] = []
    for day in range(world.days):
        found, follows = joint.day(day), moved.day(day)
        if meeting and meeting_moved:
            found, follows = meeting.stretched(found, day), meeting_moved.stretched(follows, day)
        numbers = whole(found[joint.columns])
        numbers = meeting.met(found, numbers, day) if meeting else numbers
        days.append(numbers.astype(np.min_scalar_type(int(numbers.max()))))  # all days are kept: in few bytes
        bends.append(endings.bends(numbers, found.get(ENDED)) if endings else None)
        made = Estimates(world, joint.columns, days, {}, endings, bends)
        sums = {columns: summed(numbers, joint.columns, columns)[0] for columns in _subsets(joint.columns)}
        sums |= {columns: made.of_day(day, columns) for columns in joint.beyond} if endings else {}
        seen.add(day, sums, found, follows)
    return replace(made, spreads=seen.spreads(), resolves=version >= RESOLVES and not totals)


@dataclass(frozen=True, eq=False)
class _Meeting:
    """Totals that are known exactly, and what the estimates of all days would have had of them."""

    totals: Totals
    sums: Floats
    wanted: Ints

    @staticmethod
    def of(joint: Joint, totals: Sequence[Total]) -> _Meeting:
        """Every day is estimated once for this, and once more when it is stretched: one is in memory at a time."""
        given = Totals(joint.world, joint.columns, totals)
        sums = given.sums(joint.day(day)[joint.columns] for day in range(joint.world.days))
        return _Meeting(given, sums, given.wanted(sums))

    def stretched(self, found: Fitted, day: int) -> Fitted:
        """The estimates of a day, stretched to the totals; and when trips end, by as much as there are more in all."""
        table = found[self.totals.columns]
        made = self.totals.stretch(table, day, self.sums)
        ends = found.get(ENDED)
        more = float(made.sum()) / max(float(table.sum()), 1.0)
        return {**found, **({ENDED: np.rint(ends * more)} if ends is not None else {}), self.totals.columns: made}

    def met(self, found: Fitted, numbers: Ints, day: int) -> Ints:
        """Whole numbers of a day with its share of each total."""
        return self.totals.meet(found[self.totals.columns], numbers, day, self.wanted)


def _endings(joint: Joint) -> Endings | None:
    world = joint.world
    if world.clock is None or joint.columns != (ON_TIME, ON_PLACE, OFF_PLACE):
        return None
    return Endings.of(world, world.clock, joint.all_days)


class _Seen:
    """What is seen of errors, table by table, day after day."""

    def __init__(self, joint: Joint, moved: Joint) -> None:
        self.joint, self.moved = joint, moved
        self.dated: dict[Columns, Evidence] = {}
        self.sums: dict[Columns, list[Floats]] = {}

    def add(self, day: int, sums: Mapping[Columns, Ints], found: Fitted, follows: Fitted) -> None:
        """One day: its whole numbers, and its estimates from the measurements and from the moved ones."""
        measured, other = self.joint.measured.day(day), self.moved.measured.day(day)
        for columns, numbers in sums.items():
            whole = columns if columns in self.joint.beyond else self.joint.columns
            fitted = (summed(each[whole], whole, columns)[0] for each in (found, follows))
            three = [numbers.astype(np.float64), *fitted]
            if known(measured, columns):
                evidence = self.dated.setdefault(columns, Evidence(margin(measured, columns).variance))
                _add(evidence, columns, three, measured, other)
            have = self.sums.get(columns)
            self.sums[columns] = [a + b for a, b in zip(have, three, strict=True)] if have else three

    def spreads(self) -> dict[Columns, Spread]:
        """The curves of all tables that a measurement tells."""
        found = {(DATE, *columns): evidence.spread() for columns, evidence in self.dated.items()}
        measured, other = self.joint.measured.all_days(), self.moved.measured.all_days()
        for columns, sums in self.sums.items():
            if known(measured, columns):
                evidence = Evidence(margin(measured, columns).variance)
                _add(evidence, columns, sums, measured, other)
                found[columns] = evidence.spread()
        return found


def _add(evidence: Evidence, columns: Columns, sums: list[Floats], measured: Tables, moved: Tables) -> None:
    numbers, found, follows = sums
    noisy, other = margin(measured, columns).numbers, margin(moved, columns).numbers
    evidence.add(numbers.astype(np.int64), noisy, follows - found, other - noisy)


def _subsets(columns: Columns) -> Iterator[Columns]:
    for size in range(len(columns) + 1):
        yield from combinations(columns, size)
