"""The mechanisms: how an exact count becomes a published one, or nothing.

A mechanism holds only numbers that follow from the plan: it may be printed, published and compared. All of them add
noise from an integer table to every cell that occurs, and publish what reaches a threshold; a cell that does not occur
publishes nothing. They differ in the noise, and in where the threshold lies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tapveil.privacy import noise, spectrum
from tapveil.privacy.accountant import ChangedCells
from tapveil.privacy.noise import NoiseTable, RandomBytes
from tapveil.privacy.rational import ln_above

SMALLEST_EPSILON = Fraction(1, 100)
LARGEST_EPSILON = Fraction(100)
SMALLEST_DELTA = Fraction(1, 10**15)


class Mechanism(ABC):
    """Noise, then a threshold."""

    name: ClassVar[str]
    noise_name: ClassVar[str]

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The width of the noise: b of a Laplace, σ² of a Gaussian."""

    @property
    @abstractmethod
    def threshold(self) -> Fraction:
        """A noisy count below this is not published."""

    @property
    @abstractmethod
    def noise(self) -> NoiseTable:
        """The noise as it is drawn."""

    @property
    @abstractmethod
    def cells(self) -> ChangedCells:
        """How a cell betrays a change of one trip: what accounting needs."""

    @property
    @abstractmethod
    def _cut(self) -> int:
        """The least noisy count, in steps, that is published."""

    @property
    def smallest_published(self) -> int:
        """The least number that can be printed."""
        return self._cut // self.noise.steps_per_count

    def draw(
        self, counts: npt.NDArray[np.int64], random_bytes: RandomBytes
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """For each cell that occurs: the number, and whether it is published."""
        steps = self.noise.steps_per_count
        noisy = steps * counts + self.noise.sample(len(counts), random_bytes)
        return noisy // steps, noisy >= self._cut

    def publish_probability(self, count: int) -> Fraction:
        """P(a cell with this true count appears), exactly as drawn."""
        return self.publish_tail(count, self.smallest_published) if count > 0 else Fraction(0)

    def publish_tail(self, count: int, value: int) -> Fraction:
        """P(published, and at least `value`) for a true count > 0."""
        steps = self.noise.steps_per_count
        return self.noise.tail(max(self._cut, steps * value) - steps * count)

    def law(self, count: int) -> dict[int, Fraction]:
        """P(the published number is v) for each v; what is missing to 1 is P(nothing)."""
        if count <= 0:
            return {}
        highest = count + self.noise.last // self.noise.steps_per_count
        tails = {v: self.publish_tail(count, v) for v in range(self.smallest_published, highest + 2)}
        return {v: tails[v] - tails[v + 1] for v in range(self.smallest_published, highest + 1)}

    def error_bound(self, beta: Fraction) -> int:
        """A number is off by more than this with probability at most β: the least such, from the table itself.

        This is before it is known whether the number is published; of cells near the threshold, those that are
        published are the ones that the noise raised.
        """
        steps = self.noise.steps_per_count
        bound = 0
        while self.noise.tail(steps * (bound + 1)) + (1 - self.noise.tail(-steps * bound)) > beta:
            bound += 1
        return bound


@dataclass(frozen=True)
class StabilityHistogram(Mechanism):
    """The stability-based histogram (SBH) of the Opal paper, Algorithm 1, for one table at (ε, δ).

    A cell with true count c > 0 publishes round(c + Lap(2/ε)) if c + Lap(2/ε) ≥ 2 ln(2/δ)/ε + 1, else nothing.
    Replacing one trip changes two cells of a table, and the table is (ε, δ)-differentially private for it:
    `loss.py` states it, from the integers of `noise`.
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
        """The threshold, rounded."""
        return _nearest_integer(self.threshold)

    @cached_property
    def noise(self) -> NoiseTable:
        """The noise, on half-cells cut where the threshold cuts its own."""
        return noise.rounded_laplace(self.scale, self.threshold - self.smallest_published)

    @property
    def _cut(self) -> int:
        """The upper half-cell beside the threshold."""
        return 2 * self.smallest_published + 1

    @cached_property
    def cells(self) -> ChangedCells:
        """Seen through half-cells: whatever the count, what is published is a function of the half-cell.

        Whole cells would not do: a count at the threshold shows more than a large one (the value beside the
        threshold keeps only the outer part of its mass), so "large counts are the worst" fails for this mechanism.
        """
        cuts = (Fraction(-1, 2), self.threshold - self.smallest_published)
        left, entered = (spectrum.rounded_laplace(self.scale, cuts, shift) for shift in (1, -1))
        return ChangedCells(self.publish_probability(1), left, entered, self.noise.distance)

    def laplace_bound(self, beta: Fraction) -> Fraction:
        """The paper's error bound, for the noise before rounding: scale · ln(1/β) (Definition 6)."""
        return self.scale * ln_above(1 / beta)


class _IntegerThreshold(Mechanism):
    """A mechanism on whole counts: noisy counts from `least` on are published as they are."""

    least: int

    @property
    def threshold(self) -> Fraction:
        return Fraction(self.least)

    @property
    def _cut(self) -> int:
        return self.least


@dataclass(frozen=True)
class Laplace(_IntegerThreshold):
    """Discrete Laplace noise, P(k) ∝ e^(−ε₀|k|), and an integer threshold (NOTES §3)."""

    cell_epsilon: Fraction
    least: int

    name = "laplace"
    noise_name = "discrete Laplace"

    @property
    def scale(self) -> Fraction:
        return 1 / self.cell_epsilon

    @cached_property
    def noise(self) -> NoiseTable:
        return _laplace_table(self.cell_epsilon)

    @cached_property
    def cells(self) -> ChangedCells:
        shift = _laplace_spectrum(self.cell_epsilon)
        return ChangedCells(self.publish_probability(1), shift, shift, self.noise.distance)


@dataclass(frozen=True)
class Gaussian(_IntegerThreshold):
    """Discrete Gaussian noise, P(k) ∝ e^(−k²/2σ²), and an integer threshold (NOTES §5)."""

    variance: Fraction
    least: int

    name = "gaussian"
    noise_name = "discrete Gaussian"

    @property
    def scale(self) -> Fraction:
        """σ², exactly; the standard deviation is its square root."""
        return self.variance

    @cached_property
    def noise(self) -> NoiseTable:
        return _gaussian_table(self.variance)

    @cached_property
    def cells(self) -> ChangedCells:
        shift = _gaussian_spectrum(self.variance)
        return ChangedCells(self.publish_probability(1), shift, shift, self.noise.distance)


# The same noise serves many thresholds while they are searched for.
_laplace_table, _laplace_spectrum = lru_cache(noise.discrete_laplace), lru_cache(spectrum.discrete_laplace)
_gaussian_table, _gaussian_spectrum = lru_cache(noise.discrete_gaussian), lru_cache(spectrum.discrete_gaussian)


def _nearest_integer(x: Fraction) -> int:
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)
