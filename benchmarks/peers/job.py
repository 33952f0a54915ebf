"""The job of every contender: the paper's six tables of counts per mode and day, each with its part of the budget.

A contender's program runs in an environment of its own, so this needs nothing but Python.
"""

from __future__ import annotations

import sys
from pathlib import Path

PART = ("mode", "date")
TABLES: dict[str, tuple[tuple[str, ...], int]] = {
    "on_time": (("on_time",), 1),
    "on_loc": (("on_loc",), 1),
    "off_time": (("off_time",), 1),
    "off_loc": (("off_loc",), 1),
    "on_time_loc": (("on_time", "on_loc"), 2),
    "off_time_loc": (("off_time", "off_loc"), 2),
}
"""Of each table: what is counted besides the part, and ε. A trip is in one cell of each, so the sum is spent: 8."""
COLUMNS = (*PART, "on_time", "on_loc", "off_time", "off_loc")
DELTA = 1 / 8_000_000
"""Of each table; in total 7.5e-7."""
EPSILON_TOTAL = sum(epsilon for _, epsilon in TABLES.values())
DELTA_TOTAL = len(TABLES) * DELTA
BIN_MINUTES = 15


def arguments() -> tuple[Path, Path]:
    """The Parquet file of trips, and a new folder for one Parquet file, or folder of them, per table."""
    source, out = map(Path, sys.argv[1:])
    out.mkdir()
    return source, out
