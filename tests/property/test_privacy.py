"""Privacy, for designs nobody chose: bounds against brute force over all outcomes, and what may only ever go one way.

"Not below" is meant exactly: brute force is done in integers or in forty digits, and no slack is given downwards.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb, exp, prod
from typing import Any
from unittest import mock

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from tapveil.privacy import accountant, spectrum
from tapveil.privacy.accountant import ChangedCells, Exposure
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.mechanisms import (
    Dictionary,
    Gaussian,
    Laplace,
    Mechanism,
    StabilityHistogram,
    _binomial,
    _distinct,
)
from tapveil.privacy.noise import WORDS, NoiseTable, RandomBytes, discrete_laplace, endless_laplace, uniform
from tapveil.privacy.rational import float_below
from tapveil.privacy.spectrum import LOSS_UNIT, Spectrum, of_table
from tapveil.privacy.units import Neighbours

CLOSE = 1e-12


def some(examples: int) -> settings:
    return settings(max_examples=examples)


def real(x: Fraction | float | int) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpmath.mpf(x)


@contextmanager
def forty_digits() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


# --- what designs there are -----------------------------------------------------------------------------------------


def fractions(low: int, high: int, over: int) -> st.SearchStrategy[Fraction]:
    return st.integers(low, high).map(lambda n: Fraction(n, over))


CELL_EPSILONS = fractions(1, 30, 10)
THRESHOLDS = st.integers(1, 40)
MECHANISMS = st.one_of(
    st.builds(Laplace, CELL_EPSILONS, THRESHOLDS),
    st.builds(Gaussian, fractions(5, 50, 10), THRESHOLDS),
    st.builds(StabilityHistogram, fractions(1, 20, 5), fractions(1, 999, 1000)),
    st.builds(Dictionary, CELL_EPSILONS),
)
TABLES = st.lists(MECHANISMS.map(lambda mechanism: mechanism.cells), min_size=1, max_size=2)
NEIGHBOURS = st.sampled_from(["replace", "add-remove"])
EXPOSURES = st.builds(Exposure, NEIGHBOURS, st.integers(1, 2))
EPSILONS = st.floats(0, 8)
FEW = 64
EXACT = 1e-6
"""A bound over so few patterns is as close to the worst of them; over many it may stay further above."""


def patterns(tables: Sequence[ChangedCells], exposure: Exposure) -> int:
    """How many ways there are for cells to come and go."""
    sides = 2 if exposure.neighbours == "replace" else 1
    return prod((times * exposure.cells + 1) ** sides for cells, times in Counter(tables).items() if cells.singleton)


def delta(tables: Sequence[ChangedCells], at: float, exposure: Exposure) -> float:
    assume(patterns(tables, exposure) <= FEW)
    return accountant.delta(tables, at, exposure)


def grows(less: float, more: float) -> bool:
    return less <= more * (1 + EXACT) + 1e-15


# --- loss goes one way ----------------------------------------------------------------------------------------------


@some(60)
@given(TABLES, EXPOSURES, EPSILONS, fractions(0, 99, 100), CELL_EPSILONS, CELL_EPSILONS)
def test_loss_never_falls_as_a_cells_epsilon_rises(
    others: list[ChangedCells], exposure: Exposure, at: float, singleton: Fraction, one: Fraction, two: Fraction
) -> None:
    """At the same probability of singletons: at the same threshold narrower noise shows fewer of them."""
    shifts = (Laplace(cell_epsilon, 1).cells.left for cell_epsilon in sorted((one, two)))
    wide, narrow = (delta([*others, ChangedCells(singleton, shift, shift)], at, exposure) for shift in shifts)
    assert grows(wide, narrow)


@some(60)
@given(TABLES, EXPOSURES, EPSILONS, fractions(0, 99, 100), fractions(0, 99, 100), CELL_EPSILONS)
def test_loss_never_falls_as_singletons_appear_more_often(
    others: list[ChangedCells], exposure: Exposure, at: float, one: Fraction, two: Fraction, cell_epsilon: Fraction
) -> None:
    shift = Laplace(cell_epsilon, 1).cells.left
    rarely, often = (delta([*others, ChangedCells(p, shift, shift)], at, exposure) for p in sorted((one, two)))
    assert grows(rarely, often)


@some(80)
@given(TABLES, MECHANISMS, EXPOSURES, EPSILONS)
def test_loss_never_falls_as_tables_are_added(
    tables: list[ChangedCells], more: Mechanism, exposure: Exposure, at: float
) -> None:
    assert grows(delta(tables, at, exposure), delta([*tables, more.cells], at, exposure))


@some(80)
@given(TABLES, EXPOSURES, EPSILONS, st.floats(0, 2))
def test_loss_never_falls_with_more_trips_or_at_a_smaller_epsilon(
    tables: list[ChangedCells], exposure: Exposure, at: float, further: float
) -> None:
    loss = delta(tables, at, exposure)
    assert grows(loss, delta(tables, at, Exposure(exposure.neighbours, exposure.cells + 1)))
    assert grows(delta(tables, at + further, exposure), loss)
    assert grows(delta(tables, at, Exposure("add-remove", exposure.cells)), loss), "one of the two units of a change"


def of_releases(releases: list[tuple[list[ChangedCells], int]]) -> list[ChangedCells]:
    """Several releases of the same units as one: each table, as often as a unit changes cells of it there."""
    return [cells for tables, number in releases for cells in tables for _ in range(number)]


@some(60)
@given(st.lists(st.tuples(TABLES, st.integers(1, 2)), min_size=2, max_size=3), NEIGHBOURS, EPSILONS)
def test_loss_never_falls_as_releases_are_added(
    releases: list[tuple[list[ChangedCells], int]], neighbours: Neighbours, at: float
) -> None:
    fewer, more = (delta(of_releases(some), at, Exposure(neighbours)) for some in (releases[:-1], releases))
    assert grows(fewer, more)


@some(40)
@given(TABLES, st.integers(1, 3), NEIGHBOURS, EPSILONS)
def test_a_release_is_accounted_for_by_the_cells_that_a_unit_changes_there(
    tables: list[ChangedCells], trips: int, neighbours: Neighbours, at: float
) -> None:
    once = delta(of_releases([(tables, trips)]), at, Exposure(neighbours))
    assert once == pytest.approx(delta(tables, at, Exposure(neighbours, trips)), rel=EXACT, abs=1e-15)


@some(40)
@given(TABLES, EXPOSURES, st.sampled_from([1e-9, 1e-6, 1e-3, 0.1, 0.5]))
def test_epsilon_and_delta_undo_each_other(tables: list[ChangedCells], exposure: Exposure, target: float) -> None:
    assume(patterns(tables, exposure) <= FEW)
    at = accountant.epsilon(tables, target, exposure)
    if at == float("inf"):
        assert accountant.any_exceeds(accountant.changes(tables, exposure), 1000.0, target)
        return
    assert not accountant.any_exceeds(accountant.changes(tables, exposure), at, target)
    assert at < 1e-9 or accountant.any_exceeds(
        accountant.changes(tables, exposure), at * (1 - 1e-5), target * (1 - EXACT)
    )


# --- calibration ----------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["laplace", "gaussian"])
WEIGHTS = st.lists(st.integers(1, 4).map(Fraction), min_size=1, max_size=3).map(tuple)
TOTAL_EPSILONS = fractions(2, 80, 8)  # of which every one is a float
DELTAS = st.builds(lambda digits, power: Fraction(digits, 100) / 10**power, st.integers(1, 99), st.integers(2, 9))


def check_calibrated(
    name: str, weights: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction, exposure: Exposure
) -> None:
    mechanisms = calibrate(name, weights, epsilon, delta, exposure)
    tables = [mechanism.cells for mechanism in mechanisms]
    assert not accountant.any_exceeds(accountant.changes(tables, exposure), float(epsilon), float_below(delta))
    widths = {mechanism.scale * weight for mechanism, weight in zip(mechanisms, weights, strict=True)}
    assert len(widths) == 1, "noise in proportion to the weights"


@some(60)
@given(NAMES, WEIGHTS, TOTAL_EPSILONS, DELTAS, EXPOSURES)
def test_what_is_calibrated_never_exceeds_what_was_asked_for(
    name: str, weights: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction, exposure: Exposure
) -> None:
    check_calibrated(name, weights, epsilon, delta, exposure)


@some(60)
@given(WEIGHTS.filter(lambda weights: len(set(weights)) < 3), TOTAL_EPSILONS, DELTAS, EXPOSURES)
def test_the_papers_thresholds_never_exceed_what_was_asked_for(
    weights: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction, exposure: Exposure
) -> None:
    check_calibrated("sbh", weights, epsilon, delta, exposure)


def test_three_widths_of_the_papers_noise_stay_pure() -> None:
    """So many sums of losses that they are put on a lattice; their greatest is ε, and must stay so."""
    weights = (Fraction(3), Fraction(2), Fraction(4))
    check_calibrated("sbh", weights, Fraction(31, 8), Fraction(1, 10**9), Exposure("replace", 2))


@some(40)
@given(WEIGHTS, TOTAL_EPSILONS, EXPOSURES)
def test_a_public_list_is_pure_at_what_was_asked_for(
    weights: tuple[Fraction, ...], epsilon: Fraction, exposure: Exposure
) -> None:
    mechanisms = calibrate("dictionary", weights, epsilon, Fraction(0), exposure)
    assert sum(exposure.changed / mechanism.scale for mechanism in mechanisms) == epsilon
    assert accountant.delta([mechanism.cells for mechanism in mechanisms], float(epsilon), exposure) < CLOSE


@some(40)
@given(NAMES, TOTAL_EPSILONS, DELTAS, st.integers(1, 99), EXPOSURES)
def test_a_tighter_delta_never_lowers_the_threshold_of_a_table(
    name: str, epsilon: Fraction, delta: Fraction, percent: int, exposure: Exposure
) -> None:
    (loose,) = calibrate(name, (Fraction(1),), epsilon, delta, exposure)
    (tight,) = calibrate(name, (Fraction(1),), epsilon, delta * percent / 100, exposure)
    assert loose.threshold <= tight.threshold
    assert loose.scale <= tight.scale


@some(40)
@given(NAMES, WEIGHTS, TOTAL_EPSILONS, DELTAS, st.integers(1, 99), EXPOSURES)
def test_a_tighter_delta_never_buys_more(
    name: str, weights: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction, percent: int, exposure: Exposure
) -> None:
    """Of several tables one may get a lower threshold, since the finest go first: but not without another's rise."""
    loose, tight = (calibrate(name, weights, epsilon, d, exposure) for d in (delta, delta * percent / 100))
    before, after = ([mechanism.threshold for mechanism in mechanisms] for mechanisms in (loose, tight))
    assert all(a.scale <= b.scale for a, b in zip(loose, tight, strict=True))
    if loose[0].scale == tight[0].scale:
        assert before == after or any(a < b for a, b in zip(before, after, strict=True))


