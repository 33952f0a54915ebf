"""Whether a folder can have been made from these trips: what noise all but never does is refused. Confidential.

Of every cell, published or not, the folder says something that is wrong with at most a known probability, and the noise
of one cell has nothing to do with that of another. So there are two tests, which a folder of other trips rarely passes
both, and one of these very trips fails with a probability of at most `NEVER` for each table:

- no cell is beyond all that noise does: in its number, or by being hidden although it is large;
- no more than about 1 in 20 of all cells are missed by their 95 % interval.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from tapveil.base.errors import PlanError
from tapveil.internal.report.model.accuracy import intervals_held
from tapveil.internal.report.model.cells import Cells, Numbers
from tapveil.privacy.distribution import distribution
from tapveil.privacy.intervals import MISS
from tapveil.published.folder import Folder

NEVER = 1e-12
"""So rarely that it would not happen once in a lifetime of reports, each of many tables."""
WAYS = 3
"""A cell can be far too high, far too low, or hidden."""


def refuse_other_trips(cells: Cells, folder: Folder) -> None:
    """Refuse a folder whose numbers these trips could not have led to: they would be held against a wrong truth."""
    published = cells.published
    if published is None:
        return
    _, held, every = intervals_held(cells, published)
    if rarest_cell(cells, published) < NEVER / 2 or as_many_missed(every - held, every) < NEVER / 2:
        raise PlanError(
            f"{folder.path} cannot have been made from these trips: the counts of {cells.name} differ by more than its "
            "noise allows. Use the trips as they were when the folder was made"
        )


def rarest_cell(cells: Cells, published: Numbers) -> float:
    """An upper bound on the probability that any cell is as far off as the worst one, or hidden at as large a count."""
    known = distribution(cells.mechanism)
    hidden = cells.listed.copy()
    hidden[published.cells] = False
    off = np.concatenate([published.count - cells.true[published.cells], published.invented])
    chances = np.concatenate([known.as_far_off(off), known.hidden(cells.true[hidden])])
    every = int(cells.listed.sum()) + cells.empty
    return float(min(1.0, WAYS * every * chances.min())) if len(chances) else 1.0


def as_many_missed(missed: int, cells: int) -> float:
    """An upper bound on the probability that this many of the intervals miss (Chernoff's bound on a binomial).

    >>> as_many_missed(5, 100), as_many_missed(20, 100) < 1e-6, as_many_missed(3, 3) <= 0.05**3 * 1.001
    (1.0, True, True)
    """
    share, promised = missed / max(1, cells), float(MISS)
    if share <= promised:
        return 1.0
    excess = share * log(share / promised)
    if share < 1:
        excess += (1 - share) * log((1 - share) / (1 - promised))
    return exp(-cells * excess)
