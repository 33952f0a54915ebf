"""Who lives in the generated city, and where they travel on a day.

Commuters have a home, a place of work, days on which they work and times at which they leave; some change from bus to
train. Others travel now and then, to a favourite place or anywhere. Tourists come for up to four days. Everybody has
one card. A resident takes a few bytes, so cities of tens of millions of trips need little memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from tapveil.base.vocabulary import MINUTES_PER_DAY
from tapveil.demo.stops import ADDRESSES, Network, Small

COMMUTING, COMMUTING_AT_WEEKENDS = 0.6, 0.08
"""The share of a day's trips that people make to and from work."""
ATTENDANCE = 0.9
CHANGING = 0.3
"""The share of commuters who take a bus to the train."""
LOCAL = 0.35
"""The share of people who work, and of outings that lead, a few stops from home."""
WORKING_DAYS = ((0.55, "1111100"), (0.15, "1111000"), (0.1, "0111000"), (0.08, "1010100"))
"""Monday to Sunday. All others work in shifts, on five days of the seven."""
SHIFTS = ((330, 850), (790, 1300))
BY_TOURISTS, BY_COMMUTERS = 0.2, 0.2
"""The share of outings."""
STAY, OUTINGS_OF_TOURISTS, OUTINGS_OF_OTHERS = 4, 1.5, 2.5
"""Days that tourists stay; their outings a day; outings in all of those who travel now and then."""
OFTEN = 0.9
"""Some of these travel more often than others, up to 1 / (1 - this) times as often as the mean."""
FAVOURITE, ONE_WAY = 0.5, 0.12
"""The share of outings that lead to a favourite place, and of those without a way back."""
WEEKDAY = ((0.075, 490, 45), (0.075, 1050, 65), (0.625, 780, 150), (0.225, 1290, 100))
WEEKEND = ((0.72, 810, 180), (0.28, 1230, 130))
"""When people go out and return: share, minute, spread."""
BUS, TRAIN = 0, 1

Cards = npt.NDArray[np.int64]
Addresses = npt.NDArray[np.uint16]
Minutes = npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Trips:
    """Trips of one day, a column each."""

    card: Cards
    mode: Small
    start: Small
    stop: Small
    on: Minutes
    off: Minutes

    def __len__(self) -> int:
        return len(self.card)

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """All of them, in their order."""
        return self.card, self.mode, self.start, self.stop, self.on, self.off

    def take(self, rows: npt.NDArray[np.int64]) -> Trips:
        """These rows, in this order."""
        return Trips(*(column[rows] for column in self.columns))

    @staticmethod
    def together(parts: Sequence[Trips]) -> Trips:
        """One after the other."""
        return Trips(*(np.concatenate(each) for each in zip(*(part.columns for part in parts), strict=True)))


