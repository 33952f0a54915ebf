"""From margins to days."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapveil.published.estimates.joint import Joint, lowered
from tapveil.published.estimates.margins import Measured
from tapveil.published.estimates.parts import PARTS, in_trips
from tests.unit.published.estimates.city import AXES, measured, trips, world

PAIR = AXES[2:]


def test_each_step_has_the_sums_of_what_it_pools() -> None:
    exact = trips()
    joint = Joint(Measured(world(), measured(exact, 3.0)))
    assert abs(in_trips(joint.all_days[()]) / exact.sum() - 1) < 0.01
    for kind, days in ((0, exact[:5]), (1, exact[5:6]), (2, exact[6:])):
        assert abs(in_trips(joint.typical(kind)[()]) / days.sum() - 1) < 0.02
        assert abs(in_trips(joint.typical(kind)[PAIR]).sum() / days.sum() - 1) < 0.02


def test_a_day_has_the_sums_of_its_tables() -> None:
    joint = Joint(Measured(world(), measured(trips(), 3.0)))
    found = joint.day(2)
    for columns, table in found.items():
        gone = tuple(i for i, axis in enumerate(joint.columns) if axis not in columns)
        assert np.abs(in_trips(found[joint.columns].sum(axis=gone) - table)).max() < 0.05 * in_trips(table).max()


def test_ways_back_make_pairs_better() -> None:
    """Where those who go come back."""
    exact = trips(mean=30.0)
    exact = exact + exact.transpose(0, 1, 3, 2)

    def wrong(same_places: bool, seed: int) -> float:
        here = replace(world(), same_places=same_places)
        found = Joint(Measured(here, measured(exact, 60.0, seed=seed))).all_days[PAIR]
        return float(np.abs(in_trips(found) - exact.sum(axis=(0, 1))).sum())

    assert sum(wrong(True, seed) for seed in range(6)) < sum(wrong(False, seed) for seed in range(6))


@pytest.mark.parametrize(
    ("numbers", "by", "expected"),
    [
        ([5, 7], 0, [5, 7]),
        ([5, 7], 2, [4, 6]),
        ([-3, 5, 9], 0, [1, 3, 7]),
        ([-50, 5, 9], 0, [1, 1, 1]),
        ([2, 2, 20], 6, [1, 1, 16]),
    ],
)
def test_totals_are_lowered_alike_down_to_the_least(numbers: list[int], by: int, expected: list[int]) -> None:
    found = lowered({day: number * PARTS for day, number in enumerate(numbers)}, by * PARTS)
    assert [total / PARTS for total in found.values()] == expected
