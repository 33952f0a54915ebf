"""The only way to read exact counts. A test lists the modules that may import this one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tapveil.counting.exact import ExactTable


def exact_counts(table: ExactTable) -> npt.NDArray[np.int64]:
    """The true count of every cell of a table, in the order of its words. Secret."""
    return table._exact_counts