class People:
    """As many as make the trips of these days. Commuters have the first cards, tourists the last."""

    def __init__(self, random: np.random.Generator, network: Network, sizes: dict[date, int]) -> None:
        self.network = network
        self.first_day = min(sizes)
        commuting = {day: size * _commuting(day) for day, size in sizes.items()}
        outings = (sum(sizes.values()) - sum(commuting.values())) / 2
        needed = max(trips / _due(day) for day, trips in commuting.items()) / (2 * (1 + CHANGING) * ATTENDANCE)
        self.commuters = max(1, round(needed))
        self.others = max(1, round((1 - BY_TOURISTS - BY_COMMUTERS) * outings / OUTINGS_OF_OTHERS))
        self.arriving = max(1, round(BY_TOURISTS * outings / len(sizes) / OUTINGS_OF_TOURISTS / STAY))
        self.home = _addresses(random, self.commuters + self.others)
        self._hotel = _addresses(random, self.arriving)
        self._settle(random)

    def _settle(self, random: np.random.Generator) -> None:
        """The habits of commuters."""
        size = self.commuters
        self._work = _addresses(random, size)
        self._steps = _steps(random, size)
        self._local = random.random(size, dtype=np.float32) < LOCAL
        self._changes = random.random(size, dtype=np.float32) < CHANGING
        shares = np.array([mode.share for mode in self.network.modes])
        both = np.isin(np.arange(len(shares)), (BUS, TRAIN))
        alone = (shares * (1 + CHANGING) - CHANGING * both) / (1 - CHANGING)  # so that all trips have the modes' shares
        self._mode = random.choice(len(shares), size, p=alone).astype(np.int16)
        self._mode[self._changes] = BUS
        self._leaves = np.clip(random.normal(490, 44, size), 300, 700).astype(np.int16)
        self._returns = np.clip(random.normal(1050, 63, size), 720, 1380).astype(np.int16)
        self._days = self._working_days(random)

    def _working_days(self, random: np.random.Generator) -> npt.NDArray[np.uint8]:
        """One bit for each day of the week; who works in shifts leaves and returns at their times."""
        which = np.searchsorted(np.cumsum([share for share, _ in WORKING_DAYS]), random.random(self.commuters))
        five = [sum(1 << (day + first) % 7 for day in range(5)) for first in range(7)]
        weeks = [int(text[::-1], 2) for _, text in WORKING_DAYS] + five
        shifted = np.flatnonzero(which == len(WORKING_DAYS))
        which[shifted] += random.integers(0, 7, len(shifted))
        shift = np.array(SHIFTS, dtype=np.int16)[random.integers(0, len(SHIFTS), len(shifted))]
        self._leaves[shifted], self._returns[shifted] = shift[:, 0], shift[:, 1]
        return np.array(weeks, dtype=np.uint8)[which]

    def trips(self, random: np.random.Generator, day: date, size: int) -> Trips:
        """Trips of a day, as many as asked for, in no order."""
        commutes = self._commutes(random, day, size)
        rest = max(0, size - len(commutes))
        made = Trips.together([commutes, self._outings(random, day, rest)])
        return made.take(random.permutation(len(made))[:size])

    def _commutes(self, random: np.random.Generator, day: date, size: int) -> Trips:
        """To work and back, by those who work on this day and are not away."""
        due = np.flatnonzero(self._days >> day.weekday() & 1)
        legs = 2 * (len(due) + int(self._changes[due].sum()))
        present = min(ATTENDANCE, size * _commuting(day) / max(1, legs))
        who = due[random.random(len(due), dtype=np.float32) < present]
        changes = self._changes[who]
        on_train = np.where(changes, np.int16(TRAIN), self._mode[who])
        near = self.network.homes(on_train, self.home[who])
        local = self.network.near(on_train, near, self._steps[who])
        work = np.where(self._local[who], local, self.network.goals(on_train, self._work[who]))
        leaves = self._leaves[who] + _spread(random, len(who), 6)
        returns = self._returns[who] + _spread(random, len(who), 15)
        # A change: a bus from home to the station, then the train; in the evening the other way round.
        by_bus = who[changes]
        bus = np.full(len(by_bus), BUS, dtype=np.int16)
        home = self.network.homes(bus, self.home[by_bus])
        station = self.network.near(bus, home, self._steps[by_bus])
        first = self._rides(random, by_bus, bus, home, station, leaves[changes])
        leaves[changes] = first.off + random.integers(3, 10, len(by_bus), dtype=np.int16)
        out = self._rides(random, who, on_train, near, work, leaves)
        back = self._rides(random, who, on_train, out.stop, near, returns)
        later = back.off[changes] + random.integers(3, 10, len(by_bus), dtype=np.int16)
        return Trips.together([out, back, first, self._rides(random, by_bus, bus, first.stop, home, later)])

    def _outings(self, random: np.random.Generator, day: date, size: int) -> Trips:
        """Out and back: two moments of the day, the earlier one and the later one. Some return by other means."""
        number = min(size, ceil(size / (2 - ONE_WAY)))
        card, address = self._who_goes_out(random, day, number)
        shares = [each.share for each in self.network.modes]
        mode: Small = random.choice(len(shares), number, p=shares).astype(np.int16)
        start = self.network.homes(mode, address)
        fixed = (address * np.uint16(40503) + card.astype(np.uint16)).astype(np.uint16)  # everybody's own favourite
        goal = np.where(random.random(number, dtype=np.float32) < FAVOURITE, fixed, _addresses(random, number))
        local = random.random(number, dtype=np.float32) < LOCAL
        near = self.network.near(mode, start, _steps(random, number))
        stop = np.where(local, near, self.network.goals(mode, goal))
        moments = np.sort(_moments(random, day, 2 * number).reshape(2, number), axis=0)
        out = self._rides(random, card, mode, start, stop, moments[0])
        back = self._rides(random, card, mode, out.stop, start, np.maximum(moments[1], out.off))
        returning = np.arange(size - number) * number // max(1, size - number)
        return Trips.together([out, back.take(returning)])

    def _who_goes_out(self, random: np.random.Generator, day: date, number: int) -> tuple[Cards, Addresses]:
        """The cards of those who go out, and where they start from."""
        tourists, commuters = (int(share * number) for share in (BY_TOURISTS, BY_COMMUTERS))
        others = number - tourists - commuters
        often = random.random(others)
        often = self.others * often * (1 - OFTEN * (1 - often))
        residents = np.concatenate(
            [random.integers(0, self.commuters, commuters), self.commuters + often.astype(np.int64)]
        )
        guest = random.integers(0, self.arriving, tourists)
        arrived = (day - self.first_day).days + random.integers(0, STAY, tourists)
        cards = self.commuters + self.others + arrived * self.arriving + guest
        return np.concatenate([residents, cards]), np.concatenate([self.home[residents], self._hotel[guest]])

    def _rides(
        self, random: np.random.Generator, card: Cards, mode: Small, start: Small, stop: Small, on: Minutes
    ) -> Trips:
        stop = self.network.elsewhere(mode, start, stop)
        on = np.clip(on, 240, MINUTES_PER_DAY + 180).astype(np.int16)
        return Trips(card, mode, start, stop, on, on + self.network.minutes(random, mode, start, stop))


