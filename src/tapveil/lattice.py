"""The lattice of a release: which published table is a coarser look at which other, cell by cell.

A table lies in another one if that has fewer columns, wider bins of time, or wider areas: then every trip that is in
a cell of the one is in a known cell of the other. Over all of them stands the total of each part. Everything here is
read from the folder alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, permutations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.manifest import Manifest, TableClaim
from tapveil.plan import COUNT, MOST_LEVELS, TOTAL
from tapveil.privacy.intervals import variance
from tapveil.privacy.mechanisms import Mechanism
from tapveil.resolution import Times

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Wider = Mapping[str, Mapping[tuple[str, str], str]]
"""For each name of wider areas: the area of a place, by mode (or `*`) and label."""
WIDER_COLUMNS = ("wider", "mode", "place", "area")
"""How a folder lists them."""


@dataclass(frozen=True, eq=False)
class Node:
    """A table with its published cells; or the total, which has no columns and no noise of its own."""

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

    @property
    def numbers(self) -> Ints:
        numbers: Ints = self.cells.column(COUNT).to_numpy()
        return numbers

    def __len__(self) -> int:
        return len(self.cells)


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
    total: Node
    edges: tuple[Edge, ...]
    """Between tables, the next coarser ones only; and from every table to the total."""
    manifest: Manifest
    wider: Wider

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
            self._far[fine.name, coarse.name] = _edge(self.manifest, fine, coarse, self.wider)
        return self._far[fine.name, coarse.name]

    @cached_property
    def _far(self) -> dict[tuple[str, str], Edge]:
        return {}

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
    if manifest.unit != "trip":
        return "a card counts once in each cell, so cells of cards do not add up"
    if manifest.mechanism == "dictionary":
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
            (*manifest.partition, *claim.columns),
            cells[claim.name],
            claim,
            variance(made[claim.name]),
            made[claim.name].smallest_published,
            manifest.mechanism == "gaussian",
        )
        for claim in manifest.tables
    ]
    total = Node(TOTAL, (), manifest.partition, _parts(nodes, manifest.partition))
    lies = {pair for pair in permutations(nodes, 2) if _lies_in(manifest, *pair)}
    # Of two tables that have the same cells, the first lies in the second, not the second in the first.
    back = {(b, a) for a, b in combinations(nodes, 2) if (a, b) in lies}
    found = [pair for pair in permutations(nodes, 2) if pair in lies - back]
    pairs = {(a.name, b.name) for a, b in found}
    names = [node.name for node in nodes]
    next_ones = [(a, b) for a, b in found if not any({(a.name, other), (other, b.name)} <= pairs for other in names)]
    edges = [_edge(manifest, a, b, wider) for a, b in next_ones]
    edges += [_edge(manifest, node, total, wider) for node in nodes]
    return Lattice(tuple(nodes), total, tuple(edges), manifest, wider)


def _parts(nodes: Sequence[Node], partition: Sequence[str]) -> pa.Table:
    """All parts that any table has a cell of, in order."""
    if not partition:
        return pa.table({COUNT: pa.array([0], pa.int64())})
    every = pa.concat_tables(node.cells.select(list(partition)) for node in nodes)
    parts = every.group_by(list(partition)).aggregate([]).sort_by([(name, "ascending") for name in partition])
    return parts.append_column(COUNT, pa.array(np.zeros(len(parts), np.int64)))


def _level(node: Node) -> str | None:
    return node.claim.level.location if node.claim and node.claim.level else None


def _times(manifest: Manifest, node: Node) -> Times:
    return manifest.times(node.claim) if node.claim else Times((0,))


def _lies_in(manifest: Manifest, fine: Node, coarse: Node) -> bool:
    """Whether every cell of one table is in one cell of the other, and which one is known."""
    if not set(coarse.columns) <= set(fine.columns):
        return False
    kinds = {manifest.columns[column] for column in coarse.columns}
    times = "time" not in kinds or _times(manifest, fine).nests_in(_times(manifest, coarse))
    ours, theirs = _level(fine), _level(coarse)
    places = "location" not in kinds or ours == theirs or (ours is None and theirs in manifest.wider)
    return times and places


def _edge(manifest: Manifest, fine: Node, coarse: Node, wider: Wider) -> Edge:
    seen_as = pa.table(dict(_coarsened(manifest, fine, coarse, wider))) if coarse.keys else None
    if seen_as is None:
        return Edge(fine, coarse, np.zeros(len(fine), np.int64), np.zeros(len(coarse), bool))
    parents = _places(seen_as, coarse.cells.select(list(coarse.keys)))
    edge = Edge(fine, coarse, parents, np.zeros(len(coarse), bool))
    return Edge(fine, coarse, parents, _complete(manifest, edge))


def _coarsened(manifest: Manifest, fine: Node, coarse: Node, wider: Wider) -> Iterator[tuple[str, pa.Array]]:
    """The keys of the coarser cell of each finer one."""
    for key in coarse.keys:
        labels = fine.cells.column(key)
        if key in coarse.columns and manifest.columns[key] == "time":
            bins = _times(manifest, fine).within(_times(manifest, coarse))
            yield key, _mapped(labels, bins)
        elif key in coarse.columns and manifest.columns[key] == "location" and _level(fine) != _level(coarse):
            areas = wider.get(str(_level(coarse)), {})
            modes = fine.cells.column("mode").to_pylist() if "mode" in fine.keys else ["*"] * len(fine)
            places = zip(modes, labels.to_pylist(), strict=True)
            yield key, pa.array([areas.get((mode, place), place) for mode, place in places], pa.string())
        else:
            yield key, labels


def _mapped(labels: pa.ChunkedArray, names: Mapping[str, str]) -> pa.Array:
    coded = labels.combine_chunks().dictionary_encode() if isinstance(labels, pa.ChunkedArray) else labels
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    values = pa.array([names[label] for label in coded.dictionary.to_pylist()], pa.string())
    return values.take(coded.indices)


MOST_CODES = 1 << 23


def _places(rows: pa.Table, among: pa.Table) -> Ints:
    """Where each row stands among others; −1 where it does not."""
    codes, room = np.zeros(len(rows) + len(among), dtype=np.int64), 1
    for column in among.column_names:
        both = pa.chunked_array([*rows.column(column).chunks, *among.column(column).chunks], pa.string())
        encoded = both.combine_chunks().dictionary_encode()
        encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        values = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes, room = codes * len(encoded.dictionary) + values, room * len(encoded.dictionary)
        if room > MOST_CODES:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
            room = int(codes.max(initial=-1)) + 1
    places = np.full(room, -1, dtype=np.int64)
    places[codes[len(rows) :]] = np.arange(len(among))
    return places[codes[: len(rows)]]


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
    full: npt.NDArray[np.bool_] = own & (edge.listed == possible)
    return full
