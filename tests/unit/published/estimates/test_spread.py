"""Errors seen through the noise, without the truth."""

from __future__ import annotations

import numpy as np
import pytest

from tapveil.published.estimates.margins import STEP
from tapveil.published.estimates.parts import in_parts
from tapveil.published.estimates.spread import UNSEEN, Evidence, Spread

RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize("believed", [0.1, 0.6, 1.0])
def test_stein_sees_the_mean_square_error(believed: float) -> None:
    """Estimates that believe their measurement by a fixed share, whether that is the best one or not."""
    prior = RANDOM.integers(20, 400, 200_000).astype(np.float64)
    truth = RANDOM.poisson(prior * RANDOM.gamma(20, 1 / 20, prior.size))
    noisy = truth + np.rint(RANDOM.normal(0, 20, prior.size))
    found = np.rint(prior + believed * (noisy - prior))
    moved = RANDOM.choice([-1.0, 1.0], prior.size) * STEP * 20
    evidence = Evidence(400.0)
    evidence.add(found.astype(np.int64), in_parts(noisy), in_parts(believed * moved), in_parts(moved))
    assert evidence.squares().sum() / prior.size == pytest.approx(((found - truth) ** 2).mean(), rel=0.05)
    assert (evidence.spread().deviation(found) ** 2).mean() == pytest.approx(((found - truth) ** 2).mean(), rel=0.1)


def test_an_estimate_that_is_its_measurement_has_its_variance_and_full_weight() -> None:
    numbers = RANDOM.integers(1000, 2000, 50)
    moved = RANDOM.normal(0, STEP * 10, 50)
    evidence = Evidence(100.0)
    evidence.add(numbers, in_parts(numbers), in_parts(moved), in_parts(moved))
    spread = evidence.spread()
    assert spread.deviation(np.array(1500.0)) == pytest.approx(10, rel=0.02)
    assert spread.weight(np.array(1500.0)) > 0.95


def test_intervals_are_whole_hold_the_estimate_and_grow() -> None:
    low, high = Spread(25.0, 0.1, 1.0, 0.1).around(np.array([0, 1, 10, 100]))
    assert (low <= [0, 1, 10, 100]).all()
    assert low.min() == 0
    assert (np.diff(high - low) >= 0).all()
    assert high[0] >= 2


def test_what_no_measurement_tells_rests_on_none() -> None:
    assert UNSEEN.weight(np.array([0.0, 50.0])).tolist() == [0.0, 0.0]
    assert np.isfinite(UNSEEN.deviation(np.array([0.0, 50.0]))).all()
