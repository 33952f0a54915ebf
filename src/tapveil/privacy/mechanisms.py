"""The mechanisms: how an exact count becomes a published one, or nothing.

One so far, the paper's. It holds only numbers that follow from (ε, δ): it may be printed, published and compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tapveil.privacy.noise import NoiseTable, RandomBytes, rounded_laplace
from tapveil.privacy.rational import ln_above

SMALLEST_EPSILON = Fraction(1, 100)
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

    def __post_init__(self) -> None:
        if not self.epsilon >= SMALLEST_EPSILON:
            raise ValueError(f"epsilon must be at least {SMALLEST_EPSILON} for a table")
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

    @cached_property
    def noise(self) -> NoiseTable:
        """The noise, on half-cells cut where the threshold cuts its own."""
        return rounded_laplace(self.scale, self.threshold - self.smallest_published)

    @property
    def _cut(self) -> int:
        """The least noisy count, in steps, that is published: the upper half-cell beside the threshold."""
        return 2 * self.smallest_published + 1

    def draw(
        self, counts: npt.NDArray[np.int64], random_bytes: RandomBytes
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """For each cell that occurs: the number, and whether it is published."""
        noisy = 2 * counts + self.noise.sample(len(counts), random_bytes)
        return noisy >> 1, noisy >= self._cut

    def publish_probability(self, count: int) -> Fraction:
        """P(a cell with this true count appears), exactly as drawn."""
        return self.noise.tail(self._cut - 2 * count) if count > 0 else Fraction(0)

    def law(self, count: int) -> dict[int, Fraction]:
        """P(the published number is v) for each v; what is missing to 1 is P(nothing)."""
        if count <= 0:
            return {}
        highest = count + (self.noise.first + len(self.noise.weights) - 1) // 2
        tails = {v: self.publish_tail(count, v) for v in range(self.smallest_published, highest + 2)}
        return {v: tails[v] - tails[v + 1] for v in range(self.smallest_published, highest + 1)}

    def publish_tail(self, count: int, value: int) -> Fraction:
        """P(published, and at least `value`) for a true count > 0."""
        return self.noise.tail(max(self._cut, 2 * value) - 2 * count)

    def error_bound(self, beta: Fraction) -> Fraction:
        """A published number is within this of the truth but for probability β: scale · ln(1/β) (Definition 6)."""
        return self.scale * ln_above(1 / beta)


def _nearest_integer(x: Fraction) -> int:
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)