@some(30)
@given(NAMES, WEIGHTS, TOTAL_EPSILONS, DELTAS, EXPOSURES)
def test_no_threshold_could_be_lower(
    name: str, weights: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction, exposure: Exposure
) -> None:
    """Those of the tables of one weight, together, by one."""
    mechanisms = calibrate(name, weights, epsilon, delta, exposure)
    make = {"laplace": lambda m, t: Laplace(1 / m.scale, t), "gaussian": lambda m, t: Gaussian(m.scale, t)}[name]
    for weight in set(weights):
        lower = [make(m, int(m.threshold) - (w == weight)) for m, w in zip(mechanisms, weights, strict=True)]
        assume(min(mechanism.least for mechanism in lower) > 0)
        assert accountant.any_exceeds(
            accountant.changes([m.cells for m in lower], exposure), float(epsilon), float(delta)
        )


# --- a table, from its integers -------------------------------------------------------------------------------------


@st.composite
def small_tables(draw: st.DrawFn) -> NoiseTable:
    inner = draw(st.lists(st.integers(0, 60), max_size=6))
    ends = draw(st.tuples(st.integers(1, 60), st.integers(1, 60)))
    return NoiseTable(draw(st.integers(-5, 2)), (ends[0], *inner, ends[1]), draw(st.sampled_from([1, 2])))


