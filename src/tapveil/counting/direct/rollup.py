"""A table of the plan, summed from the finest counted cells, a piece at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tapveil.counting import coding
from tapveil.counting.coding import Code
from tapveil.counting.direct.tally import summed
from tapveil.counting.exact import ExactTable
from tapveil.counting.packing import Words
from tapveil.inputs.areas import Areas
from tapveil.plan.model import Plan, Table
from tapveil.trips.buffers import Integers

ALWAYS_DENSE, MOST_DENSE = 1 << 16, 1 << 22


class Rollup:
    """One table while it is summed."""

    def __init__(
        self, plan: Plan, table: Table, coded: Sequence[Code], wider: Mapping[str, Areas], columns: int, trips: int
    ) -> None:
        """Prepare to sum cells with this many columns, for this many trips."""
        self._name = table.name
        self._recodings, self._labels, self._packing = coding.at_level(plan, table, coded, wider)
        self._adds_up = bool(self._recodings) or len(self._packing.columns) < columns
        room = math.prod(self._packing.sizes)
        dense = self._adds_up and room <= min(MOST_DENSE, max(ALWAYS_DENSE, trips))
        self._dense = np.zeros(room, dtype=np.int64) if dense else None
        self._cells: list[tuple[Words, Integers]] = []

    def add(self, cells: Mapping[str, Integers], numbers: Integers) -> None:
        """Add cells, by the codes of their columns, and their counts."""
        codes = {column: cells[column] for column in self._packing.columns}
        for column, recoding in self._recodings.items():
            mode = cells["mode"] if len(recoding.codes) > 1 else np.zeros(len(numbers), dtype=np.int64)
            codes[column] = np.array(recoding.codes, dtype=np.int64)[mode, cells[column]]
        words = self._packing.pack(codes, len(numbers))
        if self._dense is None:
            self._cells.append((words, numbers))
        else:
            np.add.at(self._dense, words[0], numbers)

    def table(self) -> ExactTable:
        """The table of all added cells."""
        if self._dense is not None:
            occurring = np.flatnonzero(self._dense)
            return ExactTable(self._name, self._packing, self._labels, (occurring,), self._dense[occurring])
        words = tuple(_joined([each[word] for each, _ in self._cells]) for word in range(self._packing.words))
        numbers = _joined([numbers for _, numbers in self._cells])
        words, numbers = _summed(words, numbers) if self._adds_up else (words, numbers)
        return ExactTable(self._name, self._packing, self._labels, words, numbers)


def _joined(parts: Sequence[Integers]) -> Integers:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _summed(words: Words, numbers: Integers) -> tuple[Words, Integers]:
    if len(words) == 1:
        keys, numbers = summed(words[0], numbers)
        return (keys,), numbers
    cells, inverse = np.unique(np.stack(words, axis=1), axis=0, return_inverse=True)
    every = np.zeros(len(cells), dtype=np.int64)
    np.add.at(every, inverse.reshape(-1), numbers)
    return tuple(cells[:, word].copy() for word in range(len(words))), every
