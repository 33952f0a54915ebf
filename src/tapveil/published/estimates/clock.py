"""When a trip ends: durations, and what they say about the bin of the other tap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tapveil.published.estimates.parts import PARTS, Floats

NO_TAP = -1
"""In place of a minute: the entry for no tap."""
SELDOM = 2.0**-12
"""What is left for ends that durations do not explain: no tap, or bins that no duration reaches."""
_HALVES = 30
"""Minutes: where no durations were measured, half of what is left ends within each."""


@dataclass(frozen=True)
class Clock:
    """The minutes at which entries of public lists begin: bins of a service day, classes of durations."""

    on: tuple[int, ...]
    """Bins of the tap at the start in order, with `NO_TAP` at most once, anywhere."""
    off: tuple[int, ...]
    """The same of the tap at the end."""
    durations: tuple[int, ...] = ()
    """Classes, from 0 on, the last without an end; and `NO_TAP` at most once, where one of the taps is missing."""
    until: int = 1440
    """When the last bin of the day ends."""

    def __post_init__(self) -> None:
        for minutes in (self.on, self.off, self.durations):
            known = [minute for minute in minutes if minute != NO_TAP]
            if known != sorted(set(known)) or len(minutes) - len(known) > 1:
                raise ValueError(
                    "bins and classes begin one after the other, and there is one entry for no tap at most"
                )

    def ends(self) -> Floats:
        """P(bin of the end | bin of the start, class of duration), by start × class × end.

        A trip starts at any minute of its bin and takes any time of its class; one that goes on beyond the last bin
        ends in it.
        """
        classes = self.durations or (0,)
        found = np.full((len(self.on), len(classes), len(self.off)), SELDOM)
        offs = [minute for minute in self.off if minute != NO_TAP]
        for on, first in enumerate(self.on):
            if first == NO_TAP:
                found[on] = self._of_unknown_start()
                continue
            last = min([minute for minute in self.on if minute > first], default=self.until)
            starts = np.arange(first, max(last, first + 1))
            for each, shortest in enumerate(classes):
                if shortest == NO_TAP:
                    found[on, each, self.off.index(NO_TAP) if NO_TAP in self.off else slice(None)] = 1.0
                    continue
                takes, share = self._minutes(each, shortest)
                ends = np.searchsorted(offs, starts[:, None] + takes, side="right") - 1
                weights = np.broadcast_to(share, ends.shape) / len(starts)
                for end in np.unique(np.maximum(ends, 0)):
                    entry = self.off.index(offs[end])
                    found[on, each, entry] += float(np.rint(PARTS * weights[np.maximum(ends, 0) == end]).sum()) / PARTS
        return found

    def _of_unknown_start(self) -> Floats:
        """Without a tap at the start any end may be, and the duration is not known, where there is a class for that."""
        found = np.ones((len(self.durations or (0,)), len(self.off)))
        if NO_TAP in self.durations:
            found[[minute != NO_TAP for minute in self.durations]] = SELDOM
        return found

    def _minutes(self, each: int, shortest: int) -> tuple[Floats, Floats]:
        """The minutes that a duration of a class may take, and the share of each."""
        if not self.durations:
            takes = np.arange(0.0, 8 * _HALVES)
            shares = np.ldexp(1.0, -(takes // _HALVES).astype(np.int64))
        else:
            longer = self.durations[each + 1 :]
            takes = np.arange(shortest, longer[0] if longer else shortest + 2 * _HALVES, dtype=np.float64)
            shares = np.ones(len(takes))
        return takes, shares / float(shares.sum())
