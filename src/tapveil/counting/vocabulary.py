"""What spellings mean, learnt as they are met: for counting in one pass, when nobody has listed them before.

A label gets the next code when a row first has it. At the end the codes are put into the order of the alphabet, as
`codes.assign` gives them: in what order the trips came must not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tapveil.counting.codes import Code, Column, Reasons, understood

Integers = npt.NDArray[np.int64]

NEW = -1
"""Instead of the code of a label that no row has had yet. A stop may mean one area for buses and another for trains:
most such pairs never come up, and must not take room."""


@dataclass(frozen=True)
class Entries:
    """What each of some spellings becomes; the last entry is for none at all."""

    meant: list[tuple[str, ...] | int]
    codes: Integers
    """All codes in the first variant of the column, then all in the second, …; or NEW."""
    refusals: Integers
    modes: Integers
    """In the column of modes: which variant of other columns a mode asks for."""

    def __len__(self) -> int:
        return len(self.meant)

    def refuses(self, *, has_none: bool) -> bool:
        """Whether any row may be refused for its value here."""
        return bool((self.refusals if has_none else self.refusals[:-1]).any())


class Vocabulary:
    """The spellings of one column, as far as they have been met."""

    def __init__(self, column: Column, reasons: Reasons, looked_up: Sequence[str] = ()) -> None:
        self.column = column
        self._reasons = reasons
        self._variant_of = {mode: number for number, mode in enumerate(looked_up, start=1)}
        self._codes = {label: code for code, label in enumerate(column.fixed_labels)}
        self._known: dict[str, tuple[str, ...] | int] = {}
        self._absent = understood(column, ("",) * len(column.variants), reasons)

    @property
    def size(self) -> int:
        """How many codes there are by now; never none."""
        return max(1, len(self._codes))

    def entries(self, spellings: Sequence[str]) -> Entries:
        """What each of these becomes, and last what none at all becomes."""
        known, codes = self._known, self._codes
        meant = [known[text] if text in known else self._learn(text) for text in spellings]
        meant.append(self._absent)
        variants = range(len(self.column.variants))
        coded = [
            0 if isinstance(each, int) else codes.get(each[variant], NEW) for variant in variants for each in meant
        ]
        refusals = [each if isinstance(each, int) else 0 for each in meant]
        modes = [*(self._variant_of.get(text.strip(), 0) for text in spellings), 0] if self._variant_of else []
        return Entries(meant, *(np.array(each, dtype=np.int64) for each in (coded, refusals, modes)))

    def give_codes(self, entries: Entries, places: Integers) -> None:
        """Codes for the labels at these places, which rows have for the first time."""
        for place in places.tolist():
            variant, entry = divmod(place, len(entries))
            meant = entries.meant[entry]
            if not isinstance(meant, int):
                entries.codes[place] = self._codes.setdefault(meant[variant], len(self._codes))

    def sorted(self) -> tuple[Code, Integers]:
        """All labels in the order of their final codes, and the final code of each that was given."""
        labels = self.column.fixed_labels or tuple(sorted(self._codes))
        final = {label: code for code, label in enumerate(labels)}
        return Code(self.column, labels), np.array([final[label] for label in self._codes], dtype=np.int64)

    def _learn(self, text: str) -> tuple[str, ...] | int:
        labels = tuple(understand(text) for understand in self.column.variants)
        return self._known.setdefault(text, understood(self.column, labels, self._reasons))
