"""Intervals for printed numbers by themselves: of all printed cells with a true number, no more than 5 % are missed."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from tapveil.privacy.intervals import MISS, given_published, interval
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Laplace, Mechanism, StabilityHistogram

DELTA = Fraction(1, 8_000_000)
MECHANISMS: list[Mechanism] = [
    Laplace(Fraction(1), 18),
    Laplace(Fraction(1, 2), 34),
    Gaussian(Fraction(2678, 1000), 16),
    StabilityHistogram(Fraction(1), DELTA),
    StabilityHistogram(Fraction(2), DELTA),
    Dictionary(Fraction(1), 15),
]


@cache
def by_itself(mechanism: Mechanism, published: int) -> tuple[int, int]:
    return given_published(mechanism, published, MISS)


def covered(mechanism: Mechanism, count: int, *, jointly: bool = False) -> float:
    """Of the releases that print a cell of this count, the share whose interval holds it: exactly, from the law."""
    rule, held = interval(mechanism, MISS), Fraction(0)
    for published, p in mechanism.distribution(count).items():
        low, high = rule.of(published) if jointly else by_itself(mechanism, published)
        held += p * (low <= count <= high)
    return float(held / mechanism.publish_probability(count))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: f"{each.name} {each.smallest_published}")
def test_printed_numbers_hold_by_themselves(mechanism: Mechanism) -> None:
    first = 0 if mechanism.visits_empty_cells else 1
    shares = [covered(mechanism, count) for count in range(first, mechanism.smallest_published + 40)]
    assert min(shares) >= 0.95 - 1e-12  # the law of an endless table is listed as far as the table goes
    assert max(shares) < 1


def test_the_joint_rule_does_not_hold_for_them_and_need_not() -> None:
    """Why there are two: a small cell that is printed was raised by noise, and its joint interval lies too high."""
    sbh = StabilityHistogram(Fraction(1), DELTA)
    assert covered(sbh, 20, jointly=True) == 0
    assert covered(sbh, 20) >= 0.95


def test_far_above_the_threshold_they_are_the_same_but_for_rounding() -> None:
    for mechanism in MECHANISMS:
        far = mechanism.smallest_published + 200
        low, high = given_published(mechanism, far, MISS)
        rule = interval(mechanism, MISS)
        assert abs(low - rule.of(far)[0]) <= 1
        assert abs(high - rule.of(far)[1]) <= 1
