"""All that the report says, as numbers: one counting of the trips, then one table after another. Internal.

A table's cells are looked at and let go before the next, so that memory stays what counting needs and one table more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import PlanError
from tapveil.base.progress import Reporter, Silent
from tapveil.inputs.public import PublicInputs
from tapveil.internal.comparison.compare import Comparison, Truth, compare
from tapveil.internal.outlook import Outlook, count_and_locate, outlook_of
from tapveil.internal.report.accuracy import TableAccuracy, accuracy
from tapveil.internal.report.bounds import LeftOut, left_out
from tapveil.internal.report.cells import Cells
from tapveil.internal.report.changes import Change, Options, bin_minutes, options, ranked
from tapveil.internal.report.density import Density, density
from tapveil.internal.report.same_trips import refuse_other_trips
from tapveil.internal.report.suppression import Suppression, suppression
from tapveil.plan.model import Plan, Table
from tapveil.published.folder import Folder
from tapveil.published.folder import open as open_folder


@dataclass(frozen=True, repr=False)
class TableFindings:
    """What is to be said of one table."""

    table: Table
    trips: int
    cells: int
    """How many occur."""
    expected: float
    """How many trips are expected in published cells."""
    expected_cells: float
    kept: float
    """How many trips are in published cells: of the folder, where there is one."""
    printed: int | None
    """How many numbers the folder has."""
    suppression: Suppression
    accuracy: TableAccuracy
    density: Density
    options: Options

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def share(self) -> float:
        return self.kept / self.trips if self.trips else 0.0

    @property
    def expected_share(self) -> float:
        return self.expected / self.trips if self.trips else 0.0


@dataclass(frozen=True, repr=False)
class Findings:
    """The whole report, as numbers. Confidential."""

    plan: Plan
    outlook: Outlook
    tables: tuple[TableFindings, ...]
    changes: tuple[Change, ...]
    comparison: Comparison
    left_out: LeftOut | None
    """What the bounds of a card leave out before anything is counted."""
    folder: Folder | None

    @property
    def accepted(self) -> int:
        return self.outlook.rows - self.refused

    @property
    def refused(self) -> int:
        return sum(self.outlook.refused.values())

    @property
    def share(self) -> float:
        """What is published of what all tables count, but for totals."""
        detailed = [found for found in self.tables if found.table in self.plan.detailed]
        trips = sum(found.trips for found in detailed)
        return sum(found.kept for found in detailed) / trips if trips else 0.0


def findings(
    plan: Plan,
    *,
    folder: Path | None = None,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> Findings:
    """Count the trips once and look at them from all sides; draw nothing, publish nothing."""
    progress = progress or Silent()
    inputs = PublicInputs.of(plan, scratch)
    opened = _of_this_plan(inputs, folder) if folder else None
    dictionaries = inputs.dictionaries
    counted = count_and_locate(inputs, memory=memory, scratch=scratch, progress=progress)
    truth = Truth.of_counted(plan, counted, dictionaries)
    outlook = outlook_of(inputs, counted)
    total_off = {name: _mean(each.total_errors) for name, each in truth.forecasts(plan).items()}
    tables: list[TableFindings] = []
    with progress.stage("Looking at the tables", lambda: len(tables), total=len(plan.table), unit="tables"):
        for table, expected in zip(plan.table, outlook.tables, strict=True):
            exact = counted.tables[table.name]
            cells = Cells.of(plan, table, exact, dictionaries[table.name], opened)
            if opened:
                refuse_other_trips(cells, opened)
            tables.append(_table(inputs, cells, expected.expected_cells, total_off[table.name]))
    comparison = compare(plan, progress=progress, truth=truth, inputs=inputs)
    with progress.stage("Looking for what would pay"):
        by_table = {found.table.name: found.options for found in tables if found.table in plan.detailed}
        changes = ranked(plan, by_table, comparison, truth)
        beyond = left_out(plan, outlook.left_out, outlook.rows - sum(outlook.refused.values()))
    return Findings(plan, outlook, tuple(tables), changes, comparison, beyond, opened)


def _table(inputs: PublicInputs, cells: Cells, expected_cells: float, total_off: float | None) -> TableFindings:
    published = cells.published
    return TableFindings(
        cells.table,
        cells.trips,
        len(cells.true),
        cells.expected,
        expected_cells,
        cells.kept,
        None if published is None else len(published.count) + len(published.invented),
        suppression(cells, bin_minutes(inputs.plan, cells.table)),
        accuracy(cells, total_off),
        density(cells),
        options(inputs.plan, cells, inputs.wider),
    )


def _mean(errors: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    return float(errors.mean()) if len(errors) else None


def _of_this_plan(inputs: PublicInputs, path: Path) -> Folder:
    """A published folder, if this plan made it: numbers held against other trips would say nothing."""
    opened, plan = open_folder(path), inputs.plan
    manifest = opened.manifest
    if manifest.release != plan.release.name:
        raise PlanError(
            f"{path} is the release `{manifest.release}`, and the plan is of `{plan.release.name}`: name the folder "
            "that this plan made"
        )
    if manifest.plan_sha256 != plan.digest:
        raise PlanError(
            f"{path} was made by another version of this plan: its privacy.json has another plan_sha256. Take the plan "
            "as it was when the folder was made"
        )
    if manifest.public_files_sha256 != inputs.sha256:
        raise PlanError(f"a list that the plan names has changed since {path} was made: take the lists as they were")
    return opened
