"""Whole numbers that add up, as nearly as they can."""

from __future__ import annotations

import numpy as np
import pytest

from tapveil.published.estimates.parts import in_parts, in_trips
from tapveil.published.estimates.rounding import whole

SHAPES = [(), (7,), (1, 1), (5, 8), (6, 9, 4), (1, 12, 12), (3, 2, 2, 4)]


def numbers(shape: tuple[int, ...], mean: float) -> np.ndarray:
    return in_parts(np.random.default_rng(3).gamma(0.5, 2 * mean, shape))


@pytest.mark.parametrize("mean", [0.02, 0.4, 30.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_total_is_kept_and_nothing_is_negative(shape: tuple[int, ...], mean: float) -> None:
    parts = numbers(shape, mean)
    found = whole(parts)
    assert found.shape == shape
    assert found.min() >= 0
    assert found.sum() == np.rint(in_trips(parts.sum()))


@pytest.mark.parametrize("mean", [0.1, 1.0, 30.0])
def test_sums_over_a_column_are_off_by_little(mean: float) -> None:
    parts = numbers((12, 40, 40), mean)
    for axis in range(3):
        wrong = np.abs(whole(parts).sum(axis=axis) - in_trips(parts.sum(axis=axis)))
        assert wrong.mean() < 0.4
        assert wrong.max() < 3.5


def test_rounding_one_by_one_would_be_off_by_much() -> None:
    """What the sweeps are for."""
    parts = numbers((12, 40, 40), 0.1)
    assert np.abs(np.rint(in_trips(parts)).sum(axis=2) - in_trips(parts.sum(axis=2))).mean() > 1


def test_cells_of_nothing_stay_empty() -> None:
    parts = numbers((6, 9, 4), 0.4)
    parts[2] = parts[:, 3] = 0
    found = whole(parts)
    assert found[2].max() == found[:, 3].max() == 0


def test_whole_numbers_stay_as_they_are() -> None:
    exact = np.random.default_rng(4).poisson(3, (4, 5, 6))
    assert (whole(in_parts(exact)) == exact).all()


def test_columns_may_come_in_any_order_of_memory() -> None:
    parts = numbers((6, 9, 4), 0.4)
    assert (whole(np.asfortranarray(parts)) == whole(parts)).all()
