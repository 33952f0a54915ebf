"""Cells as integers: the codes of a cell's columns packed into as few 64-bit words as they need.

Codes follow the alphabet of the labels and the first column weighs most, so sorting cells by their words sorts
them by their labels, and engines group by integers instead of texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

WORD = 2**32
"""The room of a word. The upper half of its 64 bits is left for reasons to refuse a row (see `query`)."""

Words = tuple[npt.NDArray[np.int64], ...]


@dataclass(frozen=True)
class Slot:
    """The place of one column's code: its word, its stride, and the number of codes."""

    word: int
    stride: int
    size: int


@dataclass(frozen=True)
class Packing:
    """A layout for the cells of some columns, given the number of codes of each column.

    >>> packing = Packing(("mode", "hour"), (4, 24))
    >>> packing.slots
    {'mode': Slot(word=0, stride=24, size=4), 'hour': Slot(word=0, stride=1, size=24)}
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """The slot of each column; a new word starts when the last one is full."""
        words, room = list[list[int]]([[]]), WORD
        for index, size in enumerate(self.sizes):
            if room < size:
                words.append([])
                room = WORD
            room //= max(1, size)
            words[-1].append(index)
        slots = {}
        for number, members in enumerate(words):
            for index in members:
                after = (max(1, self.sizes[each]) for each in members if each > index)
                slots[self.columns[index]] = Slot(number, math.prod(after), self.sizes[index])
        return slots

    @property
    def words(self) -> int:
        """The number of words of a cell."""
        return 1 + max((slot.word for slot in self.slots.values()), default=0)

    def pack_sql(self, codes: Mapping[str, str]) -> list[str]:
        """An SQL expression for each word, from an expression for the code of each column."""
        terms: list[list[str]] = [[] for _ in range(self.words)]
        for column, slot in self.slots.items():
            terms[slot.word].append(f"CAST({codes[column]} AS BIGINT) * {slot.stride}")
        return [" + ".join(word) or "CAST(0 AS BIGINT)" for word in terms]

    def unpack_sql(self, words: Sequence[str]) -> dict[str, str]:
        """An SQL expression for the code of each column, from an expression for each word."""
        return {
            column: f"(({words[slot.word]} // {slot.stride}) % {max(1, slot.size)})"
            for column, slot in self.slots.items()
        }

    def pack(self, codes: Mapping[str, npt.NDArray[np.int64]], cells: int) -> Words:
        """The words of a number of cells, from the code of each column; without any column, all are one cell."""
        words = [np.zeros(cells, dtype=np.int64) for _ in range(self.words)]
        for column, slot in self.slots.items():
            words[slot.word] += codes[column] * slot.stride
        return tuple(words)

    def unpack(self, words: Words) -> dict[str, npt.NDArray[np.int64]]:
        """The code of each column, from the words."""
        codes = {}
        for column, slot in self.slots.items():
            above, size = words[slot.word] // slot.stride, max(1, slot.size)
            codes[column] = above - above // size * size  # a division takes many numbers at a time, `%` one by one
        return codes
