"""The (ε, δ) of a release: what one trip more, less or other can change, at most.

A replaced trip changes, in every table, at most two cells: the one it left and the one it went to, wherever those
lie; a part is only a key column, so nothing is assumed about parts. All noises are independent, so the laws of the
outputs are product measures and the losses of the changed cells add (NOTES §2). Hence "sequential over tables,
parallel over parts" holds here as a theorem about cells, for both notions of neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tapveil.privacy.accountant import Neighbours
from tapveil.privacy.mechanisms import StabilityHistogram
from tapveil.privacy.rational import exp_below

BOTH_NEIGHBOURS: tuple[Neighbours, ...] = ("replace", "add-remove")


@dataclass(frozen=True)
class Loss:
    """(ε, δ), exactly as stated."""

    epsilon: Fraction
    delta: Fraction

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.epsilon + other.epsilon, self.delta + other.delta)

    def covers(self, other: Loss) -> bool:
        """Whether a promise of this much also promises the other."""
        return self.epsilon >= other.epsilon and self.delta >= other.delta


NONE = Loss(Fraction(0), Fraction(0))


def table_loss(mechanism: StabilityHistogram, neighbours: Neighbours) -> Loss:
    """What is promised for one table: the paper's (ε, δ) for a replaced trip, half of each for one added or removed.

    The promise is made only if the integers of the noise table keep it; otherwise ValueError.
    """
    share = 1 if neighbours == "replace" else Fraction(1, 2)
    promise = Loss(mechanism.epsilon * share, mechanism.delta * share)
    if not promise.covers(proven_loss(mechanism, neighbours)):
        raise ValueError("the noise table is too coarse for these parameters: use a smaller epsilon or a larger delta")
    return promise


@lru_cache
def proven_loss(mechanism: StabilityHistogram, neighbours: Neighbours) -> Loss:
    """An upper bound for one table from the integers of its noise table; `table_loss` must cover it.

    A changed cell is either c against c ± 1 with both positive, (ε/2, β), or a singleton that goes, (0, p), or one
    that comes, (ε/2, (1 − e^(ε/2)(1 − p))₊), which is (ε/2, 0) unless p is large. A replacement has at most one
    that goes and one that comes (NOTES §1), so adding all four bounds is enough in every case.
    """
    cells = 2 if neighbours == "replace" else 1
    per_cell = mechanism.epsilon / 2
    goes = mechanism.publish_probability(1)
    comes = max(Fraction(0), 1 - exp_below(per_cell) * (1 - goes))
    shifts = cells * mechanism.noise.shift_delta(per_cell)
    return Loss(cells * per_cell, goes + comes + shifts)


def compose(losses: Iterable[Loss]) -> Loss:
    """Sequential composition: the sums (basic composition, Theorem 2 of the paper)."""
    return sum(losses, start=NONE)
