"""Time bins of a day, and how finer bins nest in coarser ones. Depends only on the plan, or on a folder.

The bins of the levels of a table nest: each fine bin lies in one coarse bin. So coarse counts are sums of fine ones,
and published levels can be compared.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tapveil.base.numbers import clock_text
from tapveil.base.vocabulary import MINUTES_PER_DAY, MISSING, MISSING_TIME


@dataclass(frozen=True)
class TimeBins:
    """The time bins of a day, by the minutes at which they start; the first starts the day, the last ends it.

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
        """Parts of a day that starts at minute `first`; earlier clock times belong to the next morning.

        >>> TimeBins.parts((60, 360), first=240).labels
        ('-1', '04:00', '06:00', '25:00')
        """
        later = {clock if clock >= first else clock + MINUTES_PER_DAY for clock in clocks}
        return cls(tuple(sorted({first, *later})))

    @property
    def first(self) -> int:
        """The first minute of the day; earlier minutes belong to the night after."""
        return self.starts[0]

    @property
    def minutes(self) -> int:
        """The length of the first bin, and so of all bins of equal length."""
        return (*self.starts, self.first + MINUTES_PER_DAY)[1] - self.first

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of their codes, which is alphabetical."""
        return (MISSING, *map(clock_text, self.starts))

    @cached_property
    def ends(self) -> dict[str, str]:
        """The end of each bin, by its label."""
        return {label: clock_text(end) for label, (_, end) in self.spans.items()}

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """The minutes at which each bin starts and ends, by its label."""
        ends = (*self.starts[1:], self.first + MINUTES_PER_DAY)
        return dict(zip(self.labels[1:], zip(self.starts, ends, strict=True), strict=True))

    def within_hours(self, hours: tuple[int, int] | None) -> tuple[str, ...]:
        """The label of a missing time, and those of the bins that lie in some hours at least in part; all without any.

        >>> TimeBins.every(360).within_hours((300, 1080)), TimeBins.every(360).within_hours((1320, 1500))
        (('-1', '00:00', '06:00', '12:00'), ('-1', '00:00', '18:00'))
        """
        if hours is None:
            return self.labels
        days = [(hours[0] + day, hours[1] + day) for day in range(-MINUTES_PER_DAY, 2880, MINUTES_PER_DAY)]
        listed = (
            label
            for label, (first, last) in self.spans.items()
            if any(first < end and start < last for start, end in days)
        )
        return (MISSING, *listed)

    def code(self, minute: int) -> int:
        """The code of the bin of a minute, modulo one day."""
        if minute == MISSING_TIME:
            return 0
        return bisect_right(self.starts, self.first + (minute - self.first) % MINUTES_PER_DAY)

    def within(self, coarser: TimeBins) -> dict[str, str]:
        """The label of the coarser bin that contains each bin."""
        labels = coarser.labels
        found = (labels[coarser.code(start)] for start in self.starts)
        return dict(zip(self.labels, [MISSING, *found], strict=True))

    def nests_in(self, coarser: TimeBins) -> bool:
        """Whether each bin lies in one coarser bin."""
        return set(coarser.starts) <= set(self.starts)
