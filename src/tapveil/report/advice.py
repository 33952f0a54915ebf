"""The two or three things to do first, as sentences with all that it takes to do them. Internal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tapveil.comparison.screen import percent
from tapveil.report.changes import Change
from tapveil.report.findings import Findings

MOST_ACTIONS = 3
MANY_REFUSED = 0.005
"""A share of refused rows above this comes before all else: trips that are not counted cannot be published."""
FULL = 0.95


def actions(found: Findings) -> list[str]:
    """What to do, the most urgent first."""
    refused = list(_refused(found))
    many = found.refused > MANY_REFUSED * found.outlook.rows
    every = [*_stops(found), *(refused if many else ()), *_changes(found.changes), *(() if many else refused)]
    return every[:MOST_ACTIONS] or [_as_it_is(found)]


def _stops(found: Findings) -> Iterator[str]:
    if found.outlook.stops:
        yield f"Mend the trips or the plan first, for a release would stop: {found.outlook.stops}"


def _refused(found: Findings) -> Iterator[str]:
    reasons = found.outlook.refused
    if not found.refused:
        return
    reason = max(reasons, key=lambda each: reasons[each])
    where = found.outlook.refused_at.get(reason, ())
    first = f", the first in {where[0][0]} at line or row {where[0][1]:,}" if where else ""
    rows = "1 row" if reasons[reason] == 1 else f"{reasons[reason]:,} rows"
    share = percent(found.refused / found.outlook.rows)
    yield f"Look at the {rows} refused because “{reason}”{first}. All refused rows are {share} of what was read."


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    """What costs no detail first; then the bins or areas that bring most, alike ones together."""
    for change in changes:
        if change.kind == "mechanism":
            yield (
                f"Change the noise: {change.what}. At the same ε and δ that publishes {_from_to(change)} of the trips "
                f"of all tables. Write {change.how}."
            )
    finer = [change for change in changes if change.kind in ("bins", "areas")]
    if finer:
        first = finer[0]
        alike = [each for each in finer if each.minutes and each.minutes == first.minutes] or [first]
        what, published, how = (
            "; ".join(each) for each in zip(*((each.what, _from_to(each), each.how) for each in alike), strict=True)
        )
        yield f"Make cells larger: {what}. That publishes {published} of their trips. Write {how}."
    for change in changes:
        if change.kind in ("parts", "tables") and not finer:
            yield f"Consider: {change.what}. That publishes {_from_to(change)} of the trips. Write {change.how}."


def _from_to(change: Change) -> str:
    return f"{percent(change.after / change.of)} instead of {percent(change.before / change.of)}"


def _as_it_is(found: Findings) -> str:
    least = min((table.share for table in found.tables), default=0.0)
    if least >= FULL:
        return f"Nothing needs to change: every table has at least {percent(least)} of its trips."
    return "No change that this report knows would bring much more. Give the tables fewer columns, or more ε."
