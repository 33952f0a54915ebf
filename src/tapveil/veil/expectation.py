"""The expectation: which tables noise and threshold will probably leave empty, before noise is drawn.

For the data custodian alone. It follows from the trips without noise: it may be shown, but must not decide anything
that shows in a published folder.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tapveil.counting.exact import Counted
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.cell_list import Dictionaries
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import distribution

FEWEST_CELLS = 0.5
"""A table with fewer expected cells will probably be empty."""


def empty_tables(plan: Plan, counted: Counted, dictionaries: Dictionaries) -> Iterator[str]:
    """The tables that will probably be published without any cell."""
    for table in plan.table if not plan.privacy.is_world else ():  # where every cell is published
        exact, mechanism = counted.tables[table.name], plan.guarantee.mechanisms[table.name]
        dictionary, counts = dictionaries[table.name], exact_counts(exact)
        listed = counts if dictionary is None else counts[exact.places_in(dictionary)[1]]
        if listed.max(initial=0) >= mechanism.threshold:
            continue  # such a cell is published with probability one half or more
        sizes, cells = np.unique(listed, return_counts=True)
        empty = 0 if dictionary is None else len(dictionary) - len(listed)
        expected = distribution(mechanism).expected(np.append(sizes, 0), np.append(cells, empty))
        if expected.cells < FEWEST_CELLS:
            yield table.name