def moved(table: NoiseTable, by: int) -> dict[int, Fraction]:
    """The law of the noise and so many steps more."""
    return {table.first + i + by: Fraction(w, sum(table.weights)) for i, w in enumerate(table.weights) if w}


def hockey_stick(p: dict[int, Fraction], q: dict[int, Fraction], epsilon: mpmath.mpf) -> mpmath.mpf:
    """Σ (P − e^ε Q)₊ over every outcome."""
    terms = (real(x) - mpmath.exp(epsilon) * real(q.get(outcome, Fraction(0))) for outcome, x in p.items())
    return mpmath.fsum(max(mpmath.mpf(0), term) for term in terms)


@some(100)
@given(small_tables(), fractions(0, 60, 20))
def test_the_loss_of_a_table_in_integers_is_brute_force(table: NoiseTable, epsilon: Fraction) -> None:
    noise, up, down = (moved(table, by) for by in (0, table.steps_per_count, -table.steps_per_count))
    ours = table.shift_delta(epsilon)
    with mpmath.workdps(100):
        true = max(hockey_stick(noise, other, real(epsilon)) for other in (up, down))
        rounding = mpmath.mpf(10) ** -95
        assert true - rounding <= real(ours) <= true + mpmath.mpf(10) ** -80


def own_losses(table: NoiseTable, shift: int) -> list[int]:
    """The losses that occur, to nearest."""
    noise, other = moved(table, 0), moved(table, -shift)
    with forty_digits():
        ratios = {real(p / other[outcome]) for outcome, p in noise.items() if outcome in other}
        return sorted({int(mpmath.nint(mpmath.log(ratio) * LOSS_UNIT)) for ratio in ratios}) or [0]


