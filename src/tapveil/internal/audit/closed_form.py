"""The distribution of what should be published, from closed forms in floats: none of the code that is attacked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, floor, lgamma, log
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class ClosedForm:
    """The distribution of what is published for a count, by formula: a second opinion on `privacy/`.

    `scale` and `threshold` follow from (ε, δ) by the paper's formula for `sbh`; for the others they are those that the
    published folder states, and `attack` holds them against (ε, δ).
    """

    mechanism: str
    scale: float
    threshold: float
    visits_empty_cells: bool = False
    every_cell: bool = False
    """Whether every number is published, also below zero."""

    @property
    def smallest(self) -> int:
        """The least number that can be printed; 0 where that is any."""
        return floor(self.threshold + 0.5)

    def outcomes(self, count: int) -> dict[int, float]:
        """The probability of each number, and of none."""
        if count == 0 and not self.visits_empty_cells:
            return {NOTHING: 1.0}
        reach = ceil(45 * self.scale) + 2 if self.mechanism != "gaussian" else ceil(12 * self.scale) + 2
        least = count - reach if self.every_cell else self.smallest
        values = range(least, max(least, count + reach) + 1)
        known = {value: self._value(value, count) for value in values}
        return {NOTHING: max(0.0, 1 - sum(known.values())), **known}

    def _value(self, value: int, count: int) -> float:
        if self.mechanism == "sbh":  # rounded after the threshold: the value beside it has the outer part of its mass
            low = max(self.threshold, value - 0.5) - count
            return max(0.0, self._laplace_below(value + 0.5 - count) - self._laplace_below(low))
        step = abs(value - count)
        if self.mechanism == "gaussian":
            return exp(-step * step / (2 * self.scale**2)) / self._gaussian_sum
        q = exp(-1 / self.scale)
        return (1 - q) / (1 + q) * q**step

    def _laplace_below(self, x: float) -> float:
        return exp(x / self.scale) / 2 if x < 0 else 1 - exp(-x / self.scale) / 2

    @cached_property
    def _gaussian_sum(self) -> float:
        reach = ceil(12 * self.scale) + 2
        return sum(exp(-k * k / (2 * self.scale**2)) for k in range(-reach, reach + 1))

    def apart(self, count: int, other: int, epsilon: float) -> float:
        """δ at ε between two counts of one cell: Σ (P − e^ε Q)₊ over every outcome."""
        return _hockey_stick(self.outcomes(count), self.outcomes(other), epsilon)

    def all_shifted(self, shifts: Mapping[int, int], epsilon: float) -> float:
        """δ at ε where numbers of busy cells change, by the size of the change: their losses depend on one sum alone.

        With Gaussian noise X of each cell and its change a, that is Σ a·X; other noise is for changes by one.
        """
        if self.mechanism == "gaussian":
            every = np.ones(1)
            for by, cells in shifts.items():
                every = np.convolve(every, _stretched(self._sum_of(cells), by))
            sums = np.arange(len(every)) - len(every) // 2
            losses = (2 * sums + sum(by * by * cells for by, cells in shifts.items())) / (2 * self.scale**2)
        else:
            cells = shifts[1]
            up = np.arange(cells + 1)
            chance = log(1 / (1 + exp(-1 / self.scale)))
            choose = [lgamma(cells + 1) - lgamma(k + 1) - lgamma(cells - k + 1) for k in up]
            every = np.exp(np.array(choose) + cells * chance - (cells - up) / self.scale)
            losses = (2 * up - cells) / self.scale
        above = losses > epsilon
        return float(np.sum(every[above] * -np.expm1(epsilon - losses[above])))

    def _sum_of(self, cells: int) -> npt.NDArray[np.float64]:
        """The probabilities of the sum of the noise of several cells."""
        reach = ceil(9 * self.scale) + 1
        every, power = np.ones(1), np.array([self._value(k, 0) for k in range(-reach, reach + 1)])
        for bit in reversed(bin(cells)[2:]):
            every = np.convolve(every, power) if bit == "1" else every
            power = np.convolve(power, power)
        return every

    def moved(self, count: int, other: int, epsilon: float) -> float:
        """δ at ε between (count, other) and (other, count) in two cells: a trip that is elsewhere."""
        p, q = self.outcomes(count), self.outcomes(other)
        here = {(a, b): x * y for a, x in p.items() for b, y in q.items() if x * y > 1e-12}
        there = {(a, b): q.get(a, 0.0) * p.get(b, 0.0) for a, b in here}
        return _hockey_stick(here, there, epsilon)


NOTHING = -(2**62)
"""Instead of a number, where none is published: further below zero than any noise."""
FLOATS = 1e-12
"""What sums of floats may be wrong by, in closed forms that are here for comparison only."""


def _stretched(chances: npt.NDArray[np.float64], by: int) -> npt.NDArray[np.float64]:
    """The same of a multiple."""
    found = np.zeros((len(chances) - 1) * by + 1)
    found[::by] = chances
    return found


def _hockey_stick(p: Mapping[Any, float], q: Mapping[Any, float], epsilon: float) -> float:
    return sum(max(0.0, mass - exp(epsilon) * q.get(outcome, 0.0)) for outcome, mass in p.items())
