"""The floors: reading the demo city's columns, parsing them, or counting its two maximal tables; no privacy."""

from __future__ import annotations

import sys
from pathlib import Path

COLUMNS = ("mode", "trip_date", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location")
IN_CSV = ("card_id", *COLUMNS)
"""A release reads the card, too, to make sure that none is published."""
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


def scan(city: Path) -> None:
    import pyarrow.parquet as pq

    for path in sorted((city / "trips").glob("*.parquet")):
        with pq.ParquetFile(path, read_dictionary=["mode", "tap_on_location", "tap_off_location"]) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group, columns=list(COLUMNS))


def group_bys(city: Path) -> None:
    import duckdb

    with duckdb.connect(config={"preserve_insertion_order": False}) as connection:
        stops = f"read_csv('{city}/stops.csv', all_varchar = true)"
        connection.execute(f"CREATE TEMP TABLE stops AS SELECT stop_id, postcode FROM {stops}")
        for end in ("on", "off"):
            connection.execute(GROUP_BY.format(end=end, city=city))


def parsing(city: Path) -> None:
    """The demo city has lines that are no trips: those are skipped."""
    import duckdb

    counts = ", ".join(f"count({column})" for column in IN_CSV)
    with duckdb.connect() as connection:
        files = f"read_csv('{city}/trips/*.csv', all_varchar = true, ignore_errors = true)"
        connection.execute(f"SELECT {counts} FROM {files}").fetchall()


if __name__ == "__main__":
    {"scan": scan, "group-bys": group_bys, "parsing": parsing}[sys.argv[1]](Path(sys.argv[2]))
