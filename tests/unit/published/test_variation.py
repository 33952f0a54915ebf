"""What is said to be real is real, but for one time in twenty; and what is real is found, if days differ by little."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tapveil.privacy.distribution import spread, variance
from tapveil.privacy.mechanisms import Gaussian, Laplace, Mechanism, StabilityHistogram
from tapveil.published.variation import Panel, change, mean, noise_quantile, share, student_quantile, trend
from tests.support.weeks import WEEK

FIRST = date(2025, 3, 3)
NOISE = 5.0
"""The scale of Laplace noise in simulations."""
DAYS = WEEK / WEEK.mean()
PAIRS = 1000


def panel(
    level: float, rows: int, weeks: int, seed: int, days: float = 0.0, by_week: float = 0.0, scale: float = NOISE
) -> Panel:
    """Published numbers of some weeks, without a change: Poisson trips, days and weeks that differ, Laplace noise."""
    random = np.random.default_rng(seed)
    shape = (rows, 7 * weeks)
    expected = level * np.tile(DAYS, weeks) * np.exp(random.normal(0, days, shape))
    expected *= np.exp(random.normal(0, by_week, (rows, weeks))).repeat(7, axis=1)
    counts = (random.poisson(expected) + np.rint(random.laplace(0, scale, shape))).astype(float)
    noise = np.full(shape, 2 * scale**2 + 1 / 12)
    return Panel(tuple(FIRST + timedelta(days=n) for n in range(7 * weeks)), counts, np.zeros(shape), noise)


def weeks_of(whole: Panel, first: int, last: int) -> Panel:
    return whole.of(range(7 * first, 7 * last))


def mostly_noise() -> Panel:
    """Eight weeks of numbers from nothing to many, around which noise goes 30 up or down: for other programs, too."""
    each = [panel(level, 6, 8, seed=level, scale=30) for level in (0, 5, 30, 100, 500)]
    counts, left_out, noise = (
        np.concatenate(parts) for parts in zip(*[(p.counts, p.left_out, p.noise) for p in each], strict=True)
    )
    return Panel(each[0].days, counts, left_out, noise)


def grown(whole: Panel, week: int, by: float) -> Panel:
    """The same with one more tenth, or less, of the numbers in some week and all later ones."""
    counts = whole.counts.copy()
    counts[:, 7 * week :] *= 1 + by
    return Panel(whole.days, counts, whole.left_out, whole.noise)


@pytest.mark.parametrize("level", [60, 1000, 20_000])
@pytest.mark.parametrize("days", [0.0, 0.05, 0.2])
def test_of_a_thousand_pairs_of_weeks_without_a_change_at_most_one_in_twenty_is_called_real(
    level: float, days: float
) -> None:
    whole = panel(level, PAIRS, 2, seed=1, days=days)
    found = change(weeks_of(whole, 1, 2), weeks_of(whole, 0, 1))
    assert found.real.mean() <= 0.05
    assert found.real.mean() > 0.005, "an interval that is never left says nothing"


@pytest.mark.parametrize("level", [0, 5, 30, 100, 500])
def test_of_numbers_that_are_mostly_noise_the_interval_is_that_of_the_noise_and_not_a_quotient_by_nearly_nothing(
    level: float,
) -> None:
    """Every cell of a known world is published, negative ones too: a total can be anything, near zero as well."""
    whole = panel(level, PAIRS, 2, seed=6, scale=30)
    found = change(weeks_of(whole, 1, 2), weeks_of(whole, 0, 1))
    half = (found.high - found.low) / 2
    assert 0.005 < found.real.mean() <= 0.05
    assert half.max() < 4 * np.median(half), "one in twenty was a thousand times too wide"
    true_spread = np.sqrt(2 * (2 * 30**2 + level) / 7)
    assert np.median(half) < 3 * true_spread


def test_an_interval_that_ends_at_nothing_is_not_beyond_it() -> None:
    """Noise is a whole number of trips, and a change often is, too: errors of floating point are no verdict."""
    counts = np.full((60, 14), 1000.0)
    counts[:, 7] += np.arange(60)
    whole = Panel(tuple(FIRST + timedelta(days=n) for n in range(14)), counts, np.zeros((60, 14)), np.full((60, 14), 7))
    before, after = weeks_of(whole, 0, 1), weeks_of(whole, 1, 2)
    for ends in (change(after, before).noise_low, -change(before, after).noise_high):
        assert (ends == 0).sum() == 1
        assert (np.abs(ends[ends != 0]) > 0.1).all()
        assert np.sign(ends).tolist() == sorted(np.sign(ends))


def test_with_a_history_weeks_that_differ_as_weeks_do_are_not_called_real() -> None:
    whole = panel(1000, PAIRS, 12, seed=2, days=0.03, by_week=0.04)
    before, after = weeks_of(whole, 10, 11), weeks_of(whole, 11, 12)
    assert change(after, before, whole).real.mean() <= 0.05
    assert change(after, before).real.mean() > 0.10, "two weeks alone do not tell how weeks differ"


def test_a_tenth_more_at_a_station_of_a_thousand_is_found() -> None:
    """From two weeks, if days differ as trips do that happen each by itself; if by 5 % more, from four weeks each."""
    whole = grown(panel(1000, PAIRS, 2, seed=3), 1, 0.10)
    assert change(weeks_of(whole, 1, 2), weeks_of(whole, 0, 1)).real.mean() >= 0.95
    whole = grown(panel(1000, PAIRS, 8, seed=4, days=0.05), 4, 0.10)
    assert change(weeks_of(whole, 4, 8), weeks_of(whole, 0, 4)).real.mean() >= 0.95


def test_the_interval_of_the_noise_contains_what_the_true_numbers_say() -> None:
    random = np.random.default_rng(5)
    true = random.poisson(500 * np.tile(WEEK, 2), (PAIRS, 14)).astype(float)
    noisy = true + np.rint(random.laplace(0, NOISE, true.shape))
    days = tuple(FIRST + timedelta(days=n) for n in range(14))
    whole = Panel(days, noisy, np.zeros(true.shape), np.full(true.shape, 2 * NOISE**2))
    exact = Panel(days, true, np.zeros(true.shape), np.zeros(true.shape))
    for ask in (mean, trend, lambda each: change(weeks_of(each, 1, 2), weeks_of(each, 0, 1))):
        found, truth = ask(whole), ask(exact).value
        within = ((found.noise_low <= truth) & (truth <= found.noise_high)).mean()
        assert 0.95 <= within < 0.99
        assert (found.low <= found.noise_low).all()
        assert (found.high >= found.noise_high).all()


def test_a_trend_is_found_and_none_is_not() -> None:
    flat = panel(1000, PAIRS, 8, seed=6, days=0.03)
    assert trend(flat).real.mean() <= 0.05
    rising = Panel(flat.days, flat.counts * (1 + np.arange(56) / 7 * 0.02), flat.left_out, flat.noise)
    assert trend(rising).real.mean() >= 0.95


def test_what_is_not_published_widens_the_interval_of_the_noise_and_gives_no_verdict() -> None:
    whole = panel(1000, 3, 2, seed=7)
    counts, left_out = whole.counts.copy(), whole.left_out.copy()
    counts[0, 3], left_out[0, 3] = 0.0, 70.0
    holed = Panel(whole.days, counts, left_out, whole.noise)
    found, full = mean(holed), mean(whole)
    assert np.isnan(found.value[0])
    assert np.isnan(found.real[0])
    assert found.noise_high[0] == pytest.approx((counts[0].sum() + 70) / 14 + (full.noise_high - full.value)[0])
    assert (found.value[1:] == full.value[1:]).all()


def test_what_nobody_knows_has_no_limits() -> None:
    """Of a cell that is not on a list nothing is known, on one day or on several."""
    whole = panel(1000, 1, 2, seed=9)
    left_out = whole.left_out.copy()
    left_out[0, [3, 5, 10]] = np.inf
    holed = Panel(whole.days, whole.counts, left_out, whole.noise)
    found = change(weeks_of(holed, 1, 2), weeks_of(holed, 0, 1))
    assert (found.noise_low[0], found.noise_high[0]) == (-np.inf, np.inf)
    assert mean(holed).noise_high[0] == np.inf
    assert np.isfinite(mean(holed).noise_low[0])


def test_a_share_contains_that_of_the_true_numbers() -> None:
    random = np.random.default_rng(8)
    true = random.poisson(4000, (PAIRS, 7)).astype(float)
    part = random.binomial(true.astype(int), 0.12).astype(float)
    days = tuple(FIRST + timedelta(days=n) for n in range(7))
    panels = [
        Panel(
            days,
            each + np.rint(random.laplace(0, NOISE, each.shape)),
            np.zeros(each.shape),
            np.full(each.shape, 2 * NOISE**2),
        )
        for each in (part, true)
    ]
    found, truth = share(panels[0], panels[1]), part.sum(axis=1) / true.sum(axis=1)
    assert 0.95 <= ((found.noise_low <= truth) & (truth <= found.noise_high)).mean() < 0.995
    assert ((found.low <= 0.12) & (found.high >= 0.12)).mean() >= 0.95


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(Fraction(1), 18),
        Laplace(Fraction(8), 90),
        Gaussian(Fraction(5), 40),
        StabilityHistogram(Fraction(1), Fraction(1, 10**6)),
    ],
    ids=["laplace 1", "laplace 8", "gaussian 5", "sbh"],
)
def test_the_noise_of_sums_is_not_further_off_than_said(mechanism: Mechanism) -> None:
    for number in (1, 2, 7, 28, 365):
        deviation = (number * variance(mechanism)) ** 0.5
        for miss in (Fraction(1, 20), Fraction(1, 1000)):
            said = np.ceil(noise_quantile(float(miss), gaussian=isinstance(mechanism, Gaussian)) * deviation)
            assert said + 1 >= spread({mechanism: number}, miss)


@pytest.mark.parametrize("freedom", [1, 2, 3, 6, 7, 40, 399, 401, 5000])
def test_quantiles_of_student_are_those_of_scipy(freedom: int) -> None:
    for miss in (0.05, 0.04, 0.0001):
        assert student_quantile(freedom, miss) == pytest.approx(stats.t.ppf(1 - miss / 2, freedom), rel=1e-4)
