"""A day in bins, and which coarser bin a finer one lies in. Pure: from the plan, or from a folder, alone.

The bins of levels of a table nest: a fine bin lies in one coarse bin, so coarse counts are sums of fine ones, and what
is published at one level can be held against the other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tapveil.base.types import clock_text
from tapveil.base.vocabulary import MINUTES_PER_DAY, MISSING, MISSING_TIME


@dataclass(frozen=True)
class TimeBins:
    """A day in bins, by the minutes at which they start; the first starts the day, the last ends it.

    Code 0 is a missing time; the others are the bins in order.

    >>> TimeBins((0, 360, 1140)).labels
    ('-1', '00:00', '06:00', '19:00')
    >>> bins = TimeBins.every(15, 240)
    >>> [bins.labels[bins.code(minute)] for minute in (-1, 240, 75, 1515, 1680)]
    ['-1', '04:00', '25:15', '25:15', '04:00']
    """

    starts: tuple[int, ...]

    @classmethod
    def every(cls, minutes: int, first: int = 0) -> TimeBins:
        """Bins of equal length."""
        return cls(tuple(range(first, first + MINUTES_PER_DAY, minutes)))

    @classmethod
    def parts(cls, clocks: Sequence[int], first: int = 0) -> TimeBins:
        """Parts of a day that starts at minute `first`; clocks before it are of the next morning.

        >>> TimeBins.parts((60, 360), first=240).labels
        ('-1', '04:00', '06:00', '25:00')
        """
        later = {clock if clock >= first else clock + MINUTES_PER_DAY for clock in clocks}
        return cls(tuple(sorted({first, *later})))

    @property
    def first(self) -> int:
        """The first minute: those before it are of the night after."""
        return self.starts[0]

    @property
    def minutes(self) -> int:
        """How long the first bin is, and so each of bins of equal length."""
        return (*self.starts, self.first + MINUTES_PER_DAY)[1] - self.first

    @property
    def labels(self) -> tuple[str, ...]:
        """In the order of their codes, and of the alphabet."""
        return (MISSING, *map(clock_text, self.starts))

    @property
    def ends(self) -> dict[str, str]:
        """When each bin ends."""
        ends = (*self.starts[1:], self.first + MINUTES_PER_DAY)
        return dict(zip(self.labels[1:], map(clock_text, ends), strict=True))

    def code(self, minute: int) -> int:
        """The bin of a minute; after a whole day, it is the first again."""
        if minute == MISSING_TIME:
            return 0
        return bisect_right(self.starts, self.first + (minute - self.first) % MINUTES_PER_DAY)

    def within(self, coarser: TimeBins) -> dict[str, str]:
        """The coarser bin that each of these lies in."""
        labels = coarser.labels
        found = (labels[coarser.code(start)] for start in self.starts)
        return dict(zip(self.labels, [MISSING, *found], strict=True))

    def nests_in(self, coarser: TimeBins) -> bool:
        """Whether no bin of these lies in two coarser ones."""
        return set(coarser.starts) <= set(self.starts)
