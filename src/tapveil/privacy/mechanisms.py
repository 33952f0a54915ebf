"""The mechanisms: how an exact count becomes a published one, or nothing.

One so far, the paper's. It holds only numbers that follow from (ε, δ): it may be printed, published and compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tapveil.privacy import spectrum
from tapveil.privacy.accountant import ChangedCells
from tapveil.privacy.noise import NoiseTable, RandomBytes, rounded_laplace
from tapveil.privacy.rational import ln_above

SMALLEST_EPSILON = Fraction(1, 100)
LARGEST_EPSILON = Fraction(100)
SMALLEST_DELTA = Fraction(1, 10**15)


@dataclass(frozen=True)
class StabilityHistogram:
    """The stability-based histogram (SBH) of the Opal paper, Algorithm 1, for one table at (ε, δ).

    A cell with true count c > 0 publishes round(c + Lap(2/ε)) if c + Lap(2/ε) ≥ 2 ln(2/δ)/ε + 1, else nothing.
    A cell that does not occur publishes nothing. Replacing one trip changes two cells of a table, and the
    table is (ε, δ)-differentially private for it: `loss.py` states it, from the integers of `noise`.
    """

    epsilon: Fraction
    delta: Fraction

    name = "sbh"
    noise_name = "Laplace, rounded after the threshold"

    def __post_init__(self) -> None:
        if not self.epsilon >= SMALLEST_EPSILON:
            raise ValueError(f"epsilon must be at least {SMALLEST_EPSILON} for a table")
        if self.epsilon > LARGEST_EPSILON:
            raise ValueError(f"epsilon must be at most {LARGEST_EPSILON} for a table: above it nothing is protected")
        if not SMALLEST_DELTA <= self.delta < 1:
            raise ValueError("delta must be at least 1e-15 and below 1 for a table")

    @property
    def scale(self) -> Fraction:
        """b of the Laplace noise: each of the two changed cells gets half of ε."""
        return 2 / self.epsilon

    @cached_property
    def threshold(self) -> Fraction:
        """2 ln(2/δ)/ε + 1, from above by less than 1e-80: a higher threshold publishes less."""
        return self.scale * ln_above(2 / self.delta) + 1

    @property
    def smallest_published(self) -> int:
        """The least number that can be printed: the threshold, rounded."""
        return _nearest_integer(self.threshold)

    @property
    def _split(self) -> Fraction:
        """Where, between two half-integers, the threshold lies: the noise is told apart there."""
        return self.threshold - self.smallest_published

    @cached_property
    def noise(self) -> NoiseTable:
        """The noise, on half-cells cut where the threshold cuts its own."""
        return rounded_laplace(self.scale, self._split)

    @property
    def _cut(self) -> int:
        """The least noisy count, in half-cells, that is published: the upper one beside the threshold."""
        return 2 * self.smallest_published + 1

    def draw(
        self, counts: npt.NDArray[np.int64], random_bytes: RandomBytes
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """For each cell that occurs: the number, and whether it is published."""
        noisy = 2 * counts + self.noise.sample(len(counts), random_bytes)
        return noisy >> 1, noisy >= self._cut

    def publish_probability(self, count: int) -> Fraction:
        """P(a cell with this true count appears), exactly as drawn."""
        return self.publish_tail(count, self.smallest_published) if count > 0 else Fraction(0)

    def publish_tail(self, count: int, value: int) -> Fraction:
        """P(published, and at least `value`) for a true count > 0."""
        return self.noise.tail(max(self._cut, 2 * value) - 2 * count)

    def law(self, count: int) -> dict[int, Fraction]:
        """P(the published number is v) for each v; what is missing to 1 is P(nothing)."""
        if count <= 0:
            return {}
        highest = count + self.noise.last // 2
        tails = {v: self.publish_tail(count, v) for v in range(self.smallest_published, highest + 2)}
        return {v: tails[v] - tails[v + 1] for v in range(self.smallest_published, highest + 1)}

    def error_bound(self, beta: Fraction) -> int:
        """The noise, rounded, is beyond this with probability at most β: the least such, from the table itself.

        This is before it is known whether the number is published; of the cells near the threshold, those that are
        published are the ones that the noise raised.
        """
        bound = 0
        while self.noise.tail(2 * (bound + 1)) + (1 - self.noise.tail(-2 * bound)) > beta:
            bound += 1
        return bound

    def laplace_bound(self, beta: Fraction) -> Fraction:
        """The paper's error bound, for the noise before rounding: scale · ln(1/β) (Definition 6)."""
        return self.scale * ln_above(1 / beta)

    @cached_property
    def cells(self) -> ChangedCells:
        """How a cell betrays a change of one trip, seen through half-cells: what is published is a function of them.

        Whole cells would not do: a count at the threshold shows more than a large one (the value beside the
        threshold keeps only the outer part of its mass), so "large counts are the worst" fails for this mechanism.
        """
        cuts = (Fraction(-1, 2), self._split)
        left, entered = (spectrum.rounded_laplace(self.scale, cuts, shift) for shift in (1, -1))
        return ChangedCells(self.publish_probability(1), left, entered, self.noise.distance)


def _nearest_integer(x: Fraction) -> int:
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)
