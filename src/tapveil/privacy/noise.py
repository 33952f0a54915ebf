"""Integer noise tables: construction, sampling, and exact distribution.

A table is a finite distribution over integer steps, each with an integer weight. One uniform 64-bit word selects a step
exactly (words beyond the sum of the weights are drawn again), so no float is ever drawn. Its privacy loss is computed
from these integers (`spectrum`), so it includes all rounding.

A count is `steps_per_count` steps wide. The paper's mechanism needs two: it thresholds a *real* noisy count and
rounds afterwards, so the published value next to the threshold has only part of its mass. Cutting every unit
interval once, where the threshold cuts its own, makes that a distribution on a lattice of half-cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import ceil, isqrt

import numpy as np
import numpy.typing as npt

from tapveil.privacy.rational import exp_above, exp_below

RandomBytes = Callable[[int], bytes]
"""A source of randomness: returns this many random bytes. `os.urandom` in a release."""

WORDS = 2**64
_FINE = 2**160
_GUIDE_BITS = 16
_context = Context(prec=60)


def uniform(bound: int, size: int, random_bytes: RandomBytes) -> npt.NDArray[np.uint64]:
    """Uniform integers below a bound of at most 2^64; words beyond its last multiple are drawn again."""
    words = np.frombuffer(random_bytes(8 * size), dtype=np.uint64)
    beyond_multiples = WORDS - WORDS % bound
    if beyond_multiples < WORDS:
        words = words.copy()
        again = np.flatnonzero(words >= np.uint64(beyond_multiples))
        while len(again):
            words[again] = np.frombuffer(random_bytes(8 * len(again)), dtype=np.uint64)
            again = again[words[again] >= np.uint64(beyond_multiples)]
    return words if 2 * bound > WORDS else words % np.uint64(bound)


@dataclass(frozen=True)
class NoiseTable:
    """Noise of `first + i` steps has probability exactly `weights[i] / sum(weights)`."""

    first: int
    weights: tuple[int, ...]
    steps_per_count: int = 1
    goes_on: int = 0
    """If not 0, the noise is infinite: it continues outwards from either end, one step for each further word below
    this. The weight of an end then includes everything beyond it."""

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or not (self.weights[0] and self.weights[-1]):
            raise ValueError("the weights of a noise table must be at least 0, and above 0 at both ends")
        if self.total > WORDS:
            raise ValueError("the weights of a noise table must sum to at most 2**64")

    @cached_property
    def total(self) -> int:
        """The sum of the weights."""
        return sum(self.weights)

    @property
    def last(self) -> int:
        """The last step with its own weight."""
        return self.first + len(self.weights) - 1

    @property
    def continues(self) -> Fraction:
        """P(a further step beyond an end); 0 for a finite table."""
        return Fraction(self.goes_on, WORDS)

    def sample(self, size: int, random_bytes: RandomBytes, at_least: int | None = None) -> npt.NDArray[np.int64]:
        """Independent draws, in steps; with `at_least`, given that minimum. Depends only on the random bytes.

        Args:
            size: How many.
            random_bytes: Where the randomness is from, such as `os.urandom`.
            at_least: A minimum that each draw is known to reach.

        Returns:
            The noise, in steps.

        Raises:
            ValueError: Infinite noise would be cut below its table.

        Example:
            >>> import os
            >>> from tapveil.privacy import NoiseTable
            >>> drawn = NoiseTable(-1, (1, 2, 1)).sample(1000, os.urandom)
            >>> sorted(set(drawn.tolist()))
            [-1, 0, 1]
        """
        start = self.first if at_least is None else max(self.first, at_least)
        if self.goes_on and at_least is not None and at_least <= self.first:
            raise ValueError("infinite noise can only be cut inside its table or above it")
        if start > self.last:  # beyond the table the noise is memoryless
            steps = np.full(size, start, dtype=np.int64)
        else:
            skipped = self.total - self._upper_sums[start - self.first]
            words = uniform(self.total - skipped, size, random_bytes)
            words = words + np.uint64(skipped) if skipped else words
            # Words with the same upper bits mostly belong to one step; the others are searched.
            steps = self._guide[words >> np.uint64(64 - _GUIDE_BITS)]
            unsure = np.flatnonzero(steps < 0)
            steps[unsure] = np.searchsorted(self._upper_edges, words[unsure], side="right")
            steps += self.first
        if self.goes_on:
            self._go_on(steps, max(start, self.last), 1, random_bytes)
            if at_least is None:
                self._go_on(steps, self.first, -1, random_bytes)
        return steps

    def _go_on(self, steps: npt.NDArray[np.int64], end: int, outwards: int, random_bytes: RandomBytes) -> None:
        going = np.flatnonzero(steps == end)
        while len(going):
            going = going[uniform(WORDS, len(going), random_bytes) < np.uint64(self.goes_on)]
            steps[going] += outwards

    @cached_property
    def _upper_edges(self) -> npt.NDArray[np.uint64]:
        return np.array(list(accumulate(self.weights[:-1])), dtype=np.uint64)

    @cached_property
    def _guide(self) -> npt.NDArray[np.int64]:
        """For the upper bits of a word: the index of its step, or −1 if they do not determine it."""
        starts = np.arange(2**_GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - _GUIDE_BITS)
        ends = starts + np.uint64(2 ** (64 - _GUIDE_BITS) - 1)
        low, high = (np.searchsorted(self._upper_edges, words, side="right") for words in (starts, ends))
        return np.where(low == high, low, -1).astype(np.int64)

    @cached_property
    def _upper_sums(self) -> list[int]:
        """The weight of each step and all above it."""
        return list(accumulate(reversed(self.weights)))[::-1]

    def tail(self, step: int) -> Fraction:
        """P(noise ≥ step), exactly.

        Args:
            step: A number of steps.

        Returns:
            The probability.

        Example:
            >>> from tapveil.privacy import NoiseTable
            >>> coins = NoiseTable(-1, (1, 2, 1))
            >>> coins.tail(0)
            Fraction(3, 4)
        """
        if step > self.last:
            return Fraction(self.weights[-1], self.total) * self.continues ** (step - self.last)
        if step > self.first:
            return Fraction(self._upper_sums[step - self.first], self.total)
        return 1 - Fraction(self.weights[0], self.total) * self.continues ** (self.first - step + 1)

    def probability(self, step: int) -> Fraction:
        """P(noise = step), exactly.

        Args:
            step: A number of steps.

        Returns:
            The probability.

        Example:
            >>> from tapveil.privacy import NoiseTable
            >>> coins = NoiseTable(-1, (1, 2, 1))
            >>> coins.probability(1)
            Fraction(1, 4)
        """
        return self.tail(step) - self.tail(step + 1)

    def shift_delta(self, epsilon: Fraction) -> Fraction:
        """An upper bound of the δ at ε between the noise and itself moved by one count, either way.

        β of the proofs: Σ (P(k) − e^ε P(k ± 1))₊ with e^ε replaced by a rational below it, in integers.

        Args:
            epsilon: ε.

        Returns:
            The bound.

        Example:
            >>> from fractions import Fraction
            >>> from tapveil.privacy import NoiseTable
            >>> coins = NoiseTable(-1, (1, 2, 1))
            >>> coins.shift_delta(Fraction(1))
            Fraction(1, 4)
        """
        bound = exp_below(epsilon)
        steps = range(self.first, self.last + 1)

        def excess(shift: int) -> Fraction:
            inside = (self.probability(k) - bound * self.probability(k + shift) for k in steps)
            # Beyond an end every ratio is `continues` or its inverse, so one factor covers all of them.
            beyond = self.tail(self.last + 1) * max(Fraction(0), 1 - bound * self.continues) if self.goes_on else 0
            return sum((max(Fraction(0), x) for x in inside), start=Fraction(beyond))

        return max(excess(-self.steps_per_count), excess(self.steps_per_count))


def discrete_laplace(epsilon: Fraction, words: int = WORDS, seed: int = 0) -> NoiseTable:
    """P(k) ∝ e^(−ε|k|), by floors from the tail inwards: W(k − 1) = ⌊E · W(k)⌋ with E a rational below e^ε.

    No ratio inside the support exceeds e^ε, so the only loss beyond ε is the mass of the last step: β = W(K)/S.
    The default seed is the least that grows at once; the reach is the greatest whose weights fit into `words`.
    """
    growth = exp_below(epsilon)
    least = int(1 / (growth - 1)) + 1 if growth < 2 else 1
    weights = _inwards(seed or least, growth, words)
    return _mirrored(weights, words if not seed else 0)


def endless_laplace(epsilon: Fraction) -> NoiseTable:
    """Infinite noise P(k) ∝ e^(−ε|k|), so that β = 0: pure ε-differential privacy, in integers.

    Beyond ±K each further step has probability ρ ≥ e^(−ε), which never exceeds a ratio of e^ε; inside, the floors of
    `discrete_laplace` start from the weight of K itself, which is (1 − ρ) of the end's.
    """
    goes_on = -(-(exp_above(-epsilon) * WORDS) // 1)
    growth = exp_below(epsilon)
    # The end's weight must leave K itself a weight that grows.
    end = int(1 / ((growth - 1) * (1 - Fraction(goes_on, WORDS)))) + 1
    while True:
        own = end * (1 - Fraction(goes_on, WORDS))
        inner = own * growth // 1
        if inner > own and inner * growth // 1 > inner:
            break
        end += 1
    return _mirrored([end, *_inwards(int(inner), growth, WORDS - 2 * end)], WORDS, goes_on=int(goes_on))


def _mirrored(weights: list[int], words: int, goes_on: int = 0) -> NoiseTable:
    """Both sides of a peak; weights are scaled to fill `words`, so that few words are rejected."""
    whole = [*weights, *reversed(weights[:-1])]
    times = max(1, words // sum(whole))
    return NoiseTable(1 - len(weights), tuple(times * weight for weight in whole), goes_on=goes_on)


def _inwards(seed: int, growth: Fraction, words: int) -> list[int]:
    """Weights from the tail to the peak, each ⌊growth · the one before⌋, as many as fit when mirrored."""
    a, b = growth.numerator, growth.denominator
    weights, outer = [seed], seed
    while (inner := weights[-1] * a // b) + 2 * outer <= words:
        weights.append(inner)
        outer += inner
    return weights


def discrete_gaussian(variance: Fraction) -> NoiseTable:
    """P(k) ∝ e^(−k²/2σ²), rounded down to integers that sum to a little below 2^64."""
    reach = isqrt(ceil(90 * variance) - 1) + 1  # e^(−reach²/2σ²) ≤ e^−45 < 2^−64
    # Each weight from the one before, by a ratio that falls by e^(−1/σ²): products are cheaper than an exp.
    # After n of them n² units of the last of 60 digits are lost: 49 are right up to the widest noise; 2^−160 needs 49.
    weight, ratio, fall = (_decimal_exp(-x / variance) for x in (Fraction(0), Fraction(1, 2), Fraction(1)))
    half = []
    for _ in range(reach + 1):
        half.append(_in_units(weight))
        weight, ratio = _context.multiply(weight, ratio), _context.multiply(ratio, fall)
    total = 2 * sum(half) - half[0]
    weights = [weight * WORDS // total for weight in half]
    while not weights[-1]:
        weights.pop()
    return NoiseTable(1 - len(weights), (*reversed(weights), *weights[1:]))


def rounded_laplace(scale: Fraction, split: Fraction) -> NoiseTable:
    """Lap(scale) rounded to the nearest integer, every unit interval cut in two at `split`, −½ ≤ split ≤ ½.

    Step 2k is the noise in [k − ½, k + split), step 2k + 1 the noise in [k + split, k + ½).
    """
    half = Fraction(1, 2)
    if not -half <= split <= half:
        raise ValueError("split must lie in [−1/2, 1/2]")
    # Beyond this many counts a cell weighs less than one in 2^64: ½ e^(−k/scale) < 2^−64 for k > 44 scale.
    reach = int(44 * scale) + 2
    edges = [edge for k in range(-reach, reach + 1) for edge in (k - half, k + split)]
    # e^(−x/scale) of each unit interval from the one before: a product is cheaper than an exp.
    # With 60 digits, a million products leave 53 right; 2^−160 needs 49.
    ratio = _decimal_exp(-1 / scale)
    decays = {part: [_decimal_exp(-part / scale)] for part in {abs(edge) % 1 for edge in edges}}

    def below(x: Fraction) -> int:
        """P(Lap(scale) < x) in units of 2^−160, so that only the floor to 2^−64 matters."""
        whole, part = divmod(abs(x), 1)
        while len(decays[part]) <= whole:
            decays[part].append(_context.multiply(decays[part][-1], ratio))
        lesser_tail = _in_units(decays[part][whole]) // 2
        return lesser_tail if x < 0 else _FINE - lesser_tail

    # Rounding the distribution function, not the masses, keeps every tail exact to 2^−64.
    sums = [0, *(below(edge) * WORDS // _FINE for edge in edges[1:]), WORDS]
    weights = [high - low for low, high in pairwise(sums)]
    support = [index for index, weight in enumerate(weights) if weight]
    low, high = support[0], support[-1]
    return NoiseTable(low - 2 * reach, tuple(weights[low : high + 1]), steps_per_count=2)


def _in_units(x: Decimal) -> int:
    """In units of 2^−160."""
    return int(_context.multiply(x, Decimal(_FINE)))


def _decimal_exp(x: Fraction) -> Decimal:
    return _context.exp(_context.divide(Decimal(x.numerator), Decimal(x.denominator)))
