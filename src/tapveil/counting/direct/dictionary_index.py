"""Dictionary indices for each column of a batch, so that each distinct value is parsed once (`vocabulary`).

Texts come with a list of the distinct ones; typed days have a list from the first to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa

from tapveil.counting.coding import Column, Reasons
from tapveil.counting.direct.batches import NeedsEngineError
from tapveil.counting.direct.vocabulary import Entries, Vocabulary
from tapveil.plan.model import Plan
from tapveil.trips.buffers import Integers, integers, per_day, present

MOST_DAYS = 4000
BEYOND = 10**8
"""A number of days beyond any calendar."""
NO_DAY = "a day beyond the calendar"
_EPOCH = date(1970, 1, 1).toordinal()


class ArrayPool:
    """Arrays reused for every batch: allocation would cost more than filling them."""

    def __init__(self) -> None:
        self._arrays: dict[str, Integers] = {}

    def array(self, name: str, rows: int) -> Integers:
        """An uninitialised array for this many rows; the same one each time for the same name."""
        if len(self._arrays.get(name, ())) < rows:
            self._arrays[name] = np.empty(rows, dtype=np.int64)
        return self._arrays[name][:rows]


@dataclass(frozen=True)
class IndexedColumn:
    """A column of a batch."""

    entries: Entries
    indices: Integers | int
    """The index of each row into the entries; one number if it is the same for all rows."""


class DictionaryIndex:
    """The lists of distinct values of all columns except typed times, as far as they are known."""

    def __init__(self, plan: Plan, columns: Sequence[Column], reasons: Reasons) -> None:
        self._theirs = {ours: theirs for ours, theirs in plan.columns.read.items() if ours in plan.columns.used}
        self._given = {ours: column.value or "" for ours, column in plan.source.columns.items()}
        looked_up = [mode for mode, _ in next((each.for_mode for each in columns if each.for_mode), ())]
        self.vocabularies = {
            column.name: Vocabulary(column, reasons, looked_up if column.name == "mode" else ()) for column in columns
        }
        # A column may be called anything: ours have a pool of their own.
        self._pool, self._own = ArrayPool(), ArrayPool()
        self._last: dict[str, tuple[pa.Array, Integers]] = {}
        self._range: dict[str, tuple[tuple[int, int], Integers]] = {}

    @property
    def sizes(self) -> dict[str, int]:
        """The current number of codes of each column."""
        return {name: vocabulary.size for name, vocabulary in self.vocabularies.items()}

    @property
    def learnt(self) -> int:
        """How often new labels were learnt."""
        return sum(vocabulary.learnt for vocabulary in self.vocabularies.values())

    def array(self, column: Column, batch: pa.RecordBatch) -> pa.Array | None:
        """A column as stored in the file; None where the plan gives its value."""
        theirs = self._theirs.get(column.name)
        return None if theirs is None else batch.column(batch.schema.get_field_index(theirs))

    def encoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same batch, with each column that has a vocabulary dictionary-encoded."""
        for name, vocabulary in self.vocabularies.items():
            column, array = vocabulary.column, self.array(vocabulary.column, batch)
            # A duration is read from two columns, which may be typed: it takes them as they are.
            if array is not None and not (column.arithmetic or column.kind == "duration" or _are_days(array)):
                position = batch.schema.get_field_index(self._theirs[name])
                batch = batch.set_column(position, self._theirs[name], encoded(array))
        return batch

    def of(self, column: Column, batch: pa.RecordBatch, mode: IndexedColumn | None) -> IndexedColumn:
        """The indices of a column; valid until the next batch."""
        array, vocabulary = self.array(column, batch), self.vocabularies[column.name]
        out = self._pool.array(column.name, batch.num_rows)
        if array is None:
            if column.name not in self._range:
                self._range[column.name] = (0, 0), vocabulary.numbers([self._given[column.name]])
            indexed = IndexedColumn(vocabulary.entries(self._range[column.name][1]), 0)
        else:
            indexed = (_are_days(array) and self._days(column, array, out)) or self._texts(column, array, out)
        if mode is None or not column.for_mode:
            return indexed
        # The lists of all variants lie one after the other: each row in that of its mode.
        skipped = mode.entries.modes * len(indexed.entries)
        if isinstance(mode.indices, int):
            return IndexedColumn(indexed.entries, indexed.indices + int(skipped[mode.indices]))
        for_each = np.take(skipped, mode.indices, out=self._own.array("skipped", len(out)), mode="clip")
        return IndexedColumn(indexed.entries, np.add(indexed.indices, for_each, out=out))

    def _texts(self, column: Column, array: pa.Array, out: Integers) -> IndexedColumn:
        """Indices into the dictionary of the column; the last entry is for a missing value."""
        array = encoded(array)
        last, vocabulary = self._last.get(column.name), self.vocabularies[column.name]
        if last is None or not array.dictionary.equals(last[0]):
            last = array.dictionary, vocabulary.numbers(raw_values(array.dictionary))
            self._last[column.name] = last
        np.copyto(out, integers(array.indices))
        if array.null_count:
            np.copyto(out, len(last[1]) - 1, where=~present(array))
        return IndexedColumn(vocabulary.entries(last[1]), out)

    def _days(self, column: Column, array: pa.Array, out: Integers) -> IndexedColumn | None:
        """Indices of typed days into the range from the first to the last, without a search; None if it is too long."""
        in_days = not pa.types.is_timestamp(array.type)
        days = integers(array) if in_days else np.floor_divide(integers(array), per_day(array.type), out=out)
        known = days[present(array)] if array.null_count else days
        first, last = (int(known.min()), int(known.max())) if len(known) else (0, 0)
        if last - first > MOST_DAYS:
            return None
        before, vocabulary = self._range.get(column.name), self.vocabularies[column.name]
        if before is None or before[0] != (first, last):
            before = (first, last), vocabulary.numbers([_day_text(day) for day in range(first, last + 1)])
            self._range[column.name] = before
        entries = vocabulary.entries(before[1])
        if first == last and not array.null_count:
            return IndexedColumn(entries, 0)
        np.subtract(days, first, out=out)
        if array.null_count:
            np.copyto(out, len(entries) - 1, where=~present(array))
        return IndexedColumn(entries, out)


def _are_days(array: pa.Array) -> bool:
    return bool(pa.types.is_timestamp(array.type) or pa.types.is_date32(array.type))


def encoded(array: pa.Array) -> pa.DictionaryArray:
    """A column, dictionary-encoded; timestamps become days."""
    if pa.types.is_timestamp(array.type):
        days = np.clip(integers(array) // per_day(array.type), -BEYOND, BEYOND)
        array = pa.array(days.astype(np.int32), pa.date32(), mask=~present(array))
    if pa.types.is_dictionary(array.type):
        if not array.dictionary.null_count:
            return array
        array = array.dictionary_decode()
    return array.dictionary_encode()


def raw_values(values: pa.Array) -> list[str]:
    """The distinct values of a column, as text."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return list(values.to_pylist())
    if pa.types.is_integer(kind):
        return [str(value) for value in values.to_pylist()]
    if pa.types.is_date32(kind):
        return [_day_text(day) for day in values.view(pa.int32()).to_pylist()]
    raise NeedsEngineError


def _day_text(day: int) -> str:
    """A day, counted from 1970, as ISO text."""
    ordinal = day + _EPOCH
    return date.fromordinal(ordinal).isoformat() if 0 < ordinal <= date.max.toordinal() else NO_DAY
