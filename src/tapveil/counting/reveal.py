"""THE way to read exact counts. Who imports this module is who sees them; a test has the list."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tapveil.counting.exact import ExactTable


def exact_counts(table: ExactTable) -> npt.NDArray[np.int64]:
    """The true count of every cell of a table, in the order of its words. Secret."""
    return table._exact_counts
