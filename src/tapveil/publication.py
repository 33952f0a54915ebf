"""The publication: trips in, the published folder out. Readable top to bottom."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

from tapveil import bundle, coarsen, statement, trips, veil
from tapveil.bundle import Bundle
from tapveil.counting import duckdb as engine
from tapveil.counting.exact import Counted, Refusals
from tapveil.dictionary import read_dictionaries
from tapveil.errors import TripDataError
from tapveil.plan import Plan
from tapveil.progress import Reporter, Silent
from tapveil.trips import READABLE


def release(
    plan: Plan,
    out: str | Path,
    *,
    memory: str = engine.DEFAULT_MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> Bundle:
    """Spend the plan's budget once and publish the folder `out`, which must not exist yet."""
    progress = progress or Silent()
    # The day is taken before a trip is read: when the work ends must not show in what is published.
    today = datetime.now(UTC).date()
    bundle.check_destination(Path(out))
    dictionaries = read_dictionaries(plan)
    manifest = statement.manifest(plan, today, public_files(plan))
    counted = count(plan, memory=memory, scratch=scratch, progress=progress)
    refuse_too_many(counted.refusals, plan)
    with progress.stage("Drawing noise"):
        published = [
            veil.draw(counted.tables[name], plan, table, dictionaries[name], os.urandom)
            for name, table in plan.tables.items()
        ]
    with progress.stage("Writing the folder"):
        return bundle.write(Path(out), plan, published, manifest)


def public_files(plan: Plan) -> dict[str, str]:
    """SHA-256 of each public list that the plan names: what is published depends on what they say."""
    files = {
        **{f"lookup of {mode}": lookup.lookup for mode, lookup in plan.coarsen.location.items()},
        **{f"cells of {table.name}": table.cells for table in plan.table if table.cells},
    }
    coarsen.read_areas(plan)  # says what is wrong with a lookup better than its bytes do
    try:
        return {role: hashlib.sha256((plan.base / name).read_bytes()).hexdigest() for role, name in files.items()}
    except OSError as error:
        raise TripDataError(f"{error.filename} cannot be read: {error.strerror}") from None


def count(plan: Plan, *, memory: str, scratch: Path | None, progress: Reporter) -> Counted:
    """The exact counts of a plan, and what was refused. Secret."""
    files = trips.find(plan)
    areas = coarsen.read_areas(plan)
    return engine.count(plan, files, areas, memory=memory, scratch=scratch, progress=progress)


def refuse_too_many(refusals: Refusals, plan: Plan) -> None:
    """Stop, before anything is spent or written, if too many rows could not be read."""
    if refusals.rows == 0:
        raise TripDataError("the files have a header but no trips")
    if refusals.refused > plan.source.max_refused * refusals.rows:
        by_frequency = sorted(refusals.by_reason, key=lambda reason: -refusals.by_reason[reason])
        share = f"{float(100 * plan.source.max_refused):g} %"
        raise TripDataError(
            f"more than {share} of the rows cannot be read ([source] max_refused). Most often: "
            f"{'; '.join(by_frequency[:3])}.{_what_can_be_read(by_frequency[0], plan)}"
        )


def _what_can_be_read(reason: str, plan: Plan) -> str:
    if reason == "card is missing":
        return ' To keep them, each as a card of its own: without_card = "own-unit"; else raise max_refused.'
    column = reason.split(" ")[0]
    kind = plan.source.kind(column) if column in plan.source.columns else ""
    return f" What can be read as a {kind}: {READABLE[kind]}" if kind in READABLE and "cannot" in reason else ""
