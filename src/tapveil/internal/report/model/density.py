"""How dense a table is: the share of the trips that are in cells of at least a given size. Confidential.

With a public list only listed cells can be published, so only they count; the trips of the others stay in the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from tapveil.internal.report.model.cells import Cells, Floats, Ints

AT = (2, 5, 10, 20, 50, 100)
WANTED = 0.8
"""The share of trips that a table worth publishing has, about."""
MOST_POINTS = 160


@dataclass(frozen=True, repr=False)
class Density:
    """The curve of one table, as steps: `share` of the trips is in cells of at least `size`."""

    sizes: Ints
    shares: Floats
    threshold: int
    """The least number that is printed."""

    def share(self, size: float) -> float:
        """The share of the trips that are in cells of at least this size."""
        place = int(np.searchsorted(self.sizes, size))
        return float(self.shares[place]) if place < len(self.sizes) else 0.0

    def reached(self, share: float) -> int | None:
        """The largest size such that cells of at least this size have this share of the trips."""
        enough = np.flatnonzero(self.shares >= share - 1e-12)
        return int(self.sizes[enough[-1]]) if len(enough) else None

    @property
    def times_larger(self) -> int | None:
        """How many times as large cells would have to be for the wanted share to reach the threshold.

        1 where they are large enough; None where no size would do, because too few trips are in listed cells.
        """
        size = self.reached(WANTED)
        return None if size is None else max(1, ceil(self.threshold / size))

    @property
    def points(self) -> list[tuple[int, float]]:
        """The curve, at no more places than can be distinguished."""
        places = np.arange(len(self.sizes))
        if len(places) > MOST_POINTS:
            wanted = np.geomspace(self.sizes[0], self.sizes[-1], MOST_POINTS)
            places = np.unique(np.clip(np.searchsorted(self.sizes, wanted), 0, len(self.sizes) - 1))
        return list(zip(self.sizes[places].tolist(), self.shares[places].tolist(), strict=True))


def density(cells: Cells) -> Density:
    """The curve of a table."""
    sizes, times = np.unique(cells.true[cells.listed], return_counts=True)
    trips = sizes * times
    shares = trips[::-1].cumsum()[::-1] / max(1, cells.trips)
    return Density(sizes, shares.astype(np.float64), cells.mechanism.smallest_published)
