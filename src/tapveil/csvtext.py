"""CSV as people write it, quotes only where needed: the one way in which a folder has it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa


def csv_bytes(cells: pa.Table, *, header: bool = True) -> bytes:
    """A table as CSV (Arrow's own writer quotes every text).

    >>> csv_bytes(pa.table({"stop": ["Central", "a, b"], "count": [18, 20]})).decode().splitlines()
    ['stop,count', 'Central,18', '"a, b",20']
    """
    with tempfile.TemporaryDirectory(prefix="tapveil-") as folder, duckdb.connect() as connection:
        path = Path(folder) / "cells.csv"
        connection.from_arrow(cells).write_csv(str(path), header=header)
        return path.read_bytes()
