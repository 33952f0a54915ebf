"""Which cells of a table can be told from nothing: where trips are too few for the noise, most cannot.

Estimates of such a table have the right sums, but in single cells they are further off than zeros would be: a trip in a
wrong cell counts twice, once where it is and once where it should be. So a thin table has only the estimates that are
larger than their own error; the other trips are in coarser tables. How large errors are is known from the noise
(`spread`), by as much as the cells of a table can show it.
"""

from __future__ import annotations

from math import fsum

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.parts import Floats, Ints
from tapveil.published.estimates.shrinkage import STEPS, sizes
from tapveil.published.estimates.spread import Spread

ABSOLUTE = 0.8
"""The mean absolute error of a normal law, of its deviation: √(2/π)."""
DOUBT = 0.5
"""How many standard errors are added to squares: of all cells, and of all that are at least as large."""
OWN = 3.0
"""By how much larger squares are taken to be where an estimate is its own measurement, and less where it is in part:
the largest of these are those that noise raised, so they have to exceed twice their error."""
LEAST = 2
"""Trips: a one may be what rounding made of a third of a trip."""


def resolved(spread: Spread, estimates: Ints) -> npt.NDArray[np.bool_]:
    """All cells, unless these estimates are further off in all than zeros; then those that exceed their error.

    Where no measurement tells a table, noise does not show how far its estimates are off: it has all cells.
    """
    if spread.variance == float("inf"):
        return np.ones(estimates.shape, dtype=np.bool_)
    step = sizes(estimates.astype(np.float64))
    cells = np.bincount(step.ravel(), minlength=STEPS).astype(np.float64)
    trips = np.bincount(step.ravel(), estimates.ravel(), minlength=STEPS)
    x = trips / np.maximum(cells, 1.0)
    square = spread.deviation(x) * spread.deviation(x)
    if _error(cells, square + DOUBT * _standard_error(spread, cells.sum())) < fsum(trips.tolist()):
        return np.ones(estimates.shape, dtype=np.bool_)
    as_large = np.cumsum(cells[::-1])[::-1]
    far = square * (1 + OWN * spread.weight(x)) + DOUBT * _standard_error(spread, np.maximum(as_large, 1.0))
    seen: npt.NDArray[np.bool_] = (x * x > far) & (x >= LEAST)
    return seen[step]


def _standard_error(spread: Spread, cells: Floats) -> Floats:
    """The standard error of a mean of squares that is seen through noise: √(2/cells) of the variance of the noise."""
    return np.sqrt(2 / cells) * spread.variance


def _error(cells: Floats, square: Floats) -> float:
    """The sum of absolute errors of whole numbers: none is larger than its square."""
    return fsum((cells * np.minimum(square, ABSOLUTE * np.sqrt(square))).tolist())
