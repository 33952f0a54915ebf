"""Coupled places: those between which there is only one way to go, such as the two ends of an isolated ferry.

Whoever taps on at the one taps off at the other, so tables of tap-ons and of tap-offs tell of the same trips twice, and
someone who knows the line can join them (Culnane, Rubinstein and Teague, 2017, on the published Opal data). That costs
no more than the promise says, which adds up all tables, but it undoes what separate tables seem to hide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tapveil.base.vocabulary import UNKNOWN
from tapveil.inputs.areas import Areas, stop_name
from tapveil.inputs.gtfs import Feed
from tapveil.inputs.timetable import mode_of
from tapveil.plan.model import Plan

MOST_PLACES = 10
"""An isolated line with more places than this hides well enough where someone went."""
FEW_PLACES = 3
RARE, FEW_LEAVE = 0.01, 0.05
"""A rarer pair of places is taken for a mistake in the data, and so is a smaller share of trips that leave."""
SHOWN, MOST_SHOWN = 4, 10
"""Places of a set, and sets."""


@dataclass(frozen=True)
class Coupled:
    """Some places of a mode that lead only to each other, and the lines that serve them."""

    mode: str
    places: tuple[str, ...]
    lines: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """Its mode, its places, and the lines that serve them."""
        more = f" and {len(self.places) - SHOWN} more" if len(self.places) > SHOWN else ""
        served = f" ({', '.join(self.lines[:SHOWN])})" if self.lines else ""
        whose = f"{self.mode}: " if self.mode else ""
        return f"{whose}{', '.join(self.places[:SHOWN])}{more}{served}"


def sentence(found: Sequence[Coupled]) -> str:
    """What was found, in one list, and what to do."""
    more = f"; and {len(found) - MOST_SHOWN} more sets" if len(found) > MOST_SHOWN else ""
    listed = "; ".join(each.in_words for each in found[:MOST_SHOWN])
    return (
        f"coupled places, which lead only to each other: {listed}{more}. Where a trip began tells where it ended, so "
        "tap-ons can be linked to tap-offs: give them one name under [coarsen.location], or use larger areas"
    )


def from_timetable(plan: Plan, areas: Areas, feed: Feed) -> list[Coupled]:
    """Isolated lines: none of their places, as they are published, is served by a line of another name."""
    ways: dict[str, dict[str, set[str]]] = {}
    for line in feed.lines():
        mode = mode_of(plan, line.route_type)
        if plan.source.modes and mode not in plan.source.modes:
            continue
        places = {areas.area(mode, stop_name(plan, feed.stops[stop])) for stop in line.stops} - {UNKNOWN}
        ways.setdefault(mode, {}).setdefault(line.name, set()).update(places)
    return [
        Coupled(mode, places, lines)
        for mode, lines_of in sorted(ways.items())
        for places, lines in _islands(lines_of)
        if len(places) == 2 or (len(lines) == 1 and 2 < len(places) <= MOST_PLACES)
    ]


def from_trips(pairs: Mapping[tuple[str, str, str], int], least: int = 0) -> list[Coupled]:
    """Places whose trips stay among them, from the number of trips of each mode from each place to each. Internal.

    Of places with fewer trips than `least` it says nothing.
    """
    known = {key: trips for key, trips in pairs.items() if UNKNOWN not in key[1:] and key[1] != key[2]}
    at = Counter[tuple[str, str]]()
    for (mode, start, end), trips in known.items():
        at[mode, start] += trips
        at[mode, end] += trips
    ways: dict[str, dict[str, set[str]]] = {}
    for (mode, start, end), trips in known.items():
        if trips > RARE * max(at[mode, start], at[mode, end]):
            ways.setdefault(mode, {})[f"{start}\0{end}"] = {start, end}
    small = [
        Coupled(mode, places)
        for mode, pairs_of in sorted(ways.items())
        for places, _ in _islands(pairs_of)
        if len(places) <= FEW_PLACES and all(at[mode, place] >= least for place in places)
    ]
    island = {(each.mode, place): number for number, each in enumerate(small) for place in each.places}
    all_trips, among = Counter[int](), Counter[int]()
    for (mode, start, end), trips in known.items():
        ends = {island.get((mode, start)), island.get((mode, end))}
        for number in ends - {None}:
            all_trips[number or 0] += trips
            among[number or 0] += trips if len(ends) == 1 else 0
    # Nearly all trips of these places are among them.
    return [each for number, each in enumerate(small) if among[number] >= (1 - FEW_LEAVE) * all_trips[number]]


def _islands(ways: Mapping[str, Iterable[str]]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Places that are connected by ways, and the ways that connect them."""
    island: dict[str, str] = {}

    def root(place: str) -> str:
        while island.setdefault(place, place) != place:
            island[place] = place = island[island[place]]
        return place

    for places in ways.values():
        first, *others = sorted(places) or [""]
        for other in others:
            island[root(other)] = root(first)
    members: dict[str, tuple[set[str], set[str]]] = {}
    for way, places in ways.items():
        for place in places:
            of, by = members.setdefault(root(place), (set(), set()))
            of.add(place)
            by.add(way)
    for of, by in sorted(members.values(), key=lambda both: sorted(both[0])):
        yield tuple(sorted(of)), tuple(sorted(by))
