"""All that the report says, as numbers: one counting of the trips, then one table after another. Confidential.

A table's cells are looked at and let go before the next, so that memory stays what counting needs and one table more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import PlanError, UsageError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.inputs.public import PublicInputs
from tapveil.internal.comparison.compare import ALL, NOTHING_SUPPRESSED, Comparison, Point, Truth, compared
from tapveil.internal.outlook import Outlook, count_and_locate, outlook_of
from tapveil.internal.report.model.accuracy import TableAccuracy, accuracy
from tapveil.internal.report.model.bounds import LeftOut, left_out
from tapveil.internal.report.model.cells import Cells
from tapveil.internal.report.model.changes import WORTHWHILE, Change, Options, bin_minutes, options, ranked
from tapveil.internal.report.model.density import Density, density
from tapveil.internal.report.model.same_trips import refuse_other_trips
from tapveil.internal.report.model.suppression import Suppression, suppression
from tapveil.plan.model import Level, Plan, Table
from tapveil.published.folder import Folder, open_folder


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
    def is_at_no_level(self) -> bool:
        return self.table.level == Level()

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
    def reasons(self) -> list[tuple[str, int]]:
        """Why rows are refused, and how many; the most frequent reason first."""
        return sorted(self.outlook.refused.items(), key=lambda item: -item[1])

    @property
    def has_lists(self) -> bool:
        return any(each.table.cells for each in self.tables)

    @property
    def share(self) -> float:
        """What is published of what all tables count, but for totals."""
        detailed = [found for found in self.tables if found.table in self.plan.detailed]
        trips = sum(found.trips for found in detailed)
        return sum(found.kept for found in detailed) / trips if trips else 0.0

    @property
    def by_loss(self) -> list[TableFindings]:
        """The tables that lose most trips first."""
        return sorted(self.tables, key=lambda each: -each.suppression.whole.lost)

    @property
    def lacking(self) -> list[TableFindings]:
        """The tables that lose more because of what their public list lacks than for any other reason, worst first."""
        losing = [
            each
            for each in self.tables
            if each.suppression.whole.is_mostly_unlisted and each.suppression.whole.unlisted_share >= WORTHWHILE
        ]
        return sorted(losing, key=lambda each: -each.suppression.whole.unlisted)

    @property
    def with_numbers(self) -> list[TableFindings]:
        """The tables of which enough is published to speak of errors, the least exact first."""
        known = [each for each in self.tables if each.accuracy.best_known.errors.any]
        return sorted(known, key=lambda each: -(each.accuracy.best_known.errors.mean or 0.0))

    @property
    def intervals_held(self) -> float:
        """The least share of intervals that hold the truth, over the tables."""
        held = [each.accuracy.best_known.held_in_all for each in self.with_numbers]
        return min((share for share in held if share is not None), default=1.0)

    @property
    def lacks_most(self) -> TableFindings | None:
        """Of the tables for which no size of cells is enough, the one whose list lacks most."""
        short = [each for each in self.tables if each.trips and each.density.times_larger is None]
        return max(short, key=lambda each: each.suppression.whole.unlisted_share, default=None)

    @property
    def sparsest(self) -> TableFindings | None:
        """The table whose cells would have to grow most, where any would."""
        worst = max(self.tables, key=lambda each: each.density.times_larger or 1)
        return worst if (worst.density.times_larger or 1) > 1 else None

    @property
    def widths(self) -> list[int]:
        """The widths of bins that were tried, in minutes."""
        return sorted({width for each in self.tables if len(each.options.widths) > 1 for width in each.options.widths})

    def points_at(self, mechanism: str, epsilon: Fraction) -> list[Point]:
        """What can be made with a mechanism and a total; the plan itself last."""
        like = [each for each in self.comparison.points if (each.mechanism, each.epsilon) == (mechanism, epsilon)]
        return sorted((each for each in like if ALL in each.worth), key=lambda each: each.own)

    @property
    def curve(self) -> list[Point]:
        """The plan's mechanism at all totals, from small to large; with one total, where tables have their own."""
        own = self.comparison.own
        points = [p for p in self.comparison.of(own.unit) if p.mechanism == own.mechanism and ALL in p.worth]
        shared = {each.epsilon for each in points if not each.own}
        return sorted((p for p in points if not p.own or p.epsilon not in shared), key=lambda point: point.epsilon)

    @property
    def epsilon_pays(self) -> bool:
        """Whether a larger ε than the plan's would publish more; where none was tried, whether it did so far."""
        larger = [each for each in self.curve if each.epsilon >= self.comparison.own.epsilon]
        shares = [each.worth[ALL].trip_share for each in (larger if len(larger) > 1 else self.curve)]
        return shares[-1] - shares[0] >= WORTHWHILE

    @property
    def best_other(self) -> Point | None:
        """The other mechanism that would publish most at the same ε, if that is more."""
        own = self.comparison.own
        others = [p for p in self.comparison.points if p.epsilon == own.epsilon and ALL in p.worth and not p.own]
        best = max(others, key=lambda point: point.worth[ALL].trips, default=None)
        return best if best and best.worth[ALL].trips > own.worth[ALL].trips else None


