"""The lattice of a release: which published table is a coarser look at which other, cell by cell.

A table lies in another one if that has fewer columns, wider bins of time, or wider areas: then every trip that is in
a cell of the one is in a known cell of the other. Over all of them stands the total of each part, where it is
published. Everything here is read from the folder alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import COUNT, MOST_LEVELS
from tapveil.privacy.distribution import variance
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.manifest import Manifest, TableClaim

if TYPE_CHECKING:  # who only reads a folder does without Arrow
    import pyarrow as pa

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Wider = Mapping[str, Mapping[tuple[str, str], str]]
"""For each name of wider areas: the area of a place, by mode (or `*`) and label."""
WIDER_COLUMNS = ("wider", "mode", "place", "area")
"""How a folder lists them."""
MOST_CODES = 1 << 23
"""Above this, keys are numbered anew."""


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of texts: a list of them, and for each cell its place there."""

    texts: tuple[str, ...]
    codes: Ints

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Labels:
        coded = column.dictionary_encode().combine_chunks()
        return cls(tuple(coded.dictionary.to_pylist()), coded.indices.to_numpy().astype(np.int64))


@dataclass(frozen=True, eq=False)
class Node:
    """A table with its published cells."""

    name: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    cells: pa.Table
    """The keys as texts, and the counts."""
    claim: TableClaim | None = None
    variance: float = 0.0
    least: int = 1
    """The smallest count that it publishes."""
    normal: bool = False
    """Whether its noise is Gaussian."""
    _labels: dict[str, Labels] = field(default_factory=dict, init=False)

    @property
    def numbers(self) -> Ints:
        return np.asarray(self.cells.column(COUNT).to_numpy())

    def __len__(self) -> int:
        return len(self.cells)

    def labels(self, key: str) -> Labels:
        """A column of its keys."""
        if key not in self._labels:
            self._labels[key] = Labels.of(self.cells.column(key))
        return self._labels[key]


