"""The consistent version of a release: the same cells, with numbers that add up.

Tables are noised separately, so a fine table and a coarser one never quite agree. Here the published numbers are moved
as little as it takes, each in proportion to the variance of its noise, until no coarser cell has less than the finer
ones in it (weighted least squares under these conditions). The truth meets them all, so in the weighted mean square
no release is further from it than before. Then all are rounded to integers. What the finer cells
leave of a coarser one is its remainder: trips in cells that were not published.

All of it is computed from what is published: anyone can do it again from the folder, number for number. To that end
only operations are used whose results are the same on every machine (+, −, ×, ÷, √, in a fixed order).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tapveil.base.vocabulary import TOTAL
from tapveil.published import totals_1
from tapveil.published.lattice import Edge, Floats, Ints, Lattice, Node
from tapveil.published.totals_1 import Guessed

DEVIATIONS = 2.3
"""Half-width of the interval of a remainder, in standard deviations: found by simulation, not by proof."""
MOST_WINDOWS, ENOUGH = 40, 40
"""Number of windows of cell sizes that are distinguished; least number of cells from which a slope is estimated."""
MOST_SWEEPS, MOST_ROUNDS = 300, 50
CLOSE = 1e-3
"""A condition missed by less than this is met after rounding to integers."""


@dataclass(frozen=True, eq=False)
class Consistent:
    """An integer for every cell of every table."""

    lattice: Lattice
    numbers: Mapping[str, Ints]
    guessed: Guessed | None
    """Of version 1: the totals, which were not published."""

    def rest(self, edge: Edge) -> Ints:
        """What lies in cells of the finer table that were not published, for each cell of the coarser one."""
        return self.numbers[edge.coarse.name] - edge.add_up(self.numbers[edge.fine.name]).astype(np.int64)

    def rest_between(self, edge: Edge) -> tuple[Ints, Ints]:
        """Approximate interval of each remainder; 0 to 0 where all finer cells were published."""
        rest, noise = self.rest(edge), (edge.listed * edge.fine.variance).astype(np.float64)
        if self.guessed and edge.coarse is self.lattice.total:
            listed = self.numbers[edge.coarse.name] - rest
            low, high = self.guessed.low - listed - _wide(noise), self.guessed.high - listed + _wide(noise)
        else:
            low, high = around(rest, noise + edge.coarse.variance)
        low = np.maximum(low, 0)
        return np.where(edge.complete, 0, low), np.where(edge.complete, 0, np.maximum(high, low))


def around(numbers: Ints, variance: Floats) -> tuple[Ints, Ints]:
    """Intervals of counts with these variances."""
    return np.maximum(numbers - _wide(variance), 0), numbers + _wide(variance)


def _wide(variance: Floats) -> Ints:
    return np.ceil(DEVIATIONS * np.sqrt(variance)).astype(np.int64)


def consistent(lattice: Lattice) -> Consistent:
    """The numbers closest to the published ones that add up; in version 1, with totals that are guessed."""
    if lattice.manifest.versions.derived > 1:
        return Consistent(lattice, _closest(lattice, {}, {}), None)
    lattice = totals_1.with_guessed(lattice)
    totals = totals_1.guessed(lattice)
    numbers = _closest(lattice, {TOTAL: totals.guess}, {TOTAL: totals.variance})
    return Consistent(lattice, numbers, totals.around(numbers[TOTAL]))


def _closest(lattice: Lattice, given: Mapping[str, Floats], doubts: Mapping[str, Floats]) -> dict[str, Ints]:
    """Of each table, or of the numbers that are given for it: the closest that add up, whole."""
    moved = {**{node.name: node.numbers - leaning(node) for node in lattice.nodes}, **given}
    _project(lattice, moved, {**{node.name: node.variance for node in lattice.nodes}, **doubts})
    return _whole(lattice, moved)


# --- leaning --------------------------------------------------------------------------------------------------------


def leaning(node: Node) -> Floats:
    """The mean upward bias of each published count.

    There are more small cells than large ones, so a published number was more often raised by the noise than lowered.
    Under Gaussian noise, what is behind it is lower, on average, by the variance times the slope of the logarithm of
    how many published numbers there are of its size (Tweedie's formula); that is read off the table, for each mode by
    itself. Under Laplace noise the number itself is the best guess unless that slope is steep, and is left as it is.
    """
    found = np.zeros(len(node))
    if not node.normal:
        return found
    width = max(2, round(2 * float(np.sqrt(node.variance))))
    modes = node.labels("mode").codes if "mode" in node.keys else np.zeros(len(node), dtype=np.int64)
    windows = np.minimum((node.numbers - node.least) // width, MOST_WINDOWS)
    for mode in range(int(modes.max(initial=-1)) + 1):
        chosen = np.flatnonzero(modes == mode)
        number = np.bincount(windows[chosen], minlength=MOST_WINDOWS + 2).astype(np.float64)
        before = np.concatenate([number[:1], number[:-2]])
        apart = np.concatenate([[1.0], np.full(len(number) - 2, 2.0)]) * width
        both = before + number[1:]
        slope = np.where(both >= ENOUGH, 2 * (before - number[1:]) / np.maximum(both, 1) / apart, 0.0)
        found[chosen] = np.clip(slope, 0.0, 1 / np.sqrt(node.variance))[windows[chosen]] * node.variance
    return found


# --- least squares --------------------------------------------------------------------------------------------------


def _project(lattice: Lattice, numbers: dict[str, Floats], variance: Mapping[str, float | Floats]) -> None:
    """Hildreth's method: each condition in turn is met by the least move; what it moved is taken back when it can be.

    The conditions of one edge share no cell, so they are met all at once.
    """
    edges = [edge for edge in lattice.edges if len(edge.inside)]
    pulls = [np.zeros(len(edge.coarse)) for edge in edges]
    for _ in range(MOST_SWEEPS):
        furthest = 0.0
        for number, edge in enumerate(edges):
            coarse, fine = numbers[edge.coarse.name], numbers[edge.fine.name]
            own = variance[edge.coarse.name]
            excess = edge.add_up(fine) - coarse
            wanted = pulls[number] + excess / (own + edge.listed * edge.fine.variance)
            pull = np.where(edge.complete, wanted, np.maximum(wanted, 0.0))
            more = pull - pulls[number]
            pulls[number] = pull
            numbers[edge.coarse.name] = coarse + own * more
            fine -= edge.fine.variance * edge.hand_down(more)
            furthest = max(furthest, float(np.abs(more).max(initial=0.0)))
        if furthest < CLOSE:
            return


# --- integers -------------------------------------------------------------------------------------------------------


def _whole(lattice: Lattice, numbers: Mapping[str, Floats]) -> dict[str, Ints]:
    """Round each to the nearest integer, from the coarsest table down, so that sums still agree."""
    whole: dict[str, Ints] = {}
    for node in reversed(lattice.ordered):
        exact = numbers[node.name]
        rounded = np.maximum(np.floor(exact + 0.5), 1).astype(np.int64)  # a published cell has a trip, at least
        for edge in lattice.above(node):  # where all cells of a coarser one are there, up or down so that they fit
            inside = edge.inside[edge.complete[edge.parents[edge.inside]]]
            rounded[inside] = np.maximum(_fitted(exact[inside], edge.parents[inside], whole[edge.coarse.name]), 1)
        whole[node.name] = rounded
    for _ in range(MOST_ROUNDS):  # to lower one number may ask for lowering another
        lowered = [_lower(edge, numbers[edge.fine.name], whole) for edge in lattice.edges]
        if not any([*lowered, *(_match(edge, whole) for edge in lattice.edges)]):
            break
    _raise(lattice, whole)
    for _ in range(MOST_ROUNDS):  # and to raise one, for raising another
        if not any([_hand_down(edge, whole) for edge in lattice.edges]):
            break
        _raise(lattice, whole)
    return whole


def _fitted(exact: Floats, groups: Ints, targets: Ints) -> Ints:
    """Rounded up or down so that each group has its target: up where the most is cut off."""
    low = np.floor(exact)
    lacking = targets - np.bincount(groups, low, minlength=len(targets)).astype(np.int64)
    return low.astype(np.int64) + (_rank(low - exact, groups, len(targets)) < lacking[groups])


def _rank(keys: Floats, groups: Ints, number: int) -> Ints:
    """The place of each in its group, by its key and then by its position."""
    order = np.lexsort((np.arange(len(keys)), keys, groups))
    sizes = np.bincount(groups, minlength=number)
    rank = np.empty(len(keys), dtype=np.int64)
    rank[order] = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank


def _lower(edge: Edge, exact: Floats, whole: dict[str, Ints]) -> bool:
    """Where finer cells have more than the coarser one, those that are likeliest too high lose one; whether any did.

    Those are the ones that were rounded up, and small ones, which lean higher than large ones.
    """
    fine = whole[edge.fine.name]
    excess = edge.add_up(fine).astype(np.int64) - whole[edge.coarse.name]
    if not (excess > 0).any():
        return False
    inside = edge.inside[(excess[edge.parents[edge.inside]] > 0) & (fine[edge.inside] > 1)]
    groups = edge.parents[inside]
    high = fine[inside] - exact[inside] + 2 * edge.fine.variance / exact[inside]
    chosen = inside[_rank(-high, groups, len(edge.coarse)) < excess[groups]]
    fine[chosen] -= 1
    return len(chosen) > 0


def _match(edge: Edge, whole: dict[str, Ints]) -> bool:
    """Where all finer cells are there, the coarser one has what they have; whether any had more."""
    sums, coarse = edge.add_up(whole[edge.fine.name]).astype(np.int64), whole[edge.coarse.name]
    more = edge.complete & (coarse > sums)
    coarse[more] = sums[more]
    return bool(more.any())


def _raise(lattice: Lattice, whole: dict[str, Ints]) -> None:
    """What could not be lowered, as a cell has a trip at least: from the finest up, coarser cells get what it takes."""
    for node in lattice.ordered:
        for edge in lattice.below(node):
            whole[node.name] = np.maximum(whole[node.name], edge.add_up(whole[edge.fine.name]).astype(np.int64))


def _hand_down(edge: Edge, whole: dict[str, Ints]) -> bool:
    """Where all finer cells are there, the largest of them gets what they lack of the coarser one; whether any did."""
    fine = whole[edge.fine.name]
    left = np.where(edge.complete, whole[edge.coarse.name] - edge.add_up(fine).astype(np.int64), 0)
    if not left.any():
        return False
    groups = edge.parents[edge.inside]
    largest = edge.inside[_rank(-fine[edge.inside].astype(np.float64), groups, len(edge.coarse)) == 0]
    fine[largest] += left[edge.parents[largest]]
    return True