def findings(
    plan: Plan,
    *,
    folder: Path | None = None,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> Findings:
    """Count the trips once and look at them from all sides; draw nothing, publish nothing."""
    if plan.privacy.is_world:
        raise UsageError(NOTHING_SUPPRESSED.format(what="a report"))
    progress = progress or Silent()
    inputs = PublicInputs.of(plan, scratch)
    opened = _of_this_plan(inputs, folder) if folder else None
    dictionaries = inputs.dictionaries
    counted = count_and_locate(inputs, memory=memory, scratch=scratch, progress=progress)
    truth = Truth.of(plan, counted, dictionaries)
    outlook = outlook_of(inputs, counted)
    forecasts = truth.forecasts(plan)
    tables: list[TableFindings] = []
    with progress.stage(Stage.LOOKING_AT_TABLES, lambda: len(tables), total=len(plan.table), unit="tables"):
        for table, expected in zip(plan.table, outlook.tables, strict=True):
            cells = Cells.of(plan, table, counted.tables[table.name], dictionaries[table.name], opened)
            if opened:
                refuse_other_trips(cells, opened)
            errors = forecasts[table.name].total_errors
            total_off = float(errors.mean()) if len(errors) else None
            published = cells.published
            tables.append(
                TableFindings(
                    table,
                    cells.trips,
                    len(cells.true),
                    cells.expected,
                    expected.expected_cells,
                    cells.kept,
                    len(published.count) + len(published.invented) if published else None,
                    suppression(cells, bin_minutes(plan, table)),
                    accuracy(cells, total_off),
                    density(cells),
                    options(plan, cells, inputs.wider),
                )
            )
    comparison = compared(inputs, progress=progress, truth=truth)
    with progress.stage(Stage.LOOKING_FOR_CHANGES):
        by_table = {found.name: found for found in tables if found.table in plan.detailed}
        changes = ranked(plan, by_table, comparison, truth)
        beyond = left_out(plan, outlook.left_out, outlook.rows - sum(outlook.refused.values()))
    return Findings(plan, outlook, tuple(tables), changes, comparison, beyond, opened)


def _of_this_plan(inputs: PublicInputs, path: Path) -> Folder:
    """A published folder, if this plan made it: numbers held against other trips would say nothing."""
    opened, plan = open_folder(path), inputs.plan
    manifest = opened.manifest
    if manifest.release != plan.release.name:
        raise PlanError(
            f"{path} is the release `{manifest.release}`, and the plan makes `{plan.release.name}`: give the folder "
            "that this plan published"
        )
    if manifest.plan_sha256 != plan.digest:
        raise PlanError(
            f"{path} was made by another version of this plan (plan_sha256 in its privacy.json differs). Use the plan "
            "as it was when the folder was made"
        )
    if manifest.public_files_sha256 != inputs.sha256:
        raise PlanError(
            f"a public file that the plan names has changed since {path} was made: use the files as they were"
        )
    return opened
