"""Noise that is calibrated ahead."""

from __future__ import annotations

import threading
from fractions import Fraction

import pytest

from tapveil.base.errors import PlanError
from tapveil.plan.model import Plan
from tapveil.studio.ahead import Ahead, exact, read_epsilon, scaled, with_epsilon
from tests.support.example import PLAN


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.parse(PLAN)


def test_until_noise_is_calibrated_that_of_the_nearest_stands_in_and_then_it_is_exact(plan: Plan) -> None:
    known = threading.Event()
    ahead = Ahead(lambda epsilon: known.set())
    own, is_exact = ahead.mechanisms(plan)
    assert is_exact
    assert own == exact(plan)
    other = with_epsilon(plan, Fraction("1.37"))
    about, is_exact = ahead.mechanisms(other)
    assert not is_exact
    assert known.wait(120)
    ahead.stop()
    found, is_exact = ahead.mechanisms(other)
    assert is_exact
    assert found == exact(other)
    for name, noise in found.items():
        assert float(about[name].scale) == pytest.approx(float(noise.scale), rel=0.1)
        assert float(about[name].threshold) == pytest.approx(float(noise.threshold), rel=0.1)


def test_another_table_begins_anew(plan: Plan) -> None:
    ahead = Ahead()
    ahead.mechanisms(plan)
    fewer = plan.model_copy(update={"table": plan.table[:1]})
    found, is_exact = ahead.mechanisms(fewer)
    ahead.stop()
    assert is_exact
    assert list(found) == ["on_time"]


def test_a_promise_without_noise_is_refused(plan: Plan) -> None:
    hopeless, ahead = with_epsilon(plan, Fraction(1, 10**9)), Ahead()
    with pytest.raises(PlanError):
        ahead.mechanisms(hopeless)
    ahead.stop()


def test_scaled_noise_keeps_its_kind(plan: Plan) -> None:
    wider = scaled(exact(plan), Fraction(2))
    for name, noise in exact(plan).items():
        assert type(wider[name]) is type(noise)
        assert wider[name].scale == 2 * noise.scale


@pytest.mark.parametrize(
    ("value", "found"),
    [(1, Fraction(1)), (0.1, Fraction(1, 10)), (True, None), ("1", None), (0, None), (-1, None), (10**6, None)],
)
def test_an_epsilon_is_read_as_it_is_written(value: object, found: Fraction | None) -> None:
    assert read_epsilon(value) == found
