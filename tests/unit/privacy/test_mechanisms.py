"""Mechanisms: noise on every cell of a known world, calibrated by the exact accountant."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tapveil.privacy.accountant import Exposure
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.concentrated import concentrated
from tapveil.privacy.intervals import interval
from tapveil.privacy.loss import Loss, certified
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Laplace, World, stated

ONE = (Fraction(1),)
DELTA = Fraction(3, 4_000_000)


@pytest.mark.parametrize(
    ("exposure", "epsilon", "sigma"),
    [
        (Exposure("replace"), Fraction(1, 2), 11.567),
        (Exposure("replace"), Fraction(1), 6.058),
        (Exposure("replace"), Fraction(2), 3.194),
        (Exposure("replace"), Fraction(4), 1.707),
        (Exposure("add-remove", 28), Fraction(1, 2), 43.28),
        (Exposure("add-remove", 28), Fraction(1), 22.67),
        (Exposure("add-remove", 28), Fraction(4), 6.387),
        (Exposure("add-remove", 28), Fraction(8), 3.488),
    ],
)
def test_noise_of_a_world_is_as_narrow_as_continuous_gaussian_noise(
    exposure: Exposure, epsilon: Fraction, sigma: float
) -> None:
    """By δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) with μ² = k/σ²: no cell appears, so there is no other loss."""
    (made,) = calibrate("world", ONE, epsilon, DELTA, exposure, 1)
    assert float(made.scale) == pytest.approx(sigma, rel=6e-3)
    assert certified([made], Loss(epsilon, DELTA), exposure)
    narrower = World(made.scale * Fraction(99, 100))
    assert not certified([narrower], Loss(epsilon, DELTA), exposure)


def test_with_several_tables_noise_grows_with_the_root_of_their_number() -> None:
    (alone,) = calibrate("world", ONE, Fraction(1), DELTA, Exposure("replace"), 1)
    three = calibrate("world", 3 * ONE, Fraction(1), DELTA, Exposure("replace"), 1)
    for each in three:
        assert float(each.scale / alone.scale) == pytest.approx(3**0.5, rel=2e-3)


def test_trips_that_react_to_earlier_releases_cost_nothing_more() -> None:
    """Nobody is alone in a cell that is always there: what comes first cannot choose between two sorts of loss."""
    for cells in (1, 28):
        now, across = (
            calibrate("world", ONE, Fraction(1), DELTA, Exposure("replace", cells, across=across), 1)
            for across in (False, True)
        )
        assert now == across


def test_every_cell_is_published_whatever_its_count() -> None:
    world = World(Fraction(3))
    numbers, published = world.draw(np.zeros(20_000, dtype=np.int64), os.urandom)
    assert published.all()
    assert numbers.min() < 0 < numbers.max()
    assert world.publish_probability(0) == 1
    assert world.cells.singleton == 0


def test_the_gaussian_part_is_all_there_is() -> None:
    part = concentrated([World(Fraction(2))], Exposure("replace"))
    assert part is not None
    assert part.mu_squared == Fraction(1, 2)
    assert part.delta_singletons == 0


def test_intervals_end_at_zero_and_no_cell_is_absent() -> None:
    rule = interval(World(Fraction(3)), Fraction(1, 20))
    assert rule.absent == 0
    assert rule.of(-100) == (0, 0)
    assert rule.of(-2) == (0, rule.half_width - 2)
    assert rule.low(np.array([-100, 50])).tolist() == [0, 50 - rule.half_width]


@pytest.mark.parametrize(("name", "threshold"), [("world", 1), ("gaussian", 0), ("laplace", 0), ("dictionary", 0)])
def test_no_threshold_is_written_as_0_and_only_a_world_has_none(name: str, threshold: int) -> None:
    assert stated("world", Fraction(3), Fraction(0)) == World(Fraction(3))
    with pytest.raises(ValueError, match="out of range"):
        stated(name, Fraction(3), Fraction(threshold))


NUMBERS: list[Any] = [0, -1, Fraction(-1, 2), 0.5, float("nan"), float("inf"), None, "1"]


@pytest.mark.parametrize("neighbours", ["Replace", "bounded", "add", "", None])
def test_a_notion_of_neighbours_that_is_none_is_not_taken_for_the_weaker_one(neighbours: Any) -> None:
    with pytest.raises(ValueError, match="neighbours must be replace or add-remove"):
        Exposure(neighbours)


@pytest.mark.parametrize("cells", [*NUMBERS, Fraction(1, 2)])
def test_a_unit_changes_at_least_one_whole_cell(cells: Any) -> None:
    with pytest.raises(ValueError, match="a whole number of cells"):
        Exposure("replace", cells)


@pytest.mark.parametrize("width", NUMBERS)
@pytest.mark.parametrize("mechanism", [Laplace, Gaussian, Dictionary])
def test_noise_has_an_exact_width_above_zero(mechanism: Callable[[Any, Any], object], width: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="width"):
        mechanism(width, 18)
    with pytest.raises((TypeError, ValueError), match="width"):
        World(width)
    with pytest.raises(TypeError, match="an integer threshold"):
        mechanism(Fraction(1), Fraction(37, 2))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["sbh", "laplace", "gaussian", "dictionary", "world"])
def test_noise_is_calibrated_for_exact_numbers_above_zero_only(name: str, number: Any) -> None:
    for weights, epsilon in (((Fraction(1), number), Fraction(1)), ((Fraction(1),), number)):
        with pytest.raises(ValueError, match=r"above 0|as Fractions|at least 1/100"):
            calibrate(name, weights, epsilon, DELTA, Exposure("replace"))


def test_noise_is_calibrated_for_a_known_mechanism_and_for_some_table() -> None:
    with pytest.raises(ValueError, match="`laplas` is not a mechanism"):
        calibrate("laplas", (Fraction(1),), Fraction(1), DELTA, Exposure("replace"))
    with pytest.raises(ValueError, match="at least one table"):
        calibrate("laplace", (), Fraction(1), DELTA, Exposure("replace"))


@pytest.mark.parametrize("counts", [np.array([2**63 - 1]), np.array([1.5]), np.array([2**64 - 1], dtype=np.uint64)])
def test_a_count_that_leaves_no_room_for_noise_is_refused(counts: Any) -> None:
    with pytest.raises(ValueError, match="counts must be integers of 64 bits"):
        Laplace(Fraction(1), 18).draw(counts, os.urandom)
