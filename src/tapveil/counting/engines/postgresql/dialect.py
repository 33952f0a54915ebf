"""DuckDB's SQL as PostgreSQL's: parsed, changed where the two differ, and written again.

What a column holds is settled before, by a view over the agency's table (`view_sql`): whole numbers are `bigint`, texts
are compared by their bytes, whatever the collation says, and what PostgreSQL alone knows is text. So no cast that is
left in the SQL can fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import exp

from tapveil.base.errors import EngineError
from tapveil.counting.sql.scan import quoted
from tapveil.trips.files import RawType

_RAW: dict[str, RawType] = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8", "numeric"), "number"),
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "timestamptz": "instant",
}


def raw_type(base: str) -> RawType:
    """What a column of this type holds, as the view has it."""
    return _RAW.get(base, "text")


def view_sql(name: str, relation: str, columns: Mapping[str, str]) -> str:
    """A view of these columns of a table, given the type of each, below any domain."""
    selected = ", ".join(f"{_plain(quoted(column), base)} AS {quoted(column)}" for column, base in columns.items())
    return f"CREATE TEMP VIEW {quoted(name)} AS SELECT {selected} FROM {relation}"


def _plain(column: str, base: str) -> str:
    if raw_type(base) == "integer":
        return f"CAST({column} AS bigint)"
    if base in _RAW:
        return f"CAST({column} AS {base})"
    if base == "bytea":  # as DuckDB has it: text without a note that it is, or else a hash, by its digits
        digits = f"encode({column}, 'hex')"
        text = f"CASE WHEN {digits} ~ '{_UTF8}' THEN convert_from({column}, 'UTF8') ELSE upper({digits}) END"
        return f'({text}) COLLATE "C"'
    return f'CAST({column} AS text) COLLATE "C"'


_UTF8 = (
    "^(0[1-9a-f]|[1-7].|c[2-9a-f][89ab].|d.[89ab].|e0[ab].[89ab].|e[1-9a-cef][89ab].[89ab].|ed[89].[89ab]."
    "|f0[9ab].([89ab].){2}|f[123].([89ab].){3}|f48.([89ab].){2})*$"
)
"""The hexadecimal digits of UTF-8 that PostgreSQL can hold as text: it has no character NUL."""


def translated(sql: str) -> str:
    """A query in DuckDB's SQL, in PostgreSQL's.

    >>> translated("SELECT a // 2 FROM (SELECT sum(n) AS a FROM t)")
    'SELECT "a" / 2 FROM (SELECT CAST(SUM("n") AS BIGINT) AS "a" FROM "t") AS "#1"'
    """
    tree = sqlglot.parse_one(sql, read="duckdb")
    for node in reversed(list(tree.walk())):  # what lies inside comes first: it is copied into what is made of it
        change = _CHANGES.get(node.name.lower() if isinstance(node, exp.Anonymous) else type(node))
        changed = change(node) if change else node
        if changed is not node:
            node.replace(changed)
    unnamed = [each for each in tree.find_all(exp.Subquery) if isinstance(each.parent, exp.From) and not each.alias]
    for number, subquery in enumerate(unnamed, start=1):
        subquery.set("alias", exp.TableAlias(this=exp.to_identifier(f"#{number}", quoted=True)))
    return tree.sql("postgres", identify=True, unsupported_level=sqlglot.ErrorLevel.RAISE)


def _sql(template: str, **parts: exp.Expr) -> exp.Expr:
    """A piece of PostgreSQL's own SQL, with parts of a tree in the places of its parameters."""
    tree = sqlglot.parse_one(template, read="postgres")
    return exp.replace_placeholders(tree, **{name: part.copy() for name, part in parts.items()})


def _md5_number(node: exp.Expr) -> exp.Expr:
    """DuckDB takes the 16 bytes of an MD5 for one number, the last byte first: as bits, they sort as it does.

    The digits are turned round, and then each pair of them, of which one byte is made, turned back.
    """
    turned = "SELECT CAST('x' || REVERSE(MD5(:text)) AS BIT(128)) AS bits OFFSET 0"  # once, not where it is used
    high, low = (f"CAST('x{16 * digits}' AS BIT(128))" for digits in ("f0", "0f"))
    both = f"((bits << 4) & {high}) | ((bits >> 4) & {low})"
    return _sql(f"(SELECT {both} FROM ({turned}) AS turned)", text=node.expressions[0])


def _epoch_us(node: exp.Expr) -> exp.Expr:
    return _sql("CAST(DATE_PART('epoch', :time) * 1000000 AS BIGINT)", time=node.expressions[0])


def _try_cast(node: exp.Expr) -> exp.Expr:
    """The view has seen to it that a cast works; only a whole number may be too large."""
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


def _same(node: exp.Expr) -> exp.Expr:
    """Equal, or both missing: in a form that can be joined by hash, which IS NOT DISTINCT FROM cannot."""
    texts = "COALESCE(CAST(:one AS TEXT), '') = COALESCE(CAST(:other AS TEXT), '')"
    return _sql(f"{texts} AND (:one IS NULL) = (:other IS NULL)", one=node.this, other=node.expression)


def _each_once(node: exp.Expr) -> exp.Expr:
    """PostgreSQL would compute a value of the trips anew in every place that names it; an offset keeps it from that."""
    if node.args.get("materialized") is False:
        node.this.set("offset", exp.Offset(expression=exp.Literal.number(0)))
    return node


def _divided(node: exp.Expr) -> exp.Expr:
    return exp.Div(this=node.this, expression=node.expression, typed=True, safe=False)


def _summed(node: exp.Expr) -> exp.Expr:
    return node if isinstance(node.parent, exp.Cast) else exp.cast(node.copy(), "bigint")


def _text(node: exp.Expr) -> exp.Expr:
    if node.is_string and "\0" in node.name:
        raise EngineError("PostgreSQL has no texts with the character NUL; the plan names one")
    return node


_CHANGES: dict[str | type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    "md5_number": _md5_number,
    "epoch_us": _epoch_us,
    exp.Try: lambda node: node.this,
    exp.TryCast: _try_cast,
    exp.Nullif: _nullif,
    exp.Typeof: _typeof,
    exp.NullSafeEQ: _same,
    exp.CTE: _each_once,
    exp.IntDiv: _divided,
    exp.Sum: _summed,
    exp.Literal: _text,
}
