"""Counting inside a PostgreSQL database, over ADBC: the rows stay where they are, and counts come out as Arrow.

All is one transaction with one view of the table, so rows that arrive meanwhile change nothing; what it needs are
temporary tables of its own session, and at its end it is rolled back. Who connects to where is for libpq to find out,
from its own variables or files. What the driver says may quote a row, a host or a user: its words are dropped.
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
from tapveil.counting.engines.spool import Spool
from tapveil.counting.sql.database import Remote
from tapveil.counting.sql.scan import literal, quoted
from tapveil.plan.model import Plan
from tapveil.trips import files as sources
from tapveil.trips.buffers import Integers
from tapveil.trips.files import TripFiles

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection, Cursor

_T = TypeVar("_T")

URI = "TAPVEIL_DATABASE"
"""A variable of the environment, with a connection URI; without it, libpq's own variables and files say it all."""
A_MOMENT, TIME_TO_STOP = 0.2, 10.0
"""Seconds."""
_BY_LIBPQ = "postgresql:///?fallback_application_name=tapveil"
_OPTIONS = "-c quote_all_identifiers=off -c client_min_messages=error"
"""What must be so from the first query on, which is the driver's own; what a user has in PGOPTIONS goes before."""
_VIEW = "#trips"

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
    "row_security": "off",  # rows that the role may not see would be left out in silence: refused instead
    "jit": "off",  # the plans below are said to be dear, and are not
    "enable_nestloop": "off",  # how many rows a join finds cannot be estimated here: it is always one for each
    "enable_mergejoin": "off",
    "enable_sort": "off",
}
"""So that no setting of a server, a database or a role has a say in what is counted."""


@contextmanager
def open_adbc(plan: Plan, scratch: Path | None) -> Iterator[PostgreSQL]:
    """A session in the database, over the table of a plan."""
    with ThreadPoolExecutor(1) as worker, _connection(worker) as connection, _translated_errors(plan):
        session = _Session(connection, worker)
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield PostgreSQL(_found(plan, session), session, scratch)


class PostgreSQL(Remote):
    """A database of the holder's; see `Database`."""

    def __init__(self, files: TripFiles, session: _Session, scratch: Path | None) -> None:
        self.files = files
        self._session, self._scratch = session, scratch
        self._tables: set[str] = set()

    def create(self, name: str, sql: str) -> None:
        self._make_room(name)
        self._session.execute(f"CREATE TEMP TABLE {quoted(name)} AS {_translated(sql)}")
        self._session.execute(f"ANALYZE {quoted(name)}")

    def append(self, name: str, sql: str) -> None:
        self._session.execute(f"INSERT INTO {quoted(name)} {_translated(sql)}")

    def upload(self, name: str, table: pa.Table) -> None:
        self._make_room(name)
        self._session.do(lambda cursor: cursor.adbc_ingest(name, table, mode="create", temporary=True))
        self._session.execute(f"ANALYZE {quoted(name)}")

    def fetch(self, sql: str) -> pa.Table:
        return self._session.fetch(_translated(sql))

    def cells(self, sql: str, words: int) -> tuple[Integers, ...]:
        query = _translated(sql)

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

    def _make_room(self, name: str) -> None:
        if name in self._tables:
            self._session.execute(f"DROP TABLE {quoted(name)}")
        self._tables.add(name)


# --- the session ------------------------------------------------------------------------------------------------------


class _Session:
    """One transaction. Queries run in a thread of their own: whoever waits for one can still be interrupted."""

    def __init__(self, connection: Connection, worker: ThreadPoolExecutor) -> None:
        self._connection, self._worker = connection, worker

    def do(self, work: Callable[[Cursor], _T]) -> _T:
        working = self._worker.submit(self._with_cursor, work)
        try:
            while not working.done():  # a wait without end would not always be woken by Ctrl-C
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

    def _with_cursor(self, work: Callable[[Cursor], _T]) -> _T:
        with self._connection.cursor() as cursor:
            return work(cursor)


@contextmanager
def _connection(worker: ThreadPoolExecutor) -> Iterator[Connection]:
    try:
        import sqlglot as sqlglot
        from adbc_driver_postgresql.dbapi import Error, connect  # type: ignore[import-untyped]
    except ImportError:
        raise EngineError("engine = \"adbc\" needs ADBC's driver: pip install 'tapveil[adbc]'") from None
    try:
        # In the thread of the queries: in the main one, the driver would keep Ctrl-C for itself.
        options = quote(f"{os.environ.get('PGOPTIONS', '')} {_OPTIONS}".strip())
        connection = worker.submit(connect, os.environ.get(URI) or f"{_BY_LIBPQ}&options={options}").result()
    except Error as error:
        raise EngineError(_not_connected(str(error))) from None
    try:
        yield connection
    finally:
        with suppress(Error, RuntimeError):  # a session that is lost is closed already; or its query does not end
            connection.close()


