"""Which change of the plan would help most: wider bins, areas, fewer parts or tables, another mechanism. Confidential.

Each is a forecast from the exact counts, at the same total ε and δ; nothing is drawn. Of cards they are upper bounds,
for a card that is in two cells counts once where they become one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2
from typing import Literal

import numpy as np

from tapveil.base.numbers import percent, three_digits
from tapveil.base.vocabulary import EVERY_MODE, MINUTES_PER_DAY
from tapveil.inputs.areas import Areas, Relabel
from tapveil.internal.comparison.compare import ALL, Comparison, Point, Truth, remade, variant, weights_of
from tapveil.internal.outlook import merged
from tapveil.internal.report.model.cells import Cells, Ints
from tapveil.plan.model import Plan, Table
from tapveil.privacy.distribution import distribution
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.rational import decimal_text

WIDTHS = (10, 15, 20, 30, 60, 120, 240, MINUTES_PER_DAY)
"""Bins that are tried, in minutes."""
WIDEST_ADVISED = 120
"""Wider bins no longer tell the times of a day apart: they are shown, and not advised."""
MOST_RANKED = 8
WORTHWHILE = 0.005
"""A gain below this share of the trips is not worth a change."""
SPARSE = 0.5
"""A table that publishes less than this share of its trips may be worth more left out."""

NAMES = {"date": "days", "mode": "modes"}

Kind = Literal["bins", "areas", "parts", "mechanism", "tables"]
Merged = tuple[Mapping[str, Ints], Ints]


@dataclass(frozen=True, repr=False)
class Change:
    """One change of the plan: what would be published before and after it, in the tables that it is about."""

    kind: Kind
    what: str
    how: str
    """What to write in the plan; code is between backticks."""
    gives_up: str
    before: float
    after: float
    of: int
    detail: float = 1.0
    """How many times as coarse the tables become."""
    table: str | None = None
    """The table, where it is about one alone."""
    minutes: int | None = None
    """The width of the bins, where it is about them."""

    @property
    def gain(self) -> float:
        return self.after - self.before

    @property
    def pays(self) -> float:
        """The gain for each halving of the detail; what gives up none pays all of it."""
        return self.gain / max(1.0, log2(self.detail) if self.detail > 1 else 1.0)

    @property
    def is_worthwhile(self) -> bool:
        return self.gain >= WORTHWHILE * self.of > 0


@dataclass(frozen=True, repr=False)
class Options:
    """What one table would publish if it were coarser."""

    widths: Mapping[int, float]
    """The share of its trips, by the width of its bins in minutes; the first is as it is."""
    changes: tuple[Change, ...]
    without: Mapping[str, Unsplit]
    """What it would publish if it were not split by a column of the partition."""
    trips: int
    expected: float
    """How many of its trips are expected to be published as it is."""

    @property
    def share(self) -> float:
        return self.expected / self.trips if self.trips else 0.0


@dataclass(frozen=True, repr=False)
class Unsplit:
    """A table that is not split by a column: the trips that it would publish, and how many parts become one."""

    trips: float
    parts: int


def options(plan: Plan, cells: Cells, wider: Mapping[str, Areas]) -> Options:
    """All that can be tried with one table. A list of cells is of its own bins and places: there, nothing can."""
    if cells.mechanism.visits_empty_cells:
        return Options({}, (), {}, cells.trips, cells.expected)
    widths = _by_width(plan, cells)
    of = cells.trips
    advised = {minutes: trips for minutes, trips in widths.items() if minutes <= WIDEST_ADVISED}
    bins = list(_bins_changes(plan, cells, advised))
    areas = list(_areas_changes(plan, cells, wider))
    best = [max(each, key=lambda change: change.pays) for each in (bins, areas) if each]
    as_it_is = {bin_minutes(plan, cells.table): cells.expected} if widths else {}
    return Options(
        {minutes: trips / of if of else 0.0 for minutes, trips in {**as_it_is, **widths}.items()},
        tuple(best),
        {column: _unsplit(cells, column) for column in _droppable(plan)},
        of,
        cells.expected,
    )


def bin_minutes(plan: Plan, table: Table) -> int:
    """How wide the bins of a table are; where they are parts of the day, as wide as it is."""
    return MINUTES_PER_DAY if table.level.times else table.level.time_minutes or plan.coarsen.time_minutes


# --- wider bins -----------------------------------------------------------------------------------------------------


def _by_width(plan: Plan, cells: Cells) -> dict[int, float]:
    """The trips that are expected to be published with bins of each width. Wider ones are made of narrower ones."""
    timed, own = cells.columns("time"), bin_minutes(plan, cells.table)
    if not timed or not cells.trips:
        return {}
    made: dict[int, Merged] = {own: (cells.codes, cells.true)}
    found = {}
    for width in WIDTHS:
        if width > own and width % own == 0:
            narrower = max(each for each in made if width % each == 0)
            made[width] = _widened(made[narrower], timed, width // narrower)
            found[width] = _expected(made[width], cells.mechanism)
    return found


def _widened(cells: Merged, timed: Sequence[str], times: int) -> Merged:
    """So many bins as one. Code 0 is a missing time, and stays by itself."""
    codes, counts = cells
    return merged(
        {name: (code + times - 1) // times if name in timed else code for name, code in codes.items()}, counts
    )


def _bins_changes(plan: Plan, cells: Cells, widths: Mapping[int, float]) -> Iterator[Change]:
    own = bin_minutes(plan, cells.table)
    for minutes, after in widths.items():
        how = _all_bins(plan, minutes) if plan.release.layout == "opal" else _level(plan, cells.table, minutes=minutes)
        if how:
            length = "the whole day" if minutes == MINUTES_PER_DAY else f"{minutes} minutes"
            yield Change(
                "bins",
                f"{cells.name}: bins of {length} instead of {own}",
                how,
                f"times within {length} can no longer be distinguished",
                cells.expected,
                after,
                cells.trips,
                minutes / own,
                cells.name,
                minutes,
            )


# --- wider areas ----------------------------------------------------------------------------------------------------


def _areas_changes(plan: Plan, cells: Cells, wider: Mapping[str, Areas]) -> Iterator[Change]:
    located = cells.columns("location")
    if not located or cells.table.level.location or not cells.trips:
        return
    for name, areas in wider.items():
        how = _level(plan, cells.table, location=name)
        if how is None:
            continue
        codes, before, after = dict(cells.codes), 0, 0
        for column in located:
            codes[column], few = _relabelled(cells, column, Relabel.of_places(areas))
            before, after = before + len(np.unique(cells.codes[column])), after + few
        yield Change(
            "areas",
            f"{cells.name}: {name} instead of single places",
            how,
            f"{before:,} places become {after:,}",
            cells.expected,
            _expected(merged(codes, cells.true), cells.mechanism),
            cells.trips,
            before / max(1, after),
            cells.name,
        )


def _relabelled(cells: Cells, column: str, relabel: Relabel) -> tuple[Ints, int]:
    """The codes of a column in its wider areas, and how many of these there are."""
    places, modes = cells.labels[column], cells.labels.get("mode", (EVERY_MODE,))
    mode = cells.codes.get("mode", np.zeros(len(cells.true), dtype=np.int64))
    pairs, which = np.unique(mode * len(places) + cells.codes[column], return_inverse=True)
    named = [relabel.label(modes[pair // len(places)], places[pair % len(places)]) for pair in pairs.tolist()]
    known, codes = np.unique(np.array(named), return_inverse=True)
    return codes.astype(np.int64)[which], len(known)


# --- what to write in the plan --------------------------------------------------------------------------------------


def _is_accepted(plan: Plan, **changed: object) -> bool:
    """Whether the plan could be so: it could not, for one, where another level is as coarse already."""
    try:
        remade(plan, **changed)
    except ValueError:
        return False
    return True


def _all_bins(plan: Plan, minutes: int) -> str | None:
    coarsen = plan.coarsen.model_copy(update={"time_minutes": minutes})
    words = f"`time_minutes = {minutes}` under `[coarsen]`, for all tables: this layout has one width"
    return words if _is_accepted(plan, coarsen=coarsen) else None


def _level(plan: Plan, table: Table, *, minutes: int | None = None, location: str | None = None) -> str | None:
    """What to write for longer bins or wider areas; nothing where the plan would be refused."""
    wanted = {"time_minutes": minutes} if minutes else {"location": location}
    level = table.level.model_copy(update=wanted)
    coarser = tuple(each.model_copy(update={"level": level}) if each is table else each for each in plan.table)
    if not _is_accepted(plan, table=coarser):
        return None
    if table.is_of_levels:
        return f"`{_keys(wanted)}` in the entry of `levels` that makes `{table.name}`"
    return f"`level = {{ {_keys(level.model_dump(exclude_none=True))} }}` in the table `{table.name}`"


def _keys(level: Mapping[str, object]) -> str:
    """As TOML has them: numbers, texts and lists of texts are written as in JSON."""
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in level.items())


def _weights(plan: Plan, tables: Sequence[Table]) -> Iterator[str]:
    """The weights that give each table the share that it has, where they are not 1. Levels have those of one table."""
    shares: dict[str, Fraction] = {}
    for table, share in zip(plan.table, weights_of(plan), strict=True):
        if table in tables:
            where = _written_in(plan, table)
            shares[where] = shares.get(where, Fraction(0)) + share
    for where, share in shares.items():
        if share != min(shares.values()):
            yield f"`weight = {decimal_text(share / min(shares.values()), 4)}` in {where}"


def _written_in(plan: Plan, table: Table) -> str:
    """A table as the plan has it: where it has levels, by all that they make."""
    if not table.is_of_levels:
        return f"`{table.name}`"
    family = [each.name for each in plan.table if each.is_of_levels and set(each.columns) == set(table.columns)]
    return f"the table of the levels {' and '.join(f'`{name}`' for name in family)}"


# --- fewer parts ----------------------------------------------------------------------------------------------------


def _droppable(plan: Plan) -> tuple[str, ...]:
    """The columns of the partition that could go. Units of cards and days, and the Opal files, need theirs."""
    if plan.privacy.by_card or plan.release.layout == "opal":
        return ()
    return plan.release.partition


def _unsplit(cells: Cells, column: str) -> Unsplit:
    whole = merged({name: code for name, code in cells.codes.items() if name != column}, cells.true)
    return Unsplit(_expected(whole, cells.mechanism), len(np.unique(cells.codes[column])))


def _parts_changes(plan: Plan, tables: Mapping[str, Options]) -> Iterator[Change]:
    before, of = _summed(tables.values())
    for column in _droppable(plan):
        parts = max((each.without[column].parts for each in tables.values() if column in each.without), default=0)
        rest = tuple(name for name in plan.release.partition if name != column)
        if parts > 1 and _is_accepted(plan, release=plan.release.model_copy(update={"partition": rest})):
            yield Change(
                "parts",
                f"all tables: not split by {column}",
                f"`partition = {json.dumps(rest)}` under `[release]`",
                f"the {parts:,} {NAMES.get(column, f'values of {column}')} can no longer be distinguished",
                before,
                sum(each.without[column].trips for each in tables.values()),
                of,
                parts,
            )


# --- fewer tables, another mechanism --------------------------------------------------------------------------------


def _mechanism_changes(plan: Plan, comparison: Comparison) -> Iterator[Change]:
    """Other mechanisms at the same total, unit and δ; or the same one, with one total instead of many budgets."""
    own = comparison.own
    for point in comparison.of(own.unit):
        if point.own or point.epsilon != own.epsilon or ALL not in point.worth or ALL not in own.worth:
            continue
        total = "" if plan.guarantee.is_shared else ", with one total"
        now, then = own.worth[ALL], point.worth[ALL]
        yield Change(
            "mechanism",
            f"mechanism {point.mechanism} instead of {own.mechanism}{total}"
            if point.mechanism != own.mechanism
            else "one total instead of a budget for each table",
            _other_mechanism(plan, point),
            _less_exact(now.number_error, then.number_error),
            now.trips,
            then.trips,
            now.of_trips,
        )


def _other_mechanism(plan: Plan, point: Point) -> str:
    mechanism = f'`mechanism = "{point.mechanism}"`'
    if plan.guarantee.is_shared:
        return f"{mechanism} under `[privacy]`"
    return f"{mechanism}, {_one_total(plan, plan.table)}"


def _one_total(plan: Plan, tables: Sequence[Table]) -> str:
    """The total that tables with budgets of their own have, as one that they share."""
    delta = f", `delta = {decimal_text(plan.guarantee.loss.delta).lower()}`" if plan.guarantee.loss.delta else ""
    heavier = ", ".join(_weights(plan, tables))
    return (
        f"`epsilon = {decimal_text(plan.guarantee.loss.epsilon)}`{delta} under `[privacy]`; in the tables no "
        f"epsilon and delta of their own{f', but {heavier}' if heavier else ''}"
    )


def _less_exact(now: float | None, then: float | None) -> str:
    if now is None or then is None or then <= now:
        return "nothing: numbers are no less exact"
    return f"a printed number is off by {three_digits(then)} on average, and not by {three_digits(now)}"


def _fewer_tables(plan: Plan, tables: Mapping[str, Options], truth: Truth) -> Iterator[Change]:
    """The table that publishes least left out, its share of the budget given to the others.

    A level is not left out: its share would go to the other levels of its table.
    """
    whole = [table.name for table in plan.detailed if not table.is_of_levels]
    sparse = min(whole, key=lambda name: tables[name].share, default=None)
    if sparse is None or len(tables) == 1 or tables[sparse].share >= SPARSE:
        return
    others = tuple(table for table in plan.table if table.name != sparse)
    try:
        fewer = _without(plan, others)
    except ValueError:
        return  # the others cannot do without it, or no such noise can be made
    before, of = _summed(tables.values())  # what it published itself is lost, and counts against it
    yield Change(
        "tables",
        f"leave out {sparse}, and give its share of ε to the others",
        f"no table `{sparse}`{'' if plan.guarantee.is_shared else f', and {_one_total(plan, others)}'}",
        f"the whole of {sparse}, which has {percent(tables[sparse].share)} of its trips",
        before,
        sum(each.trips for name, each in truth.forecasts(fewer).items() if name in tables),
        of,
    )


def _without(plan: Plan, others: Sequence[Table]) -> Plan:
    """The plan with these tables alone, and all of its budget."""
    like = (plan.privacy.unit, plan.privacy.mechanism, plan.guarantee.loss.epsilon)
    whole = plan if plan.guarantee.is_shared else variant(plan, *like)  # so that what is freed is not lost
    names = {table.name for table in others}
    rest = tuple(table for table in whole.table if table.name in names)
    return variant(whole.model_copy(update={"table": rest}), *like)


def ranked(plan: Plan, tables: Mapping[str, Options], comparison: Comparison, truth: Truth) -> tuple[Change, ...]:
    """All changes that are worth it, the largest gain first; of each sort, and table, the one that pays best."""
    every = [
        *(change for each in tables.values() for change in each.changes),
        *_parts_changes(plan, tables),
        *_best(list(_mechanism_changes(plan, comparison))),
        *_fewer_tables(plan, tables, truth),
    ]
    worthwhile = [change for change in every if change.is_worthwhile]
    return tuple(sorted(worthwhile, key=lambda change: -change.gain)[:MOST_RANKED])


def _best(changes: Sequence[Change]) -> list[Change]:
    return [max(changes, key=lambda change: change.gain)] if changes else []


def _summed(tables: Iterable[Options]) -> tuple[float, int]:
    found = list(tables)
    return sum(each.expected for each in found), sum(each.trips for each in found)


def _expected(cells: Merged, mechanism: Mechanism) -> float:
    """How many trips would be published."""
    return distribution(mechanism).expected(cells[1]).trips
