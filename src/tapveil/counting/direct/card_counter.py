"""Counting cards, or their days, straight from the files: bounded first, then once per cell.

Rows are coded as in the `slow_path`, and put aside in `shares` with the MD5 of their card. When all labels are known, a
share at a time is sorted by card: sorted arrays say how many rows a card has, which are kept (`ranks`), and which
cells they are in (`units`). The same numbers as by SQL (`query`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from tapveil.base.vocabulary import CARD
from tapveil.counting import coding, ranks
from tapveil.counting.card_ids import CardShapes, are_numbers
from tapveil.counting.coding import Code, Reasons
from tapveil.counting.direct import cards, taps
from tapveil.counting.direct.batches import Batches
from tapveil.counting.direct.counter import BYTES_OF_A_CELL, BYTES_OF_A_COUNTER, pieces
from tapveil.counting.direct.shares import Rows, Shares
from tapveil.counting.direct.slow_path import SlowPath
from tapveil.counting.direct.tally import Tally
from tapveil.counting.direct.taps import Taps, TapsOfBatch
from tapveil.counting.direct.units import at_most, changes, least
from tapveil.counting.direct.vocabulary import Vocabulary
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.packing import Packing, Words
from tapveil.counting.refusals import Refusals
from tapveil.counting.sql.query import maximal_sets
from tapveil.inputs.areas import Areas
from tapveil.plan.model import Plan, Table
from tapveil.trips.buffers import AnyIntegers, Flags, Integers, Positions
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
    if plan.source.taps and not taps.suits(plan, files):
        return False
    known = (theirs in group.names and group.type_of(theirs) in ("text", "integer") for group in files.groups)
    return "." not in theirs and all(known)


@dataclass(frozen=True, eq=False)
class _Coded:
    """All labels, once all rows are read. Rows have codes in the order in which labels came."""

    columns: Sequence[Code]
    final: Mapping[str, Integers]
    """The final code for each code of a column, in the order of the labels."""
    numbers: Mapping[str, Integers]
    """The number of each code's label (`ranks`)."""
    missing: Mapping[str, int]
    """The code of a missing value, in the columns that have a label for it."""

    @classmethod
    def of(cls, vocabularies: Iterable[Vocabulary]) -> _Coded:
        columns, final, numbers, missing = list[Code](), {}, {}, {}
        for vocabulary in vocabularies:
            name = vocabulary.column.name
            code, final[name] = vocabulary.sorted()
            columns.append(code)
            numbers[name] = ranks.numbers(code)[final[name]]
            if code.column.missing is not None:
                missing[name] = int(np.flatnonzero(final[name] == code.labels.index(code.column.missing))[0])
        return cls(columns, final, numbers, missing)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of some cards: the first half of the card's MD5, the number of the card, and the codes of all columns."""

    cards: ranks.Words
    units: Integers
    codes: dict[str, AnyIntegers]

    def chosen(self, which: Flags | Positions) -> _Rows:
        return _Rows(self.cards[which], self.units[which], {name: each[which] for name, each in self.codes.items()})

    def days(self, coded: _Coded) -> Integers:
        """The numbers of cards and days."""
        return self.units * len(coded.final["date"]) + self.codes["date"]

    def ranks(self, coded: _Coded, which: Positions) -> Integers:
        total = np.zeros(len(which), dtype=np.int64)
        for name, numbers in coded.numbers.items():
            total += numbers[self.codes[name][which]]
        return ranks.ranks(self.cards[which], total)

    def labels(self, coded: _Coded, names: Sequence[str], which: Positions) -> list[Integers]:
        """Codes in the order of the labels."""
        return [coded.final[name][self.codes[name][which]] for name in names]


