"""Why weeks are drawn independently: no other noise is better for a unit that is in every week."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from benchmarks.weeks import (
    PAGE,
    QUERIES,
    STRATEGIES,
    TOTAL,
    WEEKS,
    deviation,
    factorisations,
    independent,
    least,
    plan,
)

from tapveil.internal.schedule import weeks_that_fit


@pytest.mark.parametrize("queries", ["a week", "a quarter", "the year"])
def test_independent_weeks_reach_what_no_noise_can_be_below(queries: str) -> None:
    found = deviation(independent(WEEKS), QUERIES[queries], every_week=True)
    assert found == pytest.approx(least(queries))
    for strategy in STRATEGIES.values():
        assert deviation(strategy, QUERIES[queries], every_week=True) >= least(queries) * (1 - 1e-9)


def test_for_running_sums_independent_weeks_are_within_a_quarter_of_the_best() -> None:
    sums = QUERIES["all running sums"]
    assert deviation(independent(WEEKS), sums, every_week=True) < 1.25 * least("all running sums")


def test_for_a_unit_of_one_week_correlated_noise_is_better() -> None:
    sums = QUERIES["all running sums"]
    own, root = (deviation(STRATEGIES[name], sums, every_week=False) for name in ("independent weeks", "square root"))
    assert root < own / 2


@pytest.mark.parametrize(
    ("mechanism", "parts", "weeks"), [("gaussian", 52, 51), ("gaussian", 104, 58), ("world", 104, 61)]
)
def test_how_delta_is_divided_decides_how_many_weeks_fit(mechanism: str, parts: int, weeks: int) -> None:
    """As the page says: what thresholds use up of δ is not left for the sum of the losses."""
    made = partial(plan, mechanism, parts=parts)
    assert list(weeks_that_fit(made, [Fraction(1)], TOTAL, 100)) == [(Fraction(1), weeks)]


def test_random_strategies_are_not_better_for_a_card_that_travels_every_week() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        strategy = independent(WEEKS) + random.uniform(0, 0.2, (WEEKS, WEEKS)) * random.integers(0, 2, (WEEKS, WEEKS))
        for queries in ("a week", "the year"):
            assert deviation(strategy, QUERIES[queries], every_week=True) >= least(queries) * (1 - 1e-9)


def test_the_page_has_the_table_of_the_command() -> None:
    assert "\n".join(factorisations()) in PAGE.read_text(encoding="utf-8")
