"""Accuracy: which counts tables have, and how many of them are as accurate as is needed.

Counts come from a published folder, which costs nothing, or from the trips: then all that follows is confidential.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from tapveil.base.errors import UsageError
from tapveil.base.time_bins import TimeBins
from tapveil.base.types import read_exact
from tapveil.base.vocabulary import COUNT, ESTIMATES
from tapveil.plan.model import Plan, Table
from tapveil.privacy.distribution import distribution
from tapveil.privacy.mechanisms import Mechanism, World, stated

if TYPE_CHECKING:
    import pyarrow as pa

    from tapveil.published.folder import Folder
    from tapveil.published.manifest import TableClaim

ENOUGH = Fraction(95, 100)
"""The share of cells that must be as accurate as is needed."""
TEN_PER_CENT = Fraction(1, 10)
FINENESS, TRIALS, SOME = 1000, 16, 200
"""A width is rounded to a thousandth; how often its interval is halved; how many counts judge it."""
Counts = npt.NDArray[np.int64]
Source = Literal["published", "estimates", "measurements"]
"""What the counts of a folder are. Of measurements, those within their error bound have equal parts of their sum."""


@dataclass(frozen=True)
class Need:
    """How accurate a table must be.

    >>> Need.read("origin_hour within 10 % where at least 200")
    Need(table='origin_hour', within=Fraction(1, 10), least=200)
    """

    table: str
    within: Fraction
    least: int

    @classmethod
    def read(cls, text: str) -> Need:
        """UsageError if it is not in this form."""
        words = r"\s*(\S+)\s+within\s+([0-9]*\.?[0-9]+)\s*%\s+where\s+at\s+least\s+([0-9]{1,12})\s*"
        if not (found := re.fullmatch(words, text)) or not read_exact(found[2]) or not int(found[3]):
            raise UsageError(f'--need: write "TABLE within 10 % where at least 200", not "{text}"')
        return cls(found[1], read_exact(found[2]) / 100, int(found[3]))

    def is_met(self, mechanism: Mechanism, counts: Counts | None = None) -> bool:
        """Whether cells are as accurate: at the least count, or 19 of 20 cells of these counts."""
        sizes = np.array([self.least]) if counts is None else counts[counts >= self.least]
        return len(sizes) > 0 and float(self.met(mechanism, sizes).mean()) >= ENOUGH

    def room(self, mechanism: Mechanism, counts: Counts | None = None) -> Fraction:
        """About how many times as wide noise may be to give this accuracy; at some of the counts."""
        some = counts if counts is None else np.sort(counts[counts >= self.least])[:: max(1, len(counts) // SOME)]
        low, high = Fraction(1, FINENESS), Fraction(FINENESS)
        for _ in range(TRIALS):
            middle = Fraction(max(1, round(FINENESS * float(low * high) ** 0.5)), FINENESS)
            try:
                enough = self.is_met(wider(mechanism, middle), some)
            except ValueError:  # there is no noise as narrow, or as wide
                enough = middle < 1
            low, high = (middle, high) if enough else (low, middle)
        return low

    def met(self, mechanism: Mechanism, sizes: Counts) -> npt.NDArray[np.float64]:
        """For each true count: the probability that it is published, and within the bound."""
        sizes, places = np.unique(sizes, return_inverse=True)
        law = distribution(mechanism)
        chances = [float(law.within(np.array([size]), floor(self.within * int(size)))[0]) for size in sizes]
        return np.array(chances)[places]


def wider(mechanism: Mechanism, times: Fraction) -> Mechanism:
    """Noise of the same kind, wider by a factor, with a threshold in proportion: for a guess alone."""
    scale = Fraction(max(1, round(mechanism.scale * times * FINENESS)), FINENESS)
    if isinstance(mechanism, World):
        return stated(mechanism.name, scale, Fraction(0), mechanism.per_cell, mechanism.trips)
    return stated(mechanism.name, scale, Fraction(ceil(mechanism.threshold * times)))


def share_within(mechanism: Mechanism, counts: Counts) -> float:
    """The share of the trips that are in cells published within 10 %, as is expected at these counts."""
    sizes = counts[counts > 0]
    if not len(sizes):
        return 0.0
    met = Need("", TEN_PER_CENT, 1).met(mechanism, sizes)
    return float((met * sizes).sum() / sizes.sum())


def dated(plan: Plan, table: Table) -> bool:
    """Whether each cell of a table is of one day: then it has no more trips in a longer release."""
    return "date" in map(plan.source.kind, plan.columns.of(table))


def counts_of_folder(folder: Path, plan: Plan, days: int) -> Mapping[str, Counts]:
    """Of each table that a folder has, too: its counts in the bins of a plan, scaled to a number of days.

    Of a known world its estimates, where it has some. Measurements are not counts: noise makes many of them too large,
    and that of a week is not that of a quarter thirteen times.
    """
    found = {}
    for part in _parts(folder, plan):
        counts = np.asarray(part.cells().column(COUNT), dtype=np.int64)
        long = len(part.opened.manifest.days) or days
        found[part.table.name] = counts if dated(plan, part.table) else counts * days // long
    return found


def sources_of_folder(folder: Path, plan: Plan) -> Mapping[str, Source]:
    """What these counts are, by table."""
    return {part.table.name: part.source for part in _parts(folder, plan)}


def _parts(folder: Path, plan: Plan) -> Iterator[_Part]:
    """The tables that a folder and a plan both have, in bins that make up those of the plan."""
    from tapveil.published.folder import Folder  # not loaded where the plan alone is asked

    opened = Folder(folder)
    for claim in opened.manifest.tables:
        table = plan.tables.get(claim.name)
        if table and set(plan.columns.of(table)) == set(opened.manifest.keys(claim)):
            part = _Part(opened, claim, plan, table)
            if part.bins is None or opened.manifest.times(claim).nests_in(part.bins):
                yield part


@dataclass(frozen=True)
class _Part:
    """A table that a folder and a plan both have."""

    opened: Folder
    claim: TableClaim
    plan: Plan
    table: Table

    @property
    def bins(self) -> TimeBins | None:
        """Those of the plan; None where the table has no times."""
        timed = any(self.plan.source.kind(column) == "time" for column in self.table.columns)
        return self.plan.columns.times(self.table.level) if timed else None

    @property
    def estimates(self) -> Path | None:
        """The file of its estimates; None where there are none, or not in bins that make up those of the plan."""
        manifest = self.opened.manifest
        longer = manifest.estimated_minutes
        if longer and self.bins and not TimeBins.every(longer, manifest.day.first_minute).nests_in(self.bins):
            return None
        files = (self.opened.file(f"{ESTIMATES}/{self.claim.name}.{form}") for form in ("csv", "parquet"))
        return next((file for file in files if file.is_file()), None)

    @property
    def source(self) -> Source:
        if not self.opened.manifest.is_world:
            return "published"
        return "estimates" if self.estimates else "measurements"

    def cells(self) -> pa.Table:
        """Its cells, in the bins of the plan."""
        finer, cells = self.opened.manifest.times(self.claim), self._read()
        if self.bins in (None, finer):
            return cells
        return _joined(cells, self.plan, self.table, finer.within(self.bins))

    def _read(self) -> pa.Table:
        from pyarrow import csv, parquet, string

        if self.estimates is None:
            cells = self.opened.table(self.claim.name).to_arrow()
            return _told_apart(cells, self.claim.error_95) if self.source == "measurements" else cells
        if self.estimates.suffix == ".parquet":
            return parquet.read_table(self.estimates)
        texts = dict.fromkeys(self.opened.manifest.keys(self.claim), string())
        return csv.read_csv(self.estimates, convert_options=csv.ConvertOptions(column_types=texts))


def _told_apart(cells: pa.Table, bound: int) -> pa.Table:
    """Measurements above their error bound as they are; all others with equal parts of their sum.

    In the sum noise cancels, so that the cells have about as many trips together as they really have.
    """
    counts = np.array(cells.column(COUNT).to_numpy(), dtype=np.int64)
    small = np.flatnonzero(counts <= bound)
    each, more = divmod(max(0, int(counts[small].sum())), max(1, len(small)))
    counts[small] = each
    counts[small[:more]] += 1
    return cells.set_column(cells.column_names.index(COUNT), COUNT, [counts])


def _joined(cells: pa.Table, plan: Plan, table: Table, bins: Mapping[str, str]) -> pa.Table:
    """Cells in longer bins: those of one bin together."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for number, column in enumerate(cells.column_names):
        if column in table.columns and plan.source.kind(column) == "time":
            texts = cells.column(column).cast(pa.string())
            longer = pa.array([bins.get(text, text) for text in texts.to_pylist()], pa.string())
            cells = cells.set_column(number, column, longer)
    sums = cells.group_by(list(plan.columns.of(table))).aggregate([(COUNT, "sum")])
    return sums.append_column(COUNT, pc.cast(sums.column(f"{COUNT}_sum"), pa.int64()))


def counts_of_trips(plan: Plan, days: int) -> Mapping[str, Counts]:
    """The exact counts of each table, scaled to a number of days: confidential."""
    from tapveil.counting.counter import count
    from tapveil.counting.reveal import exact_counts

    first, last = plan.source.first_day, plan.source.last_day
    long = (last - first).days + 1 if first and last else days
    found = {name: exact_counts(table) for name, table in count(plan).tables.items()}
    return {name: each if dated(plan, plan.tables[name]) else each * days // long for name, each in found.items()}