@some(100)
@given(small_tables(), st.sampled_from([-2, -1, 1, 2]), st.floats(-3, 6))
def test_the_spectrum_of_a_table_is_brute_force(table: NoiseTable, shift: int, epsilon: float) -> None:
    """The noise as drawn, against itself moved so that noise k here is noise k + shift there."""
    ours = of_table(table, shift, own_losses(table, shift)).delta(epsilon)
    with forty_digits():
        true = hockey_stick(moved(table, 0), moved(table, -shift), real(epsilon))
        assert true <= ours <= true + CLOSE


LOSSES = st.lists(st.integers(-4 * LOSS_UNIT, 4 * LOSS_UNIT), min_size=1, max_size=6, unique=True).map(sorted)


@some(100)
@given(small_tables(), st.sampled_from([-1, 1]), LOSSES, st.floats(-3, 6))
def test_spreading_to_whatever_losses_never_lowers_delta(
    table: NoiseTable, shift: int, losses: list[int], epsilon: float
) -> None:
    with forty_digits():
        true = hockey_stick(moved(table, 0), moved(table, -shift), real(epsilon))
        assert true <= of_table(table, shift, losses).delta(epsilon)


@some(25)
@given(fractions(1, 40, 10), st.sampled_from([-1, 1]), st.floats(0, 5))
def test_the_spectrum_of_a_real_table_is_brute_force(epsilon0: Fraction, shift: int, at: float) -> None:
    """Discrete Laplace, spread to ±ε₀: what the floors took shows in the twelfth digit at most, and never downwards."""
    table = discrete_laplace(epsilon0)
    ours = of_table(table, shift, spectrum.laplace_losses(epsilon0)).delta(at)
    with forty_digits():
        true = hockey_stick(moved(table, 0), moved(table, -shift), real(at))
        assert true <= ours <= true + CLOSE


@some(15)
@given(fractions(1, 20, 5), fractions(1, 999, 1000), EXPOSURES, st.floats(-1, 4))
def test_the_spectra_of_half_cells_are_brute_force(
    epsilon: Fraction, delta: Fraction, exposure: Exposure, at: float
) -> None:
    """Cut where the threshold cuts, a cell that was left and one that was entered differ: both are checked."""
    mechanism = StabilityHistogram(epsilon, delta, exposure)
    with forty_digits():
        for ours, by in ((mechanism.cells.left, -2), (mechanism.cells.entered, 2)):
            true = hockey_stick(moved(mechanism.noise, 0), moved(mechanism.noise, by), real(at))
            assert true <= ours.delta(at) <= true + CLOSE


# --- noise without an end -------------------------------------------------------------------------------------------


@some(40)
@given(fractions(1, 80, 20), st.integers(0, 50))
def test_endless_noise_is_a_law_and_pure(epsilon: Fraction, beyond: int) -> None:
    table = endless_laplace(epsilon)
    steps = range(table.first - beyond, table.last + beyond + 1)
    inside = sum(table.probability(k) for k in steps)
    assert inside + table.tail(steps[-1] + 1) + (1 - table.tail(steps[0])) == 1
    assert min(table.probability(k) for k in steps) > 0
    assert all(table.probability(k) == table.probability(-k) for k in range(beyond + 1))
    assert table.shift_delta(epsilon) == 0
    assert table.shift_delta(epsilon * Fraction(999, 1000)) > 0


