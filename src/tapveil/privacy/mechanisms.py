"""The mechanisms: how an exact count becomes a published one, or is suppressed.

A mechanism holds only numbers that follow from the plan: it may be printed, published and compared. All mechanisms add
noise from an integer table and publish noisy counts that reach a threshold. They differ in the noise, in the threshold,
and in whether empty cells get noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tapveil.privacy import noise, spectrum
from tapveil.privacy.accountant import TRIP_REPLACED, ChangedCells, Exposure
from tapveil.privacy.noise import NoiseTable, RandomBytes
from tapveil.privacy.rational import decimal_text, ln_above

SMALLEST_EPSILON = Fraction(1, 100)
LARGEST_EPSILON = Fraction(100)
SMALLEST_DELTA = Fraction(1, 10**15)
WIDEST = 20_000
"""The maximum scale of the noise, in counts: with more, nothing would be published."""
_FINEST = 1 / (2 * LARGEST_EPSILON)
THRESHOLD_GRID = 10**30
"""Thresholds are rounded up to 1 divided by this, so that they can be written exactly."""
HIGHEST = 10**9
"""The highest threshold that is accepted."""
LONGEST_NUMBER = 400
"""The maximum number of bits of the numerator and denominator of a stated scale or threshold."""

LARGEST_COUNT = 2**61
"""Larger counts would not leave room for noise in 64 bits, and come out negative."""


class Mechanism(ABC):
    """A mechanism: noise, then a threshold."""

    name: ClassVar[str]
    noise_code: ClassVar[str]
    """The distribution of the noise, as a code."""
    narrowest: ClassVar[Fraction] = _FINEST
    """The minimum scale: narrower noise protects nothing."""
    visits_empty_cells: ClassVar[bool] = False
    from_a_list: ClassVar[bool] = False
    """Whether the cells of a public list are counted, and no others."""
    publishes_every_cell: ClassVar[bool] = False
    """Whether there is no threshold, so that no number is chosen for its size."""
    is_gaussian: ClassVar[bool] = False
    per_cell: int = 1
    """How many trips of a unit count in one cell, at most."""

    @classmethod
    @abstractmethod
    def _of_scale(cls, scale: Fraction, threshold: Fraction) -> Mechanism:
        """The mechanism with a scale and a threshold; ValueError if there is none with this threshold."""

    @property
    def square(self) -> Fraction:
        """By how much a cell changes, squared: the mean over as many cells as a unit has trips, in the worst case."""
        return Fraction(1)

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The scale of the noise: b of Laplace noise, σ of Gaussian noise."""

    @property
    @abstractmethod
    def threshold(self) -> Fraction:
        """The threshold: noisy counts below it are not published."""

    @property
    @abstractmethod
    def noise(self) -> NoiseTable:
        """The noise table that is drawn from."""

    @property
    @abstractmethod
    def cells(self) -> ChangedCells:
        """The privacy-loss data of a changed cell, for the accountant."""

    @property
    def cells_of_one_trip(self) -> ChangedCells:
        """The same for each trip of a unit, whatever the number of its trips is."""
        return self.cells

    @property
    @abstractmethod
    def publish_step(self) -> int:
        """The least published noisy count, in steps of the noise table."""

    @property
    def smallest_published(self) -> int:
        """The smallest number that can be published."""
        return self.publish_step // self.noise.steps_per_count

    def draw(
        self, counts: npt.NDArray[np.int64], random_bytes: RandomBytes
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Draw noise for each cell: the noisy counts, and whether each is published.

        Args:
            counts: The true counts, as integers of 64 bits.
            random_bytes: Where the randomness is from, such as `os.urandom`.

        Returns:
            The noisy counts, and whether each reaches the threshold. Only those that do may leave.

        Raises:
            ValueError: The counts are no integers of 64 bits, or too large for noise to be added.

        Example:
            >>> import os
            >>> from fractions import Fraction
            >>> import numpy as np
            >>> from tapveil.privacy import Laplace
            >>> numbers, published = Laplace(Fraction(1), 18).draw(np.array([1, 500]), os.urandom)
            >>> published.tolist()
            [False, True]
        """
        if len(counts) and (counts.dtype != np.int64 or counts.max() > LARGEST_COUNT):
            raise ValueError(f"counts must be integers of 64 bits, up to {LARGEST_COUNT}")
        steps = self.noise.steps_per_count
        noisy = self.noise.sample(len(counts), random_bytes)
        noisy += counts if steps == 1 else steps * counts
        return noisy if steps == 1 else noisy // steps, noisy >= self.publish_step

    def publish_probability(self, count: int) -> Fraction:
        """P(a cell with this true count is published), exactly.

        Args:
            count: The true count.

        Returns:
            The probability.

        Example:
            >>> from fractions import Fraction
            >>> from tapveil.privacy import Laplace
            >>> mechanism = Laplace(Fraction(1), 18)
            >>> mechanism.publish_probability(0), round(float(mechanism.publish_probability(18)), 3)
            (Fraction(0, 1), 0.731)
        """
        return self.publish_tail(count, self.smallest_published)

    def publish_tail(self, count: int, value: int) -> Fraction:
        """P(published with a number of at least `value`), exactly.

        Args:
            count: The true count.
            value: The number that is reached, or exceeded.

        Returns:
            The probability.

        Example:
            >>> from fractions import Fraction
            >>> from tapveil.privacy import Laplace
            >>> mechanism = Laplace(Fraction(1), 18)
            >>> round(float(mechanism.publish_tail(18, 20)), 3)
            0.099
        """
        if count <= 0 and not self.visits_empty_cells:
            return Fraction(0)
        steps = self.noise.steps_per_count
        return self.noise.tail(max(self.publish_step, steps * value) - steps * count)

    def distribution(self, count: int) -> dict[int, Fraction]:
        """P(the published number is v) for each v; the remainder to 1 is P(not published).

        Infinite noise is listed as far as its table goes: less than 2^−55 lies beyond.

        Args:
            count: The true count.

        Returns:
            The probability of each number that can be published.

        Example:
            >>> from fractions import Fraction
            >>> from tapveil.privacy import Laplace
            >>> mechanism = Laplace(Fraction(1), 18)
            >>> known = mechanism.distribution(18)
            >>> min(known), sum(known.values()) == mechanism.publish_probability(18)
            (18, True)
        """
        highest = count + self.noise.last // self.noise.steps_per_count
        values = range(self.smallest_published, highest + 1)
        known = {v: self.publish_tail(count, v) - self.publish_tail(count, v + 1) for v in values}
        return {value: p for value, p in known.items() if p}

    def error_bound(self, beta: Fraction) -> int:
        """The least bound that the absolute error exceeds with probability at most β, from the noise table.

        It holds before it is known whether the number is published: near the threshold, published cells are those that
        the noise raised.

        Args:
            beta: The probability β, such as 1/20.

        Returns:
            The bound.

        Example:
            >>> from fractions import Fraction
            >>> from tapveil.privacy import Laplace
            >>> mechanism = Laplace(Fraction(1), 18)
            >>> mechanism.error_bound(Fraction(1, 20))
            3
        """
        steps, tail = self.noise.steps_per_count, self.noise.tail

        def holds(bound: int) -> bool:
            return tail(steps * (bound + 1)) + 1 - tail(-steps * bound) <= beta

        return bisect_left(range(self.noise.last // steps + 1), True, key=holds)  # tails decrease with the bound


class _RoundedThreshold(Mechanism):
    """Laplace noise, then a threshold, then rounding: as in the Opal paper, Algorithm 1."""

    name = "sbh"
    noise_code = "laplace-rounded"
    narrowest = 2 * _FINEST

    @classmethod
    def _of_scale(cls, scale: Fraction, threshold: Fraction) -> Mechanism:
        return StatedHistogram(scale, threshold)

    @property
    def smallest_published(self) -> int:
        """The threshold, rounded."""
        return floor(self.threshold + Fraction(1, 2))

    @property
    def _split(self) -> Fraction:
        """The position of the threshold between two half-integers, where the noise is cut."""
        return self.threshold - self.smallest_published

    @property
    def noise(self) -> NoiseTable:
        """The noise on half-cells, cut like the threshold cuts its own interval."""
        return _rounded_laplace(self.scale, self._split)

    @property
    def publish_step(self) -> int:
        """The half-cell above the threshold."""
        return 2 * self.smallest_published + 1

    @property
    def cells(self) -> ChangedCells:
        """Computed on half-cells: for every count, the published number is a function of the half-cell.

        Full cells would not do: a count at the threshold reveals more than a large one (the value next to the
        threshold keeps only the outer part of its mass), so "large counts are the worst" fails for this mechanism.
        """
        return _stability_cells(self)

    def laplace_bound(self, beta: Fraction) -> Fraction:
        """The paper's error bound, for the noise before rounding: b · ln(1/β) (Definition 6)."""
        return self.scale * ln_above(1 / beta)


@dataclass(frozen=True)
class StabilityHistogram(_RoundedThreshold):
    """The stability-based histogram (SBH) of the Opal paper for one table at (ε, δ).

    A cell with true count c > 0 publishes round(c + Lap(b)) if c + Lap(b) ≥ b ln(2/δ) + 1, else nothing, with
    b = 2/ε for a replaced trip. A unit that changes more or fewer cells gets b in proportion, and each of its cells an
    equal share of δ.
    """

    epsilon: Fraction
    delta: Fraction
    exposure: Exposure = TRIP_REPLACED

    def __post_init__(self) -> None:
        if not self.epsilon >= SMALLEST_EPSILON:
            raise ValueError(f"epsilon must be at least {SMALLEST_EPSILON} for a table")
        if self.epsilon > LARGEST_EPSILON:
            raise ValueError(f"epsilon must be at most {LARGEST_EPSILON} for a table; above it nothing is protected")
        if not SMALLEST_DELTA <= self.delta < 1:
            raise ValueError("delta must be at least 1e-15 and below 1 for a table")
        _check_width(self.scale)

    @property
    def scale(self) -> Fraction:
        """b of the Laplace noise: each changed cell gets an equal share of ε."""
        return self.exposure.changed / self.epsilon

    @property
    def threshold(self) -> Fraction:
        """b ln(2/δ) + 1, rounded up by at most 1e-30: a higher threshold publishes less."""
        return _stability_threshold(self.scale, self.delta / self.exposure.cells)


@dataclass(frozen=True)
class StatedHistogram(_RoundedThreshold):
    """The same mechanism from its scale and threshold alone."""

    stated_scale: Fraction
    stated_threshold: Fraction

    @property
    def scale(self) -> Fraction:
        return self.stated_scale

    @property
    def threshold(self) -> Fraction:
        return self.stated_threshold


class _IntegerThreshold(Mechanism):
    """A mechanism on integers: noisy counts of at least `least` are published unchanged."""

    least: int

    @classmethod
    def _integer(cls, threshold: Fraction) -> int:
        if threshold.denominator != 1:
            raise ValueError(f"the threshold of {cls.name} must be an integer")
        return int(threshold)

    @property
    def threshold(self) -> Fraction:
        return Fraction(self.least)

    @property
    def publish_step(self) -> int:
        return self.least


@dataclass(frozen=True)
class _DiscreteLaplace(_IntegerThreshold):
    """Noise with P(k) ∝ e^(−ε₀|k|)."""

    cell_epsilon: Fraction
    least: int

    def __post_init__(self) -> None:
        _check_exact(self.cell_epsilon, self.least)

    @classmethod
    def _of_scale(cls, scale: Fraction, threshold: Fraction) -> Mechanism:
        return cls(1 / scale, cls._integer(threshold))

    @property
    def scale(self) -> Fraction:
        return 1 / self.cell_epsilon


class _DiscreteGaussian(Mechanism):
    """Noise with P(k) ∝ e^(−k²/2σ²)."""

    sigma: Fraction
    narrowest = Fraction(1, 10)
    is_gaussian = True

    @property
    def scale(self) -> Fraction:
        return self.sigma

    @property
    def noise(self) -> NoiseTable:
        return _gaussian_table(self.sigma)


class Laplace(_DiscreteLaplace):
    """Discrete Laplace noise, P(k) ∝ e^(−ε₀|k|), on cells that occur, and an integer threshold."""

    name = "laplace"
    noise_code = "discrete-laplace"

    @property
    def noise(self) -> NoiseTable:
        return _laplace_table(self.cell_epsilon)

    @property
    def cells(self) -> ChangedCells:
        return _integer_cells(self.publish_probability(1), _laplace_shift(_laplace_table, self.cell_epsilon))


@dataclass(frozen=True)
class Gaussian(_IntegerThreshold, _DiscreteGaussian):
    """Discrete Gaussian noise, P(k) ∝ e^(−k²/2σ²), on cells that occur, and an integer threshold."""

    sigma: Fraction
    least: int

    name = "gaussian"
    noise_code = "discrete-gaussian"

    def __post_init__(self) -> None:
        _check_exact(self.sigma, self.least)

    @classmethod
    def _of_scale(cls, scale: Fraction, threshold: Fraction) -> Mechanism:
        return cls(scale, cls._integer(threshold))

    @property
    def cells(self) -> ChangedCells:
        return _integer_cells(self.publish_probability(1), _gaussian_shift(self.sigma))


@dataclass(frozen=True)
class Dictionary(_DiscreteLaplace):
    """Discrete Laplace noise on every cell of a public list, whether it occurs or not: pure ε, δ = 0.

    `least` is a public cut: noisy counts below it are not published, which is post-processing and costs nothing.
    """

    least: int = 1

    name = "dictionary"
    noise_code = "discrete-laplace-listed"
    visits_empty_cells = True
    from_a_list = True

    @property
    def noise(self) -> NoiseTable:
        """Infinite noise: a finite table would need a δ, however small."""
        return _endless_table(self.cell_epsilon)

    @property
    def cells(self) -> ChangedCells:
        return _integer_cells(Fraction(0), _laplace_shift(_endless_table, self.cell_epsilon))

    def draw_empty(self, cells: int, random_bytes: RandomBytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The published ones among empty cells, ascending, and their numbers: the distribution of `draw` on zeros.

        Only published cells are visited: their number is binomial, their positions are uniform, and the value of each
        is the noise, given that it reaches the cut.

        Args:
            cells: How many empty cells there are.
            random_bytes: Where the randomness is from, such as `os.urandom`.

        Returns:
            The positions of the published cells, from 0, and the number of each.

        Example:
            >>> import os
            >>> from fractions import Fraction
            >>> from tapveil.privacy import Dictionary
            >>> cells, numbers = Dictionary(Fraction(1), 3).draw_empty(1000, os.urandom)
            >>> len(cells) == len(numbers), bool((numbers >= 3).all())
            (True, True)
        """
        number = _binomial(cells, self.publish_probability(0), random_bytes)
        return _distinct(number, cells, random_bytes), self.noise.sample(number, random_bytes, at_least=self.least)


@dataclass(frozen=True)
class World(_DiscreteGaussian):
    """Discrete Gaussian noise on every cell of a public world, published as it is: no threshold, also below zero.

    No cell appears or disappears, so no cell tells that somebody was alone in it: only shifts are left to hide, by one,
    or by up to `per_cell` where as many of the `trips` of a unit count in one cell.
    """

    sigma: Fraction
    per_cell: int = 1
    trips: int = 1

    name = "world"
    noise_code = "discrete-gaussian-world"
    visits_empty_cells = True
    publishes_every_cell = True

    def __post_init__(self) -> None:
        _check_exact(self.sigma)
        if not 1 <= self.per_cell <= self.trips:
            raise ValueError(f"from 1 to all {self.trips} trips of a unit can count in a cell, not {self.per_cell}")

    @classmethod
    def _of_scale(cls, scale: Fraction, threshold: Fraction) -> Mechanism:
        return cls(scale)

    @property
    def square(self) -> Fraction:
        """Of all a ≤ c with Σ a ≤ m, Σ a² is greatest with as many c as there is room for, and the rest in one cell."""
        full, rest = divmod(self.trips, self.per_cell)
        return Fraction(full * self.per_cell**2 + rest**2, self.trips)

    @property
    def threshold(self) -> Fraction:
        """None: it is written as 0."""
        return Fraction(0)

    @property
    def publish_step(self) -> int:
        """The least that an empty cell can show."""
        return self.noise.first

    @property
    def cells(self) -> ChangedCells:
        """Of each trip of a unit."""
        if self.per_cell == 1:
            return _integer_cells(Fraction(0), _gaussian_shift(self.sigma))
        return _integer_cells(Fraction(0), _gaussian_shifts(self.sigma, self.square))

    @property
    def cells_of_one_trip(self) -> ChangedCells:
        """Of a trip that shares its cells with no other of its unit."""
        return replace(self, per_cell=1, trips=1).cells


MECHANISMS: Mapping[str, type[Mechanism]] = {
    each.name: each for each in (StabilityHistogram, Laplace, Gaussian, Dictionary, World)
}
"""By their names in plans, manifests and ledgers: what differs between them is asked of these, not of the name."""


def world(sigma: Fraction, per_cell: int, trips: int) -> World:
    """The mechanism of a table of a known world; how many trips a unit has matters only where several share a cell."""
    return World(sigma, per_cell, trips) if per_cell > 1 else World(sigma)


def stated(name: str, scale: Fraction, threshold: Fraction, per_cell: int = 1, trips: int = 1) -> Mechanism:
    """The mechanism that a manifest or a ledger states by its name, scale and threshold.

    They never change their meaning: whatever was written years ago is accounted for as it was drawn.

    Args:
        name: `sbh`, `laplace`, `gaussian`, `dictionary` or `world`.
        scale: b of Laplace, σ of Gaussian noise.
        threshold: What a noisy count has to reach; 0 for `world`, which has none.
        per_cell: With `world`: how many trips of a unit count in a cell, at most.
        trips: How many trips of a unit count in all, at most, where several may be in one cell.

    Returns:
        The mechanism.

    Raises:
        ValueError: There is no such mechanism.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import stated
        >>> stated("laplace", Fraction(1), Fraction(18)).smallest_published
        18
    """
    numbers = (scale.numerator, scale.denominator, threshold.numerator, threshold.denominator)
    if any(number.bit_length() > LONGEST_NUMBER for number in numbers):
        raise ValueError("a scale or threshold has too many digits")
    if not scale > 0 or not 0 <= threshold <= HIGHEST or (threshold == 0) != (name == World.name):
        raise ValueError("a scale or threshold is out of range")
    _check_width(scale)
    if name not in MECHANISMS:
        raise ValueError(f"`{name}` is not a mechanism")
    if scale < MECHANISMS[name].narrowest:
        raise ValueError("the noise is too narrow to protect anything")
    made = MECHANISMS[name]._of_scale(scale, threshold)
    if per_cell == 1:
        return made
    if not isinstance(made, World):
        raise ValueError("several trips of a unit can count in one cell of a known world alone")
    return replace(made, per_cell=per_cell, trips=trips)


# --- shared by several mechanisms, cached ---------------------------------------------------------------------------

_BEYOND_TABLES = Fraction(1, 10**19)
"""More than what of a discrete Gaussian lies beyond its table, and is lost to 160 bits (claim 18)."""

_rounded_laplace = lru_cache(noise.rounded_laplace)
_laplace_table = lru_cache(noise.discrete_laplace)
_endless_table = lru_cache(noise.endless_laplace)


@lru_cache
def _stability_threshold(scale: Fraction, delta: Fraction) -> Fraction:
    return Fraction(ceil((scale * ln_above(2 / delta) + 1) * THRESHOLD_GRID), THRESHOLD_GRID)


@lru_cache
def _gaussian_table(sigma: Fraction) -> NoiseTable:
    return noise.discrete_gaussian(sigma**2)


@lru_cache
def _stability_cells(mechanism: _RoundedThreshold) -> ChangedCells:
    cuts = (Fraction(-1, 2), mechanism._split)
    left, entered = (
        spectrum.of_table(mechanism.noise, 2 * shift, spectrum.rounded_laplace_losses(mechanism.scale, cuts, shift))
        for shift in (1, -1)
    )
    return ChangedCells(mechanism.publish_probability(1), left, entered)


@lru_cache
def _laplace_shift(table: Callable[[Fraction], NoiseTable], cell_epsilon: Fraction) -> spectrum.Spectrum:
    return spectrum.of_table(table(cell_epsilon), 1, spectrum.laplace_losses(cell_epsilon))


@lru_cache
def _gaussian_shift(sigma: Fraction) -> spectrum.Spectrum:
    table = _gaussian_table(sigma)
    return spectrum.of_table(table, 1, spectrum.gaussian_losses(sigma**2, table.last))


@lru_cache
def _gaussian_shifts(sigma: Fraction, square: Fraction) -> spectrum.Spectrum:
    distance = 1 - Fraction(_gaussian_table(sigma).total, noise.WORDS) + _BEYOND_TABLES
    return spectrum.of_gaussian(sigma**2, square, distance)


@lru_cache
def _integer_cells(singleton: Fraction, shift: spectrum.Spectrum) -> ChangedCells:
    """The losses of a symmetric table are the same in both directions."""
    return ChangedCells(singleton, shift, shift)


def _check_exact(width: Fraction, least: int = 0) -> None:
    """Floats are rounded, nobody knows which way; and noise of no width, or turned around, is none."""
    if not isinstance(width, Fraction | int) or not isinstance(least, int):
        raise TypeError(f"noise needs an exact width, a Fraction, and an integer threshold, not {width!r}, {least!r}")
    if width <= 0:
        raise ValueError(f"the width of noise must be above 0, not {width}")


def _check_width(scale: Fraction) -> None:
    if scale > WIDEST:
        raise ValueError(
            f"the noise would have scale {decimal_text(scale, 3)}; use a larger epsilon or fewer trips per unit"
        )


# --- sparse drawing -------------------------------------------------------------------------------------------------


def _binomial(trials: int, p: Fraction, random_bytes: RandomBytes) -> int:
    """An exact draw from Binomial(trials, p), without floats: all undecided trials are compared with p, bit by bit."""
    successes, tied, remainder = 0, trials, p
    while tied and remainder:
        remainder *= 2
        bit = remainder >= 1
        remainder -= bit
        bits = int.from_bytes(random_bytes(-(-tied // 8)), "little")
        ones = (bits & ((1 << tied) - 1)).bit_count()
        successes += (tied - ones) if bit else 0
        tied = ones if bit else tied - ones
    return successes


def _distinct(number: int, below: int, random_bytes: RandomBytes) -> npt.NDArray[np.int64]:
    """A uniform random set of `number` distinct integers below a bound, ascending.

    These are the first distinct ones of a sequence of uniform draws; never more are drawn at once than are missing.
    """
    if number > below // 2:  # easier to draw the excluded ones
        left_out = _distinct(below - number, below, random_bytes)
        return np.setdiff1d(np.arange(below), left_out, assume_unique=True)
    found = np.empty(0, dtype=np.int64)
    while len(found) < number:
        found = np.union1d(found, noise.uniform(below, number - len(found), random_bytes).astype(np.int64))
    return found
