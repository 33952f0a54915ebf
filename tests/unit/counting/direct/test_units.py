"""Sorted arrays keep and count what a plain loop over units does."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tapveil.counting.direct.units import at_most, least

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), max_size=40)
"""Unit, rank, and two labels: few of each, so that ranks are often equal."""


@given(rows=ROWS, most=st.integers(1, 4))
def test_of_each_unit_the_least_are_kept(rows: list[tuple[int, int, int, int]], most: int) -> None:
    units, ranks, *labels = (np.array([row[place] for row in rows], dtype=np.int64) for place in range(4))
    kept = least(units, most, lambda these: ranks[these], lambda these: [label[these] for label in labels])
    of_unit = defaultdict[int, list[tuple[int, int, int, int]]](list)
    for row in sorted(rows):
        of_unit[row[0]].append(row)
    expected = Counter(row for each in of_unit.values() for row in each[:most])
    assert Counter(row for row, is_kept in zip(rows, kept.tolist(), strict=True) if is_kept) == expected


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=40),
    times=st.integers(1, 3),
    apart=st.sampled_from([1, 2**40]),
)
def test_a_unit_is_in_a_cell_no_more_often_than_it_may(rows: list[tuple[int, int]], times: int, apart: int) -> None:
    """Also where a unit and a cell do not fit into one number."""
    units, cells = (np.array([row[place] * apart for row in rows], dtype=np.int64) for place in range(2))
    expected = Counter[int]()
    for (_, cell), number in Counter(rows).items():
        expected[cell * apart] += min(number, times)
    assert Counter(at_most(times, units, cells).tolist()) == expected
