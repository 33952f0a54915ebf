"""The generated people whom an intruder looks for, and their trips. Nobody's trips are among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
QUARTER = 15
"""An intruder remembers when somebody tapped to the quarter of an hour."""


@dataclass(frozen=True, eq=False)
class Population:
    """Trips of generated people: one entry per trip in every column."""

    card: Integers
    day: Integers
    """Its index in `days`, as those of mode and places are in their lists."""
    mode: Integers
    start: Integers
    stop: Integers
    on: Integers
    """The minute of the day."""
    off: Integers
    days: tuple[date, ...]
    modes: tuple[str, ...]
    places: tuple[str, ...]
    commuters: int
    """Cards below this number belong to people who work."""

    def __len__(self) -> int:
        return len(self.card)

    def take(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Population:
        """Only these trips."""
        return replace(
            self,
            card=self.card[rows],
            day=self.day[rows],
            mode=self.mode[rows],
            start=self.start[rows],
            stop=self.stop[rows],
            on=self.on[rows],
            off=self.off[rows],
        )

    @cached_property
    def taps(self) -> Integers:
        """Both taps of each trip, the first column those on: day, end, place and quarter of an hour as one number."""
        ends = ((0, self.start, self.on), (1, self.stop, self.off))
        return np.stack(
            [
                ((self.day * 2 + end) * len(self.places) + place) * (24 * 60 // QUARTER) + minute // QUARTER
                for end, place, minute in ends
            ],
            axis=1,
        )

    @cached_property
    def _by_card(self) -> tuple[Integers, Integers]:
        order = np.argsort(self.card, kind="stable")
        return order, self.card[order]

    def trips_of(self, card: int) -> Integers:
        """Where the trips of a card are, by day and time."""
        order, cards = self._by_card
        low, high = np.searchsorted(cards, [card, card + 1])
        rows = order[low:high]
        return rows[np.lexsort((self.on[rows], self.day[rows]))]

    def regulars(self) -> Integers:
        """Cards that were used on two days or more; or twice, where there is but one day."""
        each = np.stack([self.card, self.day if len(self.days) > 1 else np.arange(len(self))])
        cards, times = np.unique(np.unique(each, axis=1)[0], return_counts=True)
        return cards[times >= 2]


def without(population: Population, cards: Sequence[int] | Integers) -> Population:
    """Everybody else."""
    return population.take(~np.isin(population.card, cards))
