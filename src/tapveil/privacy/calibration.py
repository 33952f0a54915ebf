"""From one total (ε, δ) and a weight per table to noise and thresholds, which never exceed the total.

The weights share the precision: a table of weight 2 has noise half as wide as one of weight 1. The noise is made as
narrow as the total allows, then the thresholds as low as possible. The result is accounted for by its own noise tables,
and a design that would exceed the total is never returned.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import ceil, erfc, exp, inf, sqrt

import numpy as np

from tapveil.privacy import spectrum
from tapveil.privacy.accountant import ChangedCells, Exposure, any_exceeds, changes
from tapveil.privacy.mechanisms import (
    LARGEST_EPSILON,
    MECHANISMS,
    SMALLEST_DELTA,
    SMALLEST_EPSILON,
    WIDEST,
    Dictionary,
    Gaussian,
    Laplace,
    Mechanism,
    StabilityHistogram,
    World,
    world,
)
from tapveil.privacy.noise import NoiseTable
from tapveil.privacy.rational import decimal_text, float_below
from tapveil.privacy.spectrum import Spectrum

LARGEST_CELL_EPSILON = Fraction(40)
"""Beyond it, two neighbouring weights of an infinite table do not fit into 64 bits."""
TRIED = 8
"""Across releases: the number of further widths that are tried, each 1/400 wider."""
FINENESS = 1000
"""Widths are searched in steps of 1/1000: fine enough to lose nothing, coarse enough to read."""
NEAR = Fraction(1, 10_000)
"""How near a formula comes to the narrowest width, as a rule."""
SMOOTH = 4
"""From this width on. Narrower noise is on so few integers that even wider noise may show more: all is evaluated."""

_NO_NOISE = "no noise was found for this epsilon and delta; use a larger epsilon or fewer trips per unit"
_TOO_WIDE = "the noise would be wider than any count; use a larger epsilon or fewer trips per unit"

Thresholded = Laplace | Gaussian


@lru_cache
def calibrate(
    name: str,
    weights: tuple[Fraction, ...],
    epsilon: Fraction,
    delta: Fraction,
    exposure: Exposure,
    cut: int = 1,
    per_cell: tuple[int, ...] = (),
) -> tuple[Mechanism, ...]:
    """Choose noise and threshold for each of several tables, so that together they keep (ε, δ).

    Args:
        name: The mechanism: `sbh`, `laplace`, `gaussian` or `dictionary`.
        weights: A share of the budget for each table.
        epsilon: The total ε.
        delta: The total δ; 0 for `dictionary`.
        exposure: What one unit of protection can change.
        cut: For `dictionary`: the smallest count that is published.
        per_cell: For `world`: how many trips of a unit count in a cell of each table, at most; 1 if not given.

    Returns:
        A mechanism for each table, in the order of the weights.

    Raises:
        ValueError: No noise keeps it, or ε is out of range; the message says why.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Exposure, calibrate
        >>> shares, delta = (Fraction(1), Fraction(2)), Fraction(1, 10**6)
        >>> tables = calibrate("laplace", shares, Fraction(3), delta, Exposure("replace"))
        >>> [table.smallest_published for table in tables]
        [30, 15]
    """
    if name not in MECHANISMS:
        raise ValueError(f"`{name}` is not a mechanism; use one of {', '.join(MECHANISMS)}")
    if not weights or not all(isinstance(each, Fraction | int) for each in (*weights, epsilon, delta)):
        raise ValueError("give at least one table, and weights, epsilon and delta as Fractions: floats are rounded")
    if min(weights) <= 0:
        raise ValueError("weights must be above 0")
    if epsilon > LARGEST_EPSILON * len(weights):
        raise ValueError(f"epsilon must be at most {LARGEST_EPSILON} for a table; above it nothing is protected")
    shares = tuple(epsilon * weight / sum(weights) for weight in weights)
    if min(shares) < SMALLEST_EPSILON:
        words = f"epsilon must be at least {SMALLEST_EPSILON} for a table"
        smallest = f"; the smallest share of this total, by weight, is {decimal_text(min(shares), 3)}"
        raise ValueError(words if len(shares) == 1 else words + smallest)
    if MECHANISMS[name].from_a_list:
        if max(shares) / exposure.changed > LARGEST_CELL_EPSILON:
            raise ValueError(f"epsilon must be at most {LARGEST_CELL_EPSILON} for each changed cell of a dictionary")
        if min(shares) / exposure.changed * WIDEST < 1:
            raise ValueError(_TOO_WIDE)
        return tuple(Dictionary(share / exposure.changed, cut) for share in shares)
    if not len(weights) * SMALLEST_DELTA <= delta < 1:
        raise ValueError("delta must be at least 1e-15 for every table, and below 1")
    if name == "sbh":
        return tuple(StabilityHistogram(share, delta / len(weights), exposure) for share in shares)
    if MECHANISMS[name].publishes_every_cell:
        # Nobody is alone in a cell that is always there, so trips that react to earlier releases cost nothing.
        return tuple(_Design(name, weights, epsilon, delta, replace(exposure, across=False), per_cell).narrowest())
    return tuple(_Design(name, weights, epsilon, delta, exposure).least())


class _Design:
    """The search for one release. Widths are numbered; a smaller number is narrower noise."""

    def __init__(
        self,
        name: str,
        weights: tuple[Fraction, ...],
        epsilon: Fraction,
        delta: Fraction,
        exposure: Exposure,
        per_cell: tuple[int, ...] = (),
    ) -> None:
        self._name, self._per_cell = name, per_cell or (1,) * len(weights)
        self._estimate = {"laplace": _laplace_estimate, "gaussian": _gaussian_estimate, "world": _gaussian_estimate}[
            name
        ]
        self._weights = weights
        self._epsilon, self._delta, self._exposure = epsilon, delta, exposure
        # Noise of this width needs no search: each changed cell gets its share of ε, as in basic composition.
        self._basic = sum(weights) * exposure.changed / epsilon
        self._narrow: Fraction = Fraction(0)
        self._wide: Fraction | float = inf
        """Widths up to the one are known to be too narrow, and those from the other on not to be."""

    def narrowest(self) -> list[World]:
        """The narrowest noise that keeps (ε, δ) where every cell of a world is published."""
        for width in self._widths():
            each = zip(self._weights, self._per_cell, strict=True)
            made = [world(width / weight, most, self._exposure.cells) for weight, most in each]
            if self._keep(made):
                return made
        raise ValueError(_NO_NOISE)

    def least(self) -> list[Thresholded]:
        """The narrowest noise whose shifts alone satisfy (ε, δ), then the least thresholds that do.

        Across releases, A and B cells share δ (★★): slightly wider noise then allows much lower thresholds.
        """
        # A and B cells together may need slightly wider noise than B cells alone: then there are no thresholds.
        designs = (design for width in self._widths() if (design := self._least_thresholds(width)))
        first = next(designs, None)
        if first is None:
            raise ValueError(_NO_NOISE)
        return min([first, *islice(designs, TRIED)] if self._exposure.across else [first], key=self._cost)

    def _cost(self, design: Sequence[Thresholded]) -> Fraction:
        """The cost of a design: thresholds, weighted towards the finest tables, times the variance."""
        thresholds = sum(w * mechanism.least for w, mechanism in zip(self._weights, design, strict=True))
        return thresholds * (design[0].scale * self._weights[0]) ** 2

    def _widths(self) -> Iterator[Fraction]:
        """Widths at weight 1: the narrowest one by an estimate, then wider ones."""
        steps = ceil(self._basic * FINENESS)
        most = WIDEST * min(self._weights) * FINENESS
        about = self._about() if self._name != "laplace" else 0
        if SMOOTH * max(self._weights) <= about < most / FINENESS:
            off = max(about * NEAR, Fraction(1, FINENESS))
            for near in (about - off, about + off):
                self._too_narrow(near)
        while self._too_narrow(Fraction(steps, FINENESS)) and steps <= most:
            steps *= 2
        if steps > most:
            raise ValueError(_TOO_WIDE)
        low = 0
        while steps - low > max(1, steps // 5000):
            middle = (low + steps) // 2
            low, steps = (middle, steps) if self._too_narrow(Fraction(middle, FINENESS)) else (low, middle)
        for slack in range(200):
            width = Fraction(steps + slack * max(1, steps // (400 if self._exposure.across else 2000)), FINENESS)
            if self._name == "laplace" and abs(width / self._basic - 1) < Fraction(1, FINENESS):
                width = self._basic  # pure noise at exactly ε, rather than slightly narrower
            yield width

    def _about(self) -> Fraction:
        """Nearly the narrowest width of Gaussian noise, so that the search evaluates few others."""
        each = zip(self._weights, self._per_cell, strict=True)
        squares = (w**2 * (1 if most == 1 else world(1 / w, most, self._exposure.cells).square) for w, most in each)
        change = sqrt(self._exposure.changed * sum(squares))
        width = change / gaussian_distance(float(self._epsilon), float(self._delta))
        return Fraction(ceil(width * FINENESS), FINENESS)

    def _too_narrow(self, width: Fraction) -> bool:
        """As evaluated, or as it follows from other widths: wider noise shows less."""
        if self._narrow < width < self._wide:
            if self._is_too_narrow(width):
                self._narrow = width
            else:
                self._wide = width
        return width <= self._narrow

    def _is_too_narrow(self, width: Fraction) -> bool:
        shifts = [self._shift(width / weight, c) for weight, c in zip(self._weights, self._per_cell, strict=True)]
        if None in shifts:
            return True
        cells = [ChangedCells(Fraction(0), shift, shift) for shift in shifts if shift is not None]
        return any_exceeds(changes(cells, self._exposure), float(self._epsilon), float(self._delta))

    def _shift(self, width: Fraction, per_cell: int) -> Spectrum | None:
        """Of a changed cell, for the search."""
        if per_cell == 1:
            return self._estimate(width)
        square = world(width, per_cell, self._exposure.cells).square
        return spectrum.of_gaussian(width**2, square, Fraction(0)) if width**2 >= spectrum.NARROWEST_ROUNDED else None

    def _fits(self, width: Fraction, thresholds: Sequence[int]) -> bool:
        return self._keep(self._mechanisms(width, thresholds))

    def _keep(self, mechanisms: Sequence[Mechanism]) -> bool:
        """Whether tables of these mechanisms keep the total."""
        cells = [mechanism.cells for mechanism in mechanisms]
        return not any_exceeds(changes(cells, self._exposure), float_below(self._epsilon), float_below(self._delta))

    def _make(self, width: Fraction, least: int) -> Thresholded:
        return Laplace(1 / width, least) if self._name == "laplace" else Gaussian(width, least)

    def _mechanisms(self, width: Fraction, thresholds: Sequence[int]) -> list[Thresholded]:
        return [self._make(width / w, least) for w, least in zip(self._weights, thresholds, strict=True)]

    def _least_thresholds(self, width: Fraction) -> list[Thresholded] | None:
        """Thresholds from an equal share of δ for every table, then lowered as far as possible; None if there are none.

        The finest tables (greatest weight) come first: they have the most cells near their threshold.
        """
        tables = [self._make(width / weight, 1).noise for weight in self._weights]
        share = self._delta / (len(tables) * self._exposure.cells)
        first = [_threshold(table, share) for table in tables]
        thresholds = self._raised(width, first, most=max(table.last for table in tables) + 2)
        if thresholds is None:
            return None
        for weight in sorted(set(self._weights), reverse=True):
            thresholds = self._lowered(width, thresholds, weight)
        return self._mechanisms(width, thresholds)

    def _raised(self, width: Fraction, thresholds: list[int], most: int) -> list[int] | None:
        """All thresholds raised together, in proportion to their noise, as little as possible; None if impossible."""
        finest = max(self._weights)

        def by(more: int) -> list[int]:
            return [t + ceil(more * finest / w) for t, w in zip(thresholds, self._weights, strict=True)]

        low, high = -1, 0
        while not self._fits(width, by(high)):
            low, high = high, 2 * high + 1
            if high > 2 * most:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._fits(width, by(middle)) else (middle, high)
        return by(high)

    def _lowered(self, width: Fraction, thresholds: list[int], weight: Fraction) -> list[int]:
        """The thresholds of one weight lowered as far as possible, with the others unchanged."""

        def by(less: int) -> list[int]:
            return [t - less * (w == weight) for t, w in zip(thresholds, self._weights, strict=True)]

        low, high = 0, min(t for t, w in zip(thresholds, self._weights, strict=True) if w == weight) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._fits(width, by(middle)) else (low, middle - 1)
        return by(low)


@lru_cache
def _laplace_estimate(width: Fraction) -> Spectrum | None:
    """The spectrum of ideal noise, in floats, for the search alone."""
    epsilon = float(1 / width)
    if epsilon > LARGEST_EPSILON:
        return None
    up = 1 / (1 + np.exp(-epsilon))
    return Spectrum(np.array(spectrum.laplace_losses(1 / width)), np.array([1 - up, up]))


@lru_cache
def _gaussian_estimate(width: Fraction) -> Spectrum | None:
    sigma = float(width)
    if sigma < 0.1:
        return None
    reach = int(10 * sigma) + 2
    steps = np.arange(-reach - 1, reach + 2)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    return Spectrum(np.array(spectrum.gaussian_losses(width**2, reach)), weights / weights.sum())


def gaussian_distance(epsilon: float, delta: float) -> float:
    """How far apart, in deviations, two Gaussian numbers may be under (ε, δ): Balle and Wang (2018), theorem 8.

    >>> round(gaussian_distance(1.0, 1e-6), 3)
    0.237
    """

    def exceeds(apart: float) -> bool:
        left, right = ((epsilon / apart + side * apart / 2) / sqrt(2) for side in (-1, 1))
        return erfc(left) - exp(min(epsilon, 700)) * erfc(right) > 2 * delta

    low, high = 0.0, 2.0 * sqrt(epsilon) + 20
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if exceeds(middle) else (middle, high)
    return high


def _threshold(table: NoiseTable, share: Fraction) -> int:
    """The least threshold at which a singleton appears with at most this probability."""
    return 2 + bisect_left(range(1, table.last + 1), True, key=lambda noise: table.tail(noise) <= share)
