"""Counting on DuckDB, embedded: bounded memory, spilling to a scratch folder that only the owner can enter."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from tapveil.base.errors import EngineError, TripDataError
from tapveil.base.progress import Reporter, Stage
from tapveil.counting.engines.duckdb.dialect import translated
from tapveil.counting.engines.duckdb.meter import Meter
from tapveil.counting.engines.duckdb.views import find_trips, views
from tapveil.counting.sql.database import Database, Located
from tapveil.counting.sql.scan import quoted
from tapveil.plan.model import Plan
from tapveil.trips.buffers import Integers
from tapveil.trips.csv_reader import Reading
from tapveil.trips.files import TripFiles, told_apart
from tapveil.trips.parquet_reader import UNREADABLE
from tapveil.trips.reasons import Reason

ROWS_AT_ONCE = 1_000_000
"""Rows of cards processed at a time."""

_FAULTS = (duckdb.OutOfMemoryException, duckdb.InterruptException, duckdb.InternalException, duckdb.FatalException)
"""Errors of the engine itself, not of a file."""

Found = TypeVar("Found")


@contextmanager
def open_session(plan: Plan, memory: str, scratch: Path | None) -> Iterator[DuckDB]:
    """A private database in memory, over the files of a plan."""
    with _connection(memory, scratch) as connection:
        yield DuckDB(connection, find_trips(connection, plan))


@contextmanager
def open_without_trips(memory: str, scratch: Path | None) -> Iterator[DuckDB]:
    """A private database in memory, for tables of another engine."""
    with _connection(memory, scratch) as connection:
        yield DuckDB(connection, TripFiles(()))


class DuckDB(Database):
    """The embedded engine; see `Database`."""

    locates = True
    rereads = False
    keeps_order = False
    groups_at_once = False

    def __init__(self, session: duckdb.DuckDBPyConnection, files: TripFiles) -> None:
        self.files, self.rows_at_once = files, ROWS_AT_ONCE
        self._connection = session
        # How much of its query the engine has done, from 0 to 1; below 0 where it does not say.
        self._meter = Meter(files, lambda: float(session.query_progress()) / 100)
        self._tables: set[str] = set()
        self._reads_all = all(group.format == "csv" for group in files.groups)
        """Whether all files are read by us, and none by DuckDB."""

    def stage(self, progress: Reporter, stage: Stage, passes: int = 1) -> AbstractContextManager[None]:
        return self._meter.stage(progress, stage, passes)

    def read(self, into: str, sql: str, columns: Collection[str]) -> Counter[Reason]:
        _, readings = self._pass(columns, lambda: self.create(into, sql))
        return sum((reading.refused for reading in readings), start=Counter[Reason]())

    def look(self, sql: str, columns: Collection[str], *, numbered: bool = False) -> tuple[pa.Table, Located]:
        found, readings = self._pass(columns, lambda: self.fetch(sql), numbered=numbered)
        located: dict[Reason, list[tuple[str, int]]] = {}
        called = told_apart([path for group in self.files.groups for path in group.paths])
        for reading in readings:
            for reason, lines in reading.located.items():
                located.setdefault(reason, []).extend((called[path], line) for path, line in lines)
        return found, located

    def create(self, name: str, sql: str) -> None:
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {quoted(name)} AS {translated(sql)}")
        self._tables.add(name)

    def append(self, name: str, sql: str) -> None:
        self._connection.execute(f"INSERT INTO {quoted(name)} {translated(sql)}")

    def upload(self, name: str, table: pa.Table) -> None:
        self._connection.register("uploaded", table)
        self.create(name, "SELECT * FROM uploaded")
        self._connection.unregister("uploaded")

    def fetch(self, sql: str) -> pa.Table:
        return self._connection.sql(translated(sql)).to_arrow_table()

    def cells(self, sql: str, words: int) -> tuple[Integers, ...]:
        return tuple(column.to_numpy().astype(np.int64, copy=False) for column in self.fetch(sql).columns)

    def holding(self, name: str) -> Database:
        return self

    def clear(self) -> None:
        for name in self._tables:
            self._connection.execute(f"DROP TABLE {quoted(name)}")
        self._tables.clear()

    def _pass(
        self, columns: Collection[str], run: Callable[[], Found], *, numbered: bool = False
    ) -> tuple[Found, list[Reading]]:
        """One pass over all files. Errors are those of a file, unless they are the engine's own.

        Where DuckDB stops at a value of a Parquet file, we read the file instead, and only the row is refused.
        """
        readings: list[Reading] = []
        try:
            readings += views(self._connection, self.files, columns, numbered=numbered, read_here=self._reads_all)
            self._meter.begin(readings)
            found = run()
        except duckdb.Error as error:  # the reader knows which file it was, and why
            for failure in (reading.failure for reading in readings if reading.failure):
                raise failure from None
            if isinstance(error, _FAULTS) or "No space left" in str(error):
                raise
            if self._reads_all:
                raise TripDataError(UNREADABLE) from None
            self._reads_all = True
            return self._pass(columns, run, numbered=numbered)
        self._meter.end()
        return found, readings


@contextmanager
def _connection(memory: str, scratch: Path | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A private database in memory; it spills to a folder that only the owner can enter, and that is then removed."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="tapveil-", dir=scratch, ignore_cleanup_errors=True)
    except OSError as error:
        why = f"the scratch folder cannot be created ({error.strerror})"
        raise EngineError(f"{why}; set --scratch to a writable disk") from None
    with folder as spill, _translated_errors():
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory,
            "temp_directory": spill,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": False,
            # A CSV file has no known size: left to guess, DuckDB may build its hash table from the trips.
            # Statistics of Parquet leave out NaN: where all other values are one, DuckDB takes NaN for that one, so
            # that a trip elsewhere would change what NaN is counted as.
            "disabled_optimizers": "join_order,build_side_probe_side,statistics_propagation",
        }
        connection = duckdb.connect(config=config)
        try:
            connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
            connection.execute("SET TimeZone = 'UTC'")  # what a label says must not depend on the machine
            yield connection
        finally:
            connection.close()


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Translate errors: DuckDB's messages quote rows and are dropped."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise EngineError(
            "not enough memory or scratch space to count; raise --memory, or set --scratch to a larger disk"
        ) from None
    except duckdb.Error as error:
        if "No space left" in str(error):
            raise EngineError("the scratch disk is full; set --scratch to a larger one") from None
        raise EngineError(f"DuckDB could not count the trips ({type(error).__name__})") from None
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise
