"""Counting on Spark: in the user's own session, with SQL and DataFrames only, so that Spark Connect works as well.

Every table is computed once, and stored twice on the disks of the executors: a failed task is repeated over the same
trips, and a lost executor did not have the only copy. Only counts and raw values leave the cluster. Nothing random
happens on it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tapveil.base.errors import EngineError, TripDataError
from tapveil.counting.engines.spool import Spool
from tapveil.counting.sql.database import Database, Remote
from tapveil.plan.model import Plan
from tapveil.trips.buffers import Integers
from tapveil.trips.files import TripFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CELLS_AT_ONCE = 2_000_000
"""Cells fetched at a time; more if one part has more."""
GROUPS_AT_ONCE = 500_000
"""Groups of rows up to this many are fetched, and what follows from them is computed in this process."""
PART = 1 << 12
"""Cells whose first words are equal, divided by this, form one part."""
BROADCAST = 64 << 20
"""Uploaded tables up to this many bytes are sent to every executor."""


@contextmanager
def open_session(plan: Plan, memory: str, scratch: Path | None) -> Iterator[Spark]:
    """Open the user's session, or a new one, over the trips of a plan. Spark manages its own memory."""
    _require_packages()
    from tapveil.counting.engines.spark.views import find_trips

    with _translated_errors(plan), _session() as session, _settings(session), ExitStack() as here:
        spark = Spark(session, find_trips(session, plan), memory, scratch, here)
        try:
            yield spark
        finally:
            spark.close()


@contextmanager
def one_session(plan: Plan) -> Iterator[None]:
    """One session for all that is counted meanwhile: to start one takes seconds."""
    _require_packages()
    with _translated_errors(plan), _session():
        yield


def _require_packages() -> None:
    try:
        import pyspark.sql  # noqa: F401
        import sqlglot  # noqa: F401
    except ImportError:
        raise EngineError("counting on Spark needs two more packages: pip install 'tapveil[spark]'") from None


class Spark(Remote):
    """A session of Spark; see `Database`."""

    groups_at_once = True

    def __init__(
        self, session: SparkSession, files: TripFiles, memory: str, scratch: Path | None, here: ExitStack
    ) -> None:
        self.files = files
        self._memory, self._here = memory, here
        self._session = session
        self._prefix = f"tapveil_{secrets.token_hex(8)}_"
        self._scratch = scratch
        self._tables: dict[str, str] = {}
        self._views = count()

    def create(self, name: str, sql: str) -> None:
        from pyspark import StorageLevel

        # Computed now and detached from the trips: later changes do not matter, and query plans stay short.
        # The second copy covers the loss of an executor.
        self._keep(name, self._query(sql).localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY_2))

    def append(self, name: str, sql: str) -> None:
        self.create(name, f'SELECT * FROM "{name}" UNION ALL {sql}')

    def upload(self, name: str, table: pa.Table) -> None:
        frame = self._session.createDataFrame(table)
        self._keep(name, frame.hint("broadcast") if table.nbytes <= BROADCAST else frame)

    def fetch(self, sql: str) -> pa.Table:
        return self._query(sql).toArrow()

    def cells(self, sql: str, words: int) -> tuple[Integers, ...]:
        found = self.fetch(f"SELECT * FROM ({sql}) LIMIT {CELLS_AT_ONCE + 1}")
        if len(found) <= CELLS_AT_ONCE:  # most tables: a single job
            return tuple(column.to_numpy().astype(np.int64, copy=False) for column in found.columns)
        self.create("cells", sql)
        parts = self.fetch(f"SELECT word_0 // {PART} AS part, count(*) AS n FROM cells GROUP BY word_0 // {PART}")
        selected = ", ".join([*(f"word_{index}" for index in range(words)), "n"])
        with Spool(words + 1, self._scratch) as spool:
            for first, last in _pieces(dict(zip(*(parts.column(index).to_pylist() for index in (0, 1)), strict=True))):
                within = f"word_0 >= {first * PART} AND word_0 < {(last + 1) * PART}"
                piece = self.fetch(f"SELECT {selected} FROM cells WHERE {within}")
                spool.append([column.to_numpy().astype(np.int64, copy=False) for column in piece.columns])
            self._forget("cells")
            return spool.arrays()

    def holding(self, name: str) -> Database:
        from tapveil.counting.engines.duckdb.session import open_without_trips

        table = self.fetch(f'SELECT * FROM "{name}" LIMIT {GROUPS_AT_ONCE + 1}')
        if len(table) > GROUPS_AT_ONCE:
            return self
        here = self._here.enter_context(open_without_trips(self._memory, self._scratch))
        here.upload(name, table)
        return here

    def clear(self) -> None:
        for name in list(self._tables):
            self._forget(name)

    def close(self) -> None:
        """Remove our views from the session, which may be gone."""
        with suppress(Exception):
            self.clear()
        for group in self.files.groups:
            with suppress(Exception):
                self._session.catalog.dropTempView(group.relation)

    def _query(self, sql: str) -> DataFrame:
        from tapveil.counting.engines.spark.dialect import translated

        return self._session.sql(translated(sql, self._tables))

    def _keep(self, name: str, frame: DataFrame) -> None:
        """Register a frame under a generated name, since names of a plan may be invalid in Spark."""
        view = f"{self._prefix}{next(self._views)}"
        frame.createOrReplaceTempView(view)
        if name in self._tables:
            self._forget(name)
        self._tables[name] = view

    def _forget(self, name: str) -> None:
        self._session.catalog.dropTempView(self._tables.pop(name))


