"""Thin tables have the cells that can be told from nothing, all others have all cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tapveil.published.estimates import Estimates, Measurement, Spread, World, estimate
from tapveil.published.estimates.margins import APART, STEP, Measured
from tapveil.published.estimates.parts import in_parts, in_trips
from tapveil.published.estimates.resolution import Expected, Gains, beyond_error, is_thin, was_thin
from tapveil.published.estimates.shrinkage import STEPS, sizes
from tapveil.published.estimates.spread import Evidence
from tests.unit.published.estimates.city import AXES, KINDS, TABLES, Counts, measured, table, trips, world

QUERIES = (*TABLES, ("tap_on_location", "tap_off_location"), ("date", "tap_on_location"))
PAIR = ("tap_on_location", "tap_off_location")
WHOLE_TRIPS = ("tap_on_time", *PAIR)
BUSY, QUIET = trips(), trips(mean=0.1)


def off(counts: Counts, found: Counts) -> float:
    return float(np.abs(found - counts).sum() / counts.sum())


def errors(counts: Counts, found: Estimates) -> list[float]:
    return [off(table(counts, columns), found.table(columns).count) for columns in QUERIES]


def test_with_few_trips_in_much_noise_no_table_is_further_off_than_zeros() -> None:
    """On average; without leaving out cells some tables are, though all have the right sums."""
    old, new = (
        np.mean([errors(QUIET, estimate(world(), measured(QUIET, 6.0, seed=s), v)) for s in range(3)], axis=0)
        for v in (3, 5)
    )
    assert max(new) <= 1.0
    assert sum(old > 1.02) >= 2


@pytest.mark.parametrize("deviation", [1.0, 4.0])
def test_tables_with_enough_trips_have_all_cells_and_add_up(deviation: float) -> None:
    found = estimate(world(), measured(BUSY, deviation))
    for columns in QUERIES:
        assert (found.table(columns).count == found.count(columns)).all()


def test_what_is_listed_is_a_sum_of_the_same_trips_and_the_other_cells_are_within_their_intervals() -> None:
    found = estimate(world(), measured(QUIET, 3.0))
    shown, all_of_them = found.table(TABLES[0]), found.count(TABLES[0])
    listed = shown.count > 0
    assert 0 < listed.sum() < (all_of_them > 0).sum()
    assert (shown.count[listed] == all_of_them[listed]).all()
    assert (shown.low[~listed] == 0).all()
    assert (shown.high >= all_of_them).all()


@pytest.mark.parametrize("sums", [False, True])
def test_the_halves_of_a_measurement_know_nothing_of_each_others_noise(sums: bool) -> None:
    """So what was chosen in one is judged by the other without bias; both have the same truth."""
    noise = np.random.default_rng(2).normal(0, 9, (2, 200, 300))
    here = World((0, 0), {"tap_on_location": 200, "tap_off_location": 300})
    given = [Measurement(("date", "tap_on_location", "tap_off_location"), np.rint(100 + noise).astype(np.int64), 81.0)]
    one, other = (Measured(here, given, half=half) for half in (1, 2))
    tables = [(each.all_days() if sums else each.day(1))[PAIR] for each in (one, other)]
    days = 2 if sums else 1
    seen = np.array([in_trips(table.numbers).ravel() - 100 * days for table in tables])
    assert [table.variance for table in tables] == [81 * days * (1 + APART), 81 * days * (1 + 1 / APART)]
    assert np.abs(seen.mean(axis=1)).max() < 0.3
    assert seen.var(axis=1) == pytest.approx([table.variance for table in tables], rel=0.03)
    assert abs(np.corrcoef(seen)[0, 1]) < 0.02
    chosen = seen[0] > 2 * np.sqrt(tables[0].variance)  # what noise raised most
    assert abs(seen[1][chosen].mean()) < 5 * np.sqrt(tables[1].variance / chosen.sum())


def test_sizes_are_told_from_the_one_on_with_which_they_bring_most() -> None:
    """Of cells estimated as 2, most have none; of those estimated as 16, most have about as many."""
    chance, gains = np.random.default_rng(3), Gains(4.0)
    estimates = np.repeat([0, 1, 2, 16], [5000, 900, 300, 90])
    exact = np.concatenate(
        [chance.poisson(mean, size) for mean, size in ((0.1, 5000), (0.3, 900), (0.5, 300), (15, 90))]
    )
    gains.add(estimates, in_parts(exact + np.rint(chance.normal(0, 2, exact.size)).astype(np.int64)))
    told = gains.told()[sizes(np.array([0.0, 1.0, 2.0, 8.0, 16.0, 1000.0]))]
    assert told.tolist() == [False, False, False, False, True, True]


def test_where_noise_hides_all_nothing_is_told() -> None:
    gains = Gains(1e6)
    gains.add(np.array([0, 3, 40]), in_parts(np.array([0, 3, 40])))
    assert not gains.told().any()


def test_totals_are_always_told() -> None:
    found = estimate(world(), measured(QUIET, 40.0))
    assert (found.table(["date"]).count == found.count(["date"])).all()
    assert not found.table(TABLES[0]).count.any()


def seen(estimates: list[int]) -> Evidence:
    """How many there are of each size."""
    numbers = np.array(estimates, dtype=np.float64)
    cells, sums = (np.bincount(sizes(numbers), weights, minlength=STEPS) for weights in (None, numbers))
    return Evidence(0.0, cells=cells.astype(np.float64), estimates=sums.astype(np.float64), fitted=sums.astype(float))


def step(number: float) -> int:
    return int(sizes(np.array([number]))[0])


def test_estimates_of_version_4_list_what_exceeds_its_error() -> None:
    """Of 1,000 cells, 4 stand out of noise of deviation 3; ones are what rounding scattered."""
    table, spread = seen([40] * 4 + [1] * 196 + [0] * 800), Spread(9.0, 1.0, 0.0, 0.0)
    assert was_thin(table, spread)
    assert [beyond_error(table, spread)[step(number)] for number in (40, 1, 0)] == [True, False, False]
    assert not was_thin(table, Spread(0.1, 0.01, 0.0, 0.0))


def test_in_version_4_estimates_that_are_their_own_measurements_have_to_exceed_twice_their_error() -> None:
    """The largest of 1,000 cells of noise alone exceed it once."""
    table = seen([13] + [0] * 999)
    assert beyond_error(table, Spread(100.0, 50.0, 0.0, 0.0))[step(13)]
    assert not beyond_error(table, Spread(100.0, 1e6, 0.0, 0.0))[step(13)]


@pytest.mark.parametrize("thin", [is_thin, was_thin])
def test_a_table_without_trips_is_thin(thin: Callable[[Evidence, Spread], bool]) -> None:
    assert thin(seen([0] * 5), Spread(9.0, 1.0, 0.0, 0.0))


def test_cells_without_estimates_do_not_make_a_table_thin_since_version_7() -> None:
    """They are zeros, listed or not, and noise says little of each of them."""
    table, spread = seen([40] * 50 + [0] * 5000), Spread(9.0, 1.0, 0.0, 0.0)
    assert was_thin(table, spread)
    assert not is_thin(table, spread)


def test_a_table_is_thin_where_noise_says_which_cells_become_one() -> None:
    """A seventh of a trip in a cell: before version 7 such tables had all cells, and were further off than zeros."""
    shape = (7, 24, 60, 60)
    here = World(KINDS, dict(zip(AXES[1:], shape[1:], strict=True)))
    chance = np.random.default_rng(8)
    counts = chance.poisson(chance.gamma(1.0, 1.0, shape[1:]) / (7 * shape[3]), shape)
    origins = TABLES[1]
    assert 0.1 < table(counts, origins).mean() < 0.2
    for seed in range(3):
        given = measured(counts, 1.6, seed=seed)
        old, new = (off(table(counts, origins), estimate(here, given, v).table(origins).count) for v in (6, 7))
        assert new <= 1.0 < old


# --- tables that no measurement tells ---------------------------------------------------------------------------------

WHOLE = ("date", *WHOLE_TRIPS)


@pytest.mark.parametrize("mean", [0.05, 0.1])
@pytest.mark.parametrize("deviation", [3.0, 12.0])
def test_whole_trips_that_no_measurement_tells_are_not_further_off_than_zeros(mean: float, deviation: float) -> None:
    """Before version 6 they were; other tables are as they were."""
    counts = trips(mean=mean)
    old, new = (estimate(world(), measured(counts, deviation), version) for version in (5, 6))
    assert off(counts, old.table(WHOLE).count) > 1.0
    for columns in (WHOLE, WHOLE_TRIPS):
        assert off(table(counts, columns), new.table(columns).count) <= 1.0
    for columns in TABLES:
        assert (old.table(columns).count == new.table(columns).count).all()


def test_whole_trips_have_all_cells_where_these_have_enough_trips() -> None:
    found = estimate(world(), measured(BUSY, 4.0))
    for columns in (WHOLE, WHOLE_TRIPS):
        assert (found.table(columns).count == found.count(columns)).all()


def test_what_noise_hides_of_pairs_it_hides_of_pairs_by_the_hour() -> None:
    found = estimate(world(), measured(QUIET, 12.0))
    assert not found.table(TABLES[0]).count.any()
    assert found.count(WHOLE).any()
    assert not found.table(WHOLE).count.any()


def test_noise_rounding_and_the_scatter_of_trips_are_seen_in_what_is_expected() -> None:
    """Twenties of which little is known to be off are told; not if they were nothing before rounding, nor in noise."""
    twenty = np.full(50, 20.0)

    def told(fitted: float, followed: float) -> bool:
        expected = Expected()
        expected.add(twenty, in_parts(np.full(50, fitted)), in_parts(np.full(50, fitted + followed * STEP)))
        expected.add(np.ones(10_000), in_parts(np.full(10_000, 0.2)), in_parts(np.full(10_000, 0.2)))
        found = expected.told()
        assert found is not None  # it is thin: ones are most of it
        assert not found[step(1)]
        return bool(found[step(20)])

    assert told(20.0, 2.0)
    assert not told(3.0, 2.0)
    assert not told(20.0, 30.0)


def test_estimates_of_which_most_are_right_are_not_thin() -> None:
    expected = Expected()
    expected.add(np.full(50, 20.0), in_parts(np.full(50, 20.0)), in_parts(np.full(50, 20.0)))
    assert expected.told() is None
