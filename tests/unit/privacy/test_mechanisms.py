"""Mechanisms: noise on every cell of a known world, calibrated by the exact accountant."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import exp, log, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tapveil.privacy import spectrum
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.concentrated import concentrated
from tapveil.privacy.intervals import interval
from tapveil.privacy.loss import Loss, accounted_delta, certified
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


def _patterns(trips: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to have so many trips in cells, at most so many in each."""
    if not trips:
        yield ()
    for first in range(min(trips, most), 0, -1):
        yield from ((first, *rest) for rest in _patterns(trips - first, first))


def _delta_of_shifts(world: World, shifts: tuple[int, ...], epsilon: float) -> float:
    """δ where cells change by these numbers, over every outcome of the integers that are drawn from."""
    losses: npt.NDArray[np.float64] = np.zeros(1)
    masses: npt.NDArray[np.float64] = np.ones(1)
    infinite = 0.0
    weights = np.array(world.noise.weights, dtype=float) / world.noise.total
    for shift in shifts:
        there = np.concatenate([weights[shift:], np.zeros(shift)])
        infinite += weights[there == 0].sum()
        own, other = weights[there > 0], there[there > 0]
        sums = np.round(np.add.outer(losses, np.log(own / other)).ravel(), 9)  # equal losses together
        losses, at = np.unique(sums, return_inverse=True)
        masses = np.bincount(at, np.multiply.outer(masses, own).ravel()).astype(np.float64)
        losses, masses = losses[masses > 1e-25], masses[masses > 1e-25]
    return float(np.sum(masses * np.maximum(0, -np.expm1(epsilon - losses)))) + infinite


@pytest.mark.parametrize(
    ("trips", "most", "sigma"), [(4, 2, 4), (4, 3, 6), (3, 2, 2), pytest.param(5, 5, 9, marks=pytest.mark.slow)]
)
def test_no_way_to_spread_trips_over_cells_loses_more_than_is_accounted_for(trips: int, most: int, sigma: int) -> None:
    """Every pattern, by every outcome; and the worst one loses nearly as much, so that little is given away."""
    world = World(Fraction(sigma), most, trips)
    greedy = max(_patterns(trips, most), key=lambda shifts: sum(shift**2 for shift in shifts))
    assert sum(shift**2 for shift in greedy) == trips * world.square
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        accounted = accounted_delta([world], Fraction(epsilon), Exposure("add-remove", trips))
        found = {shifts: _delta_of_shifts(world, shifts, epsilon) for shifts in _patterns(trips, most)}
        assert max(found.values()) <= accounted
        if sigma > 2:
            wide = World(world.sigma * (1 + Fraction(1, sigma**2)), most, trips)
            wider = accounted_delta([wide], Fraction(epsilon), Exposure("add-remove", trips))
            assert wider < found[greedy]


def test_two_units_that_are_exchanged_lose_no_more_even_in_one_cell() -> None:
    """One leaves a cell by two and the other enters another by three, or both are in the same cell."""
    world = World(Fraction(5), 3, 3)
    for shifts in ((3, 3), (3, 2, 1), (2, 1, 2, 1), (3,), (1,)):
        accounted = accounted_delta([world], Fraction(1), Exposure("replace", 3))
        assert _delta_of_shifts(world, shifts, 1.0) <= accounted


def test_a_rounded_gaussian_number_is_a_discrete_one_but_for_the_factor_that_is_accounted_for() -> None:
    """The kernel of variance 1 is as even as claimed, and what it makes of continuous noise has the right shape."""
    at = np.linspace(0, 1, 201)
    theta = np.exp(-((np.arange(-12, 13)[:, None] - at) ** 2) / 2).sum(axis=0) / sqrt(2 * pi)
    eta = 2 * sum(exp(-2 * pi**2 * n**2) for n in range(1, 5))
    assert np.abs(theta - 1).max() <= eta * (1 + 1e-6)
    assert log((1 + eta) / (1 - eta)) < spectrum._LN_UNEVEN
    sigma, fine = 3.0, np.arange(-30, 30, 1 / 64)
    noise = np.exp(-(fine**2) / (2 * (sigma**2 - 1)))
    made = [float((noise * np.exp(-((k - fine) ** 2) / 2)).sum()) for k in range(6)]
    assert np.allclose(np.array(made) / made[0], [exp(-(k**2) / (2 * sigma**2)) for k in range(6)], rtol=1e-7)