def _pieces(cells: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Parts in order, grouped so that each piece can be fetched at once: the first and the last part of each piece.

    >>> list(_pieces({7: 1_500_000, 2: 400_000, 3: 100_000, 9: 3_000_000}))
    [(2, 7), (9, 9)]
    """
    piece: list[int] = []
    room = CELLS_AT_ONCE
    for part, number in sorted(cells.items()):
        if piece and number > room:
            yield piece[0], piece[-1]
            piece, room = [], CELLS_AT_ONCE
        piece.append(part)
        room -= number
    if piece:
        yield piece[0], piece[-1]


_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
"""Settings that affect the meaning of our SQL, or could skip trips; set while we count."""


@contextmanager
def _settings(session: SparkSession) -> Iterator[None]:
    """Change the settings of the session, and restore them afterwards."""
    different = [name for name, value in _SETTINGS.items() if _setting(session, name) != value]
    before = {name: session.conf.get(name, None) for name in different}
    try:
        for name in different:
            session.conf.set(name, _SETTINGS[name])
        yield
    finally:
        with suppress(Exception):  # the session may be gone
            for name, old in before.items():
                session.conf.unset(name) if old is None else session.conf.set(name, old)


def _setting(session: SparkSession, name: str) -> str | None:
    from pyspark.errors import PySparkException

    try:
        found: str | None = session.conf.get(name)
    except PySparkException:  # this Spark does not know it
        return None
    return found


@contextmanager
def _session() -> Iterator[SparkSession]:
    """The user's session; or a new one with the settings of the machine, stopped afterwards."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    try:
        found = SparkSession.active()
    except PySparkException:
        found = None
    if found:
        yield found
        return
    builder = SparkSession.builder.appName("tapveil")
    if not is_remote():
        _require_java()
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        if "PYSPARK_GATEWAY_PORT" not in os.environ:
            # Not by spark-submit: neither its logs, which quote rows, nor its pages, open to the network, are needed.
            builder = builder.config("spark.log.level", "OFF").config("spark.ui.enabled", "false")
    made = builder.getOrCreate()
    try:
        yield made
    finally:
        with suppress(Exception):
            made.stop()


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")):
        raise EngineError(_NO_JAVA)


_NO_JAVA = (
    "Spark needs Java 17 or newer, which was not found. Install it (openjdk-17-jre-headless on Debian and Ubuntu, "
    "openjdk@17 in Homebrew, openjdk in conda) and set JAVA_HOME. Or use a cluster with Spark Connect (SPARK_REMOTE)"
)


@contextmanager
def _translated_errors(plan: Plan) -> Iterator[None]:
    """Translate errors: Spark's messages quote rows and are dropped."""
    try:
        yield
    except _errors() as error:
        failure: Exception = _in_our_words(error, plan)
    else:
        return
    raise failure from None


def _errors() -> tuple[type[Exception], ...]:
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    except ImportError:  # Spark Connect does without
        return PySparkException, ConnectionError
    return PySparkException, Py4JError, ConnectionError


def _in_our_words(error: Exception, plan: Plan) -> Exception:
    from pyspark.errors import PySparkException

    from tapveil.counting.engines.spark.dialect import unsure_column

    text = str(error)
    if column := unsure_column(text):
        return TripDataError(
            f"Spark writes values of the column `{column}` differently from other engines, such as numbers with many "
            "decimals or years of five digits; convert it to text or DECIMAL"
        )
    # The name of an error condition in Spark does not depend on rows.
    name = (error.getCondition() if isinstance(error, PySparkException) else None) or ""
    name = name if re.fullmatch("[A-Z0-9_.]+", name) else ""
    if name == "JAVA_GATEWAY_EXITED":
        return EngineError(_NO_JAVA)
    if name == "TABLE_OR_VIEW_NOT_FOUND":
        return TripDataError(f"Spark has no table or view `{plan.source.table}`; check `table` under [source]")
    if name in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
        return TripDataError(
            "Spark finds no Parquet files at [source] path; check that every machine of the cluster can read it"
        )
    if "FAILED_READ_FILE" in text or "CANNOT_READ_FILE_FOOTER" in text:
        return TripDataError("a trip file could not be read to its end; check that none is damaged or being written")
    if "OutOfMemory" in text or "maxResultSize" in text:
        return EngineError("Spark ran out of memory; raise spark.driver.memory or spark.executor.memory")
    if "No space left" in text:
        return EngineError("a disk of the cluster is full; set spark.local.dir to a larger one")
    return EngineError(f"Spark could not count the trips ({name or type(error).__name__}); its log has the details")
