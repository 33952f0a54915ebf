"""Integer noise tables: build, sample, and the exact loss of the table actually used.

A table is a finite law over integer steps, each with an integer weight; the weights sum to 2^64, so one uniform
64-bit word picks a step exactly and no float is ever drawn. Its privacy is computed from those integers, so
whatever rounding went into them is paid for, not argued away (NOTES §3).

A count is `steps_per_count` steps wide. The paper's mechanism needs two: it thresholds a *real* noisy count and
rounds afterwards, so the printed value beside the threshold has only part of its mass. Cutting every unit
interval once, where the threshold cuts its own, makes that law a law on a lattice of half-cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from tapveil.privacy.rational import exp_below

RandomBytes = Callable[[int], bytes]
"""A source of randomness: how many bytes, those bytes. `os.urandom` in a release."""

WORDS = 2**64
_FINE = 2**160
_context = Context(prec=60)


@dataclass(frozen=True)
class NoiseTable:
    """Noise of `first + i` steps has probability exactly `weights[i] / 2**64`."""

    first: int
    weights: tuple[int, ...]
    steps_per_count: int = 1
    distance: Fraction = Fraction(0)
    """An upper bound of the total variation between this table and the law it stands for."""

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or not (self.weights[0] and self.weights[-1]):
            raise ValueError("the weights of a noise table must not be negative, and positive at both ends")
        if sum(self.weights) != WORDS:
            raise ValueError("the weights of a noise table must sum to 2**64")

    @property
    def last(self) -> int:
        """The greatest step with any weight."""
        return self.first + len(self.weights) - 1

    @cached_property
    def _upper_edges(self) -> npt.NDArray[np.uint64]:
        return np.array(list(accumulate(self.weights[:-1])), dtype=np.uint64)

    def sample(self, size: int, random_bytes: RandomBytes) -> npt.NDArray[np.int64]:
        """Independent draws, in steps. Looks at nothing but the random bytes."""
        words = np.frombuffer(random_bytes(8 * size), dtype=np.uint64)
        return self.first + np.searchsorted(self._upper_edges, words, side="right").astype(np.int64)

    def weight(self, step: int) -> int:
        """The integer weight of one step; 0 outside the support."""
        index = step - self.first
        return self.weights[index] if 0 <= index < len(self.weights) else 0

    def tail(self, step: int) -> Fraction:
        """P(noise ≥ step), exactly."""
        return Fraction(sum(self.weights[max(0, step - self.first) :]), WORDS)

    def shift_delta(self, epsilon: Fraction) -> Fraction:
        """An upper bound of the δ at ε between the noise and itself moved by one count, either way.

        β of NOTES §3: Σ (W(k) − e^ε W(k ± 1))₊ / S with e^ε replaced by a rational below it, in integers.
        """
        bound = exp_below(epsilon)
        a, b = bound.numerator, bound.denominator
        steps = range(self.first, self.last + 1)

        def excess(shift: int) -> int:
            return sum(max(0, b * self.weight(k) - a * self.weight(k + shift)) for k in steps)

        worst = max(excess(-self.steps_per_count), excess(self.steps_per_count))
        return Fraction(worst, b * WORDS)


def rounded_laplace(scale: Fraction, split: Fraction) -> NoiseTable:
    """Lap(scale) rounded to the nearest integer, every unit interval cut in two at `split`, −½ ≤ split ≤ ½.

    Step 2k is the noise in [k − ½, k + split), step 2k + 1 the noise in [k + split, k + ½).
    """
    half = Fraction(1, 2)
    if not -half <= split <= half:
        raise ValueError("split must lie in [−1/2, 1/2]")
    reach = _reach(scale)
    edges = [edge for k in range(-reach, reach + 1) for edge in (k - half, k + split)]
    ideal_below = [0, *(_probability_below(edge, scale) for edge in edges[1:]), _FINE]
    ideal = [high - low for low, high in pairwise(ideal_below)]
    # Rounding the distribution function, not the masses, keeps every tail right to one part in 2^64.
    below = [probability * WORDS // _FINE for probability in ideal_below]
    return _table(-2 * reach, [high - low for low, high in pairwise(below)], ideal, steps_per_count=2)


def _table(first: int, weights: list[int], ideal: list[int], steps_per_count: int) -> NoiseTable:
    """A table without weightless steps at its ends, and how far it is from `ideal`, in units of 2^−160."""
    apart = sum(abs(weight * (_FINE // WORDS) - exact) for weight, exact in zip(weights, ideal, strict=True))
    # The ends of `ideal` hold all that lies beyond them; 2^−150 is more than 160 bits leave open.
    distance = Fraction(apart, 2 * _FINE) + Fraction(ideal[0] + ideal[-1], _FINE) + Fraction(1, 2**150)
    support = [index for index, weight in enumerate(weights) if weight]
    low, high = support[0], support[-1]
    return NoiseTable(first + low, tuple(weights[low : high + 1]), steps_per_count, distance)


def _reach(scale: Fraction) -> int:
    """Beyond this many counts a cell weighs less than one in 2^64: ½ e^(−k/scale) < 2^−64 for k > 44 scale."""
    return int(44 * scale) + 2


def _probability_below(x: Fraction, scale: Fraction) -> int:
    """P(Lap(scale) < x) in units of 2^−160: fine enough that the floor to 2^−64 is the only rounding that shows."""
    lesser_tail = _exp(-abs(x) / scale) // 2
    return lesser_tail if x < 0 else _FINE - lesser_tail


def _exp(x: Fraction) -> int:
    """e^x in units of 2^−160."""
    exponent = _context.divide(Decimal(x.numerator), Decimal(x.denominator))
    return int(_context.multiply(_context.exp(exponent), Decimal(_FINE)))
