"""The columns of any rows as codes; which rows are refused, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.counting.coding import Column, Reasons
from tapveil.counting.direct.clock import Clock
from tapveil.counting.direct.dictionary_index import Placed, Places
from tapveil.counting.direct.vocabulary import Entries
from tapveil.inputs.areas import TimeBins
from tapveil.plan.model import Plan
from tapveil.trips.buffers import Integers

Positions = npt.NDArray[np.intp]

_NOWHERE: Positions = np.empty(0, dtype=np.intp)
_NO_REASON: Integers = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Coded:
    """A batch of rows as codes."""

    codes: Mapping[str, Integers]
    refused: Positions
    """Which rows are refused; their codes are anything."""
    reasons: Integers
    """Why, for each of them."""


@dataclass(frozen=True)
class _Column:
    """A column of a batch: for each row its code, or below 0 where that is not settled yet."""

    codes: Integers
    unsettled: Positions = field(default_factory=lambda: _NOWHERE)
    """Which rows have none: they are refused, or the first to have their label."""
    entries: Entries | None = None
    places: Integers | None = None
    """For each row its place among the entries."""
    reasons: Integers | None = None
    """Where there are no entries: why each unsettled row is refused."""

    def refusals(self) -> Integers:
        """For each unsettled row why it is refused; 0 where it is not."""
        if self.entries is None or self.places is None:
            return _NO_REASON if self.reasons is None else self.reasons
        refusals: Integers = self.entries.refusals[self.places[self.unsettled] % len(self.entries)]
        return refusals


class Coder:
    """Turns one batch after the other into codes."""

    def __init__(self, plan: Plan, columns: Sequence[Column], reasons: Reasons) -> None:
        # The mode first: what a stop is may depend on it.
        self.columns, self._reasons = sorted(columns, key=lambda column: column.name != "mode"), reasons
        self.places = Places(plan, columns, reasons)
        self.clocks = {column.name: Clock(column, TimeBins.of(plan)) for column in columns if column.arithmetic}

    @property
    def sizes(self) -> dict[str, int]:
        """How many codes each column has by now."""
        return {name: vocabulary.size for name, vocabulary in self.places.vocabularies.items()}

    @property
    def learnt(self) -> int:
        """How often rows had something for the first time."""
        return sum(vocabulary.learnt for vocabulary in self.places.vocabularies.values())

    def code(self, batch: pa.RecordBatch) -> Coded:
        """All columns of a batch."""
        found: dict[str, _Column] = {}
        mode: Placed | None = None
        for column in self.columns:
            array = self.places.array(column, batch)
            if column.arithmetic and array is not None:
                found[column.name] = self._times(column, array)
                continue
            placed = self.places.of(column, batch, mode)
            mode = placed if column.name == "mode" else mode
            found[column.name] = _looked_up(placed, batch.num_rows)
        refused, reasons = _refused(found.values())
        for name, each in found.items():
            self._settle(name, each, refused)
        return Coded({name: each.codes for name, each in found.items()}, refused, reasons)

    def _times(self, column: Column, array: pa.Array) -> _Column:
        codes = np.empty(len(array), dtype=np.int64)
        refused = self.clocks[column.name].codes(array, codes)
        return _Column(codes, refused, reasons=np.full(len(refused), self._reasons.unreadable(column), dtype=np.int64))

    def _settle(self, name: str, column: _Column, refused: Positions) -> None:
        """Codes for what rows have for the first time; what only refused rows say must not take room."""
        if column.entries is None or column.places is None or not len(column.unsettled):
            return
        new = column.unsettled[~np.isin(column.unsettled, refused, assume_unique=True)]
        if len(new):
            places = column.places[new]
            self.places.vocabularies[name].give_codes(column.entries, np.unique(places))
            column.codes[new] = column.entries.codes[places]


def _looked_up(placed: Placed, rows: int) -> _Column:
    places = np.full(rows, placed.places) if isinstance(placed.places, int) else placed.places
    codes = placed.entries.codes[places]
    return _Column(codes, np.flatnonzero(codes < 0), placed.entries, places)


def _refused(columns: Iterable[_Column]) -> tuple[Positions, Integers]:
    """The rows that are refused, and why: for one reason, or for several, which are added."""
    rows, reasons = [], []
    for column in columns:
        why = column.refusals()
        rows.append(column.unsettled[why != 0])
        reasons.append(why[why != 0])
    refused, place = np.unique(np.concatenate(rows), return_inverse=True)
    every = np.zeros(len(refused), dtype=np.int64)
    np.add.at(every, place, np.concatenate(reasons))
    return refused, every
