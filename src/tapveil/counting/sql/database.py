"""The interface of an engine: store tables, run SQL over the trips, and return counts.

The engine only counts. All SQL is written in DuckDB's dialect (`scan`, `query`, `pairing`); other engines translate it
(`dialect`). Python decides the meaning of raw values for all engines (`coding`), so they cannot differ in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from tapveil.base.progress import Reporter, Stage
from tapveil.trips.buffers import Integers
from tapveil.trips.files import TripFiles
from tapveil.trips.reasons import Reason

Located = Mapping[Reason, Sequence[tuple[str, int]]]
"""Positions of lines, by reason: the name of a file, and a number in it."""


class Database(Protocol):
    """An open engine; its tables live until it is closed."""

    files: TripFiles
    """The trip files and their columns."""
    rows_at_once: int | None
    """Rows of cards ranked at a time; None where the engine manages its own memory."""
    locates: bool
    """Whether it can report the file and line of a row."""
    rereads: bool
    """Whether another pass over the trips costs little, and sees the same rows."""
    keeps_order: bool
    """Whether sorting the rows of each card costs little where they are sorted by cards already; less than hashing."""
    groups_at_once: bool
    """Whether every query costs much, however little it reads, so that all groups of rows are best made in one."""

    def stage(self, progress: Reporter, stage: Stage, passes: int = 1) -> AbstractContextManager[None]:
        """A stage in which the trips are read `passes` times."""

    def read(self, into: str, sql: str, columns: Collection[str]) -> Counter[Reason]:
        """Create a table in one pass over these columns of the trips; return lines that are not rows, by reason."""

    def look(self, sql: str, columns: Collection[str], *, numbered: bool = False) -> tuple[pa.Table, Located]:
        """A small result from one pass over the trips; with `numbered`, also positions of lines that are not rows."""

    def create(self, name: str, sql: str) -> None:
        """Compute and store a table; replaces one of the same name."""

    def append(self, name: str, sql: str) -> None:
        """Append rows to a table."""

    def upload(self, name: str, table: pa.Table) -> None:
        """Upload a small table; replaces one of the same name."""

    def fetch(self, sql: str) -> pa.Table:
        """A small result."""

    def cells(self, sql: str, words: int) -> tuple[Integers, ...]:
        """The cells of a table: its words, and last the counts. Of any length, fetched in pieces."""

    def holding(self, name: str) -> Database:
        """An engine with this table that answers further queries best: one in this process, if the table is small."""

    def clear(self) -> None:
        """Drop all tables."""


class Remote(Database, Protocol):
    """An engine that already has the trips and reads no files of ours."""

    locates: bool = False
    rereads: bool = False
    keeps_order: bool = False
    groups_at_once: bool = False
    rows_at_once: int | None = None

    def stage(self, progress: Reporter, stage: Stage, passes: int = 1) -> AbstractContextManager[None]:
        return progress.stage(stage)

    def read(self, into: str, sql: str, columns: Collection[str]) -> Counter[Reason]:
        self.create(into, sql)
        return Counter()

    def look(self, sql: str, columns: Collection[str], *, numbered: bool = False) -> tuple[pa.Table, Located]:
        return self.fetch(sql), {}

    def holding(self, name: str) -> Database:
        return self
