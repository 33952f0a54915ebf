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
    evidence.add(found.astype(np.int64), in_parts(found), in_parts(noisy), in_parts(believed * moved), in_parts(moved))
    assert evidence.squares().sum() / prior.size == pytest.approx(((found - truth) ** 2).mean(), rel=0.05)
    assert (evidence.spread().deviation(found) ** 2).mean() == pytest.approx(((found - truth) ** 2).mean(), rel=0.1)


def test_stein_sees_errors_where_noise_says_which_cells_are_rounded_up() -> None:
    """A seventh of a trip in a cell; those with the largest estimates become one. Version 6 saw too little of it."""
    mean, deviation, cells = 1 / 7, 1.5, 200_000
    truth = RANDOM.poisson(mean, cells)
    noisy = truth + np.rint(RANDOM.normal(0, deviation, cells))
    believed = mean / (mean + deviation**2)
    fitted = mean + believed * (noisy - mean)
    whole = (fitted >= np.sort(fitted)[-truth.sum()]).astype(np.int64)
    moved = RANDOM.choice([-1.0, 1.0], cells) * STEP * deviation
    square = ((whole - truth) ** 2).mean()
    old, new = (Evidence(deviation**2 + 1 / 12, rounded) for rounded in (False, True))
    for each in (old, new):
        each.add(whole, in_parts(fitted), in_parts(noisy), in_parts(believed * moved), in_parts(moved))
    assert new.squares().sum() / cells == pytest.approx(square, rel=0.12)
    assert old.squares().sum() / cells < 0.5 * square


def test_an_estimate_that_is_its_measurement_has_its_variance_and_full_weight() -> None:
    numbers = RANDOM.integers(1000, 2000, 50)
    moved = RANDOM.normal(0, STEP * 10, 50)
    evidence = Evidence(100.0)
    evidence.add(numbers, in_parts(numbers), in_parts(numbers), in_parts(moved), in_parts(moved))
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
