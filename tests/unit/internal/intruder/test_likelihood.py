"""The intruder's likelihoods are the exact distributions of the mechanisms that he attacks."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from tapveil.internal.intruder.likelihood import IMPOSSIBLE, Drawn
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Laplace, Mechanism, StatedHistogram, World

MECHANISMS = [
    StatedHistogram(Fraction(1), Fraction("7.6")),
    StatedHistogram(Fraction(3, 2), Fraction("7.3")),
    Laplace(Fraction(1), 8),
    Gaussian(Fraction(2), 9),
    Dictionary(Fraction(1), 3),
    World(Fraction(2)),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: each.name)
def test_a_likelihood_is_the_exact_probability(mechanism: Mechanism) -> None:
    counts, drawn = [0, 1, 2, 7, 8, 30], Drawn(mechanism)
    for count in counts:
        if mechanism.publishes_every_cell:
            table = mechanism.noise
            exact = {
                count + table.first + place: Fraction(weight, table.total) for place, weight in enumerate(table.weights)
            }
        else:
            exact = mechanism.distribution(count)
        likely = {value: p for value, p in exact.items() if p > 10**-12}
        values, row = np.array(list(likely), dtype=np.int64), np.array([[count]])
        shown = np.ones((len(values), 1), dtype=np.bool_)
        found = drawn.of(values[:, None], shown, row)[:, 0] if len(values) else np.empty(0)
        assert found == pytest.approx([log(p) for p in likely.values()], abs=1e-6)
        if not mechanism.publishes_every_cell:
            absent = drawn.of(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.bool_), row)[0, 0]
            never = mechanism.publish_probability(count) == 1
            assert absent == pytest.approx(
                IMPOSSIBLE if never else log(1 - mechanism.publish_probability(count)), abs=1e-6
            )


def test_a_number_in_an_empty_cell_is_impossible_where_empty_cells_get_no_noise() -> None:
    drawn, shown = Drawn(Laplace(Fraction(1), 8)), np.ones((1, 1), dtype=np.bool_)
    assert drawn.of(np.array([[9]]), shown, np.array([[0], [1]])).tolist()[0][0] <= IMPOSSIBLE


def test_infinite_noise_goes_on_beyond_its_table() -> None:
    mechanism = Dictionary(Fraction(1), 3)
    far = mechanism.noise.last + np.array([[50], [51]])
    found = Drawn(mechanism).of(far, np.ones((2, 1), dtype=np.bool_), np.array([[0]]))[:, 0]
    assert found[0] - found[1] == pytest.approx(1)
