"""The steps in which weights are looked for: from those of a folder, some tables at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import gcd, log2

import numpy as np

from tapveil.base.types import read_exact
from tapveil.base.vocabulary import TOTAL
from tapveil.published.manifest import TableClaim

STRIDES = (4, 2, 1)
"""How far a weight is moved at a time, in quarters of a doubling: far at first, then less."""
FARTHEST = 8
"""A weight is moved to a quarter or to four times of where it started, at most."""
HIGHEST = 40
"""No weight starts at more than a thousand times another."""

Weights = tuple[Fraction, ...]
Places = tuple[int, ...]
"""The weight of each group of tables, in quarters of a doubling."""


def detailed(names: Sequence[str]) -> list[int]:
    """The places of the tables that may lose something: all but the totals, which hide next to nothing; else these."""
    return [place for place, name in enumerate(names) if name != TOTAL] or list(range(len(names)))


def weight_of(table: TableClaim) -> Fraction:
    """Its share in the folder: a weight, or an ε of its own."""
    return table.exact.epsilon if table.exact else read_exact(1 if table.weight is None else table.weight)


def groups(tables: Sequence[TableClaim]) -> list[list[int]]:
    """Tables of tap-ons and of tap-offs that are otherwise alike have one weight: fewer ways to look."""
    found: dict[tuple[tuple[str, ...], int], list[int]] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for index, table in enumerate(tables):
        alike = tuple(column.replace("tap_off_", "tap_on_") for column in table.columns)
        found.setdefault((alike, times[table.columns]), []).append(index)
        times[table.columns] += 1  # the same columns again, in less detail
    return list(found.values())


def start(weights: Sequence[Fraction], alike: Sequence[Sequence[int]]) -> Places:
    """Where the folder's own weights are, the least of them as far above the bottom as it may be moved."""
    logarithms = [log2(weight.numerator) - log2(weight.denominator) for weight in weights]
    middles = [float(np.mean([logarithms[index] for index in group])) for group in alike]
    return tuple(FARTHEST + min(round(4 * (middle - min(middles))), HIGHEST) for middle in middles)


def weights_at(places: Places, alike: Sequence[Sequence[int]]) -> Weights:
    """Small integers: 4, 5, 6, 7, 8, 10, 12, 14, 16, …, without a common factor."""
    ladder = [(4 + place % 4) * 2 ** (place // 4) for place in places]
    common = gcd(*ladder)
    by_table = {index: weight // common for weight, group in zip(ladder, alike, strict=True) for index in group}
    return tuple(Fraction(by_table[index]) for index in sorted(by_table))
