"""Counting cards, or their days, straight from the files: bounded first, then once per cell.

Rows are coded as in the `slow_path`, and put aside in `shares` with the MD5 of their card. When all labels are known, a
share at a time is sorted by card: sorted arrays say how many rows a card has, which are kept (`ranks`), and which
cells they are in (`units`). The same numbers as by SQL (`query`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from tapveil.base.vocabulary import CARD
from tapveil.counting import coding, ranks
from tapveil.counting.card_ids import CardShapes, are_numbers
from tapveil.counting.coding import Code, Reasons
from tapveil.counting.direct import cards
from tapveil.counting.direct.batches import Batches
from tapveil.counting.direct.counter import BYTES_OF_A_CELL, BYTES_OF_A_COUNTER, pieces
from tapveil.counting.direct.shares import Rows, Shares
from tapveil.counting.direct.slow_path import SlowPath
from tapveil.counting.direct.tally import Tally
from tapveil.counting.direct.units import at_most, changes, least
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.packing import Packing, Words
from tapveil.counting.refusals import Refusals
from tapveil.counting.sql.query import maximal_sets
from tapveil.inputs.areas import Areas
from tapveil.plan.model import Plan, Table
from tapveil.trips.buffers import AnyIntegers, Integers, Positions
from tapveil.trips.excerpt import Excerpt
from tapveil.trips.files import TripFiles

ROWS_AT_ONCE = 1 << 20
"""Rows of cards counted at a time, unless a single share has more."""
OF_TABLES = 0.5
"""The part of the memory that counts of cells may take."""
NO_COLUMN = "#all"
"""A column for tables that have none; names of the plan cannot contain a #."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def suits(plan: Plan, files: TripFiles) -> bool:
    """Whether the cards can be read here."""
    theirs = plan.columns.read[CARD]
    return "." not in theirs and all(group.type_of(theirs) in ("text", "integer") for group in files.groups)


@dataclass(frozen=True, eq=False)
class _Table:
    """A table while its units are counted."""

    table: Table
    packing: Packing
    labels: Mapping[str, tuple[str, ...]]
    added: Mapping[str, Integers]
    """What each code of a column adds to the key of a cell; for each mode, where it depends on it."""
    tally: Tally

    def keys(self, codes: Mapping[str, AnyIntegers]) -> Integers:
        """The key of the cell of each row."""
        keys = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for column, added in self.added.items():
            keys += added[codes[column]] if added.ndim == 1 else added[codes["mode"], codes[column]]
        return keys

    def exact(self) -> ExactTable:
        """The table of all counted cells."""
        found = [(self.packing.pack(codes, len(n)), n) for codes, n in self.tally.cells()]
        none = np.empty(0, dtype=np.int64)
        words: Words = tuple(
            np.concatenate([none, *(each[word] for each, _ in found)]) for word in range(self.packing.words)
        )
        numbers = np.concatenate([none, *(n for _, n in found)])
        return ExactTable(self.table.name, self.packing, self.labels, words, numbers)


