"""The privacy loss of changed cells as a finite spectrum of losses with probabilities. Never below the true loss.

A changed cell has distribution P on one data set, Q on its neighbour. Its loss ln(P/Q) takes finitely many values; the
δ of any number of independent cells at any ε follows from the spectrum of the sum of their losses,

    δ(ε) = Σ P(loss)·(1 − e^(ε − loss))₊  +  P(outcomes impossible under Q).

An outcome may be *spread*: replaced by two outcomes, of a smaller and of a larger loss, with the same P and the same Q
in total. Merging the two again is post-processing, so the spread pair is at least as far apart as the original pair,
alone and in every product. Spreading puts losses on a lattice, where sums of many cells coincide.

Losses are integers in units of 2^−50. Probabilities are floats, but every sum has positive terms only, so that its
relative error is at most its number of terms times 2^−53; each operation adds a margin that covers it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import erfc, inf, log, nextafter, sqrt

import numpy as np
import numpy.typing as npt

from tapveil.privacy.noise import NoiseTable

LOSS_UNIT = 2**50
GREATEST_LOSS = 700 * LOSS_UNIT
"""Greater losses count as infinite."""
NEGLIGIBLE = 1e-34
"""The probability that may be moved to a greater loss at either end, to keep spectra short."""
STEPS = 2**12
"""The number of steps where losses are spread, which adds about an eighth of a step, squared, to a loss."""
ROUGH_STEPS = 2**10
SUMS_PER_STEP = 32
"""Up to this many sums per possible step are computed individually; with more, a lattice is used."""
SMALL = 512
"""Up to this many masses are convolved at once."""
_ULP = 2.0**-52
_context = Context(prec=60)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Losses in increasing order, with probabilities under P; `infinite` is that of outcomes impossible under Q."""

    losses: Ints
    masses: Floats
    infinite: float = 0.0
    steps: int = STEPS
    """The resolution of a lattice, where one is needed; twice as fine if the losses already lie on it."""
    missing: float = 0.0
    """Probability under Q that may not be there: it adds e^ε times as much to δ."""
    _powers: dict[int, Spectrum] = field(default_factory=dict, repr=False)

    def __mul__(self, other: Spectrum) -> Spectrum:
        """Two independent cells together."""
        a, b, steps = self, other, min(self.steps, other.steps)
        step = _common_step(a, b, steps)
        if len(a.losses) * len(b.losses) <= SUMS_PER_STEP * steps and not (a._uses(step) and b._uses(step)):
            sums = np.add.outer(a.losses, b.losses).ravel()
            order = np.argsort(sums, kind="stable")
            losses, starts = np.unique(sums[order], return_index=True)
            masses = np.add.reduceat(np.multiply.outer(a.masses, b.masses).ravel()[order], starts)
        else:
            a, b = (a.on_lattice(step),) * 2 if a is b else (a.on_lattice(step), b.on_lattice(step))
            masses = _with_itself(a.masses) if a is b else np.convolve(a.masses, b.masses)
            losses = int(a.losses[0]) + int(b.losses[0]) + step * np.arange(len(masses))
        masses = masses * (1 + (min(len(a.masses), len(b.masses)) + 8) * _ULP)
        trimmed = _trimmed(losses, masses, (a.infinite + b.infinite) * (1 + _ULP), steps)
        return replace(trimmed, missing=(a.missing + b.missing) * (1 + _ULP))

    def _uses(self, step: int) -> bool:
        """Whether the losses lie on a lattice and use much of it: then sums coincide, and need no sorting."""
        steps, gap = np.divmod(self.losses - self.losses[0], step)
        return not gap.any() and int(steps[-1]) <= 4 * len(self.losses)

    @cached_property
    def rough(self) -> Spectrum:
        """The same, for products on a coarser lattice: faster and looser."""
        return replace(self, steps=ROUGH_STEPS, _powers={})

    def power(self, cells: int) -> Spectrum:
        """A number of such cells together."""
        if cells == 0:
            return NO_CELL
        if cells == 1:
            return self
        if cells not in self._powers:
            half = self.power(cells // 2)
            self._powers[cells] = half * half if cells % 2 == 0 else half * half * self
        return self._powers[cells]

    def on_lattice(self, step: int) -> Spectrum:
        """The same, spread to losses at integer steps from the greatest, which stays unchanged.

        If it were increased, noise whose loss never exceeds ε would get a δ there.
        """
        first, last = int(self.losses[0]), int(self.losses[-1])
        steps_below, gap = np.divmod(last - self.losses, step)
        whole = np.expm1(-step / LOSS_UNIT)
        up = np.expm1((gap - step) / LOSS_UNIT) / whole
        down = np.exp((gap - step) / LOSS_UNIT) * np.expm1(-gap / LOSS_UNIT) / whole
        masses = np.zeros((last - first) // step + 2)
        top = len(masses) - 1
        if not gap.any():  # nothing to spread, nothing to round
            masses[top - steps_below] = self.masses
            return replace(self, losses=last - step * np.arange(top, -1, -1), masses=masses, _powers={})
        np.add.at(masses, top - steps_below, self.masses * up * (1 + 16 * _ULP))
        np.add.at(masses, top - steps_below - 1, self.masses * down * (1 + 16 * _ULP))
        losses = last - step * np.arange(top, -1, -1)
        return replace(self, losses=losses, masses=masses * (1 + len(self.losses) * _ULP), _powers={})

    def delta(self, epsilon: float) -> float:
        """An upper bound of Σ (P − e^ε Q)₊."""
        return self.delta_with(NO_CELL, epsilon)

    def delta_with(self, other: Spectrum, epsilon: float) -> float:
        """The δ of both together, without computing their product: each loss of one meets a tail of the other.

        Σ over losses b above x of m(b)(1 − e^(x − b)) is a tail of m minus e^x times a tail of m·e^(−b).
        """
        longer, shorter = (self, other) if len(self.losses) >= len(other.losses) else (other, self)
        # δ decreases in ε: lowering ε by more than the rounding of a difference of losses gives an upper bound.
        greatest = sum(float(max(abs(each.losses[0]), abs(each.losses[-1]))) / LOSS_UNIT for each in (longer, shorter))
        hair = 8 * _ULP * (abs(epsilon) + greatest)
        left = epsilon - hair - shorter._floats
        index = np.searchsorted(longer._floats, left, side="right")
        above, shrunk = longer._tails
        margin = (len(longer.losses) + 8) * _ULP
        excess = above[index] * (1 + margin) - np.exp(np.minimum(left, 700)) * shrunk[index] * (1 - margin)
        total = float(np.dot(shorter.masses, np.maximum(excess, 0))) * (1 + (len(left) + 8) * _ULP)
        absent = (self.missing + other.missing) * np.exp(min(epsilon, 700)) * (1 + 8 * _ULP)
        return min(1.0, total + (self.infinite + other.infinite) * (1 + _ULP) + float(absent))

    @cached_property
    def _floats(self) -> Floats:
        return self.losses / LOSS_UNIT

    @cached_property
    def _tails(self) -> tuple[Floats, Floats]:
        """Sums from each position on: of the masses, and of the masses times e^(−loss)."""
        shrunk = self.masses * np.exp(-self._floats)
        return (np.append(np.cumsum(self.masses[::-1])[::-1], 0.0), np.append(np.cumsum(shrunk[::-1])[::-1], 0.0))


NO_CELL = Spectrum(np.zeros(1, np.int64), np.ones(1))
"""No changed cell: the neutral element of the product."""


def _with_itself(masses: Floats) -> Floats:
    """Masses convolved with themselves in half the time: of two different ones, each product is there twice."""
    size = len(masses)
    if size < SMALL:
        return np.convolve(masses, masses)
    first, second = masses[: size // 2], masses[size // 2 :]
    found = np.zeros(2 * size - 1)
    found[: 2 * len(first) - 1] = _with_itself(first)
    found[2 * len(first) :] += _with_itself(second)
    found[len(first) :][: size - 1] += 2 * np.convolve(first, second)
    return found


def _common_step(a: Spectrum, b: Spectrum, steps: int) -> int:
    """The step of the lattice on which both lie, if it is not too fine; otherwise one that is fine enough."""
    step = int(np.gcd.reduce(np.concatenate([np.diff(a.losses), np.diff(b.losses)]), initial=0)) or 1
    span = int(max(a.losses[-1] - a.losses[0], b.losses[-1] - b.losses[0]))
    return step if span // step <= 2 * steps else -(-span // steps)


def _trimmed(losses: Ints, masses: Floats, infinite: float, steps: int = STEPS) -> Spectrum:
    """Without negligible ends: the upper one counts as infinite, the lower one moves up."""
    above = np.cumsum(masses[::-1])[::-1]
    kept = (np.cumsum(masses) > NEGLIGIBLE) & (above > NEGLIGIBLE) & (abs(losses) <= GREATEST_LOSS)
    if not kept.any():
        return Spectrum(np.zeros(1, np.int64), np.zeros(1), 1.0, steps)
    first, last = np.flatnonzero(kept)[[0, -1]]
    masses = masses.copy()
    masses[first] += masses[:first].sum() * (1 + 8 * _ULP)
    infinite += float(above[last + 1]) * (1 + len(masses) * _ULP) if last + 1 < len(masses) else 0.0
    within = slice(first, last + 1)
    positive = masses[within] > 0
    return Spectrum(losses[within][positive], masses[within][positive] * (1 + 2 * _ULP), infinite, steps)


# --- one changed cell ---------------------------------------------------------------------------------------------


def of_table(table: NoiseTable, shift: int, losses: Sequence[int]) -> Spectrum:
    """The noise against itself shifted by `shift` steps, spread to the given losses, in increasing order.

    Computed from the integers of the table. Above the last loss, an outcome is spread between it and infinity; below
    the first, it moves up.
    """
    with localcontext(_context):
        masses = _spread(_pairs(table, shift), losses)
    # Floats at least as great: 60 digits have an error below the float's own rounding, or below 1e-50.
    floats = np.array([nextafter(nextafter(float(mass), 1), 1) + 1e-50 if mass else 0.0 for mass in masses])
    return _trimmed(np.array(losses, np.int64), floats[:-1], float(floats[-1]))


def _spread(pairs: Sequence[tuple[Decimal, Decimal]], losses: Sequence[int]) -> list[Decimal]:
    """The probability of each loss; last, of infinity."""
    ratios = _exponentials(losses)
    masses = [Decimal(0)] * (len(losses) + 1)
    for p, q in pairs:
        above = _least_not_below(p, q, losses, ratios)  # p ≤ q · ratios[above]
        if above == 0:
            masses[0] += p
            continue
        low = ratios[above - 1]
        high_inverse = 1 / ratios[above] if above < len(losses) else Decimal(0)
        up = min(p, max(Decimal(0), (p / low - q) / (1 / low - high_inverse)))
        masses[above] += up
        masses[above - 1] += p - up
    return masses


def _exponentials(losses: Sequence[int]) -> list[Decimal]:
    """e^loss of each, from the one before: a product is cheaper. Of a hundred thousand, 54 of 60 digits are right."""
    gaps = [high - low for low, high in pairwise(losses)]
    growth = {gap: (Decimal(gap) / LOSS_UNIT).exp() for gap in gaps}
    first = (Decimal(losses[0]) / LOSS_UNIT).exp()
    return list(accumulate(gaps, lambda before, gap: before * growth[gap], initial=first))


def _least_not_below(p: Decimal, q: Decimal, losses: Sequence[int], ratios: Sequence[Decimal]) -> int:
    if not q:
        return len(losses)
    ratio = float(p / q)
    guess = log(ratio) * LOSS_UNIT if 0 < ratio < inf else (inf if ratio else -inf)
    above = max(0, bisect_left(losses, guess) - 1)
    while above < len(losses) and p > q * ratios[above]:
        above += 1
    return above


def _pairs(table: NoiseTable, shift: int) -> list[tuple[Decimal, Decimal]]:
    """P and Q of every outcome; everything beyond an end of infinite noise has one ratio, and is one outcome."""
    steps = range(table.first, table.last + 1)
    if not table.goes_on:
        weights = dict(zip(steps, table.weights, strict=True))
        total = Decimal(table.total)
        return [(Decimal(w) / total, Decimal(weights.get(k + shift, 0)) / total) for k, w in weights.items() if w]
    pairs = [(table.probability(k), table.probability(k + shift)) for k in steps]
    upper = (table.tail(table.last + 1), table.tail(table.last + 1 + shift))
    lower = (1 - table.tail(table.first), 1 - table.tail(table.first + shift))
    return [(_decimal(p), _decimal(q)) for p, q in (*pairs, upper, lower)]


def _decimal(x: Fraction) -> Decimal:
    return _context.divide(Decimal(x.numerator), Decimal(x.denominator))


def units(loss: Fraction | Decimal) -> int:
    """A loss in our units, rounded to nearest; spreading compensates for the rounding."""
    return round(loss * LOSS_UNIT)


def laplace_losses(epsilon: Fraction) -> list[int]:
    """The losses of e^(−ε|k|) against itself shifted by one: every ε-private pair is a post-processing of this one."""
    return [-units(epsilon), units(epsilon)]


def gaussian_losses(variance: Fraction, reach: int) -> list[int]:
    """The losses of e^(−k²/2σ²) against itself shifted by one: the loss of k is (2k + 1)/2σ²."""
    half_step = units(1 / (2 * variance))
    return [(2 * k + 1) * half_step for k in range(-reach - 1, reach + 2)]


_KERNEL = 1
"""The variance of the kernel that rounds a continuous Gaussian number to an integer; see `of_gaussian`."""
_LN_UNEVEN = 1.1e-8
"""Above ln((1 + η)/(1 − η)) with η = 2 Σ e^(−2π²n²), n ≥ 1, for a kernel of variance 1."""
_PER_DEVIATION = 64
"""Losses for each standard deviation of the loss: spreading adds one part in 6·64² to its variance."""
_FURTHEST = 13
"""Deviations on either side: beyond lies less than `NEGLIGIBLE`."""
_ERFC = 1e-11
"""A margin, relative to a mass, for `erfc` and the difference of two of its values."""
NARROWEST_ROUNDED = Fraction(9, 4)
"""The least variance for which the kernel leaves enough."""


def of_gaussian(variance: Fraction, square: Fraction, distance: Fraction) -> Spectrum:
    """An upper bound for one of n cells with discrete Gaussian noise that change by integers with Σ a² ≤ n·square.

    Rounding a continuous Gaussian number of variance σ² − 1 to an integer at random, with P(k | y) ∝ e^(−(k−y)²/2),
    gives the discrete Gaussian of variance σ², but for a factor within (1 ± η)/(1 ∓ η), and commutes with shifts by
    integers. So n cells are a post-processing of continuous noise shifted by a vector, for which its length alone
    counts, and that is n independent shifts by √square (docs/privacy/proofs.md, claim 19). `distance` is how far, in
    total variation, the table that is drawn from is from the discrete Gaussian.
    """
    if variance < NARROWEST_ROUNDED:
        return Spectrum(np.zeros(1, np.int64), np.zeros(1), 1.0)
    mu = sqrt(float(square / (variance - _KERNEL))) * (1 + 4 * _ULP)
    step = max(1, int(mu / _PER_DEVIATION * LOSS_UNIT))
    first, last = ((side * _FURTHEST * mu + mu * mu / 2) * LOSS_UNIT // step for side in (-1, 1))
    losses = step * np.arange(int(first), int(last) + 2)
    edges = losses / LOSS_UNIT
    p, q = (_between((edges - side * mu * mu / 2) / mu) for side in (1, -1))
    # What lies between two losses is spread to them, with the same P and Q; a little more of it to the upper one.
    with np.errstate(divide="ignore", invalid="ignore"):
        up = (1 - q / p * np.exp(edges[:-1])) / -np.expm1(-step / LOSS_UNIT)
    up = np.clip(np.nan_to_num(up, nan=1.0, posinf=1.0) + 4 * _ERFC / -np.expm1(-step / LOSS_UNIT), 0, 1)
    masses = np.zeros(len(losses))
    masses[1:] += p * up
    masses[:-1] += p * (1 - up)
    masses[0] += 0.5 * erfc(_FURTHEST / sqrt(2))
    beyond = 0.5 * erfc(float((edges[-1] - mu * mu / 2) / mu) / sqrt(2)) * (1 + _ERFC)
    margin = (1 + _LN_UNEVEN) * (1 + 8 * _ULP)
    eta = nextafter(float(distance), 1)
    shifted = losses + int(2 * _LN_UNEVEN * LOSS_UNIT) + 1
    return replace(_trimmed(shifted, masses * margin, beyond * margin + eta), missing=eta)


def _between(edges: Floats) -> Floats:
    """Probabilities of a standard normal number between each two edges, rounded up; exact in both tails."""
    below, above = (np.array([0.5 * erfc(side * float(edge) / sqrt(2)) for edge in edges]) for side in (-1, 1))
    return np.where(edges[:-1] < 0, np.diff(below), -np.diff(above)) * (1 + _ERFC)


def rounded_laplace_losses(scale: Fraction, cuts: tuple[Fraction, ...], shift: int) -> list[int]:
    """The losses of Lap(scale), with every unit interval cut at `cuts`, against itself shifted by 1 or −1.

    On either side of the two peaks the loss is ±1/scale for every interval; only the few intervals between the peaks
    have other losses.
    """
    edges = sorted({k + cut for k in range(-2, 3) for cut in cuts})
    low, high = min(0, -shift), max(0, -shift)
    first = max(edge for edge in edges if edge <= low)
    last = min(edge for edge in edges if edge >= high)
    between = [edge for edge in edges if first <= edge <= last]
    losses = {-units(1 / scale), units(1 / scale)}
    for start, end in pairwise(between):
        p = _context.subtract(_cdf(end, scale), _cdf(start, scale))
        q = _context.subtract(_cdf(end + shift, scale), _cdf(start + shift, scale))
        losses.add(units(_context.ln(_context.divide(p, q))))
    return sorted(losses)


def _cdf(x: Fraction, scale: Fraction) -> Decimal:
    tail = _context.divide(_context.exp(_decimal(-abs(x) / scale)), Decimal(2))
    return tail if x < 0 else _context.subtract(Decimal(1), tail)
