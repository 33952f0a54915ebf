"""Exact accounting: the known totals are reproduced, every bound holds against brute force, and it can fail."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, expm1, log1p

import mpmath
import pytest

from tapveil.plan.model import Plan
from tapveil.privacy import spectrum
from tapveil.privacy.accountant import ChangedCells, Exposure, delta, epsilon
from tapveil.privacy.mechanisms import StabilityHistogram
from tapveil.privacy.noise import WORDS, NoiseTable, rounded_laplace
from tapveil.privacy.rational import exp_below
from tapveil.veil.statement import cost
from tests.conftest import opal_text

DELTA = Fraction(1, 8_000_000)
ONE_WAY, TWO_WAY = (StabilityHistogram(Fraction(e), DELTA) for e in (1, 2))
OPAL = [ONE_WAY.cells] * 4 + [TWO_WAY.cells] * 2
REPLACE, ADD_REMOVE = Exposure("replace"), Exposure("add-remove")
HALF = Fraction(1, 2)


def test_the_opal_release_spends_a_quarter_of_its_delta() -> None:
    assert delta(OPAL, 8.0, REPLACE) == pytest.approx(1.87499985351563e-7, rel=1e-9)
    assert delta(OPAL, 4.0, ADD_REMOVE) == pytest.approx(1.87499985351563e-7, rel=1e-9)


def test_bounds_are_upper_bounds() -> None:
    assert delta(OPAL, 8.0, REPLACE) >= 1.8749998535156311e-7


def whole_cells(mechanism: StabilityHistogram) -> ChangedCells:
    """As if every count were far above the threshold: the rounded noise without the threshold's cut."""
    table, scale = rounded_laplace(mechanism.scale, -HALF), mechanism.scale
    left, entered = (
        spectrum.of_table(table, 2 * shift, spectrum.rounded_laplace_losses(scale, (-HALF,), shift))
        for shift in (1, -1)
    )
    return ChangedCells(mechanism.publish_probability(1), left, entered)


def test_large_counts_alone_give_the_known_epsilon() -> None:
    tables = [whole_cells(ONE_WAY)] * 4 + [whole_cells(TWO_WAY)] * 2
    assert epsilon(tables, 7.5e-7, REPLACE) == pytest.approx(7.85917334116693, abs=1e-9)
    assert epsilon(tables, 7.5e-7, ADD_REMOVE) == pytest.approx(3.99964526239531, abs=1e-9)
    assert epsilon(tables, 1e-6, REPLACE) == pytest.approx(7.84872057067490, abs=1e-9)


@cache
def shown(mechanism: StabilityHistogram, count: int) -> Mapping[int, float]:
    """What a cell of this count shows, where it shows anything."""
    return {value: float(p) for value, p in mechanism.distribution(count).items()}


def hockey_stick(mechanism: StabilityHistogram, count: int, other: int, alpha: float) -> float:
    """Σ (P − e^α Q)₊ over every outcome of one cell, from the laws alone."""
    p, q = shown(mechanism, count), shown(mechanism, other)
    nothing = max(0.0, (1 - sum(p.values())) - exp(alpha) * (1 - sum(q.values())))
    return nothing + sum(max(0.0, p.get(v, 0.0) - exp(alpha) * q.get(v, 0.0)) for v in {*p, *q})


def test_counts_at_the_threshold_lose_more_than_large_ones() -> None:
    """So the ε of large counts is not the worst, and accounting must look through half-cells."""
    assert hockey_stick(ONE_WAY, 34, 33, 0.45) > 1.1 * hockey_stick(ONE_WAY, 200, 199, 0.45)
    assert epsilon(OPAL, 7.5e-7, REPLACE) == pytest.approx(7.9555318298, abs=1e-6)


@pytest.mark.parametrize("mechanism", [ONE_WAY, TWO_WAY])
@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.45, 0.8, 0.95])
def test_half_cells_cover_every_count(mechanism: StabilityHistogram, alpha: float) -> None:
    left, entered = mechanism.cells.left.delta(alpha) + 1e-15, mechanism.cells.entered.delta(alpha) + 1e-15
    for count in range(2, 60):
        assert hockey_stick(mechanism, count, count - 1, alpha) <= left
        assert hockey_stick(mechanism, count - 1, count, alpha) <= entered


COARSE = StabilityHistogram(Fraction(2), Fraction(1, 10))


def replaced(mechanism: StabilityHistogram, c: int, d: int, alpha: float) -> float:
    """The outer product of both changed cells of a replacement: c → c − 1 and d → d + 1, brute force."""

    def law(count: int) -> dict[int, float]:
        return {0: 1 - sum(shown(mechanism, count).values()), **shown(mechanism, count)}

    p, q = (law(c), law(d)), (law(c - 1), law(d + 1))
    outcomes = product({*p[0], *q[0]}, {*p[1], *q[1]})
    return sum(
        max(0.0, p[0].get(a, 0.0) * p[1].get(b, 0.0) - exp(alpha) * q[0].get(a, 0.0) * q[1].get(b, 0.0))
        for a, b in outcomes
    )


