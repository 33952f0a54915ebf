"""The columns of a Parquet file of a folder, as those of its CSV file are read. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.published.columns import Column, texts


def parquet_columns(path: Path, numbers: Collection[str]) -> dict[str, Column]:
    """The columns, in their order: whole numbers where they are named so, else texts.

    ValueError or OSError where the file is damaged.
    """
    try:
        with pq.ParquetFile(path) as file:
            rows = file.read()
        return {
            name: rows.column(name).to_numpy().astype(np.int64)
            if name in numbers
            else texts(rows.column(name).cast(pa.string()).to_pylist())
            for name in rows.column_names
        }
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
