from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import pytest

from tapveil.privacy import rational
from tapveil.privacy.accountant import Exposure, delta
from tapveil.privacy.loss import Loss, certified, compose
from tapveil.privacy.mechanisms import StabilityHistogram
from tapveil.privacy.noise import WORDS, NoiseTable, discrete_gaussian, rounded_laplace
from tests.conftest import SHARED_DATA

DELTA = Fraction(1, 8_000_000)
ONE_WAY = StabilityHistogram(Fraction(1), DELTA)
TWO_WAY = StabilityHistogram(Fraction(2), DELTA)
GRID = 2.0**-60
"""How far a probability of a 64-bit table may lie from the ideal one."""


def ideal_law(mechanism: StabilityHistogram, count: int) -> dict[int, Fraction]:
    """The closed form: P(round(c + L) = v and c + L ≥ T), in high precision, written independently."""
    with mpmath.workdps(40):
        b = mpmath.mpf(mechanism.scale.numerator) / mechanism.scale.denominator
        delta = mpmath.mpf(mechanism.delta.numerator) / mechanism.delta.denominator
        threshold = b * mpmath.log(2 / delta) + 1

        def cdf(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(x / b) / 2 if x < 0 else 1 - mpmath.exp(-x / b) / 2

        law = {}
        for v in range(int(threshold) - 1, count + int(50 * b) + 5):
            low, high = max(mpmath.mpf(v) - mpmath.mpf("0.5"), threshold), mpmath.mpf(v) + mpmath.mpf("0.5")
            if high > low:
                law[v] = Fraction(mpmath.nstr(cdf(high - count) - cdf(low - count), 30))
        return law


@pytest.mark.parametrize(
    ("mechanism", "threshold", "scale", "smallest"),
    [(ONE_WAY, "34.1761985604", 2, 34), (TWO_WAY, "17.5880992802", 1, 18)],
)
def test_scale_and_threshold_are_the_papers(
    mechanism: StabilityHistogram, threshold: str, scale: int, smallest: int
) -> None:
    assert rational.decimal_text(mechanism.threshold, 12) == threshold
    assert mechanism.scale == scale
    assert mechanism.smallest_published == smallest


@pytest.mark.parametrize("mechanism", [ONE_WAY, TWO_WAY, StabilityHistogram(Fraction(1, 3), Fraction(1, 1000))])
@pytest.mark.parametrize("count", [1, 2, 10, 18, 30, 34, 35, 60])
def test_the_law_of_the_table_is_the_closed_form(mechanism: StabilityHistogram, count: int) -> None:
    ideal, ours = ideal_law(mechanism, count), mechanism.distribution(count)
    assert min(ours) == mechanism.smallest_published == min(ideal)
    for v in ideal:
        assert abs(ours.get(v, Fraction(0)) - ideal[v]) < GRID
    assert sum(ours.values()) == mechanism.publish_probability(count)


def test_the_value_beside_the_threshold_has_part_of_its_mass() -> None:
    """34.176 cuts the cell of 34: of its mass only a third is left, as the published Opal files show."""
    law = ONE_WAY.distribution(20)
    assert 0.25 < float(law[34] / law[35]) < 0.65


def test_an_absent_cell_is_never_published() -> None:
    assert ONE_WAY.publish_probability(0) == 0
    assert ONE_WAY.distribution(0) == {}


def test_a_singleton_appears_a_quarter_of_delta_of_the_time() -> None:
    for mechanism in (ONE_WAY, TWO_WAY):
        assert abs(mechanism.publish_probability(1) - DELTA / 4) < Fraction(1, 2**60)


def test_released_probabilities_agree_with_the_vectors() -> None:
    path = SHARED_DATA.parent / "theory" / "vectors.json"
    if not path.exists():
        pytest.skip("the vectors are not beside this checkout (../shared/theory)")
    vectors = json.loads(path.read_text())["1_sbh"]
    for mechanism, key in ((ONE_WAY, "eps=1,delta=1/8e6,paper"), (TWO_WAY, "eps=2,delta=1/8e6,paper")):
        expected = vectors[key]
        assert rational.decimal_text(mechanism.threshold, 18) == expected["T"]
        assert mechanism.smallest_published == expected["min_printed_value"]
        for count, p in expected["P_release_at_count"].items():
            assert float(mechanism.publish_probability(int(count))) == pytest.approx(float(p), rel=1e-8, abs=GRID)


def test_more_trips_never_appear_less_often() -> None:
    chances = [TWO_WAY.publish_probability(count) for count in range(60)]
    assert all(low <= high for low, high in pairwise(chances))


# --- the loss of the table that is used ----------------------------------------------------------------------------


law_of = cache(StabilityHistogram.distribution)


def brute_force_delta(mechanism: StabilityHistogram, count: int, other: int, epsilon: Fraction) -> Fraction:
    """Σ (P − e^ε Q)₊ over every outcome, in exact arithmetic, both ways, from the laws alone."""
    bound = rational.exp_below(epsilon)

    def one_way(a: int, b: int) -> Fraction:
        p, q = law_of(mechanism, a), law_of(mechanism, b)
        nothing = max(Fraction(0), (1 - sum(p.values())) - bound * (1 - sum(q.values())))
        return nothing + sum(max(Fraction(0), p.get(v, Fraction(0)) - bound * q.get(v, Fraction(0))) for v in {*p, *q})

    return max(one_way(count, other), one_way(other, count))


@pytest.mark.parametrize("mechanism", [ONE_WAY, TWO_WAY, StabilityHistogram(Fraction(4), Fraction(1, 100))])
def test_the_stated_loss_of_a_changed_cell_covers_brute_force(mechanism: StabilityHistogram) -> None:
    half = mechanism.epsilon / 2
    stated = delta([mechanism.cells], float(half), Exposure("add-remove"))
    for count in range(1, 70):
        assert brute_force_delta(mechanism, count, count - 1, half) <= stated


def test_the_bound_of_a_changed_cell_is_not_idle() -> None:
    """At a smaller ε the same cells break it: the brute force above can fail."""
    assert brute_force_delta(ONE_WAY, 60, 59, Fraction(2, 5)) > delta([ONE_WAY.cells], 0.5, Exposure("add-remove"))


def test_the_noise_table_adds_less_than_1e_15() -> None:
    for mechanism in (ONE_WAY, TWO_WAY):
        assert mechanism.noise.shift_delta(mechanism.epsilon / 2) < Fraction(1, 10**15)


def test_the_whole_release_adds_up_to_the_papers_total() -> None:
    mechanisms = [ONE_WAY] * 4 + [TWO_WAY] * 2
    total = compose(Loss(mechanism.epsilon, mechanism.delta) for mechanism in mechanisms)
    assert total == Loss(Fraction(8), Fraction(3, 4_000_000))
    assert certified(mechanisms, total, Exposure("replace"))
    assert not certified(mechanisms, Loss(Fraction(8), Fraction(18, 10**8)), Exposure("replace"))
    assert not certified(mechanisms, Loss(Fraction(79, 10), total.delta), Exposure("replace"))


def test_a_table_too_coarse_for_its_promise_is_refused() -> None:
    """At ε = 100 the table has only two or three steps, whose floors show: no promise of 1e-15 rests on it."""
    narrow = StabilityHistogram(Fraction(100), Fraction(1, 10**15))
    assert not certified([narrow], Loss(narrow.epsilon, narrow.delta), Exposure("replace"))


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0, DELTA), (-1, DELTA), (Fraction(1, 1000), DELTA), (1, 0), (1, 1), (1, Fraction(1, 10**16))],
)
def test_impossible_parameters_are_refused(epsilon: Fraction | int, delta: Fraction | int) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        StabilityHistogram(Fraction(epsilon), Fraction(delta))


