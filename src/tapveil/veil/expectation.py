"""The expectation: what noise and threshold will leave of exact counts, before either is drawn.

For the data custodian alone. What is said here follows from the trips without any noise: it may be shown, and must not
decide anything that shows in a published folder.
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
"""A table of which fewer are to be expected will probably be empty."""


def empty_tables(plan: Plan, counted: Counted, dictionaries: Dictionaries) -> Iterator[str]:
    """The tables that will probably be published without a single cell."""
    for table in plan.table:
        exact, mechanism = counted.tables[table.name], plan.guarantee.mechanisms[table.name]
        dictionary, counts = dictionaries[table.name], exact_counts(exact)
        listed = counts if dictionary is None else counts[exact.places_in(dictionary)[1]]
        if listed.max(initial=0) >= mechanism.threshold:
            continue  # noise is as often above zero as below: one such cell is enough
        sizes, cells = np.unique(listed, return_counts=True)
        empty = 0 if dictionary is None else len(dictionary) - len(listed)
        expected = distribution(mechanism).expected(np.append(sizes, 0), np.append(cells, empty))
        if expected.cells < FEWEST_CELLS:
            yield table.name
