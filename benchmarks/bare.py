"""The floor: two bare DuckDB GROUP BYs over the demo city's Parquet, same binning, same lookup, no privacy."""

import sys
from pathlib import Path

import duckdb

GROUP_BY = """
CREATE TEMP TABLE counted_{end} AS
SELECT mode, trip_date,
       (60 * EXTRACT(hour FROM tap_{end}_time) + EXTRACT(minute FROM tap_{end}_time)) // 15 AS bin,
       coalesce(CASE WHEN mode = 'bus' THEN postcode ELSE tap_{end}_location END, 'UNKNOWN') AS place,
       count(*) AS n
FROM read_parquet('{city}/trips/*.parquet')
LEFT JOIN stops ON mode = 'bus' AND tap_{end}_location = stop_id
GROUP BY ALL
"""


def main(city: Path) -> None:
    with duckdb.connect(config={"preserve_insertion_order": False}) as connection:
        stops = f"read_csv('{city}/stops.csv', all_varchar = true)"
        connection.execute(f"CREATE TEMP TABLE stops AS SELECT stop_id, postcode FROM {stops}")
        for end in ("on", "off"):
            connection.execute(GROUP_BY.format(end=end, city=city))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
