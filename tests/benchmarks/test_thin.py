"""Thin data: the bounds that estimates are compared with are those of exact totals."""

from __future__ import annotations

import numpy as np
from benchmarks.thin import bound, thinned
from benchmarks.world import City


def city() -> City:
    random = np.random.default_rng(3)
    flow = random.gamma(0.5, 1, (6, 8, 8))
    return City(random.poisson(3 * flow, (6, 6, 8, 8)), (0, 0, 0, 0, 1, 1))


def test_the_typical_day_is_nearer_to_the_truth_than_even_shares() -> None:
    typical, even = bound(city(), typical=True), bound(city(), typical=False)
    assert all(np.array(typical) < even)


def test_a_day_that_is_the_only_one_of_its_kind_is_known_exactly() -> None:
    alone = City(city().counts[:2], (0, 1))
    assert bound(alone, typical=True) == [0.0] * 5


def test_fewer_trips_are_the_more_out_of_reach() -> None:
    """Whole numbers with the right totals are then off by more than a table of zeros, though nothing is noisy."""
    few = thinned(city(), 300)
    assert 200 < few.counts.sum() < 400
    assert bound(few, typical=True)[-1] > bound(city(), typical=True)[-1]
    assert bound(few, typical=False)[-1] > 100
