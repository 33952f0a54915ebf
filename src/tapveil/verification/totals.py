"""Checks that the tables of a release can come from the same trips: every trip is in one cell of each table.

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
from math import ceil, log, sqrt

import numpy as np

from tapveil.base.findings import Finding
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.verification.tables import Totals

MISTAKEN = 1e-9
"""How often a sound release is found at fault here, at most."""


def totals_findings(
    manifest: Manifest, made: Mapping[str, Mechanism], totals: Mapping[str, Totals]
) -> Iterator[Finding]:
    """Tables that count more trips in a part than another one can hold."""
    if manifest.is_world:
        yield from _measured_findings(manifest, made, totals)
        return
    if manifest.unit != "trip" or manifest.from_a_list:
        return  # a card counts once in each cell, and a list leaves out what is not on it: totals then need not agree
    parts = {part for each in totals.values() for part in each.sums}
    beta = MISTAKEN / max(1, len(parts) * len(manifest.tables) * 2)
    least = {table.name: _least(made[table.name], beta, one=not table.columns) for table in manifest.tables}
    for table in manifest.tables:
        cells = _cells(manifest, table)
        if not cells:
            continue
        (noise, hidden), found = _most(made[table.name], cells, beta), totals.get(table.name, Totals())
        for other in manifest.tables:
            if manifest.rows == "taps" and _ends(manifest, other) != _ends(manifest, table):
                continue  # not every tap on has a tap off
            for part in sorted(parts):
                offset, divisor = least[other.name]
                fewest = (totals[other.name].sums[part] - offset) / divisor if other.name in totals else 0
                if fewest > found.sums[part] + noise + max(0, cells - found.cells[part]) * hidden:
                    words = f"has more trips than table {table.name} allows; noise does not explain the difference"
                    place = ", ".join(part) or "all"
                    yield Finding("totals-differ", f"table {other.name}, {place[:80]}", words)
                    break


def _measured_findings(
    manifest: Manifest, made: Mapping[str, Mechanism], totals: Mapping[str, Totals]
) -> Iterator[Finding]:
    """Of a known world: each trip is in one cell of every table, so totals differ by the noise of their cells alone.

    Discrete Gaussian noise is subgaussian with its σ² (Canonne, Kamath and Steinke 2020, fact 18), so that of n cells
    is beyond σ√(2n ln(2/β)) with a probability of at most β.
    """
    first, *others = manifest.tables
    if manifest.unit != "trip" or manifest.rows == "taps":
        return  # cells of cards do not add up, and not every tap on has a tap off
    beta = MISTAKEN / max(1, sum(len(each.sums) for each in totals.values()))

    def reach(table: TableClaim, part: tuple[str, ...]) -> float:
        return float(made[table.name].scale) * sqrt(2 * totals[table.name].cells[part] * log(2 / beta))

    for other in others:
        for part in sorted(totals[first.name].sums):
            apart = abs(totals[first.name].sums[part] - totals[other.name].sums[part])
            if apart > reach(first, part) + reach(other, part):
                words = f"does not have as many trips as table {first.name}; noise does not explain the difference"
                yield Finding("totals-differ", f"table {other.name}, {(', '.join(part) or 'all')[:80]}", words)
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


class _Distribution:
    """The noise of a mechanism in counts, as floats: bounds here have room to spare."""

    def __init__(self, mechanism: Mechanism) -> None:
        table = mechanism.noise
        self.probability = np.array(table.weights, dtype=float) / table.total
        self.noise = (table.first + np.arange(len(table.weights))) / table.steps_per_count
        self.rate = 1 / (2 * float(mechanism.scale))
        self.threshold = float(mechanism.threshold)


def _least(mechanism: Mechanism, beta: float, *, one: bool = False) -> tuple[float, float]:
    """Offset and divisor: where a total is published there are at least (total − offset) / divisor trips.

    With `one`, the total is the number of one cell.
    """
    if one:
        return mechanism.error_bound(Fraction(beta)), 1
    known = _Distribution(mechanism)
    grown = (np.expm1(known.rate * known.noise) * known.probability)[::-1].cumsum()[::-1]
    counts = np.arange(1, ceil(known.threshold) + 2)
    # The sum over X ≥ t is greatest at t = 0; beyond the threshold t only gets smaller, and c larger.
    first = np.searchsorted(known.noise, np.maximum(known.threshold - 1 - counts, 0))
    kappa = np.log1p(np.maximum(grown[np.minimum(first, len(grown) - 1)], 0))
    return -log(beta) / known.rate, 1 + float((kappa / counts).max()) / known.rate


def _most(mechanism: Mechanism, cells: int, beta: float) -> tuple[float, float]:
    """The most trips that noise takes from the total of `cells` cells, and the most that an unpublished cell hides."""
    known = _Distribution(mechanism)
    shrunk = float((np.exp(known.rate * np.abs(known.noise)) * known.probability).sum())
    hidden = -float(known.noise[np.searchsorted(known.probability.cumsum(), beta / cells)])
    noise = (cells * log(shrunk) - log(beta)) / known.rate + cells  # and each was rounded
    return mechanism.error_bound(Fraction(beta)) if cells == 1 else noise, known.threshold + hidden + 1
