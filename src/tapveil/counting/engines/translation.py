"""Our SQL in the dialect of another engine: parsed by sqlglot, changed node by node where the two differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import exp

Change = Callable[[exp.Expr], exp.Expr]
"""What a node becomes: the same node, perhaps changed, or another in its place."""


def changed(sql: str, changes: Mapping[str | type[exp.Expr], Change]) -> exp.Expr:
    """A query in DuckDB's dialect as a tree, with the changes for types of nodes and for functions by their names."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    for node in reversed(list(tree.walk())):  # what lies inside comes first: it is copied into what is made of it
        change = changes.get(node.name.lower() if isinstance(node, exp.Anonymous) else type(node))
        other = change(node) if change else node
        if other is not node:
            node.replace(other)
    return tree


def written(tree: exp.Expr, dialect: str) -> str:
    """A tree as SQL; what the dialect cannot say is an error."""
    return tree.sql(dialect, identify=True, unsupported_level=sqlglot.ErrorLevel.RAISE)
