"""The modes of the generated city and their stops: names, how many people use each, and how far apart they lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tapveil.demo.geography import positions

BUS_STOPS, STATIONS, WHARVES, TRAM_STOPS, POSTCODES = 6000, 170, 36, 23, 180
ADDRESSES = 1 << 16
"""Where people live or go is one number below this. The lower, the nearer to the centre, whatever the mode."""
HOMES, GOALS = 12, 2
"""A stop's share of homes falls as 1 / (12 + its number), its share of destinations as 1 / (2 + its number)."""

FIRST = (
    "Ash Bell Cope Dun East Fern Glen Hazel Iron Kings Lark Mill North Oak Penn Quarry Rose Stone Thorn West".split()
)
LAST = "brook bury dale field ford gate ham haven hill hurst ley mere mouth port side stead ton vale wick wood".split()
_ODD_STATIONS = ("São Bento", "Žižkov Tunnel", "St. Mary's", "東門", "O'Connell St, North", 'The "Folly"')
_ODD_WHARVES = ("Vesper Quay, No. 3 Wharf", "Vesper Quay, No. 4 Wharf", 'Fisher\'s "Long" Pier', "Île aux Cygnes")
_ODD_TRAM_STOPS = ("Königsplatz", "Paddy's Market", "Convention, East & West")

Small = npt.NDArray[np.int16]


@dataclass(frozen=True)
class Mode:
    """One way to travel: its share of trips, its stops, and how untidy its records are."""

    name: str
    share: float
    stops: tuple[str, ...]
    minutes: float
    """A usual ride."""
    no_tap_off: float
    apart: int
    """From the number of a stop to that of its neighbour."""


class Network:
    """All stops, numbered from those of the first mode to those of the last; each mode's busiest come first."""

    def __init__(self, random: np.random.Generator) -> None:
        self.modes = _modes(random)
        sizes = np.array([len(mode.stops) for mode in self.modes])
        self._first = (np.cumsum(sizes) - sizes).astype(np.int16)
        self._size = sizes.astype(np.int16)
        self._apart = np.array([mode.apart for mode in self.modes], dtype=np.int16)
        self._homes = np.stack([_by_address(mode, HOMES) for mode in self.modes]) + self._first[:, None]
        self._goals = np.stack([_by_address(mode, GOALS) for mode in self.modes]) + self._first[:, None]
        lies = [positions(mode.name, len(mode.stops) if mode.name != "bus" else POSTCODES) for mode in self.modes]
        self._slow = np.array([mode.minutes for mode in self.modes]) / [_usual_distance(each) for each in lies]
        self._lies = np.concatenate([np.resize(each, (n, 2)) for each, n in zip(lies, sizes, strict=True)])

    @property
    def stops(self) -> list[str]:
        """The names of all stops."""
        return [stop for mode in self.modes for stop in mode.stops]

    def homes(self, mode: Small, address: npt.NDArray[np.uint16]) -> Small:
        """The stop that someone with this address uses."""
        found: Small = self._homes[mode, address]
        return found

    def goals(self, mode: Small, address: npt.NDArray[np.uint16]) -> Small:
        """The stop at which people go to this address: shops and offices are nearer to the centre than homes."""
        found: Small = self._goals[mode, address]
        return found

    def near(self, mode: Small, stop: Small, steps: Small) -> Small:
        """The stop that is some steps further out (or in) on the same line; before its first stop one turns round."""
        first, size = self._first[mode], self._size[mode]
        number = np.abs(stop - first + steps * self._apart[mode])
        found: Small = (first + np.where(number < size, number, 2 * (size - 1) - number) % size).astype(np.int16)
        return found

    def elsewhere(self, mode: Small, start: Small, stop: Small) -> Small:
        """The stop, or its neighbour where the ride would end as it starts."""
        first, size = self._first[mode], self._size[mode]
        return np.where(start == stop, first + (stop - first + 1) % size, stop).astype(np.int16)

    def minutes(self, random: np.random.Generator, mode: Small, start: Small, stop: Small) -> Small:
        """How long each ride takes: partly by its length, partly by chance."""
        way = self._lies[start] - self._lies[stop]
        by_length = 0.6 * self._slow.astype(np.float32)[mode] * np.hypot(way[:, 0], way[:, 1])
        usual = np.array([0.4 * each.minutes for each in self.modes], dtype=np.float32)[mode]
        ride = 3 + by_length + usual * random.standard_exponential(len(mode), dtype=np.float32)
        found: Small = np.minimum(ride, 240).astype(np.int16)
        return found


def postcode(stop: int) -> int:
    """Of a bus stop."""
    return 2000 + 37 * stop % POSTCODES


def _modes(random: np.random.Generator) -> tuple[Mode, ...]:
    names = [first + last for first in FIRST for last in LAST]
    random.shuffle(names)
    stations = (*_ODD_STATIONS, *(f"{name} Station" for name in names))[:STATIONS]
    wharves = (*_ODD_WHARVES, *(f"{name} Wharf" for name in names[200:]))[:WHARVES]
    tram_stops = (*_ODD_TRAM_STOPS, *(f"{name} Light Rail" for name in names[300:]))[:TRAM_STOPS]
    bus_stops = tuple(f"{200000 + 7 * number}" for number in range(BUS_STOPS))
    return (
        Mode("bus", 0.42, bus_stops, 22, 0.06, apart=1),
        Mode("train", 0.46, stations, 34, 0.01, apart=8),
        Mode("ferry", 0.05, wharves, 25, 0.004, apart=2),
        Mode("lightrail", 0.07, tram_stops, 14, 0.03, apart=1),
    )


def _by_address(mode: Mode, flat: int) -> Small:
    """For every address, a stop: a few stops have many addresses, most have few, and each has one."""
    popularity = np.cumsum(1 / (flat + np.arange(len(mode.stops))))
    share = (np.arange(ADDRESSES) + 0.5) / ADDRESSES
    found: Small = np.searchsorted(popularity, share * popularity[-1]).astype(np.int16)
    return found


def _usual_distance(places: npt.NDArray[np.float32]) -> float:
    """Between two places of a mode, by how many people start at the one and go to the other."""
    numbers = np.arange(len(places))
    way = places[:, None] - places
    weight = 1 / (HOMES + numbers)[:, None] / (GOALS + numbers)
    return float((weight * np.hypot(way[..., 0], way[..., 1])).sum() / weight.sum())
