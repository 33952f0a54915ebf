"""How large the cells of a table are, guessed from what was published of it: how many cells have 1, 2, 3, … trips.

Published counts are true counts with noise, and nothing below a threshold. The noise is known, so the distribution of
the true counts can be found by maximum likelihood. Below the threshold nothing is seen: there it goes on as smoothly
as it came, as a power of the size, bent so that all cells together hold as many trips as a coarser table shows.

This follows from published numbers alone and is never published: it is a guess, made to choose the next plan by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tapveil.privacy.distribution import Floats, Integers, distribution
from tapveil.privacy.mechanisms import Mechanism

LARGEST = 10**12
"""No city has a cell with this number of trips."""
SINGLE = 32
"""Sizes up to this one are distinguished, larger ones in classes each 8 % wider than the one before."""
GROWTH = 1.08
STIFFNESS = 4.0
"""How little the distribution may bend, on logarithmic axes, where the published counts do not say so."""
TETHER = 1e-3
"""Holds the distribution in place where nothing else does."""
STEPS = 200
CLOSE_ENOUGH = 1e-9


_starts = list(range(1, SINGLE + 1))
while _starts[-1] < LARGEST:
    _starts.append(round(_starts[-1] * GROWTH))
CLASSES = np.array(_starts, dtype=np.int64)
"""The least size of each class, and the end of the last."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """The expected number of cells of each size; size 0 where cells that do not occur may be published as well."""

    sizes: Floats
    cells: Floats

    @property
    def trips(self) -> float:
        """What all cells hold together."""
        return float(self.sizes @ self.cells)

    def published_trips(self, mechanism: Mechanism) -> float:
        """The trips in the cells that a mechanism is expected to publish."""
        return float(self.sizes * self.cells @ distribution(mechanism).tail(_whole(self.sizes)))

    def published_share(self, mechanism: Mechanism) -> float:
        """The same as a share of all trips; 0 where there are none."""
        return self.published_trips(mechanism) / self.trips if self.trips else 0.0


def _whole(sizes: Floats) -> Integers:
    """A class of sizes as the integer in its middle."""
    return np.rint(sizes).astype(np.int64)


NOTHING = Sizes(np.zeros(1), np.zeros(1))
"""Where nothing is known."""


def histogram(published: Integers) -> Integers:
    """How many published counts fall into each class."""
    return np.histogram(published, CLASSES)[0]


def guess(seen: Integers, mechanism: Mechanism, trips: float | None = None, trust: float = 1.0) -> Sizes:
    """The sizes behind a histogram of published counts; `trips` in all, known up to the part `trust` of it."""
    last = int(np.max(np.flatnonzero(seen), initial=-1))
    if last < 0:
        return NOTHING
    lowered = 2 * (int(5 * mechanism.scale) + 1)  # the largest, by noise: it is hardly ever wider
    return _Fit(seen, mechanism, _class_of(int(CLASSES[last + 1]) + lowered) + 1, trips, trust).found()


def _class_of(size: int) -> int:
    return int(np.searchsorted(CLASSES, min(size, LARGEST), side="right")) - 1


class _Fit:
    """Penalised maximum likelihood, by scoring: λ = width · exp(Bθ) cells of each class, Kλ of them seen in each."""

    def __init__(self, seen: Integers, mechanism: Mechanism, classes: int, trips: float | None, trust: float) -> None:
        first = _class_of(mechanism.smallest_published)
        starts, ends = CLASSES[:classes], CLASSES[1 : classes + 1]
        zero = int(mechanism.visits_empty_cells)
        self._sizes = np.concatenate([np.zeros(zero), (starts + ends - 1) / 2])
        self._width = np.concatenate([np.ones(zero), ends - starts])
        self._basis, self._bends = _curve(np.log(self._sizes[zero:]), zero)
        edges = [mechanism.smallest_published, *map(int, CLASSES[first + 1 : classes + 1])]
        tails = np.array([distribution(mechanism).tail(_whole(self._sizes), edge) for edge in edges])
        self._seeing = tails[:-1] - tails[1:]
        self._seen = seen[first:classes].astype(float)
        self._trips, self._trust = trips, trust

    def found(self) -> Sizes:
        curve = np.full(self._basis.shape[1], np.log(self._seen.sum() / len(self._sizes)))
        worth = self._worth(curve)
        for _ in range(STEPS):
            step, size = self._step(curve), 1.0
            while (better := self._worth(curve + size * step)) < worth and size > CLOSE_ENOUGH:
                size /= 2
            if better - worth <= CLOSE_ENOUGH * abs(worth):
                break
            curve, worth = curve + size * step, better
        return Sizes(self._sizes, self._cells(curve))

    def _cells(self, curve: Floats) -> Floats:
        return self._width * np.exp(np.clip(self._basis @ curve, -50, 50))

    def _worth(self, curve: Floats) -> float:
        """The logarithm of the likelihood, less what bending costs."""
        cells = self._cells(curve)
        expected = self._seeing @ cells + 1e-12
        worth = self._seen @ np.log(expected) - expected.sum()
        worth -= STIFFNESS / 2 * np.sum((self._bends @ curve) ** 2) + TETHER / 2 * curve @ curve
        if self._trips:
            worth -= ((self._sizes @ cells / self._trips - 1) / self._trust) ** 2 / 2
        return float(worth)

    def _step(self, curve: Floats) -> Floats:
        """Towards the greatest worth, by its slope and its expected curvature."""
        cells = self._cells(curve)
        expected = self._seeing @ cells + 1e-12
        change = (self._seeing * cells) @ self._basis
        slope = change.T @ (self._seen / expected - 1) - STIFFNESS * self._bends.T @ (self._bends @ curve)
        curvature = change.T @ (change / expected[:, None]) + STIFFNESS * self._bends.T @ self._bends
        slope -= TETHER * curve
        curvature += TETHER * np.eye(len(curve))
        if self._trips:
            pull = (self._sizes * cells) @ self._basis / (self._trips * self._trust)
            slope -= pull * (self._sizes @ cells / self._trips - 1) / self._trust
            curvature += np.outer(pull, pull)
        return np.asarray(np.linalg.solve(curvature, slope))


def _curve(logarithms: Floats, zero: int) -> tuple[Floats, Floats]:
    """A broken line with two corners to a doubling: its value at each size, and how much it bends at each corner."""
    corners = np.arange(0, logarithms[-1] + np.log(2) / 2, np.log(2) / 2)
    basis = np.array([np.interp(logarithms, corners, row) for row in np.eye(len(corners))]).T
    bends = np.diff(np.eye(len(corners)), 2, axis=0)
    if zero:  # how many cells are empty has nothing to do with how many are not
        basis = np.pad(basis, ((1, 0), (1, 0)))
        basis[0, 0] = 1
        bends = np.pad(bends, ((0, 0), (1, 0)))
    return basis, bends
