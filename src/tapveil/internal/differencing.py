"""Differencing: what exact totals tell beyond themselves, by subtracting one from another. From public facts alone.

A total that is public costs nothing, and nothing covers it. Two of them give a third, their difference, which may be of
one day, one place, one mode, or of a few trips; and a total that is one cell of a table makes the noise of that cell
useless. None of this looks at a trip, and no total is compared with what was counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tapveil.base.public_total import Lists, PublicTotal
from tapveil.inputs.public import PublicInputs
from tapveil.inputs.public_totals import days_of, lists_of
from tapveil.plan.model import Plan

FEW = 100
"""Trips: a total, or a difference of two, below this is of few people."""


def warnings(inputs: PublicInputs, earlier: Sequence[PublicTotal] = ()) -> Iterator[str]:
    """What the totals of a plan tell, alone and with those that were declared for earlier releases."""
    plan, own = inputs.plan, inputs.totals
    lists = lists_of(plan, inputs.world if plan.privacy.is_world else {}, inputs.calendars)
    for total in own:
        yield from _alone(plan, total, lists)
    every = list({total.in_words: total for total in (*own, *earlier)}.values())
    for one, other in combinations(every, 2):
        larger, smaller = (one, other) if _contains(one, other, lists) else (other, one)
        if _contains(larger, smaller, lists) and (one in own or other in own):
            yield from _difference(larger, smaller, lists)
    for total in own:
        yield from _left_out(total, every, lists)


def _alone(plan: Plan, total: PublicTotal, lists: Lists) -> Iterator[str]:
    """Whether a total by itself is of few trips, or of no more than a cell."""
    if total.trips < FEW:
        yield f"the exact total {total.in_words} is of fewer than {FEW} trips: it may be of one person"
    one_day = {"date"} if len(days_of(total, lists)) == 1 else set[str]()
    for table in plan.table:  # a table of totals has no columns of its own, and is meant to be of such numbers
        if table.columns and set(plan.columns.of(table)) <= {*total.of, *one_day}:
            yield (
                f"the exact total {total.in_words} is a cell of table {table.name}, or a part of one: noise protects "
                "nothing there"
            )


def _contains(one: PublicTotal, other: PublicTotal, lists: Lists) -> bool:
    """Whether a total has all trips of another, and more."""
    labels = {column: label for column, label in one.of.items() if column not in lists.calendars}
    alike = all(other.of.get(column) == label for column, label in labels.items())
    days, others = days_of(one, lists), days_of(other, lists)
    return alike and others <= days and (others < days or len(other.of) > len(one.of))


def _difference(larger: PublicTotal, smaller: PublicTotal, lists: Lists) -> Iterator[str]:
    trips, days = larger.trips - smaller.trips, days_of(larger, lists) - days_of(smaller, lists)
    same_days = not days
    more = set(smaller.of) - set(larger.of) - set(lists.calendars)
    whole = f"the exact totals {larger.in_words} and {smaller.in_words}"
    if 0 <= trips < FEW:
        yield f"{whole} differ by {trips} trips: fewer than {FEW}, which may be of one person"
    if len(days) == 1 and not more:
        yield f"{whole} differ by one day, {next(iter(days))}: its number of trips is then exact, too"
    for column in more if same_days and len(more) == 1 else ():
        if len(others := _entries(column, smaller, lists) - {smaller.of[column]}) == 1:
            yield f"{whole} leave out one {column}, {next(iter(others))}: its number of trips is then exact, too"


def _left_out(total: PublicTotal, every: Sequence[PublicTotal], lists: Lists) -> Iterator[str]:
    """Where all but one of the modes, places or days of a total have a total of their own."""
    for column in ("mode", *lists.columns):
        if column in total.of:
            continue
        inside = [
            other
            for other in every
            if days_of(other, lists) == days_of(total, lists)
            and {key: label for key, label in other.of.items() if key != column} == dict(total.of)
            and column in other.of
        ]
        entries = _entries(column, total, lists)
        others = entries - {other.of[column] for other in inside}
        if len(others) == 1 and len(inside) > 1:  # one alone is said of the two
            yield f"exact totals of every {column} but {next(iter(others))} tell that of {next(iter(others))}, too"
    by_day = [other for other in every if dict(other.of) == dict(total.of) and len(days_of(other, lists)) == 1]
    days = days_of(total, lists).difference(*(days_of(other, lists) for other in by_day))
    if len(days) == 1 and len(by_day) > 1:
        yield f"exact totals of every day but {next(iter(days))} tell that of {next(iter(days))}, too"


def _entries(column: str, total: PublicTotal, lists: Lists) -> set[str]:
    """All labels that a column can have, as far as they are public."""
    if column == "mode":
        return set(lists.modes)
    return set(lists.places.get(total.of.get("mode", "*"), ()))
