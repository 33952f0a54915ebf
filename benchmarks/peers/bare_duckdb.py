"""The floor of counting: DuckDB groups by the two finest tables and rolls up the others from those. No privacy."""

from __future__ import annotations

import duckdb

from benchmarks.peers.job import PART, TABLES, arguments

FINE = "CREATE TEMP TABLE {name} AS SELECT {keys}, count(*) AS n FROM read_parquet('{source}') GROUP BY ALL"
COARSE = "CREATE TEMP TABLE {name} AS SELECT {keys}, sum(n)::BIGINT AS n FROM {fine} GROUP BY ALL"


def main() -> None:
    source, out = arguments()
    with duckdb.connect(config={"preserve_insertion_order": False}) as connection:
        for name, (columns, _) in sorted(TABLES.items(), key=lambda table: -len(table[1][0])):
            keys = ", ".join((*PART, *columns))
            fine = f"{columns[0].split('_')[0]}_time_loc"
            how = FINE if name == fine else COARSE
            connection.execute(how.format(name=name, keys=keys, source=source, fine=fine))
            connection.execute(f"COPY {name} TO '{out / name}.parquet'")


if __name__ == "__main__":
    main()
