"""What agencies do to counts instead of adding noise: nothing, a mask below 5, rounding to 100.

All of these are steps: what is published says between which two numbers the count is. The intruder against them knows
little: how busy a cell is on ordinary days like these (Poisson, of which he has seen one), and what the attack names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi

import numpy as np
import numpy.typing as npt

from tapveil.demo.population import Integers

Floats = npt.NDArray[np.float64]
Ends = tuple[Integers, Integers]
MASK, ROUNDED = 5, 100
UNSEEN = 0.1
"""What is added to the count of ordinary days: a cell that was empty then need not be so now."""
LEAST = 1e-300


@dataclass(frozen=True)
class Treatment:
    """Counts in, the range that each is in as published out."""

    name: str
    ends: Callable[[Integers], Ends]


def _exact(counts: Integers) -> Ends:
    return counts, counts


def _masked(counts: Integers) -> Ends:
    """From 1 to 4 it says "<5"; an empty cell has no row."""
    hidden = (counts > 0) & (counts < MASK)
    return np.where(hidden, 1, counts), np.where(hidden, MASK - 1, counts)


def _rounded(counts: Integers) -> Ends:
    """To the nearest 100; what becomes 0 has no row, like an empty cell."""
    nearest = (counts + ROUNDED // 2) // ROUNDED * ROUNDED
    return np.maximum(0, nearest - ROUNDED // 2), nearest + ROUNDED // 2 - 1


EXACT = Treatment("exact table", _exact)
MASKED = Treatment("masked below 5", _masked)
ROUNDED_COUNTS = Treatment("rounded to 100", _rounded)


def log_likelihood(usual: Integers, low: Integers, high: Integers) -> Floats:
    """How likely the others are within these ends (a row per hypothesis), added up over all cells.

    Their number on ordinary days was Poisson, with a mean of which nothing else is known: then theirs is negative
    binomial.
    """
    if not low.shape[1]:
        return np.zeros(len(low))
    first = np.minimum(low, high).min(axis=0)
    width = int((high.max(axis=0) - first).max()) + 2
    numbers = first[:, None] + np.arange(width)
    chances = np.where(
        numbers >= 0, np.exp(_log_chance(np.maximum(numbers, 0), _as_floats(usual)[:, None] + UNSEEN)), 0.0
    )
    below = np.concatenate([np.zeros((len(first), 1)), np.cumsum(chances, axis=1)], axis=1)
    cell = np.arange(len(first))
    upper = below[cell, np.clip(high - first + 1, 0, width)]
    between = upper - below[cell, np.clip(low - first, 0, width)]
    found: Floats = np.log(np.maximum(np.where(high >= low, between, 0.0), LEAST)).sum(axis=1)
    return found


def _log_chance(number: Integers, mean: Floats) -> Floats:
    """ln P(number) of a negative binomial with this mean and twice its variance."""
    total, successes = _as_floats(number) + mean, _as_floats(number) + 1
    found: Floats = _ln_gamma(total) - _ln_gamma(mean) - _ln_gamma(successes) - total * log(2)
    return found


def _as_floats(numbers: Integers) -> Floats:
    return numbers.astype(np.float64)


def _ln_gamma(x: Floats) -> Floats:
    """By Stirling's series, eight steps further up, where it is good to 13 digits."""
    far = x + 8
    shifted = np.prod([x + step for step in range(8)], axis=0)
    series = 1 / (12 * far) - 1 / (360 * far**3) + 1 / (1260 * far**5)
    found: Floats = (far - 0.5) * np.log(far) - far + log(2 * pi) / 2 + series - np.log(shifted)
    return found
