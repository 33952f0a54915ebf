"""Accuracy: which counts tables have, and how many of them are as accurate as is needed.

Counts come from a published folder, which costs nothing, or from the trips: then all that follows is confidential.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.base.errors import UsageError
from tapveil.base.types import read_exact
from tapveil.base.vocabulary import COUNT
from tapveil.counting.counter import count
from tapveil.counting.reveal import exact_counts
from tapveil.plan.model import Plan, Table
from tapveil.privacy.distribution import distribution
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.folder import Folder

ENOUGH = Fraction(95, 100)
"""The share of cells that must be as accurate as is needed."""
TEN_PER_CENT = Fraction(1, 10)
Counts = npt.NDArray[np.int64]


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
        words = r"\s*(\S+)\s+within\s+([0-9.]+)\s*%\s+where\s+at\s+least\s+([0-9]+)\s*"
        if not (found := re.fullmatch(words, text)) or not read_exact(found[2]) or not int(found[3]):
            raise UsageError(f'--need: write "TABLE within 10 % where at least 200", not "{text}"')
        return cls(found[1], read_exact(found[2]) / 100, int(found[3]))

    def is_met(self, mechanism: Mechanism, counts: Counts | None = None) -> bool:
        """Whether cells are as accurate: at the least count, or 19 of 20 cells of these counts."""
        sizes = np.array([self.least]) if counts is None else counts[counts >= self.least]
        return len(sizes) > 0 and float(self.met(mechanism, sizes).mean()) >= ENOUGH

    def met(self, mechanism: Mechanism, sizes: Counts) -> npt.NDArray[np.float64]:
        """For each true count: the probability that it is published, and within the bound."""
        sizes, places = np.unique(sizes, return_inverse=True)
        law = distribution(mechanism)
        chances = [float(law.within(np.array([size]), floor(self.within * int(size)))[0]) for size in sizes]
        return np.array(chances)[places]


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
    """Of each table that a folder has, too: its published counts in the bins of a plan, scaled to a number of days."""
    opened = Folder(folder)
    first, last = opened.manifest.covers.first_day, opened.manifest.covers.last_day
    long = (last - first).days + 1 if first and last else days
    found = {}
    for claim in opened.manifest.tables:
        if (table := plan.tables.get(claim.name)) is None or set(plan.columns.of(table)) != set(
            opened.manifest.keys(claim)
        ):
            continue
        cells = opened.table(claim.name).to_arrow()
        finer, bins = opened.manifest.times(claim), plan.columns.times(table.level)
        if finer != bins and any(plan.source.kind(column) == "time" for column in table.columns):
            if not finer.nests_in(bins):
                continue
            cells = _joined(cells, plan, table, finer.within(bins))
        counts = np.asarray(cells.column(COUNT), dtype=np.int64)
        found[claim.name] = counts if dated(plan, table) else counts * days // long
    return found


def _joined(cells: pa.Table, plan: Plan, table: Table, bins: Mapping[str, str]) -> pa.Table:
    """Cells in longer bins: those of one bin together."""
    for number, column in enumerate(cells.column_names):
        if column in table.columns and plan.source.kind(column) == "time":
            texts = cells.column(column).cast(pa.string())
            longer = pa.array([bins.get(text, text) for text in texts.to_pylist()], pa.string())
            cells = cells.set_column(number, column, longer)
    sums = cells.group_by(list(plan.columns.of(table))).aggregate([(COUNT, "sum")])
    return sums.append_column(COUNT, pc.cast(sums.column(f"{COUNT}_sum"), pa.int64()))


def counts_of_trips(plan: Plan, days: int) -> Mapping[str, Counts]:
    """The exact counts of each table, scaled to a number of days: confidential."""
    first, last = plan.source.first_day, plan.source.last_day
    long = (last - first).days + 1 if first and last else days
    found = {name: exact_counts(table) for name, table in count(plan).tables.items()}
    return {name: each if dated(plan, plan.tables[name]) else each * days // long for name, each in found.items()}
