"""The two or three things to do first, as sentences with all that it takes to do them. Internal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tapveil.base.numbers import percent, three_digits
from tapveil.internal.comparison.compare import ALL, Point
from tapveil.internal.report.bounds import Higher
from tapveil.internal.report.changes import WORTHWHILE, Change
from tapveil.internal.report.findings import Findings, TableFindings
from tapveil.internal.report.words import left_out, noun_of
from tapveil.plan.model import TIMETABLE

MOST_ACTIONS = 3
MANY_REFUSED = 0.005
"""A share of refused rows above this comes before all else: trips that are not counted cannot be published."""
FULL = 0.95
MANY_LEFT_OUT = 1 - FULL
"""Bounds that leave out less than this share of the trips are what bounds are for."""


def actions(found: Findings) -> list[str]:
    """What to do, the most urgent first."""
    refused = list(_refused(found))
    many = found.refused > MANY_REFUSED * found.outlook.rows
    every = [
        *_stops(found),
        *(refused if many else ()),
        *_bounds(found),
        *_lists(found),
        *_changes(found.changes),
        *(() if many else refused),
    ]
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


def _bounds(found: Findings) -> Iterator[str]:
    """What the bounds of a card leave out is in no table, however much of the tables is published."""
    beyond = found.left_out
    if beyond and beyond.share > MANY_LEFT_OUT:
        higher = beyond.higher
        free = f" `{higher.free}` can be higher, or go, at no cost in noise: begin with it." if higher.free else ""
        yield (
            f"Look at the bounds of a card: {left_out(found)} are left out before anything is counted.{free} Raise "
            f"`{higher.bound} = {higher.now}`, if people do more than that. {_cost(higher)}"
        )


def _cost(higher: Higher) -> str:
    before, after = higher.before, higher.after
    what = f"With `{higher.bound} = {higher.then}` and the same ε,"
    if after is None:
        return f"{what} there would be about twice the noise: more than can be made here."
    return (
        f"{what} a number of {before.table} would be off by {three_digits(after.off)} on average instead of "
        f"{three_digits(before.off)}, and the least that is printed would be {after.least:,} instead of "
        f"{before.least:,}."
    )


def lacking(found: Findings) -> list[TableFindings]:
    """The tables that lose more because of what their public list lacks than for any other reason, the worst first."""
    losing = [
        each
        for each in found.tables
        if each.suppression.whole.is_mostly_unlisted and each.suppression.whole.unlisted_share >= WORTHWHILE
    ]
    return sorted(losing, key=lambda each: -each.suppression.whole.unlisted)


def _lists(found: Findings) -> Iterator[str]:
    """A list is public: it may be completed from what everyone can know, and from nothing else."""
    if tables := lacking(found):
        lists = "; ".join(
            f"{each.name} ({_list_name(each)}) lacks the cells of {percent(each.suppression.whole.unlisted_share)} of "
            f"its {noun_of(found)}"
            for each in tables
        )
        yield (
            f"Complete the lists of cells, for what is not on them is never published: {lists}. Take what is missing "
            "from public sources, such as a timetable or a list of all stops, and not from the trips."
        )


def _list_name(table: TableFindings) -> str:
    return "the timetable" if table.table.cells == TIMETABLE else f"`{table.table.cells}`"


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
        beyond = f"; {left_out(found)} are left out before that, by the bounds of a card" if found.left_out else ""
        return f"Nothing needs to change: every table publishes at least {percent(least)} of what it counts{beyond}."
    more = ", or more ε" if epsilon_pays(found) else ": more ε would make numbers more exact, and publish no more"
    return f"No change that this report knows would bring much more. Give the tables fewer columns{more}."


def curve(found: Findings) -> list[Point]:
    """The plan's mechanism at all totals, from small to large; with one total, where tables have their own."""
    own = found.comparison.own
    points = [each for each in found.comparison.of(own.unit) if each.mechanism == own.mechanism and ALL in each.worth]
    shared = {each.epsilon for each in points if not each.own}
    alone = [each for each in points if not each.own or each.epsilon not in shared]
    return sorted(alone, key=lambda each: each.epsilon)


def epsilon_pays(found: Findings) -> bool:
    """Whether a larger ε than the plan's would publish more; where none was tried, whether it did so far."""
    points = curve(found)
    larger = [each for each in points if each.epsilon >= found.comparison.own.epsilon]
    shares = [each.worth[ALL].trip_share for each in (larger if len(larger) > 1 else points)]
    return shares[-1] - shares[0] >= WORTHWHILE
