"""The exact (ε, δ) of whole releases: what one trip other, more or less can change, maximised over where it lies.

A replaced trip leaves one cell of every table and enters another. A changed cell is of type A if one of its two counts
is zero (it can appear in one world only), else of type B (a shift of the noise by one). With R the probability that no
A cell that was left appears, and N that no A cell that was entered appears, the product formula is (NOTES §2, ★)

    H_α = (1 − R) + R · H_{α + ln N − ln R}(B cells),

maximised over which cells are A. Nothing is assumed about parts: a part is only a key column. Several releases of the
same trips are one release with all their tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import exp, log1p, prod
from typing import Literal

from tapveil.privacy.spectrum import NO_CELL, Spectrum

Neighbours = Literal["replace", "add-remove"]

MOST_PATTERNS = 2000
_ROUNDED_UP = 1 + 1e-14
"""Covers the rounding of a few float operations on positive numbers."""
_HAIR = 1e-14
"""ε moved down by this covers the rounding of the logarithms added to it."""


@dataclass(frozen=True)
class ChangedCells:
    """All that accounting needs to know of a table: how its cells betray a change of one trip."""

    singleton: Fraction
    """P(a cell with one trip appears)."""
    left: Spectrum
    """The loss of c against c − 1, both positive: for the trip's own cell."""
    entered: Spectrum
    """The loss of c against c + 1, both positive: for the cell it moved to."""
    sampling_error: Fraction
    """The total variation between the noise that is drawn and the noise that the spectra describe."""


@dataclass(frozen=True)
class Exposure:
    """What one unit of protection can change: so many cells of each table, each by one."""

    neighbours: Neighbours
    cells: int = 1


@dataclass(frozen=True)
class _Group:
    """Tables of the same kind, and how many cells of them a unit leaves and enters."""

    cells: ChangedCells
    left: int
    entered: int


TRIP_REPLACED = Exposure("replace")


def delta(tables: Sequence[ChangedCells], epsilon: float, exposure: Exposure = TRIP_REPLACED) -> float:
    """A certified upper bound of δ at ε."""
    return max(_delta(tuple(groups), epsilon) for groups in _directions(tables, exposure))


def epsilon(tables: Sequence[ChangedCells], target: float, exposure: Exposure = TRIP_REPLACED) -> float:
    """A certified upper bound of the ε at which δ is at most `target`; infinite where no ε is enough."""
    low, high = 0.0, 1.0
    while delta(tables, high, exposure) > target:
        low, high = high, 2 * high
        if high > 1000:
            return float("inf")
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta(tables, middle, exposure) > target else (low, middle)
    return high


def _directions(tables: Sequence[ChangedCells], exposure: Exposure) -> Iterator[list[_Group]]:
    """Which cells change: a replacement does both; one added or removed trip does either."""
    both = {"replace": [(1, 1)], "add-remove": [(1, 0), (0, 1)]}[exposure.neighbours]
    kinds = Counter(tables).items()
    for left, entered in both:
        yield [_Group(cells, n * left * exposure.cells, n * entered * exposure.cells) for cells, n in kinds]


def _delta(groups: tuple[_Group, ...], epsilon: float) -> float:
    patterns = prod((group.left + 1) * (group.entered + 1) for group in groups)
    if all(group.cells.singleton == 0 for group in groups):
        worst = _all_shifted(groups).delta(epsilon)
    elif patterns <= MOST_PATTERNS:
        worst = _worst_pattern(groups, epsilon)
    else:
        worst = _all_patterns(groups, epsilon)
    return worst + _sampling(groups, epsilon)


def _sampling(groups: tuple[_Group, ...], epsilon: float) -> float:
    """A sampler that errs by η in total variation adds at most (1 + e^ε) η (NOTES §7)."""
    drawn = sum(float(group.cells.sampling_error) * (group.left + group.entered) for group in groups)
    return (1 + exp(min(epsilon, 700))) * drawn * _ROUNDED_UP if drawn else 0.0


Pattern = tuple[tuple[_Group, int, int], ...]
"""For each group: how many of the cells left, and of those entered, are of type A."""


def _worst_pattern(groups: tuple[_Group, ...], epsilon: float) -> float:
    choices = [product([group], range(group.left + 1), range(group.entered + 1)) for group in groups]
    appearing = {pattern: _appears((group, left) for group, left, _ in pattern) for pattern in product(*choices)}
    shifted = _shifted_by_all(groups, epsilon)
    worst = 0.0
    for pattern in sorted(appearing, key=lambda pattern: -appearing[pattern]):
        if appearing[pattern] + shifted <= worst:
            break  # no pattern from here on can be worse
        worst = max(worst, _pattern_delta(pattern, epsilon))
    return worst


def _pattern_delta(pattern: Pattern, epsilon: float) -> float:
    ln_r = sum(left * log1p(-float(group.cells.singleton)) for group, left, _ in pattern)
    ln_n = sum(entered * log1p(-float(group.cells.singleton)) for group, _, entered in pattern)
    rest = _together(
        tuple((g.cells.left, g.left - left, g.cells.entered, g.entered - entered) for g, left, entered in pattern)
    )
    return _appears((group, left) for group, left, _ in pattern) + rest.delta(epsilon + ln_n - ln_r - _HAIR)


def _all_patterns(groups: tuple[_Group, ...], epsilon: float) -> float:
    """A bound for every pattern at once: every A cell that is left may appear, and every cell is of type B as well.

    (1 − R) only grows with more A cells, H only with more B cells (data processing) and with a smaller ε.
    """
    return _appears((group, group.left) for group in groups) + _shifted_by_all(groups, epsilon)


def _shifted_by_all(groups: tuple[_Group, ...], epsilon: float) -> float:
    """H of all cells as B cells, at the least ε that any pattern moves it to."""
    ln_n = sum(group.entered * log1p(-float(group.cells.singleton)) for group in groups)
    return _all_shifted(groups).delta(epsilon + ln_n - _HAIR)


def _all_shifted(groups: tuple[_Group, ...]) -> Spectrum:
    return _together(tuple((g.cells.left, g.left, g.cells.entered, g.entered) for g in groups))


def _appears(a_cells: Iterable[tuple[_Group, int]]) -> float:
    """1 − R: the probability that some A cell that was left appears."""
    none = Fraction(1)
    for group, cells in a_cells:
        none *= (1 - group.cells.singleton) ** cells
    return float(1 - none) * _ROUNDED_UP


@lru_cache(maxsize=256)
def _together(cells: tuple[tuple[Spectrum, int, Spectrum, int], ...]) -> Spectrum:
    """The loss of all B cells of a pattern."""
    whole = NO_CELL
    for left, left_cells, entered, entered_cells in cells:
        if left == entered:
            whole = whole * _cells_together(left, left_cells + entered_cells)
        else:
            whole = whole * (_cells_together(left, left_cells) * _cells_together(entered, entered_cells))
    return whole


_cells_together = lru_cache(maxsize=4096)(Spectrum.power)
