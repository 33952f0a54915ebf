"""Classes of durations, row by row, from both times of a trip: the same as `coding` gives SQL for each pair of texts.

There are far fewer times than pairs of them. So each time is parsed once, and the difference is looked up.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import DURATION, MINUTES_PER_DAY, MISSING_TIME
from tapveil.counting.direct.clock import FIRST_DAY, LAST_DAY
from tapveil.counting.direct.dictionary_index import encoded, raw_values
from tapveil.inputs import values
from tapveil.inputs.values import UNIT_SEPARATOR, Days
from tapveil.plan.model import Plan
from tapveil.trips.buffers import Flags, Integers, Positions, integers, per_day, present
from tapveil.trips.files import FileGroup

ON, OFF = "tap_on_time", "tap_off_time"
SECONDS_PER_DAY = 60 * MINUTES_PER_DAY
NO_CLASS = 0
"""The code of a trip without one of its taps."""
UNREADABLE, NO_TIME, CONFUSED = -2, -3, -4
"""In place of a second: a text that is no time; one that the plan lists as missing; one that SQL would take for two."""


def suits(plan: Plan, group: FileGroup) -> bool:
    """Whether both times can be read here: as texts, as integers, or typed, where no zone decides what they mean."""
    for name in (ON, OFF):
        theirs = plan.source.columns[name].column
        if theirs is None or "." in theirs or group.relation or theirs not in group.names:
            return False
        raw = group.type_of(theirs)
        typed = raw in ("time", "timestamp") and not (plan.source.timezone or _words(plan, name))
        if not (raw in ("text", "integer") or (typed and plan.source.columns[name].format is None)):
            return False
    return True


def _words(plan: Plan, name: str) -> frozenset[str]:
    """The texts that mean missing; those of a duration are those of the tap off."""
    return plan.source.missing(DURATION if name == OFF else name)


class Durations:
    """The classes of one batch after the other."""

    def __init__(self, plan: Plan) -> None:
        classes = TimeBins.parts(plan.world.durations)
        self._class = np.array([classes.code(minute) for minute in range(MINUTES_PER_DAY)], dtype=np.int64)
        self._ends = {name: _End(plan, name) for name in (ON, OFF)}
        self.table = np.append(np.arange(len(classes.labels)), -1)
        """Codes by themselves, and last that of a refused row: for lookups of the fast path."""

    def codes(self, batch: pa.RecordBatch) -> tuple[Integers, Positions]:
        """The code of each row, and the refused rows, whose code is beyond all others."""
        on, off = (self._ends[name].seconds(batch) for name in (ON, OFF))
        codes = self._class[(off - on) // 60 % MINUTES_PER_DAY]
        odd = np.flatnonzero((on < 0) | (off < 0))
        if not len(odd):
            return codes, odd
        refused = _is_refused(on[odd], off[odd])
        codes[odd] = np.where(refused, len(self.table) - 1, NO_CLASS)
        return codes, odd[refused]


def _is_refused(on: Integers, off: Integers) -> Flags:
    """Which rows without two times are refused, not counted as without a tap: by what `coding` looks at first."""
    confused, unreadable = (on == CONFUSED) | (off == CONFUSED), (on == UNREADABLE) | (off == UNREADABLE)
    found: Flags = (off != NO_TIME) & (confused | ((on != NO_TIME) & unreadable))
    return found


class _End:
    """The times of one end."""

    def __init__(self, plan: Plan, name: str) -> None:
        column = plan.source.columns[name]
        self._theirs, self._written = str(column.column), column.format
        self._is_off, self._words = name == OFF, _words(plan, name)
        self._zone = Days.of(plan.source).zone
        self._known: dict[str, int] = {}
        self._last: tuple[pa.Array, Integers] | None = None

    def seconds(self, batch: pa.RecordBatch) -> Integers:
        """Seconds after midnight; a negative number where there are none."""
        array = batch.column(batch.schema.get_field_index(self._theirs))
        if pa.types.is_time(array.type) or pa.types.is_timestamp(array.type):
            return _typed(array)
        array = encoded(array)
        if self._last is None or not array.dictionary.equals(self._last[0]):
            known = [self._second(text) for text in (*raw_values(array.dictionary), "")]
            self._last = array.dictionary, np.array(known, dtype=np.int64)
        found: Integers = self._last[1][np.where(present(array), integers(array.indices), len(self._last[1]) - 1)]
        return found

    def _second(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._parsed(text)
        return self._known[text]

    def _parsed(self, text: str) -> int:
        first, mark, _ = text.partition(UNIT_SEPARATOR)
        if first.strip() in self._words and (self._is_off or not mark):
            return NO_TIME
        second = values.read_clock(text, self._zone, self._written)
        return CONFUSED if mark else UNREADABLE if second is None else second


def _typed(array: pa.Array) -> Integers:
    """The seconds of typed times, as far as the calendar reaches."""
    given, day = integers(array), per_day(array.type)
    low, high = (FIRST_DAY * day, LAST_DAY * day - 1) if pa.types.is_timestamp(array.type) else (0, day)
    seconds = np.where((given >= low) & (given <= high), given % day // (day // SECONDS_PER_DAY), UNREADABLE)
    found: Integers = np.where(present(array), seconds, MISSING_TIME).astype(np.int64)
    return found
