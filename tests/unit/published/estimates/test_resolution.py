"""Thin tables have the cells that can be told from nothing, all others have all cells."""

from __future__ import annotations

import numpy as np
import pytest

from tapveil.published.estimates import Estimates, Spread, estimate
from tapveil.published.estimates.resolution import resolved
from tests.unit.published.estimates.city import TABLES, Counts, measured, table, trips, world

QUERIES = (*TABLES, ("tap_on_location", "tap_off_location"), ("date", "tap_on_location"))
BUSY, QUIET = trips(), trips(mean=0.1)


def off(counts: Counts, found: Counts) -> float:
    return float(np.abs(found - counts).sum() / counts.sum())


def errors(counts: Counts, found: Estimates) -> list[float]:
    return [off(table(counts, columns), found.table(columns).count) for columns in QUERIES]


def test_with_few_trips_in_much_noise_no_table_is_further_off_than_zeros() -> None:
    """On average; without leaving out cells some tables are, though all have the right sums."""
    old, new = (
        np.mean([errors(QUIET, estimate(world(), measured(QUIET, 6.0, seed=s), v)) for s in range(3)], axis=0)
        for v in (3, 4)
    )
    assert max(new) <= 1.03
    assert sum(old > 1.02) >= 2


@pytest.mark.parametrize("deviation", [1.0, 4.0])
def test_tables_with_enough_trips_have_all_cells_and_add_up(deviation: float) -> None:
    found = estimate(world(), measured(BUSY, deviation))
    for columns in QUERIES:
        assert (found.table(columns).count == found.count(columns)).all()


def test_what_is_listed_is_a_sum_of_the_same_trips_and_the_other_cells_are_within_their_intervals() -> None:
    found = estimate(world(), measured(QUIET, 6.0))
    shown, all_of_them = found.table(TABLES[0]), found.count(TABLES[0])
    listed = shown.count > 0
    assert 0 < listed.sum() < (all_of_them > 0).sum()
    assert (shown.count[listed] == all_of_them[listed]).all()
    assert (shown.low[~listed] == 0).all()
    assert (shown.high >= all_of_them).all()


def test_totals_are_always_told() -> None:
    found = estimate(world(), measured(QUIET, 40.0))
    assert (found.table(["date"]).count == found.count(["date"])).all()
    assert not found.table(TABLES[0]).count.any()


def test_cells_that_exceed_their_error_are_resolved() -> None:
    """Of 1,000 cells, 4 stand out of noise of deviation 3; ones are what rounding scattered."""
    estimates = np.array([40] * 4 + [1] * 196 + [0] * 800)
    told = resolved(Spread(9.0, 1.0, 0.0, 0.0), estimates)
    assert told.tolist() == [True] * 4 + [False] * 996
    assert resolved(Spread(0.1, 0.01, 0.0, 0.0), estimates).all()


def test_estimates_that_are_their_own_measurements_have_to_exceed_twice_their_error() -> None:
    """The largest of 1,000 cells of noise alone exceed it once."""
    estimates = np.array([13] + [0] * 999)
    assert resolved(Spread(100.0, 50.0, 0.0, 0.0), estimates)[0]
    assert not resolved(Spread(100.0, 1e6, 0.0, 0.0), estimates)[0]


def test_a_table_that_no_measurement_tells_has_all_cells() -> None:
    """Noise does not show how far its estimates are off."""
    estimates = np.array([9, 1, 0, 0, 0])
    assert resolved(Spread(float("inf"), 36.0, 0.0, 0.0), estimates).all()
    assert not resolved(Spread(40.0, 36.0, 0.0, 0.0), estimates).all()


def test_a_table_without_trips_has_none() -> None:
    assert not (resolved(Spread(9.0, 1.0, 0.0, 0.0), np.zeros(5, dtype=np.int64)) * np.zeros(5)).any()
