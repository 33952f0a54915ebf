"""Sums that are the same in every order."""

from __future__ import annotations

import numpy as np

from tapveil.published.estimates.parts import add_by, in_parts, in_trips, signs


def test_sums_do_not_depend_on_their_order() -> None:
    """Numbers of very different sizes, whose sums as they are do."""
    random = np.random.default_rng(1)
    numbers = random.normal(size=100_000) * 10.0 ** random.integers(-6, 6, 100_000)
    groups = random.integers(0, 5, 100_000)
    first = add_by(groups, numbers, 5)
    plain = set()
    for _ in range(5):
        order = random.permutation(len(numbers))
        assert (add_by(groups[order], numbers[order], 5) == first).all()
        plain.add(np.bincount(groups[order], numbers[order]).tobytes())
    assert len(plain) > 1
    assert np.abs(first / np.bincount(groups, numbers) - 1).max() < 1e-6


def test_parts_are_whole_and_sum_exactly() -> None:
    trips = np.random.default_rng(2).gamma(1, 1000, 50_000)
    parts = in_parts(trips)
    assert (parts == np.rint(parts)).all()
    assert parts.sum() == sum(int(part) for part in parts)
    assert np.abs(in_trips(parts) - trips).max() <= 2.0**-21


def test_an_empty_or_vanishing_sum_is_zero() -> None:
    assert add_by(np.zeros(0, dtype=np.int64), np.zeros(0), 2).tolist() == [0.0, 0.0]
    assert add_by(np.zeros(3, dtype=np.int64), np.zeros(3), 1).tolist() == [0.0]


def test_signs_are_balanced_and_their_own_for_each_seed() -> None:
    one, other = signs(1, 100_001), signs(2, 100_001)
    assert set(one.tolist()) == {-1, 1}
    assert abs(int(one.sum(dtype=np.int64))) < 1500
    assert abs(int((one * other).sum(dtype=np.int64))) < 1500
