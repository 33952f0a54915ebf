"""Exact counts, as a type of their own. They must not leave.

`ExactTable` prints nothing of its contents. Its counts are read through `reveal` alone: by the veil, which publishes
through a mechanism, and by code for the data custodian alone. A test enforces that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.counting.card_ids import CardShapes
from tapveil.counting.packing import Packing, Words
from tapveil.counting.refusals import Refusals
from tapveil.plan.model import Plan

CELLS_AT_ONCE = 1 << 20
"""Of a list that may have millions: memory holds what is needed of as many."""


@dataclass(frozen=True, repr=False, eq=False)
class ExactTable:
    """The true count of every cell that occurs, in no particular order."""

    name: str
    packing: Packing
    labels: Mapping[str, tuple[str, ...]]
    words: Words
    _exact_counts: npt.NDArray[np.int64]
    """Read by `reveal.exact_counts` alone."""

    def __repr__(self) -> str:
        return f"ExactTable({self.name!r}, secret)"

    def places_in(self, cells: pa.Table) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The rows of a list of cells that occur in this table, ascending, and the index of each in this table."""
        if self.packing.words == 1:
            order = np.argsort(self.words[0])
            ours = self.words[0][order]
            places, found = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
            for start in range(0, len(cells), CELLS_AT_ONCE):
                # Of a table without columns, Arrow would slice rows that are not there.
                rows, at = self._places_of(cells.slice(start, min(CELLS_AT_ONCE, len(cells) - start)), ours)
                places.append(start + rows)
                found.append(at)
            return np.concatenate(places), order[np.concatenate(found)]
        wanted = {name: _codes(cells.column(name), labels) for name, labels in self.labels.items()}
        listed = pa.table(
            {**{name: pa.array(each, mask=each < 0) for name, each in wanted.items()}, "#place": np.arange(len(cells))}
        )
        codes = self.packing.unpack(self.words)
        own = {name: pa.array(code, pa.int64()) for name, code in codes.items()}
        occurring = pa.table({**own, "#cell": np.arange(len(self.words[0]))})
        joined = listed.join(occurring, keys=list(wanted), join_type="inner").sort_by("#place")
        return joined.column("#place").to_numpy().astype(np.intp), joined.column("#cell").to_numpy().astype(np.intp)

    def _places_of(
        self, cells: pa.Table, ours: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Some rows of a list: which of them occur among these words, which are sorted, and where."""
        wanted = {name: _codes(cells.column(name), labels) for name, labels in self.labels.items()}
        known = np.ones(len(cells), dtype=np.bool_)
        for each in wanted.values():
            known &= each >= 0
        places = np.flatnonzero(known)
        words = self.packing.pack({name: each[places] for name, each in wanted.items()}, len(places))[0]
        nearest = np.minimum(np.searchsorted(ours, words), max(len(ours) - 1, 0))
        found = np.flatnonzero(ours[nearest] == words) if len(ours) else np.empty(0, dtype=np.intp)
        return places[found], nearest[found]

    def label_codes(self, chosen: npt.NDArray[np.intp]) -> dict[str, npt.NDArray[np.int64]]:
        """For the chosen cells, the index of each column's label in `labels`."""
        return self.packing.unpack(tuple(word[chosen] for word in self.words))


def _codes(column: pa.ChunkedArray, labels: Sequence[str]) -> npt.NDArray[np.int64]:
    """Where the values of a column stand among some labels; −1 where they do not."""
    texts = column.unify_dictionaries().combine_chunks() if pa.types.is_dictionary(column.type) else column
    every = pa.array(labels, pa.string())
    if isinstance(texts, pa.DictionaryArray):
        of_label = pc.fill_null(pc.index_in(texts.dictionary, every), -1).to_numpy().astype(np.int64)
        found: npt.NDArray[np.int64] = of_label[texts.indices.to_numpy()]
        return found
    found = pc.fill_null(pc.index_in(texts, every), -1).to_numpy().astype(np.int64)
    return found


@dataclass(frozen=True, repr=False)
class Counted:
    """The result of counting: the exact tables of a plan, and the refused rows."""

    tables: Mapping[str, ExactTable]
    refusals: Refusals
    left_out: int = 0
    """How many trips were not counted because their card had more than the plan counts."""
    cards: CardShapes | None = None
    """Lengths and letters of the cards, if they were recorded."""

    def __repr__(self) -> str:
        return "Counted(secret)"

    def texts(self, plan: Plan) -> dict[str, set[str]]:
        """All labels of the columns that are copied from the trips, published or not. Secret."""
        found: dict[str, set[str]] = {}
        for table in self.tables.values():
            for column, labels in table.labels.items():
                if plan.columns.copies(column):
                    found.setdefault(column, set()).update(labels)
        return found
