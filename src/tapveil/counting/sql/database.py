"""What counting asks of an engine: to keep tables, to run one dialect of SQL over the trips, and to hand out counts.

The engine only counts. All SQL is written in DuckDB's dialect (`scan`, `query`, `pairing`); an engine that speaks
another translates it (`dialect`). What a raw value means is decided by Python for every engine alike (`coding`), so
engines cannot differ in it.
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
"""Where lines stand, by reason: the name of a file, and a number in it."""


class Database(Protocol):
    """An engine, open: tables live as long as it is."""

    files: TripFiles
    """Where the trips are, and what columns they have."""
    rows_at_once: int | None
    """Rows of cards that are ranked at a time; None where the engine looks after its memory itself."""
    locates: bool
    """Whether it can say in which line of which file a row stands."""

    def stage(self, progress: Reporter, stage: Stage, passes: int = 1) -> AbstractContextManager[None]:
        """A stage in which the trips are read `passes` times."""

    def read(self, into: str, sql: str, columns: Collection[str]) -> Counter[Reason]:
        """A table from one pass over the trips, of which these columns are read; lines that are no rows, by reason."""

    def look(self, sql: str, columns: Collection[str], *, numbered: bool = False) -> tuple[pa.Table, Located]:
        """A small answer from one pass over the trips; with `numbered`, also where the lines are that are no rows."""

    def create(self, name: str, sql: str) -> None:
        """A table, computed now and kept; in place of one of the same name."""

    def append(self, name: str, sql: str) -> None:
        """More rows for a table."""

    def upload(self, name: str, table: pa.Table) -> None:
        """A small table of ours, for the engine to join; in place of one of the same name."""

    def fetch(self, sql: str) -> pa.Table:
        """A small answer."""

    def cells(self, sql: str, words: int) -> tuple[Integers, ...]:
        """The cells of a table, as its words and last the counts: of any length, a piece at a time."""

    def clear(self) -> None:
        """Forget all tables."""


class Remote(Database, Protocol):
    """What is the same for all engines in which the trips are already: they read no files of ours."""

    locates: bool = False
    rows_at_once: int | None = None

    def stage(self, progress: Reporter, stage: Stage, passes: int = 1) -> AbstractContextManager[None]:
        return progress.stage(stage)

    def read(self, into: str, sql: str, columns: Collection[str]) -> Counter[Reason]:
        self.create(into, sql)
        return Counter()

    def look(self, sql: str, columns: Collection[str], *, numbered: bool = False) -> tuple[pa.Table, Located]:
        return self.fetch(sql), {}