def test_noise_that_is_too_narrow_for_several_trips_in_a_cell_protects_nothing() -> None:
    assert accounted_delta([World(Fraction(7, 5), 2, 2)], Fraction(8), Exposure("add-remove", 2)) == 1


def test_noise_for_c_trips_in_a_cell_is_as_wide_as_the_sum_of_c_days() -> None:
    """L2² ≤ m·c: for 28 trips, 7 in a cell, the noise of one cell is that of the sum of 7 cells with one each."""
    exposure, delta = Exposure("add-remove", 28), Fraction(3, 4 * 10**6)
    one, seven = (calibrate("world", (Fraction(1),), Fraction(1), delta, exposure, 1, (c,))[0] for c in (1, 7))
    assert 1 <= float(seven.scale / one.scale) / sqrt(7) < 1.002
    assert certified([seven], Loss(Fraction(1), delta), exposure)
    assert not certified([World(seven.scale * Fraction(99, 100), 7, 28)], Loss(Fraction(1), delta), exposure)


def test_tables_with_one_trip_in_a_cell_and_with_several_are_accounted_for_together() -> None:
    exposure, delta = Exposure("replace", 4), Fraction(1, 10**6)
    made = calibrate("world", (Fraction(1), Fraction(2)), Fraction(2), delta, exposure, 1, (1, 4))
    assert [each.square for each in made] == [1, 4]
    assert certified(made, Loss(Fraction(2), delta), exposure)
    part = concentrated(made, exposure)
    assert part is not None
    assert part.mu_squared == 8 * (1 / made[0].scale ** 2 + 4 / made[1].scale ** 2)


@pytest.mark.parametrize(
    "given", [("gaussian", Fraction(3), Fraction(5), 2, 3), ("world", Fraction(3), Fraction(0), 4, 3)]
)
def test_more_trips_in_a_cell_than_there_can_be_are_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="trips of a unit can count"):
        stated(*given)


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


@pytest.mark.parametrize("epsilon", ["1/2", "53/10", "834/100", "17"])
@pytest.mark.parametrize("name", ["gaussian", "world"])
def test_a_formula_to_begin_with_saves_time_and_changes_no_noise(
    name: str, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = (name, (Fraction(2),), Fraction(epsilon), Fraction(2, 10**6), Exposure("add-remove"))
    begun = calibrate.__wrapped__(*asked)
    monkeypatch.setattr("tapveil.privacy.calibration.gaussian_distance", lambda epsilon, delta: 1e-30)  # of no use
    assert calibrate.__wrapped__(*asked) == begun


def test_noise_is_calibrated_for_a_known_mechanism_and_for_some_table() -> None:
    with pytest.raises(ValueError, match="`laplas` is not a mechanism"):
        calibrate("laplas", (Fraction(1),), Fraction(1), DELTA, Exposure("replace"))
    with pytest.raises(ValueError, match="at least one table"):
        calibrate("laplace", (), Fraction(1), DELTA, Exposure("replace"))


@pytest.mark.parametrize("counts", [np.array([2**63 - 1]), np.array([1.5]), np.array([2**64 - 1], dtype=np.uint64)])
def test_a_count_that_leaves_no_room_for_noise_is_refused(counts: Any) -> None:
    with pytest.raises(ValueError, match="counts must be integers of 64 bits"):
        Laplace(Fraction(1), 18).draw(counts, os.urandom)
