"""Totals of folders whose `versions.derived` is 1: guessed from what their tables list, and hide. Frozen.

Version 0.1.0 made them, and `verify` makes them again. No new folder has any: a guess holds where tables hide as much
as it takes for granted, and fails where demand is flat near the threshold. Now totals are published as a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tapveil.base.vocabulary import COUNT, TOTAL
from tapveil.published.lattice import MOST_CODES, Edge, Floats, Ints, Lattice, Node, edge_between
from tapveil.published.manifest import Manifest

DEVIATIONS = 2.3


def with_guessed(whole: Lattice) -> Lattice:
    """The lattice with one more node, which no noise was drawn for: the total of each part that any table has."""
    manifest = whole.manifest
    total = Node(TOTAL, (), manifest.partition, _parts(whole.nodes, manifest.partition))
    edges = (edge_between(manifest, node, total, whole.wider) for node in whole.nodes)
    return replace(whole, nodes=(total, *whole.nodes), total=total, edges=(*whole.edges, *edges))


def _parts(nodes: Sequence[Node], partition: Sequence[str]) -> pa.Table:
    """All parts that any table has a cell of, in order."""
    if not partition:
        return pa.table({COUNT: pa.array([0], pa.int64())})
    parts = sorted({part for node in nodes for part in _parts_of(node, partition)})
    columns = {name: pa.array([part[place] for part in parts], pa.string()) for place, name in enumerate(partition)}
    return pa.table({**columns, COUNT: pa.array(np.zeros(len(parts), np.int64))})


def _parts_of(node: Node, partition: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The parts that a table has a cell of."""
    labels, keys = [node.labels(name) for name in partition], np.zeros(len(node), dtype=np.int64)
    for each in labels:
        keys = np.unique(keys, return_inverse=True)[1] if keys.max(initial=0) > MOST_CODES else keys
        keys = keys * len(each.texts) + each.codes
    firsts = np.unique(keys, return_index=True)[1]
    yield from zip(*([each.texts[code] for code in each.codes[firsts].tolist()] for each in labels), strict=True)


@dataclass(frozen=True, eq=False)
class Guessed:
    """The number of trips in each part: a guess, the variance of that, and between which numbers it lies."""

    guess: Floats
    variance: Floats
    low: Ints
    high: Ints
    bounded: bool
    """Whether a table of times says how many there can be: else they are not stated."""

    def around(self, found: Ints) -> Guessed:
        """The same, with limits that hold these numbers."""
        return replace(self, low=np.minimum(self.low, found), high=np.maximum(self.high, found))


def guessed(whole: Lattice) -> Guessed:
    """What the tables say of the number of trips in each part, each as well as it can.

    A table says what it lists, and what it hides. That is taken to be about as many cells as it lists up to twice its
    smallest count, and half that count in each: give or take as much, and as much as it lists less than another table.
    Of a table of times it is known how many cells it hides: at least a quarter of the smallest count is taken to be in
    each, and at most three quarters. So there are at least as many trips as the table that lists most has, but for its
    noise, and at most as many as some table of times can have.
    """
    edges = [edge for node in whole.nodes for edge in whole.above(node) if edge.coarse is whole.total]
    sums = [edge.add_up(edge.fine.numbers) for edge in edges]
    most = np.max(sums, axis=0)
    weight, weighted = np.zeros(len(most)), np.zeros(len(most))
    low, high = np.zeros(len(most)), np.full(len(most), np.inf)
    for edge, listed in zip(edges, sums, strict=True):
        node, absent = edge.fine, _absent(whole.manifest, edge)
        noise, less = edge.listed * node.variance, most - listed
        missing = edge.add_up(node.numbers < 2 * node.least) * (node.least / 2)
        if absent is not None:
            missing = np.maximum(np.minimum(missing, absent * (node.least / 2)), absent * (node.least / 4))
            high = np.minimum(high, listed + DEVIATIONS * np.sqrt(noise) + absent * (0.75 * node.least))
        low = np.maximum(low, listed - DEVIATIONS * np.sqrt(noise))
        unsure = 1 + noise + missing * missing + less * less
        weight += 1 / unsure
        weighted += (listed + missing) / unsure
    guess, variance = weighted / weight, 1 / weight
    high = np.maximum(high, low)
    guess = np.minimum(np.maximum(guess, low), high)
    bounded = bool(np.isfinite(high).all())
    lowest, highest = np.floor(low).astype(np.int64), np.ceil(high if bounded else guess).astype(np.int64)
    return Guessed(guess, variance, lowest, highest, bounded)


def _absent(manifest: Manifest, edge: Edge) -> Floats | None:
    """How many cells of a part are not listed; None where that is not known."""
    node = edge.fine
    if node.claim is None or [manifest.columns[column] for column in node.columns] != ["time"]:
        return None
    cells = len(manifest.times(node.claim).labels)
    hidden: Floats = np.maximum(cells - edge.listed, 0).astype(np.float64)
    return hidden
