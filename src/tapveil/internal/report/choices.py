"""The sections on what could be done: which change would pay most, and what another ε would publish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tapveil.base.numbers import percent
from tapveil.base.vocabulary import MINUTES_PER_DAY
from tapveil.internal.comparison.compare import ALL
from tapveil.internal.comparison.plot import trips_svg
from tapveil.internal.comparison.screen import refusals
from tapveil.internal.report import figures
from tapveil.internal.report.advice import curve, epsilon_pays, lacking
from tapveil.internal.report.findings import Findings
from tapveil.internal.report.markup import Column, Html, Piece, coded, element, figure, joined, table
from tapveil.internal.report.words import NOTHING, key, lead, noun_of, pale, share
from tapveil.internal.svg import ON_PAGE
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import change

# --- 6: changes -----------------------------------------------------------------------------------------------------


def changes(found: Findings) -> Iterator[Html]:
    noun = noun_of(found)
    if not found.changes:
        longer = "; a list with more cells would, and cannot be tried" if lacking(found) else ""
        yield lead(f"No change that can be tried here would publish much more{longer}.")
    else:
        first = found.changes[0]
        yield lead(
            f"Most would be gained by this: {first.what}. It would publish {percent(first.after / first.of)} "
            f"instead of {percent(first.before / first.of)}; given up: {first.gives_up}."
        )
        yield key(("now", "published now, expected"), ("kept", "after the change"))
        yield figure(figures.changes(found.changes), f"{noun.capitalize()} published, of the tables that change")
        yield _changes_table(found)
    yield from _widths_table(found)
    bound = (
        " For cards these are upper bounds: a card that is in two cells counts once where they become one."
        if found.plan.privacy.by_card
        else ""
    )
    yield pale(
        "ε and δ stay as they are in all of these. Of each table the step is shown that gains most for each halving of "
        f"detail; gains are not to be added up.{bound}"
    )


def _changes_table(found: Findings) -> Html:
    columns = [
        Column("change", number=False),
        Column("now"),
        Column("then"),
        Column(f"gain in {noun_of(found)}"),
        Column("given up", number=False),
        Column("write", number=False),
    ]
    rows = [
        [
            f"{number}. {each.what}",
            percent(each.before / each.of),
            percent(each.after / each.of),
            f"+{each.gain:,.0f}",
            each.gives_up,
            coded(each.how),
        ]
        for number, each in enumerate(found.changes, start=1)
    ]
    return table("Changes, ranked by what they gain", columns, rows)


def _widths_table(found: Findings) -> Iterator[Html]:
    tables = [each for each in found.tables if len(each.options.widths) > 1]
    widths = sorted({width for each in tables for width in each.options.widths})
    if tables:
        columns = [Column("table", number=False), *(Column(_minutes(width)) for width in widths)]
        rows = [[each.name, *(share(each.options.widths.get(width)) for width in widths)] for each in tables]
        yield table(f"The share of {noun_of(found)} that would be published with bins of other widths", columns, rows)


def _minutes(width: int) -> str:
    if width == MINUTES_PER_DAY:
        return "whole day"
    return f"{width} min" if width < 60 else f"{width // 60} h"


# --- 7: ε -----------------------------------------------------------------------------------------------------------


def epsilon(found: Findings) -> Iterator[Html]:
    comparison, own = found.comparison, found.comparison.own
    worth = own.worth[ALL]
    more = _best_at(found)
    yield lead(
        f"Your plan, {own.mechanism} at ε = {decimal_text(own.epsilon, 4)}, is expected to publish "
        f"{percent(worth.trip_share)}{more}."
    )
    yield figure(trips_svg(comparison, ON_PAGE))
    epsilons = sorted({point.epsilon for point in comparison.points})
    columns = [Column("mechanism", number=False), *(Column(f"ε = {decimal_text(each, 4)}") for each in epsilons)]
    yield table("The share of what is counted that would be published", columns, list(_epsilon_rows(found)))
    for words in refusals(comparison, own.unit):
        yield pale(f"Not possible: {words}.")
    changed = change(own.unit, comparison.neighbours)
    yield pale(
        f"Protected throughout: {changed}, at the plan's δ. {_what_it_buys(found)} Other units: "
        "tapveil check --compare."
    )


def _what_it_buys(found: Findings) -> str:
    """What a larger ε is good for, as the curve of the plan's mechanism has it."""
    if epsilon_pays(found):
        return "A larger ε publishes more and promises less."
    ends = [f"{percent(each.worth[ALL].trip_share)} at ε = {decimal_text(each.epsilon, 4)}" for each in curve(found)]
    from_to = f" ({ends[0]}, {ends[-1]})" if len(ends) > 1 else ""
    return f"A larger ε than yours publishes no more{from_to}: it makes numbers more exact, and promises less."


def _best_at(found: Findings) -> str:
    """What another mechanism would publish at the same ε, if that is more."""
    own = found.comparison.own
    others = [p for p in found.comparison.points if p.epsilon == own.epsilon and ALL in p.worth and not p.own]
    best = max(others, key=lambda point: point.worth[ALL].trips, default=None)
    if best is None or best.worth[ALL].trips <= own.worth[ALL].trips:
        return ", and no other mechanism more at the same ε"
    return f"; {best.mechanism}, with one total, {percent(best.worth[ALL].trip_share)} at the same ε"


def _epsilon_rows(found: Findings) -> Iterator[list[Piece]]:
    comparison = found.comparison
    epsilons = sorted({point.epsilon for point in comparison.points})
    for mechanism in dict.fromkeys(point.mechanism for point in comparison.points):
        row: list[Piece] = [mechanism]
        for epsilon in epsilons:
            points = [
                p for p in comparison.points if (p.mechanism, p.epsilon) == (mechanism, epsilon) and ALL in p.worth
            ]
            own = [element("b", f"{percent(p.worth[ALL].trip_share)} your plan") for p in points if p.own]
            shared = [percent(p.worth[ALL].trip_share) for p in points if not p.own]
            row.append(joined(*_between([*shared, *own])) if points else NOTHING)
        yield row


def _between(pieces: Sequence[Piece]) -> Iterator[Piece]:
    for number, piece in enumerate(pieces):
        yield from ((", ", piece) if number else (piece,))
