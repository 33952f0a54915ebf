"""Public lists and measurements check themselves."""

from __future__ import annotations

import numpy as np
import pytest

from tapveil.published.estimates.world import Measurement, World, check

PLACES = {"tap_on_location": 2, "tap_off_location": 3}


@pytest.mark.parametrize(
    ("kinds", "sizes", "words"),
    [
        ((), PLACES, "at least one day"),
        ((0,), {"tap_on_time": 3}, "places where trips begin"),
        ((0,), {**PLACES, "colour": 2}, "no column colour"),
        ((0,), {**PLACES, "tap_on_time": 0}, "at least one entry"),
        ((0,), {**PLACES, "tap_on_time": 2, "tap_off_time": 2}, "need a clock"),
        ((0,), {**PLACES, "distance": 2}, "class of each pair"),
    ],
)
def test_a_world_that_cannot_be_is_refused(kinds: tuple[int, ...], sizes: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        World(kinds, sizes)


def test_what_is_excluded_fits_the_lists() -> None:
    with pytest.raises(ValueError, match="shape of the lists"):
        World((0,), PLACES, excluded={("tap_on_location",): np.zeros(3, dtype=bool)})


@pytest.mark.parametrize(
    ("columns", "variance", "words"),
    [
        (("date", "date"), 1.0, "once"),
        (("date", "kind"), 1.0, "not both"),
        (("colour",), 1.0, "no column"),
        ((), 0.0, "v"),
    ],
)
def test_a_measurement_that_cannot_be_is_refused(columns: tuple[str, ...], variance: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Measurement(columns, np.zeros(()), variance)


def test_tables_that_do_not_fit_the_world_are_refused() -> None:
    world = World((0, 0), PLACES)
    on = Measurement(("date", "tap_on_location"), np.zeros((2, 2)), 1.0)
    with pytest.raises(ValueError, match="no measured table has tap_off_location"):
        check(world, [on])
    with pytest.raises(ValueError, match="no list for tap_on_time"):
        check(world, [on, Measurement(("tap_on_time", "tap_off_location"), np.zeros((3, 3)), 1.0)])
    with pytest.raises(ValueError, match="a number for each cell"):
        check(world, [on, Measurement(("date", "tap_off_location"), np.zeros((2, 2)), 1.0)])


def test_an_entry_has_its_columns_in_the_order_of_arrays() -> None:
    noisy = np.arange(12).reshape(3, 2, 2)
    turned = Measurement(("tap_off_location", "date", "tap_on_location"), noisy, 1.0)
    assert turned.of_trips == ("tap_on_location", "tap_off_location")
    assert (turned.entry(1) == noisy[:, 1, :].T).all()
