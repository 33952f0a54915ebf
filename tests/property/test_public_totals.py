"""Exact totals: what a release given them guarantees, and what it does not, by every output of a small one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import combinations, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapveil.base.calendar import days_from
from tapveil.base.public_total import Lists, PublicTotal, faults, part_of
from tapveil.privacy.noise import discrete_laplace
from tapveil.privacy.rational import exp_above

Trips = tuple[str, ...]
"""The cell of each trip: `bus` or `train`, and a place."""
CELLS = ("bus A", "bus B", "train A")
NOISE = discrete_laplace(Fraction(1, 2))
KEPT = range(-2, 6)
"""Noisy counts are cut to these, which is post-processing."""


def outputs(trips: Trips) -> dict[tuple[object, ...], Fraction]:
    """The probability of each pair of the published totals by mode and the noisy counts of all cells."""
    found, counts = dict[tuple[object, ...], Fraction](), Counter(trips)
    totals = (sum(cell.startswith("bus") for cell in trips), sum(cell.startswith("train") for cell in trips))
    weights = {step: NOISE.probability(step) for step in range(-NOISE.last, NOISE.last + 1)}
    each = []
    for cell in CELLS:
        cut = dict.fromkeys(KEPT, Fraction(0))
        for step, weight in weights.items():
            cut[min(max(counts[cell] + step, KEPT[0]), KEPT[-1])] += weight
        each.append(cut)
    for noisy in product(KEPT, repeat=len(CELLS)):
        found[totals, *noisy] = Fraction(prod(cut[number] for cut, number in zip(each, noisy, strict=True)))
    return found


def delta(one: Trips, other: Trips, epsilon: Fraction) -> Fraction:
    p, q = outputs(one), outputs(other)
    return sum(
        (max(Fraction(0), mass - exp_above(epsilon) * q.get(out, Fraction(0))) for out, mass in p.items()), Fraction(0)
    )


BEFORE: Trips = ("bus A", "bus A", "bus B", "train A")


def test_an_exchange_within_the_same_totals_is_protected_as_without_them() -> None:
    """One trip changes two cells by one each, so the loss is at most 2 × 1/2, and the ends of the table."""
    after: Trips = ("bus A", "bus B", "bus B", "train A")
    assert delta(BEFORE, after, Fraction(1)) < Fraction(1, 10**6)
    assert delta(BEFORE, after, Fraction(1, 2)) > Fraction(1, 100), "the test can see a loss"


@pytest.mark.parametrize("after", [BEFORE[1:], ("bus A", "bus A", "train A", "train A")])
def test_totals_tell_with_certainty_what_they_are_of(after: Trips) -> None:
    """A trip that is absent, or exchanged for one of another mode: no epsilon is enough."""
    assert delta(BEFORE, after, Fraction(20)) == 1


LISTS = Lists(
    days=days_from(date(2025, 3, 1), date(2025, 3, 3)),
    calendars={},
    modes=("bus", "train"),
    places={"bus": ("A", "B"), "train": ("A", "B")},
    columns=("tap_on_location", "tap_off_location"),
)
ENDS = st.sampled_from(["A", "B", None])
DAYS = st.tuples(st.integers(1, 3), st.integers(1, 3)).map(sorted)
TOTAL = st.tuples(st.sampled_from(["bus", "train"]), ENDS, ENDS, DAYS)


def cells_of(total: PublicTotal) -> set[tuple[object, ...]]:
    every = product(("bus", "train"), ("A", "B"), ("A", "B"), LISTS.days)
    return {
        (mode, on, off, day)
        for mode, on, off, day in every
        if {"mode": mode, "tap_on_location": on, "tap_off_location": off}.items() >= total.of.items()
        and total.first_day <= day <= total.last_day  # type: ignore[operator]
    }


@given(drawn=st.lists(TOTAL, min_size=2, max_size=4), trips=st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_totals_are_accepted_exactly_if_none_cross_and_some_counts_have_them(
    drawn: list[tuple[str, str | None, str | None, list[int]]], trips: list[int]
) -> None:
    """Against sets of cells: nested or apart, no two the same, and what is left of each can be put somewhere."""
    totals = [
        PublicTotal(
            trips=number,
            of={"mode": mode} | ({"tap_on_location": on} if on else {}) | ({"tap_off_location": off} if off else {}),
            first_day=date(2025, 3, days[0]),
            last_day=date(2025, 3, days[1]),
            source="a report",
        )
        for (mode, on, off, days), number in zip(drawn, trips, strict=False)
    ]
    cells = [cells_of(total) for total in totals]
    nested = all(a != b and (a < b or b < a or not a & b) for a, b in combinations(cells, 2))
    fits = True
    for total, own in zip(totals, cells, strict=True):
        inside = [(n.trips, c) for n, c in zip(totals, cells, strict=True) if c < own]
        largest = [(number, c) for number, c in inside if not any(c < other for _, other in inside)]
        left = total.trips - sum(number for number, _ in largest)
        room = own - set().union(*(c for _, c in largest))
        fits &= left >= 0 and (left == 0 or bool(room))
    assert (list(faults(totals, LISTS)) == []) == (nested and fits)


def test_a_total_of_a_period_that_the_release_has_only_in_part_is_not_of_it() -> None:
    lists = replace(LISTS, calendars={"month": dict.fromkeys(LISTS.days, "2025-03")}, periods={"month": "month"})
    total = PublicTotal(trips=1, of={"mode": "bus", "month": "2025-03"}, source="a report")
    with pytest.raises(ValueError, match="only some days"):
        part_of(total, lists)
    march = days_from(date(2025, 3, 1), date(2025, 3, 31))
    whole = replace(lists, days=march, calendars={"month": dict.fromkeys(march, "2025-03")})
    assert part_of(total, whole).days == frozenset(march)
