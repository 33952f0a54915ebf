"""DuckDB's SQL translated to PostgreSQL's: parsed, changed where the two differ, and written again.

The types of columns are fixed before, by a view over the agency's table (`views`), so the remaining casts cannot fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa
import sqlglot
from sqlglot import exp

from tapveil.base.errors import EngineError
from tapveil.counting.engines.translation import Change, changed, written
from tapveil.counting.sql.scan import literal


def translated(sql: str, listed: Mapping[str, exp.Expr] = MappingProxyType({})) -> str:
    """Translate a query from DuckDB's SQL to PostgreSQL's; `listed` has the rows of tables that only queries have.

    >>> translated("SELECT a // 2 FROM (SELECT sum(n) AS a FROM t)")
    'SELECT "a" / 2 FROM (SELECT CAST(SUM("n") AS BIGINT) AS "a" FROM "t") AS "#1"'
    >>> translated("WITH trips AS NOT MATERIALIZED (SELECT lower(a) AS b FROM t) SELECT b FROM trips")
    'SELECT "b" FROM (SELECT LOWER("a") AS "b" FROM "t" OFFSET \\'0\\') AS "trips"'
    """

    def rows_of(node: exp.Expr) -> exp.Expr:
        return listed[node.name].copy() if node.name in listed and not node.args.get("db") else node

    def same(node: exp.Expr) -> exp.Expr:
        return _same(node, "DATE" if _has_days(listed.get(node.expression.table)) else "TEXT")

    tree = changed(sql, {**_CHANGES, exp.Table: rows_of, exp.NullSafeEQ: same})
    _each_once(tree)
    unnamed = [each for each in tree.find_all(exp.Subquery) if isinstance(each.parent, exp.From) and not each.alias]
    for number, subquery in enumerate(unnamed, start=1):
        subquery.set("alias", exp.TableAlias(this=exp.to_identifier(f"#{number}", quoted=True)))
    return written(tree, "postgres")


def in_a_query(name: str, table: pa.Table) -> exp.Expr | None:
    """The rows of a small table, as a part of a query: temporary tables cannot be read by several workers at a time.

    None where it is too large, or a value cannot be written there.
    """
    kinds = [next((kind for is_so, kind in _WRITABLE if is_so(field.type)), None) for field in table.schema]
    if not 0 < len(table) <= _MOST_IN_A_QUERY or None in kinds:
        return None
    try:
        columns = [column.to_pylist() for column in table.columns]
    except (ValueError, OverflowError):  # days that Python's calendar does not have
        return None
    rows = [
        ", ".join(f"({_written(value, str(kind))})" for value, kind in zip(row, kinds, strict=True))
        for row in zip(*columns, strict=True)
    ]
    columns_of = ", ".join(f'"{each}"' for each in table.column_names)
    query = f'SELECT * FROM (VALUES {", ".join(f"({row})" for row in rows)}) AS "#rows"({columns_of})'
    return exp.Subquery(
        this=sqlglot.parse_one(query, read="postgres"), alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True))
    )


def _written(value: object, kind: str) -> str:
    text = "NULL" if value is None else str(value) if isinstance(value, int) else literal(str(value))
    return f"CAST({text} AS {kind})"


_MOST_IN_A_QUERY = 2_000
_WRITABLE = ((pa.types.is_string, "TEXT"), (pa.types.is_int64, "BIGINT"), (pa.types.is_date32, "DATE"))


def _sql(template: str, **parts: exp.Expr) -> exp.Expr:
    """PostgreSQL's own SQL, with parts of a tree as its parameters."""
    tree = sqlglot.parse_one(template, read="postgres")
    return exp.replace_placeholders(tree, **{name: part.copy() for name, part in parts.items()})


def _md5_number(node: exp.Expr) -> exp.Expr:
    """DuckDB reads the 16 bytes of an MD5 as one number, the last byte first; as bits, they sort alike.

    The hexadecimal digits are reversed, and then each pair of digits, which is one byte, is reversed back.
    """
    turned = "SELECT CAST('x' || REVERSE(MD5(:text)) AS BIT(128)) AS bits OFFSET 0"  # evaluated once, not at each use
    high, low = (f"CAST('x{16 * digits}' AS BIT(128))" for digits in ("f0", "0f"))
    both = f"((bits << 4) & {high}) | ((bits >> 4) & {low})"
    return _sql(f"(SELECT {both} FROM ({turned}) AS turned)", text=node.expressions[0])


def _md5(node: exp.Expr) -> exp.Expr:
    """The first 16 of its digits as one number: more are not asked for, and each conversion of texts costs time."""
    return _sql("CAST(CAST(CAST('x' || MD5(:text) AS BIT(128)) AS BIT(64)) AS BIGINT)", text=node.this)


