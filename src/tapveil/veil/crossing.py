"""The crossing: exact counts in, published counts out. Nothing else may make a published table.

The mechanism draws once for every cell that occurs (or, with a dictionary, for every cell of the public list); cells
that it does not publish are discarded here. Only labels of published cells are copied. Cells are in the order of their
labels, which reveals nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.counting.exact import ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.cell_list import LONG_LIST
from tapveil.plan.model import Plan, Table
from tapveil.privacy.mechanisms import Dictionary, Mechanism, World
from tapveil.privacy.noise import RandomBytes
from tapveil.published.table import Field, PublishedTable

CELLS_AT_ONCE = 1 << 17


def draw(
    exact: ExactTable, plan: Plan, table: Table, dictionary: pa.Table | None, random_bytes: RandomBytes
) -> PublishedTable:
    """Draw one table through its mechanism. Every call spends the table's budget again."""
    mechanism = plan.guarantee.mechanisms[table.name]
    if isinstance(mechanism, World) and dictionary is not None:
        keys, numbers = _measure(exact, mechanism, dictionary, random_bytes)
    elif isinstance(mechanism, Dictionary) and dictionary is not None:
        keys, numbers = _draw_listed(exact, mechanism, dictionary, random_bytes)
    elif mechanism.visits_empty_cells:
        raise ValueError("a dictionary mechanism needs its list of cells")
    else:
        keys, numbers = _draw_occurring(exact, mechanism, random_bytes)
    key_fields = fields(plan, table)
    ordered = {field.name: keys[field.name] for field in key_fields}
    return PublishedTable(table.name, key_fields, pa.table({**ordered, "count": pa.array(numbers, pa.int64())}))


def fields(plan: Plan, table: Table) -> tuple[Field, ...]:
    """The key columns of a table, each with its kind."""
    return tuple(Field(name, plan.source.kind(name)) for name in plan.columns.of(table))


Keys = dict[str, pa.Array]
Numbers = npt.NDArray[np.int64]


def _draw_occurring(exact: ExactTable, mechanism: Mechanism, random_bytes: RandomBytes) -> tuple[Keys, Numbers]:
    """A piece of the exact counts at a time: memory holds that piece, and the published cells of the others."""
    cells, drawn, counts = [], [], exact_counts(exact)
    for start in range(0, len(counts), CELLS_AT_ONCE):
        numbers, published = mechanism.draw(counts[start : start + CELLS_AT_ONCE], random_bytes)
        here = np.flatnonzero(published)
        cells.append(start + here)
        drawn.append(numbers[here])
    chosen = np.concatenate(cells) if cells else np.empty(0, dtype=np.intp)
    order = np.lexsort([word[chosen] for word in reversed(exact.words)])
    codes = exact.label_codes(chosen[order])
    # `take` copies the labels of published cells only; a dictionary-encoded column would include all labels.
    keys = {name: pa.array(exact.labels[name], pa.string()).take(pa.array(codes[name])) for name in codes}
    return keys, (np.concatenate(drawn) if drawn else np.empty(0, dtype=np.int64))[order]


def _measure(exact: ExactTable, mechanism: World, world: pa.Table, random_bytes: RandomBytes) -> tuple[Keys, Numbers]:
    """Every cell of the world, whether anyone was in it or not: which cells there are says nothing of the trips."""
    places, cells = exact.places_in(world)
    if len(places) < len(exact.words[0]):
        raise AssertionError("a trip was counted outside of its world")  # lists are applied before counting
    numbers = np.zeros(len(world), dtype=np.int64)
    numbers[places] = exact_counts(exact)[cells]
    for start in range(0, len(numbers), CELLS_AT_ONCE):
        some = slice(start, start + CELLS_AT_ONCE)
        numbers[some], _ = mechanism.draw(numbers[some], random_bytes)
    return dict(zip(world.column_names, world.combine_chunks().columns, strict=True)), numbers


def _draw_listed(
    exact: ExactTable, mechanism: Dictionary, dictionary: pa.Table, random_bytes: RandomBytes
) -> tuple[Keys, Numbers]:
    """Cells that occur but are not listed are not published: the list is public, so it decides without the trips."""
    places, cells = exact.places_in(dictionary)
    counts = exact_counts(exact)[cells]
    if len(dictionary) < LONG_LIST:
        every = np.zeros(len(dictionary), dtype=np.int64)
        every[places] = counts
        numbers, published = mechanism.draw(every, random_bytes)
        chosen = np.flatnonzero(published)
        numbers = numbers[chosen]
    else:
        numbers, published = mechanism.draw(counts, random_bytes)
        empty, invented = mechanism.draw_empty(len(dictionary) - len(places), random_bytes)
        # Positions of empty cells in the list, from their ranks among the empty ones.
        before = np.searchsorted(places - np.arange(len(places)), empty, side="right")
        unsorted = np.concatenate([places[published], empty + before])
        order = np.argsort(unsorted)
        chosen, numbers = unsorted[order], np.concatenate([numbers[published], invented])[order]
    published_cells = dictionary.take(pa.array(chosen)).combine_chunks()
    return dict(zip(dictionary.column_names, published_cells.columns, strict=True)), numbers
