"""From one total (ε, δ) and a weight per table to noise and thresholds: least thresholds, never above the total.

The weights say how the precision is shared: a table of weight 2 has noise half as wide as one of weight 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from tapveil.privacy.accountant import Exposure, exceeds
from tapveil.privacy.mechanisms import Gaussian, Laplace
from tapveil.privacy.noise import NoiseTable

Thresholded = Laplace | Gaussian
T = TypeVar("T", Laplace, Gaussian)
FINENESS = 1000
"""Widths of Gaussian noise are searched on thousandths: fine enough to lose nothing, coarse enough to read."""


@lru_cache
def laplace(
    weights: tuple[Fraction, ...], epsilon: Fraction, total_delta: Fraction, exposure: Exposure
) -> list[Laplace]:
    """Discrete Laplace: ε is shared by weight over all changed cells, δ pays for singletons that appear."""
    sides = 2 if exposure.neighbours == "replace" else 1
    shares = [epsilon * weight / sum(weights) / (sides * exposure.cells) for weight in weights]
    return _least([_laplace_maker(share) for share in shares], weights, epsilon, total_delta, exposure)


@lru_cache
def gaussian(
    weights: tuple[Fraction, ...], epsilon: Fraction, total_delta: Fraction, exposure: Exposure
) -> list[Gaussian]:
    """Discrete Gaussian: the narrowest noise whose loss alone keeps (ε, δ), then the least thresholds that do."""

    def makers(width: int) -> list[Callable[[int], Gaussian]]:
        return [_gaussian_maker((Fraction(width, FINENESS) / weight) ** 2) for weight in weights]

    def too_narrow(width: int) -> bool:
        return _exceeds([make(_never(make)) for make in makers(width)], epsilon, total_delta, exposure)

    width = FINENESS
    while too_narrow(width):
        width *= 2
    low, high = 0, width
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if too_narrow(middle) else (low, middle)
    for slack in range(FINENESS):  # the A cells may need a hair more room than the B cells alone
        try:
            return _least(makers(high + slack), weights, epsilon, total_delta, exposure)
        except ArithmeticError:
            continue
    raise ValueError("no Gaussian noise was found for this epsilon and delta")


def _laplace_maker(cell_epsilon: Fraction) -> Callable[[int], Laplace]:
    return lambda least: Laplace(cell_epsilon, least)


def _gaussian_maker(variance: Fraction) -> Callable[[int], Gaussian]:
    return lambda least: Gaussian(variance, least)


def _never(make: Callable[[int], Thresholded]) -> int:
    """A threshold that a singleton cannot reach."""
    return make(1).noise.last + 2


def _exceeds(mechanisms: Sequence[Thresholded], epsilon: Fraction, total: Fraction, exposure: Exposure) -> bool:
    return exceeds([mechanism.cells for mechanism in mechanisms], float(epsilon), float(total), exposure)


def _least(
    makers: Sequence[Callable[[int], T]],
    weights: Sequence[Fraction],
    epsilon: Fraction,
    total: Fraction,
    exposure: Exposure,
) -> list[T]:
    """Thresholds from an equal share of δ for every singleton, then each lowered while the total allows it.

    The finest tables (greatest weight) come first: they have the most cells near their threshold.
    """
    share = total / (len(makers) * exposure.cells)
    thresholds = [_threshold(make(1).noise, share) for make in makers]
    while _exceeds([make(t) for make, t in zip(makers, thresholds, strict=True)], epsilon, total, exposure):
        thresholds = [threshold + 1 for threshold in thresholds]
        if all(threshold > _never(make) for make, threshold in zip(makers, thresholds, strict=True)):
            raise ArithmeticError("the noise alone exceeds the total")
    groups = sorted(set(weights), reverse=True)
    lowered = True
    while lowered:
        lowered = False
        for weight in groups:
            tried = [t - (w == weight) for t, w in zip(thresholds, weights, strict=True)]
            if min(tried) > 1 and not _exceeds(
                [make(t) for make, t in zip(makers, tried, strict=True)], epsilon, total, exposure
            ):
                thresholds, lowered = tried, True
    return [make(threshold) for make, threshold in zip(makers, thresholds, strict=True)]


def _threshold(noise: NoiseTable, share: Fraction) -> int:
    """The least count at which a singleton appears with at most this probability."""
    least = 2
    while noise.tail(least - 1) > share:
        least += 1
    return least