def _cast(node: exp.Expr) -> exp.Expr:
    """Eight hexadecimal digits of an MD5 as a number: the first, or those after them."""
    if isinstance(node.this, exp.DPipe) and node.this.this.name == "0x":
        digits = node.this.expression
        half = ":hash >> 32" if digits.args["start"].name == "1" else ":hash"
        return _sql(f"(({half}) & {0xFFFFFFFF})", hash=digits.this)
    return node


def _microseconds(node: exp.Expr) -> exp.Expr:
    """Of a time of day; EXTRACT, as sqlglot would write it, computes in `numeric`, which is slower."""
    seconds = exp.Anonymous(this="date_part", expressions=[exp.Literal.string("epoch"), node.expressions[0].copy()])
    return _sql("CAST(:seconds * 1000000 AS BIGINT)", seconds=seconds)


def _try_cast(node: exp.Expr) -> exp.Expr:
    """The view ensures that casts work; only an integer may be too large."""
    value: exp.Expr = node.this
    to = node.args["to"]
    if to.is_type("bigint"):
        room = ":value >= -9223372036854775808 AND :value < 9223372036854775807.5"
        return _sql(f"CASE WHEN {room} THEN CAST(:value AS BIGINT) END", value=value)
    if to.is_type("double"):
        return value  # numbers of all types can be compared as they are
    return exp.Cast(this=value, to=to)


def _nullif(node: exp.Expr) -> exp.Expr:
    """PostgreSQL writes NaN and Infinity, DuckDB nan and inf."""
    if node.expression.is_string and node.expression.name == "nan":
        node.set("this", _sql("REPLACE(LOWER(:text), 'infinity', 'inf')", text=node.this.copy()))
    return node


def _typeof(node: exp.Expr) -> exp.Expr:
    names = "WHEN 'real' THEN 'FLOAT' WHEN 'double precision' THEN 'DOUBLE'"
    return _sql(f"CASE CAST(PG_TYPEOF(:value) AS TEXT) {names} END", value=node.this)


def _same(node: exp.Expr, kind: str) -> exp.Expr:
    """Equal, or both missing: in a form that can be joined by hash, which IS NOT DISTINCT FROM cannot."""
    none = "CAST('-infinity' AS DATE)" if kind == "DATE" else "''"
    values = " = ".join(f"COALESCE(CAST({each} AS {kind}), {none})" for each in (":one", ":other"))
    return _sql(f"{values} AND (:one IS NULL) = (:other IS NULL)", one=node.this, other=node.expression)


def _has_days(rows: exp.Expr | None) -> bool:
    """Whether the first value of a listed row is a day: to compare days as texts takes longer."""
    first = rows.find(exp.Cast, bfs=False) if rows else None
    return bool(first and first.to.is_type("date"))


def _each_once(tree: exp.Expr) -> None:
    """Keep PostgreSQL from computing a value of the trips again at each use: a query with an OFFSET stays one.

    A part of a WITH clause would be left to a single process, and so would a query with the number 0 as its OFFSET: it
    becomes a `bigint` only after the planner has looked.
    """
    clause = tree.args.get("with_")
    for part in list(clause.expressions) if clause else ():
        if part.args.get("materialized") is False:
            for query in [each for each in part.this.find_all(exp.Select) if not _lists(each)]:
                query.set("offset", exp.Offset(expression=exp.Literal.string("0")))
            name = exp.TableAlias(this=exp.to_identifier(part.alias, quoted=True))
            for table in [each for each in tree.find_all(exp.Table) if each.name == part.alias]:
                table.replace(exp.Subquery(this=part.this.copy(), alias=name.copy()))
            part.pop()
    if clause and not clause.expressions:
        clause.pop()


def _lists(query: exp.Select) -> bool:
    """Whether it is a small table written into the query."""
    rows = query.args.get("from_")
    return bool(rows and isinstance(rows.this, exp.Values))


def _text(node: exp.Expr) -> exp.Expr:
    if node.is_string and "\0" in node.name:
        raise EngineError("PostgreSQL cannot store texts with the character NUL; remove it from the plan")
    return node


_CHANGES: dict[str | type[exp.Expr], Change] = {
    "md5_number": _md5_number,
    "epoch_us": _microseconds,
    exp.Try: lambda node: node.this,
    exp.MD5: _md5,
    exp.Cast: _cast,
    exp.TryCast: _try_cast,
    exp.Nullif: _nullif,
    exp.Typeof: _typeof,
    exp.IntDiv: lambda node: exp.Div(this=node.this, expression=node.expression, typed=True, safe=False),
    exp.Sum: lambda node: node if isinstance(node.parent, exp.Cast) else exp.cast(node.copy(), "bigint"),
    exp.Literal: _text,
}
