"""Do the tables of one release tell of the same trips? Every trip has one cell in each of them.

A table's published total is the sum of its published cells' true counts, which is at most the number of trips T of the
part, plus noise. Let X be a cell's noise and t what it needs to be published. For λ > 0 the cell adds at most
κ(c) = ln(1 + E[(e^{λX} − 1); X ≥ t]) to the logarithm of E e^{λ·noise}, and a cell of count c takes c of the T trips.
So with ρ = max κ(c)/c over all c, by Markov's inequality, except with probability β,

    total ≤ T + (ρ T + ln 1/β)/λ,      that is      T ≥ (total − ln(1/β)/λ) / (1 + ρ/λ).

From above, T is bounded by a table with a known number of cells D, such as times of the day, or one, the total itself:
a cell that is not published has a count below the threshold, but for noise. A total that is published is T plus the
noise of one cell, which bounds T from below as well. Where the one is above the other, the tables do not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil, log

import numpy as np

from tapveil.base.findings import Finding
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.verify.tables import Totals

MISTAKEN = 1e-9
"""How often a sound release is found at fault here, at most."""


def totals_findings(
    manifest: Manifest, made: Mapping[str, Mechanism], totals: Mapping[str, Totals]
) -> Iterator[Finding]:
    """Tables that count more trips in a part than another one can hold."""
    if manifest.unit != "trip" or manifest.mechanism == "dictionary":
        return  # a card counts once in each cell, and a list leaves out what is not on it: totals then need not agree
    timed = [table for table in manifest.tables if _cells(manifest, table)]
    parts = {part for each in totals.values() for part in each.sums}
    beta = MISTAKEN / max(1, len(parts) * len(manifest.tables) * 2)
    least = {table.name: _Least(made[table.name], beta, one=not table.columns) for table in manifest.tables}
    for table in timed:
        cells = _cells(manifest, table) or 0
        spread = _Most(made[table.name], cells, beta)
        for other in manifest.tables:
            if manifest.rows == "taps" and _ends(manifest, other) != _ends(manifest, table):
                continue  # not every tap on has a tap off
            for part in sorted(parts):
                most = spread.trips(totals[table.name], part) if table.name in totals else spread.trips(Totals(), part)
                fewest = least[other.name].trips(totals[other.name].sums.get(part, 0)) if other.name in totals else 0
                if fewest > most:
                    words = f"counts more trips there than {table.name} can hold, beyond what noise explains"
                    place = ", ".join(part) or "all"
                    yield Finding("totals-differ", f"table {other.name}, {place[:80]}", words)
                    break


def _cells(manifest: Manifest, table: TableClaim) -> int | None:
    """How many cells a part of a table has, where that is known: the bins of a day, and none; of the total, one."""
    if not table.columns:
        return 1
    one_time = len(table.columns) == 1 and manifest.columns.get(table.columns[0]) == "time"
    return len(manifest.times(table).labels) if one_time else None


def _ends(manifest: Manifest, table: TableClaim) -> set[str]:
    """Which ends of a trip a table is about; one that is about neither counts trips where they begin."""
    keys, ends = (*manifest.partition, *table.columns), ("tap_on_", "tap_off_")
    return {end for end in ends if any(key.startswith(end) for key in keys)} or {ends[0]}


class _Law:
    """The noise of a mechanism in counts, as floats: bounds here have room to spare."""

    def __init__(self, mechanism: Mechanism) -> None:
        table = mechanism.noise
        self.probability = np.array(table.weights, dtype=float) / table.total
        self.noise = (table.first + np.arange(len(table.weights))) / table.steps_per_count
        self.rate = 1 / (2 * float(mechanism.scale))
        self.threshold = float(mechanism.threshold)


class _Least:
    """How many trips there must be, at least, for a total to be published; or where it is the number of one cell."""

    def __init__(self, mechanism: Mechanism, beta: float, *, one: bool = False) -> None:
        law = _Law(mechanism)
        self._one = mechanism.error_bound(Fraction(beta)) if one else None
        grown = (np.expm1(law.rate * law.noise) * law.probability)[::-1].cumsum()[::-1]
        counts = np.arange(1, ceil(law.threshold) + 2)
        # The sum over X ≥ t is greatest at t = 0; beyond the threshold t only gets smaller, and c larger.
        first = np.searchsorted(law.noise, np.maximum(law.threshold - 1 - counts, 0))
        kappa = np.log1p(np.maximum(grown[np.minimum(first, len(grown) - 1)], 0))
        self._rate, self._share, self._doubt = law.rate, float((kappa / counts).max()), -log(beta)

    def trips(self, total: int) -> float:
        if self._one is not None:
            return total - self._one
        return (total - self._doubt / self._rate) / (1 + self._share / self._rate)


class _Most:
    """How many trips there can be, at most, where a table with so many cells is published."""

    def __init__(self, mechanism: Mechanism, cells: int, beta: float) -> None:
        law = _Law(mechanism)
        shrunk = float((np.exp(law.rate * np.abs(law.noise)) * law.probability).sum())
        tail = law.probability.cumsum()
        hidden = -float(law.noise[np.searchsorted(tail, beta / cells)])
        self._cells, self._hidden = cells, law.threshold + hidden + 1
        noise = (cells * log(shrunk) - log(beta)) / law.rate + cells  # and each was rounded
        self._noise = mechanism.error_bound(Fraction(beta)) if cells == 1 else noise

    def trips(self, totals: Totals, part: tuple[str, ...]) -> float:
        published = totals.cells.get(part, 0)
        return totals.sums.get(part, 0) + self._noise + max(0, self._cells - published) * self._hidden
