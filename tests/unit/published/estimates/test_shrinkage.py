"""How far a noisy number is believed."""

from __future__ import annotations

import numpy as np
import pytest

from tapveil.published.estimates.parts import in_parts, in_trips
from tapveil.published.estimates.shrinkage import STEPS, fit, shrink, sizes

RANDOM = np.random.default_rng(1)
PRIORS = RANDOM.gamma(1, 50, 200_000)


@pytest.mark.parametrize(("linear", "square"), [(1.0, 0.04), (3.0, 0.0), (0.0, 0.2)])
def test_the_curve_behind_the_noise_is_found(linear: float, square: float) -> None:
    truth = PRIORS + RANDOM.normal(size=PRIORS.size) * np.sqrt(PRIORS * (linear + square * PRIORS))
    curve = fit(truth + RANDOM.normal(0, 10, PRIORS.size), PRIORS, 100.0)
    for size in (20.0, 60.0, 200.0):
        wanted = size * (linear + square * size)
        assert curve(np.array(size)) == pytest.approx(wanted, rel=0.15)


def test_estimates_are_better_than_prior_and_number() -> None:
    truth = RANDOM.poisson(PRIORS * RANDOM.gamma(10, 0.1, PRIORS.size)).astype(np.float64)
    noisy = truth + RANDOM.normal(0, 15, PRIORS.size)
    found = in_trips(shrink(in_parts(noisy), in_parts(PRIORS), 225.0))
    best = min(((noisy - truth) ** 2).mean(), ((PRIORS - truth) ** 2).mean())
    assert ((found - truth) ** 2).mean() < 0.8 * best


def test_without_a_prior_there_is_nothing() -> None:
    assert shrink(in_parts(np.array([5.0, 9.0])), np.zeros(2), 1.0).tolist() == [0.0, 0.0]


def test_pooled_days_never_end_at_nothing() -> None:
    priors = np.full(1000, 10.0)
    noisy = priors + RANDOM.normal(0, 40, 1000) + np.where(np.arange(1000) < 500, -8, 8)
    apart, pooled = (shrink(in_parts(noisy), in_parts(priors), 400.0, pooled) for pooled in (False, True))
    assert apart.min() == 0
    assert pooled.min() > 0


def test_sizes_grow_with_numbers() -> None:
    steps = sizes(np.array([0.0, 1e-9, 0.5, 1.0, 1.1, 1.13, 2.0, 1e6, 1e30]))
    assert (np.diff(steps) >= 0).all()
    assert steps[0] == steps[1] == 0
    assert steps[-1] == STEPS - 1