@dataclass(frozen=True, eq=False)
class Edge:
    """A finer table and a coarser one: where each finer cell lies."""

    fine: Node
    coarse: Node
    parents: Ints
    """For each cell of the finer one, the place of its coarser cell; −1 where that was not published."""
    complete: npt.NDArray[np.bool_]
    """For each coarser cell, whether all finer cells that there can be were published."""

    @cached_property
    def inside(self) -> Ints:
        """The finer cells whose coarser cell was published."""
        return np.flatnonzero(self.parents >= 0)

    @cached_property
    def _bins(self) -> Ints:
        """As `parents`, with a place of their own, the last, for cells whose coarser one was not published."""
        return np.where(self.parents >= 0, self.parents, len(self.coarse))

    def add_up(self, numbers: npt.NDArray[np.generic]) -> Floats:
        """The sum of the finer cells in each coarser one."""
        return np.bincount(self._bins, numbers, minlength=len(self.coarse) + 1)[:-1].astype(np.float64)

    def hand_down(self, numbers: Floats) -> Floats:
        """For each finer cell the number of its coarser one; 0 where that was not published."""
        return np.append(numbers, 0.0)[self._bins]

    @cached_property
    def listed(self) -> Ints:
        """How many finer cells were published in each coarser one."""
        return np.bincount(self.parents[self.inside], minlength=len(self.coarse)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Lattice:
    """All tables of a release that count the same trips."""

    nodes: tuple[Node, ...]
    total: Node | None
    """Of these, the one without columns of its own, if there is one."""
    edges: tuple[Edge, ...]
    """Between tables, the next coarser ones only; and from every other table to the total."""
    manifest: Manifest
    wider: Wider
    _far: dict[tuple[str, str], Edge] = field(default_factory=dict, init=False)

    @property
    def ordered(self) -> list[Node]:
        """Every table after all that are finer."""
        waiting, found = list(self.nodes), list[Node]()
        while waiting:
            ready = [n for n in waiting if not any(e.coarse is n and e.fine in waiting for e in self.edges)]
            found += ready
            waiting = [node for node in waiting if node not in ready]
        return found

    def above(self, node: Node) -> list[Edge]:
        return [edge for edge in self.edges if edge.fine is node]

    def below(self, node: Node) -> list[Edge]:
        return [edge for edge in self.edges if edge.coarse is node]

    def between(self, fine: Node, coarse: Node) -> Edge:
        """Where the cells of a table lie in one that is coarser by any number of steps, whatever is between them."""
        for edge in self.above(fine):
            if edge.coarse is coarse:
                return edge
        if (fine.name, coarse.name) not in self._far:
            self._far[fine.name, coarse.name] = edge_between(self.manifest, fine, coarse, self.wider)
        return self._far[fine.name, coarse.name]

    def inside(self, coarse: Node) -> list[Node]:
        """The tables that lie in a table, by any number of steps."""
        found = dict.fromkeys(edge.fine for edge in self.below(coarse))
        waiting = list(found)
        while waiting:
            new = [edge.fine for edge in self.below(waiting.pop()) if edge.fine not in found]
            found |= dict.fromkeys(new)
            waiting += new
        return list(found)


def chains(whole: Lattice) -> list[list[Node]]:
    """The tables of the same columns at several levels, each finer than the next."""
    families: dict[frozenset[str], list[Node]] = {}
    for node in whole.ordered:
        families.setdefault(frozenset(node.columns), []).append(node)
    return [
        family
        for family in families.values()
        if 1 < len(family) <= MOST_LEVELS and all(fine in whole.inside(coarse) for fine, coarse in pairwise(family))
    ]


def why_not(manifest: Manifest) -> str | None:
    """Why the tables of a release need not add up; None where they must."""
    if manifest.is_world:
        return "every cell was measured with noise of its own, and is published as it is"
    if manifest.unit != "trip":
        return "a card counts once in each cell, so cells of cards do not add up"
    if manifest.from_a_list:
        return "only the cells of a list are counted, and the lists of two tables need not be of the same trips"
    if manifest.rows == "taps":
        return "a tap on and a tap off are counted apart, so their tables need not add up"
    return None


def lattice(manifest: Manifest, made: Mapping[str, Mechanism], cells: Mapping[str, pa.Table], wider: Wider) -> Lattice:
    """The lattice of published tables; each is given with its keys as texts, sorted, and its counts."""
    nodes = [
        Node(
            claim.name,
            claim.columns,
            manifest.keys(claim),
            cells[claim.name],
            claim,
            variance(made[claim.name]),
            made[claim.name].smallest_published,
            made[claim.name].is_gaussian,
        )
        for claim in manifest.tables
    ]
    total = next((node for node in nodes if not node.columns), None)
    tables = [node for node in nodes if node is not total]
    lies = {pair for pair in permutations(tables, 2) if _lies_in(manifest, *pair)}
    # Of two tables that have the same cells, the first lies in the second, not the second in the first.
    back = {(b, a) for a, b in combinations(tables, 2) if (a, b) in lies}
    found = [pair for pair in permutations(tables, 2) if pair in lies - back]
    pairs = {(a.name, b.name) for a, b in found}
    names = [node.name for node in tables]
    next_ones = [(a, b) for a, b in found if not any({(a.name, other), (other, b.name)} <= pairs for other in names)]
    next_ones += [(table, total) for table in tables if total]
    edges = tuple(edge_between(manifest, *pair, wider) for pair in next_ones)
    return Lattice(tuple(nodes), total, edges, manifest, wider)


def _level(node: Node) -> str | None:
    return node.claim.level.location if node.claim and node.claim.level else None


def _times(manifest: Manifest, node: Node) -> TimeBins:
    return manifest.times(node.claim) if node.claim else TimeBins((0,))


def _lies_in(manifest: Manifest, fine: Node, coarse: Node) -> bool:
    """Whether every cell of one table is in one cell of the other, and which one is known."""
    if not set(coarse.columns) <= set(fine.columns):
        return False
    kinds = {manifest.columns[column] for column in coarse.columns}
    times = "time" not in kinds or _times(manifest, fine).nests_in(_times(manifest, coarse))
    ours, theirs = _level(fine), _level(coarse)
    places = "location" not in kinds or ours == theirs or (ours is None and theirs in manifest.wider)
    return times and places


def edge_between(manifest: Manifest, fine: Node, coarse: Node, wider: Wider) -> Edge:
    """Where the cells of a table lie in a coarser one."""
    if not coarse.keys:
        return Edge(fine, coarse, np.zeros(len(fine), np.int64), np.zeros(len(coarse), bool))
    pairs = [(_coarsened(manifest, fine, coarse, key, wider), coarse.labels(key)) for key in coarse.keys]
    parents = _places(pairs, len(fine), len(coarse))
    edge = Edge(fine, coarse, parents, np.zeros(len(coarse), bool))
    return Edge(fine, coarse, parents, _complete(manifest, edge))


def _coarsened(manifest: Manifest, fine: Node, coarse: Node, key: str, wider: Wider) -> Labels:
    """A key of the coarser cell of each finer one."""
    labels = fine.labels(key)
    if key in coarse.columns and manifest.columns[key] == "time":
        bins = _times(manifest, fine).within(_times(manifest, coarse))
        return Labels(tuple(bins[text] for text in labels.texts), labels.codes)
    if key in coarse.columns and manifest.columns[key] == "location" and _level(fine) != _level(coarse):
        areas = wider.get(str(_level(coarse)), {})
        modes = fine.labels("mode") if "mode" in fine.keys else Labels(("*",), np.zeros(len(fine), np.int64))
        texts = tuple(areas.get((mode, place), place) for mode in modes.texts for place in labels.texts)
        return Labels(texts, modes.codes * len(labels.texts) + labels.codes)
    return labels


def _places(pairs: Sequence[tuple[Labels, Labels]], rows: int, others: int) -> Ints:
    """Where each row stands among others, by the labels of both in some columns; −1 where it does not."""
    keys, among, room = np.zeros(rows, dtype=np.int64), np.zeros(others, dtype=np.int64), 1
    absent = np.zeros(rows, dtype=bool)
    for ours, theirs in pairs:
        place = {text: code for code, text in enumerate(theirs.texts)}
        codes = np.array([place.get(text, -1) for text in ours.texts], dtype=np.int64)[ours.codes]
        absent |= codes < 0
        keys, among = keys * len(place) + np.maximum(codes, 0), among * len(place) + theirs.codes
        room *= len(place)
        if room > MOST_CODES:
            known = np.unique(among)
            near = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            absent |= known[near] != keys
            keys, among, room = near, np.searchsorted(known, among), len(known)
    places = np.full(room, -1, dtype=np.int64)
    places[among] = np.arange(others)
    return np.where(absent, -1, places[keys]) if others else np.full(rows, -1, dtype=np.int64)


def _complete(manifest: Manifest, edge: Edge) -> npt.NDArray[np.bool_]:
    """Where only the bins of time are finer, it is known how many of them there are in each coarser one.

    So it is where areas are wider, but those of a mode are its places.
    """
    fine, coarse = edge.fine, edge.coarse
    level = _level(coarse)
    if set(fine.columns) != set(coarse.columns):
        return np.zeros(len(coarse), dtype=bool)
    own = np.ones(len(coarse), dtype=bool)
    if level is not None and _level(fine) != level:
        modes = coarse.cells.column("mode").to_pylist() if "mode" in coarse.keys else ["*"] * len(coarse)
        own = np.array([not manifest.has_wider(level, mode) for mode in modes], dtype=bool)
    within = _times(manifest, fine).within(_times(manifest, coarse))
    sizes = {label: list(within.values()).count(label) for label in set(within.values())}
    possible = np.ones(len(coarse), dtype=np.int64)
    for column in coarse.columns:
        if manifest.columns[column] == "time":
            possible *= np.array([sizes[label] for label in coarse.cells.column(column).to_pylist()], dtype=np.int64)
    return np.asarray(own & (edge.listed == possible))
