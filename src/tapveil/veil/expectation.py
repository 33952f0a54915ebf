"""The expectation: what noise and threshold will leave of exact counts, before either is drawn.

For the data custodian alone. What is said here follows from the trips without any noise: it may be shown, and must not
decide anything that shows in a published folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tapveil.counting.exact import Counted, ExactTable
from tapveil.inputs.cell_list import Dictionaries
from tapveil.plan.model import Plan
from tapveil.privacy.mechanisms import Mechanism

FEWEST_CELLS = 0.5
"""A table of which fewer are to be expected will probably be empty."""


def empty_tables(plan: Plan, counted: Counted, dictionaries: Dictionaries) -> Iterator[str]:
    """The tables that will probably be published without a single cell."""
    for table in plan.table:
        if _is_empty(counted.tables[table.name], plan.guarantee.mechanisms[table.name], dictionaries[table.name]):
            yield table.name


def _is_empty(exact: ExactTable, mechanism: Mechanism, dictionary: pa.Table | None) -> bool:
    if dictionary is not None and len(dictionary) * float(mechanism.publish_probability(0)) >= FEWEST_CELLS:
        return False  # noise alone fills it
    counts = exact.counts if dictionary is None else exact.counts[exact.places_in(dictionary)[1]]
    if counts.max(initial=0) >= mechanism.threshold:
        return False  # noise is as often above zero as below: one such cell is enough
    sizes, cells = np.unique(counts, return_counts=True)
    return float((publish_probabilities(mechanism, sizes) * cells).sum()) < FEWEST_CELLS


def publish_probabilities(mechanism: Mechanism, sizes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """P(published) for each count; far above the threshold it is 1 to more digits than matter for a forecast."""
    certain = float(mechanism.threshold + 30 * mechanism.scale)
    return np.array([1.0 if size > certain else float(mechanism.publish_probability(int(size))) for size in sizes])
