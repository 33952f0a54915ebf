"""The stops of the generated city."""

from __future__ import annotations

import numpy as np
import pytest

from tapveil.demo.stops import ADDRESSES, Network


@pytest.fixture(scope="module")
def network() -> Network:
    return Network(np.random.default_rng(1))


def test_every_stop_is_somebodys_home_and_somebodys_goal(network: Network) -> None:
    address = np.arange(ADDRESSES, dtype=np.uint16)
    for used in (network.homes, network.goals):
        modes = range(len(network.modes))
        found = np.concatenate([used(np.full(ADDRESSES, mode, dtype=np.int16), address) for mode in modes])
        assert np.array_equal(np.unique(found), np.arange(len(network.stops)))


def test_goals_are_nearer_to_the_centre_than_homes(network: Network) -> None:
    address = np.arange(ADDRESSES, dtype=np.uint16)
    bus = np.zeros(ADDRESSES, dtype=np.int16)
    assert np.median(network.goals(bus, address)) < 0.8 * np.median(network.homes(bus, address))


@pytest.mark.parametrize("steps", [-4, -1, 1, 4])
def test_stops_near_another_are_of_its_mode(network: Network, steps: int) -> None:
    stops = np.arange(len(network.stops), dtype=np.int16)
    mode = np.repeat(np.arange(len(network.modes)), [len(each.stops) for each in network.modes]).astype(np.int16)
    assert np.array_equal(mode[network.near(mode, stops, np.full(len(stops), steps, dtype=np.int16))], mode)


def test_rides_are_longer_where_stops_are_further_apart(network: Network) -> None:
    random = np.random.default_rng(2)
    first = len(network.modes[0].stops)
    train, main = np.ones(2000, dtype=np.int16), np.full(2000, first, dtype=np.int16)
    near, far = (network.minutes(random, train, main, main + np.int16(n)) for n in (8, 120))
    assert near.mean() + 10 < far.mean()
