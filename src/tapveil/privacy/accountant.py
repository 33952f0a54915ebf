"""The exact (ε, δ) of releases: what one unit of protection can change, maximised over all data.

A replaced trip leaves one cell of every table and enters another. A changed cell is of type A if one of its two counts
is zero (it can appear in one world only), else of type B (a shift of the noise by one). With R the probability that no
A cell that was left appears, and N that no A cell that was entered appears, the product formula is

    H_α = (1 − R) + R · H_{α + ln N − ln R}(B cells),                                                            (★)

maximised over which cells are A (docs/privacy/proofs.md). Parts need no assumption: a part is only a key column.

Several releases: the travellers of a later one may have read an earlier one, so which cells are A in the later one may
depend on what the earlier one showed. Then no maximum over fixed patterns is enough. Every pattern is dominated by one
pair of distributions, "all that can be A, and all that can be B", so the bound is their sum (claim 8),

    H_α ≤ (1 − R) + R · H_{α + ln N}(all cells as B cells),   R and N with all cells as A cells.                 (★★)

Where a later *plan* depends on an earlier release, the noise does, too, and (ε, δ) of the releases add up instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from heapq import heappop, heappush
from math import exp, expm1, inf, log1p, nextafter, prod
from typing import get_args

from tapveil.privacy.spectrum import NO_CELL, Spectrum
from tapveil.privacy.units import Neighbours, Unit

MOST_BLOCKS = 600
CLOSE_ENOUGH = 1e-10
"""How far, relatively, the bound may stay above a known pattern; ten times as far every 60 blocks."""
_ROUNDED_UP = 1 + 1e-14
"""Covers the rounding of a few float operations on positive numbers."""
_HAIR = 1e-14
"""Logarithms of probabilities near 1 are moved by this relative amount, against us."""


@dataclass(frozen=True, eq=False)
class ChangedCells:
    """The privacy-loss data of one table: the loss of a cell whose count changes by one."""

    singleton: Fraction
    """P(a cell with count 1 appears), where an empty cell never does; 0 for a public list of cells."""
    left: Spectrum
    """The loss of c against c − 1, both positive: for a cell that the unit leaves."""
    entered: Spectrum
    """The loss of c against c + 1, both positive: for a cell that it enters."""

    @cached_property
    def rough(self) -> ChangedCells:
        """The same data for faster, looser bounds."""
        return ChangedCells(self.singleton, self.left.rough, self.entered.rough)


@dataclass(frozen=True)
class Exposure:
    """What one unit of protection can change: a number of cells of each table, each by one.

    A replacement changes twice as many: those that one unit leaves, and those that the other enters.
    """

    neighbours: Neighbours
    cells: int = 1
    across: bool = False
    """Whether a replaced unit may leave one release and enter another one with the same noise, on other days."""

    def __post_init__(self) -> None:
        # Any other word would be taken for the weaker notion, and half a cell for half of the loss.
        if self.neighbours not in get_args(Neighbours):
            raise ValueError(f"neighbours must be {' or '.join(get_args(Neighbours))}, not {self.neighbours!r}")
        if not isinstance(self.cells, int) or self.cells < 1:
            raise ValueError(f"a unit changes a whole number of cells, at least one, not {self.cells!r}")

    @property
    def changed(self) -> int:
        """The total number of changed cells of a table."""
        return self.cells * (2 if self.neighbours == "replace" else 1)


TRIP_REPLACED = Exposure("replace")


def over_time(exposure: Exposure, unit: Unit) -> Exposure:
    """The exposure where releases of other days follow: a card is in all of them, other units are in one."""
    return replace(exposure, across=exposure.neighbours == "replace" and unit != "card")


@dataclass(frozen=True)
class Change:
    """One way in which data sets may differ: the number of cells left and entered, by table."""

    left: Mapping[ChangedCells, int]
    entered: Mapping[ChangedCells, int]
    reactive: bool = False
    """Whether the cells are in several releases: later trips may depend on what an earlier release showed."""


def changes(tables: Sequence[ChangedCells], exposure: Exposure) -> list[Change]:
    """The changes that a unit can make in these tables: a replacement leaves and enters cells, others do either."""
    cells = {table: times * exposure.cells for table, times in Counter(tables).items()}
    if exposure.neighbours == "replace":
        return [Change(cells, cells, exposure.across)]
    return [Change(cells, {}), Change({}, cells)]


def worst_delta(possible: Iterable[Change], epsilon: float, blocks: int = MOST_BLOCKS) -> float:
    """A certified upper bound of δ at ε for all changes; with no blocks by (★★), faster and a little looser."""
    return max(_Worst(change, epsilon, blocks=blocks).find() for change in possible)


def any_exceeds(possible: Iterable[Change], epsilon: float, target: float, blocks: int = MOST_BLOCKS) -> bool:
    """Whether δ at ε may be above `target`: like `worst_delta`, but stops as soon as it is decided."""
    return any(_Worst(change, epsilon, enough=target, blocks=blocks).find() > target for change in possible)


def epsilon_upper_bound(
    possible: Sequence[Change], target: float, precision: float = 1e-12, blocks: int = MOST_BLOCKS
) -> float:
    """A certified upper bound of the ε at which δ is at most `target`; infinite where no ε is enough.

    Args:
        precision: how far above the least such ε the bound may be, relatively if that is above 1.
        blocks: how many blocks of patterns to look at; with fewer, it is faster and a little looser.
    """
    low, high = 0.0, 1.0
    while any_exceeds(possible, high, target, blocks):
        low, high = high, 2 * high
        if high > 1000:
            return inf
    while high - low > precision * max(high, 1):
        middle = (low + high) / 2
        low, high = (middle, high) if any_exceeds(possible, middle, target, blocks) else (low, middle)
    return high


def delta(tables: Sequence[ChangedCells], epsilon: float, exposure: Exposure = TRIP_REPLACED) -> float:
    """`worst_delta` for one release."""
    return worst_delta(changes(tables, exposure), epsilon)


def epsilon(
    tables: Sequence[ChangedCells], target: float, exposure: Exposure = TRIP_REPLACED, precision: float = 1e-12
) -> float:
    """`epsilon_upper_bound` for one release."""
    return epsilon_upper_bound(changes(tables, exposure), target, precision)


@dataclass(frozen=True)
class _Kind:
    """A number of cells of one kind that change together, all left or all entered."""

    ln_absent: float
    """ln P(a cell with count 1 does not appear); −∞ where it always does."""
    shifted: Spectrum
    number: int
    left: bool


def _ln_absent(singleton: Fraction) -> float:
    """Rounded down, as if the cell appeared a little more often."""
    above = nextafter(float(singleton), 1)
    if above >= 1:
        return -inf
    return log1p(-above) * (1 + _HAIR) if singleton else 0.0


Block = tuple[tuple[int, int], ...]
"""Patterns: for each kind, the minimum and maximum number of its cells that are of type A."""


class _Worst:
    """The maximum δ over all patterns, by halving blocks of patterns: a block has a bound for all of its patterns.

    (1 − R) grows with more A cells, H with more B cells (data processing) and with a smaller ε. So the most A cells
    of a block in R and N, and the fewest for the B cells, bound all its patterns; for one pattern it is (★). The
    block of all patterns is never halved where the change is reactive: its bound is (★★).
    """

    def __init__(self, change: Change, epsilon: float, enough: float = 0.0, blocks: int = MOST_BLOCKS) -> None:
        left = (_Kind(_ln_absent(cells.singleton), cells.left, n, True) for cells, n in change.left.items())
        entered = (_Kind(_ln_absent(cells.singleton), cells.entered, n, False) for cells, n in change.entered.items())
        self._kinds, self._epsilon, self._enough = [*left, *entered], epsilon, enough
        self._blocks = 0 if change.reactive else blocks

    def find(self) -> float:
        """A bound for all patterns, close to the least one; or a bound that is at most `enough`.

        The number of patterns only decides how close it is.
        """
        whole = tuple((0, kind.number if kind.ln_absent else 0) for kind in self._kinds)
        blocks = [(-self._bound(whole), whole)]
        if not self._blocks:
            return -blocks[0][0]
        reached = max(self._bound(tuple((low, low) for low in ends)) for ends in zip(*whole, strict=True))
        for number in range(self._blocks):
            close = 1 + CLOSE_ENOUGH * 10 ** (number / 60)
            bound, block = blocks[0]
            widest = max(range(len(block)), key=lambda kind: block[kind][1] - block[kind][0])
            low, high = block[widest]
            if low == high or -bound <= max(reached * close, self._enough) or reached > self._enough > 0:
                break
            heappop(blocks)
            middle = (low + high) // 2
            for part in ((low, middle), (middle + 1, high)):
                smaller = (*block[:widest], part, *block[widest + 1 :])
                heappush(blocks, (-self._bound(smaller), smaller))
                reached = max(reached, self._bound(tuple((low, low) for low, _ in smaller)))
        return -blocks[0][0]

    def _bound(self, block: Block) -> float:
        ln_r = self._ln_absent(block, left=True, most=True)
        if ln_r == -inf:
            return 1.0
        ln_r_least = self._ln_absent(block, left=True, most=False)
        ln_n = self._ln_absent(block, left=False, most=True)
        shifted = Counter[Spectrum]()
        for kind, (low, _) in zip(self._kinds, block, strict=True):
            shifted[kind.shifted] += kind.number - low
        delta = _delta_of(tuple(shifted.items()), self._epsilon + ln_n - ln_r_least) if ln_n > -inf else 1.0
        return min(1.0, (-expm1(ln_r) + exp(ln_r) * delta) * _ROUNDED_UP)

    def _ln_absent(self, block: Block, *, left: bool, most: bool) -> float:
        kinds = zip(self._kinds, block, strict=True)
        return sum(ends[most] * kind.ln_absent for kind, ends in kinds if kind.left == left and ends[most])


def _delta_of(cells: tuple[tuple[Spectrum, int], ...], epsilon: float) -> float:
    """The δ of B cells, given the number of cells of each spectrum."""
    some = [each for each in cells if each[1]]
    parts = _halves(*some[0]) if len(some) == 1 else [spectrum.power(number) for spectrum, number in some]
    powers = sorted(parts, key=lambda s: len(s.losses))
    if not powers:
        return max(0.0, -expm1(epsilon)) if epsilon < 0 else 0.0
    *others, longest = powers
    return longest.delta_with(_together(tuple(others)), epsilon)


def _halves(spectrum: Spectrum, number: int) -> list[Spectrum]:
    """A number of cells of one kind: the product of the halves is the longest of all, and δ follows without it."""
    return [spectrum.power(half) for half in (number // 2,) * 2 if half] + [spectrum] * (number % 2)


@lru_cache(maxsize=1024)
def _together(spectra: tuple[Spectrum, ...]) -> Spectrum:
    return prod(spectra, start=NO_CELL)
