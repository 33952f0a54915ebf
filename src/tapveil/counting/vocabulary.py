"""What spellings mean, learnt as they are met: for counting in one pass, when nobody has listed them before.

A label gets the next code when it is first seen. At the end the codes are put into the order of the alphabet, as
`codes.assign` gives them: in what order the trips came must not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tapveil.counting.codes import Code, CodedSpelling, Column, Reasons, coded

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Entries:
    """What each of some spellings becomes; the last entry is for none at all."""

    codes: tuple[Integers, ...]
    """The code, in each variant of the column."""
    refusals: Integers
    modes: Integers
    """In the column of modes: which variant of other columns a mode asks for."""


class _Numbers(dict[str, int]):
    """Labels, numbered as they come."""

    def __missing__(self, label: str) -> int:
        return self.setdefault(label, len(self))


class Vocabulary:
    """The spellings of one column, as far as they have been met."""

    def __init__(self, column: Column, reasons: Reasons, looked_up: Sequence[str] = ()) -> None:
        self.column = column
        self._reasons = reasons
        self._variant_of = {mode: number for number, mode in enumerate(looked_up, start=1)}
        self._numbers = _Numbers({label: number for number, label in enumerate(column.fixed_labels)})
        if column.missing is not None:
            self._numbers[column.missing]
        self._known: dict[str, CodedSpelling] = {}
        self._absent = self._understood(None)

    @property
    def size(self) -> int:
        """How many codes there are by now."""
        return len(self._numbers)

    def entries(self, spellings: Sequence[str]) -> Entries:
        """What each of these becomes, and last what none at all becomes."""
        known = self._known
        found = [known.get(text) or self._learn(text) for text in spellings]
        found.append(self._absent)
        variants = range(len(self.column.variants))
        modes = [*(self._variant_of.get(text.strip(), 0) for text in spellings), 0] if self._variant_of else []
        return Entries(
            tuple(np.array([each.codes[variant] for each in found], dtype=np.int64) for variant in variants),
            np.array([each.refusal for each in found], dtype=np.int64),
            np.array(modes, dtype=np.int64),
        )

    def sorted(self) -> tuple[Code, Integers]:
        """All labels in the order of their final codes, and the final code of each that was given."""
        labels = self.column.fixed_labels or tuple(sorted(self._numbers))
        final = {label: code for code, label in enumerate(labels)}
        return Code(self.column, labels), np.array([final[label] for label in self._numbers], dtype=np.int64)

    def _learn(self, text: str) -> CodedSpelling:
        return self._known.setdefault(text, self._understood(text))

    def _understood(self, text: str | None) -> CodedSpelling:
        labels = tuple("" if text is None else understand(text) for understand in self.column.variants)
        return coded(self.column, labels, self._numbers, self._reasons)
