"""Published counts, as a type of their own: what may leave.

Only the veil makes a `PublishedTable` from exact counts; an unfinished release reads back those that it sealed.
Everything that writes, draws or checks what is published starts from here and cannot see the secret side.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tapveil.base.vocabulary import Kind


@dataclass(frozen=True)
class Field:
    """A column of a published table, and what sort of values it holds."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class PublishedTable:
    """The published cells of one table, sorted by their keys: partition columns, own columns, `count`."""

    name: str
    fields: tuple[Field, ...]
    cells: pa.Table
