"""Synthetic trips: their sums are the estimates, and their ends follow from durations and measured ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapveil.published.estimates import Clock, Estimates, Measurement, World, estimate
from tapveil.published.estimates.trips import even
from tests.unit.published.estimates.city import AXES, KINDS, SHAPE, TABLES, measured, table, trips, world

BINS = (360, 420, 480, 540, 600, 660)
DURATIONS = (0, 20, 40, 60)
CLOCK = Clock(BINS, BINS, DURATIONS, until=720)
FAR = np.abs(np.arange(SHAPE[2])[:, None] - np.arange(SHAPE[3])) // 3
"""The class of distance of each pair."""
LONG = np.array([[0.7, 0.3, 0.0, 0.0], [0.2, 0.6, 0.2, 0.0], [0.0, 0.2, 0.5, 0.3]])
"""Which durations each class of distance has."""


def ended(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exact trips by date, end and place, and by class of distance and duration."""
    random = np.random.default_rng(5)
    off = np.zeros((SHAPE[0], len(BINS), SHAPE[3]), dtype=np.int64)
    durations = np.zeros((3, len(DURATIONS)), dtype=np.int64)
    day, start, origin, destination = (np.repeat(index, counts[counts > 0]) for index in np.nonzero(counts))
    far = FAR[origin, destination]
    each = (random.random(len(far))[:, None] >= np.cumsum(LONG, axis=1)[far]).sum(axis=1).clip(max=3)
    minutes = np.array(BINS)[start] + random.integers(0, 60, len(far)) + np.array(DURATIONS)[each]
    minutes += random.integers(0, 20, len(far))
    np.add.at(off, (day, np.clip((minutes - 360) // 60, 0, 5), destination), 1)
    np.add.at(durations, (far, each), 1)
    return off, durations


COUNTS = trips()
OFF, LASTED = ended(COUNTS)
BOTH = World(
    KINDS,
    {**world().sizes, "tap_off_time": len(BINS), "distance": 3, "duration": len(DURATIONS)},
    same_places=True,
    distances=FAR,
    clock=CLOCK,
)
MEASURED = [
    *measured(COUNTS, 3.0, TABLES[:2]),
    Measurement(("date", "tap_off_time", "tap_off_location"), OFF, 9.0),
    Measurement(("distance", "duration"), LASTED, 100.0),
]
FOUND = estimate(BOTH, MEASURED)


def counted(found: Estimates, columns: tuple[str, ...]) -> np.ndarray:
    """From the rows alone."""
    sizes = [found.world.sizes[column] for column in columns]
    days = []
    for day in range(found.world.days):
        rows = found.trips(day)
        cells = np.ravel_multi_index([rows[column] for column in columns], sizes)
        days.append(np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes))
    return np.stack(days)


@pytest.mark.parametrize(
    "columns",
    [
        AXES[1:],
        ("tap_off_time", "tap_off_location"),
        ("duration",),
        ("tap_on_time", "tap_off_time"),
        ("tap_on_location",),
    ],
)
def test_every_table_is_the_sum_of_the_rows(columns: tuple[str, ...]) -> None:
    assert (FOUND.count(("date", *columns)) == counted(FOUND, columns)).all()
    assert (FOUND.count(columns) == counted(FOUND, columns).sum(axis=0)).all()


def test_rows_are_the_same_each_time() -> None:
    for column, codes in FOUND.trips(3).items():
        assert (codes == FOUND.trips(3)[column]).all()


def test_ends_are_those_that_were_measured() -> None:
    made = FOUND.count(("date", "tap_off_time", "tap_off_location"))
    assert np.abs(made - OFF).sum() / OFF.sum() < 0.06


def test_durations_are_those_that_were_measured() -> None:
    made = FOUND.count(("distance", "duration"))
    assert np.abs(made - LASTED).sum() / LASTED.sum() < 0.12


def test_no_trip_ends_before_it_starts_but_for_a_few() -> None:
    """Only where measured ends leave no other way."""
    rows = FOUND.trips(0)
    assert (rows["tap_off_time"] < rows["tap_on_time"]).mean() < 0.005


def test_ends_tell_when_trips_to_a_place_start() -> None:
    """A place with hours of its own: without its ends it would have those of its origins."""
    counts = COUNTS.copy()
    counts[:, :3, :, 1] //= 8
    tables = [
        *measured(counts, 3.0, TABLES[:2]),
        Measurement(("date", "tap_off_time", "tap_off_location"), ended(counts)[0], 9.0),
        Measurement(("distance", "duration"), ended(counts)[1], 100.0),
    ]
    sizes = {column: size for column, size in BOTH.sizes.items() if column != "tap_off_time"}
    exact = table(counts, TABLES[2])
    with_ends, without = (
        np.abs(estimate(here, measurements).count(TABLES[2]) - exact).sum()
        for here, measurements in ((BOTH, tables), (replace(BOTH, sizes=sizes), [*tables[:2], tables[3]]))
    )
    assert with_ends < 0.5 * without


def test_without_durations_trips_have_both_times_all_the_same() -> None:
    sizes = {column: size for column, size in BOTH.sizes.items() if column not in ("duration", "distance")}
    plain = World(KINDS, sizes, same_places=True, clock=Clock(BINS, BINS, until=720))
    found = estimate(plain, MEASURED[:3])
    made = found.count(("date", "tap_off_time", "tap_off_location"))
    assert np.abs(made - OFF).sum() / OFF.sum() < 0.12
    assert "duration" not in found.trips(0)


def test_intervals_of_ends_hold_the_truth() -> None:
    made = FOUND.table(("date", "tap_off_time", "tap_off_location"))
    assert ((made.low <= OFF) & (made.high >= OFF)).mean() > 0.9


def test_the_sequence_fills_every_interval_evenly() -> None:
    dealt = even(0, 1000)
    for low, high in ((0.0, 0.1), (0.37, 0.5), (0.2, 0.9)):
        assert abs(((dealt >= low) & (dealt < high)).sum() - 1000 * (high - low)) < 4
    assert (even(500, 500) == dealt[500:]).all()


def test_a_trip_that_no_measured_end_allows_still_ends() -> None:
    numbers = FOUND.days[0].astype(np.int64)
    assert FOUND.endings is not None
    bends = FOUND.endings.bends(numbers, np.zeros((len(BINS), SHAPE[3])))
    rows = list(FOUND.endings.deal(numbers, bends))
    assert sum(len(each["duration"]) for each in rows) == numbers.sum()
    assert {end for each in rows for end in each["tap_off_time"].tolist()} <= set(range(len(BINS)))


def test_rows_are_the_same_however_many_are_made_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = replace(FOUND, endings=None)
    whole = [found.trips(1) for found in (FOUND, plain)]
    monkeypatch.setattr("tapveil.published.estimates.trips.ROWS_AT_ONCE", 97)
    for found, rows in zip((FOUND, plain), whole, strict=True):
        some = list(found.some_trips(1))
        assert max(len(each["tap_on_time"]) for each in some) == 97
        for column, codes in rows.items():
            assert (np.concatenate([each[column] for each in some]) == codes).all()
