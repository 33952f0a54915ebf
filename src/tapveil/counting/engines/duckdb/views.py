"""The trips in DuckDB: the files of each group as a view, created anew for every pass.

DuckDB reads Parquet itself. We read CSV, and Parquet files with values that DuckDB stops at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import duckdb

from tapveil.counting.sql.scan import field_of, literal, quoted, view_of
from tapveil.plan.model import Plan
from tapveil.trips import files as sources
from tapveil.trips.csv_reader import CsvReading, Reading
from tapveil.trips.files import TripFiles
from tapveil.trips.parquet_reader import ParquetReading

_ROW_NUMBERS = frozenset({"file_index", "file_row_number"})
"""DuckDB's names for row numbers; a column of a file may have the same name."""


def find_trips(session: duckdb.DuckDBPyConnection, plan: Plan) -> TripFiles:
    """The files of a plan. They are views of the session only while they are read: see `views`."""
    return sources.find(plan)


def views(
    session: duckdb.DuckDBPyConnection, files: TripFiles, columns: Collection[str], *, numbered: bool, read_here: bool
) -> Iterator[Reading]:
    """Create the views of these columns for one pass; return the readers of files that DuckDB does not read.

    With `numbered`, they also have the position of a row: `field_file`, the number of its file, and `field_line`. With
    `read_here`, Parquet is read by us, too, since DuckDB stops at one of its values.
    """
    for number, group in enumerate(files.groups):
        name, wanted = view_of(number), [each for each in group.names if each in columns]
        if group.format == "csv":
            used = [group.names.index(each) for each in wanted]
            shape = (group.paths, group.delimiter, len(group.names), used)
            encoding = files.encoding_of(group)
            csv = CsvReading(*shape, encoding=encoding, numbered=numbered, sheet=group.sheet, heading=group.heading)
            session.register(name, csv.reader())
            yield csv
        elif read_here or (numbered and not _ROW_NUMBERS.isdisjoint(map(str.casefold, group.names))):
            parquet = ParquetReading(group.paths, wanted)
            rows = parquet.reader([field_of(group, each) for each in wanted], numbered=numbered)
            session.register(f"{name}_read", rows)
            session.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS FROM {name}_read")
            yield parquet
        else:
            paths = ", ".join(literal(_not_a_pattern(str(path))) for path in group.paths)
            selected = [f"{quoted(each)} AS {field_of(group, each)}" for each in wanted]
            selected += ["file_index AS field_file", "file_row_number + 1 AS field_line"] if numbered else []
            source = f"read_parquet([{paths}], hive_partitioning = false, union_by_name = false)"
            sql = f"SELECT {', '.join(selected) or 'NULL'} FROM {source}"
            session.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")


def _not_a_pattern(path: str) -> str:
    """A path with its `*`, `?` and `[` escaped, which DuckDB would expand.

    >>> _not_a_pattern("a[1]*.parquet")
    'a[[]1][*].parquet'
    """
    return re.sub(r"([*?\[])", r"[\1]", path)
