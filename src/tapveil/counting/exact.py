"""Exact counts, as a type of their own: what must not leave.

`ExactTable` shows nothing of itself when printed. `counts` is read in two places only: the veil, which publishes
through a mechanism, and the holder's own reports, which are never published. A test holds the code to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tapveil.counting.packing import Packing, Words


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

    def label_codes(self, chosen: npt.NDArray[np.intp]) -> dict[str, npt.NDArray[np.int64]]:
        """For some cells, the position of each column's label in `labels`."""
        return self.packing.unpack(tuple(word[chosen] for word in self.words))


@dataclass(frozen=True, repr=False)
class Refusals:
    """How many rows were read, and how many refused, by reason: for the holder's eyes only."""

    rows: int
    by_reason: Mapping[str, int]

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

    def __repr__(self) -> str:
        return "Counted(secret)"
