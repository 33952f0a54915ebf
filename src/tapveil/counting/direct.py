"""Counting straight from the files, in one pass, without an engine: for trips, the commonest and the largest case.

A row's values come as places in lists of distinct texts (`batches`). Each text is understood once (`vocabulary`), and a
row's key is a sum of small integers looked up by those places (`tally`): no text, no join and no hash per row. What
does not fit in here is counted by SQL, with the same result (`steps`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.coarsen import Areas, TimeBins, read_wider, relabelling
from tapveil.counting import codes
from tapveil.counting.batches import Batches
from tapveil.counting.codes import Code, Column, Reasons, Recoding
from tapveil.counting.exact import Counted, ExactTable, Refusals
from tapveil.counting.packing import Packing, Words
from tapveil.counting.query import maximal_sets
from tapveil.counting.tally import NeedsEngineError, Tally, summed
from tapveil.counting.vocabulary import Entries, Integers, Vocabulary
from tapveil.errors import TripDataError
from tapveil.notation import MINUTES_PER_DAY
from tapveil.pace import BYTES
from tapveil.plan import Plan, Table
from tapveil.progress import Reporter
from tapveil.trips import FileGroup, TripFiles
from tapveil.values import LATEST_MINUTE, MISSING_TIME

Places = npt.NDArray[np.integer]
BYTES_OF_A_CELL = 64
"""What a cell takes while runs of them are merged."""


def suits(plan: Plan, files: TripFiles, columns: Sequence[Column]) -> bool:
    """Whether trips can be counted here: one trip a row, each value read by itself, of a type that is known here."""
    return (
        not plan.privacy.by_card
        and plan.source.taps is None
        and all(_is_known(column, plan, group) for column in columns for group in files.groups)
    )


def _is_known(column: Column, plan: Plan, group: FileGroup) -> bool:
    theirs = plan.file_columns.get(column.name)
    if theirs is None:
        return not column.beside
    if column.beside or group.type_of(theirs) != column.raw or group.relation or "." in theirs:
        return False
    if column.raw == "text":
        return True
    if column.arithmetic:
        return True
    if column.raw == "integer":
        return not column.zoned
    return column.kind == "date" and column.raw in ("date", "timestamp") and plan.source.calendar


def count(plan: Plan, files: TripFiles, areas: Areas, memory: float, progress: Reporter) -> Counted:
    """The exact tables of a plan, and what was refused; raises `NeedsEngineError` where that is so."""
    columns = codes.columns(plan, files, areas)
    if not suits(plan, files, columns):
        raise NeedsEngineError
    counting = _Counting(plan, columns, memory)
    batches = Batches(files, {theirs for ours, theirs in plan.file_columns.items() if ours in plan.used_columns})
    size = sum(path.stat().st_size for group in files.groups for path in group.paths)
    with progress.stage("Counting trips", lambda: batches.bytes_read, total=size, unit=BYTES):
        for batch in batches:
            if batch.num_rows:
                counting.add(batch)
    with progress.stage("Adding up tables"):
        return counting.counted(batches.refused)


@dataclass(frozen=True)
class _Values:
    """A column of a batch: for each row a place, and for each place what stands there."""

    places: Places | None
    """None where every row has an entry of its own."""
    entries: Entries
    refuses: bool
    """Whether any row may be refused for its value here."""

    def of_rows(self, entries: Integers) -> Integers:
        return entries if self.places is None else entries[self.places]


class _Counting:
    """One pass."""

    def __init__(self, plan: Plan, columns: Sequence[Column], memory: float) -> None:
        self._plan, self._columns = plan, columns
        self._reasons = Reasons(columns)
        looked_up = [mode for mode, _ in next((each.for_mode for each in columns if each.for_mode), ())]
        self._vocabularies = {
            column.name: Vocabulary(column, self._reasons, looked_up if column.name == "mode" else ())
            for column in columns
        }
        self._bins = TimeBins.of(plan)
        sets = maximal_sets(plan.key_columns(table) for table in plan.table)
        self._common = _common_start(sets)
        self._tallies = [Tally(each, int(memory / BYTES_OF_A_CELL / len(sets))) for each in sets]
        self._last: dict[str, tuple[pa.Array, Entries]] = {}
        self._refused: Counter[int] = Counter()

    # --- rows ---------------------------------------------------------------------------------------------------------

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch."""
        values = {column.name: self._values(column, batch) for column in self._columns}
        sound = self._sound(values)
        sizes = {name: vocabulary.size for name, vocabulary in self._vocabularies.items()}
        common: dict[tuple[int, ...], Integers] = {}
        for tally in self._tallies:
            strides = tally.strides(sizes)
            keys = np.zeros(batch.num_rows, dtype=np.int64)
            if self._common:  # the day and the mode, mostly: the same for all sets but for a factor
                unit = strides[self._common[-1]]
                weights = tuple(strides[name] // unit for name in self._common)
                if weights not in common:
                    parts = (self._part(values, *each) for each in zip(self._common, weights, strict=True))
                    common[weights] = sum(parts, start=keys)
                keys = common[weights] * unit
            for name in tally.columns[len(self._common) :]:
                keys += self._part(values, name, strides[name])
            tally.add(keys if sound is None else keys[sound])

    def _part(self, values: Mapping[str, _Values], name: str, stride: int) -> Integers:
        """What the codes of a column add to the keys of the rows."""
        mine, of_mode = values[name], values.get("mode")
        if len(mine.entries.codes) == 1 or of_mode is None or mine.places is None:
            return mine.of_rows(mine.entries.codes[0] * stride)
        # The entries of all variants one after the other; a row's mode says how many lists to skip.
        every = np.concatenate(mine.entries.codes) * stride
        codes: Integers = every[of_mode.of_rows(of_mode.entries.modes * len(mine.entries.codes[0])) + mine.places]
        return codes

    def _sound(self, values: Mapping[str, _Values]) -> npt.NDArray[np.bool_] | None:
        """Which rows are counted; None where all are. The others are counted by their reasons."""
        refusing = [each.of_rows(each.entries.refusals) for each in values.values() if each.refuses]
        if not refusing:
            return None
        refusals = sum(refusing[1:], start=refusing[0])
        sound: npt.NDArray[np.bool_] = refusals == 0
        found, numbers = np.unique(refusals[~sound], return_counts=True)
        self._refused.update(dict(zip(found.tolist(), numbers.tolist(), strict=True)))
        return sound

    # --- values -------------------------------------------------------------------------------------------------------

    def _values(self, column: Column, batch: pa.RecordBatch) -> _Values:
        vocabulary, theirs = self._vocabularies[column.name], self._plan.file_columns.get(column.name)
        if theirs is None:
            entries = vocabulary.entries([self._plan.source.columns[column.name].value or ""])
            return _values(np.zeros(batch.num_rows, dtype=np.int64), entries, has_none=False)
        array = batch.column(batch.schema.get_field_index(theirs))
        if column.arithmetic:
            return self._times(column, array)
        array = _listed(array)
        last = self._last.get(column.name)
        if last is None or not array.dictionary.equals(last[0]):
            last = array.dictionary, vocabulary.entries(_spellings(array.dictionary))
            self._last[column.name] = last
        places = array.indices
        if array.null_count:
            places = places.cast(pa.int64()).fill_null(len(array.dictionary))
        return _values(places.to_numpy(), last[1], has_none=array.null_count > 0)

    def _times(self, column: Column, array: pa.Array) -> _Values:
        """The bins of typed times, computed as `TimeBins` does, and what they refuse as `scan` does."""
        given = _stored(array)
        if column.raw == "integer":
            per_minute, least, most = 1, 0, LATEST_MINUTE - 1
        else:
            per_day = _per_day(array.type)
            per_minute = per_day // MINUTES_PER_DAY
            least, most = (_FIRST_DAY * per_day, _LAST_DAY * per_day - 1) if column.raw == "timestamp" else (0, per_day)
        if int(given.min()) < least or int(given.max()) > most:
            return self._some_refused(column, array, given, per_minute, least, most)
        bins = self._bin(given, per_minute)
        if array.null_count:
            bins[~_is_there(array)] = 0
        return _Values(None, Entries((bins,), _NONE, _NONE), refuses=False)

    def _some_refused(
        self, column: Column, array: pa.Array, given: Stored, per_minute: int, least: int, most: int
    ) -> _Values:
        """As `_times`, where some values are none or no times: rare, and slower."""
        there, info = _is_there(array), np.iinfo(given.dtype)
        low, high = max(least, int(info.min)), min(most, int(info.max))
        good = there & (given >= low) & (given <= high)
        missing = (
            (given == MISSING_TIME) if column.raw == "integer" and info.min < 0 else np.zeros(len(given), np.bool_)
        )
        refusals = np.where(good | missing | ~there, 0, self._reasons.unreadable(column))
        bins = np.where(good, self._bin(np.where(good, given, low), per_minute), 0)
        return _Values(None, Entries((bins,), refusals, _NONE), refuses=bool(refusals.any()))

    def _bin(self, given: Stored, per_minute: int) -> Integers:
        """The code of the bin of each time."""
        per_day = MINUTES_PER_DAY * per_minute
        whole = given.astype(np.int64, copy=False)
        within = whole - whole // per_day * per_day  # faster than %, which divides one by one
        if self._bins.starts:
            within -= self._bins.starts * per_minute
            within += np.where(within < 0, per_day, 0)
        within //= self._bins.minutes * per_minute
        within += 1
        return within

    # --- tables -------------------------------------------------------------------------------------------------------

    def counted(self, lines: Counter[str]) -> Counted:
        """The tables of the plan, from all rows."""
        coded, final = [], {}
        for name, vocabulary in self._vocabularies.items():
            code, final[name] = vocabulary.sorted()
            coded.append(code)
        sets, wider = [_Cells(tally, final) for tally in self._tallies], read_wider(self._plan)
        tables = {table.name: self._table(table, coded, sets, wider) for table in self._plan.table}
        accepted = int(sets[0].numbers.sum())
        return Counted(tables, Refusals.of(self._reasons.of, self._refused, accepted, lines))

    def _table(
        self, table: Table, coded: Sequence[Code], sets: Sequence[_Cells], wider: Mapping[str, Areas]
    ) -> ExactTable:
        keys = self._plan.key_columns(table)
        source = next(each for each in sets if set(keys) <= set(each.codes))
        recodings = codes.recodings(relabelling(self._plan, table, wider), coded)
        labels = {code.column.name: code.labels for code in coded if code.column.name in keys}
        labels |= {column: recoding.labels for column, recoding in recodings.items()}
        packing = Packing(keys, tuple(len(labels[column]) for column in keys))
        cells = {column: source.coarser(column, recodings.get(column)) for column in keys}
        words, numbers = packing.pack(cells), source.numbers
        if recodings or set(keys) != set(source.codes):
            words, numbers = _summed(words, numbers)
        return ExactTable(table.name, packing, labels, words, numbers)


class _Cells:
    """All cells of a set of columns that came up, in final codes."""

    def __init__(self, tally: Tally, final: Mapping[str, Integers]) -> None:
        given, self.numbers = tally.cells()
        self.codes = {column: final[column][each] for column, each in given.items()}

    def coarser(self, column: str, recoding: Recoding | None) -> Integers:
        """The codes of a column at the level of a table."""
        fine = self.codes[column]
        if recoding is None or not len(fine):
            return fine
        lists = np.array(recoding.codes, dtype=np.int64)
        mode = self.codes["mode"] if len(lists) > 1 else np.zeros(len(fine), dtype=np.int64)
        coarse: Integers = lists[mode, fine]
        return coarse


def _summed(words: Words, numbers: Integers) -> tuple[Words, Integers]:
    """Each cell once, with the sum of its numbers."""
    if len(words) == 1:
        keys, numbers = summed(words[0], numbers)
        return (keys,), numbers
    cells, inverse = np.unique(np.stack(words, axis=1), axis=0, return_inverse=True)
    every = np.zeros(len(cells), dtype=np.int64)
    np.add.at(every, inverse.reshape(-1), numbers)
    return tuple(cells[:, word].copy() for word in range(len(words))), every


def _common_start(sets: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The columns with which all sets begin.

    >>> _common_start([("mode", "date", "on"), ("mode", "date", "off")])
    ('mode', 'date')
    """
    shared = 0
    while all(len(each) > shared + 1 and each[shared] == sets[0][shared] for each in sets):
        shared += 1
    return sets[0][:shared]


# --- columns as they are stored -----------------------------------------------------------------------------------

Stored = npt.NDArray[np.integer]

_NONE: Integers = np.empty(0, dtype=np.int64)
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - _EPOCH, date.max.toordinal() + 1 - _EPOCH
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _values(places: Places, entries: Entries, *, has_none: bool) -> _Values:
    met = entries.refusals if has_none else entries.refusals[:-1]
    return _Values(places, entries, refuses=bool(met.any()))


def _per_day(unit_of: pa.DataType) -> int:
    return 24 * 60 * 60 * _PER_SECOND[unit_of.unit]


def _stored(array: pa.Array) -> Stored:
    """The integers of a column as they lie in memory; where there is no value, anything."""
    width = array.type.bit_width // 8
    sign = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    whole = np.frombuffer(array.buffers()[1], dtype=f"{sign}{width}")
    return whole[array.offset : array.offset + len(array)]


def _is_there(array: pa.Array) -> npt.NDArray[np.bool_]:
    there: npt.NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return there


def _listed(array: pa.Array) -> pa.DictionaryArray:
    """A column as a list of its distinct values, and a place in it for each row; a timestamp as its day."""
    if pa.types.is_timestamp(array.type):
        days = _stored(array) // _per_day(array.type)
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
        days = (int(day) + _EPOCH for day in values.view(pa.int32()).to_pylist())
        return [date.fromordinal(day).isoformat() if 0 < day <= date.max.toordinal() else NO_DAY for day in days]
    raise NeedsEngineError


NO_DAY = "a day beyond the calendar"
