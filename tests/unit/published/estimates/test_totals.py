"""Totals that are known exactly: the sums of estimates are these, and estimates stay whole, and add up."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest

from tapveil.published.estimates import Measurement, Total, World, estimate
from tapveil.published.estimates.totals import Totals

PAIRS = ("date", "tap_on_location", "tap_off_location")
HOURS = ("date", "tap_on_time", "tap_on_location")
WORLD = World((0, 0, 1), {"tap_on_time": 3, "tap_on_location": 4, "tap_off_location": 4}, same_places=True)
AXES = ("tap_on_time", "tap_on_location", "tap_off_location")
ALL = frozenset({0, 1, 2})
NESTED = (
    Total(ALL, {}, 5_000),
    Total(frozenset({2}), {}, 700),
    Total(frozenset({0, 1}), {"tap_on_location": 1}, 1_234),
    Total(frozenset({0, 1}), {"tap_on_location": 1, "tap_off_location": 3}, 37),
)


def measured(seed: int = 1, mean: float = 40.0) -> list[Measurement]:
    draw = np.random.default_rng(seed)
    pairs, hours = (3, 4, 4), (3, 3, 4)
    return [
        Measurement(PAIRS, np.rint(draw.poisson(mean, pairs) + draw.normal(0, 9, pairs)).astype(np.int64), 81.0),
        Measurement(HOURS, np.rint(draw.poisson(mean, hours) + draw.normal(0, 9, hours)).astype(np.int64), 81.0),
    ]


def sum_of(numbers: np.ndarray, total: Total) -> int:
    days = numbers[sorted(total.days)]
    for axis, column in ((1, "tap_on_location"), (2, "tap_off_location")):
        days = np.take(days, [total.at[column]], axis=axis) if column in total.at else days
    return int(days.sum())


@pytest.mark.parametrize(("seed", "mean"), [(1, 40.0), (2, 0.1), (3, 3.0)])
def test_sums_of_estimates_are_the_totals_whatever_was_measured(seed: int, mean: float) -> None:
    """Also where noise drowns all, so that nearly nothing was estimated in cells of a total."""
    found = estimate(WORLD, measured(seed, mean), totals=NESTED)
    numbers = found.count(PAIRS)
    assert [sum_of(numbers, total) for total in NESTED] == [total.trips for total in NESTED]
    assert min(int(day.min()) for day in found.days) >= 0
    for size in range(4):
        for columns in combinations(PAIRS, size):
            gone = tuple(axis for axis, column in enumerate(PAIRS) if column not in columns)
            assert (found.count(columns) == numbers.sum(axis=gone)).all()


def test_what_no_total_is_of_stays_as_it_is() -> None:
    one_day = Total(frozenset({1}), {}, 9_999)
    before, after = estimate(WORLD, measured()), estimate(WORLD, measured(), totals=[one_day])
    assert after.count(["date"]).tolist()[1] == 9_999
    for day in (0, 2):
        assert (before.days[day] == after.days[day]).all()


def test_a_total_of_nothing_empties_its_cells_and_one_of_empty_cells_fills_them() -> None:
    nothing = [Measurement(PAIRS, np.zeros((3, 4, 4), dtype=np.int64), 81.0), measured()[1]]
    totals = [Total(ALL, {"tap_on_location": 0}, 0), Total(ALL, {"tap_on_location": 2}, 123)]
    assert estimate(WORLD, nothing, totals=totals).count(["tap_on_location"]).tolist()[::2] == [0, 123]


def test_estimates_near_the_totals_keep_their_shape() -> None:
    """A total that is what was estimated changes hardly any cell: it is met by a factor near one."""
    before = estimate(WORLD, measured())
    total = Total(ALL, {}, int(before.count([])) + 3)
    after = estimate(WORLD, measured(), totals=[total])
    moved = sum(int(np.abs(a.astype(np.int64) - b).sum()) for a, b in zip(before.days, after.days, strict=True))
    assert moved <= 0.05 * total.trips


def test_estimates_with_totals_are_nearer_where_noise_hides_them() -> None:
    truth = np.random.default_rng(7).poisson(3.0, (3, 4, 4))
    totals = [Total(frozenset({day}), {}, int(truth[day].sum())) for day in range(3)]
    errors = []
    for seed in range(8):
        draw = np.random.default_rng(seed)
        noisy = np.rint(truth + draw.normal(0, 20, truth.shape)).astype(np.int64)
        world = World((0, 0, 1), {"tap_on_location": 4, "tap_off_location": 4})
        for known in ([], totals):
            found = estimate(world, [Measurement(PAIRS, noisy, 400.0)], totals=known).count(["tap_on_location"])
            errors.append(np.abs(found - truth.sum(axis=(0, 2))).sum())
    assert sum(errors[1::2]) < 0.8 * sum(errors[::2])


@pytest.mark.parametrize(
    "totals",
    [
        (Total(ALL, {}, 10), Total(frozenset({1}), {}, 11)),
        (Total(ALL, {"tap_on_location": 1}, 10), Total(ALL, {"tap_off_location": 1}, 10)),
        (Total(frozenset({0, 1}), {}, 10), Total(frozenset({1, 2}), {}, 10)),
    ],
)
def test_totals_that_no_numbers_could_have_or_that_cross_are_refused(totals: tuple[Total, ...]) -> None:
    with pytest.raises(ValueError, match="one contains the other"):
        estimate(WORLD, measured(), totals=totals)


def test_what_a_total_has_beyond_those_within_it_is_left() -> None:
    totals = Totals(WORLD, ("tap_on_time", "tap_on_location", "tap_off_location"), NESTED[::-1])
    assert dict(zip((total.trips for total in totals.ordered), totals.left, strict=True)) == {
        5_000: 5_000 - 700 - 1_234,
        700: 700,
        1_234: 1_234 - 37,
        37: 37,
    }


def indicator(days: frozenset[int], at: Mapping[str, int]) -> np.ndarray:
    """Of all whole trips, day by day: which belong to a part of them."""
    found = np.zeros((3, *WORLD.shape(AXES)))
    for day in days:
        found[day][tuple(at.get(column, slice(None)) for column in AXES)] = 1
    return found.reshape(-1)


@pytest.mark.parametrize(
    "columns", [(), ("date",), PAIRS, HOURS, ("tap_on_location", "date"), ("kind",), ("tap_on_time",)]
)
def test_a_cell_has_no_interval_just_where_it_follows_from_totals(columns: tuple[str, ...]) -> None:
    """It follows from them if it is a sum of multiples of them: then they leave no freedom."""
    totals = (*NESTED[:3], Total(frozenset({0, 1}), {"tap_on_location": 2}, 900))
    found = estimate(WORLD, measured(), totals=totals).table(columns)
    given = np.array([indicator(total.days, total.at) for total in totals])
    lists = {"date": [{0}, {1}, {2}], "kind": [{0, 1}, {2}]}
    for cell in np.ndindex(found.count.shape):
        at = dict(zip(columns, cell, strict=True))
        days = next((lists[c][at[c]] for c in ("date", "kind") if c in at), {0, 1, 2})
        own = indicator(frozenset(days), {column: place for column, place in at.items() if column in AXES})
        follows = np.linalg.matrix_rank(np.vstack([given, own])) == len(given)
        assert (found.low[cell] == found.count[cell] == found.high[cell]) == follows, cell


def test_where_a_total_is_nothing_so_is_each_of_its_cells_and_the_rest_keeps_its_interval() -> None:
    found = estimate(WORLD, measured(), totals=[Total(ALL, {"tap_on_location": 1}, 0)]).table(PAIRS)
    assert not found.high[:, 1].any()
    assert (found.high[:, 2] > found.count[:, 2]).all()


def test_before_version_5_all_cells_had_intervals() -> None:
    one = [Total(ALL, {}, 5_000)]
    old, new = (estimate(WORLD, measured(), version, one).table([]) for version in (4, 5))
    assert int(old.low) < int(old.count) == 5_000 < int(old.high)
    assert int(new.low) == int(new.high) == 5_000
