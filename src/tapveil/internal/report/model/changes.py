"""Which change of the plan would help most: wider bins, areas, fewer parts or tables, another mechanism. Confidential.

Each is a forecast from the exact counts, at the same total ε and δ; nothing is drawn. Of cards they are upper bounds,
for a card that is in two cells counts once where they become one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2
from typing import TYPE_CHECKING, Literal

import numpy as np

from tapveil.base.layouts import LAYOUTS
from tapveil.base.numbers import percent, three_digits
from tapveil.base.vocabulary import EVERY_MODE, MINUTES_PER_DAY
from tapveil.inputs.areas import Areas, Relabel
from tapveil.internal.comparison.compare import ALL, Comparison, Truth, remade, variant, weights_of
from tapveil.internal.merged import merged
from tapveil.internal.report.model.cells import Cells, Ints
from tapveil.plan.model import Plan, Table
from tapveil.privacy.distribution import distribution
from tapveil.privacy.rational import decimal_text

if TYPE_CHECKING:
    from tapveil.internal.report.model.findings import TableFindings

WIDTHS = (10, 15, 20, 30, 60, 120, 240, MINUTES_PER_DAY)
"""Bins that are tried, in minutes."""
WIDEST_ADVISED = 120
"""Wider bins no longer distinguish the times of a day: they are shown, and not advised."""
MOST_RANKED = 8
WORTHWHILE = 0.005
"""A gain below this share of the trips is not worth a change."""
SPARSE = 0.5
"""A table that publishes less than this share of its trips may be worth more left out."""

NAMES = {"date": "days", "mode": "modes"}

Kind = Literal["bins", "areas", "parts", "mechanism", "tables"]


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


@dataclass(frozen=True, repr=False)
class Options:
    """What one table would publish if it were coarser."""

    widths: Mapping[int, float]
    """The share of its trips, by the width of its bins in minutes; the first is as it is."""
    changes: tuple[Change, ...]
    without: Mapping[str, tuple[float, int]]
    """For each column that it need not be split by: the trips that it would publish, and how many parts become one."""


def options(plan: Plan, cells: Cells, wider: Mapping[str, Areas]) -> Options:
    """All that can be tried with one table. A list of cells is of its own bins and places: there, nothing can."""
    if cells.mechanism.visits_empty_cells:
        return Options({}, (), {})
    widths = _by_width(plan, cells)
    tried = (list(_bins_changes(plan, cells, widths)), list(_areas_changes(plan, cells, wider)))
    # Units of cards and days, and the Opal files, need the columns of their partition.
    needs_parts = plan.privacy.by_card or _has_fixed_files(plan)
    without = {}
    for column in () if needs_parts else plan.release.partition:
        _, whole = merged({name: code for name, code in cells.codes.items() if name != column}, cells.true)
        without[column] = (_expected(cells, whole), len(np.unique(cells.codes[column])))
    return Options(
        {minutes: trips / cells.trips for minutes, trips in widths.items()},
        tuple(max(each, key=lambda change: change.pays) for each in tried if each),
        without,
    )


def _has_fixed_files(plan: Plan) -> bool:
    return bool(LAYOUTS[plan.release.layout].columns)


def bin_minutes(plan: Plan, table: Table) -> int:
    """How wide the bins of a table are; where they are parts of the day, as wide as it is."""
    return MINUTES_PER_DAY if table.level.times else table.level.time_minutes or plan.coarsen.time_minutes


def _expected(cells: Cells, counts: Ints) -> float:
    """How many trips would be published if the cells of a table had these counts."""
    return distribution(cells.mechanism).expected(counts).trips


def _by_width(plan: Plan, cells: Cells) -> dict[int, float]:
    """The trips that are expected to be published with bins of each width, the table's own first."""
    timed, own = cells.columns("time"), bin_minutes(plan, cells.table)
    if not timed or not cells.trips:
        return {}
    made: dict[int, tuple[Mapping[str, Ints], Ints]] = {own: (cells.codes, cells.true)}
    for width in WIDTHS:
        if width > own and width % own == 0:
            narrower = max(each for each in made if width % each == 0)
            (codes, counts), times = made[narrower], width // narrower
            # So many bins become one. Code 0 is a missing time, and stays by itself.
            wide = {name: (code + times - 1) // times if name in timed else code for name, code in codes.items()}
            made[width] = merged(wide, counts)
    found = {width: _expected(cells, counts) for width, (_, counts) in made.items() if width != own}
    return {own: cells.expected, **found} if found else {}


def _bins_changes(plan: Plan, cells: Cells, widths: Mapping[int, float]) -> Iterator[Change]:
    own = bin_minutes(plan, cells.table)
    for minutes, after in widths.items():
        if not own < minutes <= WIDEST_ADVISED:
            continue
        if _has_fixed_files(plan):
            coarsen = plan.coarsen.model_copy(update={"time_minutes": minutes})
            words = f"`time_minutes = {minutes}` under `[coarsen]`, for all tables: this layout has one width"
            how = words if _is_accepted(plan, coarsen=coarsen) else None
        else:
            how = _level(plan, cells.table, time_minutes=minutes)
        if how:
            what = f"{cells.name}: bins of {minutes} minutes instead of {own}"
            lost = f"times within {minutes} minutes are no longer distinguished"
            trips = (cells.expected, after, cells.trips)
            yield Change("bins", what, how, lost, *trips, minutes / own, cells.name, minutes)


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
        what, lost = f"{cells.name}: {name} instead of single places", f"{before:,} places become {after:,}"
        trips = (cells.expected, _expected(cells, merged(codes, cells.true)[1]), cells.trips)
        yield Change("areas", what, how, lost, *trips, before / max(1, after), cells.name)


def _relabelled(cells: Cells, column: str, relabel: Relabel) -> tuple[Ints, int]:
    """The codes of a column in its wider areas, and how many of these there are."""
    places, modes = cells.labels[column], cells.labels.get("mode", (EVERY_MODE,))
    mode = cells.codes.get("mode", np.zeros(len(cells.true), dtype=np.int64))
    pairs, which = np.unique(mode * len(places) + cells.codes[column], return_inverse=True)
    named = [relabel.label(modes[pair // len(places)], places[pair % len(places)]) for pair in pairs.tolist()]
    known, codes = np.unique(np.array(named), return_inverse=True)
    return codes.astype(np.int64)[which], len(known)


def _is_accepted(plan: Plan, **changed: object) -> bool:
    """Whether the plan could be so: it could not, for one, where another level is as coarse already."""
    try:
        remade(plan, **changed)
    except ValueError:
        return False
    return True


def _level(plan: Plan, table: Table, **wanted: object) -> str | None:
    """What to write for longer bins or wider areas; nothing where the plan would be refused."""
    level = table.level.model_copy(update=wanted)
    coarser = tuple(each.model_copy(update={"level": level}) if each is table else each for each in plan.table)
    if not _is_accepted(plan, table=coarser):
        return None
    written = wanted if table.is_of_levels else level.model_dump(exclude_none=True)
    # In TOML, numbers, texts and lists of texts are written as in JSON.
    keys = ", ".join(f"{key} = {json.dumps(value)}" for key, value in written.items())
    if table.is_of_levels:
        return f"`{keys}` in the entry of `levels` that makes `{table.name}`"
    return f"`level = {{ {keys} }}` in the table `{table.name}`"


def _one_total(plan: Plan, tables: Sequence[Table]) -> str:
    """The total that tables with budgets of their own have, as one that they share.

    Weights give each table the share that it has, where they are not 1. Levels have those of one table.
    """
    shares: dict[str, Fraction] = {}
    for table, share in zip(plan.table, weights_of(plan), strict=True):
        if table in tables:
            family = [each.name for each in plan.table if each.is_of_levels and set(each.columns) == set(table.columns)]
            levels = f"the table of the levels {' and '.join(f'`{name}`' for name in family)}"
            where = levels if table.is_of_levels else f"`{table.name}`"
            shares[where] = shares.get(where, Fraction(0)) + share
    least = min(shares.values())
    weights = ((where, decimal_text(share / least, 4)) for where, share in shares.items() if share != least)
    heavier = ", ".join(f"`weight = {weight}` in {where}" for where, weight in weights)
    loss = plan.guarantee.loss
    delta = f", `delta = {decimal_text(loss.delta).lower()}`" if loss.delta else ""
    return (
        f"`epsilon = {decimal_text(loss.epsilon)}`{delta} under `[privacy]`; in the tables no "
        f"epsilon and delta of their own{f', but {heavier}' if heavier else ''}"
    )


def _parts_changes(plan: Plan, tables: Mapping[str, TableFindings]) -> Iterator[Change]:
    before, of = _summed(tables)
    for column in plan.release.partition:
        unsplit = [each.options.without[column] for each in tables.values() if column in each.options.without]
        parts = max((parts for _, parts in unsplit), default=0)
        rest = tuple(name for name in plan.release.partition if name != column)
        if parts > 1 and _is_accepted(plan, release=plan.release.model_copy(update={"partition": rest})):
            what, how = f"all tables: not split by {column}", f"`partition = {json.dumps(rest)}` under `[release]`"
            lost = f"the {parts:,} {NAMES.get(column, f'values of {column}')} are no longer distinguished"
            yield Change("parts", what, how, lost, before, sum(trips for trips, _ in unsplit), of, parts)


def _mechanism_changes(plan: Plan, comparison: Comparison) -> Iterator[Change]:
    """Other mechanisms at the same total, unit and δ; or the same one, with one total instead of many budgets."""
    own = comparison.own
    for point in comparison.of(own.unit):
        if point.own or point.epsilon != own.epsilon or ALL not in point.worth or ALL not in own.worth:
            continue
        total, where = "", " under `[privacy]`"
        if not plan.guarantee.is_shared:
            total, where = ", with one total", f", {_one_total(plan, plan.table)}"
        now, then = own.worth[ALL], point.worth[ALL]
        lost, off, off_then = "nothing: counts are as accurate", now.number_error, then.number_error
        if off is not None and off_then is not None and off_then > off:
            lost = f"the mean error of a published count is {three_digits(off_then)} instead of {three_digits(off)}"
        what = "one total instead of a budget for each table"
        if point.mechanism != own.mechanism:
            what = f"mechanism {point.mechanism} instead of {own.mechanism}{total}"
        how = f'`mechanism = "{point.mechanism}"`{where}'
        yield Change("mechanism", what, how, lost, now.trips, then.trips, now.of_trips)


def _fewer_tables(plan: Plan, tables: Mapping[str, TableFindings], truth: Truth) -> Iterator[Change]:
    """The table that publishes least left out, its share of the budget given to the others.

    A level is not left out: its share would go to the other levels of its table.
    """
    candidates = [table.name for table in plan.detailed if not table.is_of_levels]
    sparse = min(candidates, key=lambda name: tables[name].expected_share, default=None)
    if sparse is None or len(tables) == 1 or tables[sparse].expected_share >= SPARSE:
        return
    like = (plan.privacy.unit, plan.privacy.mechanism, plan.guarantee.loss.epsilon)
    try:
        whole = plan if plan.guarantee.is_shared else variant(plan, *like)  # so that what is freed is not lost
        rest = tuple(table for table in whole.table if table.name != sparse)
        fewer = variant(whole.model_copy(update={"table": rest}), *like)
    except ValueError:
        return  # the others cannot do without it, or no such noise can be made
    others = [table for table in plan.table if table.name != sparse]
    before, of = _summed(tables)  # what it published itself is lost, and counts against it
    what = f"leave out {sparse}, and give its share of ε to the others"
    how = f"no table `{sparse}`{'' if plan.guarantee.is_shared else f', and {_one_total(plan, others)}'}"
    lost = f"all of {sparse}, which would publish {percent(tables[sparse].expected_share)} of its trips"
    after = sum(each.trips for name, each in truth.forecasts(fewer).items() if name in tables)
    yield Change("tables", what, how, lost, before, after, of)


def _summed(tables: Mapping[str, TableFindings]) -> tuple[float, int]:
    return sum(each.expected for each in tables.values()), sum(each.trips for each in tables.values())


def ranked(plan: Plan, tables: Mapping[str, TableFindings], comparison: Comparison, truth: Truth) -> tuple[Change, ...]:
    """All changes that are worth it, the largest gain first; of each sort, and table, the one that pays best."""
    mechanisms = sorted(_mechanism_changes(plan, comparison), key=lambda change: -change.gain)
    every = [
        *(change for each in tables.values() for change in each.options.changes),
        *_parts_changes(plan, tables),
        *mechanisms[:1],
        *_fewer_tables(plan, tables, truth),
    ]
    worthwhile = [change for change in every if change.gain >= WORTHWHILE * change.of > 0]
    return tuple(sorted(worthwhile, key=lambda change: -change.gain)[:MOST_RANKED])
