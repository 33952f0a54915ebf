"""Columns of whole numbers as few bytes, in a form that a browser unpacks in one short loop.

Each column is written as its differences (keys, which are sorted, hardly change) or as it is (counts), in as many bytes
as its largest number needs, all first bytes before all second ones. zlib, which every browser has, compresses it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
WIDTHS = (1, 2, 4, 6)
LARGEST = 2**48 - 1
"""A browser counts further, but nobody travels so much."""


def width_of(values: Integers) -> int:
    """How many bytes a number of this column takes."""
    most = int(values.max(initial=0))
    return next(width for width in WIDTHS if most < 256**width)


def packed(values: Integers, width: int, *, differences: bool) -> bytes:
    """A column of numbers that are not negative.

    >>> packed(np.array([7, 7, 8, 300]), 2, differences=True).hex(" ")
    '07 00 01 24 00 00 00 01'
    """
    numbers = values.astype(np.uint64)
    if differences:
        numbers = np.diff(numbers, prepend=np.uint64(0))  # wraps around, and so does the browser
    return b"".join((numbers >> np.uint64(8 * byte)).astype(np.uint8).tobytes() for byte in range(width))
