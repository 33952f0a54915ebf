"""The columns of a batch of rows as codes: places in lists of texts looked up, typed times computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
class _Looked:
    """A column of a batch: for each row a place in a list, or its code; and a reason to refuse it, if any row has."""

    places: Integers
    entries: Entries | None = None
    refusals: Integers | None = None


class Coder:
    """Turns one batch after the other into codes."""

    def __init__(self, plan: Plan, columns: Sequence[Column], reasons: Reasons) -> None:
        self._columns, self._reasons = columns, reasons
        self._theirs = {ours: theirs for ours, theirs in plan.file_columns.items() if ours in plan.used_columns}
        self._given = {ours: column.value or "" for ours, column in plan.source.columns.items()}
        looked_up = [mode for mode, _ in next((each.for_mode for each in columns if each.for_mode), ())]
        self.vocabularies = {
            column.name: Vocabulary(column, reasons, looked_up if column.name == "mode" else ()) for column in columns
        }
        self._bins = TimeBins.of(plan)
        self._desk, self._own = Desk(), Desk()  # a column may be called anything: ours have a desk of their own
        self._last: dict[str, tuple[pa.Array, Integers]] = {}

    def code(self, batch: pa.RecordBatch) -> Coded:
        """All columns of a batch. What is given out is good until the next one."""
        looked = {column.name: self._look(column, batch) for column in self._columns}
        refused, reasons = self._refused(looked.values())
        mode, variants = looked.get("mode"), None
        if mode and mode.entries and len(mode.entries.modes):
            out = self._own.array("variants", len(mode.places))
            variants = np.take(mode.entries.modes, mode.places, out=out, mode="clip")
        codes = {
            column.name: self._code(column, looked[column.name], variants if column.for_mode else None, refused)
            for column in self._columns
        }
        return Coded(codes, refused, reasons)

    def _look(self, column: Column, batch: pa.RecordBatch) -> _Looked:
        theirs, rows = self._theirs.get(column.name), batch.num_rows
        places = self._desk.array(column.name, rows)
        if theirs is None:
            places[:] = 0
            vocabulary = self.vocabularies[column.name]
            entries, has_none = vocabulary.entries(vocabulary.numbers([self._given[column.name]])), False
        else:
            array = batch.column(batch.schema.get_field_index(theirs))
            if column.arithmetic:
                return self._times(column, array, places)
            array = _listed(array)
            entries, has_none = self._entries(column, array.dictionary), array.null_count > 0
            np.copyto(places, _stored(array.indices))
            if has_none:
                places[~_is_there(array)] = len(array.dictionary)
        if not entries.refuses(has_none=has_none):
            return _Looked(places, entries)
        return _Looked(places, entries, self._taken(entries.refusals, places, f"{column.name} refusals"))

    def _entries(self, column: Column, dictionary: pa.Array) -> Entries:
        last, vocabulary = self._last.get(column.name), self.vocabularies[column.name]
        if last is None or not dictionary.equals(last[0]):
            last = dictionary, vocabulary.numbers(_spellings(dictionary))
            self._last[column.name] = last
        return vocabulary.entries(last[1])

    def _refused(self, looked: Iterable[_Looked]) -> tuple[Positions, Integers]:
        refusing = [each.refusals for each in looked if each.refusals is not None]
        if not refusing:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64)
        every = refusing[0]
        for more in refusing[1:]:
            every += more
        refused = np.flatnonzero(every)
        return refused, every[refused]

    def _code(self, column: Column, looked: _Looked, variants: Integers | None, refused: Positions) -> Integers:
        places, entries = looked.places, looked.entries
        if entries is None:
            return places
        if variants is not None:  # the lists of all variants lie one after the other
            places += np.multiply(variants, len(entries), out=self._own.array("spare", len(places)))
        codes = self._taken(entries.codes, places, f"{column.name} codes")
        if int(codes.min()) < 0:
            new = codes < 0
            new[refused] = False  # what only refused rows say must not take room
            if new.any():
                self.vocabularies[column.name].give_codes(entries, np.unique(places[new]))
                np.take(entries.codes, places, out=codes, mode="clip")
        return codes

    def _taken(self, entries: Integers, places: Integers, name: str) -> Integers:
        return np.take(entries, places, out=self._desk.array(name, len(places)), mode="clip")

    # --- typed times --------------------------------------------------------------------------------------------------

    def _times(self, column: Column, array: pa.Array, out: Integers) -> _Looked:
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
        return _Looked(out)

    def _some_refused(
        self, column: Column, array: pa.Array, out: Integers, per_minute: int, least: int, most: int
    ) -> _Looked:
        """As `_times`, where some values are none or no times: rare, and slower."""
        given, there = _stored(array), _is_there(array)
        info = np.iinfo(given.dtype)
        low, high = max(least, int(info.min)), min(most, int(info.max))
        good = there & (given >= low) & (given <= high)
        may_be_none = column.raw == "integer" and info.min < 0
        none = ~there | (given == MISSING_TIME) if may_be_none else ~there
        refusals = np.where(good | none, 0, self._reasons.unreadable(column))
        self._bin(np.where(good, given, low), per_minute, out)
        out[~good] = 0
        return _Looked(out, refusals=refusals if refusals.any() else None)

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
    return _days_from_the_first(array) if pa.types.is_date32(array.type) else array.dictionary_encode()


def _days_from_the_first(array: pa.Array) -> pa.DictionaryArray:
    """Days, of which there are few in a batch: listed from the first to the last, which takes no search."""
    given, none = _stored(array), ~_is_there(array)
    known = given[~none] if array.null_count else given
    first, last = (int(known.min()), int(known.max())) if len(known) else (0, 0)
    if last - first > MOST_DAYS:
        return array.dictionary_encode()
    places = pa.array(given - np.int32(first), mask=none if array.null_count else None)
    return pa.DictionaryArray.from_arrays(
        places, pa.array(range(first, last + 1), pa.int32()).view(pa.date32()), safe=False
    )


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
        days = (int(day) + _EPOCH for day in values.view(pa.int32()).to_pylist())
        return [date.fromordinal(day).isoformat() if 0 < day <= date.max.toordinal() else NO_DAY for day in days]
    raise NeedsEngineError
