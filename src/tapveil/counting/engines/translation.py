"""Our SQL in the dialect of another engine: parsed by sqlglot, changed node by node where the two differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import exp

Change = Callable[[exp.Expr], exp.Expr]
"""The replacement of a node: the same node, perhaps changed, or another one."""


def changed(sql: str, changes: Mapping[str | type[exp.Expr], Change]) -> exp.Expr:
    """Parse a query in DuckDB's dialect, and apply changes by type of node or by function name."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    for node in reversed(list(tree.walk())):  # inner nodes first: they are copied into the replacement of outer ones
        change = changes.get(node.name.lower() if isinstance(node, exp.Anonymous) else type(node))
        other = change(node) if change else node
        if other is not node:
            node.replace(other)
    return tree


def written(tree: exp.Expr, dialect: str) -> str:
    """A tree as SQL; an error if the dialect does not support it."""
    return tree.sql(dialect, identify=True, unsupported_level=sqlglot.ErrorLevel.RAISE)
