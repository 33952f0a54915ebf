"""Raking to sums."""

from __future__ import annotations

import numpy as np

from tapveil.published.estimates.parts import in_parts, in_trips
from tapveil.published.estimates.raking import rake

AB, A, B = ("tap_on_location", "tap_off_location"), ("tap_on_location",), ("tap_off_location",)


def test_sums_are_met_and_odds_ratios_kept() -> None:
    random = np.random.default_rng(1)
    table, aim = random.gamma(2, 10, (4, 5)), random.gamma(2, 10, (4, 5))
    found = in_trips(rake(in_parts(table), AB, {A: in_parts(aim.sum(axis=1)), B: in_parts(aim.sum(axis=0))}))
    assert np.abs(found.sum(axis=0) / aim.sum(axis=0) - 1).max() < 1e-3
    assert np.abs(found.sum(axis=1) / aim.sum(axis=1) - 1).max() < 1e-3
    before, after = (t[0, 0] * t[1, 1] / t[0, 1] / t[1, 0] for t in (table, found))
    assert abs(after / before - 1) < 1e-4


def test_the_only_sum_is_met_at_once() -> None:
    found = rake(in_parts(np.ones((2, 3))), AB, {(): in_parts(60)})
    assert in_trips(found).tolist() == [[10.0] * 3] * 2


def test_nothing_stays_nothing() -> None:
    table = np.ones((2, 2))
    table[0, 0] = 0
    found = rake(in_parts(table), AB, {A: in_parts(np.array([5, 5])), B: in_parts(np.array([2, 8]))})
    assert found[0, 0] == 0
