"""The cells of one table as the report looks at them: what each counts, and what becomes of it. Secret.

Without a published folder, what becomes of a cell is a chance, from the distribution of its mechanism; with one, it is
what the folder has. The rest of the report asks `shown`, and need not know which of the two it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.base.errors import TripDataError
from tapveil.base.vocabulary import COUNT, HIGH, LOW, Kind
from tapveil.counting.exact import ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.internal.comparison.forecast import part_codes
from tapveil.plan.model import Plan, Table
from tapveil.privacy.distribution import distribution
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.folder import Folder, Version

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False, eq=False)
class Numbers:
    """What a folder says of some cells, in one of its versions."""

    cells: npt.NDArray[np.intp]
    """Which of ours they are."""
    count: Ints
    low: Ints
    high: Ints
    invented: Ints
    """Numbers of cells that nobody was in: with a public list, noise alone is printed, too."""


@dataclass(frozen=True, repr=False, eq=False)
class Cells:
    """One table, cell by cell."""

    table: Table
    mechanism: Mechanism
    partition: tuple[str, ...]
    kinds: Mapping[str, Kind]
    labels: Mapping[str, tuple[str, ...]]
    codes: Mapping[str, Ints]
    """For each key column, the position of every cell's label."""
    true: Ints
    """What each cell counts."""
    listed: Bools
    """Which can be published: all, unless only the cells of a public list are."""
    empty: int
    """How many listed cells nobody was in."""
    chance: Floats
    """How likely each is to be published."""
    published: Numbers | None
    consistent: Numbers | None

    @classmethod
    def of(
        cls, plan: Plan, table: Table, exact: ExactTable, dictionary: pa.Table | None, folder: Folder | None
    ) -> Cells:
        """Of an exact table, and of what a folder has of it."""
        mechanism = folder.mechanism(table.name) if folder else plan.guarantee.mechanisms[table.name]
        true = exact_counts(exact)
        listed = np.full(len(true), dictionary is None)
        if dictionary is not None:
            listed[exact.places_in(dictionary)[1]] = True
        return cls(
            table,
            mechanism,
            plan.release.partition,
            {key: plan.source.kind(key) for key in plan.columns.of(table)},
            exact.labels,
            exact.label_codes(np.arange(len(true))),
            true,
            listed,
            0 if dictionary is None else len(dictionary) - int(listed.sum()),
            np.where(listed, distribution(mechanism).tail(true), 0.0),
            _numbers(exact, folder, table.name, "published", dictionary) if folder else None,
            _numbers(exact, folder, table.name, "consistent", dictionary) if folder else None,
        )

    def __repr__(self) -> str:
        return f"Cells({self.table.name!r}, secret)"

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def trips(self) -> int:
        return int(self.true.sum())

    @property
    def shown(self) -> Floats:
        """Of each cell: 1 where the folder has it, and else 0; without a folder, the chance that it will."""
        if self.published is None:
            return self.chance
        there = np.zeros(len(self.true))
        there[self.published.cells] = 1.0
        return there

    @property
    def expected(self) -> float:
        """How many trips are expected in published cells, whatever a folder has."""
        return float((self.true * self.chance).sum())

    @property
    def kept(self) -> float:
        """How many trips are in published cells, or are expected to be."""
        return float((self.true * self.shown).sum())

    def columns(self, kind: Kind) -> list[str]:
        """The table's own columns of one sort."""
        return [column for column in self.table.columns if self.kinds[column] == kind]

    def joined(self, columns: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
        """Several columns as one, which has what occurs of them: the code of each cell, and the labels."""
        known, codes = np.unique(part_codes(self.codes, self.labels, columns, len(self.true)), return_inverse=True)
        labels = []
        for code in known.tolist():
            words: list[str] = []
            for column in reversed(columns):
                code, last = divmod(code, len(self.labels[column]))
                words.insert(0, self.labels[column][last])
            labels.append(" · ".join(words))
        return codes.astype(np.int64), tuple(labels)


def _numbers(
    exact: ExactTable, folder: Folder, name: str, version: Version, dictionary: pa.Table | None
) -> Numbers | None:
    """The numbers of a folder, next to our cells; None where it has no such version."""
    if version == "consistent" and not (folder.path / version / f"{name}.csv").is_file():
        return None
    columns = folder.table(name, version).cells
    types = {key: pa.string() if each.dtype == object else pa.int64() for key, each in columns.items()}
    frame = pa.table({key: pa.array(each, types[key]) for key, each in columns.items()})
    if folder.manifest.arrangement.columns:
        # These files write 20160808 for 2016-08-08; a day that is not ours stays as it is, and is found out.
        ours = {day.replace("-", ""): day for day in exact.labels["date"]}
        days = pa.array([ours.get(day, day) for day in frame.column("date").to_pylist()], pa.string())
        frame = frame.set_column(frame.column_names.index("date"), "date", days)
    rows, cells = exact.places_in(frame)
    others = np.setdiff1d(np.arange(len(frame)), rows)
    listed = 0
    if dictionary is not None:
        keys = dictionary.column_names
        listed = len(frame.take(pa.array(others)).select(keys).join(dictionary, keys=keys, join_type="left semi"))
    if listed < len(others):
        raise TripDataError(
            f"{folder.path} has cells of {name} that these trips do not have: it was made from other trips, or from "
            "more trips than these"
        )
    count, low, high = (frame.column(column).to_numpy() for column in (COUNT, LOW, HIGH))
    return Numbers(cells, count[rows], low[rows], high[rows], count[others])
