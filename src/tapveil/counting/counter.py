"""Counting, with the engine that the plan names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import UsageError
from tapveil.base.progress import BYTES, Reporter, Silent, Stage
from tapveil.counting import card_ids
from tapveil.counting.card_ids import CardShapes
from tapveil.counting.exact import Counted
from tapveil.counting.sql import steps
from tapveil.counting.sql.database import Database, Located
from tapveil.counting.sql.steps import CommonestCards
from tapveil.inputs.areas import Areas
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan
from tapveil.trips import files as sources
from tapveil.trips.csv_reader import FEW
from tapveil.trips.excerpt import Excerpt
from tapveil.trips.files import TripFiles
from tapveil.trips.reasons import Reason

if TYPE_CHECKING:
    from tapveil.counting.direct.card_counter import CardPass
    from tapveil.counting.direct.counter import Pass

LEAST_MEMORY = 200 * 10**6


def count(
    plan: Plan,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
    locate: bool = False,
    inputs: PublicInputs | None = None,
    excerpt: Excerpt | None = None,
) -> Counted:
    """Count the trips of a plan, exactly. Secret.

    Args:
        inputs: the public files of the plan, if they were read already.
        locate: also find the lines of the first refused rows.
        excerpt: keeps some of the rows on the way, where they are in files.
    """
    from tapveil.counting.direct import card_counter, counter  # where an engine counts, nobody needs it

    inputs, progress = (inputs or PublicInputs.of(plan, scratch)).seen_by(plan), progress or Silent()
    areas, wider = inputs.areas, inputs.wider

    def by_sql(progress: Reporter) -> Counted:
        with _database(plan, memory, scratch) as database:
            return steps.count(plan, areas, wider, database, progress=progress, locate=locate, excerpt=excerpt)

    enough = _bytes(memory)
    if plan.source.engine != "duckdb" or not counter.suits(plan, files := sources.find(plan), areas):
        return by_sql(progress)
    if plan.privacy.by_card and not card_counter.suits(plan, files):
        return by_sql(progress)
    if plan.privacy.by_card:
        parts = list[Counted]()
        # Where a row is a tap, the taps of each end, and those of both, are counted by themselves.
        for number, part in enumerate(steps.by_end(plan)):
            some = None if number else excerpt  # it has seen all rows then
            with card_counter.CardPass(part, files, areas, wider, enough, scratch, some) as cards:
                if (of_part := _cards(cards, progress)) is None:
                    return by_sql(Silent())
            parts.append(of_part)
        counted = replace(steps.together(plan, parts), cards=parts[0].cards) if len(parts) > 1 else parts[0]
    else:
        counted = _trips(counter.Pass(plan, files, areas, wider, enough, excerpt), progress, by_sql)
    if locate and counted.refusals.refused and not counted.refusals.located:
        located = _located(plan, files, areas, counted.refusals.by_reason, memory, scratch)
        return replace(counted, refusals=replace(counted.refusals, located=located))
    return counted


def _trips(counting: Pass, progress: Reporter, by_sql: Callable[[Reporter], Counted]) -> Counted:
    """Count trips straight from the files, if that is possible."""
    from tapveil.counting.direct.batches import NeedsEngineError

    batches = counting.batches
    # One stage, whoever counts in the end: how many cells there are must not show in a log.
    with progress.stage(Stage.COUNTING_TRIPS, lambda: batches.bytes_read, total=batches.bytes, unit=BYTES):
        try:
            return counting.count()
        except NeedsEngineError:
            return by_sql(Silent())


def _cards(counting: CardPass, progress: Reporter) -> Counted | None:
    """Count cards straight from the files; None where an engine must."""
    from tapveil.counting.direct.batches import NeedsEngineError

    batches, known = counting.batches, True
    with progress.stage(Stage.READING_TRIPS, lambda: batches.bytes_read, total=batches.bytes, unit=BYTES):
        try:
            counting.read()
        except NeedsEngineError:
            known = False
    with progress.stage(Stage.COUNTING_CARDS, lambda: counting.done):
        try:
            return counting.count() if known else None
        except NeedsEngineError:
            return None


def _located(
    plan: Plan, files: TripFiles, areas: Areas, refused: Mapping[Reason, int], memory: str, scratch: Path | None
) -> Located:
    """Where the first refused rows stand: the engine looks at the first file, and at all of them if need be."""
    paths = [path for group in files.groups for path in group.paths]
    first = plan.model_copy(update={"source": plan.source.model_copy(update={"path": (str(paths[0].resolve()),)})})
    located: Located = {}
    for some in (first, plan) if sources.told_apart(paths)[paths[0]] == paths[0].name else (plan,):
        with _database(some, memory, scratch) as database:
            located = steps.located(some, areas, database)
        if all(len(located.get(reason, ())) >= min(FEW, rows) for reason, rows in refused.items()):
            break
    return located


def other_taps(
    plan: Plan, *, memory: str = MEMORY, scratch: Path | None = None, progress: Reporter | None = None
) -> int:
    """How many rows are neither taps on nor taps off. Secret."""
    with _database(plan, memory, scratch) as database:
        return steps.other_taps(plan, database, progress=progress or Silent())


def copies(plan: Plan, *, memory: str = MEMORY, scratch: Path | None = None, progress: Reporter | None = None) -> int:
    """How many rows equal another row, including the card. Secret."""
    with _database(plan, memory, scratch) as database:
        return steps.copies(plan, database, progress=progress or Silent())


def commonest_cards(plan: Plan, *, memory: str = MEMORY, scratch: Path | None = None) -> CommonestCards:
    """How many cards there are, and the rows of those with the most: one pass over that column. Secret."""
    with _database(plan, memory, scratch) as database:
        return steps.commonest_cards(plan, database)


def cards_among(
    texts: Sequence[str],
    plan: Plan,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
    shapes: CardShapes | None = None,
) -> set[str]:
    """Which texts are card IDs in the trips; none if the plan names no card column. Secret."""
    if plan.source.card is None:
        return set()
    # One stage, however much there is to read: a log says no more than how long it took.
    with (progress or Silent()).stage(Stage.LOOKING_FOR_CARDS):
        if plan.source.engine == "duckdb" and card_ids.are_numbers(files := sources.find(plan), plan.source.card):
            return card_ids.numbers_among(texts, files, plan.source.card)
        found, in_question = shapes.settle(texts) if shapes else (set[str](), list(texts))
        if not in_question:
            return found
        with _database(plan, memory, scratch) as database:
            return found | steps.cards_among(in_question, plan.source.card, database)


def one_session(plan: Plan) -> AbstractContextManager[None]:
    """What is counted meanwhile shares a session, where starting one takes long."""
    if plan.source.engine != "spark":
        return nullcontext()
    from tapveil.counting.engines.spark import session as spark

    return spark.one_session(plan)


def _database(plan: Plan, memory: str, scratch: Path | None) -> AbstractContextManager[Database]:
    """Open the engine of a plan. Other engines are not imported."""
    _bytes(memory)
    if plan.source.engine == "spark":
        from tapveil.counting.engines.spark import session as spark

        return spark.open_session(plan, memory, scratch)
    if plan.source.engine == "adbc":
        from tapveil.counting.engines.postgresql import session as postgresql

        return postgresql.open_session(plan, memory, scratch)
    from tapveil.counting.engines.duckdb import session as duckdb

    return duckdb.open_session(plan, memory, scratch)


def _bytes(amount: str) -> float:
    """An amount of memory in bytes; PlanError if it is too little."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([MGT])(i?)B", amount, re.IGNORECASE)
    if not match:
        raise UsageError(f"--memory {amount} is not an amount of memory; use one such as 1GB or 800MB")
    thousand = 1024 if match[3] else 1000
    memory = float(match[1]) * float(thousand ** (" MGT".index(match[2].upper()) + 1))
    if memory < LEAST_MEMORY:
        raise UsageError(f"--memory {amount} is too little; use at least {LEAST_MEMORY // 10**6}MB")
    return memory
