"""Published counts, as a type of their own: what may leave.

Only the veil makes a `PublishedTable` from exact counts; an unfinished release reads back those that it sealed.
Everything that writes, draws or checks what is published starts from here and cannot see the secret side.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tapveil.base.vocabulary import Kind
from tapveil.plan.model import Plan, Table


@dataclass(frozen=True)
class Field:
    """A column of a published table, and what sort of values it holds."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class PublishedTable:
    """The published cells of one table, sorted by their keys: partition columns, own columns, `count`."""

    table: Table
    fields: tuple[Field, ...]
    cells: pa.Table

    @property
    def name(self) -> str:
        return self.table.name


def fields(plan: Plan, table: Table) -> tuple[Field, ...]:
    """The key columns of a table, each with what sort of values it holds."""
    return tuple(Field(name, plan.source.kind(name)) for name in plan.key_columns(table))
