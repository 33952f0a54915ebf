"""Counting inside a PostgreSQL database, over ADBC: the rows stay where they are, and counts come out as Arrow.

Everything is one transaction with one view of the table, so rows that arrive meanwhile change nothing. It needs
temporary tables in its own session, and is rolled back at the end. libpq finds the connection from its own variables
or files. Messages of the driver may quote a row, a host or a user: they are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import pyarrow as pa

from tapveil.base.errors import EngineError, TapveilError, TripDataError
from tapveil.counting.engines.postgresql.views import find_trips
from tapveil.counting.engines.spool import Spool
from tapveil.counting.sql.database import Remote
from tapveil.counting.sql.scan import literal, quoted
from tapveil.plan.model import Plan
from tapveil.trips.buffers import Integers
from tapveil.trips.files import TripFiles

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection, Cursor
    from sqlglot import exp

_T = TypeVar("_T")

URI = "TAPVEIL_DATABASE"
"""Environment variable with a connection URI; without it, libpq's own variables and files apply."""
A_MOMENT, TIME_TO_STOP = 0.2, 10.0
"""Seconds."""
_BY_LIBPQ = "postgresql:///?fallback_application_name=tapveil"
_OPTIONS = "-c quote_all_identifiers=off -c client_min_messages=error"
"""Settings required from the first query on, which is the driver's own; PGOPTIONS of the user come first."""

_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",  # nobody else's functions and operators
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "xmlbinary": "base64",
    "transform_null_equals": "off",
    "row_security": "off",  # rows hidden by a policy would be omitted silently: an error instead
    "jit": "off",  # the planner overestimates the cost of the plans below
    "enable_nestloop": "off",  # the planner cannot know that each join finds exactly one row
    "enable_mergejoin": "off",
    "enable_sort": "off",
}
WORK_MEMORY = "64MB"
"""For each sort and hash table of a query: with 4 MB, as servers come, even the groups of a few days go to the disk."""


@contextmanager
def open_session(plan: Plan, memory: str, scratch: Path | None) -> Iterator[PostgreSQL]:
    """Open a session in the database, over the table of a plan. The database manages its own memory."""
    with ThreadPoolExecutor(1) as worker, _connection(worker) as connection, _translated_errors(plan):
        session = Session(connection, worker)
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield PostgreSQL(session, find_trips(session, plan), scratch)


class PostgreSQL(Remote):
    """A database of the data custodian; see `Database`."""

    rereads = True
    keeps_order = True

    def __init__(self, session: Session, files: TripFiles, scratch: Path | None) -> None:
        self.files = files
        self._session, self._scratch = session, scratch
        self._tables: set[str] = set()
        self._listed: dict[str, exp.Expr] = {}

    def create(self, name: str, sql: str) -> None:
        self._make_room(name)
        # Ranks need a sort, and so do several tables where their cells are many. Switched off, it would seem so costly
        # that the planner looks at nothing else: not at several workers either.
        sorts = "OVER" in sql or "GROUPING" in sql
        self._session.execute(f"SET enable_sort = {'on' if sorts else 'off'}")
        self._session.execute(f"CREATE TEMP TABLE {quoted(name)} AS {self._translated(sql)}")
        self._session.execute(f"ANALYZE {quoted(name)}")

    def append(self, name: str, sql: str) -> None:
        self._session.execute(f"INSERT INTO {quoted(name)} {self._translated(sql)}")

    def upload(self, name: str, table: pa.Table) -> None:
        from tapveil.counting.engines.postgresql.dialect import in_a_query

        self._listed.pop(name, None)
        if rows := in_a_query(name, table):
            self._listed[name] = rows
            return
        self._make_room(name)
        self._session.do(lambda cursor: cursor.adbc_ingest(name, table, mode="create", temporary=True))
        self._session.execute(f"ANALYZE {quoted(name)}")

    def fetch(self, sql: str) -> pa.Table:
        return self._session.fetch(self._translated(sql))

    def cells(self, sql: str, words: int) -> tuple[Integers, ...]:
        query = self._translated(sql)

        def spooled(cursor: Cursor) -> tuple[Integers, ...]:
            cursor.execute(query)
            with Spool(words + 1, self._scratch) as spool:
                for batch in cursor.fetch_record_batch():
                    spool.append([column.to_numpy(zero_copy_only=False) for column in batch.columns])
                return spool.arrays()

        return self._session.do(spooled)

    def clear(self) -> None:
        for name in sorted(self._tables):
            self._session.execute(f"DROP TABLE {quoted(name)}")
        self._tables.clear()
        self._listed.clear()

    def _translated(self, sql: str) -> str:
        from tapveil.counting.engines.postgresql.dialect import translated

        return translated(sql, self._listed)

    def _make_room(self, name: str) -> None:
        if name in self._tables:
            self._session.execute(f"DROP TABLE {quoted(name)}")
        self._tables.add(name)


