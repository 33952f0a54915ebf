"""Who loses detail: what a published folder shows by mode, hour and area, and by fifths of a public index.

Only published numbers are read, so this shows what anyone can see. For each way to look at it one table is taken, the
finest that has the column, and compared with the coarsest. How much is not published at all is known only as far as a
coarser table counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.base.vocabulary import COUNT, MISSING, UNKNOWN
from tapveil.internal.dossier.index import Index, fifths
from tapveil.published.columns import Column
from tapveil.published.domain import has_places
from tapveil.published.folder import Folder
from tapveil.published.lattice import why_not
from tapveil.published.manifest import TableClaim
from tapveil.published.names import listed_places

By = Literal["mode", "hour", "area", "index"]
MOST_CELLS = 3_000_000
"""Of a known world: larger tables are not looked at; a coarser one is."""
NO_TAP, NO_PLACE, NOT_IN_INDEX = "no tap", "place not known", "not in the index"
NOTHING = "nothing published"
BUSY = ("quietest fifth", "second", "middle", "fourth", "busiest fifth")
VALUES = ("lowest fifth of the index", "second", "middle", "fourth", "highest fifth of the index")

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Group:
    """A mode, an hour or some areas."""

    label: str
    cells: int
    """Published cells of the table."""
    clear: int
    """Those whose number is above the 95 % error bound."""
    error: Fraction | None
    """Half the width of an interval, as a share of the median number; None where there is none above 0."""
    share: Fraction | None
    """What they count, as a share of what the coarser table counts; None where that is not known."""
    places: int = 0
    """Areas that are in it, published or named by a public list of the folder."""
    shown: int = 0
    """Those of which the table has a cell."""
    values: tuple[Fraction, Fraction] | None = None
    """Of an index: the lowest and the highest."""


@dataclass(frozen=True)
class Breakdown:
    """One way to look at a folder."""

    by: By
    table: str
    against: str | None
    """The coarser table, where there is one that adds up with it."""
    groups: Sequence[Group]


@dataclass(frozen=True, eq=False)
class Detail:
    """Of one folder."""

    folder: Folder
    index: Index | None = None
    _read: dict[str, Mapping[str, Column]] = field(default_factory=dict, repr=False)

    @cached_property
    def breakdowns(self) -> list[Breakdown]:
        """By mode, hour, area and index, as far as the folder has such columns."""
        made = (self._by_mode(), self._by_hour(), *self._by_area())
        return [each for each in made if each is not None and each.groups]

    @cached_property
    def places(self) -> frozenset[str]:
        """The areas of the folder: those that are published, and those that its public lists name."""
        column, tables = self._column("location"), self._tables("location")
        if column is None:
            return frozenset()
        named = listed_places(self.folder.file, None)
        if has_places(self.folder.manifest):
            named |= {place for listed in self.folder.domain.places.values() for place in listed}
        return (named | {label for table in tables for label in _codes(self._cells(table)[column])[0]}) - {UNKNOWN}

    def _by_mode(self) -> Breakdown | None:
        if "mode" not in self.folder.manifest.partition:
            return None
        known = self.folder.modes | set(self.folder.manifest.covers.modes or ())
        return self._broken_down("mode", "mode", self._that_can_be_read(), lambda mode: mode, sorted(known))

    def _by_hour(self) -> Breakdown | None:
        column = self._column("time")
        if column is None:
            return None
        tables = self._tables("time")
        known = sorted({self._hour(label) for label in self.folder.manifest.listed_times(tables[0])} - {NO_TAP})
        return self._broken_down("hour", column, tables, self._hour, known)

    def _by_area(self) -> Iterator[Breakdown | None]:
        column, tables = self._column("location"), self._tables("location")
        if column is None:
            return
        counted = self._sums(_coarsest(tables), column, lambda place: place)
        sizes = {each: counted.get(each, 0) for each in self.places}
        nothing = [] if self.folder.manifest.is_world else sorted(each for each in sizes if each not in counted)
        parts = [nothing, *fifths(self.places - set(nothing), sizes)]
        yield self._of_areas("area", column, parts, (NOTHING, *BUSY))
        if self.index:
            values = self.index.values
            yield self._of_areas("index", column, fifths(self.places & set(values), values), VALUES)

    def _of_areas(self, by: By, column: str, parts: Sequence[Sequence[str]], names: Sequence[str]) -> Breakdown | None:
        """Groups of areas, in their order, and what is in none of them."""
        areas = {place: name for name, part in zip(names, parts, strict=True) for place in part}
        others = {UNKNOWN: NO_PLACE}

        def group_of(place: str) -> str:
            return areas.get(place) or others.get(place, NOT_IN_INDEX)

        known = [name for name, part in zip(names, parts, strict=True) if part]
        return self._broken_down(by, column, self._tables("location"), group_of, known, areas)

    # --- which tables and columns -------------------------------------------------------------------------------------

    def _that_can_be_read(self) -> list[TableClaim]:
        return [each for each in self.folder.manifest.tables if (each.cells or 0) <= MOST_CELLS]

    def _column(self, kind: str) -> str | None:
        """The first column of a kind that a table has at the resolution of the plan."""
        manifest = self.folder.manifest
        had = {column for table in self._that_can_be_read() if table.level is None for column in table.columns}
        return next((name for name, of in manifest.columns.items() if of == kind and name in had), None)

    def _tables(self, kind: str) -> list[TableClaim]:
        column = self._column(kind)
        return [each for each in self._that_can_be_read() if column in each.columns and each.level is None]

    # --- numbers ------------------------------------------------------------------------------------------------------

    def _cells(self, table: TableClaim) -> Mapping[str, Column]:
        if table.name not in self._read:
            self._read[table.name] = self.folder.table(table.name).cells
        return self._read[table.name]

    def _hour(self, label: str) -> str:
        if label == MISSING:
            return NO_TAP
        return f"{label.partition(':')[0]}:00" if self.folder.manifest.time_minutes < 60 else label

    def _sums(self, table: TableClaim, column: str, group_of: Callable[[str], str]) -> dict[str, int]:
        cells = self._cells(table)
        labels, codes = _codes(cells[column])
        sums = np.bincount(codes, cells[COUNT].astype(np.int64), len(labels))
        found: dict[str, int] = {}
        for label, counted in zip(labels, sums, strict=True):
            found[group_of(label)] = found.get(group_of(label), 0) + int(counted)
        return found

    def _broken_down(
        self,
        by: By,
        column: str,
        tables: Sequence[TableClaim],
        group_of: Callable[[str], str],
        known: Sequence[str],
        areas: Mapping[str, str] | None = None,
    ) -> Breakdown | None:
        if not tables:
            return None
        fine, coarse = max(tables, key=lambda table: (len(table.columns), table.level is None)), _coarsest(tables)
        against = None if fine == coarse or self.folder.manifest.is_world or why_not(self.folder.manifest) else coarse
        whole = self._sums(against or fine, column, group_of)
        cells = self._cells(fine)
        (labels, codes), counts = _codes(cells[column]), cells[COUNT].astype(np.int64)
        groups = np.array([group_of(label) for label in labels], dtype=object)
        order = [*known, *sorted({*whole, *groups.tolist()} - set(known))]
        found = []
        for name in order:
            own = counts[(groups == name)[codes]] if len(labels) else counts
            members = {place for place, label in (areas or {}).items() if label == name}
            shown = sum(label in members for label in labels)
            share = Fraction(int(own.sum()), whole[name]) if against and whole.get(name, 0) > 0 else None
            values = [self.index.values[place] for place in members] if self.index and by == "index" else []
            ends = (min(values), max(values)) if values else None
            found.append(Group(name, *_seen(own, fine.error_95), share, len(members), shown, ends))
        return Breakdown(by, fine.name, against.name if against else None, found)


def _coarsest(tables: Sequence[TableClaim]) -> TableClaim:
    return min(tables, key=lambda table: len(table.columns))


def _seen(counts: Counts, bound: int) -> tuple[int, int, Fraction | None]:
    """How many numbers there are, how many are above the bound, and the bound as a share of their median."""
    median = Fraction(float(np.median(counts))) if len(counts) else Fraction(0)
    return len(counts), int((counts > bound).sum()), bound / median if median > 0 else None


def _codes(column: Column) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The values of a column, and which of them each cell has."""
    encoded = pa.array(column, pa.string()).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
