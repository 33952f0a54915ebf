"""Where the values of a batch stand in the lists of their columns, so that what a value means is looked up, not read.

Texts come with a list of the distinct ones; typed days have a list from the first to the last. What stands in a list
is understood once (`vocabulary`).
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
from tapveil.trips.buffers import Integers, per_day, present, stored

MOST_DAYS = 4000
BEYOND = 10**8
"""Days that no calendar has."""
NO_DAY = "a day beyond the calendar"
_EPOCH = date(1970, 1, 1).toordinal()


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
class Placed:
    """A column of a batch."""

    entries: Entries
    places: Integers | int
    """For each row its place among the entries; one number where it is the same for all."""


class Places:
    """The lists of all columns but those of typed times, as far as they have been met."""

    def __init__(self, plan: Plan, columns: Sequence[Column], reasons: Reasons) -> None:
        self._theirs = {ours: theirs for ours, theirs in plan.columns.read.items() if ours in plan.columns.used}
        self._given = {ours: column.value or "" for ours, column in plan.source.columns.items()}
        looked_up = [mode for mode, _ in next((each.for_mode for each in columns if each.for_mode), ())]
        self.vocabularies = {
            column.name: Vocabulary(column, reasons, looked_up if column.name == "mode" else ()) for column in columns
        }
        self._desk, self._own = Desk(), Desk()  # a column may be called anything: ours have a desk of their own
        self._last: dict[str, tuple[pa.Array, Integers]] = {}
        self._range: dict[str, tuple[tuple[int, int], Integers]] = {}

    def array(self, column: Column, batch: pa.RecordBatch) -> pa.Array | None:
        """A column as the file has it; None where the plan gives its value."""
        theirs = self._theirs.get(column.name)
        return None if theirs is None else batch.column(batch.schema.get_field_index(theirs))

    def listed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same batch, each of its columns with a list of its values, if it is to have one."""
        for name, vocabulary in self.vocabularies.items():
            array = self.array(vocabulary.column, batch)
            if array is not None and not (vocabulary.column.arithmetic or _are_days(array)):
                place = batch.schema.get_field_index(self._theirs[name])
                batch = batch.set_column(place, self._theirs[name], _listed(array))
        return batch

    def of(self, column: Column, batch: pa.RecordBatch, mode: Placed | None) -> Placed:
        """The places of a column. What is given out is good until the next batch."""
        array, vocabulary = self.array(column, batch), self.vocabularies[column.name]
        out = self._desk.array(column.name, batch.num_rows)
        if array is None:
            if column.name not in self._range:
                self._range[column.name] = (0, 0), vocabulary.numbers([self._given[column.name]])
            placed = Placed(vocabulary.entries(self._range[column.name][1]), 0)
        else:
            placed = (_are_days(array) and self._days(column, array, out)) or self._texts(column, array, out)
        return self._of_mode(placed, mode, out) if mode and column.for_mode else placed

    def _of_mode(self, placed: Placed, mode: Placed, out: Integers) -> Placed:
        """The lists of all variants lie one after the other: each row in that of its mode."""
        skipped = mode.entries.modes * len(placed.entries)
        if isinstance(mode.places, int):
            return Placed(placed.entries, placed.places + int(skipped[mode.places]))
        for_each = np.take(skipped, mode.places, out=self._own.array("skipped", len(out)), mode="clip")
        return Placed(placed.entries, np.add(placed.places, for_each, out=out))

    def _texts(self, column: Column, array: pa.Array, out: Integers) -> Placed:
        """The places of values in the list of distinct ones that they came with; the last for none."""
        array = _listed(array)
        last, vocabulary = self._last.get(column.name), self.vocabularies[column.name]
        if last is None or not array.dictionary.equals(last[0]):
            last = array.dictionary, vocabulary.numbers(_spellings(array.dictionary))
            self._last[column.name] = last
        np.copyto(out, stored(array.indices))
        if array.null_count:
            np.copyto(out, len(last[1]) - 1, where=~present(array))
        return Placed(vocabulary.entries(last[1]), out)

    def _days(self, column: Column, array: pa.Array, out: Integers) -> Placed | None:
        """The places of typed days among all from the first to the last: few, and no search. None if they are many."""
        in_days = not pa.types.is_timestamp(array.type)
        days = stored(array) if in_days else np.floor_divide(stored(array), per_day(array.type), out=out)
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
            return Placed(entries, 0)
        np.subtract(days, first, out=out)
        if array.null_count:
            np.copyto(out, len(entries) - 1, where=~present(array))
        return Placed(entries, out)


def _are_days(array: pa.Array) -> bool:
    return bool(pa.types.is_timestamp(array.type) or pa.types.is_date32(array.type))


def _listed(array: pa.Array) -> pa.DictionaryArray:
    """A column as a list of its distinct values, and a place in it for each row; a timestamp as its day."""
    if pa.types.is_timestamp(array.type):
        days = np.clip(stored(array) // per_day(array.type), -BEYOND, BEYOND)
        array = pa.array(days.astype(np.int32), pa.date32(), mask=~present(array))
    if pa.types.is_dictionary(array.type):
        if not array.dictionary.null_count:
            return array
        array = array.dictionary_decode()
    return array.dictionary_encode()


def _spellings(values: pa.Array) -> list[str]:
    """Distinct values as texts."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return list(values.to_pylist())
    if pa.types.is_integer(kind):
        return [str(value) for value in values.to_pylist()]
    if pa.types.is_date32(kind):
        return [_day_text(day) for day in values.view(pa.int32()).to_pylist()]
    raise NeedsEngineError


def _day_text(day: int) -> str:
    """A day, counted from 1970."""
    ordinal = day + _EPOCH
    return date.fromordinal(ordinal).isoformat() if 0 < ordinal <= date.max.toordinal() else NO_DAY
