"""The meaning of raw values, learnt on the way: for counting in one pass, without a list of them.

A label gets the next code with its first row. At the end codes are put into alphabetical order, as in
`coding.assign`: the order of the trips must not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tapveil.counting.coding import Code, Column, Reasons, understood
from tapveil.trips.buffers import Integers

REFUSED = -2
"""Replaces the code of a raw value whose row is refused."""
NEW = -1
"""Replaces the code of a label without rows so far. A stop may mean one area for buses and another for trains: most
such pairs never occur, and must not take room."""


@dataclass(frozen=True)
class Entries:
    """The codes of some raw values; the last entry is for a missing value."""

    numbers: Integers
    """The numbers of the raw values in the vocabulary."""
    codes: Integers
    """All codes in the first variant of the column, then all in the second, …; or NEW, or REFUSED."""
    refusals: Integers
    modes: Integers
    """In the column of modes: the variant of other columns for each mode."""

    def __len__(self) -> int:
        return len(self.numbers)


ABSENT = 0
"""The number of a missing value."""


class Vocabulary:
    """The known raw values of one column, each with a number."""

    def __init__(self, column: Column, reasons: Reasons, looked_up: Sequence[str] = ()) -> None:
        self.column = column
        self._reasons = reasons
        self._variant_of = {mode: number for number, mode in enumerate(looked_up, start=1)}
        self._given = {label: code for code, label in enumerate(column.fixed_labels)}
        if column.missing is not None:  # it has a label, whether or not a row has none
            self._given.setdefault(column.missing, len(self._given))
        self._numbers: dict[str, int] = {}
        self._meant: list[tuple[str, ...] | int] = []
        self._codes = np.full((len(column.variants), 1), NEW, dtype=np.int64)
        self._refusals, self._modes = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        self._last: Entries | None = None
        self.learnt = 0
        """How often new labels were learnt."""
        self._add(understood(column, ("",) * len(column.variants), reasons), 0)

    @property
    def size(self) -> int:
        """The current number of codes, at least 1."""
        return max(1, len(self._given))

    def numbers(self, raw_values: Sequence[str]) -> Integers:
        """The numbers of raw values, and last that of a missing value; new ones are parsed."""
        try:
            found = [*map(self._numbers.__getitem__, raw_values)]
        except KeyError:
            for text in (text for text in raw_values if text not in self._numbers):
                labels = tuple(understand(text) for understand in self.column.variants)
                self._numbers[text] = len(self._meant)
                self._add(understood(self.column, labels, self._reasons), self._variant_of.get(text.strip(), 0))
            found = [*map(self._numbers.__getitem__, raw_values)]
        return np.array([*found, ABSENT], dtype=np.int64)

    def entries(self, numbers: Integers) -> Entries:
        """The current codes of the raw values with these numbers."""
        if self._last is None or self._last.numbers is not numbers:
            modes = self._modes[numbers] if self._variant_of else np.empty(0, dtype=np.int64)
            self._last = Entries(numbers, self._codes[:, numbers].reshape(-1), self._refusals[numbers], modes)
        return self._last

    def give_codes(self, entries: Entries, indices: Integers) -> None:
        """Assign codes to the new labels at these indices."""
        self._last = None  # another index of these entries may have one of the labels
        self.learnt += 1
        for index in indices.tolist():
            variant, entry = divmod(index, len(entries))
            meant = self._meant[number := int(entries.numbers[entry])]
            if not isinstance(meant, int):
                code = self._given.setdefault(meant[variant], len(self._given))
                self._codes[variant, number] = entries.codes[index] = code

    def sorted(self) -> tuple[Code, Integers]:
        """All labels in the order of their final codes, and the final code for each current one."""
        labels = self.column.fixed_labels or tuple(sorted(self._given))
        final = {label: code for code, label in enumerate(labels)}
        return Code(self.column, labels), np.array([final[label] for label in self._given], dtype=np.int64)

    def _add(self, meant: tuple[str, ...] | int, variant: int) -> None:
        number = len(self._meant)
        self._meant.append(meant)
        if number == len(self._refusals):
            self._codes = np.concatenate([self._codes, np.full_like(self._codes, NEW)], axis=1)
            self._refusals, self._modes = (np.concatenate([a, np.zeros_like(a)]) for a in (self._refusals, self._modes))
        self._modes[number] = variant
        if isinstance(meant, int):
            self._codes[:, number], self._refusals[number] = REFUSED, meant
        else:
            self._codes[:, number] = [self._given.get(label, NEW) for label in meant]
