"""The library refuses numbers that would make a guarantee false, or look true."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tapveil.privacy import Dictionary, Exposure, Gaussian, Laplace, calibrate

DELTA, TRIP = Fraction(1, 10**6), Exposure("replace")
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
    with pytest.raises(TypeError, match="an integer threshold"):
        mechanism(Fraction(1), Fraction(37, 2))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["sbh", "laplace", "gaussian", "dictionary"])
def test_noise_is_calibrated_for_exact_numbers_above_zero_only(name: str, number: Any) -> None:
    for weights, epsilon in (((Fraction(1), number), Fraction(1)), ((Fraction(1),), number)):
        with pytest.raises(ValueError, match=r"above 0|as Fractions|at least 1/100"):
            calibrate(name, weights, epsilon, DELTA, TRIP)


def test_noise_is_calibrated_for_a_known_mechanism_and_for_some_table() -> None:
    with pytest.raises(ValueError, match="`laplas` is not a mechanism"):
        calibrate("laplas", (Fraction(1),), Fraction(1), DELTA, TRIP)
    with pytest.raises(ValueError, match="at least one table"):
        calibrate("laplace", (), Fraction(1), DELTA, TRIP)


@pytest.mark.parametrize("counts", [np.array([2**63 - 1]), np.array([1.5]), np.array([2**64 - 1], dtype=np.uint64)])
def test_a_count_that_leaves_no_room_for_noise_is_refused(counts: Any) -> None:
    with pytest.raises(ValueError, match="counts must be integers of 64 bits"):
        Laplace(Fraction(1), 18).draw(counts, os.urandom)
