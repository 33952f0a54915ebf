"""Counts that are held while somebody chooses: what each choice would publish, without reading the trips again.

CONFIDENTIAL: all of it follows from exact counts. They are counted once, in the secret side's own type, and stay in
memory. Another noise needs the sizes of the cells alone. Where every trip counts by itself, so do longer bins and days
taken together, of which the cells are merged; a card counts once in a cell, so that for cards they are counted anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import TripDataError
from tapveil.base.progress import Reporter, Silent
from tapveil.counting.counter import count
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.refusals import refuse_too_many
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.public import PublicInputs
from tapveil.internal.merged import merged
from tapveil.internal.warnings import nearly_empty
from tapveil.plan.model import Plan, Table
from tapveil.privacy.distribution import Integers, distribution
from tapveil.privacy.mechanisms import Mechanism

ONE_IN_TEN = 10
"""A count is within 10 % if its error is no larger than a tenth of it."""
MOST_BARS = 48


@dataclass(frozen=True, repr=False)
class Bar:
    """All cells of a table with one label, together. CONFIDENTIAL."""

    label: str
    trips: int
    share: float
    """The share of its trips that is expected to be published."""


@dataclass(frozen=True, repr=False)
class TablePreview:
    """What a table would publish. CONFIDENTIAL."""

    cells: int
    expected_cells: float
    trips: int
    expected_trips: float
    within: float
    """The share of the trips that are in cells published within 10 %."""
    advice: str | None

    @property
    def share(self) -> float:
        return self.expected_trips / self.trips if self.trips else 0.0


@dataclass(frozen=True, repr=False)
class _Sizes:
    """How many cells have each count; of a list of cells also how many are empty."""

    sizes: Integers
    cells: Integers
    empty: int
    trips: int


@dataclass(frozen=True, repr=False)
class _Cells:
    """The cells of a table in the bins of a plan: their codes, and what they count."""

    codes: Mapping[str, Integers]
    labels: Mapping[str, Sequence[str]]
    counts: Integers


@dataclass(repr=False)
class Held:
    """The exact counts of a plan, and what they say of other plans of the same trips."""

    inputs: PublicInputs
    counted: Counted
    _cells: dict[object, _Cells] = field(default_factory=dict)
    _sizes: dict[object, _Sizes] = field(default_factory=dict)
    _marginals: dict[object, tuple[Integers, Integers, Integers]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "Held(secret)"

    @classmethod
    def count(
        cls,
        plan: Plan,
        more: Sequence[Table] = (),
        *,
        memory: str = MEMORY,
        scratch: Path | None = None,
        progress: Reporter | None = None,
    ) -> Held:
        """Count the tables of a plan, and some more that it might have."""
        known = {_shape(table) for table in plan.table}
        added = tuple(table for table in more if _shape(table) not in known and table.name not in plan.tables)
        wider = plan.model_copy(update={"table": (*plan.table, *added)})
        inputs = PublicInputs.of(wider, scratch)
        counted = count(
            wider, memory=memory, scratch=scratch, progress=progress or Silent(), locate=True, inputs=inputs
        )
        return cls(inputs, counted)

    @property
    def plan(self) -> Plan:
        """The plan that was counted, with the tables that it might have."""
        return self.inputs.plan

    @property
    def stops(self) -> str | None:
        """Why a release would stop for its refused rows, if it would."""
        try:
            refuse_too_many(self.counted.refusals, self.plan)
        except TripDataError as error:
            return str(error)
        return None

    def knows(self, plan: Plan) -> bool:
        """Whether these counts tell what a plan would publish."""
        return all(self._held(plan, table) is not None for table in plan.table) and self._fits(plan)

    def _fits(self, plan: Plan) -> bool:
        ours, theirs = _trips_of(self.plan), _trips_of(plan)
        if ours == theirs:
            return self._merges(plan) or (_bins(self.plan) == _bins(plan))
        return False

    def _merges(self, plan: Plan) -> bool:
        """Whether its cells are some of these together: longer bins, or fewer parts."""
        held = self.plan
        if held.privacy.by_card or held.privacy.lists_cells or held.privacy.is_world:
            return False
        if plan.privacy.lists_cells or plan.privacy.is_world or any(table.level.times for table in plan.table):
            return False
        longer = plan.coarsen.time_minutes % held.coarsen.time_minutes == 0
        starts = held.source.day_starts % plan.coarsen.time_minutes == 0
        parts = set(plan.release.partition) <= set(held.release.partition)
        return longer and starts and parts

    def _held(self, plan: Plan, table: Table) -> Table | None:
        return next((each for each in self.plan.table if _shape(each) == _shape(table)), None)

    # --- what would be published --------------------------------------------------------------------------------------

    def table(self, plan: Plan, name: str, mechanism: Mechanism) -> TablePreview:
        """What a table of a plan would publish with some noise. `knows` must hold."""
        table = plan.tables[name]
        found = self._sizes_of(plan, table)
        law = distribution(mechanism)
        expected = law.expected(np.append(found.sizes, 0), np.append(found.cells, found.empty))
        near = law.within(found.sizes, found.sizes // ONE_IN_TEN)
        weight = found.sizes * found.cells
        within = min(1.0, float((near * weight).sum() / weight.sum())) if weight.sum() else 0.0
        share = expected.trips / found.trips if found.trips else 0.0
        advice = nearly_empty(plan, table, share)
        cells = int(found.cells.sum())
        return TablePreview(cells, expected.cells, found.trips, expected.trips, within, advice)

    def bars(self, plan: Plan, name: str, mechanism: Mechanism, column: str) -> list[Bar]:
        """A table by one of its columns: in the order of its labels if they are few, or else the largest."""
        table = plan.tables[name]
        cells = self._cells_of(plan, table)
        if column not in cells.codes:
            return []
        codes, sizes, number = self._marginal(plan, table, column)
        labels = cells.labels[column]
        counted = sizes * number
        trips = np.bincount(codes, counted, len(labels))
        published = np.bincount(codes, counted * distribution(mechanism).published(sizes)[0], len(labels))
        shown = np.flatnonzero(trips)
        if len(shown) > MOST_BARS:
            shown = shown[np.argsort(-trips[shown], kind="stable")[:MOST_BARS]]
        return [Bar(labels[at], int(trips[at]), float(published[at] / trips[at])) for at in shown.tolist()]

    def _marginal(self, plan: Plan, table: Table, column: str) -> tuple[Integers, Integers, Integers]:
        """How many cells of each label have each count: noise depends on nothing else."""
        key = (self._key(plan, table), column)
        if key not in self._marginals:
            cells = self._cells_of(plan, table)
            largest = int(cells.counts.max(initial=0)) + 1
            pairs, number = np.unique(cells.codes[column] * largest + cells.counts, return_counts=True)
            self._marginals[key] = (pairs // largest, pairs % largest, number)
        return self._marginals[key]

    def by_place(self, plan: Plan, name: str, mechanism: Mechanism) -> Iterator[tuple[str, str, Bar]]:
        """Mode, name and bar of each place of a table, for a map."""
        table = plan.tables[name]
        column = next((each for each in table.columns if plan.source.kind(each) == "location"), None)
        if column is None:
            return
        cells = self._cells_of(plan, table)
        modes = cells.codes.get("mode", np.zeros(len(cells.counts), dtype=np.int64))
        names = cells.labels.get("mode", ("",))
        key = modes * len(cells.labels[column]) + cells.codes[column]
        places, at = np.unique(key, return_inverse=True)
        trips = np.bincount(at, cells.counts)
        published = np.bincount(at, cells.counts * _chances(mechanism, cells.counts))
        for place, number, seen in zip(places.tolist(), trips.tolist(), published.tolist(), strict=True):
            mode, which = divmod(place, len(cells.labels[column]))
            label = cells.labels[column][which]
            yield names[mode], label, Bar(label, int(number), seen / number if number else 0.0)

    # --- cells --------------------------------------------------------------------------------------------------------

    def _key(self, plan: Plan, table: Table) -> object:
        return _shape(table), plan.coarsen.time_minutes, plan.release.partition, plan.privacy.mechanism

    def _sizes_of(self, plan: Plan, table: Table) -> _Sizes:
        key = self._key(plan, table)
        if key not in self._sizes:
            cells = self._cells_of(plan, table)
            counts, trips = cells.counts, int(cells.counts.sum())
            listed = self.inputs.seen_by(plan).dictionaries.get(table.name) if _lists(plan) else None
            empty = 0
            if listed is not None:
                counts = counts[self._exact(plan, table).places_in(listed)[1]]
                empty = len(listed) - len(counts)
            sizes, number = np.unique(counts, return_counts=True)
            self._sizes[key] = _Sizes(sizes, number, empty, trips)
        return self._sizes[key]

    def _exact(self, plan: Plan, table: Table) -> ExactTable:
        held = self._held(plan, table)
        if held is None:
            raise AssertionError("a table that was not counted")
        return self.counted.tables[held.name]

    def _cells_of(self, plan: Plan, table: Table) -> _Cells:
        key = self._key(plan, table)
        if key not in self._cells:
            self._cells[key] = self._made(plan, table)
        return self._cells[key]

    def _made(self, plan: Plan, table: Table) -> _Cells:
        exact = self._exact(plan, table)
        codes = {name: each.astype(np.int64) for name, each in exact.packing.unpack(exact.words).items()}
        labels: dict[str, Sequence[str]] = dict(exact.labels)
        if not self._merges(plan) or _bins(plan) == _bins(self.plan):
            return _Cells(codes, labels, exact_counts(exact))
        kept = {*plan.release.partition, *table.columns}
        codes = {name: each for name, each in codes.items() if name in kept}
        wider = plan.coarsen.time_minutes // self.plan.coarsen.time_minutes
        for name in codes:
            if plan.source.kind(name) == "time" and wider > 1 and not table.level.time_minutes:
                codes[name], labels[name] = _longer(codes[name], labels[name], wider)
        if not codes:
            return _Cells({}, {}, np.array([exact_counts(exact).sum()]))
        together, counts = merged(codes, exact_counts(exact))
        return _Cells(together, labels, counts)


def _longer(codes: Integers, labels: Sequence[str], wider: int) -> tuple[Integers, Sequence[str]]:
    """Codes of longer bins: the first code is for no time at all."""
    longer = (codes + wider - 1) // wider
    number = (len(labels) - 1 + wider - 1) // wider
    return longer, [labels[0], *(labels[1 + wider * at] for at in range(number))]


def _chances(mechanism: Mechanism, counts: Integers) -> Any:
    sizes, at = np.unique(counts, return_inverse=True)
    return distribution(mechanism).published(sizes)[0][at]


def _lists(plan: Plan) -> bool:
    return plan.privacy.lists_cells or plan.privacy.is_world


def _shape(table: Table) -> object:
    """What the cells of a table follow from, but for the plan's own bins."""
    return table.columns, table.level, table.most_per_cell, table.cells


def _bins(plan: Plan) -> object:
    return plan.coarsen.time_minutes, plan.release.partition, _lists(plan)


def _trips_of(plan: Plan) -> object:
    """Everything that decides which trips are counted, and as what, but for bins, parts and noise."""
    privacy = plan.privacy
    bounds = (privacy.unit, privacy.trips_per_day, privacy.trips_per_card, privacy.without_card)
    coarsen = plan.coarsen.model_copy(update={"time_minutes": 1})
    return plan.source, coarsen, plan.gtfs, plan.places, plan.world, bounds, plan.base
