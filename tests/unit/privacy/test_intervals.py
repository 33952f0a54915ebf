"""Intervals hold in 19 of 20 cells, published or not, whatever they count: computed exactly from the law, not tried."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
import pytest

from tapveil.plan.model import Plan
from tapveil.privacy.distribution import mean_error, spread, variance
from tapveil.privacy.intervals import MISS, Interval, given_published, interval
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Laplace, Mechanism, StabilityHistogram, stated

DELTA = Fraction(1, 8_000_000)
MECHANISMS: dict[str, Mechanism] = {
    "sbh at 1": StabilityHistogram(Fraction(1), DELTA),
    "sbh at 2": StabilityHistogram(Fraction(2), DELTA),
    "sbh, its threshold between": stated("sbh", Fraction(3, 2), Fraction(279, 10)),
    "laplace": Laplace(Fraction(1), 18),
    "laplace, wide": Laplace(Fraction(1, 5), 70),
    "laplace, narrow": Laplace(Fraction(3), 6),
    "gaussian": Gaussian(Fraction(3), 18),
    "gaussian, narrow": Gaussian(Fraction(1, 2), 4),
    "dictionary": Dictionary(Fraction(1)),
    "dictionary, cut": Dictionary(Fraction(1, 2), 12),
}
BEYOND = Fraction(1, 2**55)
"""What a law without an end leaves out."""


def coverage(mechanism: Mechanism, rule: Interval, count: int) -> Fraction:
    """How often what comes out holds the true count: of what is published, all from count − h to count + h does."""
    held = Fraction(0)
    if count >= rule.least:
        least, most = count - rule.half_width, count + rule.half_width
        held = mechanism.publish_tail(count, least) - mechanism.publish_tail(count, most + 1)
    return held + (1 - mechanism.publish_probability(count) if count <= rule.absent else 0)


def coverage_by_law(mechanism: Mechanism, rule: Interval, count: int) -> Fraction:
    """The same, number by number, and with the columns as they are published."""
    law = mechanism.distribution(count) if count or mechanism.visits_empty_cells else {}
    values = np.array(list(law), dtype=np.int64)
    inside = (rule.low(values) <= count) & (count <= rule.high(values))
    held = sum((p for p, holds in zip(law.values(), inside, strict=True) if holds), start=Fraction(0))
    return held + (1 - sum(law.values()) if count <= rule.absent else 0)


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_interval_holds_in_19_of_20_cells_and_none_narrower_does(name: str) -> None:
    mechanism = MECHANISMS[name]
    rule = interval(mechanism, MISS)
    exact = {count: coverage(mechanism, rule, count) for count in range(201)}
    for count in (0, 1, mechanism.smallest_published, rule.absent, rule.absent + 1, 200):
        assert abs(exact[count] - coverage_by_law(mechanism, rule, count)) <= BEYOND
    assert min(exact.values()) >= 1 - MISS, min(exact, key=exact.__getitem__)
    narrower = Interval(rule.half_width - 1, rule.least, rule.absent)
    assert coverage(mechanism, narrower, 200) < 1 - MISS
    if rule.absent:
        less = Interval(rule.half_width, rule.least, rule.absent - 1)
        assert coverage(mechanism, less, rule.absent) < 1 - MISS


def test_other_levels_hold_too() -> None:
    for miss in (Fraction(1, 2), Fraction(1, 100), Fraction(1, 1000)):
        rule = interval(MECHANISMS["sbh at 1"], miss)
        assert min(coverage(MECHANISMS["sbh at 1"], rule, count) for count in range(200)) >= 1 - miss


def test_the_papers_release() -> None:
    """What README, manifest and notes say of it."""
    found = {name: interval(mechanism, MISS) for name, mechanism in Plan.preset("opal").guarantee.mechanisms.items()}
    assert found["on_time"] == found["off_location"] == Interval(half_width=6, least=1, absent=39)
    assert found["on_time_location"] == Interval(half_width=3, least=1, absent=20)


def test_an_interval_of_a_cell_that_occurs_starts_at_one_and_of_a_listed_one_at_zero() -> None:
    low = np.array([1, 2, 40], dtype=np.int64)
    for name, least in (("laplace", 1), ("dictionary", 0)):
        rule = interval(MECHANISMS[name], MISS)
        assert rule.low(low).tolist() == [least, least, 37]
        assert rule.high(low).tolist() == [4, 5, 43]


# --- sums -------------------------------------------------------------------------------------------------------------


@lru_cache
def law_of_noise(mechanism: Mechanism) -> tuple[int, np.ndarray]:
    """The least noise in counts, and how likely each is from there on: off the drawn law of a count that is large."""
    law = mechanism.distribution(300)
    first, last = min(law), max(law)
    return first - 300, np.array([float(law.get(value, 0)) for value in range(first, last + 1)])


def brute(cells: dict[Mechanism, int]) -> tuple[int, np.ndarray]:
    first, law = 0, np.ones(1)
    for mechanism, number in cells.items():
        least, own = law_of_noise(mechanism)
        for _ in range(number):
            first, law = first + least, np.convolve(law, own)
    return first, law


@pytest.mark.parametrize("number", [1, 2, 7, 40])
@pytest.mark.parametrize("name", ["sbh at 1", "sbh, its threshold between", "laplace", "gaussian", "dictionary"])
def test_the_spread_of_a_sum_is_that_of_its_law(name: str, number: int) -> None:
    check_spread({MECHANISMS[name]: number})


def test_the_spread_of_different_noises() -> None:
    check_spread({MECHANISMS["sbh at 1"]: 5, MECHANISMS["sbh at 2"]: 9})
    check_spread({MECHANISMS["gaussian"]: 1, MECHANISMS["gaussian, narrow"]: 30})
    assert spread({MECHANISMS["gaussian"]: 0}, MISS) == 0


def check_spread(cells: dict[Mechanism, int]) -> None:
    first, law = brute(cells)
    away = np.abs(first + np.arange(len(law)))
    found = spread(cells, MISS)
    assert law[away > found].sum() <= float(MISS)
    assert law[away > found - 1].sum() > float(MISS), "and none narrower"


@pytest.mark.parametrize("name", MECHANISMS)
def test_variance_and_mean_error_are_those_of_the_law(name: str) -> None:
    first, law = law_of_noise(MECHANISMS[name])
    noise = first + np.arange(len(law))
    mean = (law * noise).sum()
    assert variance(MECHANISMS[name]) == pytest.approx((law * (noise - mean) ** 2).sum(), rel=1e-9)
    assert mean_error(MECHANISMS[name]) == pytest.approx((law * np.abs(noise)).sum(), rel=1e-9)


def test_one_cell_is_as_wide_as_its_interval() -> None:
    for mechanism in MECHANISMS.values():
        assert spread({mechanism: 1}, MISS) == interval(mechanism, MISS).half_width


# --- of printed numbers by themselves ---------------------------------------------------------------------------------

PRINTED: list[Mechanism] = [
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


@pytest.mark.parametrize("mechanism", PRINTED, ids=lambda each: f"{each.name} {each.smallest_published}")
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
    for mechanism in PRINTED:
        far = mechanism.smallest_published + 200
        low, high = given_published(mechanism, far, MISS)
        rule = interval(mechanism, MISS)
        assert abs(low - rule.of(far)[0]) <= 1
        assert abs(high - rule.of(far)[1]) <= 1
