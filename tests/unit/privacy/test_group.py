"""A group: nothing that several trips can do is further apart than one cell that moves by all of them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import log, prod

import numpy as np
import pytest

from tapveil.privacy.group import moved
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Laplace, Mechanism, StabilityHistogram, World
from tapveil.privacy.spectrum import LOSS_UNIT, Spectrum

MECHANISMS: list[Mechanism] = [
    Laplace(Fraction(1, 2), 30),
    Dictionary(Fraction(1, 3)),
    Gaussian(Fraction(3), 12),
    World(Fraction("1.7")),
    World(Fraction(12)),
    StabilityHistogram(Fraction(1), Fraction(1, 10**6)),
]
EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 3.5, 5.0)


def exact(mechanism: Mechanism, counts: int) -> Spectrum:
    """The table against itself moved by a number of counts, from its probabilities alone."""
    table, shift = mechanism.noise, counts * mechanism.noise.steps_per_count
    further = 20 * shift if table.goes_on else 0
    steps = range(table.first - further, table.last + further + 1)
    pairs = [(float(table.probability(k)), float(table.probability(k + shift))) for k in steps]
    finite = sorted((round(log(p / q) * LOSS_UNIT), p) for p, q in pairs if p and q)
    infinite = sum(p for p, q in pairs if p and not q)
    return Spectrum(np.array([loss for loss, _ in finite]), np.array([p for _, p in finite]), infinite)


def partitions(n: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    if n == 0:
        yield ()
    for first in range(min(n, most or n), 0, -1):
        yield from ((first, *others) for others in partitions(n - first, first))


@pytest.mark.parametrize("counts", [2, 3, 6])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: f"{each.name}-{float(each.scale):g}")
def test_one_cell_that_moves_by_all_is_at_least_as_far_apart_as_any_way_to_spread_them(
    mechanism: Mechanism, counts: int
) -> None:
    bound = moved(mechanism, counts).left
    for parts in partitions(counts):
        spread = prod((exact(mechanism, part) for part in parts[1:]), start=exact(mechanism, parts[0]))
        for epsilon in EPSILONS:
            # The product is spread to a lattice, from above; and its losses are floats.
            assert bound.delta(epsilon) * 1.001 + 1e-10 >= spread.delta(epsilon), (parts, epsilon)


@pytest.mark.parametrize("mechanism", MECHANISMS[:-1], ids=lambda each: f"{each.name}-{float(each.scale):g}")
def test_the_bound_is_close_to_the_noise_itself_moved_by_all(mechanism: Mechanism) -> None:
    for epsilon in EPSILONS:
        true = exact(mechanism, 4).delta(epsilon)
        assert moved(mechanism, 4).left.delta(epsilon + 1e-3) <= true * 1.01 + 1e-9


@pytest.mark.parametrize("mechanism", [Laplace(Fraction(1), 8), Laplace(Fraction(1, 5), 25), Gaussian(Fraction(3), 12)])
def test_a_cell_alone_appears_at_most_as_often_as_stated_however_trips_are_spread(mechanism: Mechanism) -> None:
    for counts in (2, 5, 9):
        stated = moved(mechanism, counts).singleton
        for parts in partitions(counts):
            absent = prod((1 - mechanism.publish_probability(part) for part in parts), start=Fraction(1))
            assert 1 - absent <= stated
        one = 1 - (1 - mechanism.publish_probability(1)) ** counts
        assert stated <= 1.001 * max(float(mechanism.publish_probability(counts)) * counts, float(one))


def test_where_every_cell_is_there_nobody_is_alone() -> None:
    assert moved(World(Fraction(3)), 20).singleton == moved(Dictionary(Fraction(1)), 20).singleton == 0


def test_a_table_that_ends_gives_certainty_to_who_moves_beyond_it() -> None:
    table = World(Fraction("0.5"))
    assert moved(table, 2 * table.noise.last + 2).left.infinite == 1


@pytest.mark.parametrize("mechanism", [Laplace(Fraction(90), 3), World(Fraction(1, 5)), Dictionary(Fraction(30))])
def test_losses_beyond_all_measure_count_as_infinite(mechanism: Mechanism) -> None:
    assert moved(mechanism, 10**6).left.infinite == pytest.approx(1, abs=1e-3)
