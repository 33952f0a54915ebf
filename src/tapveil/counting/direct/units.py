"""What a unit (a card, or its day) counts: no more rows than the plan allows, and in a cell no more than once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tapveil.trips.buffers import AnyIntegers, Flags, Integers, Positions

RANK_BITS = 31
NEARLY_SORTED: Final = "stable"
"""Rows come card by card: a sort that merges what is sorted already takes a quarter of the time."""
KEY_BITS = 63


def changes(values: AnyIntegers) -> Flags:
    """Which values differ from the one before; the first does."""
    differs = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=differs[1:])
    return differs


def least(
    units: Integers,
    most: int,
    ranks: Callable[[Positions], Integers],
    labels: Callable[[Positions], Sequence[AnyIntegers]],
) -> Flags:
    """Which rows are kept: of each unit those with the least ranks; where they are equal, in the order of the labels.

    Ranks and labels (their codes, the first column first) are computed only for rows of units that have too many.
    """
    order = np.argsort(units, kind=NEARLY_SORTED)
    sizes = np.diff(np.flatnonzero(changes(units[order])), append=len(units))
    crowded = sizes > most
    rows, sizes = order[np.repeat(crowded, sizes)], sizes[crowded]
    keys = (np.repeat(np.arange(len(sizes)), sizes) << RANK_BITS) | ranks(rows)
    in_order, last = np.sort(keys, kind=NEARLY_SORTED), np.cumsum(sizes) - sizes + most - 1
    kept = np.ones(len(units), dtype=np.bool_)
    kept[rows[keys > np.repeat(in_order[last], sizes)]] = False
    # Where the last row that is kept and the first that is not have equal ranks, their labels decide.
    tied = np.flatnonzero(np.repeat(in_order[last] == in_order[last + 1], sizes))
    if len(tied):
        of_unit = keys[tied] >> RANK_BITS
        by_label = tied[np.lexsort((*reversed(labels(rows[tied])), keys[tied]))]
        position = np.arange(len(tied)) - np.searchsorted(of_unit, of_unit)
        kept[rows[by_label[position >= most]]] = False
    return kept


def at_most(times: int, units: Integers, cells: Integers) -> Integers:
    """The cells of all rows, each as often as a unit has it, but no more than this many times for each unit."""
    if not len(cells):
        return cells
    bits = int(cells.max()).bit_length()
    if bits + int(units.max()).bit_length() > KEY_BITS:
        distinct, number = np.unique(cells, return_inverse=True)
        return distinct[at_most(times, np.unique(units, return_inverse=True)[1], number)]
    keys = np.sort((units << bits) | cells, kind=NEARLY_SORTED)
    kept = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[times:], keys[:-times], out=kept[times:])
    return keys[kept] & ((1 << bits) - 1)
