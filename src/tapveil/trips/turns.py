"""Whether the rows of a card take turns: on, off, on, off. Then a row is one tap, whatever the columns are called.

Four signs, each from all rows of some cards, in the order of their times: nearly every card has an even number of rows
on a day; a journey goes on where the last one ended, so that every second row is at the place of the one before it,
and no other is; the values of a column take turns; and every gate is used on one side alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tapveil.trips.reading import Sample

ENOUGH = 50
"""Cards and days, or rows, below which nothing is said."""
EVEN = 0.9
"""Of people who only board, more than one in ten make one journey a day, or three."""
HANDED_ON, RARELY = 0.3, 0.05
IN_TURN = 0.95
MOST_GATES = 200


@dataclass(frozen=True)
class Turns:
    """What the rows of cards show."""

    signs: tuple[str, ...] = ()
    """Why a row seems to be one tap; none where it does not."""
    label: str | None = None
    """The column whose values take turns, where it has but a few."""


@dataclass
class Journeys:
    """The rows of some cards, day by day in the order of their times."""

    days: list[list[int]] = field(default_factory=list)
    """The positions of the rows of a card on a day."""

    @classmethod
    def of(cls, card: Sample, time: Sample, day: Sample | None) -> Journeys:
        """From three columns, row by row."""
        clocks = time.moments
        dates = day.days if day and not any(on for on, _ in clocks) else [on for on, _ in clocks]
        by_day: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for row, (who, on, (_, minute)) in enumerate(zip(card.rows, dates, clocks, strict=False)):
            if who.strip() and minute is not None:
                by_day[who, on].append((minute, row))
        return cls([[row for _, row in sorted(rows)] for rows in by_day.values()])

    def turns(self, places: Sequence[Sample], others: Sequence[Sample]) -> Turns:
        """The signs that rows take turns."""
        in_turn = {sample.name: sample for sample in others if self._take_turns(sample)}
        few = [name for name, sample in in_turn.items() if sample.kinds <= 12]
        signs = [*self._even(), *(sign for place in places[:1] for sign in self._handed_on(place))]
        signs += [f"the values of `{name}` take turns from row to row of a card" for name in in_turn]
        return Turns(tuple(signs), few[0] if few else None)

    def _even(self) -> Iterator[str]:
        even = sum(len(rows) % 2 == 0 for rows in self.days)
        if len(self.days) >= ENOUGH and even >= EVEN * len(self.days):
            yield f"in {100 * even // len(self.days)} of 100 cases a card has an even number of rows on a day"

    def _handed_on(self, place: Sample) -> Iterator[str]:
        same: Mapping[int, Counter[bool]] = {0: Counter(), 1: Counter()}
        for rows in self.days:
            for number, (one, other) in enumerate(pairwise(rows)):
                same[number % 2][place.rows[one].strip() == place.rows[other].strip()] += 1
        within, between = (same[which][True] / max(1, same[which].total()) for which in (0, 1))
        if same[1].total() >= ENOUGH and between >= HANDED_ON and within <= RARELY:
            yield f"every second row of a card is often at the same `{place.name}` as the one before it, the others not"

    def _take_turns(self, sample: Sample) -> bool:
        """Whether each value of a column is in first or in second rows alone, and both come."""
        sides: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for rows in (rows for rows in self.days if len(rows) % 2 == 0):
            for number, row in enumerate(rows):
                sides[sample.rows[row].strip()][number % 2] += 1
        seen = sum(each.total() for each in sides.values())
        settled = sum(max(each.values()) for each in sides.values())
        first = sum(each.total() for each in sides.values() if each[0] > each[1])
        several = seen / max(1, len(sides)) >= 10  # a value that comes once is on one side alone
        return seen >= ENOUGH and several and settled >= IN_TURN * seen and 0.3 * seen <= first <= 0.7 * seen
