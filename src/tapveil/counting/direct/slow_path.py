"""The slow path: codes for any rows. New labels get codes, and refused rows a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tapveil.counting.coding import Column, Reasons
from tapveil.counting.direct.clock import Clock
from tapveil.counting.direct.dictionary_index import DictionaryIndex, IndexedColumn
from tapveil.counting.direct.durations import Durations
from tapveil.counting.direct.vocabulary import Entries
from tapveil.plan.model import Plan
from tapveil.trips.buffers import Integers, Positions


@dataclass(frozen=True)
class _Column:
    """A column of a batch: the code of each row, or a negative number where it has none yet."""

    codes: Integers
    unsettled: Positions
    """The rows without a code: they are refused, or the first with their label."""
    refusals: Integers
    """For each unsettled row the reason to refuse it, or 0."""
    entries: Entries | None = None
    indices: Integers | None = None
    """The index of each row into the entries."""


class SlowPath:
    """Turns one batch after the other into codes."""

    def __init__(self, plan: Plan, columns: Sequence[Column], reasons: Reasons) -> None:
        # The mode first: what a stop is may depend on it.
        self.columns, self._reasons = sorted(columns, key=lambda column: column.name != "mode"), reasons
        self.index = DictionaryIndex(plan, columns, reasons)
        self.clocks = {column.name: Clock(column, plan.columns.times()) for column in columns if column.arithmetic}
        self.durations = Durations(plan) if any(column.kind == "duration" for column in columns) else None

    def code(
        self, batch: pa.RecordBatch, also: Positions | None = None, reason: int = 0
    ) -> tuple[dict[str, Integers], Positions, Integers]:
        """The codes of each column of a batch; the refused rows, whose codes are undefined; and the reason for each.

        Args:
            also: rows that are refused for another reason, whatever their columns say.
        """
        found: dict[str, _Column] = {}
        mode: IndexedColumn | None = None
        for column in self.columns:
            array = self.index.array(column, batch)
            durations = self.durations if column.kind == "duration" else None
            if durations or (column.arithmetic and array is not None):
                codes, refused = durations.codes(batch) if durations else self.clocks[column.name].codes(array)
                why = np.full(len(refused), self._reasons.unreadable(column), dtype=np.int64)
                found[column.name] = _Column(codes, refused, why)
                continue
            indexed = self.index.of(column, batch, mode)
            mode = indexed if column.name == "mode" else mode
            found[column.name] = _looked_up(indexed, batch.num_rows)
        # A row is refused for one reason, or for several, which are added.
        also = np.empty(0, dtype=np.intp) if also is None else also
        rows = [also, *(each.unsettled[each.refusals != 0] for each in found.values())]
        added = [np.full(len(also), reason), *(each.refusals[each.refusals != 0] for each in found.values())]
        refused, position = np.unique(np.concatenate(rows), return_inverse=True)
        reasons = np.zeros(len(refused), dtype=np.int64)
        np.add.at(reasons, position, np.concatenate(added))
        for name, each in found.items():
            self._settle(name, each, refused)
        return {name: each.codes for name, each in found.items()}, refused, reasons

    def _settle(self, name: str, column: _Column, refused: Positions) -> None:
        """Assign codes to new labels; labels that only refused rows have get none."""
        if column.entries is None or column.indices is None or not len(column.unsettled):
            return
        new = column.unsettled[~np.isin(column.unsettled, refused, assume_unique=True)]
        if len(new):
            indices = column.indices[new]
            self.index.vocabularies[name].give_codes(column.entries, np.unique(indices))
            column.codes[new] = column.entries.codes[indices]


def _looked_up(indexed: IndexedColumn, rows: int) -> _Column:
    entries = indexed.entries
    indices = np.full(rows, indexed.indices) if isinstance(indexed.indices, int) else indexed.indices
    codes = entries.codes[indices]
    unsettled = np.flatnonzero(codes < 0)
    return _Column(codes, unsettled, entries.refusals[indices[unsettled] % len(entries)], entries, indices)
