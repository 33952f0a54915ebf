"""Counting inside a PostgreSQL database, over ADBC: the rows stay where they are, and counts come out as Arrow.

All is one transaction with one view of the table, so rows that arrive meanwhile change nothing; what it needs are
temporary tables of its own session, and at its end it is rolled back. Who connects to where is for libpq to find out,
from its own variables or files. What the driver says may quote a row, a host or a user: its words are dropped.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tapveil import trips
from tapveil.counting.database import Integers, Places
from tapveil.counting.scan import literal, quoted
from tapveil.counting.spool import Spool
from tapveil.errors import EngineError, TapveilError, TripDataError
from tapveil.plan import Plan
from tapveil.progress import Reporter
from tapveil.trips import TripFiles

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

URI = "TAPVEIL_DATABASE"
"""A variable of the environment, with a connection URI; without it, libpq's own variables and files say it all."""
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
    with _connection() as connection, _translated_errors(plan), connection:
        _execute(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield PostgreSQL(_found(plan, connection), connection, scratch)


class PostgreSQL:
    """A database of the holder's; see `Database`."""

    locates = False
    rows_at_once: int | None = None

    def __init__(self, files: TripFiles, connection: Connection, scratch: Path | None) -> None:
        self.files = files
        self._connection, self._scratch = connection, scratch
        self._tables: set[str] = set()

    def stage(self, progress: Reporter, name: str, passes: int = 1) -> AbstractContextManager[None]:
        return progress.stage(name)

    def read(self, into: str, sql: str, columns: Collection[str]) -> Counter[str]:
        self.create(into, sql)
        return Counter()

    def look(self, sql: str, columns: Collection[str], *, numbered: bool = False) -> tuple[pa.Table, Places]:
        return self.fetch(sql), {}

    def create(self, name: str, sql: str) -> None:
        self._make_room(name)
        _execute(self._connection, f"CREATE TEMP TABLE {quoted(name)} AS {_translated(sql)}")
        _execute(self._connection, f"ANALYZE {quoted(name)}")

    def append(self, name: str, sql: str) -> None:
        _execute(self._connection, f"INSERT INTO {quoted(name)} {_translated(sql)}")

    def upload(self, name: str, table: pa.Table) -> None:
        self._make_room(name)
        with self._connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create", temporary=True)
        _execute(self._connection, f"ANALYZE {quoted(name)}")

    def fetch(self, sql: str) -> pa.Table:
        return _fetch(self._connection, _translated(sql))

    def cells(self, sql: str, words: int) -> tuple[Integers, ...]:
        with Spool(words + 1, self._scratch) as spool, self._connection.cursor() as cursor:
            cursor.execute(_translated(sql))
            for batch in cursor.fetch_record_batch():
                spool.append([column.to_numpy(zero_copy_only=False).astype(np.int64) for column in batch.columns])
            return spool.arrays()

    def clear(self) -> None:
        for name in sorted(self._tables):
            _execute(self._connection, f"DROP TABLE {quoted(name)}")
        self._tables.clear()

    def _make_room(self, name: str) -> None:
        if name in self._tables:
            _execute(self._connection, f"DROP TABLE {quoted(name)}")
        self._tables.add(name)


# --- the session ------------------------------------------------------------------------------------------------------


@contextmanager
def _connection() -> Iterator[Connection]:
    try:
        import sqlglot as sqlglot
        from adbc_driver_postgresql.dbapi import Error, connect  # type: ignore[import-untyped]
    except ImportError:
        raise EngineError("engine = \"adbc\" needs ADBC's driver: pip install 'tapveil[adbc]'") from None
    try:
        connection = connect(os.environ.get(URI) or "postgresql:///?fallback_application_name=tapveil")
    except Error as error:
        raise EngineError(_not_connected(error.sqlstate)) from None
    try:
        yield connection
    finally:
        with suppress(Error):  # a session that is lost is closed already
            connection.close()


def _not_connected(state: str | None) -> str:
    why = "it refused the user or the password" if (state or "").startswith("28") else "is it there, and running?"
    return (
        f"no connection to the database ({why}); libpq reads PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD or "
        f"PGPASSFILE, or PGSERVICE with a service file; or {URI} has a URI"
    )


def _found(plan: Plan, connection: Connection) -> TripFiles:
    """The table of a plan, looked at and seen through a view that has the columns which the plan names, and no more."""
    from tapveil.counting.postgresql import raw_type, view_sql

    name = str(plan.source.table)
    relation, types = _columns(connection, name)
    files = trips.table(plan, name, {column: raw_type(base) for column, base in types.items()}, quoted(_VIEW))
    for setting, value in _SETTINGS.items():
        _execute(connection, f"SET {setting} = {value if setting == 'search_path' else literal(value)}")
    if _fetch(connection, "SELECT current_setting('server_encoding')").column(0)[0].as_py() != "UTF8":
        raise EngineError("the database has texts in another encoding than UTF8; export the trips to files instead")
    named = {column: types[column] for column in sorted(set(plan.named_columns.values()))}
    _execute(connection, view_sql(_VIEW, relation, named))
    return files


def _columns(connection: Connection, name: str) -> tuple[str, dict[str, str]]:
    """A table by its whole name, and its columns with their types; those of a domain are what it is made of."""
    parts = ".".join(quoted(part) for part in name.split("."))
    found = _fetch(connection, _COLUMNS.format(table=literal(parts))).to_pylist()
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
    from tapveil.counting.postgresql import translated

    return translated(sql)


def _execute(connection: Connection, sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def _fetch(connection: Connection, sql: str) -> pa.Table:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()


# --- what went wrong --------------------------------------------------------------------------------------------------


@contextmanager
def _translated_errors(plan: Plan) -> Iterator[None]:
    """The driver's messages quote rows, hosts and users: say what happened in our own words, and drop theirs."""
    from adbc_driver_manager import Error

    try:
        yield
    except Error as error:
        raise _in_our_words(error.sqlstate or "", str(plan.source.table)) from None
    except (pa.ArrowException, OSError):  # a stream of batches that breaks off
        raise EngineError(_LOST) from None


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
            f"the role may not read all of `{table}`; it needs SELECT on it (and no row-level policy), USAGE on its "
            "schema, and TEMP on the database"
        )
    if state[:2] == "22":
        return TripDataError(f"`{table}` has a value that the database itself cannot read (SQLSTATE {state})")
    if state in _WORDS:
        return EngineError(_WORDS[state])
    if not state or state[:2] == "08" or state[:3] == "57P" or state == "25P03":
        return EngineError(_LOST)
    return EngineError(f"the database could not count the trips (SQLSTATE {state})")
