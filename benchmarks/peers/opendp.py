"""OpenDP on Polars, by its framework API: scale and threshold are given, and its privacy map checks them.

The Context API finds them by itself, and needs 5 s of CPU more for each table to do so, whatever its size.
"""

from __future__ import annotations

import math
from typing import Any

import opendp.prelude as dp
import polars as pl

from benchmarks.peers.job import COLUMNS, DELTA, PART, TABLES, arguments

MOST_TRIPS = 1_000_000_000
TYPES: dict[str, Any] = {column: "i32" if column.endswith("_time") else str for column in COLUMNS}


def main() -> None:
    source, out = arguments()
    dp.enable_features("contrib")
    trips = pl.scan_parquet(source).select(COLUMNS)
    for name, (columns, epsilon) in TABLES.items():
        release = measurement(trips, columns, epsilon)
        release(trips).collect().write_parquet(out / f"{name}.parquet")


def measurement(trips: pl.LazyFrame, columns: tuple[str, ...], epsilon: int) -> Any:
    """With the least whole threshold at which the privacy map allows no more than δ."""
    series = [dp.series_domain(name, dp.option_domain(dp.atom_domain(T=kind))) for name, kind in TYPES.items()]
    domain = dp.with_margin(dp.lazyframe_domain(series), dp.polars.Margin(by=[], max_length=MOST_TRIPS))
    query = pl.LazyFrame(schema=trips.collect_schema()).group_by([*PART, *columns]).agg(dp.len(signed=True))
    scale = (1 + 1e-12) / epsilon  # its map rounds up: at 1/ε exactly it says a little more than ε
    threshold = math.floor(scale * math.log(1 / (2 * DELTA)))
    while True:
        made = dp.m.make_private_lazyframe(
            domain, dp.symmetric_distance(), dp.approximate(dp.max_divergence()), query, scale, threshold
        )
        spent, delta = made.map(1)
        if delta <= DELTA:
            assert spent <= epsilon
            return made
        threshold += 1


if __name__ == "__main__":
    main()
