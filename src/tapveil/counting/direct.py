"""Counting straight from the files, in one pass, without an engine: for trips, the commonest and the largest case.

A row's values come as places in lists of distinct texts (`batches`, `places`). Each text is understood once
(`vocabulary`), and a row's key is a sum of small integers looked up by those places (`shortcut`, `tally`): no text, no
join and no hash per row. Rows with anything new or wrong go the long way (`coder`). What does not fit in here is
counted by SQL, with the same result (`steps`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from tapveil.coarsen import Areas, read_wider, relabelling
from tapveil.counting import codes
from tapveil.counting.batches import Batches
from tapveil.counting.cards import CardShapes, are_numbers
from tapveil.counting.coder import Coder, Positions
from tapveil.counting.codes import Code, Column, Reasons, Recoding
from tapveil.counting.exact import Counted, ExactTable, Refusals
from tapveil.counting.packing import Packing, Words
from tapveil.counting.query import maximal_sets
from tapveil.counting.shortcut import Shortcut
from tapveil.counting.stored import Integers
from tapveil.counting.tally import NOBODY, Tally, summed
from tapveil.plan import Plan, Table
from tapveil.trips import FileGroup, TripFiles

AT_ONCE = 1 << 16
"""Rows that are counted at a time: so few that what is computed from them stays near the processor."""
FEW = 1 << 10
BYTES_OF_A_PLACE = 16
"""Eight for the counter itself, and as much for listing those that were used."""
BYTES_OF_A_CELL = 64
"""What a cell takes while runs of them are merged."""


def suits(plan: Plan, files: TripFiles, areas: Areas) -> bool:
    """Whether trips can be counted here: one trip a row, each value read by itself, of a type that is known here."""
    if plan.privacy.by_card or plan.source.taps:
        return False
    columns = codes.columns(plan, files, areas)
    return all(_is_known(column, plan, group) for column in columns for group in files.groups)


def _is_known(column: Column, plan: Plan, group: FileGroup) -> bool:
    theirs = plan.file_columns.get(column.name)
    if theirs is None:
        return not column.beside
    if column.beside or group.type_of(theirs) != column.raw or group.relation or "." in theirs:
        return False
    if column.raw == "text" or column.arithmetic:
        return True
    if column.raw == "integer":
        return not column.zoned
    return column.kind == "date" and column.raw in ("date", "timestamp") and plan.source.calendar


class Pass:
    """One pass over the files."""

    def __init__(self, plan: Plan, files: TripFiles, areas: Areas, memory: float) -> None:
        columns = codes.columns(plan, files, areas)
        self._plan = plan
        theirs = plan.file_columns
        card = plan.source.card
        self._card = card if card and not are_numbers(files, card) else None
        self._batches = Batches(files, {theirs[ours] for ours in plan.used_columns if ours in theirs}, self._card)
        self._cards = CardShapes()
        self._reasons = Reasons(columns)
        self._coder = Coder(plan, columns, self._reasons)
        # Days keep coming as the files go by; the first column of a tally may grow without moving anything.
        sets = maximal_sets(tuple(sorted(plan.key_columns(table), key="date".__ne__)) for table in plan.table)
        fixed = {column.name: len(column.fixed_labels) for column in columns if column.fixed_labels}
        each_has = memory / len(sets)
        room = int(each_has / BYTES_OF_A_PLACE), int(each_has / BYTES_OF_A_CELL)
        self._tallies = [Tally(each, fixed, *room) for each in sets]
        self._shortcut = Shortcut(self._coder, self._tallies)
        self._refused: Counter[int] = Counter()

    @property
    def bytes(self) -> int:
        """How much there is to read."""
        return self._batches.bytes

    @property
    def bytes_read(self) -> float:
        """How much has been read."""
        return self._batches.bytes_read

    def count(self) -> Counted:
        """The exact tables of the plan, and what was refused; raises `NeedsEngineError` where that is so."""
        for batch in self._batches:
            if self._card:
                self._cards.see(batch.column(batch.schema.get_field_index(self._card)))
            self._add(self._coder.places.listed(batch))
        return self._counted(self._batches.refused)

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch: the ordinary ones, then the rest."""
        left = [start + self._add_ordinary(piece) for start, piece in _pieces(batch)]
        for _, piece in _pieces(batch.take(np.concatenate(left))):
            self._add_any(piece)

    def _add_ordinary(self, batch: pa.RecordBatch) -> Positions:
        """Count what needs no long look; which rows are left."""
        left = self._shortcut.add(batch)
        if 4 * len(left) <= batch.num_rows:
            return left
        # Most rows have something new, such as a day: once some have made it known, the others can go the short way.
        self._add_any(batch.take(left[:FEW]))
        left = left[FEW:]
        return left[self._shortcut.add(batch.take(left))] if len(left) else left

    def _add_any(self, batch: pa.RecordBatch) -> None:
        """Count rows of which some may be refused."""
        coded = self._coder.code(batch)
        found, numbers = np.unique(coded.reasons, return_counts=True)
        self._refused.update(dict(zip(found.tolist(), numbers.tolist(), strict=True)))
        sizes = self._coder.sizes
        for tally in self._tallies:
            keys = np.zeros(batch.num_rows, dtype=np.int64)
            for name, stride in tally.strides(sizes).items():
                keys += coded.codes[name] * stride
            keys[coded.refused] = NOBODY
            tally.add(keys)

    # --- tables -------------------------------------------------------------------------------------------------------

    def _counted(self, lines: Counter[str]) -> Counted:
        """The tables of the plan, from all rows."""
        coded, final = [], {}
        for name, vocabulary in self._coder.places.vocabularies.items():
            code, final[name] = vocabulary.sorted()
            coded.append(code)
        sets, wider = [_Cells(tally, final) for tally in self._tallies], read_wider(self._plan)
        tables = {table.name: self._table(table, coded, sets, wider) for table in self._plan.table}
        accepted = int(sets[0].numbers.sum())
        refusals = Refusals.of(self._reasons.of, self._refused, accepted, lines)
        return Counted(tables, refusals, cards=self._cards if self._card else None)

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


def _pieces(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Some rows at a time, and where they begin."""
    for start in range(0, batch.num_rows, AT_ONCE):
        yield start, batch.slice(start, AT_ONCE)
