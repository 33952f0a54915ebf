"""The people of the generated city: their habits show in their cards, and their trips add up to the day's."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt
import pytest

from tapveil.demo.people import STAY, People, Trips
from tapveil.demo.stops import Network

MONDAY = date(2025, 3, 3)
WEEK = [MONDAY + timedelta(days=day) for day in range(7)]
SIZES = dict.fromkeys(WEEK[:5], 20_000) | dict.fromkeys(WEEK[5:], 11_000)


@pytest.fixture(scope="module")
def network() -> Network:
    return Network(np.random.default_rng(1))


@pytest.fixture(scope="module")
def people(network: Network) -> People:
    return People(np.random.default_rng(2), network, SIZES)


@pytest.fixture(scope="module")
def week(people: People) -> dict[date, Trips]:
    return {day: people.trips(np.random.default_rng([3, day.day]), day, size) for day, size in SIZES.items()}


def by_commuters(people: People, trips: Trips) -> npt.NDArray[np.bool_]:
    return trips.card < people.commuters


@pytest.mark.parametrize("size", [0, 1, 2, 3, 17, 1000])
def test_a_day_has_as_many_trips_as_it_should(people: People, size: int) -> None:
    made = people.trips(np.random.default_rng(4), MONDAY, size)
    assert {len(column) for column in made.columns} == {size}


@pytest.mark.parametrize("days", [WEEK[:1], WEEK[5:], WEEK[2:4]])
def test_any_days_have_their_people(network: Network, days: list[date]) -> None:
    people = People(np.random.default_rng(5), network, dict.fromkeys(days, 3000))
    for day in days:
        assert len(people.trips(np.random.default_rng(6), day, 3000)) == 3000


def test_the_same_seed_makes_the_same_trips(network: Network) -> None:
    one, two = (
        People(np.random.default_rng(7), network, SIZES).trips(np.random.default_rng(8), MONDAY, 500) for _ in range(2)
    )
    assert all(map(np.array_equal, one.columns, two.columns))


def test_modes_have_their_shares(network: Network, week: dict[date, Trips]) -> None:
    ridden = np.bincount(np.concatenate([trips.mode for trips in week.values()]), minlength=len(network.modes))
    shares = [mode.share for mode in network.modes]
    assert ridden / ridden.sum() == pytest.approx(shares, abs=0.02)


def test_every_trip_ends_at_another_stop_of_its_mode(network: Network, week: dict[date, Trips]) -> None:
    mode_of = np.repeat(np.arange(len(network.modes)), [len(mode.stops) for mode in network.modes])
    for trips in week.values():
        assert np.array_equal(mode_of[trips.start], trips.mode)
        assert np.array_equal(mode_of[trips.stop], trips.mode)
        assert (trips.start != trips.stop).all()
        assert (trips.off > trips.on).all()


def test_working_days_have_two_peaks_and_weekends_have_none(week: dict[date, Trips]) -> None:
    monday, sunday = (np.bincount(week[day].on // 60, minlength=28) for day in (WEEK[0], WEEK[6]))
    assert monday[8] > 3 * monday[11]
    assert monday[17] > 2 * monday[11]
    assert 12 <= int(sunday.argmax()) <= 14


def test_commuters_take_the_same_way_at_about_the_same_time(people: People, week: dict[date, Trips]) -> None:
    """On Tuesday and Wednesday; trips at random would hardly ever repeat."""
    ways: list[dict[tuple[int, ...], int]] = []
    for day in WEEK[1:3]:
        trips = week[day]
        rows = np.flatnonzero(by_commuters(people, trips) & (trips.on < 600))
        keys = zip(*(column[rows].tolist() for column in (trips.card, trips.start, trips.stop)), strict=True)
        ways.append(dict(zip(keys, trips.on[rows].tolist(), strict=True)))
    again = ways[0].keys() & ways[1].keys()
    assert len(again) > 0.5 * len(ways[0])
    assert np.median([abs(ways[0][way] - ways[1][way]) for way in again]) < 15


def test_most_who_go_to_work_return(people: People, week: dict[date, Trips]) -> None:
    trips = week[MONDAY]
    rows = by_commuters(people, trips)
    ways = Counter(zip(trips.card[rows].tolist(), trips.start[rows].tolist(), trips.stop[rows].tolist(), strict=True))
    both = sum((card, stop, start) in ways for card, start, stop in ways)
    assert both > 0.9 * len(ways)


def test_cards_differ_in_how_often_they_travel(week: dict[date, Trips]) -> None:
    """Cards that travel at random would have about the same number each (a Poisson law: its mean is its variance)."""
    trips = np.bincount(np.concatenate([trips.card for trips in week.values()]))
    trips = trips[trips > 0]
    assert trips.var() > 3 * trips.mean()
    assert (trips <= 2).mean() > 0.1
    assert (trips >= 14).mean() > 0.02


def test_tourists_leave_after_some_days(people: People, week: dict[date, Trips]) -> None:
    residents = people.commuters + people.others
    seen: dict[int, list[int]] = {}
    for number, trips in enumerate(week.values()):
        for card in np.unique(trips.card[trips.card >= residents]).tolist():
            seen.setdefault(card, []).append(number)
    assert len(seen) > 100
    assert max(days[-1] - days[0] for days in seen.values()) == STAY - 1
