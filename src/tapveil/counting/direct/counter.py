"""Counting straight from the files, in one pass, without an engine: for trips, the most common and the largest case.

A row's values are indices into lists of distinct texts (`batches`, `dictionary_index`). Each text is parsed
once (`vocabulary`), and a row's key is a sum of small integers looked up by those indices (`fast_path`, `tally`): no
text, no join and no hash per row. Rows with anything new or wrong take the `slow_path`. Everything else is
counted by SQL, with the same result (`sql.steps`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from tapveil.base.vocabulary import COUNT
from tapveil.counting import coding
from tapveil.counting.card_ids import CardShapes, are_numbers
from tapveil.counting.coding import Column, Reasons
from tapveil.counting.direct import durations
from tapveil.counting.direct.batches import Batches
from tapveil.counting.direct.fast_path import FastPath
from tapveil.counting.direct.rollup import Rollup
from tapveil.counting.direct.slow_path import SlowPath
from tapveil.counting.direct.tally import NOT_COUNTED, Tally
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.refusals import Refusals
from tapveil.counting.sql.query import maximal_sets
from tapveil.inputs.areas import Areas
from tapveil.plan.model import Plan
from tapveil.trips.buffers import Positions
from tapveil.trips.excerpt import Excerpt
from tapveil.trips.files import FileGroup, TripFiles
from tapveil.trips.reasons import Reason

AT_ONCE = 1 << 16
"""Rows counted at a time: few enough for intermediate results to stay in the processor's cache."""
FEW = 1 << 10
MOST_SKIPPED = 63
"""The fast path is tried again after at most this many pieces."""
BYTES_OF_A_COUNTER = 16
"""Maximum, including the list of used counters."""
BYTES_OF_A_CELL = 64
"""Memory of a cell while runs are merged."""


def suits(plan: Plan, files: TripFiles, areas: Areas) -> bool:
    """Whether trips can be counted here: one trip per row, each value parsed by itself, with a known type."""
    if plan.source.taps and not plan.privacy.by_card:
        return False
    columns = coding.columns(plan, files, areas)
    return all(_is_known(column, plan, group) for column in columns for group in files.groups)


def _is_known(column: Column, plan: Plan, group: FileGroup) -> bool:
    if column.kind == "duration":
        return durations.suits(plan, group)
    theirs = plan.columns.read.get(column.name)
    if theirs is None:
        return not column.context
    if column.context or group.type_of(theirs) != column.raw or group.relation or "." in theirs:
        return False
    if column.raw == "text" or column.arithmetic:
        return True
    if column.raw == "integer":
        return not column.zoned
    return column.kind in ("date", "calendar") and column.raw in ("date", "timestamp") and plan.source.calendar