class Session:
    """One transaction. Queries run in a separate thread, so that waiting for one can be interrupted."""

    def __init__(self, connection: Connection, worker: ThreadPoolExecutor) -> None:
        self._connection, self._worker = connection, worker

    def do(self, work: Callable[[Cursor], _T]) -> _T:
        def with_cursor() -> _T:
            with self._connection.cursor() as cursor:
                return work(cursor)

        working = self._worker.submit(with_cursor)
        try:
            while not working.done():  # Ctrl-C may not interrupt an unlimited wait
                wait([working], timeout=A_MOMENT)
            return working.result()
        except KeyboardInterrupt:
            with suppress(self._connection.Error):
                self._connection.adbc_cancel()
            wait([working], timeout=TIME_TO_STOP)
            raise

    def execute(self, sql: str) -> None:
        self.do(lambda cursor: cursor.execute(sql))

    def fetch(self, sql: str) -> pa.Table:
        def fetched(cursor: Cursor) -> pa.Table:
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

        return self.do(fetched)

    def settle(self) -> None:
        """Override the settings of the server, the database and the role that could change the counts."""
        for setting, value in _SETTINGS.items():
            self.execute(f"SET {setting} = {value if setting == 'search_path' else literal(value)}")
        if self.fetch("SELECT current_setting('server_encoding')").column(0)[0].as_py() != "UTF8":
            raise EngineError("the encoding of the database is not UTF8; export the trips to files instead")
        self.fetch(_MORE_MEMORY)


_MORE_MEMORY = f"""
SELECT set_config('work_mem', '{WORK_MEMORY}', false) FROM pg_settings
WHERE name = 'work_mem' AND pg_size_bytes(current_setting(name)) < pg_size_bytes('{WORK_MEMORY}')
AND source NOT IN ('database', 'user', 'database user', 'client')
"""
"""What is set for the role, its database or this session alone was meant for it, and stays."""


@contextmanager
def _connection(worker: ThreadPoolExecutor) -> Iterator[Connection]:
    try:
        import sqlglot as sqlglot
        from adbc_driver_postgresql.dbapi import Error, connect  # type: ignore[import-untyped]
    except ImportError:
        raise EngineError("engine = \"adbc\" needs the ADBC driver: pip install 'tapveil[adbc]'") from None
    try:
        # In the thread of the queries: in the main one, the driver would keep Ctrl-C for itself.
        options = quote(f"{os.environ.get('PGOPTIONS', '')} {_OPTIONS}".strip())
        connection = worker.submit(connect, os.environ.get(URI) or f"{_BY_LIBPQ}&options={options}").result()
    except Error as error:
        known = (ours for theirs, ours in _NOT_CONNECTED.items() if theirs in str(error))
        raise EngineError(
            f"cannot connect to the database ({next(known, 'check that it is running')}). Set PGHOST, PGPORT, "
            f"PGDATABASE, PGUSER and PGPASSWORD or PGPASSFILE; or PGSERVICE; or {URI} with a URI. "
            "`psql` uses the same variables and reports more"
        ) from None
    try:
        yield connection
    finally:
        with suppress(Error, RuntimeError):  # a session that is lost is closed already; or its query does not end
            connection.close()


_NOT_CONNECTED = {
    "password authentication failed": "wrong user or password",
    "no password supplied": "a password is required",
    "authentication failed": "authentication failed",
    "definition of service": "unknown service",
    "does not exist": "unknown database or user",
    "could not translate host name": "unknown host",
    "Connection refused": "no server is listening",
    "No such file or directory": "no server is listening",
    "timeout": "timeout",
}
"""The reasons in libpq's messages, which have no state; only the words here are ever repeated."""


@contextmanager
def _translated_errors(plan: Plan) -> Iterator[None]:
    """Translate errors: the driver's messages quote rows, hosts and users, and are dropped."""
    from adbc_driver_manager import Error

    try:
        yield
    except Error as error:
        raise _in_our_words(error.sqlstate or "", str(plan.source.table)) from None


_LOST = "the connection to the database was lost during counting; no data remains there. Run the command again"
_WORDS: dict[str, str] = {
    "57014": "the database cancelled a query; raise statement_timeout for the role",
    "53100": "the disk of the database is full; counting needs room for temporary tables",
    "53200": "the database ran out of memory; lower work_mem for the role",
    "53400": "a limit of the database was reached; raise temp_file_limit for the role",
    "25006": "the database is read-only (a standby?); use one that allows temporary tables",
    "54000": "the plan has more columns than the database allows; use fewer",
}


def _in_our_words(state: str, table: str) -> TapveilError:
    if state == "42501":
        return TripDataError(
            f"the role cannot read all of `{table}`. Grant SELECT on all columns of the plan, without a row-level "
            "policy; USAGE on its schema; and TEMP on the database"
        )
    if state[:2] == "22":
        return TripDataError(
            f"`{table}` has a value that the database cannot read, or is a view that fails (SQLSTATE {state})"
        )
    if state in _WORDS:
        return EngineError(_WORDS[state])
    if not state or state[:2] == "08" or state[:3] == "57P" or state == "25P03":
        return EngineError(_LOST)
    return EngineError(f"the database could not count the trips (SQLSTATE {state}); its log has the details")
