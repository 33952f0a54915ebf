"""The generated trips of the audit: places whose exact counts are known, and cards that ride too much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PARTS = ("east", "west")
Counts = npt.NDArray[np.int64]
Row = tuple[str, str, str | None]
"""A day, a place and a card."""
DAY = "2025-03-03"
FIRST_CARD = 10**12
"""Beyond every number of a place: the guard takes no place for a card."""


@dataclass(frozen=True)
class City:
    """Generated trips: groups of equally busy places, in both parts, in an order that has nothing to do with them."""

    trips_at: Mapping[str, int]
    """The trips at each place of a group."""
    trials: int
    heavy: bool
    """Whether one card rides everywhere, and other cards ride twice in the same cell."""

    @cached_property
    def places(self) -> list[tuple[str, int]]:
        """The group and number of each place, in the order of their names."""
        return [(group, number) for number in range(self.trials) for group in self.trips_at]

    def trips(self) -> pa.Table:
        """One row per trip, every one with a card of its own, and those of a few busy cards."""
        counts = np.array([self.trips_at[group] for group, _ in self.places])
        place = np.repeat(np.arange(len(counts)), counts)
        card = np.arange(len(place)) + FIRST_CARD
        if self.heavy:
            everywhere = np.flatnonzero(counts)
            first_of_each = np.concatenate([[0], np.cumsum(counts)[:-1]])[everywhere]
            place = np.concatenate([place, everywhere, everywhere])
            card = np.concatenate([card, np.full(len(everywhere), 7), card[first_of_each]])
        order = _scattered(len(place))
        place, card = place[order], card[order]
        columns = {
            "part": pa.array(PARTS).take(pa.array(place % 2)),
            "place": pa.array(place).cast(pa.string()),
            "card": card,
        }
        return pa.table({**columns, **_constant(len(place))})

    def cells(self) -> pa.Table:
        """The public list of all places, occupied or not."""
        number = np.arange(len(self.places))
        part = pa.array(PARTS).take(pa.array(number % 2))
        return pa.table({"part": part, "place": pa.array(number).cast(pa.string()), **_constant(len(number))})


def _constant(rows: int) -> dict[str, pa.Array]:
    zeros = pa.array(np.zeros(rows, dtype=np.int64))
    return {name: pa.array([value]).take(zeros) for name, value in {"date": DAY, "twin": "x"}.items()}


def _scattered(size: int) -> Counts:
    """All numbers below `size`, once each, in an order unlike their own."""
    stride = next(step for step in range(max(3, size * 5 // 8), size + 4) if np.gcd(step, size) == 1)
    return np.arange(size) * stride % size


def busy_units(bound: int) -> list[Row]:
    """Twenty cards, each with three times as many trips as are counted, on nine days, some of them in the same cell."""
    each = range(3 * bound + 2)
    return [(f"day {k * k % 9}", f"p {(7 * card + k * k) % 23}", f"card {card}") for card in range(20) for k in each]
