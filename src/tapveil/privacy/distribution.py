"""The distribution of a mechanism as floats: its noise, and what it is expected to publish of true counts.

For forecasts, sums over many cells, and descriptions. The exact distribution is `Mechanism.distribution`; nothing here
decides the guarantee of a release. Infinite noise is cut where its table ends: less than 2^−55 lies beyond.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from tapveil.privacy.mechanisms import Mechanism

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Expected:
    """The expected publication of some cells."""

    cells: float
    """The expected number of published cells, including empty cells where the mechanism draws noise for them."""
    trips: float
    """The expected sum of the true counts of published cells."""
    distance: float
    """The expected sum of absolute errors of published cells."""


class Distribution:
    """The distribution of one mechanism: its noise, and the publication of any true count."""

    def __init__(self, mechanism: Mechanism) -> None:
        table = mechanism.noise
        self._steps, self._first = table.steps_per_count, table.first
        self._least = mechanism.publish_step
        self._lowest_count = 0 if mechanism.visits_empty_cells else 1
        self._p = np.array([weight / table.total for weight in table.weights])
        self._off = (table.first + np.arange(len(self._p))) // table.steps_per_count

    @cached_property
    def noise(self) -> tuple[Floats, Floats]:
        """The values of the noise, in counts, and their probabilities."""
        off, places = np.unique(self._off, return_inverse=True)
        return off.astype(np.float64), np.bincount(places, self._p).astype(np.float64)

    @cached_property
    def _from(self) -> Floats:
        """For each step of noise, sums over it and all steps above: Σ p, Σ p·off, Σ p·|off|, Σ p·off²; last, zeros."""
        moments = np.stack([self._p, self._p * self._off, self._p * np.abs(self._off), self._p * self._off**2])
        # Summed from the far end, so that small probabilities keep their precision.
        return np.concatenate([moments[:, ::-1].cumsum(axis=1)[:, ::-1], np.zeros((4, 1))], axis=1)

    @cached_property
    def _below(self) -> Floats:
        return np.concatenate([np.zeros(1), self._p.cumsum()])

    def _places(self, sizes: Integers, least: int) -> Integers:
        """For each true count, the index of the least noise that raises it to `least`; for empty cells, the end."""
        places = np.clip(least - self._steps * sizes - self._first, 0, len(self._p))
        return np.where(sizes < self._lowest_count, len(self._p), places)

    def published(self, sizes: Integers) -> tuple[Floats, Floats, Floats, Floats]:
        """For each true count, sums over the noise that publishes it: Σ p, Σ p·off, Σ p·|off|, Σ p·off².

        Args:
            sizes: True counts.

        Returns:
            The four sums for each; the first is the probability that it is published.

        Example:
            >>> from fractions import Fraction
            >>> import numpy as np
            >>> from tapveil.privacy import Distribution, Laplace
            >>> known = Distribution(Laplace(Fraction(1), 18))
            >>> known.published(np.array([5, 18, 30]))[0].round(3).tolist()
            [0.0, 0.731, 1.0]
        """
        p, off, distance, square = self._from[:, self._places(sizes, self._least)]
        return p, off, distance, square

    def tail(self, sizes: Integers, value: int = 0) -> Floats:
        """For each true count: P(published, and at least `value`).

        Args:
            sizes: True counts.
            value: The number that is reached, or exceeded.

        Returns:
            The probabilities.

        Example:
            >>> from fractions import Fraction
            >>> import numpy as np
            >>> from tapveil.privacy import Distribution, Laplace
            >>> known = Distribution(Laplace(Fraction(1), 18))
            >>> known.tail(np.array([5, 18, 30]), 20).round(3).tolist()
            [0.0, 0.099, 1.0]
        """
        return np.asarray(self._from[0, self._places(sizes, max(self._least, self._steps * value))])

    def hidden(self, sizes: Integers) -> Floats:
        """For each true count: P(not published), precise even where it is tiny.

        Args:
            sizes: True counts.

        Returns:
            The probabilities.

        Example:
            >>> from fractions import Fraction
            >>> import numpy as np
            >>> from tapveil.privacy import Distribution, Laplace
            >>> known = Distribution(Laplace(Fraction(1), 18))
            >>> known.hidden(np.array([5, 18, 30])).round(3).tolist()
            [1.0, 0.269, 0.0]
        """
        return np.asarray(self._below[self._places(sizes, self._least)])

    def within(self, sizes: Integers, distance: int | Integers) -> Floats:
        """For each true count: P(published with an error of at most `distance`).

        Args:
            sizes: True counts.
            distance: The largest error, on either side; one for all, or one for each.

        Returns:
            The probabilities.

        Example:
            >>> from fractions import Fraction
            >>> import numpy as np
            >>> from tapveil.privacy import Distribution, Laplace
            >>> known = Distribution(Laplace(Fraction(1), 18))
            >>> known.within(np.array([5, 18, 30]), 2).round(3).tolist()
            [0.0, 0.695, 0.927]
        """
        near, far = (np.clip(self._steps * off - self._first, 0, len(self._p)) for off in (-distance, distance + 1))
        least = np.maximum(self._places(sizes, self._least), near)
        return np.asarray(np.maximum(self._from[0, least] - self._from[0, far], 0))

    def as_far_off(self, off: Integers) -> Floats:
        """For each error: P(noise at least as large, on the same side).

        Args:
            off: Errors, below 0 where a number is too small.

        Returns:
            The probabilities.

        Example:
            >>> from fractions import Fraction
            >>> import numpy as np
            >>> from tapveil.privacy import Distribution, Laplace
            >>> known = Distribution(Laplace(Fraction(1), 18))
            >>> known.as_far_off(np.array([-3, 0, 3])).round(3).tolist()
            [0.036, 0.731, 0.036]
        """
        above = self._from[0, np.searchsorted(self._off, off, side="left")]
        below = self._below[np.searchsorted(self._off, off, side="right")]
        return np.where(off >= 0, above, below)

    def errors(self, sizes: Integers) -> tuple[Integers, Floats]:
        """The possible errors of published numbers, in order, and the expected number of cells with each.

        Args:
            sizes: True counts.

        Returns:
            The errors, and for each the expected number of published cells.

        Example:
            >>> from fractions import Fraction
            >>> import numpy as np
            >>> from tapveil.privacy import Distribution, Laplace
            >>> known = Distribution(Laplace(Fraction(1), 18))
            >>> errors, cells = known.errors(np.array([5, 18, 30]))
            >>> int(errors[0]), round(float(cells.sum()), 3)
            (-44, 1.731)
        """
        ordered = np.sort(sizes[sizes >= self._lowest_count])
        enough = -((self._first + np.arange(len(self._p)) - self._least) // self._steps)  # the least published count
        published = len(ordered) - np.searchsorted(ordered, enough)
        expected = np.bincount(self._off - self._off[0], self._p * published).astype(np.float64)
        return np.arange(self._off[0], self._off[0] + len(expected), dtype=np.int64), expected

    def expected(self, sizes: Integers, cells: Integers | Floats | int = 1) -> Expected:
        """The expected publication of a number of cells with each true count.

        Args:
            sizes: True counts.
            cells: How many cells have each.

        Returns:
            The expected cells, trips and errors in all.

        Example:
            >>> from fractions import Fraction
            >>> import numpy as np
            >>> from tapveil.privacy import Distribution, Laplace
            >>> known = Distribution(Laplace(Fraction(1), 18))
            >>> found = known.expected(np.array([5, 18, 30]), np.array([100, 10, 1]))
            >>> round(found.cells, 2), round(found.trips, 1)
            (8.31, 161.6)
        """
        p, _, distance, _ = self.published(sizes)
        return Expected(float((p * cells).sum()), float((p * sizes * cells).sum()), float((distance * cells).sum()))


@lru_cache(maxsize=32)
def distribution(mechanism: Mechanism) -> Distribution:
    """The distribution of a mechanism, cached.

    >>> from tapveil.privacy.mechanisms import Laplace
    >>> distribution(Laplace(Fraction(1), 18)).tail(np.array([0, 15, 18, 40])).round(3).tolist()
    [0.0, 0.036, 0.731, 1.0]
    """
    return Distribution(mechanism)


@lru_cache
def variance(mechanism: Mechanism) -> float:
    """The variance of the noise of one cell, as it is drawn.

    Args:
        mechanism: The mechanism.

    Returns:
        The variance, in counts squared.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Laplace, variance
        >>> round(variance(Laplace(Fraction(1), 18)), 2)
        1.84
    """
    off, p = distribution(mechanism).noise
    mean = float((off * p).sum())
    return float((off**2 * p).sum()) - mean**2


@lru_cache
def mean_error(mechanism: Mechanism) -> float:
    """How far a number is from the true one on average, before it is known whether it is published.

    Args:
        mechanism: The mechanism.

    Returns:
        The mean absolute error, in counts.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Laplace, mean_error
        >>> round(mean_error(Laplace(Fraction(1), 18)), 2)
        0.85
    """
    off, p = distribution(mechanism).noise
    return float((np.abs(off) * p).sum())


def spread(cells: Mapping[Mechanism, int], miss: Fraction) -> int:
    """The error bound of a sum of cells: the sum of their noise is beyond it with at most this probability.

    The distribution of the sum is that of its Fourier transform: exact but for rounding, which is paid for.

    Args:
        cells: The number of cells of each mechanism.
        miss: The probability, such as 1/20.

    Returns:
        The bound, in counts.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Laplace, spread
        >>> spread({Laplace(Fraction(1), 18): 100}, Fraction(1, 20))
        27
    """
    total = sum(number * variance(mechanism) for mechanism, number in cells.items())
    if total == 0:
        return 0
    widest = max(len(distribution(mechanism).noise[0]) for mechanism in cells)
    size = 1 << int(np.ceil(np.log2(2 * widest + 40 * np.sqrt(total))))  # covers 20 standard deviations
    transform = np.ones(size // 2 + 1, dtype=complex)
    for mechanism, number in cells.items():
        off, p = distribution(mechanism).noise
        placed = np.zeros(size)
        np.add.at(placed, off.astype(np.int64) % size, p)
        transform *= np.fft.rfft(placed) ** number
    summed = np.fft.irfft(transform, size)
    half = size // 2
    around = np.concatenate([[summed[0]], summed[1:half] + summed[: size - half : -1]])  # by distance from 0
    beyond = np.maximum(around, 0)[::-1].cumsum()[::-1] + 1e-9  # rounding, against us
    return int(np.argmax(beyond <= float(miss))) - 1