# --- tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [Fraction(1, 10), Fraction(225, 64), Fraction(601, 2)])
def test_a_gaussian_table_by_products_is_that_of_exponentials_one_by_one(sigma: Fraction) -> None:
    table = discrete_gaussian(sigma**2)
    with mpmath.workdps(80):
        variance = mpmath.mpf(sigma.numerator) ** 2 / sigma.denominator**2
        reach = int(mpmath.ceil(mpmath.sqrt(90 * variance)))  # e^−45 < 2^−64
        half = [mpmath.exp(-k * k / (2 * variance)) for k in range(reach + 1)]
        total = 2 * sum(half) - 1
        weights = [int(mpmath.floor(weight * WORDS / total)) for weight in half]
    assert table.weights[table.last :] == tuple(weights[: table.last + 1])
    assert not any(weights[table.last + 1 :])


def test_a_noise_table_checks_itself() -> None:
    with pytest.raises(ValueError, match="sum to"):
        NoiseTable(0, (WORDS, 2))
    with pytest.raises(ValueError, match="above 0 at both ends"):
        NoiseTable(0, (WORDS, 0))
    with pytest.raises(ValueError, match="split"):
        rounded_laplace(Fraction(1), Fraction(2, 3))


def test_every_word_falls_into_its_own_weight() -> None:
    """The first and last word of every cell, and no float anywhere between."""
    table = NoiseTable(-1, (WORDS // 4, WORDS // 2, WORDS // 4))
    words = [0, WORDS // 4 - 1, WORDS // 4, 3 * WORDS // 4 - 1, 3 * WORDS // 4, WORDS - 1]
    drawn = table.sample(len(words), lambda size: np.array(words, dtype=np.uint64).tobytes())
    assert drawn.tolist() == [-1, -1, 0, 0, 1, 1]


def test_exp_and_ln_are_enclosed() -> None:
    with mpmath.workdps(120):
        for x in (Fraction(1, 3), Fraction(-7, 2), Fraction(40)):
            true = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)
            low, high = rational.exp_below(x), rational.exp_above(x)
            assert mpmath.mpf(low.numerator) / low.denominator < true < mpmath.mpf(high.numerator) / high.denominator
            assert (high - low) / low < Fraction(1, 10**80)
        for x in (Fraction(1, 3), Fraction(16_000_000)):
            true = mpmath.log(mpmath.mpf(x.numerator) / x.denominator)
            high = rational.ln_above(x)
            assert 0 < mpmath.mpf(high.numerator) / high.denominator - true < mpmath.mpf(10) ** -80


def test_real_opal_counts_are_all_possible(shared_data: Path) -> None:
    """The published file, ε = 1: nothing below 34, and a part of the 34s missing."""
    lines = (shared_data / "opal" / "loc_20160808-14.csv").read_text().splitlines()[1:]
    counts = [int(line.rsplit(",", 1)[1]) for line in lines]
    assert min(counts) == ONE_WAY.smallest_published
    assert counts.count(34) < 0.7 * counts.count(35)
