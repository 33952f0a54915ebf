"""How fast something goes, and how long it will still take: from what was seen so far, and in words.

An estimate that nobody can trust is worse than none: there is none before some seconds of evidence, none while nothing
moves, and it counts down between two steps instead of jumping with each.
"""

from __future__ import annotations

from bisect import bisect_right
from math import ceil

EVIDENCE = 3.0
"""Seconds before anything is said of the rest."""
RECENT = 10.0
"""A speed is that of the last so many seconds, or of the latter half of the work, whichever is longer."""
BYTES = "B"
SHARE = ""
"""The unit of work that is known only as a share of the whole."""


class Pace:
    """The course of one piece of work: when it had come how far."""

    def __init__(self, start: float, total: float | None) -> None:
        self.total = total
        self._times, self._amounts = [start], [0.0]
        self._longest_rest = 0.0

    @property
    def done(self) -> float:
        """The most that was ever seen; never more than all."""
        return self._amounts[-1]

    def see(self, now: float, done: float) -> None:
        """So much is done by now. What falls back, or says that it does not know, is no news."""
        done = done if self.total is None else min(done, self.total)
        if done > self.done and now > self._times[-1]:
            self._longest_rest = max(self._longest_rest, now - self._times[-1])
            self._times.append(now)
            self._amounts.append(done)

    def elapsed(self, now: float) -> float:
        """Seconds since the start."""
        return max(0.0, now - self._times[0])

    def rate(self, now: float) -> float | None:
        """How much is done in a second, of late; None before there is evidence."""
        end = self._end(now)
        if not self.done or self.elapsed(now) < EVIDENCE:
            return None
        since = end - max(RECENT, (end - self._times[0]) / 2)
        first = max(0, bisect_right(self._times, since) - 1)
        if first == len(self._times) - 1:
            return None  # nothing has moved for so long that nobody can say
        return (self.done - self._amounts[first]) / (end - self._times[first])

    def remaining(self, now: float) -> float | None:
        """Seconds until all is done, if it goes on as it went; None where nobody can say."""
        rate = self.rate(now)
        if rate is None or self.total is None or self.done >= self.total:
            return None
        return max(0.0, (self.total - self.done) / rate - (now - self._end(now)))

    def _end(self, now: float) -> float:
        """Until when the speed is measured.

        Work comes in steps: between two of them the last one's end counts, so that a step in the making does not look
        like a standstill. A rest that is longer than every one before is a standstill, and slows the speed down.
        """
        return max(self._times[-1], now - self._longest_rest)


def in_words(pace: Pace, now: float, unit: str) -> str:
    """How far, how fast, since when, and how long still: what stands beside a bar.

    >>> pace = Pace(0.0, 1.2e9)
    >>> pace.see(4.0, 4e8)
    >>> in_words(pace, 4.0, BYTES)
    '400 MB of 1.2 GB  100 MB/s  0:04  0:08 left'
    """
    rate, remaining = pace.rate(now), pace.remaining(now)
    far = amount(pace.done, unit if unit == BYTES or pace.total is None else SHARE)
    if pace.total is not None:
        share = f"{100 * pace.done / pace.total:.0f} %"
        far = share if unit == SHARE else f"{far} of {amount(pace.total, unit)}"
    words = [
        far if pace.done else "",
        f"{amount(rate, unit)}/s" if rate and unit != SHARE else "",
        clock(pace.elapsed(now)),
        f"{clock(max(1, ceil(remaining)))} left" if remaining is not None else "",
    ]
    return "  ".join(word for word in words if word)


def amount(value: float, unit: str) -> str:
    """A number for a glance: two or three digits.

    >>> amount(2_130_000, "trips"), amount(520e6, BYTES), amount(6, "tables"), amount(0.42, "tables")
    ('2.1 M trips', '520 MB', '6 tables', '0.4 tables')
    """
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * size:
            return f"{_digits(value / size)} {prefix}{'' if unit == BYTES else ' '}{unit}".strip()
    return f"{_digits(value)} {unit}".strip()


def _digits(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 9.95 else f"{value:.0f}"


def clock(seconds: float) -> str:
    """A time as a clock shows it.

    >>> clock(12.7), clock(75), clock(3675)
    ('0:12', '1:15', '1:01:15')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def duration(seconds: float) -> str:
    """A time as a log has it.

    >>> duration(0.04), duration(12.34), duration(3675)
    ('0.0 s', '12.3 s', '61 min 15 s')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"