class Pass:
    """One pass over the files."""

    def __init__(
        self,
        plan: Plan,
        files: TripFiles,
        areas: Areas,
        wider: Mapping[str, Areas],
        memory: float,
        excerpt: Excerpt | None = None,
    ) -> None:
        columns = coding.columns(plan, files, areas)
        self._plan, self._wider = plan, wider
        theirs, card = plan.columns.read, plan.source.card
        self._card = card if card and not are_numbers(files, card) else None
        self._used = sorted({theirs[ours] for ours in plan.columns.used if ours in theirs})
        self.batches = Batches(files, self._used, self._card, excerpt)
        self._cards = CardShapes()
        self._reasons = Reasons(columns)
        self._slow_path = SlowPath(plan, columns, self._reasons)
        # Days keep coming as the files go by; the first column of a tally may grow without moving anything.
        sets = maximal_sets(tuple(sorted(plan.columns.of(table), key="date".__ne__)) for table in plan.table)
        if plan.source.most_per_row:  # rows of one cell and one number are counted, and then multiplied
            sets = [(*each, COUNT) for each in sets]
        fixed = {column.name: len(column.fixed_labels) for column in columns if column.fixed_labels}
        each_has = memory / len(sets)
        room = int(each_has / BYTES_OF_A_COUNTER), int(each_has / BYTES_OF_A_CELL)
        self._tallies = [Tally(each, fixed, *room, self.batches.rows) for each in sets]
        self._fast_path = FastPath(self._slow_path, self._tallies)
        self._in_vain = self._skip = 0
        self._refused: Counter[int] = Counter()

    def count(self) -> Counted:
        """The exact tables of the plan, and the refused rows; raises `NeedsEngineError` if an engine must count."""
        for batch in self.batches:
            if self._card:
                self._cards.see(batch.column(batch.schema.get_field_index(self._card)))
            batch = self._slow_path.index.encoded(batch.select(self._used))
            left = [start + self._add_ordinary(piece) for start, piece in pieces(batch)]
            for _, piece in pieces(batch.take(np.concatenate(left))):
                self._add_any(piece)
        return self._counted(self.batches.refused)

    def _add_ordinary(self, batch: pa.RecordBatch) -> Positions:
        """Count the rows that can take the fast path; return the others."""
        if self._skip:
            self._skip -= 1
            return np.arange(batch.num_rows)
        left = self._fast_path.add(batch)
        if 4 * len(left) > batch.num_rows:
            # Many have something new, such as a day: once some have made it known, the others can take the fast path.
            known = self._slow_path.index.learnt
            self._add_any(batch.take(left[:FEW]))
            left = left[FEW:]
            if len(left) and self._slow_path.index.learnt > known:
                left = left[self._fast_path.add(batch.take(left))]
        # Where most rows are refused, or of days that the plan does not cover, the fast path is not worth trying.
        self._in_vain = self._in_vain + 1 if 2 * len(left) > batch.num_rows else 0
        self._skip = min(MOST_SKIPPED, (1 << self._in_vain) - 1)
        return left

    def _add_any(self, batch: pa.RecordBatch) -> None:
        """Count rows, some of which may be refused."""
        codes, refused, reasons = self._slow_path.code(batch)
        found, numbers = np.unique(reasons, return_counts=True)
        self._refused.update(dict(zip(found.tolist(), numbers.tolist(), strict=True)))
        sizes = self._slow_path.index.sizes
        for tally in self._tallies:
            keys = np.zeros(batch.num_rows, dtype=np.int64)
            for name, stride in tally.strides(sizes).items():
                keys += codes[name] * stride
            keys[refused] = NOT_COUNTED
            tally.add(keys)

    def _counted(self, lines: Counter[Reason]) -> Counted:
        coded, final = [], {}
        for name, vocabulary in self._slow_path.index.vocabularies.items():
            code, final[name] = vocabulary.sorted()
            coded.append(code)
        rows, tables = 0, dict[str, ExactTable]()
        labels = next((code.labels for code in coded if code.column.name == COUNT), None)
        per_row = None if labels is None else np.array(labels, dtype=np.int64)
        for tally in self._tallies:
            # The tables that are made from it: it is the first that has all their columns.
            own = [table for table in self._plan.table if set(self._plan.columns.of(table)) <= set(tally.columns)]
            own = [table for table in own if table.name not in tables]
            shape, rows = (len(tally.columns), tally.added), 0
            rollups = [Rollup(self._plan, table, coded, self._wider, *shape) for table in own]
            for cells, numbers in tally.cells():
                rows += int(numbers.sum())
                finally_coded = {column: final[column][each] for column, each in cells.items()}
                if per_row is not None:
                    numbers = numbers * per_row[finally_coded[COUNT]]
                    there = numbers > 0  # a row of no trips is no cell
                    finally_coded, numbers = {name: each[there] for name, each in finally_coded.items()}, numbers[there]
                for rollup in rollups:
                    rollup.add(finally_coded, numbers)
            tables |= {table.name: rollup.table() for table, rollup in zip(own, rollups, strict=True)}
        refusals = Refusals.of(self._reasons.of, self._refused, rows, lines)
        in_order = {table.name: tables[table.name] for table in self._plan.table}
        return Counted(in_order, refusals, cards=self._cards if self._card else None)


def pieces(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Pieces of a batch, each with the index of its first row."""
    for start in range(0, batch.num_rows, AT_ONCE):
        yield start, batch.slice(start, AT_ONCE)