class CardPass(AbstractContextManager["CardPass"]):
    """One pass over the files, and then over the cards."""

    def __init__(
        self,
        plan: Plan,
        files: TripFiles,
        areas: Areas,
        wider: Mapping[str, Areas],
        memory: float,
        scratch: Path | None = None,
        excerpt: Excerpt | None = None,
    ) -> None:
        self._plan, self._wider, self._memory = plan, wider, memory
        columns, card = coding.columns(plan, files, areas), coding.card_column(plan, files)
        if card is None:
            raise AssertionError("the plan does not count cards")
        self._names, self._card, self._theirs = [column.name for column in columns], card, plan.columns.read[CARD]
        self._reasons = Reasons([*columns, card])
        self._slow_path = SlowPath(plan, columns, self._reasons)
        self._used = sorted({theirs for ours, theirs in plan.columns.read.items() if ours in plan.columns.used})
        self.batches = Batches(files, {*self._used, self._theirs}, self._theirs, excerpt)
        self._shapes = None if are_numbers(files, self._theirs) else CardShapes()
        self._shares = Shares(scratch)
        self._refused: Counter[int] = Counter()
        self._accepted = self._alone = 0
        self.done = 0.0
        """The part of the cards that is counted."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._shares.__exit__(*error)

    def read(self) -> None:
        """Read all rows; raises `NeedsEngineError` if an engine must count."""
        for batch in self.batches:
            column = batch.column(batch.schema.get_field_index(self._theirs))
            if self._shapes:
                self._shapes.see(column)
            coded = self._slow_path.index.encoded(batch.select(self._used))
            for start, piece in pieces(coded if self._used else batch):
                self._add(piece, column.slice(start, piece.num_rows))

    def count(self) -> Counted:
        """The exact tables of the plan, and the refused rows; raises `NeedsEngineError` if an engine must count."""
        coded, final = list[Code](), dict[str, Integers]()
        for name, vocabulary in self._slow_path.index.vocabularies.items():
            code, final[name] = vocabulary.sorted()
            coded.append(code)
        tables = [self._table(table, coded, final) for table in self._plan.table]
        numbers = {code.column.name: ranks.numbers(code)[final[code.column.name]] for code in coded}
        kept = 0
        for done, rows in self._shares.groups(ROWS_AT_ONCE):
            if len(rows) and len(rows[0]):
                kept += self._count(rows, tables, numbers, final)
            self.done = done
        exact = {each.table.name: each.exact() for each in tables}
        refusals = Refusals.of(self._reasons.of, self._refused, self._accepted, self.batches.refused)
        return Counted(exact, refusals, self._accepted - kept, self._shapes)

    def _add(self, batch: pa.RecordBatch, column: pa.Array) -> None:
        """Put the rows of a batch aside, except those that are refused."""
        found = cards.read(column, self._plan.source.missing(CARD))
        without = np.flatnonzero(found.none)
        if self._card.missing is None:
            codes, refused, reasons = self._slow_path.code(batch, without, self._reasons.missing(self._card))
        else:
            codes, refused, reasons = self._slow_path.code(batch)
            # A row without a card is its own unit: a card that no other row has, in any share.
            own = np.arange(self._alone, self._alone + len(without)).astype(np.uint64)
            found.first[without], found.second[without] = own * _SPREAD, own * _SPREAD * _SPREAD
            self._alone += len(without)
        why, times = np.unique(reasons, return_counts=True)
        self._refused.update(dict(zip(why.tolist(), times.tolist(), strict=True)))
        rows: Rows = (found.first, found.second, *(codes[name].astype(np.int32) for name in self._names))
        self._accepted += batch.num_rows - len(refused)
        self._shares.add(tuple(np.delete(each, refused) for each in rows) if len(refused) else rows)

    def _table(self, table: Table, coded: Sequence[Code], final: Mapping[str, Integers]) -> _Table:
        recodings, labels, packing = coding.at_level(self._plan, table, coded, self._wider)
        each_has = self._memory * OF_TABLES / len(self._plan.table)
        sizes = dict(zip(packing.columns, packing.sizes, strict=True)) or {NO_COLUMN: 1}
        room = int(each_has / BYTES_OF_A_COUNTER), int(each_has / BYTES_OF_A_CELL)
        tally = Tally(tuple(sizes), sizes, *room, self._accepted)
        strides = tally.strides({column: max(1, size) for column, size in sizes.items()})
        added = {}
        for column in packing.columns:
            added[column] = final[column] * strides[column]
            if column in recodings:
                recoded = np.array(recodings[column].codes, dtype=np.int64)[:, final[column]] * strides[column]
                added[column] = recoded[final["mode"]] if len(recoded) > 1 else recoded[0]
        return _Table(table, packing, labels, added, tally)

    def _count(
        self, rows: Rows, tables: Sequence[_Table], numbers: Mapping[str, Integers], final: Mapping[str, Integers]
    ) -> int:
        """Count some shares; return how many rows were kept."""
        order, units = _by_card(rows[0], rows[1])
        codes = {name: column[order] for name, column in zip(self._names, rows[2:], strict=True)}
        card, privacy = rows[0][order].view(np.uint64), self._plan.privacy
        days = len(final["date"]) if "date" in final else 1
        day = units * days + codes["date"] if privacy.trips_per_day else units

        def rank(these: Positions) -> Integers:
            total = np.zeros(len(these), dtype=np.int64)
            for name, number in numbers.items():
                total += number[codes[name][these]]
            return ranks.ranks(card[these], total)

        def labels(these: Positions) -> list[Integers]:
            return [final[name][codes[name][these]] for name in self._in_order()]

        for most, by_day in ((privacy.trips_per_day, True), (privacy.trips_per_card, False)):
            if most is not None:
                kept = least(day if by_day else units, most, rank, labels)
                codes, card = {name: each[kept] for name, each in codes.items()}, card[kept]
                units, day = units[kept], day[kept]
        unit = day if privacy.unit == "card-day" else units
        for table in tables:
            cells = table.keys(codes | {"#": unit})
            table.tally.add(at_most(table.table.most_per_cell, unit, cells))
        return len(unit)

    def _in_order(self) -> Iterator[str]:
        """The columns of all cells, in the order in which rows of equal rank are sorted (`query.kept_sql`)."""
        sets = maximal_sets(self._plan.columns.of(table) for table in self._plan.table)
        return iter(dict.fromkeys(column for each in sets for column in each))


def _by_card(first: AnyIntegers, second: AnyIntegers) -> tuple[Positions, Integers]:
    """The order of rows by card, and in it the number of each row's card."""
    # Sorting numbers is quicker than sorting places, so a number has its place in its last bits.
    last = (1 << len(first).bit_length()) - 1
    order = (np.sort((second.view(np.int64) & ~last) | np.arange(len(first))) & last).astype(np.intp)
    begins = changes(first[order]) | changes(second[order])
    if np.count_nonzero(begins) > np.count_nonzero(changes((second.view(np.int64) & ~last)[order])):
        order = np.lexsort((second, first))  # two cards with equal bits, perhaps one between the rows of the other
        begins = changes(first[order]) | changes(second[order])
    return order, np.cumsum(begins) - 1
