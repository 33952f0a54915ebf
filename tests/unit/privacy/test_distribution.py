"""The float view of a mechanism is the exact one, to all the digits that a float has."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tapveil.privacy.distribution import distribution
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Laplace, Mechanism, StabilityHistogram

MECHANISMS: dict[str, Mechanism] = {
    "sbh": StabilityHistogram(Fraction(1), Fraction(1, 1000)),
    "laplace": Laplace(Fraction(1, 3), 9),
    "gaussian": Gaussian(Fraction(7, 2), 8),
    "dictionary": Dictionary(Fraction(1, 2), 3),
}


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("size", [0, 1, 8, 15, 16, 40, 5000])
def test_the_distribution_in_floats_is_the_exact_one(mechanism: Mechanism, size: int) -> None:
    about = min(size, 200)  # far above the threshold only the noise is left
    exact = mechanism.distribution(about)
    chance, off, distance, square = (float(each[0]) for each in distribution(mechanism).published(np.array([size])))
    assert chance == pytest.approx(float(sum(exact.values())), rel=1e-9, abs=1e-15)
    assert off == pytest.approx(float(sum(p * (v - about) for v, p in exact.items())), rel=1e-6, abs=1e-9)
    assert distance == pytest.approx(float(sum(p * abs(v - about) for v, p in exact.items())), rel=1e-9)
    assert square == pytest.approx(float(sum(p * (v - about) ** 2 for v, p in exact.items())), rel=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_how_rare_an_error_or_a_hidden_cell_is_has_all_its_digits(mechanism: Mechanism) -> None:
    """What is next to impossible is told from what is merely rare: 1 minus the rest would not do."""
    known, sizes = distribution(mechanism), np.array([1, 8, 15, 40, 60, 90])
    exact = [float(1 - mechanism.publish_probability(int(size))) for size in sizes]
    beyond = 1e-18  # noise without an end is cut off there
    assert known.hidden(sizes) == pytest.approx(exact, rel=1e-9, abs=beyond)
    steps, noise = mechanism.noise.steps_per_count, mechanism.noise
    for off in (1, 7, 40):
        above, below = float(noise.tail(steps * off)), float(1 - noise.tail(steps * (1 - off)))
        assert known.as_far_off(np.array([off, -off])) == pytest.approx([above, below], rel=1e-9, abs=beyond)
    assert known.as_far_off(np.array([10**6, -(10**6)])).tolist() == [0, 0]
    assert known.hidden(np.array([10**6])).tolist() == [0]


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_the_distribution_of_errors_is_the_exact_one(mechanism: Mechanism) -> None:
    counts = np.array([1, 3, 8, 9, 9, 14, 15, 40])
    known = distribution(mechanism)
    off, expected = known.errors(counts)
    exact: dict[int, Fraction] = {}
    for size in counts.tolist():
        for value, chance in mechanism.distribution(size).items():
            exact[value - size] = exact.get(value - size, Fraction(0)) + chance
    found = dict(zip(off.tolist(), expected.tolist(), strict=True))
    for distance, chance in exact.items():
        assert found[distance] == pytest.approx(float(chance), rel=1e-9, abs=1e-14)
    assert sum(found.values()) == pytest.approx(float(sum(exact.values())), rel=1e-9)
    for distance in (0, 1, 4, 500):
        for size, near in zip(counts.tolist(), known.within(counts, distance), strict=True):
            inside = sum(
                chance for value, chance in mechanism.distribution(size).items() if abs(value - size) <= distance
            )
            assert near == pytest.approx(float(inside), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_tails_are_the_exact_ones_and_empty_cells_appear_only_where_they_are_visited(mechanism: Mechanism) -> None:
    sizes = np.array([0, 1, 7, 15, 40])
    for value in (0, 3, 9, 15, 41):
        exact = [float(mechanism.publish_tail(int(size), value)) for size in sizes]
        assert distribution(mechanism).tail(sizes, value) == pytest.approx(exact, rel=1e-9, abs=1e-18)
    assert bool(distribution(mechanism).tail(sizes[:1])[0]) == mechanism.visits_empty_cells
    assert distribution(mechanism).hidden(sizes[:1])[0] == pytest.approx(1 - float(mechanism.publish_probability(0)))


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_the_expected_publication_is_the_sum_over_all_cells(mechanism: Mechanism) -> None:
    sizes, cells = np.array([0, 1, 9, 14, 40]), np.array([100, 50, 20, 0, 3])
    found = distribution(mechanism).expected(sizes, cells)
    known = [
        (int(size), int(times), mechanism.distribution(int(size))) for size, times in zip(sizes, cells, strict=True)
    ]
    assert found.cells == pytest.approx(float(sum(n * sum(d.values()) for _, n, d in known)), rel=1e-9)
    assert found.trips == pytest.approx(float(sum(n * size * sum(d.values()) for size, n, d in known)), rel=1e-9)
    far = sum(n * p * abs(value - size) for size, n, d in known for value, p in d.items())
    assert found.distance == pytest.approx(float(far), rel=1e-9)
