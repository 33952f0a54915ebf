"""Intervals for the true count of a published cell, or of a cell that was not published.

An interval is a rule that is fixed before anything is drawn: [y − h, y + h] for a published y, and [0, u] for a cell
that is not published. For every true count, the interval misses it with probability at most α, whether or not the cell
is published (docs/privacy/proofs.md, intervals). h is the least possible, then u.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tapveil.privacy.mechanisms import Mechanism

MISS = Fraction(1, 20)
"""The maximum probability that a stated interval misses."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Interval:
    """The intervals of one mechanism at one confidence level."""

    half_width: int
    least: int
    """The least true count of a published cell: 1, or 0 if empty cells get noise."""
    absent: int
    """The upper bound u for a cell that is not published."""

    def of(self, published: int | None) -> tuple[int, int]:
        """The interval of a published number; of a cell that is not published for None.

        Args:
            published: The number, or None.

        Returns:
            The least and the largest true count.

        Example:
            >>> from fractions import Fraction
            >>> from tapveil.privacy import MISS, Laplace, interval
            >>> rule = interval(Laplace(Fraction(1), 18), MISS)
            >>> rule.of(20), rule.of(None)
            ((17, 23), (0, 19))
        """
        if published is None:
            return 0, self.absent
        return max(self.least, published - self.half_width), max(0, published + self.half_width)

    def low(self, published: Counts) -> Counts:
        """The least true count for each published number.

        Args:
            published: The numbers.

        Returns:
            The ends of their intervals.

        Example:
            >>> import numpy as np
            >>> from fractions import Fraction
            >>> from tapveil.privacy import MISS, Laplace, interval
            >>> rule = interval(Laplace(Fraction(1), 18), MISS)
            >>> rule.low(np.array([20, 30])).tolist()
            [17, 27]
        """
        return np.maximum(self.least, published - self.half_width)

    def high(self, published: Counts) -> Counts:
        """The largest true count for each published number.

        Args:
            published: The numbers.

        Returns:
            The ends of their intervals.

        Example:
            >>> import numpy as np
            >>> from fractions import Fraction
            >>> from tapveil.privacy import MISS, Laplace, interval
            >>> rule = interval(Laplace(Fraction(1), 18), MISS)
            >>> rule.high(np.array([20, 30])).tolist()
            [23, 33]
        """
        return np.maximum(0, published + self.half_width)


@lru_cache
def interval(mechanism: Mechanism, miss: Fraction) -> Interval:
    """The interval rule that misses the true count with at most this probability, whatever the count is.

    Args:
        mechanism: What the counts went through.
        miss: The probability, such as 1/20 for intervals of 95 %.

    Returns:
        The rule: the half-width around a published count, and the most that a cell which is not published has.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Laplace, interval
        >>> interval(Laplace(Fraction(1), 18), Fraction(1, 20))
        Interval(half_width=3, least=1, absent=19)
    """
    half_width, steps = mechanism.error_bound(miss), mechanism.noise.steps_per_count
    above, not_below = mechanism.noise.tail(steps * (half_width + 1)), mechanism.noise.tail(-steps * half_width)

    def holds(count: int) -> bool:
        """Whether the noise rarely exceeds the half-width or hides the cell; monotone in the count."""
        return above + 1 - min(not_below, mechanism.publish_probability(count)) <= miss

    far = mechanism.smallest_published + half_width + 1  # at this count, a hidden cell has noise below −h
    absent = bisect_left(range(far), True, key=holds) - 1
    return Interval(half_width, 0 if mechanism.visits_empty_cells else 1, max(absent, 0))


@lru_cache(maxsize=4096)
def given_published(mechanism: Mechanism, published: int, miss: Fraction) -> tuple[int, int]:
    """The interval of a count, given that its cell was published.

    For whoever picks numbers because they are printed: of all cells with a given true number that are printed, at most
    this share is missed. Near the threshold a printed number says nothing about how small the true one was.

    Args:
        mechanism: What the count went through.
        published: The published count.
        miss: The probability of a miss, such as 1/20.

    Returns:
        The smallest and the largest true count.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Laplace, given_published
        >>> [given_published(Laplace(Fraction(1), 18), y, Fraction(1, 20)) for y in (18, 21, 22, 26)]
        [(1, 20), (1, 24), (19, 25), (23, 29)]
    """
    least = 0 if mechanism.visits_empty_cells else 1
    reach = published + mechanism.noise.last // mechanism.noise.steps_per_count + 1

    def tail(count: int, value: int) -> Fraction:
        """P(at least this, given that it is published)."""
        shown = mechanism.publish_probability(count)
        return mechanism.publish_tail(count, value) / shown if shown else Fraction(0)

    # Both tails are monotone in the true count.
    below, above = range(least, published), range(published + 1, reach)
    lowest = bisect_left(below, True, key=lambda count: tail(count, published) > miss / 2)
    highest = bisect_left(above, True, key=lambda count: 1 - tail(count, published + 1) <= miss / 2)
    return min(least + lowest, published), published + highest
