"""Estimates of whole trips: they add up, follow the measurements, and are the same on every machine."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from tapveil.published.estimates import Estimates, Measurement, World, estimate
from tapveil.published.estimates.margins import Measured, margin
from tapveil.published.estimates.parts import in_trips
from tests.unit.published.estimates.city import AXES, KINDS, SHAPE, TABLES, measured, table, trips, world

COUNTS = trips()
FOUND = estimate(world(), measured(COUNTS, 4.0))
DIGEST = "d78713a23a3ddf2f7192eb96747b3aa8dfa90250eb99e1f3c0e2038547b76892"
BEFORE = "6e05c814a4865f490ebce957e138d97db12e6f9141daab256b48abe43326635e"
"""Of versions 1 to 6."""
THIN = [
    "da7c06ba55efcf2333a2b56dbae2deff5401cac3a5473a3d003a2aa6f896a479",
    "031667c728c144f6305500e68c147bea99afd23daa67e0f29905f84b23f08846",
    "8d69440790ba8a2026175d5631ca2e03fa98a185216ac51c76bb84e8633eee10",
]
JUDGED = [
    "fc28c2d559ff509c328af29957f1750bdbf05cff93aa8cbbeb5697a9a5174692",
    "2de673ef6bc342a47adf2dec9893ed1ed9733a04890f696a599553d467c0ef59",
    "38b3a00404edb8e8f5b47bf7c0f90bcc6742e1b0d2a35e966ad631853e06cc29",
]


def digest(found: Estimates) -> str:
    """Of all numbers and intervals."""
    whole = hashlib.sha256()
    for size in range(len(AXES) + 1):
        for columns in combinations(AXES, size):
            made = found.table(columns)
            for numbers in (made.count, made.low, made.high, made.weight.astype("<f8")):
                whole.update(np.ascontiguousarray(numbers).tobytes())
    return whole.hexdigest()


def off(found: Estimates, columns: tuple[str, ...]) -> float:
    exact = table(COUNTS, columns)
    return float(np.abs(found.count(columns) - exact).sum() / exact.sum())


def test_estimates_are_byte_for_byte_what_they_were() -> None:
    """Pinned: whoever changes a digit of them makes a new version."""
    assert digest(FOUND) == DIGEST


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_versions_are_the_same_where_cells_have_enough_trips(version: int) -> None:
    """But for intervals since version 7, which know what rounding adds."""
    found = estimate(world(), measured(COUNTS, 4.0), version)
    assert digest(found) == BEFORE
    assert (found.count(AXES) == FOUND.count(AXES)).all()


@pytest.mark.parametrize("seed", range(8))
def test_noise_does_not_add_trips_to_thin_days(seed: int) -> None:
    """Before version 3, a day with a negative noisy total had none, and all days together had too many."""
    measurements = measured(trips(mean=0.05), 12.0, seed=seed)
    old, new = (int(estimate(world(), measurements, version).count([])) for version in (2, 3))
    total = float(in_trips(margin(Measured(world(), measurements).all_days(), ()).numbers))
    assert old >= new
    assert new == pytest.approx(max(total, len(KINDS)), abs=1.5 * len(KINDS))  # each day has one, and is rounded


def test_thin_days_are_byte_for_byte_what_they_were() -> None:
    """Pinned, as above: of versions 2, 3 and 4; of versions 5 to 7 with less noise, so that some cells are told."""
    found = [digest(estimate(world(), measured(trips(mean=0.05), 12.0), version)) for version in (2, 3, 4)]
    assert found == THIN
    assert [digest(estimate(world(), measured(trips(mean=0.1), 3.0), version)) for version in (5, 6, 7)] == JUDGED


def test_the_order_of_memory_does_not_matter() -> None:
    turned = [replace(each, noisy=np.asfortranarray(each.noisy)) for each in measured(COUNTS, 4.0)]
    assert digest(estimate(world(), turned)) == digest(FOUND)


def test_the_order_of_columns_and_of_tables_does_not_matter() -> None:
    def turn(each: Measurement) -> Measurement:
        return Measurement(each.columns[::-1], each.noisy.transpose(), each.variance)

    turned = [turn(each) for each in measured(COUNTS, 4.0)]
    assert digest(estimate(world(), turned)) == digest(FOUND)


def test_whole_numbers_that_add_up_in_every_direction() -> None:
    whole = FOUND.count(AXES)
    assert whole.shape == SHAPE
    assert whole.min() >= 0
    for columns in (("tap_off_location", "date"), ("tap_on_time",), ()):
        order = [axis for axis in AXES if axis in columns]
        sums = whole.sum(axis=tuple(i for i, axis in enumerate(AXES) if axis not in columns))
        assert (FOUND.count(columns) == sums.transpose([order.index(column) for column in columns])).all()


def test_days_of_a_kind_are_summed() -> None:
    by_day, by_kind = FOUND.count(["date"]), FOUND.count(["kind"])
    assert by_kind.tolist() == [by_day[:5].sum(), by_day[5], by_day[6]]


def test_with_little_noise_estimates_are_the_measurements() -> None:
    found = estimate(world(), measured(COUNTS, 0.3))
    for columns in TABLES:
        assert off(found, columns) < 0.02
        assert found.table(columns).weight.mean() > 0.7


def test_estimates_are_nearer_to_the_truth_than_measurements() -> None:
    for noisy in measured(COUNTS, 12.0):
        exact = table(COUNTS, noisy.columns)
        raw = float(np.abs(noisy.noisy - exact).sum() / exact.sum())
        assert off(estimate(world(), measured(COUNTS, 12.0)), noisy.columns) < 0.75 * raw


def test_intervals_hold_the_truth() -> None:
    queries = (*TABLES, AXES, AXES[2:], ("date", "tap_on_location"))
    held: dict[tuple[str, ...], list[float]] = {columns: [] for columns in queries}
    for seed in range(5):
        found = estimate(world(), measured(COUNTS, 4.0, (*TABLES, AXES), seed))
        for columns in queries:
            made, exact = found.table(columns), table(COUNTS, columns)
            held[columns].append(float(((made.low <= exact) & (exact <= made.high)).mean()))
            assert (made.low <= made.count).all()
            assert (made.count <= made.high).all()
            assert made.weight.min() >= 0
            assert made.weight.max() <= 1
    assert min(np.mean(shares) for shares in held.values()) > 0.93


def test_a_measured_finest_table_makes_whole_trips_better() -> None:
    with_finest = estimate(world(), measured(COUNTS, 2.0, (*TABLES, AXES)))
    without = estimate(world(), measured(COUNTS, 2.0))
    assert off(with_finest, AXES) < 0.7 * off(without, AXES)


def test_nothing_is_where_nothing_can_be() -> None:
    closed = np.zeros(SHAPE[1:3], dtype=bool)
    closed[0] = closed[:, 3] = True
    found = estimate(replace(world(), excluded={AXES[1:3]: closed}), measured(COUNTS, 12.0))
    made = found.table(AXES[1:3])
    assert made.count[closed].max() == made.high[closed].max() == 0
    assert found.count(AXES)[:, closed].max() == 0


@pytest.mark.parametrize(
    "columns",
    [
        (("date", "tap_on_location"), ("date", "tap_off_location")),
        (("tap_on_location", "tap_off_location"), ("date", "tap_on_time", "tap_on_location")),
        (("kind", "tap_on_location", "tap_off_location"), ("date",)),
        (("date", "tap_on_location", "tap_off_location"), ("tap_on_time", "tap_off_location"), ("date",)),
    ],
)
def test_any_tables_with_both_ends_are_enough(columns: tuple[tuple[str, ...], ...]) -> None:
    kinds = np.array(world().kinds)
    tables = []
    for each in columns:
        exact = table(COUNTS, tuple("date" if column == "kind" else column for column in each))
        if "kind" in each:
            exact = np.stack([exact[kinds == kind].sum(axis=0) for kind in range(3)])
        tables.append(Measurement(each, exact, 1.0))
    found = estimate(world(), tables)
    assert abs(int(found.count([])) - COUNTS.sum()) < 0.01 * COUNTS.sum()
    assert off(found, ("tap_on_location",)) < 0.02
    assert off(found, ("tap_off_location",)) < 0.02
    if "date" in {column for each in columns for column in each}:
        assert off(found, ("date",)) < 0.02


def test_days_may_come_one_at_a_time() -> None:
    lazy = [replace(each, noisy=list(each.noisy)) for each in measured(COUNTS, 4.0)]
    assert digest(estimate(world(), lazy)) == digest(FOUND)


def test_one_end_is_enough_for_a_mode_without_the_other() -> None:
    exact = table(COUNTS, ("date", "tap_on_time", "tap_on_location"))
    only = World(world().kinds, {"tap_on_time": SHAPE[1], "tap_on_location": SHAPE[2]})
    found = estimate(only, [Measurement(("date", "tap_on_time", "tap_on_location"), exact, 0.1)])
    assert np.abs(found.count(["date", "tap_on_time", "tap_on_location"]) - exact).mean() < 1


def test_columns_that_are_not_estimated_are_refused() -> None:
    with pytest.raises(ValueError, match="no estimates by duration"):
        FOUND.count(["duration"])


def test_no_trips_at_all_are_estimated_as_almost_none() -> None:
    found = estimate(world(), measured(np.zeros(SHAPE, dtype=np.int64), 3.0))
    assert 0 <= int(found.count([])) < 600