_NOT_CONNECTED = {
    "password authentication failed": "it refused the user or the password",
    "no password supplied": "it asks for a password, and none was given",
    "authentication failed": "it refused the user",
    "definition of service": "there is no such service in the service file",
    "does not exist": "it knows no such database or user",
    "could not translate host name": "there is no such host",
    "Connection refused": "nothing answers there",
    "No such file or directory": "nothing answers there",
    "timeout": "nothing answered in time",
}
"""What of libpq's own message says why, which state it leaves out: only the words here are ever repeated."""


def _not_connected(message: str) -> str:
    why = next((ours for theirs, ours in _NOT_CONNECTED.items() if theirs in message), "is it there, and running?")
    return (
        f"no connection to the database ({why}); libpq reads PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD or "
        f"PGPASSFILE, or PGSERVICE with a service file; or {URI} has a URI. `psql` reads the same, and says more"
    )


def _found(plan: Plan, session: _Session) -> TripFiles:
    """The table of a plan, looked at and seen through a view that has the columns which the plan names, and no more."""
    from tapveil.counting.engines.postgresql.dialect import raw_type, view_sql

    name = str(plan.source.table)
    relation, types = _columns(session, name)
    files = sources.table(plan, name, {column: raw_type(base) for column, base in types.items()}, quoted(_VIEW))
    for setting, value in _SETTINGS.items():
        session.execute(f"SET {setting} = {value if setting == 'search_path' else literal(value)}")
    if session.fetch("SELECT current_setting('server_encoding')").column(0)[0].as_py() != "UTF8":
        raise EngineError("the database has texts in another encoding than UTF8; export the trips to files instead")
    named = {column: types[column] for column in sorted(set(plan.columns.named.values()))}
    session.execute(view_sql(_VIEW, relation, named))
    return files


def _columns(session: _Session, name: str) -> tuple[str, dict[str, str]]:
    """A table by its whole name, and its columns with their types; those of a domain are what it is made of."""
    parts = ".".join(quoted(part) for part in name.split("."))
    found = session.fetch(_COLUMNS.format(table=literal(parts))).to_pylist()
    if not found:
        raise TripDataError(
            f"the database has no table or view `{name}` that the role can find; name its schema, and write capital "
            "letters as they are there"
        )
    return found[0]["relation"], {row["name"]: row["base"] for row in found}


_COLUMNS = """
WITH RECURSIVE below AS (
  SELECT attnum, atttypid AS type FROM pg_catalog.pg_attribute
  WHERE attrelid = pg_catalog.to_regclass({table}) AND attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT attnum, typbasetype FROM below JOIN pg_catalog.pg_type ON pg_type.oid = type WHERE typtype = 'd'
)
SELECT pg_catalog.format('%I.%I', nspname, relname) AS relation, CAST(attname AS text) AS name, CAST(CASE
  WHEN pg_type.typnamespace = 'pg_catalog'::pg_catalog.regnamespace THEN typname ELSE '' END AS text) AS base
FROM below JOIN pg_catalog.pg_type ON pg_type.oid = type AND typtype <> 'd'
JOIN pg_catalog.pg_attribute USING (attnum) JOIN pg_catalog.pg_class ON pg_class.oid = attrelid
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
WHERE attrelid = pg_catalog.to_regclass({table}) AND relkind IN ('r', 'v', 'm', 'f', 'p') ORDER BY attnum
"""


def _translated(sql: str) -> str:
    from tapveil.counting.engines.postgresql.dialect import translated

    return translated(sql)


# --- what went wrong --------------------------------------------------------------------------------------------------


@contextmanager
def _translated_errors(plan: Plan) -> Iterator[None]:
    """The driver's messages quote rows, hosts and users: say what happened in our own words, and drop theirs."""
    from adbc_driver_manager import Error

    try:
        yield
    except Error as error:
        raise _in_our_words(error.sqlstate or "", str(plan.source.table)) from None


_LOST = "the connection to the database was lost while it counted; nothing of it is left there"
_WORDS: dict[str, str] = {
    "57014": "the database stopped a query that took too long, or that its owner cancelled (statement_timeout)",
    "53100": "the disk of the database is full: counting needs room for temporary tables",
    "53200": "the database ran out of memory; lower work_mem for the role",
    "53400": "the database has a limit that counting goes beyond (temp_file_limit)",
    "25006": "the database is read-only (a standby?); counting needs temporary tables",
    "54000": "the plan has more columns than the database can take",
}


def _in_our_words(state: str, table: str) -> TapveilError:
    if state == "42501":
        return TripDataError(
            f"the role may not read all of `{table}`; it needs SELECT on every column that the plan names (and no "
            "row-level policy), USAGE on its schema, and TEMP on the database"
        )
    if state[:2] == "22":
        return TripDataError(
            f"`{table}` has a value that the database itself cannot read, or is a view that fails (SQLSTATE {state})"
        )
    if state in _WORDS:
        return EngineError(_WORDS[state])
    if not state or state[:2] == "08" or state[:3] == "57P" or state == "25P03":
        return EngineError(_LOST)
    return EngineError(f"the database could not count the trips (SQLSTATE {state})")
