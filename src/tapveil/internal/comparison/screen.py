"""A comparison on a screen: one grid for each unit, the plan's own row marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from tapveil.base.numbers import percent, three_digits
from tapveil.base.text_table import Grid
from tapveil.internal.comparison.compare import ALL, Comparison, Point
from tapveil.internal.confidential import NOTICE
from tapveil.privacy.rational import decimal_text
from tapveil.privacy.units import Unit
from tapveil.published.describe.wording import change

MARK = "*"
NOTHING = "-"


def show(console: Console, comparison: Comparison) -> None:
    """The whole comparison, from the exact counts: internal."""
    console.print(f"{NOTICE} Do not publish.", style="bold")
    delta = f"delta = {float(comparison.delta):.3g}" if comparison.delta else "no delta"
    console.print(f"Expected results at other values of epsilon, with {delta} throughout. {MARK} marks your plan.")
    for unit in comparison.units:
        console.print(f"\n{_in_words(comparison, unit)}", style="bold")
        _grid(comparison, unit).show(console)
        for words in refusals(comparison, unit):
            console.print(f"Not possible: {words}.")
    console.print()
    for words in _how_to_read(comparison):
        console.print(words)


def _grid(comparison: Comparison, unit: Unit) -> Grid:
    groups = comparison.groups
    overall = ["trips"] if len(groups) > 1 else []
    names = ["" if group == ALL else f"{group}: " for group in groups]
    of_each = [heading for name in names for heading in (f"{name}trips", "error", "total error")]
    grid = Grid("  mechanism", "epsilon", "cells", *overall, *of_each)
    never = comparison.never(unit)
    for point in (point for point in comparison.of(unit) if point.mechanism not in never):
        name = f"{MARK if point.own else ' '} {point.mechanism}"
        grid.add(name, decimal_text(point.epsilon, 4), *_numbers(point, groups))
    return grid


def _numbers(point: Point, groups: Sequence[str]) -> Iterator[str]:
    if point.impossible:
        yield "not possible"
        return
    yield f"{point.worth[ALL].cells:,.0f}"
    if len(groups) > 1:
        yield percent(point.worth[ALL].trip_share)
    for worth in (point.worth[group] for group in groups):
        yield percent(worth.trip_share)
        yield NOTHING if worth.number_error is None else three_digits(worth.number_error)
        yield NOTHING if worth.total_error is None else percent(worth.total_error)


def _in_words(comparison: Comparison, unit: Unit) -> str:
    """A unit, its bounds, and what they cost before any noise."""
    bounds = zip(comparison.bounds[unit], ("on a day", "in total"), strict=True)
    most = ", ".join(f"{trips} trips {over}" for trips, over in bounds if trips)
    words = f"Unit {unit}: {change(unit, comparison.neighbours)}"
    words += f"; at most {most} of a card" if most else ""
    left_out = 1 - comparison.kept.get(unit, 1)
    return words + (f" ({percent(left_out)} of trips exceed this, and are left out)" if left_out > 0 else "")


def refusals(comparison: Comparison, unit: Unit) -> Iterator[str]:
    """What is not possible, and why."""
    never = comparison.never(unit)
    for (reason, epsilons), mechanisms in comparison.refusals(unit).items():
        at = ", ".join(decimal_text(epsilon, 4) for epsilon in epsilons)
        yield f"{', '.join(mechanisms)} at {'any epsilon' if never >= {*mechanisms} else f'epsilon {at}'}: {reason}"


def _how_to_read(comparison: Comparison) -> Iterator[str]:
    yield "cells: number of published cells in all tables. trips: share of the trips that are in published cells."
    yield "error: distance of a published count from the exact count, on average."
    yield "total error: the same for the total of a table, added up from its published cells, as a share of the total."
    if ALL not in comparison.groups:
        yield "Tables with one column of their own are shown apart from those with several."
    yield "All of this is computed from the distribution of the noise; no noise was drawn."
    yield from cautions(comparison)


def cautions(comparison: Comparison) -> Iterator[str]:
    """What a choice should not be made without."""
    if comparison.own_differs:
        yield (
            "Your plan gives each table a budget of its own. All others share one total in the same proportions. "
            "It is accounted for as a whole, which needs less noise for the same guarantee."
        )
    if len(comparison.units) > 1:
        yield "The same epsilon protects a card better than a trip: it covers all trips of the card."
    yield "A choice made by looking at these results is not covered by any epsilon."
