"""The (ε, δ) that a release promises, and whether its mechanisms keep it.

A promise is stated in exact numbers: one total, or the sum over the tables (basic composition, Theorem 2 of the paper).
It is made only if `certified`: the accountant, from the integers of the noise tables, finds no more for any data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isinf

from tapveil.privacy import accountant
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Mechanism
from tapveil.privacy.rational import float_below


@dataclass(frozen=True)
class Loss:
    """(ε, δ), exactly as stated."""

    epsilon: Fraction
    delta: Fraction

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.epsilon + other.epsilon, self.delta + other.delta)


NONE = Loss(Fraction(0), Fraction(0))


def compose(losses: Iterable[Loss]) -> Loss:
    """Sequential composition: the sums (basic composition, Theorem 2 of the paper)."""
    return sum(losses, start=NONE)


def certified(mechanisms: Sequence[Mechanism], loss: Loss, exposure: Exposure) -> bool:
    """Whether tables of these mechanisms together are (ε, δ)-private for a unit that changes so much."""
    if all(isinstance(mechanism, Dictionary) for mechanism in mechanisms):
        return _pure_epsilon(mechanisms, exposure) <= loss.epsilon
    cells = [mechanism.cells for mechanism in mechanisms]
    return not accountant.exceeds(cells, float_below(loss.epsilon), float_below(loss.delta), exposure)


def _pure_epsilon(mechanisms: Sequence[Mechanism], exposure: Exposure) -> Fraction:
    """The losses of all changed cells, each at its most: exact, for noise without an end has no δ."""
    return sum((exposure.changed / mechanism.scale for mechanism in mechanisms), start=Fraction(0))


def accounted_delta(mechanisms: Sequence[Mechanism], epsilon: Fraction, exposure: Exposure) -> float:
    """The δ at ε by exact accounting, from above; 0 where pure noise makes it so."""
    if certified(mechanisms, Loss(epsilon, Fraction(0)), exposure):
        return 0.0
    return accountant.delta([mechanism.cells for mechanism in mechanisms], float_below(epsilon), exposure)


def in_other_notion(mechanisms: Sequence[Mechanism], loss: Loss, exposure: Exposure) -> Loss:
    """What a promise for one notion of neighbours is worth in the other: at the same δ, half or twice the ε.

    A replacement is one removal and one addition, so noise whose loss is bounded for each cell loses half or twice as
    much. Gaussian noise does not scale so: its ε comes from the accountant, rounded up to thousandths.
    """
    factor = Fraction(2) if exposure.neighbours == "replace" else Fraction(1, 2)
    scaled = Loss(loss.epsilon * factor, loss.delta)
    gaussian = any(isinstance(mechanism, Gaussian) for mechanism in mechanisms)
    if not gaussian and certified(mechanisms, scaled, exposure):
        return scaled
    epsilon = accountant.epsilon([mechanism.cells for mechanism in mechanisms], float_below(loss.delta), exposure)
    if isinf(epsilon):  # no ε is enough for this δ: then what δ is at the scaled ε
        return Loss(scaled.epsilon, Fraction(accounted_delta(mechanisms, scaled.epsilon, exposure)))
    return Loss(Fraction(ceil(epsilon * 1000), 1000), loss.delta)
