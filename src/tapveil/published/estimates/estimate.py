"""Estimates of whole trips: whole numbers that add up, intervals, and how far each rests on its own measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.joint import ENDED, Fitted, Joint
from tapveil.published.estimates.margins import Measured, Tables, known, margin, summed
from tapveil.published.estimates.parts import Floats, Ints
from tapveil.published.estimates.resolution import (
    NOTHING_TOLD,
    Expected,
    Gains,
    Told,
    beyond_error,
    is_thin,
    was_thin,
)
from tapveil.published.estimates.rounding import whole
from tapveil.published.estimates.shelf import Shelf
from tapveil.published.estimates.shrinkage import sizes
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
    bends: Sequence[Floats] = ()
    """Of each day: how far its ends differ from what durations alone say; of none where no table tells it."""
    told: Mapping[Columns, Told] = field(default_factory=dict)
    """Of thin tables, the date first: which sizes of estimates they list; all other tables list all."""
    exact: Totals | None = None
    """Totals that are known exactly, where cells that follow from them have no interval."""

    def spread(self, columns: Sequence[str]) -> Spread:
        """Of the estimates over these columns."""
        return self.spreads.get(self._key(columns), UNSEEN)

    @staticmethod
    def _key(columns: Sequence[str]) -> Columns:
        dated = (DATE,) if {DATE, KIND} & set(columns) else ()
        return (*dated, *in_order(columns))

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
        for each in self.endings.deal(numbers, self.bends[day] if self.bends else None):
            yield {column: each[column] for column in self.trip_columns}

    def count(self, columns: Sequence[str]) -> Ints:
        """How many trips, over columns of a trip, the date or the kind of day, in their order."""
        kept = _checked(columns)
        days = [self.of_day(day, kept) for day in range(self.world.days)]
        if DATE in columns:
            found = np.stack(days)
        elif KIND in columns:
            alike = [self.world.alike(kind) for kind in self._kinds]
            found = np.stack([sum((days[day] for day in some), np.zeros_like(days[0])) for some in alike])
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
        """Estimates with intervals; a cell of a thin table that cannot be told from nothing is 0."""
        pieces = [*self.pieces(columns)]
        if len(pieces) == 1:
            return pieces[0]
        parts = zip(*((each.count, each.low, each.high, each.weight) for each in pieces), strict=True)
        count, low, high, weight = (np.concatenate(part) for part in parts)
        return Table(tuple(columns), count, low, high, weight)

    def pieces(self, columns: Sequence[str]) -> Iterator[Table]:
        """The same day by day, where the date comes first: memory holds one day. Otherwise in one piece."""
        spread, possible, told = self.spread(columns), self._possible(columns), self.told.get(self._key(columns))
        for number, count in enumerate(self._counts(columns)):
            low, high = spread.around(count)
            if self.exact and set(in_order(columns)) <= set(self.columns):
                certain = self._certain(columns, self.exact, number)
                low, high = np.where(certain, count, low), np.where(certain, count, high)
            weight = spread.weight(count.astype(np.float64))
            if told is not None:
                listed = told[sizes(count.astype(np.float64))]
                count, low = count * listed, low * listed
            yield Table(tuple(columns), count, low, high * possible, weight)

    def _counts(self, columns: Sequence[str]) -> Iterator[Ints]:
        if not columns or columns[0] != DATE:
            yield self.count(columns)
            return
        kept, order = _checked(columns), [in_order(columns).index(column) for column in columns[1:]]
        for day in range(self.world.days):
            yield self.of_day(day, kept).transpose(order)[None]

    def _certain(self, columns: Sequence[str], exact: Totals, piece: int) -> npt.NDArray[np.bool_]:
        """Which cells of a piece of a table follow from totals that are known exactly, in the order of its columns."""
        kept, every = in_order(columns), list(range(self.world.days))
        day = next((column for column in (DATE, KIND) if column in columns), None)
        if day is None:
            return exact.certain(every, kept).transpose([kept.index(column) for column in columns])
        groups = [[each] for each in every] if day == DATE else [self.world.alike(kind) for kind in self._kinds]
        groups = [groups[piece]] if columns[0] == DATE else groups
        found = np.stack([exact.certain(each, kept) for each in groups])
        return found.transpose([(day, *kept).index(column) for column in columns])

    @property
    def _kinds(self) -> range:
        return range(max(self.world.kinds) + 1)

    def _possible(self, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
        kept = in_order(columns)
        possible = self.world.possible(kept).transpose([kept.index(c) for c in columns if c in kept])
        return np.expand_dims(possible, [i for i, c in enumerate(columns) if c not in kept])


def _checked(columns: Sequence[str]) -> Columns:
    """The columns of a trip among these."""
    kept = in_order(columns)
    if len(kept) + len({DATE, KIND} & set(columns)) < len(columns) or {DATE, KIND} <= set(columns):
        raise ValueError("the columns of a table are those of a trip, and the date or the kind of day")
    return kept


ADDS_UP, RESOLVES, JUDGED, EXPECTS, ROUNDS = 3, 4, 5, 6, 7
"""The first versions in which totals of days add up, whatever noise is; in which thin tables have fewer cells; in which
these are judged by measurements that they were not made from, and cells that follow from exact totals have no interval;
in which tables that no measurement tells can be thin, too; and in which rounding is an error of its own, and only cells
with estimates decide whether a table is thin."""
NEWEST = ROUNDS
"""The version of estimates of new folders."""


def estimate(
    world: World, measurements: Sequence[Measurement], version: int = NEWEST, totals: Sequence[Total] = ()
) -> Estimates:
    """From what was measured and what is public, nothing else: anyone can make it again, byte for byte.

    Before version 3, days with a negative noisy total had none, so that all days together had too many. Before version
    4, tables had all cells, also where they are further off than zeros; version 4 left out those within their error, as
    far as estimates themselves show it; before version 6, tables that no measurement tells had all cells; before
    version 7, tables of which nearly all cells are near nothing had all cells, where noise said which of them are one.
    With totals that are known exactly, sums are these, and tables have all cells; from version 5 on, cells that follow
    from them have no interval.
    """
    check(world, measurements)
    joint, moved = (Joint(Measured(world, measurements, moved), version >= ADDS_UP) for moved in (False, True))
    endings = _endings(joint)
    seen = _Seen(joint, moved, unmeasured=version >= EXPECTS and not totals, rounded=version >= ROUNDS)
    meeting, meeting_moved = (_Meeting.of(each, totals) if totals else None for each in (joint, moved))
    days, bends = Shelf(), Shelf()
    for day in range(world.days):
        found, follows = joint.day(day), moved.day(day)
        if meeting and meeting_moved:
            found, follows = meeting.stretched(found, day), meeting_moved.stretched(follows, day)
        numbers = whole(found[joint.columns])
        numbers = meeting.met(found, numbers, day) if meeting else numbers
        days.put(numbers.astype(np.min_scalar_type(int(numbers.max()))))  # in few bytes
        if endings and ENDED in found:
            bends.put(endings.bends(numbers, found[ENDED]))
        made = Estimates(world, joint.columns, days, {}, endings, bends)
        sums = {columns: summed(numbers, joint.columns, columns)[0] for columns in _subsets(joint.columns)}
        sums |= {columns: made.of_day(day, columns) for columns in joint.beyond} if endings else {}
        seen.add(day, sums, found, follows)
    spreads = seen.spreads()
    told = {} if totals else _told(seen, spreads, version)
    return replace(made, spreads=spreads, told=told, exact=meeting.totals if meeting and version >= JUDGED else None)


def _told(seen: _Seen, spreads: Mapping[Columns, Spread], version: int) -> dict[Columns, Told]:
    """Of thin tables: which sizes of estimates they list."""
    if version < RESOLVES:
        return {}
    is_so = is_thin if version >= ROUNDS else was_thin
    thin = [columns for columns, evidence in seen.of_whole_trips() if is_so(evidence, spreads[columns])]
    if version < JUDGED:
        return {columns: beyond_error(seen.evidence[columns], spreads[columns]) for columns in thin}
    told = _judged(seen.joint, thin)
    silent = [set(columns) for columns in thin if not told[columns].any()]
    for columns, expected in seen.expected.items():
        # What noise hides of pairs of places, it hides of pairs by the hour.
        hidden = any(table < set(columns) for table in silent)
        listed = NOTHING_TOLD if hidden else expected.told()
        told |= {} if listed is None else {columns: listed}
    return told


def _judged(joint: Joint, thin: Sequence[Columns]) -> dict[Columns, Told]:
    """All is estimated once more, from a half of the measurements, and the other half judges it.

    Where no table is thin, nothing is done.
    """
    world, measurements = joint.world, joint.measured.measurements
    first, second = (Measured(world, measurements, half=half) for half in (1, 2))
    half, sums, found = Joint(first, joint.adds_up), dict[Columns, Ints](), dict[Columns, Gains]()

    def judge(table: Columns, estimates: Ints, other: Tables) -> None:
        noisy = margin(other, table[1:] if table[0] == DATE else table)
        found.setdefault(table, Gains(noisy.variance)).add(estimates, noisy.numbers)

    for day in range(world.days) if thin else ():
        numbers, other = whole(half.day(day)[half.columns]), second.day(day)
        for table in thin:
            own = summed(numbers, half.columns, tuple(column for column in table if column != DATE))[0]
            if table[0] == DATE:
                judge(table, own, other)
            else:
                sums[table] = sums[table] + own if table in sums else own
    for table, own in sums.items():
        judge(table, own, second.all_days())
    return {table: gains.told() for table, gains in found.items()}


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

    def __init__(self, joint: Joint, moved: Joint, unmeasured: bool, rounded: bool) -> None:
        self.joint, self.moved, self.unmeasured, self.rounded = joint, moved, unmeasured, rounded
        self.dated: dict[Columns, Evidence] = {}
        self.sums: dict[Columns, list[Floats]] = {}
        self.unseen: dict[Columns, Expected] = {}

    def add(self, day: int, sums: Mapping[Columns, Ints], found: Fitted, follows: Fitted) -> None:
        """One day: its whole numbers, and its estimates from the measurements and from the moved ones."""
        measured, other = self.joint.measured.day(day), self.moved.measured.day(day)
        for columns, numbers in sums.items():
            whole = columns if columns in self.joint.beyond else self.joint.columns
            fitted = (summed(each[whole], whole, columns)[0] for each in (found, follows))
            three = [numbers.astype(np.float64), *fitted]
            if known(measured, columns):
                evidence = self.dated.setdefault(columns, self._evidence(measured, columns))
                _add(evidence, columns, three, measured, other)
            elif self._expects(columns):
                self.unseen.setdefault(columns, Expected()).add(*three)
            if known(self.joint.measured.columns, columns) or self.unmeasured:
                have = self.sums.get(columns)
                self.sums[columns] = [a + b for a, b in zip(have, three, strict=True)] if have else three

    def of_whole_trips(self) -> Iterator[tuple[Columns, Evidence]]:
        """The evidence of the tables that can be thin: totals always tell something, and how trips end is dealt out."""
        return ((columns, evidence) for columns, evidence in self.evidence.items() if self._is_of_whole_trips(columns))

    def _is_of_whole_trips(self, columns: Columns) -> bool:
        kept = in_order(columns)
        return bool(kept) and set(kept) <= set(self.joint.columns)

    def _expects(self, columns: Columns) -> bool:
        return self.unmeasured and self._is_of_whole_trips(columns)

    def spreads(self) -> dict[Columns, Spread]:
        """The curves of all tables that a measurement tells."""
        return {columns: evidence.spread() for columns, evidence in self.evidence.items()}

    @cached_property
    def evidence(self) -> dict[Columns, Evidence]:
        """Of each table that a measurement tells; the date comes first."""
        found = {(DATE, *columns): evidence for columns, evidence in self.dated.items()}
        measured, other = self.joint.measured.all_days(), self.moved.measured.all_days()
        for columns, sums in self.sums.items():
            if known(measured, columns):
                found[columns] = self._evidence(measured, columns)
                _add(found[columns], columns, sums, measured, other)
        return found

    def _evidence(self, measured: Tables, columns: Columns) -> Evidence:
        return Evidence(margin(measured, columns).variance, self.rounded)

    @cached_property
    def expected(self) -> dict[Columns, Expected]:
        """Of each table of whole trips that no measurement tells; the date comes first."""
        found, measured = (
            {(DATE, *columns): each for columns, each in self.unseen.items()},
            self.joint.measured.all_days(),
        )
        for columns, sums in self.sums.items():
            if self._expects(columns) and not known(measured, columns):
                found[columns] = Expected()
                found[columns].add(*sums)
        return found


def _add(evidence: Evidence, columns: Columns, sums: list[Floats], measured: Tables, moved: Tables) -> None:
    numbers, found, follows = sums
    noisy, other = margin(measured, columns).numbers, margin(moved, columns).numbers
    evidence.add(numbers.astype(np.int64), found, noisy, follows - found, other - noisy)


def _subsets(columns: Columns) -> Iterator[Columns]:
    for size in range(len(columns) + 1):
        yield from combinations(columns, size)
