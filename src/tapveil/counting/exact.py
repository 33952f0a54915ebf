"""Exact counts, as a type of their own: what must not leave.

`ExactTable` shows nothing of itself when printed. `counts` is read in two places only: the veil, which publishes
through a mechanism, and the holder's own reports, which are never published. A test holds the code to that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.counting.card_ids import CardShapes
from tapveil.counting.packing import Packing, Words
from tapveil.plan.model import Plan


@dataclass(frozen=True, repr=False, eq=False)
class ExactTable:
    """The true count of every cell that occurs, in no particular order."""

    name: str
    packing: Packing
    labels: Mapping[str, tuple[str, ...]]
    words: Words
    counts: npt.NDArray[np.int64]

    def __repr__(self) -> str:
        return f"ExactTable({self.name!r}, secret)"

    def places_in(self, cells: pa.Table) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Which rows of a list of cells occur here, in increasing order, and which cells of ours they are."""
        wanted = {
            name: pc.index_in(cells.column(name), pa.array(labels, pa.string())) for name, labels in self.labels.items()
        }
        listed = pa.table({**wanted, "#place": np.arange(len(cells))})
        codes = self.packing.unpack(self.words)
        ours = {name: pa.array(code, pa.int32()) for name, code in codes.items()}
        occurring = pa.table({**ours, "#cell": np.arange(len(self.words[0]))})
        found = listed.join(occurring, keys=list(wanted), join_type="inner").sort_by("#place")
        return found.column("#place").to_numpy().astype(np.intp), found.column("#cell").to_numpy().astype(np.intp)

    def label_codes(self, chosen: npt.NDArray[np.intp]) -> dict[str, npt.NDArray[np.int64]]:
        """For some cells, the position of each column's label in `labels`."""
        return self.packing.unpack(tuple(word[chosen] for word in self.words))


ELSEWHERE = "elsewhere"
"""The reason that is none: the row is of a day or mode that the plan does not cover."""


@dataclass(frozen=True, repr=False)
class Refusals:
    """How many rows were read, and how many refused, by reason: for the holder's eyes only."""

    rows: int
    by_reason: Mapping[str, int]

    elsewhere: int = 0
    """How many more rows were of days or modes that the plan does not cover."""

    lines: Mapping[str, int] = field(default_factory=dict)
    """Of those refused, the lines that are no rows at all."""

    located: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)
    """Where the first of each reason stand: a file, and a line or, in Parquet, a row. Only if asked for."""

    @classmethod
    def of(
        cls, reason: Callable[[int], str], by_key: Mapping[int, int], accepted: int, lines: Mapping[str, int]
    ) -> Refusals:
        """From the keys of the refused rows, which say why, and the lines that were no rows."""
        by_reason = Counter({why: n for why, n in lines.items() if n})
        for key, n in by_key.items():
            by_reason[reason(key)] += n
        elsewhere = by_reason.pop(ELSEWHERE, 0)
        return cls(accepted + by_reason.total(), by_reason, elsewhere, {why: n for why, n in lines.items() if n})

    def __repr__(self) -> str:
        return "Refusals(secret)"

    @property
    def refused(self) -> int:
        return sum(self.by_reason.values())


@dataclass(frozen=True, repr=False)
class Counted:
    """All that counting gives: the exact tables of a plan, and what was refused."""

    tables: Mapping[str, ExactTable]
    refusals: Refusals
    left_out: int = 0
    """How many trips were left out because their card had more than the plan counts."""
    cards: CardShapes | None = None
    """What the cards look like, where they were seen."""

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
