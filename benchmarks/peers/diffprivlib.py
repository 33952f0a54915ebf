"""diffprivlib's histograms: noise for every cell of a list that must be public, then a cut.

It has no unknown keys. The places that occur stand in for a public list of stops by mode.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from diffprivlib.tools import histogramdd

from benchmarks.peers.job import BIN_MINUTES, COLUMNS, DELTA, PART, TABLES, arguments

TIMES = list(range(0, 24 * 60, BIN_MINUTES))


def main() -> None:
    source, out = arguments()
    trips = pq.read_table(source, columns=list(COLUMNS)).to_pandas()
    places = {mode: sorted(set(part["on_loc"]) | set(part["off_loc"])) for mode, part in trips.groupby("mode")}
    parts = dict(list(trips.groupby(list(PART))))
    for name, (columns, epsilon) in TABLES.items():
        tables = [published(part, key, columns, places[key[0]], epsilon) for key, part in parts.items()]
        pd.concat(tables).to_parquet(out / f"{name}.parquet", index=False)


def published(
    trips: pd.DataFrame, key: tuple[str, ...], columns: tuple[str, ...], places: list[str], epsilon: int
) -> pd.DataFrame:
    """One mode and day: others have other trips, so they do not add up."""
    lists = [TIMES if column.endswith("_time") else places for column in columns]
    codes = [pd.Categorical(trips[column], values).codes for column, values in zip(columns, lists, strict=True)]
    edges = [np.arange(len(values) + 1) - 0.5 for values in lists]
    reach = [(-0.5, len(values) - 0.5) for values in lists]
    noisy, _ = histogramdd(np.column_stack(codes), epsilon=epsilon, bins=edges, range=reach)
    table = pd.DataFrame(list(product(*lists)), columns=list(columns))
    table = table.assign(**dict(zip(PART, key, strict=True)), n=noisy.ravel())
    # The threshold that the others need for δ: here it only leaves out what is mostly noise.
    return table[table["n"] > 1 + math.log(1 / (2 * DELTA)) / epsilon]


if __name__ == "__main__":
    main()