@some(25)
@given(fractions(1, 40, 20), st.sampled_from([-1, 1]), st.floats(0, 3))
def test_the_spectrum_of_endless_noise_is_brute_force(epsilon0: Fraction, shift: int, at: float) -> None:
    """Brute force over the table and a hundred steps beyond; what lies further out weighs less than the closeness."""
    table = endless_laplace(epsilon0)
    law = {k: table.probability(k) for k in range(table.first - 100, table.last + 101)}
    ours = of_table(table, shift, spectrum.laplace_losses(epsilon0)).delta(at)
    with forty_digits():
        true = hockey_stick(law, {k: table.probability(k + shift) for k in law}, real(at))
        assert true <= ours <= true + CLOSE


# --- products and lattices ------------------------------------------------------------------------------------------


@st.composite
def spectra(draw: st.DrawFn, least: int = 1) -> Spectrum:
    """Of a pair of laws: the masses sum to 1 − infinite."""
    losses = draw(st.lists(st.integers(-3 * LOSS_UNIT, 3 * LOSS_UNIT), min_size=least, max_size=6, unique=True))
    parts = draw(st.lists(st.integers(1, 1000), min_size=len(losses), max_size=len(losses)))
    infinite = draw(st.sampled_from([0.0, 0.0, 1e-9, 1e-3]))
    masses = np.array(parts) * ((1 - infinite) / sum(parts))
    return Spectrum(np.array(sorted(losses), np.int64), masses, infinite)


def pairs(cell: Spectrum) -> Iterator[tuple[int, float]]:
    return zip(cell.losses.tolist(), cell.masses.tolist(), strict=True)


def true_delta(cells: Sequence[Spectrum], epsilon: float) -> mpmath.mpf:
    """Brute force over every combination of outcomes, one of each cell."""
    outcomes = [[(real(loss) / LOSS_UNIT, real(m)) for loss, m in pairs(s)] for s in cells]
    finite = mpmath.mpf(0)
    for combination in product(*outcomes):
        p = mpmath.fprod(mass for _, mass in combination)
        finite += p * max(mpmath.mpf(0), 1 - mpmath.exp(real(epsilon) - mpmath.fsum(loss for loss, _ in combination)))
    return finite + 1 - mpmath.fprod(1 - real(s.infinite) for s in cells)


def both_infinite(cells: Sequence[Spectrum]) -> float:
    """What adding infinite masses counts twice."""
    return sum(a.infinite * b.infinite for a, b in combinations(cells, 2))


@some(80)
@given(st.lists(spectra(), min_size=1, max_size=3), st.floats(-2, 8))
def test_products_are_brute_force(cells: list[Spectrum], epsilon: float) -> None:
    whole = cells[0]
    for cell in cells[1:]:
        whole = whole * cell
    *most, last = cells
    met = last.delta_with(accountant._together(tuple(most)), epsilon)
    with forty_digits():
        true = true_delta(cells, epsilon)
        for ours in (whole.delta(epsilon), met):
            assert min(1, true) <= ours <= true + both_infinite(cells) + CLOSE


@some(60)
@given(spectra(), st.integers(1, 4), st.floats(-2, 8))
def test_powers_are_brute_force(cell: Spectrum, times: int, epsilon: float) -> None:
    ours = cell.power(times).delta(epsilon)
    with forty_digits():
        true = true_delta([cell] * times, epsilon)
        assert min(1, true) <= ours <= true + both_infinite([cell] * times) + CLOSE