@pytest.mark.parametrize(("c", "d"), [(1, 0), (1, 3), (1, 40), (4, 0), (40, 0), (4, 4), (5, 3), (40, 40)])
def test_a_replacement_is_covered_by_what_is_accounted(c: int, d: int) -> None:
    for alpha in (0.5, 1.0, 1.5, 2.0):
        assert replaced(COARSE, c, d, alpha) <= delta([COARSE.cells], alpha, REPLACE) * (1 + 1e-9)


def test_the_accounted_delta_is_reached() -> None:
    """Some replacement comes within a twentieth of the bound, so the bound is not idle."""
    for alpha in (0.5, 1.5, 2.0):
        worst = max(replaced(COARSE, c, d, alpha) for c in range(1, 9) for d in range(8))
        assert worst > 0.95 * delta([COARSE.cells], alpha, REPLACE)


def test_half_of_epsilon_is_not_enough_for_a_replacement() -> None:
    assert replaced(COARSE, 40, 40, 1.0) > 2 * delta([COARSE.cells], 2.0, REPLACE)


def test_a_large_singleton_probability_also_costs_where_it_comes() -> None:
    """δ near 1 and ε small: a cell that can appear in the other world only exceeds e^(ε/2) by itself."""
    loose = StabilityHistogram(Fraction(1, 10), Fraction(9, 10))
    p = float(loose.publish_probability(1))
    assert delta([loose.cells], 0.05, REPLACE) >= max(p, 1 - exp(0.05) * (1 - p))


def test_a_table_that_leans_is_judged_by_its_worse_direction() -> None:
    """Weights that fall fast on one side only: the loss of moving up and of moving down differ."""
    falling = [WORDS // 2**k for k in range(1, 9)]
    table = NoiseTable(0, (*falling, WORDS - sum(falling)))
    bound = exp_below(Fraction(1, 2))

    def one_way(shift: int) -> Fraction:
        excess = (table.probability(k) - bound * table.probability(k + shift) for k in range(len(table.weights)))
        return sum((max(Fraction(0), x) for x in excess), start=Fraction(0))

    assert one_way(1) != one_way(-1)
    assert table.shift_delta(Fraction(1, 2)) == max(one_way(1), one_way(-1))


def test_the_threshold_errs_upwards() -> None:
    with mpmath.workdps(110):
        for mechanism in (ONE_WAY, TWO_WAY):
            scale = mpmath.mpf(mechanism.scale.numerator) / mechanism.scale.denominator
            true = scale * mpmath.log(16_000_000) + 1
            ours = mpmath.mpf(mechanism.threshold.numerator) / mechanism.threshold.denominator
            assert 0 < ours - true < mpmath.mpf(10) ** -29


def test_rounding_to_64_bits_costs_next_to_nothing() -> None:
    for mechanism in (ONE_WAY, TWO_WAY):
        assert mechanism.noise.shift_delta(mechanism.epsilon / 2) < Fraction(4, 10**18)


def test_the_error_bound_is_kept_and_least() -> None:
    for mechanism in (ONE_WAY, TWO_WAY):
        law, bound = mechanism.distribution(500), mechanism.error_bound(Fraction(1, 20))
        beyond = sum(p for value, p in law.items() if abs(value - 500) > bound)
        just_short = sum(p for value, p in law.items() if abs(value - 500) >= bound)
        assert beyond <= Fraction(1, 20) < just_short


def test_loss_grows_with_tables_and_cells() -> None:
    fewer, more = [ONE_WAY.cells] * 2, [ONE_WAY.cells] * 3
    for alpha in (0.5, 1.5, 2.5):
        assert delta(fewer, alpha) <= delta(more, alpha)
        assert delta(fewer, alpha, Exposure("add-remove")) <= delta(fewer, alpha, Exposure("add-remove", cells=2))
    assert delta(fewer, 2.0) <= delta(fewer, 1.0)


def test_no_epsilon_reaches_a_delta_below_the_singletons() -> None:
    assert epsilon(OPAL, 1e-7, REPLACE) == float("inf")


def test_many_different_scales_are_accounted_for() -> None:
    """Their losses do not meet: they are spread to a lattice, which costs little."""
    mechanisms = [StabilityHistogram(Fraction(e), DELTA) for e in (1, 2, 3) for _ in range(4)]
    floor = -expm1(sum(log1p(-float(mechanism.publish_probability(1))) for mechanism in mechanisms))
    assert floor <= delta([mechanism.cells for mechanism in mechanisms], 24.0) < floor * (1 + 1e-4)


def test_what_is_accounted_never_exceeds_what_is_promised() -> None:
    text = opal_text(**{"epsilon = 1\n": "epsilon = 30\n", "epsilon = 2\n": "epsilon = 30\n"})
    for plan in (Plan.preset("opal"), Plan.parse(text)):
        for guarantee in cost(plan)["guarantees"]:
            assert guarantee["delta_accounted"] <= guarantee["delta"]
