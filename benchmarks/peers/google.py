"""Google's building blocks by way of PyDP: pandas counts, then each cell is kept with its noisy count, or not."""

from __future__ import annotations

import pandas as pd
import pyarrow.parquet as pq
from pydp.algorithms.partition_selection import create_laplace_partition_strategy

from benchmarks.peers.job import COLUMNS, DELTA, PART, TABLES, arguments


def main() -> None:
    source, out = arguments()
    texts = [column for column in COLUMNS if not column.endswith("_time")]
    trips = pq.read_table(source, columns=list(COLUMNS), read_dictionary=texts).to_pandas()
    for name, (columns, epsilon) in TABLES.items():
        counts = trips.groupby([*PART, *columns], observed=True, sort=False).size().reset_index(name="n")
        published(counts, epsilon).to_parquet(out / f"{name}.parquet", index=False)


def published(counts: pd.DataFrame, epsilon: int) -> pd.DataFrame:
    """The library has no call for many cells at once."""
    strategy = create_laplace_partition_strategy(epsilon, DELTA, 1)
    noisy = [strategy.noised_value_if_should_keep(n) for n in counts["n"].tolist()]
    kept = counts.assign(n=pd.Series(noisy, dtype="float64", index=counts.index))
    return kept[kept["n"].notna()]


if __name__ == "__main__":
    main()
