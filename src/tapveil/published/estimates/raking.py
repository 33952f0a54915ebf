"""Raking: a table is stretched until its sums are those of coarser tables (iterative proportional fitting)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tapveil.published.estimates.margins import spread, summed
from tapveil.published.estimates.parts import Floats
from tapveil.published.estimates.world import Columns

ROUNDS = 4
"""Always as many: estimates that are made again from moved measurements then follow them smoothly."""


def rake(table: Floats, columns: Columns, sums: Mapping[Columns, Floats]) -> Floats:
    """The table, of whole parts, with these sums, as nearly as they agree with each other; changed in place."""
    for _ in range(ROUNDS if len(sums) > 1 else 1):
        for kept, wanted in sums.items():
            own = summed(table, columns, kept)[0]
            table *= spread(wanted / np.maximum(own, 1.0), kept, columns)
            np.rint(table, out=table)
    return table
