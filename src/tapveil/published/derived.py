"""Tables computed from the published ones: `consistent/`, whose counts add up, and `finest/`.

Nothing here can see an exact count. A release writes these sheets, and `verify` computes them again from the folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.base.layouts import MOST_IN_CSV
from tapveil.base.vocabulary import (
    CONSISTENT,
    COUNT,
    ESTIMATES,
    FINEST,
    HIGH,
    LOW,
    ROW,
    TABLE,
    UNTIL,
    WEIGHT,
    Kind,
    columns_in_words,
)
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.consistent import Consistent, around, consistent
from tapveil.published.describe.wording import Wording, wording
from tapveil.published.domain import Domain
from tapveil.published.estimated import Estimated
from tapveil.published.lattice import Edge, Floats, Ints, Lattice, Node, Wider, chains, lattice, why_not
from tapveil.published.manifest import Manifest
from tapveil.published.sheets import DerivedSheet, published_kind
from tapveil.published.sheets import whole as whole_sheet

CELL, REST, AROUND = "cell", "rest", "around"
"""Sorts of rows."""


def derived(
    manifest: Manifest,
    made: Mapping[str, Mechanism],
    tables: Mapping[str, pa.Table],
    wider: Wider,
    given: Mapping[str, Ints] | None = None,
    estimated: Estimated | None = None,
) -> list[DerivedSheet]:
    """All derived sheets of the published tables; with `given`, from these numbers instead of the consistent ones."""
    if manifest.is_world:
        return list(_estimates(estimated)) if estimated else []
    whole = lattice(manifest, made, tables, wider)
    adds_up = consistent(whole) if why_not(manifest) is None else None
    if adds_up and given:
        adds_up = replace(adds_up, numbers={**adds_up.numbers, **given})
    found = list(_consistent_sheets(adds_up, made)) if adds_up else []
    return [*found, *(_finest(manifest, whole, chain, adds_up, made) for chain in chains(whole))]


# --- a known world ----------------------------------------------------------------------------------------------------


def estimated_from(domain: Domain, tables: Mapping[str, pa.Table]) -> Estimated | None:
    """What is estimated from the measured tables of a known world; None where its folder has no estimates."""
    counts = {name: cells.column(COUNT).to_numpy() for name, cells in tables.items()}
    return Estimated(domain, counts) if domain.manifest.versions.estimates else None


def _estimates(estimated: Estimated) -> Iterator[DerivedSheet]:
    """Estimates over the columns of each measured table, and of whole trips; cells that are 0 are left out."""
    for name, columns, number in estimated.tables():
        form = "csv" if number <= MOST_IN_CSV else "parquet"
        title = columns_in_words([column for column in columns if column not in estimated.domain.manifest.partition])
        keys, rows = tuple(estimated.keys(columns)), partial(_pieces, estimated, columns)
        yield DerivedSheet(ESTIMATES, name, title, keys, (COUNT, LOW, HIGH, WEIGHT), rows, form)


def _pieces(estimated: Estimated, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Rows of estimates, one day of one mode at a time, keys as codes of their labels."""
    texts = {key: pa.array(labels, pa.string()) for key, labels in estimated.keys(columns).items()}
    for codes, numbers in estimated.pieces(columns):
        cells = {key: pa.DictionaryArray.from_arrays(pa.array(codes[key]), texts[key]) for key in texts}
        yield pa.table({**cells, **numbers})


# --- the consistent version -----------------------------------------------------------------------------------------


def _consistent_sheets(adds_up: Consistent, made: Mapping[str, Mechanism]) -> Iterator[DerivedSheet]:
    whole, guessed = adds_up.lattice, adds_up.guessed
    for node in whole.nodes:
        counts = adds_up.numbers[node.name]
        if not guessed or node is not whole.total:
            numbers = _with_interval(node, counts, made[node.name])
            yield _sheet(node.name, columns_in_words(node.columns), node, numbers)
        elif guessed.bounded:
            yield _sheet(node.name, "all trips", node, {COUNT: counts, LOW: guessed.low, HIGH: guessed.high})
        for edge in stated_edges(whole, node):
            if not guessed or guessed.bounded or edge.coarse is not whole.total:
                rest, (low, high) = adds_up.rest(edge), adds_up.rest_between(edge)
                total = adds_up.numbers[edge.coarse.name]
                numbers = {"total": total, "listed": total - rest, "other": rest, "other_low": low, "other_high": high}
                title = _words(whole.manifest).say("package.by", fine=edge.fine.name, coarse=edge.coarse.name)
                yield _sheet(f"{edge.fine.name}.by.{edge.coarse.name}", title, edge.coarse, numbers)


