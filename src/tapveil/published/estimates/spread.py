"""How far an estimate may be from the truth, and how far it rests on its own measurement: learnt from the noise itself.

The noise of a measurement N is known exactly, so the mean of (estimate − truth)² can be read off, without assuming
anything about trips, by Stein's identity: it is the mean of (estimate − N)² − v + 2·cov(estimate, noise), where v is
the variance of the noise. The covariance is how far estimates follow when measurements are moved: they are made once
more from moved ones (Ramani, Blu, Unser 2008). One cell tells little of this, all cells of a size together enough for
a curve of a few numbers: w·v with w = q/(q + v) and q = constant + linear·x + square·x², which is what shrinkage
towards a prior with variance q would leave; w is then how far the estimate rests on its measurement. What is seen
beyond that grows with x².

Whole numbers follow noise more closely than what they were rounded from: where all cells are near nothing, noise says
which of them become one. Moves that are small do not show it. So from version 7 on, errors are those before rounding,
and what rounding adds is a square of its own, which is known: an estimate is the mean of what the truth may be.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tapveil.published.estimates.margins import STEP
from tapveil.published.estimates.parts import Floats, Ints, add_by, in_trips
from tapveil.published.estimates.shrinkage import STEPS, sizes

DEVIATIONS = 2.2
"""On each side, for intervals of 95 %: more than the 1.96 of a normal law, since real errors have longer tails. Their
coverage is measured (benchmarks/world.py), not proved."""
_DOUBT = 32
"""This many cells with errors like those of the measurement are added: a small table shows too little of its own."""
_ROUNDS = 12
_SWEEPS = 300
_LEAST, _MOST = 2.0**-20, 2.0**40


@dataclass(frozen=True)
class Spread:
    """Of the estimates of a table."""

    variance: float
    """Of the noise of its measurement; infinite where it has none."""
    constant: float
    linear: float
    square: float
    excess: float = 0.0
    """Beyond what the measurement would leave: large sums are off where they were raked to others."""

    def _scatter(self, estimates: Floats) -> Floats:
        return self.constant + estimates * (self.linear + estimates * self.square)

    def weight(self, estimates: Floats) -> Floats:
        """From 0, what coarser tables say, to 1, its own measurement."""
        scatter = self._scatter(estimates)
        return scatter / (scatter + self.variance)

    def deviation(self, estimates: Floats) -> Floats:
        """How far the truth is from estimates of such sizes: the root of the mean square."""
        scatter = self._scatter(estimates)
        return np.sqrt(scatter / (1 + scatter / self.variance) + self.excess * estimates * estimates)

    def around(self, estimates: Ints) -> tuple[Ints, Ints]:
        """Between which whole numbers the truth lies, for about 95 in 100; there may always be two trips more.

        Without these two, intervals of tables that are nearly empty would hold most cells, which are empty, and miss
        most trips.
        """
        wide = np.floor(DEVIATIONS * self.deviation(estimates.astype(np.float64)) + 0.5).astype(np.int64)
        return np.maximum(estimates - wide, 0), estimates + np.maximum(wide, 2)


UNSEEN = Spread(float("inf"), 0.05, 2.5, 0.015)
"""Of tables that no measurement tells: what was seen on real trips (benchmarks/world.py)."""


def _nothing() -> Floats:
    return np.zeros(STEPS)


@dataclass
class Evidence:
    """What was seen of the errors of one table's estimates, by their size."""

    variance: float
    rounded: bool = False
    """Whether what rounding adds is a square of its own: from version 7 on."""
    cells: Floats = field(default_factory=_nothing)
    estimates: Floats = field(default_factory=_nothing)
    fitted: Floats = field(default_factory=_nothing)
    """Estimates before rounding."""
    distances: Floats = field(default_factory=_nothing)
    """(estimate − N)²; or before rounding, and what that added, squared."""
    follows: Floats = field(default_factory=_nothing)
    """How far the measurement was moved × how far the estimate followed."""
    moves: Floats = field(default_factory=_nothing)
    """How far the measurement was moved, squared."""

    def add(self, whole: Ints, fitted: Floats, noisy: Floats, followed: Floats, moved: Floats) -> None:
        """Estimates in whole trips; before rounding, measurements, and by how much both moved, in parts."""
        estimates, follow, move = whole.astype(np.float64), in_trips(followed), in_trips(moved)
        x, step = in_trips(fitted), sizes(estimates)
        self.cells += np.bincount(step.ravel(), minlength=STEPS)
        self.estimates += np.bincount(step.ravel(), estimates.ravel(), minlength=STEPS)
        self.fitted += add_by(step, x, STEPS)
        error, rounding = (x if self.rounded else estimates) - in_trips(noisy), estimates - x
        distance = error * error + (rounding * rounding if self.rounded else 0.0)
        self.distances += add_by(step, distance, STEPS)
        self.follows += add_by(step, follow * move, STEPS)
        self.moves += add_by(step, move * move, STEPS)

    def squares(self) -> Floats:
        """(estimate − truth)², by Stein's identity, summed by size.

        The squares of the moves are known on average, too: what they exceed it by is taken off, as far as estimates
        follow, so that estimates which are their measurement are seen to have its variance exactly.
        """
        far = STEP * STEP * self.variance
        one = np.zeros(STEPS, dtype=np.int64)
        share = float(add_by(one, self.follows, 1)[0]) / max(float(add_by(one, self.moves, 1)[0]), _LEAST)
        follows = self.follows - share * (self.moves - self.cells * far)
        return self.distances - self.cells * self.variance + follows * (2 / (STEP * STEP))

    def spread(self) -> Spread:
        """The curve nearest to what was seen: Gauss–Newton, none of its numbers below zero."""
        used = np.flatnonzero(self.cells)
        n, v = self.cells[used], self.variance
        x, y = self.estimates[used] / n, self.squares()[used] / n
        all_cells = float(n.sum())
        y = (y * all_cells + v * _DOUBT) / (all_cells + _DOUBT)
        found = [_LEAST, 1.0, 0.01, 0.0]
        for _ in range(_ROUNDS):
            q = found[0] + x * (found[1] + x * found[2])
            w = v / (q + v)
            slope, here = w * w, q * w
            off = v + here + found[3] * x * x
            shapes = [slope, slope * x, slope * x * x, x * x]
            found = _least_squares(shapes, y - here + slope * q, n / (off * off), found)
        return Spread(v, max(found[0], _LEAST), *found[1:])


def _least_squares(parts: list[Floats], wanted: Floats, weight: Floats, start: list[float]) -> list[float]:
    """Numbers of at least 0 for which the sum of parts is nearest: one after the other, many times."""
    one = np.zeros(len(wanted), dtype=np.int64)

    def add(numbers: Floats) -> float:
        return float(add_by(one, numbers, 1)[0])

    products = [[add(weight * a * b) for b in parts] for a in parts]
    aims = [add(weight * a * wanted) for a in parts]
    found = list(start)
    for _ in range(_SWEEPS):
        before = list(found)
        for i, row in enumerate(products):
            if row[i] > 0:
                rest = aims[i] - sum(row[j] * found[j] for j in range(len(parts)) if j != i)
                found[i] = min(max(rest / row[i], 0.0), _MOST)
        if found == before:  # and so after every further sweep
            break
    return found
