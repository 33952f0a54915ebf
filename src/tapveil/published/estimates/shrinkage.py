"""Shrinkage: how far a noisy number is believed against what coarser tables say, learnt from all of its size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.parts import PARTS, Floats, add_by, in_trips

_BITS = 3
"""Sizes are distinguished in 2³ steps for each power of two."""
_SMALLEST, _LARGEST = -12, 34
"""Powers of two."""
STEPS = (_LARGEST - _SMALLEST) << _BITS
"""How many there are, from almost nothing."""
_ROUNDS = 8
_KAPPA = 0.05
_LEAST = 2.0**-20
"""A curve is never quite flat: what is seen often enough is believed in the end."""


def sizes(numbers: Floats) -> npt.NDArray[np.int64]:
    """Which of `STEPS` steps each number of at least 0 lies in: 0 for none or almost none.

    The first bits of a float are its power of two, then the part within: that number of them is the step.
    """
    steps = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64) >> (52 - _BITS)
    steps -= (1023 + _SMALLEST) << _BITS
    return np.clip(steps, 0, STEPS - 1, out=steps)


@dataclass(frozen=True)
class Curve:
    """The variance of the truth around a prior of size p is about `linear`·p + `square`·p²: chance, and habit."""

    linear: float
    square: float

    def __call__(self, prior: Floats) -> Floats:
        """For priors in trips."""
        return prior * (self.linear + self.square * prior)


def fit(numbers: Floats, priors: Floats, variance: float) -> Curve:
    """From (number − prior)² − variance, whose mean is the variance of the truth; larger scatter counts less.

    Weighted least squares, by steps of size; the weights follow from the curve, so it is found in a few rounds.
    """
    step = sizes(priors)
    excess = numbers - priors
    excess *= excess
    excess -= variance
    count = np.bincount(step.ravel(), minlength=STEPS).astype(np.float64)
    used = np.flatnonzero(count * (np.arange(STEPS) > 0))
    count, p, y = count[used], *(add_by(step, each, STEPS)[used] for each in (priors, excess))
    p = p / count
    curve = Curve(0.0, 2.0**-4)
    for _ in range(_ROUNDS):
        spread = variance + curve(p)
        weight = 1 / (spread * spread)
        curve = _least_squares(count * weight, weight * y, p)
    return curve


def _least_squares(weight: Floats, weighted: Floats, p: Floats) -> Curve:
    """The curve whose sum of squares is least, neither part below zero."""
    one = np.zeros(len(p), dtype=np.int64)

    def add(numbers: Floats) -> float:
        return float(add_by(one, numbers, 1)[0])

    s2, s3, s4 = (add(weight * power) for power in (p * p, p * p * p, p * p * p * p))
    y1, y2 = add(weighted * p), add(weighted * p * p)
    determinant = s2 * s4 - s3 * s3
    if not s4:
        return Curve(0.0, _LEAST)
    if determinant > s2 * s4 * 2.0**-30:
        linear, square = (y1 * s4 - y2 * s3) / determinant, (y2 * s2 - y1 * s3) / determinant
        if linear >= 0 and square >= 0:
            return Curve(linear, max(square, _LEAST))
        if square < 0:
            return Curve(max(y1 / s2, 0.0), _LEAST)
    return Curve(0.0, max(y2 / s4, _LEAST))


def shrink(numbers: Floats, priors: Floats, variance: float, pooled: bool = False) -> Floats:
    """Between the prior and the number, all in parts: the mean of the truth given both, at least nothing.

    Where days are pooled nothing is never the answer, since it would be the prior of every day: what is left, κ of its
    variance, bends the line to a hyperbola above zero.
    """
    n, p = in_trips(numbers), in_trips(priors)
    believed = fit(n, p, variance)(p)
    believed /= believed + variance
    n -= p
    n *= believed
    n += p
    if pooled:
        believed *= 4 * _KAPPA * variance
        n = (n + np.sqrt(n * n + believed)) / 2
    np.maximum(n, 0.0, out=n)
    n *= PARTS
    return np.rint(n, out=n)
