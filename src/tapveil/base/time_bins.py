"""Resolutions: which coarser cell a finer one lies in. Pure: from the plan, or from a folder, alone.

A level of a table has wider bins of time, or wider areas. Both nest: a fine cell lies in one coarse cell, so coarse
counts are sums of fine ones, and what is published at one level can be held against the other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tapveil.base.types import clock_text
from tapveil.base.vocabulary import MINUTES_PER_DAY, MISSING


@dataclass(frozen=True)
class Times:
    """A day in bins, by the minutes at which they start; the first starts the day, the last ends it.

    >>> Times((0, 360, 1140)).labels
    ('-1', '00:00', '06:00', '19:00')
    """

    starts: tuple[int, ...]

    @classmethod
    def every(cls, minutes: int, first: int = 0) -> Times:
        """Bins of equal length."""
        return cls(tuple(range(first, first + MINUTES_PER_DAY, minutes)))

    @classmethod
    def parts(cls, clocks: Sequence[int], first: int = 0) -> Times:
        """Parts of a day that starts at minute `first`; clocks before it are of the next morning.

        >>> Times.parts((60, 360), first=240).labels
        ('-1', '04:00', '06:00', '25:00')
        """
        later = {clock if clock >= first else clock + MINUTES_PER_DAY for clock in clocks}
        return cls(tuple(sorted({first, *later})))

    @property
    def first(self) -> int:
        return self.starts[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """In the order of their codes, and of the alphabet."""
        return (MISSING, *map(clock_text, self.starts))

    @property
    def ends(self) -> dict[str, str]:
        """When each bin ends."""
        return dict(
            zip(self.labels[1:], map(clock_text, [*self.starts[1:], self.first + MINUTES_PER_DAY]), strict=True)
        )

    def code(self, minute: int) -> int:
        """The bin of a minute of the day."""
        return bisect_right(self.starts, minute)

    def within(self, coarser: Times) -> dict[str, str]:
        """The coarser bin that each of these lies in."""
        labels = coarser.labels
        found = (labels[coarser.code(start)] for start in self.starts)
        return dict(zip(self.labels, [MISSING, *found], strict=True))

    def nests_in(self, coarser: Times) -> bool:
        """Whether no bin of these lies in two coarser ones."""
        return set(coarser.starts) <= set(self.starts)


Places = Mapping[tuple[str, str], str]
"""The wider area of a place, by mode and label; what is not there lies in itself."""
