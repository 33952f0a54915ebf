"""Which engine counts: the plan says so, and nobody else needs to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tapveil import trips
from tapveil.coarsen import read_areas
from tapveil.counting import direct, steps
from tapveil.counting.database import Database
from tapveil.counting.duckdb import in_bytes, open_duckdb
from tapveil.counting.exact import Counted
from tapveil.counting.tally import NeedsEngineError
from tapveil.defaults import MEMORY
from tapveil.plan import Plan
from tapveil.progress import Reporter, Silent


def count(
    plan: Plan,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
    locate: bool = False,
) -> Counted:
    """The exact counts of a plan, and what was refused; with `locate`, also where it stands. Secret."""
    areas, progress = read_areas(plan), progress or Silent()
    if plan.source.engine == "duckdb" and not locate:
        with suppress(NeedsEngineError):
            return direct.count(plan, trips.find(plan), areas, in_bytes(memory), progress)
    with _database(plan, memory, scratch) as database:
        return steps.count(plan, areas, database, progress=progress, locate=locate)


def other_taps(
    plan: Plan, *, memory: str = MEMORY, scratch: Path | None = None, progress: Reporter | None = None
) -> int:
    """How many rows are neither taps on nor taps off. Secret."""
    with _database(plan, memory, scratch) as database:
        return steps.other_taps(plan, database, progress=progress or Silent())


def copies(plan: Plan, *, memory: str = MEMORY, scratch: Path | None = None, progress: Reporter | None = None) -> int:
    """How many rows say the same as another, card and all. Secret."""
    with _database(plan, memory, scratch) as database:
        return steps.copies(plan, database, progress=progress or Silent())


def cards_among(
    texts: Sequence[str],
    plan: Plan,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> set[str]:
    """Which of some texts are cards; where the plan names no column of cards, none can be told."""
    if plan.source.card is None or not texts:
        return set()
    with _database(plan, memory, scratch) as database:
        return steps.cards_among(texts, plan.source.card, database, progress=progress or Silent())


@contextmanager
def _database(plan: Plan, memory: str, scratch: Path | None) -> Iterator[Database]:
    """The engine of a plan, over its trips."""
    if plan.source.engine == "spark":
        from tapveil.counting.spark import open_spark

        with open_spark(plan, scratch) as spark:
            yield spark
    elif plan.source.engine == "adbc":
        from tapveil.counting.adbc import open_adbc

        with open_adbc(plan, scratch) as adbc:
            yield adbc
    else:
        with open_duckdb(trips.find(plan), memory, scratch) as database:
            yield database