@dataclass(frozen=True, eq=False)
class _Table:
    """A table while its units are counted."""

    table: Table
    packing: Packing
    labels: Mapping[str, tuple[str, ...]]
    added: Mapping[str, Integers]
    """What each code of a column adds to the key of a cell; for each mode, where it depends on it."""
    tally: Tally

    def keys(self, codes: Mapping[str, AnyIntegers], rows: int) -> Integers:
        """The key of the cell of each row."""
        keys = np.zeros(rows, dtype=np.int64)
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
        self._used = sorted(set(plan.columns.read.values()) - {self._theirs})
        self.batches = Batches(files, {*self._used, self._theirs}, self._theirs, excerpt)
        self._taps = Taps(plan) if plan.source.taps else None
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
            if self._shapes:
                self._shapes.see(batch.column(batch.schema.get_field_index(self._theirs)))
            batch = self._taps.counted(batch) if self._taps else batch
            column = batch.column(batch.schema.get_field_index(self._theirs))
            coded = self._slow_path.index.encoded(batch.select(self._used))
            for start, piece in pieces(coded if self._used else batch):
                self._add(piece, column.slice(start, piece.num_rows))

    def count(self) -> Counted:
        """The exact tables of the plan, and the refused rows; raises `NeedsEngineError` if an engine must count."""
        coded = _Coded.of(self._slow_path.index.vocabularies.values())
        tables = [self._table(table, coded.columns, coded.final) for table in self._plan.table]
        trips = kept = 0
        for done, rows in self._shares.groups(ROWS_AT_ONCE):
            if len(rows) and len(rows[0]):
                of_share = self._trips(rows, coded)
                trips += len(of_share.units)
                kept += self._count(of_share, tables, coded)
            self.done = done
        exact = {each.table.name: each.exact() for each in tables}
        refusals = Refusals.of(self._reasons.of, self._refused, self._accepted, self.batches.refused)
        return Counted(exact, refusals, trips - kept, self._shapes)

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
        if self._taps and self._plan.columns.pairs_taps:
            of_taps = self._taps.of(batch)
            rows = (*rows, of_taps.is_on.view(np.int8), of_taps.together.astype(np.int32), of_taps.second)
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

    def _count(self, rows: _Rows, tables: Sequence[_Table], coded: _Coded) -> int:
        """Count the trips of some shares; return how many of them were kept."""
        privacy = self._plan.privacy
        for most, by_day in ((privacy.trips_per_day, True), (privacy.trips_per_card, False)):
            if most is not None:
                units = rows.days(coded) if by_day else rows.units
                of_cells = partial(rows.labels, coded, self._in_order())
                rows = rows.chosen(least(units, most, partial(rows.ranks, coded), of_cells))
        units = rows.days(coded) if privacy.unit == "card-day" else rows.units
        for table in tables:
            cells = table.keys(rows.codes, len(units))
            table.tally.add(at_most(table.table.most_per_cell, units, cells))
        return len(units)

    def _trips(self, rows: Rows, coded: _Coded) -> _Rows:
        """The rows of some shares, card by card; where they are taps of both ends, the trips that they make."""
        order, units = _by_card(rows[0], rows[1])
        codes = {name: column[order] for name, column in zip(self._names, rows[2:], strict=False)}
        found = _Rows(rows[0].view(np.uint64)[order], units, codes)
        if self._taps is None or not self._plan.columns.pairs_taps:
            return found
        is_on, together, second = (column[order] for column in rows[2 + len(self._names) :])
        seen = TapsOfBatch(is_on.view(np.bool_), together.astype(np.int64), second.astype(np.int64, copy=False))
        # With card-days, taps of two days are never paired.
        among = found.days(coded) if self._plan.privacy.unit == "card-day" else found.units
        among = among * self._taps.shared + seen.together
        order, begins, ends = taps.paired(among, seen, self._taps.within, partial(found.labels, coded, self._names))
        found, begun_on = found.chosen(order), seen.is_on[order]
        for name, column in found.codes.items():
            if name.startswith("tap_off_"):
                following = np.append(column[1:], column[:1])
                found.codes[name] = np.where(begins, following, np.where(begun_on, coded.missing[name], column))
            elif name.startswith("tap_on_"):
                found.codes[name] = np.where(begun_on, column, coded.missing[name])
        return found.chosen(~ends)

    def _in_order(self) -> list[str]:
        """The columns of all cells, in the order in which rows of equal rank are sorted (`query.units_sql`)."""
        sets = maximal_sets(self._plan.columns.of(table) for table in self._plan.table)
        return list(dict.fromkeys(column for each in sets for column in each))


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
