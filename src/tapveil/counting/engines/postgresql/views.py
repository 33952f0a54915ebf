"""The trips in PostgreSQL: a table, as a view with the types of DuckDB.

Integers are `bigint`, texts are compared by bytes regardless of the collation, and types that DuckDB does not know are
text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapveil.base.errors import TripDataError
from tapveil.counting.sql.scan import literal, quoted
from tapveil.plan.model import Plan
from tapveil.trips import files as sources
from tapveil.trips.files import RawType, TripFiles

if TYPE_CHECKING:
    from tapveil.counting.engines.postgresql.session import Session

_VIEW = quoted("#trips")


def find_trips(session: Session, plan: Plan) -> TripFiles:
    """The table of a plan, as a view with only the columns that the plan names."""
    name = str(plan.source.table)
    parts = ".".join(quoted(part) for part in name.split("."))
    found = session.fetch(_COLUMNS.format(table=literal(parts))).to_pylist()
    if not found:
        raise TripDataError(f"the role finds no table or view `{name}`; add its schema, and check upper and lower case")
    types = {row["name"]: row["base"] for row in found}
    files = sources.table(plan, name, {column: _RAW.get(base, "text") for column, base in types.items()}, _VIEW)
    session.settle()  # not before: the table is found as the role would find it
    named = {column: types[column] for column in sorted(set(plan.columns.named.values()))}
    selected = ", ".join(f"{_plain(quoted(column), base)} AS {quoted(column)}" for column, base in named.items())
    session.execute(f"CREATE TEMP VIEW {_VIEW} AS SELECT {selected} FROM {found[0]['relation']}")
    return files


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
"""The full name of a table, and its columns with their types; a domain has its base type."""


_RAW: dict[str, RawType] = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8", "numeric"), "number"),
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "timestamptz": "instant",
}


def _plain(column: str, base: str) -> str:
    """A column of this base type, cast so that its text equals DuckDB's."""
    if _RAW.get(base) == "integer":
        return f"CAST({column} AS bigint)"
    if base in _RAW:
        return f"CAST({column} AS {base})"
    if base == "bytea":  # as in DuckDB: text, if it is UTF-8, or else hexadecimal digits
        digits = f"encode({column}, 'hex')"
        text = f"CASE WHEN {digits} ~ '{_UTF8}' THEN convert_from({column}, 'UTF8') ELSE upper({digits}) END"
        return f'({text}) COLLATE "C"'
    return f'CAST({column} AS text) COLLATE "C"'


_UTF8 = (
    "^(0[1-9a-f]|[1-7].|c[2-9a-f][89ab].|d.[89ab].|e0[ab].[89ab].|e[1-9a-cef][89ab].[89ab].|ed[89].[89ab]."
    "|f0[9ab].([89ab].){2}|f[123].([89ab].){3}|f48.([89ab].){2})*$"
)
"""The hexadecimal digits of UTF-8 text without the character NUL, which PostgreSQL cannot store."""
