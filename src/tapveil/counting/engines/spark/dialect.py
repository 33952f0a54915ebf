"""DuckDB's SQL translated to Spark's: parsed, changed where the two differ, and written again.

Codes, keys and ranks must not depend on the engine. Where Spark writes a value differently from DuckDB, the query fails
with a mark that names the column (`unsure_column`), and nothing is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import sqlglot
from sqlglot import exp

from tapveil.counting.engines.translation import Change, changed, written
from tapveil.counting.sql.scan import ODD_LETTER

_PLACES = "0123456789abcdefghijklmnopqrstuv"
_FROM_THE_LAST_BYTE = "".join(_PLACES[byte : byte + 2] for byte in range(30, -1, -2))
_MARK = re.compile(r"tapveil#((?:[0-9a-f]{2})*)#")
_MOST_DIGITS = {"float": 6, "double": 15}
"""Decimals with this many digits are distinct as floats, so every engine prints the same digits."""


def translated(sql: str, tables: Mapping[str, str] = MappingProxyType({})) -> str:
    """Translate a query from DuckDB's SQL to Spark's; `tables` has the names of our tables in Spark.

    >>> translated("SELECT a FROM cells", {"cells": "view_1"})
    'SELECT `a` FROM `view_1` AS `cells`'
    """

    def renamed(node: exp.Expr) -> exp.Expr:
        ours = node.name in tables and not node.args.get("db")
        return exp.to_table(tables[node.name]).as_(node.alias_or_name) if ours else node

    return written(changed(sql, {**_CHANGES, exp.Table: renamed}), "spark")


def quoted(name: str) -> str:
    """An identifier of Spark.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def refused(name: str) -> str:
    """An expression that fails the query and names the column."""
    return f"raise_error('tapveil#{name.encode().hex()}#')"


def unsure_column(message: str) -> str | None:
    """The column named by `refused` in an error message, if any.

    >>> unsure_column(f"Job aborted: {refused('fare')}")
    'fare'
    """
    found = _MARK.search(message)
    return bytes.fromhex(found[1]).decode(errors="replace") if found else None


def _spark(sql: str, **parts: exp.Expr) -> exp.Expr:
    """An expression of Spark, with parts substituted for their names."""

    def placed(node: exp.Expr) -> exp.Expr:
        return parts[node.name].copy() if isinstance(node, exp.Column) and node.name in parts else node

    return sqlglot.parse_one(sql, read="spark").transform(placed)


def _concat(node: exp.Expr) -> exp.Expr:
    """Concatenation that skips missing texts; Spark's own would return NULL."""
    texts = [each if each.is_string else exp.cast(each, "STRING", dialect="spark") for each in node.expressions]
    return exp.Anonymous(this="concat_ws", expressions=[exp.Literal.string(""), *texts])


def _element(node: exp.Expr) -> exp.Expr:
    """An element of a list, counted from 1; sqlglot already counts literals from 0."""
    (index,) = node.expressions
    if isinstance(index, exp.Literal):
        index = exp.Literal.number(int(index.name) + 1)
    return exp.Anonymous(this="element_at", expressions=[node.this, exp.cast(index, "INT")])


def _tried(node: exp.Expr) -> exp.Expr:
    """TRY: of our expressions, only decoding bytes that are not UTF-8 can fail."""
    if isinstance(node.this, exp.Decode):
        return _spark("CASE WHEN is_valid_utf8(bytes) THEN CAST(bytes AS STRING) END", bytes=node.this.this)
    inside: exp.Expr = node.this
    return inside.copy()


def _cte(node: exp.Expr) -> exp.Expr:
    node.set("materialized", None)
    return node


def _replaced(node: exp.Expr) -> exp.Expr:
    """Spark writes groups of a pattern as $1."""
    node.set("replacement", exp.Literal.string(re.sub(r"\\(\d)", r"$\1", node.args["replacement"].this)))
    return node


def _regexp_like(node: exp.Expr) -> exp.Expr:
    """To leave out plain cards, the letters at both ends tell enough, and quicker than a pattern.

    Not where a card is stripped: the code of a pass that does more than that would be too long for Java to compile.
    """
    if node.expression.name != ODD_LETTER or not isinstance(node.find_ancestor(exp.Where, exp.Case), exp.Where):
        return node
    odd = "text < '!' OR text > '~' OR substring(CAST(text AS BINARY), -1) NOT BETWEEN X'21' AND X'7E'"
    return exp.Paren(this=_spark(odd, text=node.this))


def _md5_number(node: exp.Expr) -> exp.Expr:
    """The bytes of an MD5 as a number, the last byte first; as hexadecimal digits, they sort alike."""
    return _spark(f"translate('{_FROM_THE_LAST_BYTE}', '{_PLACES}', md5(text))", text=node.expressions[0])


def _cast(node: exp.Expr) -> exp.Expr:
    """Hexadecimal digits as a number."""
    if isinstance(node.this, exp.DPipe) and node.this.this.name == "0x":
        return _spark("CAST(conv(digits, 16, 10) AS BIGINT)", digits=node.this.expression)
    return node


def _epoch_us(node: exp.Expr) -> exp.Expr:
    """Microseconds of the day, in whole minutes, which is all we need."""
    (moment,) = node.expressions
    if not isinstance(moment, exp.TryCast):
        return node
    return _spark("((hour(moment) * 60 + minute(moment)) * 60000000L)", moment=moment.this)


def _number_text(value: exp.Expr) -> exp.Expr:
    """A float that is not an integer, as text; refused where Spark's text may not be the shortest, or has an `E`."""
    plain = "abs(value) >= 0.001D AND abs(value) < 10000000D"
    digits = "length(regexp_replace(CAST(value AS STRING), '^[-0.]+|[.]', ''))"
    most = " ".join(f"WHEN '{name}' THEN {digits}" for name, digits in _MOST_DIGITS.items())
    return _spark(
        "CASE WHEN isnan(value) OR value IS NULL THEN NULL "
        "WHEN value = CAST('Infinity' AS DOUBLE) THEN 'inf' WHEN value = CAST('-Infinity' AS DOUBLE) THEN '-inf' "
        f"WHEN {plain} AND {digits} <= CASE typeof(value) {most} END THEN CAST(value AS STRING) "
        f"ELSE {refused(value.name)} END",
        value=value,
    )


_CHANGES: dict[str | type[exp.Expr], Change] = {
    "md5_number": _md5_number,
    "timezone": lambda node: _spark("CAST(instant AS TIMESTAMP_NTZ)", instant=node.expressions[1]),  # it is UTC
    "epoch_us": _epoch_us,
    exp.Cast: _cast,
    exp.CTE: _cte,
    exp.Concat: _concat,
    exp.Bracket: _element,
    exp.Try: _tried,
    exp.Typeof: lambda node: exp.Upper(this=node.copy()),
    exp.RegexpLike: _regexp_like,
    exp.RegexpReplace: _replaced,
    exp.Nullif: lambda node: _number_text(node.this.this) if node.expression.name == "nan" else node,
    # In parentheses where more follows, or the name of a window runs on.
    exp.Window: lambda node: exp.Paren(this=node.copy()) if isinstance(node.parent, exp.Binary) else node,
}
