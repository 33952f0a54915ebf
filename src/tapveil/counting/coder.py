"""The columns of a batch of rows as codes: places in lists of texts looked up, typed times computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.coarsen import TimeBins
from tapveil.counting.batches import NeedsEngineError
from tapveil.counting.codes import Column, Reasons
from tapveil.counting.vocabulary import Entries, Integers, Vocabulary
from tapveil.errors import TripDataError
from tapveil.notation import MINUTES_PER_DAY
from tapveil.plan import Plan
from tapveil.values import LATEST_MINUTE, MISSING_TIME

Stored = npt.NDArray[np.integer]
Positions = npt.NDArray[np.intp]


_NOWHERE: Positions = np.empty(0, dtype=np.intp)
_NO_REASON: Integers = np.empty(0, dtype=np.int64)


class Desk:
    """Arrays that are used again for every batch: new ones of this size would cost more than what is put into them."""

    def __init__(self) -> None:
        self._arrays: dict[str, Integers] = {}

    def array(self, name: str, rows: int) -> Integers:
        """An array for so many rows, with anything in it; the same each time for the same name."""
        if len(self._arrays.get(name, ())) < rows:
            self._arrays[name] = np.empty(rows, dtype=np.int64)
        return self._arrays[name][:rows]


@dataclass(frozen=True)
class Coded:
    """A batch of rows as codes."""

    codes: Mapping[str, Integers]
    refused: Positions
    """Which rows are refused; their codes are anything."""
    reasons: Integers
    """Why, for each of them."""


@dataclass(frozen=True)
class _Column:
    """A column of a batch: for each row its code, or below 0 where that is not settled yet."""

    codes: Integers
    unsettled: Positions = field(default_factory=lambda: _NOWHERE)
    """Which rows have none: they are refused, or the first to have their label."""
    entries: Entries | None = None
    places: Integers | None = None
    """For each row its place among the entries."""
    reasons: Integers | None = None
    """Where there are no entries: why each unsettled row is refused."""

    def refusals(self) -> Integers:
        """For each unsettled row why it is refused; 0 where it is not."""
        if self.entries is None or self.places is None:
            return _NO_REASON if self.reasons is None else self.reasons
        refusals: Integers = self.entries.refusals[self.places[self.unsettled] % len(self.entries)]
        return refusals


class Coder:
    """Turns one batch after the other into codes."""

    def __init__(self, plan: Plan, columns: Sequence[Column], reasons: Reasons) -> None:
        # The mode first: what a stop is may depend on it.
        self._columns, self._reasons = sorted(columns, key=lambda column: column.name != "mode"), reasons
        self._theirs = {ours: theirs for ours, theirs in plan.file_columns.items() if ours in plan.used_columns}
        self._given = {ours: column.value or "" for ours, column in plan.source.columns.items()}
        looked_up = [mode for mode, _ in next((each.for_mode for each in columns if each.for_mode), ())]
        self.vocabularies = {
            column.name: Vocabulary(column, reasons, looked_up if column.name == "mode" else ()) for column in columns
        }
        self._bins = TimeBins.of(plan)
        self._desk, self._own = Desk(), Desk()  # a column may be called anything: ours have a desk of their own
        self._last: dict[str, tuple[pa.Array, Integers]] = {}
        self._range: dict[str, tuple[tuple[int, int], Integers]] = {}

    def code(self, batch: pa.RecordBatch) -> Coded:
        """All columns of a batch. What is given out is good until the next one."""
        found: dict[str, _Column] = {}
        for column in self._columns:
            found[column.name] = self._look(column, batch, found.get("mode") if column.for_mode else None)
        refused, reasons = _refused(found.values())
        for name, each in found.items():
            self._settle(name, each, refused)
        return Coded({name: each.codes for name, each in found.items()}, refused, reasons)

    def _look(self, column: Column, batch: pa.RecordBatch, mode: _Column | None) -> _Column:
        theirs, rows = self._theirs.get(column.name), batch.num_rows
        places, array = self._desk.array(column.name, rows), None
        if theirs is not None:
            array = batch.column(batch.schema.get_field_index(theirs))
            if column.arithmetic:
                return self._times(column, array, places)
        entries = self._placed(column, array, places)
        if mode and mode.entries and mode.places is not None:  # the lists of all variants lie one after the other
            skipped = mode.entries.modes * len(entries)
            places += np.take(skipped, mode.places, out=self._own.array("skipped", rows), mode="clip")
        codes = np.take(entries.codes, places, out=self._desk.array(f"{column.name} codes", rows), mode="clip")
        unsettled = np.flatnonzero(codes < 0) if int(codes.min()) < 0 else _NOWHERE
        return _Column(codes, unsettled, entries, places)

    def _settle(self, name: str, column: _Column, refused: Positions) -> None:
        """Codes for what rows have for the first time; what only refused rows say must not take room."""
        if column.entries is None or column.places is None or not len(column.unsettled):
            return
        new = column.unsettled[~np.isin(column.unsettled, refused, assume_unique=True)]
        if len(new):
            places = column.places[new]
            self.vocabularies[name].give_codes(column.entries, np.unique(places))
            column.codes[new] = column.entries.codes[places]

    def _placed(self, column: Column, array: pa.Array | None, places: Integers) -> Entries:
        """What stands in the list of a column; and for each row its place there, the last one for none."""
        if array is None:
            places[:] = 0
            if column.name not in self._range:
                self._range[column.name] = (0, 0), self.vocabularies[column.name].numbers([self._given[column.name]])
            return self.vocabularies[column.name].entries(self._range[column.name][1])
        entries = self._days(column, array, places) or self._texts(column, _listed(array), places)
        if array.null_count:
            places[~_is_there(array)] = len(entries) - 1
        return entries

    def _texts(self, column: Column, array: pa.DictionaryArray, places: Integers) -> Entries:
        """The places of values in the list of distinct ones that they came with."""
        np.copyto(places, _stored(array.indices))
        last, vocabulary = self._last.get(column.name), self.vocabularies[column.name]
        if last is None or not array.dictionary.equals(last[0]):
            last = array.dictionary, vocabulary.numbers(_spellings(array.dictionary))
            self._last[column.name] = last
        return vocabulary.entries(last[1])

    def _days(self, column: Column, array: pa.Array, places: Integers) -> Entries | None:
        """The places of typed days among all from the first to the last: few, and no search. None for other types."""
        if pa.types.is_timestamp(array.type):
            np.floor_divide(_stored(array), _per_day(array.type), out=places)
        elif pa.types.is_date32(array.type):
            np.copyto(places, _stored(array))
        else:
            return None
        known = places[_is_there(array)] if array.null_count else places
        first, last = (int(known.min()), int(known.max())) if len(known) else (0, 0)
        if last - first > MOST_DAYS:
            return None
        places -= first
        before, vocabulary = self._range.get(column.name), self.vocabularies[column.name]
        if before is None or before[0] != (first, last):
            before = (first, last), vocabulary.numbers([_day_text(day) for day in range(first, last + 1)])
            self._range[column.name] = before
        return vocabulary.entries(before[1])

    # --- typed times --------------------------------------------------------------------------------------------------

    def _times(self, column: Column, array: pa.Array, out: Integers) -> _Column:
        """The bins of typed times, computed as `TimeBins` does, and what they refuse as `scan` does."""
        given = _stored(array)
        if column.raw == "integer":
            per_minute, least, most = 1, 0, LATEST_MINUTE - 1
        else:
            per_day = _per_day(array.type)
            per_minute = per_day // MINUTES_PER_DAY
            least, most = (_FIRST_DAY * per_day, _LAST_DAY * per_day - 1) if column.raw == "timestamp" else (0, per_day)
        if int(given.min()) < least or int(given.max()) > most:
            return self._some_refused(column, array, out, per_minute, least, most)
        self._bin(given, per_minute, out)
        if array.null_count:
            out[~_is_there(array)] = 0
        return _Column(out)

    def _some_refused(
        self, column: Column, array: pa.Array, out: Integers, per_minute: int, least: int, most: int
    ) -> _Column:
        """As `_times`, where some values are none or no times: rare, and slower."""
        given, there = _stored(array), _is_there(array)
        info = np.iinfo(given.dtype)
        low, high = max(least, int(info.min)), min(most, int(info.max))
        good = there & (given >= low) & (given <= high)
        may_be_none = column.raw == "integer" and info.min < 0
        none = ~there | (given == MISSING_TIME) if may_be_none else ~there
        refused = np.flatnonzero(~(good | none))
        self._bin(np.where(good, given, low), per_minute, out)
        out[~good] = 0
        return _Column(out, refused, reasons=np.full(len(refused), self._reasons.unreadable(column), dtype=np.int64))

    def _bin(self, given: Stored, per_minute: int, out: Integers) -> None:
        """The code of the bin of each time. A remainder is a division twice: `%` would divide one by one."""
        per_day, spare = MINUTES_PER_DAY * per_minute, self._own.array("spare", len(given))
        np.floor_divide(given, per_day, out=spare, dtype=np.int64, casting="unsafe")
        spare *= per_day
        np.subtract(given, spare, out=out, dtype=np.int64, casting="unsafe")
        if self._bins.starts:
            out -= self._bins.starts * per_minute
            out[out < 0] += per_day
        np.floor_divide(out, self._bins.minutes * per_minute, out=out)
        out += 1


def _refused(columns: Iterable[_Column]) -> tuple[Positions, Integers]:
    """The rows that are refused, and why: for one reason, or for several, which are added."""
    rows, reasons = [], []
    for column in columns:
        why = column.refusals()
        rows.append(column.unsettled[why != 0])
        reasons.append(why[why != 0])
    refused, place = np.unique(np.concatenate(rows), return_inverse=True)
    every = np.zeros(len(refused), dtype=np.int64)
    np.add.at(every, place, np.concatenate(reasons))
    return refused, every


# --- columns as they are stored -----------------------------------------------------------------------------------

_EPOCH = date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - _EPOCH, date.max.toordinal() + 1 - _EPOCH
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
MOST_DAYS = 4000
BEYOND = 10**8
"""Days that no calendar has."""
NO_DAY = "a day beyond the calendar"


def _per_day(unit_of: pa.DataType) -> int:
    return 24 * 60 * 60 * _PER_SECOND[unit_of.unit]


def _stored(array: pa.Array) -> Stored:
    """The integers of a column as they lie in memory; where there is no value, anything."""
    width = array.type.bit_width // 8
    sign = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    whole = np.frombuffer(array.buffers()[1], dtype=f"{sign}{width}")
    return whole[array.offset : array.offset + len(array)]


def _is_there(array: pa.Array) -> npt.NDArray[np.bool_]:
    bits = array.buffers()[0]
    if bits is None:
        return np.ones(len(array), dtype=np.bool_)
    every = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=array.offset + len(array), bitorder="little")
    return every[array.offset :].view(np.bool_)


def _listed(array: pa.Array) -> pa.DictionaryArray:
    """A column as a list of its distinct values, and a place in it for each row; a timestamp as its day."""
    if pa.types.is_timestamp(array.type):
        days = np.clip(_stored(array) // _per_day(array.type), -BEYOND, BEYOND)
        array = pa.array(days.astype(np.int32), pa.date32(), mask=~_is_there(array))
    if pa.types.is_dictionary(array.type):
        if not array.dictionary.null_count:
            return array
        array = array.dictionary_decode()
    return array.dictionary_encode()


def _spellings(values: pa.Array) -> list[str]:
    """Distinct values as texts."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        try:
            return list(values.to_pylist())
        except UnicodeDecodeError:
            raise TripDataError("a trip file has texts that are not UTF-8; was it written by a faulty tool?") from None
    if pa.types.is_integer(kind):
        return [str(value) for value in values.to_pylist()]
    if pa.types.is_date32(kind):
        return [_day_text(day) for day in values.view(pa.int32()).to_pylist()]
    raise NeedsEngineError


def _day_text(day: int) -> str:
    """A day, counted from 1970."""
    ordinal = day + _EPOCH
    return date.fromordinal(ordinal).isoformat() if 0 < ordinal <= date.max.toordinal() else NO_DAY