def _words(manifest: Manifest) -> Wording:
    return wording(manifest.versions.package or 1)


def stated_edges(whole: Lattice, node: Node) -> list[Edge]:
    """The next coarser tables; the total only where there is no other."""
    above = whole.above(node)
    return [edge for edge in above if edge.coarse is not whole.total] or above


def _with_interval(node: Node, counts: Ints, mechanism: Mechanism) -> dict[str, Ints]:
    """The interval of the published number, and wider where the consistent one lies outside."""
    rule = interval(mechanism, MISS)
    low, high = rule.low(node.numbers), rule.high(node.numbers)
    return {COUNT: counts, LOW: np.minimum(low, counts), HIGH: np.maximum(high, counts)}


def _sheet(name: str, title: str, node: Node, numbers: Mapping[str, Ints]) -> DerivedSheet:
    cells = pa.table({**{key: node.cells.column(key) for key in node.keys}, **numbers})
    return DerivedSheet(CONSISTENT, name, title, node.keys, tuple(numbers), whole_sheet(cells))


# --- the finest published ------------------------------------------------------------------------------------------


def _finest(
    manifest: Manifest,
    whole: Lattice,
    chain: Sequence[Node],
    adds_up: Consistent | None,
    made: Mapping[str, Mechanism],
) -> DerivedSheet:
    """A table published at several levels: each visible trip once, at the finest published level."""
    pieces = []
    for number, node in enumerate(chain):
        counts = adds_up.numbers[node.name] if adds_up else node.numbers
        numbers = _with_interval(node, counts, made[node.name])
        split = np.zeros(len(node), dtype=bool)
        for finer in chain[:number]:
            split |= whole.between(finer, node).listed > 0
        pieces.append(_piece(manifest, node, numbers, ~split, CELL))
        if adds_up is None:
            pieces.append(_piece(manifest, node, numbers, split, AROUND))
        elif number:
            rest, variance = _left_over(whole, chain[: number + 1], adds_up)
            low, high = around(rest, variance)
            pieces.append(_piece(manifest, node, {COUNT: rest, LOW: low, HIGH: high}, split & (rest > 0), REST))
    every = pa.concat_tables(piece.select(pieces[0].column_names) for piece in pieces)  # levels may turn the columns
    keys = tuple(name for name in every.column_names if name not in (COUNT, LOW, HIGH))
    ordered = every.sort_by([(key, "ascending") for key in keys])
    title = _words(manifest).say("package.finest", columns=" × ".join(chain[0].columns))
    return DerivedSheet(FINEST, chain[0].name, title, keys, (COUNT, LOW, HIGH), whole_sheet(ordered))


def kind(manifest: Manifest, key: str) -> Kind:
    """What sort of values a key of a derived sheet has."""
    return "time" if key.endswith(UNTIL) else published_kind(manifest, key)


def _left_over(whole: Lattice, chain: Sequence[Node], adds_up: Consistent) -> tuple[Ints, Floats]:
    """What the finer cells leave of each cell of the coarsest; a finer cell counts where it is the next that shows."""
    *finer, coarse = chain
    left, variance = adds_up.numbers[coarse.name].copy(), np.full(len(coarse), coarse.variance)
    for number, fine in enumerate(finer):
        edge = whole.between(fine, coarse)
        next_ones = edge.parents >= 0
        for between in finer[number + 1 :]:
            next_ones &= whole.between(fine, between).parents < 0
        left -= edge.add_up(adds_up.numbers[fine.name] * next_ones).astype(np.int64)
        left[edge.complete] = 0
        variance += edge.add_up(next_ones) * fine.variance
    return np.maximum(left, 0), variance


def _piece(
    manifest: Manifest, node: Node, numbers: Mapping[str, Ints], rows: npt.NDArray[np.bool_], row: str
) -> pa.Table:
    """Some cells of a table, with the ends of their times, and what sort of rows they are."""
    columns: dict[str, pa.Array] = {}
    for key in node.keys:
        columns[key] = node.cells.column(key)
        if key in node.columns and manifest.columns[key] == "time" and node.claim:
            ends = {"-1": "-1", **manifest.times(node.claim).ends}
            columns[f"{key}{UNTIL}"] = pa.array([ends[label] for label in columns[key].to_pylist()], pa.string())
    columns[TABLE] = pa.array([node.name] * len(node), pa.string())
    columns[ROW] = pa.array([row] * len(node), pa.string())
    return pa.table({**columns, **numbers}).filter(pa.array(rows))
