"""Rows with a hashed card id, as some agencies published them: who knows a tap finds the row, and with it the id.

A hash hides the number of a card, not that two rows have the same one. The intruder remembers taps to the quarter of an
hour; rows are as fine as the plan's places.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tapveil.demo.population import Integers, Population


@dataclass(frozen=True, eq=False)
class HashedRows:
    """All trips of everybody, the people of the test among them. A hash is as good as the number it hides."""

    trips: Population

    @cached_property
    def _index(self) -> tuple[Integers, Integers]:
        taps = self.trips.taps.ravel()
        order = np.argsort(taps, kind="stable")
        return taps[order], np.repeat(self.trips.card, 2)[order]

    def with_taps(self, *taps: int) -> Integers:
        """The ids that have all of these taps."""
        every, cards = self._index
        found: Integers | None = None
        for tap in taps:
            low, high = np.searchsorted(every, [tap, tap + 1])
            here = np.unique(cards[low:high])
            found = here if found is None else np.intersect1d(found, here, assume_unique=True)
        return found if found is not None else np.unique(cards)

    def picked(self, random: np.random.Generator, *taps: int) -> int | None:
        """One of the ids that fit; None where none does."""
        found = self.with_taps(*taps)
        return int(random.choice(found)) if len(found) else None

    def home_and_work(self, card: int) -> tuple[int, int]:
        """Where the first trip of a day mostly starts, and where it mostly leads."""
        rows = self.trips.trips_of(card)
        firsts = rows[np.unique(self.trips.day[rows], return_index=True)[1]]
        home = Counter(self.trips.start[firsts].tolist()).most_common(1)[0][0]
        work = Counter(self.trips.stop[firsts].tolist()).most_common(1)[0][0]
        return home, work
