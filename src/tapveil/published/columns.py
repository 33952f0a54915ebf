"""The columns of a CSV file of a folder as NumPy arrays: reading needs neither Arrow nor an engine."""

from __future__ import annotations

import csv
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]
"""Texts as Python strings, or whole numbers; masked where there is no number."""


def read_columns(path: Path, numbers: Collection[str]) -> dict[str, Column]:
    """The columns of a file, in its order: whole numbers where they are named so, else texts.

    ValueError, csv.Error or OSError where the file is damaged.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, strict=True)
        names = next(rows, [])
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
    found = zip(names, columns, strict=True)
    return {name: np.array(values, np.int64) if name in numbers else texts(values) for name, values in found}


def texts(values: Collection[str]) -> Column:
    """A column of texts; each is kept in memory once.

    >>> texts(["a", "b", "a"])
    array(['a', 'b', 'a'], dtype=object)
    """
    return np.array([sys.intern(value) for value in values], dtype=object)


def whole_numbers(values: Collection[int | None]) -> Column:
    """A column of whole numbers, some of which may not be there.

    >>> whole_numbers([3, None]).tolist()
    [3, None]
    """
    missing = [value is None for value in values]
    return np.ma.MaskedArray([value or 0 for value in values], mask=missing, dtype=np.int64)
