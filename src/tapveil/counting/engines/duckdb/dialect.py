"""DuckDB's own dialect: all SQL is written in it (`sql`), so nothing is translated."""

from __future__ import annotations


def translated(sql: str) -> str:
    """The query as it is."""
    return sql