def _commuting(day: date) -> float:
    return COMMUTING if day.weekday() < 5 else COMMUTING_AT_WEEKENDS


def _due(day: date) -> float:
    """The share of commuters who work on such a day."""
    regular = sum(share for share, days in WORKING_DAYS if days[day.weekday()] == "1")
    return regular + (1 - sum(share for share, _ in WORKING_DAYS)) * 5 / 7


def _addresses(random: np.random.Generator, size: int) -> Addresses:
    return random.integers(0, ADDRESSES, size, dtype=np.uint16)


def _steps(random: np.random.Generator, size: int) -> Small:
    """A few stops out or in, never none."""
    steps = random.integers(-4, 4, size, dtype=np.int16)
    return np.where(steps < 0, steps, steps + 1).astype(np.int16)


def _spread(random: np.random.Generator, size: int, minutes: float) -> Minutes:
    spread: Minutes = np.rint(minutes * random.standard_normal(size, dtype=np.float32)).astype(np.int16)
    return spread


def _moments(random: np.random.Generator, day: date, size: int) -> Minutes:
    """Most outings are around noon and in the evening; some end after midnight."""
    humps = np.array(WEEKDAY if day.weekday() < 5 else WEEKEND, dtype=np.float32)
    which = np.searchsorted(np.cumsum(humps[:-1, 0]), random.random(size, dtype=np.float32))
    moments = humps[which, 1] + humps[which, 2] * random.standard_normal(size, dtype=np.float32)
    minutes: Minutes = moments.astype(np.int16)
    return minutes
