"""A group: one cell whose count changes by several at once, as where all trips of a person are in it.

A chain of neighbours, one trip after the other, has P → R → Q. If the best test between P and R, and between R and Q,
has power at most r(x) at level x, then the best one between P and Q has at most r(r(x)) (Dong, Roth and Su 2022,
Theorem 2.14). Where noise is log-concave, the noise moved by s counts attains it. So with such noise nothing that s
trips can do is further apart than one cell moved by s, however they are spread over cells (docs/privacy/proofs.md, 20).

Noise as it is specified is log-concave: a discrete Gaussian, or, for all whose loss per count is at most ε₀, the
discrete Laplace of ε₀. The integer table that is drawn from is within a factor 1 ± SLACK of it wherever its weights are
large (the core); losses are raised by that, and what lies outside of the core counts as an infinite loss.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from math import expm1, inf, log1p, nextafter

import numpy as np

from tapveil.privacy.accountant import ChangedCells
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.spectrum import GREATEST_LOSS, LOSS_UNIT, ROUGH_STEPS, Floats, Spectrum

LEAST_OF_CORE = 2**17
"""Weights of the core are at least this large, so that floors change them by less than SLACK."""
SLACK = 2.0**-15
MOST_COUNTS = 100_000
"""More of one person count as certainty."""
_CERTAIN = Spectrum(np.zeros(1, np.int64), np.zeros(1), 1.0, ROUGH_STEPS)


@lru_cache(maxsize=256)
def moved(mechanism: Mechanism, counts: int) -> ChangedCells:
    """The privacy-loss data of a cell whose count changes by up to `counts`, which may also be spread over cells."""
    if counts == 1:
        return mechanism.cells_of_one_trip.rough
    if counts > MOST_COUNTS:
        return ChangedCells(Fraction(not mechanism.visits_empty_cells), _CERTAIN, _CERTAIN)
    losses, masses = _gaussian(mechanism, counts) if mechanism.is_gaussian else _laplace(mechanism, counts)
    endless = mechanism.noise.goes_on
    masses = masses * (1 + (1e-12 if endless else SLACK))
    raised = losses + abs(losses) * 2.0**-50 + (0 if endless else 2 * SLACK)
    great = raised > GREATEST_LOSS / LOSS_UNIT
    infinite = float(masses[great].sum()) + (0.0 if endless else nextafter(float(_outside_core(mechanism, counts)), 1))
    kept = np.maximum(raised[~great] * LOSS_UNIT, -GREATEST_LOSS)
    shift = Spectrum(np.ceil(kept).astype(np.int64), masses[~great], min(1.0, infinite * (1 + 1e-12)), ROUGH_STEPS)
    shift = _CERTAIN if great.all() else shift
    return ChangedCells(_alone(mechanism, counts), shift, shift)


def _laplace(mechanism: Mechanism, counts: int) -> tuple[Floats, Floats]:
    """e^(−ε₀|k|) against itself moved by n: the losses are (n − 2k)ε₀ for k = 0, …, n, the greatest last."""
    epsilon, k = 1 / float(mechanism.scale), np.arange(counts, -1, -1)
    masses = np.exp(-epsilon * k) * (np.expm1(epsilon) / (np.exp(epsilon) + 1))
    masses[0], masses[-1] = np.exp(-epsilon * counts) / (1 + np.exp(-epsilon)), 1 / (1 + np.exp(-epsilon))
    return ((counts - 2 * k) * epsilon).astype(np.float64), masses.astype(np.float64)


def _gaussian(mechanism: Mechanism, counts: int) -> tuple[Floats, Floats]:
    """e^(−k²/2σ²) against itself moved by n: the loss of k is (2kn + n²)/2σ²."""
    table, variance = mechanism.noise, float(2 * mechanism.scale**2)
    steps = np.arange(table.first, table.last + 1)
    weights = np.exp(-(steps**2) / variance).astype(np.float64)
    return ((2 * steps + counts) * (counts / variance)).astype(np.float64), weights / weights.sum()


def _outside_core(mechanism: Mechanism, counts: int) -> Fraction:
    """P(the noise, or the noise of the other side, is outside of the core), from above, in the worse direction."""
    table = mechanism.noise
    weights, shift = table.weights, counts * table.steps_per_count
    half = len(weights) // 2
    first = bisect_left(range(half), True, key=lambda place: weights[place] >= LEAST_OF_CORE)
    last = len(weights) - bisect_left(range(half), True, key=lambda place: weights[-1 - place] >= LEAST_OF_CORE)

    def outside(low: int, high: int) -> Fraction:
        return 1 - table.tail(table.first + low) + table.tail(table.first + high) if low < high else Fraction(1)

    return min(Fraction(1), max(outside(first, last - shift), outside(first + shift, last)))


def _alone(mechanism: Mechanism, counts: int) -> Fraction:
    """P(a cell that nobody else is in appears), as if of one cell; at most this for any way to spread the counts.

    A cell of s appears with probability p_s. Cells of s₁ + s₂ + … = n all stay absent with probability ∏(1 − p_s),
    which is at least the n-th power of the least (1 − p_s)^(1/s).
    """
    if mechanism.visits_empty_cells:
        return Fraction(0)
    steps, noise = mechanism.noise.steps_per_count, mechanism.noise
    first = max(1, (mechanism.publish_step - noise.last) // steps)  # fewer never appear
    least = 0.0
    for number in range(first, counts + 1):
        chance = nextafter(float(mechanism.publish_probability(number)), 1)
        if chance >= 1:
            return Fraction(1)
        least = min(least, log1p(-chance) / number)
    return Fraction(nextafter(-expm1(counts * least * (1 + 1e-12)), inf)) if least else Fraction(0)
