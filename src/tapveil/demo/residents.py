"""People of the generated city who travel as a plan asks for: on its days, by its modes, between places like its own.

The intruder test is run on them. No file of the plan is read: what it names is all that is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np

from tapveil.base.defaults import INTRUDER_TRIPS
from tapveil.base.vocabulary import MINUTES_PER_DAY
from tapveil.demo.city import WEEKS
from tapveil.demo.people import People, Trips
from tapveil.demo.population import Integers, Population
from tapveil.demo.stops import BUS_STOPS, Network, postcode
from tapveil.plan.model import Plan

WEEK, MOST_DAYS = 7, 28
QUIET = 0.5
"""The trips of a day of a weekend, against those of another."""
ORDINARY = 10_000
"""Where the random numbers of the ordinary days begin."""


def residents(plan: Plan, *, trips: int = INTRUDER_TRIPS, seed: int = 1) -> tuple[Population, Population]:
    """The trips of the plan's days; and those of ordinary days like them, by the same people with the same habits.

    Args:
        plan: Names days, modes, and whether stops become areas.
        trips: How many, in all.
        seed: The same people and trips for the same seed.
    """
    network, days, modes = Network(np.random.default_rng([seed, 0])), _days(plan), _modes(plan)
    weights = np.array([QUIET if day.weekday() >= 5 else 1.0 for day in days])
    ends = np.round(np.cumsum(weights) / weights.sum() * trips).astype(int)
    sizes = {day: int(size) for day, size in zip(days, np.diff(ends, prepend=0), strict=True)}
    people = People(np.random.default_rng([seed, 0, 1]), network, sizes)

    def made(first: int) -> Population:
        drawn = [
            people.trips(np.random.default_rng([seed, first + index]), day, size)
            for index, (day, size) in enumerate(sizes.items())
        ]
        return _fitted(plan, network, days, modes, drawn, people.commuters)

    return made(1), made(ORDINARY)


def _days(plan: Plan) -> tuple[date, ...]:
    """The days of the plan, four weeks of them at most; a week where it names none."""
    first = plan.source.first_day or WEEKS[0]
    last = plan.source.last_day or first + timedelta(days=WEEK - 1)
    return tuple(first + timedelta(days=number) for number in range(min((last - first).days + 1, MOST_DAYS)))


def _modes(plan: Plan) -> tuple[str, ...]:
    mode = plan.source.columns.get("mode")
    only = (mode.value,) if mode and mode.value else ("any",) if mode is None else None
    return plan.source.modes or only or ("bus", "train", "ferry", "lightrail")


def _fitted(
    plan: Plan, network: Network, days: tuple[date, ...], modes: tuple[str, ...], drawn: Sequence[Trips], commuters: int
) -> Population:
    """The city's trips in the plan's words: each of its modes stands for one or several of the plan's."""
    day = np.repeat(np.arange(len(days)), [len(each) for each in drawn])
    made = Trips.together(drawn)
    mode = np.zeros(len(made), dtype=np.int64)
    for number, kind in enumerate(network.modes):
        named = [index for index, name in enumerate(modes) if name.lower() == kind.name]
        several = range(number, len(modes), len(network.modes))
        options = np.array(named or list(several) or [number % len(modes)])
        here = made.mode == number
        mode[here] = options[made.card[here] % len(options)]
    earliest = plan.source.day_starts
    on = np.clip(made.on.astype(np.int64), earliest, MINUTES_PER_DAY - 1)
    off = np.clip(made.off.astype(np.int64), on, MINUTES_PER_DAY - 1)
    start, stop, places = _places(plan, network, made)
    return Population(made.card, day, mode, start, stop, on, off, days, modes, places, commuters)


def _places(plan: Plan, network: Network, made: Trips) -> tuple[Integers, Integers, tuple[str, ...]]:
    """Where the plan publishes areas of stops, the city's bus stops become postcodes."""
    of_stop = np.arange(len(network.stops))
    if plan.coarsen.location:
        of_stop[:BUS_STOPS] = [postcode(number) - postcode(0) for number in range(BUS_STOPS)]
    kinds = [kind.name for kind in network.modes for _ in kind.stops]
    names = tuple(f"{kind} {number}" for number, kind in enumerate(kinds))
    return of_stop[made.start], of_stop[made.stop], names
