"""The best attacker against the real noise is right as often as computed, and never more often than promised."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

import numpy as np
import numpy.typing as npt
import pytest

from tapveil.plan.model import Plan
from tapveil.privacy import Exposure, Loss, Mechanism, calibrate, in_other_notion
from tapveil.privacy.attacker import attacker, attacker_of_several
from tapveil.privacy.rational import exp_above
from tapveil.privacy.units import Neighbours

DRAWS = 1_000_000
SURE = 6
"""Standard deviations: a sound program fails once in 10⁸ runs."""
BUSY = 200
"""A count that is far above every threshold here."""

TIE = 1e-9
"""Logarithms that are as far apart say the same: sums of floats that ought to be 0 rarely are."""

Scores = npt.NDArray[np.float64]


def log_likelihoods(mechanism: Mechanism, count: int) -> dict[int | None, float]:
    """ln P of each outcome for a count, from the exact distribution; None is that nothing is published."""
    known = mechanism.distribution(count)
    absent = float(1 - sum(known.values()))
    return {None: np.log(max(absent, 1e-300)), **{value: np.log(float(p)) for value, p in known.items()}}


def evidence(mechanism: Mechanism, drawn: int, counts: tuple[int, int], seed: int) -> Scores:
    """Cells with the count `drawn`, drawn by the mechanism itself: ln P(first count) − ln P(second) of what is seen."""
    numbers, published = mechanism.draw(np.full(DRAWS, drawn), np.random.default_rng(seed).bytes)
    first, second = (log_likelihoods(mechanism, count) for count in counts)
    seen = [value for value in (*first, *second) if value is not None]
    least, most = min(seen), max(seen)
    scores = np.array([first.get(v, -690.0) - second.get(v, -690.0) for v in range(least, most + 1)])
    unseen = first[None] - second[None]
    return np.where(published, scores[np.clip(numbers - least, 0, len(scores) - 1)], unseen)


def measured(mechanisms: Sequence[Mechanism], exposure: Exposure, count: int) -> float:
    """How often the likelihood-ratio attacker is right about one unit, over as many draws of either data set.

    Its trips are in as few cells as they may be: as many together in one as the mechanism allows.
    """
    right, seeds = 0.0, iter(range(10_000))
    for present in (True, False):
        total = np.zeros(DRAWS)
        for mechanism in mechanisms:
            pair = (count, count - mechanism.per_cell)
            here, there = pair if present else pair[::-1]
            for _ in range(exposure.cells // mechanism.per_cell):
                total += evidence(mechanism, here, pair, next(seeds))
                if exposure.neighbours == "replace":  # the trips that these were replaced by are in other cells
                    total += evidence(mechanism, there, pair[::-1], next(seeds))
        decided = np.where(np.abs(total) < TIE, 0.5, (total > 0) == present)
        right += float(decided.mean()) / 2
    return right


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        ("gaussian", "1"),
        pytest.param("gaussian", "8", marks=pytest.mark.slow),
        ("sbh", "2"),
        pytest.param("world", "2", marks=pytest.mark.slow),
        pytest.param("laplace", "1", marks=pytest.mark.slow),
        pytest.param("dictionary", "1/2", marks=pytest.mark.slow),
    ],
)
def test_frequencies_agree_with_the_best_attacker_on_a_million_draws(
    name: str, epsilon: str, neighbours: Neighbours
) -> None:
    delta = Fraction(0) if name == "dictionary" else Fraction(1, 10**6)
    promise, exposure = Loss(Fraction(epsilon), delta), Exposure(neighbours)
    tables = calibrate(name, (Fraction(1),), promise.epsilon, delta, exposure)
    found = attacker(tables, promise, exposure)
    off = SURE * 0.5 / sqrt(2 * DRAWS)
    right = measured(tables, exposure, BUSY)
    assert abs(right - found.right) < off
    assert right - off < found.promised.right
    assert found.right <= found.promised.right


@pytest.mark.parametrize(
    ("preset", "neighbours", "slack"),
    [
        ("journeys", "add-remove", 0.0),
        pytest.param("journeys", "replace", 0.0, marks=pytest.mark.slow),
        ("opal", "add-remove", 0.005),
        pytest.param("opal", "replace", 0.005, marks=pytest.mark.slow),
    ],
)
def test_all_tables_of_a_plan_together_show_no_more_than_is_computed(
    preset: str, neighbours: Neighbours, slack: float
) -> None:
    """The recommended plan's four tables, a day with four trips; the paper's six, whose figure is a bound alone."""
    guarantee = Plan.preset(preset).guarantee
    exposure = Exposure(neighbours, guarantee.exposure.cells)
    tables = list(guarantee.mechanisms.values())
    found = attacker(tables, guarantee.loss_for(neighbours), exposure)
    right, off = measured(tables, exposure, BUSY), SURE * 0.5 / sqrt(2 * DRAWS)
    assert right - off <= found.right <= right + slack + off
    assert found.right < found.promised.right


def test_an_attacker_who_sees_a_rare_cell_is_right_no_more_often() -> None:
    """A trip that is alone in its cell, at a threshold so low that it shows: far more telling, and still rare."""
    promise, exposure = Loss(Fraction(1), Fraction(1, 50)), Exposure("add-remove")
    tables = calibrate("gaussian", (Fraction(1),), promise.epsilon, promise.delta, exposure)
    found, right = attacker(tables, promise, exposure), measured(tables, exposure, 1)
    assert 0.5 < right <= found.right <= found.promised.right


@pytest.mark.parametrize("name", ["gaussian", "sbh", "laplace", "dictionary"])
def test_what_is_computed_is_never_above_what_is_promised(name: str) -> None:
    delta = Fraction(0) if name == "dictionary" else Fraction(1, 10**5)
    for epsilon in (Fraction(1), Fraction(9)):
        exposure = Exposure("replace", 2)
        tables = calibrate(name, (Fraction(1), Fraction(2)), epsilon, delta, exposure)
        found = attacker(tables, Loss(epsilon, delta), exposure)
        assert (1 + found.distance) / 2 <= found.promised.right + 1e-12
        assert float(found.of_100[0]) >= float(found.promised.of_100[0])


def test_several_units_are_easier_to_find_than_one() -> None:
    promise, exposure = Loss(Fraction(1), Fraction(1, 10**6)), Exposure("add-remove")
    tables = calibrate("gaussian", (Fraction(1),), promise.epsilon, promise.delta, exposure)
    one, ten = attacker(tables, promise, exposure), attacker_of_several(tables, promise, 1, 10)
    assert ten is not None
    assert one.right < ten.right < ten.promised.right
    pure = calibrate("dictionary", (Fraction(1),), Fraction(1), Fraction(0), exposure)
    other = in_other_notion(pure, Loss(Fraction(1), Fraction(0)), Exposure("add-remove"))
    several = attacker_of_several(pure, other, 1, 4)
    assert several is not None
    assert several.promised.epsilon == 4 * other.epsilon
    assert attacker_of_several(tables, promise, 1, 10**7) is None, "with so large a delta nothing is promised"


@pytest.mark.parametrize(("name", "delta"), [("gaussian", "1/1000"), ("sbh", "1/1000"), ("dictionary", "0")])
def test_odds_grow_beyond_twice_the_factor_no_more_often_than_twice_delta(name: str, delta: str) -> None:
    """What is said of a single publication: by 2e^ε, except with probability 2δ. e^ε and δ would be too little."""
    promise, exposure = Loss(Fraction(1), Fraction(delta)), Exposure("add-remove")
    (table,) = calibrate(name, (Fraction(1),), promise.epsilon, promise.delta, exposure)
    factor = (2 if promise.delta else 1) * exp_above(promise.epsilon)
    more = {"beyond": Fraction(0), "above epsilon": Fraction(0)}
    for count in (1, BUSY):
        for one, other in ((count, count - 1), (count - 1, count)):
            here, there = table.distribution(one), table.distribution(other)
            beyond = sum((p for value, p in here.items() if p > factor * there.get(value, 0)), Fraction(0))
            above = sum(
                (p for value, p in here.items() if p > exp_above(Fraction(1)) * there.get(value, 0)), Fraction(0)
            )
            more = {"beyond": max(more["beyond"], beyond), "above epsilon": max(more["above epsilon"], above)}
    assert more["beyond"] <= 2 * promise.delta + Fraction(1, 10**16), "but for integer weights (limits, 8)"
    if name == "gaussian":
        assert more["above epsilon"] > promise.delta, "so the simpler sentence would be wrong"