@some(80)
@given(spectra(), st.integers(LOSS_UNIT // 1000, 2 * LOSS_UNIT), st.floats(-5, 5))
def test_a_lattice_never_lowers_delta(cell: Spectrum, step: int, epsilon: float) -> None:
    """Nor does it raise it by more than a step of loss."""
    spread = cell.on_lattice(step)
    assert set(np.diff(spread.losses)) <= {step}
    with forty_digits():
        assert min(1, true_delta([cell], epsilon)) <= spread.delta(epsilon)
        assert spread.delta(epsilon) <= true_delta([cell], epsilon - step / LOSS_UNIT) + CLOSE


@some(60)
@given(st.lists(spectra(least=2), min_size=2, max_size=3), st.integers(4, 200), st.floats(-2, 8))
def test_products_on_a_short_lattice_never_lower_delta(cells: list[Spectrum], longest: int, epsilon: float) -> None:
    """The way of long spectra, forced upon short ones: off by no more than a step for either factor of a product."""
    cells = [replace(cell, steps=longest) for cell in cells]
    whole, raised = cells[0], 0
    with mock.patch.object(spectrum, "SUMS_PER_STEP", 0):
        for cell in cells[1:]:
            raised += 2 * spectrum._common_step(whole, cell, longest)
            whole = whole * cell
    with forty_digits():
        assert min(1, true_delta(cells, epsilon)) <= whole.delta(epsilon)
        above = true_delta(cells, epsilon - raised / LOSS_UNIT)
        assert whole.delta(epsilon) <= above + both_infinite(cells) + CLOSE


@some(40)
@given(st.lists(st.lists(st.integers(1, 1000), min_size=2, max_size=6), min_size=2, max_size=3), st.floats(-2, 8))
def test_on_a_lattice_of_their_own_products_are_exact(parts: list[list[int]], epsilon: float) -> None:
    cells = [Spectrum(LOSS_UNIT // 3 * (np.arange(len(w)) - 2), np.array(w) / sum(w)) for w in parts]
    with mock.patch.object(spectrum, "SUMS_PER_STEP", 0):
        whole = cells[0]
        for cell in cells[1:]:
            whole = whole * cell
    with forty_digits():
        true = true_delta(cells, epsilon)
        assert min(1, true) <= whole.delta(epsilon) <= true + CLOSE


# --- (★): which cells come and go -----------------------------------------------------------------------------------


@st.composite
def tiny_tables(draw: st.DrawFn) -> tuple[NoiseTable, int]:
    """Noise of few steps with ends that weigh little, and a threshold that singletons often reach."""
    inner = draw(st.lists(st.integers(50, 2000), min_size=1, max_size=3))
    table = NoiseTable(draw(st.integers(-3, 0)), (1, *inner, 1))
    return table, draw(st.integers(max(1, table.first + 2), table.last + 2))


def changed_cells(table: NoiseTable, threshold: int) -> ChangedCells:
    left, entered = (of_table(table, shift, own_losses(table, shift)) for shift in (1, -1))
    return ChangedCells(table.tail(threshold - 1), left, entered)


def published(table: NoiseTable, threshold: int, count: int) -> Counter[int | None]:
    """The law of what is published of a cell with so many trips, as weights of the table; None is nothing."""
    law: Counter[int | None] = Counter()
    for value, p in moved(table, count).items():
        shown = value if count > 0 and value >= threshold else None
        law[shown] += int(p * table.total)
    return law


def all_outcomes(
    laws: Iterable[tuple[NoiseTable, Counter[int | None], Counter[int | None]]],
) -> npt.NDArray[np.float64]:
    """P and Q of every combination of outcomes of independent cells: two rows."""
    rows = np.ones((2, 1))
    for table, p, q in laws:
        outcomes = sorted({*p, *q}, key=str)
        cell = np.array([[law[o] / table.total for o in outcomes] for law in (p, q)])
        rows = (rows[:, :, None] * cell[:, None, :]).reshape(2, -1)
    return rows


Counts = Callable[[NoiseTable, int], Iterable[int]]


def every_count(table: NoiseTable, threshold: int) -> Iterable[int]:
    """From one to one so large that it is always published, and one more."""
    return range(1, threshold - table.first + 3)


def some_counts(table: NoiseTable, threshold: int) -> Iterable[int]:
    return {1, 2, threshold - table.first + 2}


def worst_of_all(tables: Sequence[tuple[NoiseTable, int]], exposure: Exposure, epsilon: float, counts: Counts) -> float:
    """The greatest δ over the counts of all changed cells, in all combinations, over all outcomes."""
    directions = [(True, False)] if exposure.neighbours == "replace" else [(True,), (False,)]
    greatest = 0.0
    for sides in directions:
        choices = [
            [(table, threshold, *((c, c - 1) if left else (c - 1, c))) for c in counts(table, threshold)]
            for table, threshold in tables
            for left in sides
            for _ in range(exposure.cells)
        ]
        for changes in product(*choices):
            p, q = all_outcomes((t, published(t, limit, a), published(t, limit, b)) for t, limit, a, b in changes)
            greatest = max(greatest, float(np.maximum(p - exp(epsilon) * q, 0).sum()))
    return greatest


def check_product_formula(
    tables: Sequence[tuple[NoiseTable, int]], exposure: Exposure, epsilon: float, counts: Counts
) -> None:
    """(★) is brute force, but that what two cells can both betray for certain is counted twice."""
    ours = accountant.delta([changed_cells(*table) for table in tables], epsilon, exposure)
    true = worst_of_all(tables, exposure, epsilon, counts)
    ends = [1 / table.total for table, _ in tables for _ in range(exposure.changed)]
    twice = sum(a * b for a, b in combinations(ends, 2))
    assert true - CLOSE <= ours <= true * (1 + EXACT) + twice + CLOSE


@some(60)
@given(tiny_tables(), NEIGHBOURS, st.floats(0, 5))
def test_the_product_formula_is_brute_force_for_one_table(
    table: tuple[NoiseTable, int], neighbours: Neighbours, epsilon: float
) -> None:
    check_product_formula([table], Exposure(neighbours), epsilon, every_count)


@some(30)
@given(tiny_tables(), st.sampled_from([Exposure("replace", 2), Exposure("add-remove", 3)]), st.floats(0, 5))
def test_the_product_formula_is_brute_force_for_several_cells_of_a_table(
    table: tuple[NoiseTable, int], exposure: Exposure, epsilon: float
) -> None:
    check_product_formula([table], exposure, epsilon, some_counts)


@some(40)
@given(tiny_tables(), tiny_tables(), NEIGHBOURS, st.floats(0, 5))
def test_the_product_formula_is_brute_force_for_two_tables(
    one: tuple[NoiseTable, int], two: tuple[NoiseTable, int], neighbours: Neighbours, epsilon: float
) -> None:
    check_product_formula([one, two], Exposure(neighbours), epsilon, some_counts)


@pytest.mark.parametrize("rest", [Fraction(1, 2**53), Fraction(1, 2**54), Fraction(1, 2**70)])
def test_a_singleton_that_all_but_surely_appears_is_betrayed(rest: Fraction) -> None:
    shift = Laplace(Fraction(1), 1).cells.left
    assert accountant.delta([ChangedCells(1 - rest, shift, shift)], 1.0, Exposure("add-remove")) >= 1 - rest


# --- drawing sparsely -----------------------------------------------------------------------------------------------


class Tape:
    """A source of randomness that plays what it is given, and asks for more when that is used up."""

    def __init__(self, played: Sequence[int]) -> None:
        self._played = iter(played)
        self.asked = 0

    def __call__(self, size: int) -> bytes:
        self.asked = size
        try:
            return next(self._played).to_bytes(size, "little")
        except StopIteration:
            raise MoreError from None


class MoreError(Exception):
    """The tape has run out."""


def exact_law(
    draw: Callable[[RandomBytes], object], values: Callable[[int], Sequence[int]], depth: int
) -> dict[object, Fraction]:
    """Every answer to every question for random bytes, up to a depth: the law, but for what is still undecided.

    `values` are the equally likely numbers that stand for so many random bytes.
    """
    law: dict[object, Fraction] = {}
    tapes: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    for _ in range(depth + 1):
        longer = []
        for played, probability in tapes:
            tape = Tape(played)
            try:
                drawn = draw(tape)
                law[drawn] = law.get(drawn, Fraction(0)) + probability
            except MoreError:
                answers = values(tape.asked)
                longer += [((*played, answer), probability / len(answers)) for answer in answers]
        tapes = longer
    return law


@pytest.mark.parametrize(("trials", "a", "bits"), [(3, 5, 3), (4, 11, 4), (5, 1, 3), (2, 13, 5), (1, 1, 1), (6, 3, 2)])
def test_the_binomial_is_exact(trials: int, a: int, bits: int) -> None:
    """Over all random bits; those that are not asked for are set at random, and must not matter."""
    rng = random.Random(f"{trials} {a} {bits}")
    law = exact_law(
        lambda source: _binomial(trials, Fraction(a, 2**bits), source),
        lambda size: [n + (rng.getrandbits(8 * size - trials) << trials) for n in range(2**trials)],
        depth=bits,
    )
    p = Fraction(a, 2**bits)
    assert law == {k: comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)}


@pytest.mark.parametrize(("trials", "p"), [(0, Fraction(1, 2)), (7, Fraction(0)), (7, Fraction(1))])
def test_the_binomial_at_its_ends(trials: int, p: Fraction) -> None:
    assert _binomial(trials, p, random.Random(1).randbytes) == trials * p


@pytest.mark.parametrize(("trials", "p"), [(10, Fraction(1, 3)), (1000, Fraction(1, 700)), (33, Fraction(6, 7))])
def test_the_binomial_of_any_fraction(trials: int, p: Fraction) -> None:
    source = random.Random(1).randbytes
    seen = Counter(_binomial(trials, p, source) for _ in range(20_000))
    law = {k: float(stats.binom.pmf(k, trials, float(p))) for k in range(trials + 1)}
    assert p_value(seen, law) > 1e-6
    wrong = {k: float(stats.binom.pmf(k, trials, 0.95 * float(p))) for k in range(trials + 1)}
    assert p_value(seen, wrong) < 1e-9


def p_value(seen: Mapping[Any, int], law: Mapping[Any, float]) -> float:
    """Chi-square; classes too rare for it are taken together."""
    draws = sum(seen.values())
    assert set(seen) <= set(law), "something that cannot be"
    usual = [o for o, p in law.items() if p * draws >= 10]
    expected, observed = [law[o] * draws for o in usual], [seen[o] for o in usual]
    rest = max(draws - sum(expected), 1e-3)
    return float(stats.chisquare([*observed, draws - sum(observed)], [*expected, rest], sum_check=False).pvalue)


@pytest.mark.parametrize(("number", "below"), [(1, 3), (2, 4), (2, 5), (3, 4), (4, 5), (0, 4), (4, 4), (3, 6)])
def test_every_set_of_distinct_numbers_is_as_likely(number: int, below: int) -> None:
    """Numbers below the bound stand for uniform words: `uniform` takes the remainder of words that are a multiple."""
    law = exact_law(
        lambda source: tuple(_distinct(number, below, source).tolist()),
        lambda size: [
            sum(n << (64 * i) for i, n in enumerate(drawn)) for drawn in product(range(below), repeat=size // 8)
        ],
        depth=3,
    )
    assert set(law) == set(combinations(range(below), number))
    assert len(set(law.values())) == 1, "at every depth"
    assert sum(law.values()) > Fraction(4, 5)


@pytest.mark.parametrize("bound", [1, 3, 10, 2**63 - 1, 2**63, 2**63 + 1, WORDS - 1, WORDS])
def test_uniform_numbers_are_uniform(bound: int) -> None:
    """As many words for each: those from the last multiple of the bound on are drawn again."""
    multiples = WORDS // bound * bound
    first = [0, bound - 1, multiples - bound, multiples - 1]
    rejected = [w for w in (multiples, WORDS - 1) if multiples <= w < WORDS]
    again = [multiples - 1 for _ in rejected]
    source = iter([np.array([*first, *rejected], np.uint64), np.array(again, np.uint64)])
    drawn = uniform(bound, len(first) + len(rejected), lambda size: next(source)[: size // 8].tobytes())
    assert drawn.tolist() == [0, bound - 1, 0, bound - 1, *(bound - 1 for _ in rejected)]


EMPTY = 4
PUBLIC = Dictionary(Fraction(1, 2), least=2)


def dense_law(dictionary: Dictionary) -> dict[object, float]:
    """Each of the empty cells draws for itself: a number up to six, "more", or nothing."""
    one: dict[object, Fraction] = {v: dictionary.noise.probability(v) for v in range(dictionary.least, 7)}
    one |= {"more": dictionary.noise.tail(7), "nothing": 1 - dictionary.noise.tail(dictionary.least)}
    return {cells: float(np.prod([float(one[c]) for c in cells])) for cells in product(one, repeat=EMPTY)}


def sparse(dictionary: Dictionary, source: RandomBytes) -> tuple[object, ...]:
    cells: list[object] = ["nothing"] * EMPTY
    where, values = dictionary.draw_empty(EMPTY, source)
    for cell, value in zip(where.tolist(), values.tolist(), strict=True):
        cells[cell] = value if value < 7 else "more"
    return tuple(cells)


def test_drawing_only_what_is_published_has_the_law_of_drawing_all() -> None:
    source = random.Random(20160808).randbytes
    seen = Counter(sparse(PUBLIC, source) for _ in range(20_000))
    assert p_value(seen, dense_law(PUBLIC)) > 1e-6
    for wrong in (Dictionary(Fraction(9, 20), least=2), Dictionary(Fraction(11, 20), least=2)):
        assert p_value(seen, dense_law(wrong)) < 1e-9


@pytest.mark.parametrize("at_least", [None, -3, 0, 2, 30, 200])
def test_draws_of_endless_noise_follow_its_law(at_least: int | None) -> None:
    """Far out, too: there the table ends, and each step more is drawn."""
    table = endless_laplace(Fraction(1, 2))
    drawn = table.sample(50_000, random.Random(7).randbytes, at_least)
    low = table.first if at_least is None else at_least
    whole = table.tail(low) if at_least is not None else Fraction(1)
    law: dict[object, float] = {k: float(table.probability(k) / whole) for k in range(low, low + 400)}
    assert p_value(Counter(drawn.tolist()), law) > 1e-6
