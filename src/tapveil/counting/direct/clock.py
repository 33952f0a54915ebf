"""The bins of typed times, computed as in `TimeBins`, and refused as in `scan`.

Most times lie within some weeks of each other. They need one division, and a table of the bins from the first to the
last; all others are computed individually.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa

from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import MINUTES_PER_DAY, MISSING_TIME
from tapveil.counting.coding import Column
from tapveil.inputs.values import LATEST_MINUTE
from tapveil.trips.buffers import AnyIntegers, Flags, Integers, Positions, integers, per_day, present

NO_TIME = 0
"""The code of a missing time."""
NOT_IN_TABLE = -1
SAMPLED = 500
LEAST_BINS, MOST_BINS = 1 << 12, 1 << 18
_EPOCH = date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = date.min.toordinal() - _EPOCH, date.max.toordinal() + 1 - _EPOCH


@dataclass(frozen=True)
class _Unit:
    """The unit of a type of times: how many make a minute, and the minimum and maximum that are valid."""

    per_minute: int
    least: int
    most: int

    @classmethod
    def of(cls, column: Column, kind: pa.DataType) -> _Unit:
        if column.raw == "integer":
            return cls(1, 0, LATEST_MINUTE - 1)
        day = per_day(kind)
        limits = (FIRST_DAY * day, LAST_DAY * day - 1) if column.raw == "timestamp" else (0, day)
        return cls(day // MINUTES_PER_DAY, *limits)


@dataclass(frozen=True)
class _Window:
    """The codes of consecutive bins, `NOT_IN_TABLE` at either end, with and without a code for missing times."""

    first: int
    codes: Integers
    codes_and_none: Integers


class Clock:
    """The times of one column."""

    def __init__(self, column: Column, bins: TimeBins) -> None:
        self._column, self._bins = column, bins
        self._window: _Window | None = None
        self._kind: pa.DataType | None = None

    def codes(self, array: pa.Array) -> tuple[Integers, Positions]:
        """The code of each time, and the refused rows, whose codes are undefined."""
        given, there, unit = integers(array), present(array), _Unit.of(self._column, array.type)
        info = np.iinfo(given.dtype)
        low, high = max(unit.least, int(info.min)), min(unit.most, int(info.max))
        good = there & (given >= low) & (given <= high)
        none = ~there | (given == MISSING_TIME) if self._minus_one_is_none(info) else ~there
        codes = self._bin(np.where(good, given, low), unit.per_minute)
        codes[~good] = NO_TIME
        return codes, np.flatnonzero(~(good | none))

    def indices(self, array: pa.Array, out: Integers) -> Integers:
        """A table of codes; `out` gets the index of each time in it, beyond either end where it is unknown."""
        given, unit = integers(array), _Unit.of(self._column, array.type)
        if array.type != self._kind:
            self._kind, self._window = array.type, None
        if self._column.raw == "integer":
            window = self._window or self._every_minute(np.iinfo(given.dtype))
            np.subtract(given, window.first, out=out, dtype=np.int64, casting="unsafe")
        else:
            window = self._window or self._around(self._counted(given[:: len(given) // SAMPLED + 1], unit), unit)
            self._counted(given, unit, out)
            out -= window.first
        self._window = window
        if not array.null_count:
            return window.codes
        np.minimum(out, len(window.codes) - 1, out=out)
        np.copyto(out, len(window.codes), where=~present(array))
        return window.codes_and_none

    def forget(self) -> None:
        """Choose the table anew with the next batch."""
        self._window = None

    def _counted(self, given: AnyIntegers, unit: _Unit, out: Integers | None = None) -> Integers:
        """The bin of each time, counted from time zero; days begin at the start of a bin."""
        length = self._bins.minutes * unit.per_minute
        counted: Integers = np.floor_divide(given, length, out=out, dtype=np.int64, casting="unsafe")
        return counted

    def _around(self, sample: Integers, unit: _Unit) -> _Window:
        """The bins around those of a sample, without its extremes."""
        inner = np.sort(sample)[len(sample) // 20 : len(sample) - len(sample) // 20]
        low, high = int(inner[0]), int(inner[-1])
        number = min(MOST_BINS, max(LEAST_BINS, 4 * (high - low)))
        # A sample may hold anything; bins outside the calendar are excluded.
        length = self._bins.minutes * unit.per_minute
        first = min(max((low + high - number) // 2, unit.least // length - 1), unit.most // length + 2 - number)
        starts = (first + np.arange(number)) * length
        known = (starts >= unit.least) & (starts + (length - 1) <= unit.most)
        return self._looked_up(first, np.where(known, starts, unit.least), known, unit)

    def _every_minute(self, info: np.iinfo) -> _Window:
        """Every valid minute, and −1 for a missing time; −2 is the first unknown one."""
        minutes = np.arange(MISSING_TIME - 1, LATEST_MINUTE + 1)
        known = (minutes >= 0) & (minutes < LATEST_MINUTE)
        window = self._looked_up(MISSING_TIME - 1, np.where(known, minutes, 0), known, _Unit(1, 0, LATEST_MINUTE - 1))
        if self._minus_one_is_none(info):
            window.codes[1] = window.codes_and_none[1] = NO_TIME
        return window

    def _looked_up(self, first: int, times: Integers, known: Flags, unit: _Unit) -> _Window:
        codes = self._bin(times, unit.per_minute)
        codes[~known] = codes[0] = codes[-1] = NOT_IN_TABLE
        return _Window(first, codes, np.append(codes, NO_TIME))

    def _minus_one_is_none(self, info: np.iinfo) -> bool:
        return self._column.raw == "integer" and info.min < 0

    def _bin(self, given: AnyIntegers, per_minute: int) -> Integers:
        since_start = (given.astype(np.int64) - self._bins.first * per_minute) % (MINUTES_PER_DAY * per_minute)
        codes: Integers = 1 + since_start // (self._bins.minutes * per_minute)
        return codes
