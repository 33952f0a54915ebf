"""The bounds on the best attacker: attained where they can be, and never below what somebody attains."""

from __future__ import annotations

from math import exp

import pytest

from tapveil.internal.intruder.best_attacker import Promise, which
from tapveil.plan.model import Plan
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.attacker import attacker


@pytest.mark.parametrize("number", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_randomised_response_among_several_attains_the_bound(number: int, epsilon: float) -> None:
    """The truth with e^ε times the probability of any other answer: δ(α) = (e^ε − e^α)₊ / (e^ε + k − 1)."""
    whole = exp(epsilon) + number - 1
    curve = lambda alpha: max(0.0, (exp(epsilon) - exp(alpha)) / whole)  # noqa: E731
    attained = exp(epsilon) / whole
    points = [epsilon * part / 8 for part in range(17)]
    bounds = [which(number, curve, None, [alpha]) for alpha in points]
    assert min(bounds) == pytest.approx(attained, rel=1e-9)
    assert all(bound >= attained for bound in bounds)


@pytest.mark.parametrize("number", [2, 10])
def test_answers_that_say_nobody_otherwise_stay_below_the_bound(number: int) -> None:
    """With probability p the truth is said, else a guess: total variation from "nobody" is p (1 − 1/k)."""
    p = 0.3
    attained, mass = p + (1 - p) / number, (1 - p) / number
    above = attained

    def curve(alpha: float) -> float:
        """The worse of both directions: P has `above` where Q has 1/k, and `mass` elsewhere."""
        there = max(0.0, above - exp(alpha) / number) + (number - 1) * max(0.0, mass - exp(alpha) / number)
        back = max(0.0, 1 / number - exp(alpha) * above) + (number - 1) * max(0.0, 1 / number - exp(alpha) * mass)
        return max(there, back)

    assert attained <= which(number, None, curve) <= attained + 1e-6 + (number > 2) * 0.05


def test_without_any_loss_nothing_beats_guessing() -> None:
    assert which(10, lambda _: 0.0, lambda _: 0.0) == pytest.approx(0.1)


def test_of_two_units_the_bound_is_that_of_the_best_attacker() -> None:
    plan = Plan.preset("opal")
    noise = list(plan.guarantee.mechanisms.values())
    best = attacker(noise, plan.guarantee.loss_for("replace"), Exposure("replace"))
    assert Promise(plan).which_unit(2).exact == pytest.approx(best.right, abs=1e-5)


def test_bounds_grow_with_what_is_asked_and_never_exceed_the_promise() -> None:
    promise = Promise(Plan.preset("journeys"))
    once, twice = promise.unit_is_there(), promise.unit_is_there(times=2)
    few, many = promise.which_person(10, 2, 7), promise.which_person(10, 12, 7)
    assert once.exact < twice.exact
    assert few.exact < many.exact < 1
    for bound in (once, twice, few, many, promise.which_unit(10)):
        assert bound.promised is None or bound.exact <= bound.promised
