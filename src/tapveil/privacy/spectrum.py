"""The privacy loss of changed cells as a finite spectrum: which losses, with which probability. Rounded up throughout.

A changed cell has law P on one data set and Q on its neighbour. Its loss ln(P/Q) takes few values; the δ of any number
of independent cells at any ε follows from the spectrum of the sum of their losses: Σ P(loss)·(1 − e^(ε − loss))₊.

Losses are integers in units of 2^−60 and probabilities integers in units of 2^−128, both rounded up, so that every sum
is an upper bound and equal losses meet in one entry. Floats appear only in the last sum, whose terms are all positive;
its rounding is covered by a margin.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

LOSS_UNIT = 2**60
MASS_UNIT = 2**128
MOST_SUMS = 1_000_000
_MARGIN = 1 + 1e-12
"""Covers the rounding of the final float sum: each of its operations errs by less than 2^−51 in proportion."""

_context = Context(prec=60)
_up = Context(prec=60, rounding=ROUND_CEILING)


class TooManyLossesError(ValueError):
    """Different scales have different losses, whose sums do not meet: they become too many to add up."""


@dataclass(frozen=True)
class Spectrum:
    """Losses and their probabilities under P; `infinite` is the probability of outcomes that Q cannot give."""

    atoms: tuple[tuple[int, int], ...]
    infinite: int = 0

    def __mul__(self, other: Spectrum) -> Spectrum:
        """Both cells together, independent."""
        if len(self.atoms) * len(other.atoms) > MOST_SUMS:
            raise TooManyLossesError("the losses of so many different cells are too many to add up exactly")
        sums: defaultdict[int, int] = defaultdict(int)
        for loss, mass in self.atoms:
            for other_loss, other_mass in other.atoms:
                sums[loss + other_loss] += mass * other_mass
        atoms = tuple(sorted((loss, -(-mass // MASS_UNIT)) for loss, mass in sums.items()))
        return Spectrum(atoms, self.infinite + other.infinite)

    def power(self, cells: int) -> Spectrum:
        """That many such cells together."""
        if cells < 2:
            return self if cells else NO_CELL
        half = self.power(cells // 2)
        return half * half * self.power(cells % 2)

    @cached_property
    def _floats(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        losses = np.array([loss / LOSS_UNIT for loss, _ in self.atoms])
        masses = np.array([mass / MASS_UNIT for _, mass in self.atoms])
        return np.nextafter(losses, np.inf), np.nextafter(masses, np.inf)

    def delta(self, epsilon: float) -> float:
        """An upper bound of Σ (P − e^ε Q)₊."""
        losses, masses = self._floats
        above = losses > epsilon
        excess = float(np.sum(masses[above] * -np.expm1(epsilon - losses[above])))
        return (excess + self.infinite / MASS_UNIT) * _MARGIN


NO_CELL = Spectrum(((0, MASS_UNIT),))


def _atom(p: Decimal, loss: Decimal) -> tuple[int, int]:
    """An atom, rounded up in both; ten units cover the 60 digits it came with."""
    return (
        int((_up.multiply(loss, Decimal(LOSS_UNIT))).to_integral_value(ROUND_CEILING)) + 1,
        int((_up.multiply(p, Decimal(MASS_UNIT))).to_integral_value(ROUND_CEILING)) + 10,
    )


def _decimal(x: Fraction) -> Decimal:
    return _context.divide(Decimal(x.numerator), Decimal(x.denominator))


def rounded_laplace(scale: Fraction, cuts: tuple[Fraction, ...], shift: int) -> Spectrum:
    """Lap(scale), seen through every unit interval cut at `cuts`, against itself moved by `shift` (1 or −1).

    On either side of the two peaks the loss is ±1/scale, whatever the interval; only the few intervals between the
    peaks have losses of their own.
    """
    edges = sorted({k + cut for k in range(-2, 3) for cut in cuts})
    low, high = min(Fraction(0), Fraction(-shift)), max(Fraction(0), Fraction(-shift))
    inner = [edge for edge in edges if low - 1 <= edge <= high + 1]
    first = max(edge for edge in inner if edge <= low)
    last = min(edge for edge in inner if edge >= high)
    between = [edge for edge in inner if first <= edge <= last]
    unit = _decimal(1 / scale)
    below, above = (-unit, unit) if shift > 0 else (unit, -unit)
    atoms = [_atom(_cdf(first, scale), below), _atom(_context.subtract(Decimal(1), _cdf(last, scale)), above)]
    for start, end in pairwise(between):
        p = _context.subtract(_cdf(end, scale), _cdf(start, scale))
        q = _context.subtract(_cdf(end + shift, scale), _cdf(start + shift, scale))
        atoms.append(_atom(p, _context.ln(_context.divide(p, q))))
    return Spectrum(tuple(sorted(atoms)))


def _cdf(x: Fraction, scale: Fraction) -> Decimal:
    tail = _context.divide(_context.exp(_decimal(-abs(x) / scale)), Decimal(2))
    return tail if x < 0 else _context.subtract(Decimal(1), tail)
