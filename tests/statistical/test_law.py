"""A million draws against the closed form, with power both ways: the law is accepted, each planted fault rejected."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from scipy import stats

from tapveil.privacy.mechanisms import StabilityHistogram
from tapveil.privacy.noise import NoiseTable, rounded_laplace
from tests.unit.privacy.test_noise import ideal_law

DRAWS = int(os.environ.get("TAPVEIL_DRAWS", "1000000"))
"""Of each count; `make test-full` asks for five million."""
COUNTS = (1, 10, 30, 34, 35, 60)
DELTA = Fraction(1, 8_000_000)
ACCEPT, REJECT = 1e-6, 1e-20


def p_value(mechanism: StabilityHistogram, ideal: StabilityHistogram, count: int, seed: int) -> float:
    """Chi-square of a million draws against the closed form: every printed value, and nothing, a class of its own."""
    values, published = mechanism.draw(np.full(DRAWS, count), np.random.default_rng([seed, count]).bytes)
    drawn, times = np.unique(values[published], return_counts=True)
    observed = dict(zip(drawn.tolist(), times.tolist(), strict=True))
    law = {value: float(p) for value, p in ideal_law(ideal, count).items()}
    if any(value not in law for value in observed):
        return 0.0  # a number that cannot be
    classes = [(1 - sum(law.values()), DRAWS - int(published.sum()))]
    classes += [(p, observed.get(value, 0)) for value, p in law.items()]
    expected, seen = zip(*_pooled(classes), strict=True)
    if len(seen) == 1:
        return 1.0
    return float(stats.chisquare(seen, np.array(expected) * sum(seen) / sum(expected)).pvalue)


def _pooled(classes: list[tuple[float, int]]) -> Iterator[tuple[float, int]]:
    """Classes too rare for the test are taken together."""
    rare_p, rare_seen = 0.0, 0
    for p, seen in classes:
        if DRAWS * p >= 10:
            yield DRAWS * p, seen
        else:
            rare_p, rare_seen = rare_p + p, rare_seen + seen
    if DRAWS * rare_p >= 10 or rare_seen > 10:
        yield max(DRAWS * rare_p, 1e-3), rare_seen


class Rescaled(StabilityHistogram):
    factor = Fraction(1)

    @property
    def noise(self) -> NoiseTable:
        return rounded_laplace(self.scale * self.factor, self.threshold - self.smallest_published)


class TooNarrow(Rescaled):
    factor = Fraction(7, 10)


class TooWide(Rescaled):
    factor = Fraction(13, 10)


class ThresholdLessOne(StabilityHistogram):
    @property
    def publish_step(self) -> int:
        return super().publish_step - 2


class WithoutPlusOne(StabilityHistogram):
    @property
    def threshold(self) -> Fraction:
        return StabilityHistogram(self.epsilon, self.delta).threshold - 1


class RoundedBeforeThreshold(StabilityHistogram):
    @property
    def publish_step(self) -> int:
        return 2 * ceil(self.threshold)


FAULTS = [TooNarrow, TooWide, ThresholdLessOne, WithoutPlusOne, RoundedBeforeThreshold]


@pytest.mark.parametrize("epsilon", [1, 2])
@pytest.mark.parametrize("count", COUNTS)
def test_a_million_draws_follow_the_closed_form(epsilon: int, count: int) -> None:
    mechanism = StabilityHistogram(Fraction(epsilon), DELTA)
    assert p_value(mechanism, mechanism, count, seed=epsilon) > ACCEPT


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("epsilon", [1, 2])
def test_a_wrong_law_is_rejected(fault: type[StabilityHistogram], epsilon: int) -> None:
    wrong, right = fault(Fraction(epsilon), DELTA), StabilityHistogram(Fraction(epsilon), DELTA)
    around = COUNTS if epsilon == 1 else (*COUNTS, 17, 18)
    assert min(p_value(wrong, right, count, seed=epsilon) for count in around) < REJECT


def test_operating_system_randomness_is_used_as_it_comes() -> None:
    """Two draws from the same bytes agree; two from the operating system do not."""
    mechanism, counts = StabilityHistogram(Fraction(1), DELTA), np.full(1000, 100)
    same = [mechanism.draw(counts, np.random.default_rng(1).bytes)[0] for _ in range(2)]
    fresh = [mechanism.draw(counts, os.urandom)[0] for _ in range(2)]
    assert np.array_equal(same[0], same[1])
    assert not np.array_equal(fresh[0], fresh[1])
