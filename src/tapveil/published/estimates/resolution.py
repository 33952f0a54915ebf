"""Which cells of a table can be told from nothing: where trips are too few for the noise, most cannot.

Estimates of such a table have the right sums, but in single cells they are further off than zeros would be: a trip in a
wrong cell counts twice, once where it is and once where it should be. So a thin table lists only estimates that bring
it nearer to the truth than zeros; the other trips are in coarser tables. By the size of estimates is seen

- whether a measured table is thin: its errors, as noise shows them, against its trips (`is_thin`; before version 7, the
  errors of cells without estimates as well, `was_thin`);
- what it lists: what estimates bring, in a half of the measurements that they were not made from (`Gains`, from version
  5 on; in version 4: those that exceed their own error, `beyond_error`);
- both, of a table that no measurement tells: how far noise and rounding move it, and how trips scatter (`Expected`,
  from version 6 on).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.margins import STEP
from tapveil.published.estimates.parts import Floats, Ints, add_by, in_trips
from tapveil.published.estimates.shrinkage import STEPS, sizes
from tapveil.published.estimates.spread import UNSEEN, Evidence, Spread

Told = npt.NDArray[np.bool_]
"""Of each size of estimates, whether a table lists them."""
NOTHING_TOLD: Told = np.zeros(STEPS, dtype=np.bool_)
ABSOLUTE = 0.8
"""The mean absolute error of a normal law, of its deviation: √(2/π)."""
DOUBT = 0.5
"""How many standard errors are added to squares: of all cells, and of all that are at least as large."""
OWN = 3.0
"""Version 4: by how much larger squares are taken to be where an estimate is its own measurement, and less where it is
in part: the largest of these are those that noise raised, so they have to exceed twice their error."""
_TOGETHER = 4
CLASSES = STEPS // _TOGETHER
"""Sizes are taken together, two of them for each power of two, so that each has enough cells."""
SURE = 1.0
"""How many standard errors are added to squares, and taken off trips."""
LEAST = 2
"""Trips, in version 4: a one may be what rounding made of a third of a trip."""


def is_thin(seen: Evidence, spread: Spread) -> bool:
    """Whether the cells that a measured table would list are together as far off as zeros.

    All others are zeros either way. What noise says of these alone would drown the few that are listed.
    """
    listed = (np.arange(STEPS) > 0) & (seen.cells > 0)
    cells, trips = seen.cells[listed], fsum(seen.fitted[listed].tolist())
    if not len(cells):
        return True
    square = _squares(seen, spread)[1][listed] + DOUBT * _standard_error(spread, cells.sum())
    # Errors below one trip are nearly always of one trip or of none: then they are their squares.
    return fsum((cells * np.minimum(square, np.maximum(ABSOLUTE * np.sqrt(square), 1.0))).tolist()) >= trips


def was_thin(seen: Evidence, spread: Spread) -> bool:
    """Versions 4 to 6: whether all estimates of a measured table together are as far off as zeros."""
    _, square = _squares(seen, spread)
    return _error(seen.cells, square + DOUBT * _standard_error(spread, seen.cells.sum())) >= fsum(
        seen.estimates.tolist()
    )


def beyond_error(seen: Evidence, spread: Spread) -> Told:
    """The sizes that exceed their own error: what thin tables listed in version 4."""
    x, square = _squares(seen, spread)
    as_large = np.cumsum(seen.cells[::-1])[::-1]
    far = square * (1 + OWN * spread.weight(x)) + DOUBT * _standard_error(spread, np.maximum(as_large, 1.0))
    told: Told = (x * x > far) & (x >= LEAST)
    return told


def _squares(seen: Evidence, spread: Spread) -> tuple[Floats, Floats]:
    """The mean estimate of each size, and the mean square of its error."""
    x = seen.estimates / np.maximum(seen.cells, 1.0)
    deviation = spread.deviation(x)
    return x, deviation * deviation


@dataclass
class Gains:
    """What estimates of each size bring, against zeros: seen in measurements that they were not made from.

    A cell of X trips that is estimated as c is off by |c − X|, and by X if it is left out: it brings X − |c − X|. What
    X and (c − X)² are on average, the other half of the measurements tells without bias, whatever was chosen in the
    first: its noise is not in c. And |c − X| is on average at most the root of the mean of (c − X)² (Jensen).
    """

    variance: float
    """Of the noise of the other half."""
    cells: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    seen: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    squares: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    """(estimate − N)², with N of the other half."""

    def add(self, estimates: Ints, other: Floats) -> None:
        """Estimates in whole trips from one half, and what the other half says of the same cells, in parts."""
        noisy, whole = in_trips(other), estimates.astype(np.float64)
        classes = sizes(whole) // _TOGETHER
        self.cells += np.bincount(classes.ravel(), minlength=CLASSES)
        self.seen += add_by(classes, noisy, CLASSES)
        self.squares += add_by(classes, (whole - noisy) * (whole - noisy), CLASSES)

    def told(self) -> Told:
        """Estimates of the sizes from the one on with which they bring most in all.

        Both means are taken to be worse than they are seen, by their standard errors: √(v/n), and √(2/n)·(v + square).
        """
        number, seen, squares = (np.cumsum(each[::-1])[::-1] for each in (self.cells, self.seen, self.squares))
        n = np.maximum(number, 1.0)
        square = np.maximum(squares / n - self.variance, 0.0)
        trips = seen / n - SURE * np.sqrt(self.variance / n)
        square += SURE * np.sqrt(2 / n) * (self.variance + square)
        gain = number * (trips - np.sqrt(square))
        gain[: sizes(np.ones(1))[0] // _TOGETHER] = 0.0  # estimates of nothing bring nothing
        return _from_the_best(gain)


@dataclass
class Expected:
    """What estimates of each size are expected to bring where no measurement tells their table.

    An estimate c was x before it was rounded; x is off by noise, as far as it follows the measurements; and the truth
    scatters around x as it was seen to on real trips (`UNSEEN`). So the mean of (c − X)² is the sum of three squares.
    """

    cells: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    trips: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    """Before rounding."""
    squares: Floats = field(default_factory=lambda: np.zeros(CLASSES))

    def add(self, estimates: Floats, fitted: Floats, moved: Floats) -> None:
        """Estimates in whole trips; and before rounding, in parts, from measurements and from moved ones."""
        some = np.flatnonzero(estimates)  # estimates of nothing bring nothing
        whole, x, follow = (each.ravel()[some] for each in (estimates, in_trips(fitted), in_trips(moved - fitted)))
        classes, rounded, scatter = sizes(whole) // _TOGETHER, whole - x, UNSEEN.deviation(x)
        self.cells += np.bincount(classes, minlength=CLASSES)
        self.trips += add_by(classes, x, CLASSES)
        noise = follow * follow * (1 / (STEP * STEP))
        self.squares += add_by(classes, rounded * rounded + noise + scatter * scatter, CLASSES)

    def told(self) -> Told | None:
        """As of a measured table; None if all estimates together bring something, so that the table is not thin."""
        gain = np.cumsum((self.trips - ABSOLUTE * np.sqrt(self.cells * self.squares))[::-1])[::-1]
        return None if gain[0] > 0 else _from_the_best(gain)


def _from_the_best(gain: Floats) -> Told:
    """All sizes from the class on with which the gain is largest; none if there is no gain."""
    first = int(np.flatnonzero(gain == gain.max())[-1]) if gain.max() > 0 else CLASSES
    told: Told = np.arange(STEPS) // _TOGETHER >= first
    return told


def _standard_error(spread: Spread, cells: Floats) -> Floats:
    """The standard error of a mean of squares that is seen through noise: √(2/cells) of the variance of the noise."""
    return np.sqrt(2 / cells) * spread.variance


def _error(cells: Floats, square: Floats) -> float:
    """The sum of absolute errors of whole numbers: none is larger than its square."""
    return fsum((cells * np.minimum(square, ABSOLUTE * np.sqrt(square))).tolist())
