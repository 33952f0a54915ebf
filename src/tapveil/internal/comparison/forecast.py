"""What a mechanism would leave of exact counts, and how wrong it would be: computed, not drawn.

What a cell adds to a forecast depends on its part and its count alone, so cells of the same count are looked at
together. All of it is computed from exact counts: confidential.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import erf, pi, sqrt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.counting.exact import ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.privacy.distribution import Floats, Integers, distribution
from tapveil.privacy.mechanisms import Mechanism

NEXT_TO_NOTHING = 0.5
"""Where fewer cells than this are expected, most releases would publish none: there is no error to speak of."""


@dataclass(frozen=True, repr=False)
class Worth:
    """What some tables of a release would be worth. Confidential."""

    cells: float
    """How many would be published."""
    of_cells: int
    """How many occur."""
    trips: float
    """What the published cells count in truth."""
    of_trips: int
    trip_share: float
    number_error: float | None
    """How far a published number is from the true one, on average; None where next to nothing is published."""
    total_error: float | None
    """How far a table's total in a part, summed from published cells, is off on average, in proportion to the truth."""


@dataclass(frozen=True, repr=False, eq=False)
class ExactSizes:
    """An exact table as far as a forecast needs it: how many cells of which count each part has. Secret."""

    part: Integers
    count: Integers
    cells: Integers
    """The number of cells of this part that have this count."""
    totals: Integers
    """The true total of each part."""
    never: Integers
    """Of it, what lies in cells that a public list leaves out."""
    occurring: int
    """How many cells are counted, and can be published."""

    @classmethod
    def of(cls, exact: ExactTable, partition: Sequence[str], dictionary: pa.Table | None = None) -> ExactSizes:
        """With a dictionary, only listed cells can be published, and empty ones are, too."""
        true = exact_counts(exact)
        listed = every = np.arange(len(true))
        codes = part_codes(exact.label_codes(every), exact.labels, partition, len(true))
        known, part = np.unique(codes, return_inverse=True)
        totals = np.bincount(part, true, len(known) + 1).astype(np.int64)
        if dictionary is not None:
            listed = exact.places_in(dictionary)[1]
        part, counts = part[listed], true[listed]
        never = totals - np.bincount(part, counts, len(totals)).astype(np.int64)
        (parts, sizes), cells = np.unique(np.stack([part, counts]), axis=1, return_counts=True)
        if dictionary is not None:
            empty = _listed_cells(exact, partition, dictionary, known) - np.bincount(part, minlength=len(totals))
            parts = np.concatenate([parts, np.arange(len(empty))])
            sizes = np.concatenate([sizes, np.zeros(len(empty), dtype=np.int64)])
            cells = np.concatenate([cells, empty])
        return cls(parts, sizes, cells, totals, never, len(listed))


def part_codes(
    codes: Mapping[str, Integers], labels: Mapping[str, Sequence[str]], columns: Sequence[str], cells: int
) -> Integers:
    """For each cell the number of its part, from the codes of its labels in some columns."""
    part = np.zeros(cells, dtype=np.int64)
    for column in columns:
        part = part * len(labels[column]) + codes[column]
    return part


def _listed_cells(exact: ExactTable, partition: Sequence[str], dictionary: pa.Table, known: Integers) -> Integers:
    """How many cells of each part are listed; the last number is for parts of which none occurs."""
    there, codes = np.ones(len(dictionary), dtype=bool), {}
    for column in partition:
        code = pc.index_in(dictionary.column(column), pa.array(exact.labels[column], pa.string()))
        there &= code.is_valid().to_numpy()
        codes[column] = code.fill_null(0).to_numpy().astype(np.int64)
    part = part_codes(codes, exact.labels, partition, len(dictionary))
    places = np.where(there & np.isin(part, known), np.searchsorted(known, part), len(known))
    return np.bincount(places, minlength=len(known) + 1)


@dataclass(frozen=True, repr=False)
class TableForecast:
    """What one table would be worth, in sums that can be added up over tables. Confidential."""

    cells: float
    of_cells: int
    trips: float
    of_trips: int
    distance: float
    """Over all published numbers, how far they are off."""
    total_errors: Floats
    """Of each part that has trips, how far its total is off, in proportion."""


def forecast(sizes: ExactSizes, mechanism: Mechanism) -> TableForecast:
    """What a mechanism would publish of a table."""
    known = distribution(mechanism)
    chance, off, _, square = known.published(sizes.count)
    expected = known.expected(sizes.count, sizes.cells)
    # What a cell adds to the error of its total: its noise if it is published, else minus its count.
    bias = off - sizes.count * (1 - chance)
    variance = square + np.square(sizes.count) * (1 - chance) - np.square(bias)
    bias, variance = (
        np.bincount(sizes.part, sizes.cells * each, len(sizes.totals)).astype(np.float64) for each in (bias, variance)
    )
    errors = mean_distance(bias - sizes.never, variance)
    there = sizes.totals > 0
    return TableForecast(
        cells=expected.cells,
        of_cells=sizes.occurring,
        trips=expected.trips,
        of_trips=int(sizes.totals.sum()),
        distance=expected.distance,
        total_errors=errors[there] / sizes.totals[there],
    )


def mean_distance(bias: Floats, variance: Floats) -> Floats:
    """E |X| of a sum X of many independent terms, taken as normal.

    Exact where the bias outweighs the noise, as it does wherever many cells are missing.
    """
    spread = np.sqrt(np.maximum(variance, 1e-12))
    ratio = bias / spread
    within = np.array([erf(each / sqrt(2)) for each in ratio])
    return np.asarray(spread * sqrt(2 / pi) * np.exp(-np.square(ratio) / 2) + bias * within)


def together(tables: Sequence[TableForecast]) -> Worth:
    """What several tables would be worth: every published number, and every total, weighs the same."""
    cells, trips = sum(table.cells for table in tables), sum(table.trips for table in tables)
    of_trips = sum(table.of_trips for table in tables)
    totals = np.concatenate([table.total_errors for table in tables])
    return Worth(
        cells=cells,
        of_cells=sum(table.of_cells for table in tables),
        trips=trips,
        of_trips=of_trips,
        trip_share=trips / of_trips if of_trips else 0.0,
        number_error=sum(table.distance for table in tables) / cells if cells >= NEXT_TO_NOTHING else None,
        total_error=float(totals.mean()) if len(totals) else None,
    )
