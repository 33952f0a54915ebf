"""The trips as DuckDB has them: the files of each group, as a view that is made anew for every pass.

Parquet is read by DuckDB itself; the lines of CSV, and rows with values that DuckDB stops at, are read by us for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

from tapveil.counting.sql.scan import field_of, literal, quoted, view_of
from tapveil.plan.model import Plan
from tapveil.trips import files as sources
from tapveil.trips.csv_reader import CsvReading, Encoding, Reading
from tapveil.trips.files import FileGroup, TripFiles
from tapveil.trips.parquet_reader import ParquetReading

_ROW_NUMBERS = frozenset({"file_index", "file_row_number"})
"""What DuckDB calls the number of a row; a column of a file may be called so as well."""


def find_trips(session: duckdb.DuckDBPyConnection, plan: Plan) -> TripFiles:
    """The files of a plan. They are views of the session only while they are read: see `View`."""
    return sources.find(plan)


@dataclass(frozen=True)
class View:
    """The files of a group under the name by which the SQL knows them, for one pass."""

    number: int
    group: FileGroup
    wanted: Sequence[str]
    encoding: Encoding
    numbered: bool
    """Whether it also says where a row stands: `field_file`, the number of its file, and `field_line`."""
    read_here: bool
    """Whether Parquet is read by us, too, since DuckDB stops at one of its values."""

    def register(self, session: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        """Make the view; how its files are read, if not by DuckDB."""
        name, group, numbered = view_of(self.number), self.group, self.numbered
        if group.format == "csv":
            used = [group.names.index(each) for each in self.wanted]
            shape = (group.paths, group.delimiter, len(group.names), used)
            csv = CsvReading(*shape, encoding=self.encoding, numbered=numbered)
            session.register(name, csv.reader())
            yield csv
        elif self.read_here or (numbered and not _ROW_NUMBERS.isdisjoint(map(str.casefold, group.names))):
            parquet = ParquetReading(group.paths, self.wanted)
            rows = parquet.reader([field_of(group, each) for each in self.wanted], numbered=numbered)
            session.register(f"{name}_read", rows)
            session.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS FROM {name}_read")
            yield parquet
        else:
            session.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {self._parquet_sql()}")

    def _parquet_sql(self) -> str:
        """The Parquet files of the group, read by the engine itself."""
        paths = ", ".join(literal(_not_a_pattern(str(path))) for path in self.group.paths)
        selected = [f"{quoted(each)} AS {field_of(self.group, each)}" for each in self.wanted]
        selected += ["file_index AS field_file", "file_row_number + 1 AS field_line"] if self.numbered else []
        source = f"read_parquet([{paths}], hive_partitioning = false, union_by_name = false)"
        return f"SELECT {', '.join(selected) or 'NULL'} FROM {source}"


def _not_a_pattern(path: str) -> str:
    """A path that DuckDB takes as it is: it would expand `*`, `?` and `[` once more.

    >>> _not_a_pattern("a[1]*.parquet")
    'a[[]1][*].parquet'
    """
    return re.sub(r"([*?\[])", r"[\1]", path)
