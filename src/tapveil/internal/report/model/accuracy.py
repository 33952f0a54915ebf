"""How far published numbers are from the truth: in a folder, or by the distribution of the noise. Confidential."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tapveil.internal.comparison.forecast import NEXT_TO_NOTHING
from tapveil.internal.report.model.cells import Cells, Floats, Ints, Numbers
from tapveil.privacy.distribution import distribution
from tapveil.privacy.intervals import MISS, interval

QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, repr=False)
class Errors:
    """How many published numbers are off by how much: off by `first` for the first of `cells`, and so on."""

    first: int
    cells: Floats

    @classmethod
    def measured(cls, off: Ints) -> Errors:
        if not len(off):
            return cls(0, np.zeros(1))
        first = int(off.min())
        return cls(first, np.bincount(off - first).astype(np.float64))

    @property
    def off(self) -> Ints:
        return np.arange(self.first, self.first + len(self.cells))

    @property
    def numbers(self) -> float:
        return float(self.cells.sum())

    @property
    def any(self) -> bool:
        """Whether there is enough to speak of."""
        return self.numbers >= NEXT_TO_NOTHING

    @property
    def bias(self) -> float | None:
        """How much too high they are, on average."""
        return float((self.off * self.cells).sum()) / self.numbers if self.any else None

    @property
    def mean(self) -> float | None:
        """How far off they are, on average."""
        return float((np.abs(self.off) * self.cells).sum()) / self.numbers if self.any else None

    def within(self, share: float) -> int | None:
        """This share of them is off by at most so much."""
        if not self.any:
            return None
        by_distance = np.bincount(np.abs(self.off), self.cells).cumsum()
        return int(np.searchsorted(by_distance, share * by_distance[-1] * (1 - 1e-12)))

    def at(self, off: int) -> float:
        """How many are off by just so much."""
        place = off - self.first
        return float(self.cells[place]) if 0 <= place < len(self.cells) else 0.0


@dataclass(frozen=True, repr=False)
class Accuracy:
    """How good the numbers of one table are, in one version."""

    errors: Errors
    held: float | None
    """The share of printed intervals that hold the truth."""
    held_in_all: float | None
    """The same, and of cells that are not printed what that says: this is what is promised for 19 of 20."""
    total_off: float | None
    """How far a table's total of a part, added up from published cells, is off, on average and in proportion."""


@dataclass(frozen=True, repr=False)
class TableAccuracy:
    """What the distribution of the noise has, and what a folder has."""

    expected: Accuracy
    published: Accuracy | None
    consistent: Accuracy | None

    @property
    def best_known(self) -> Accuracy:
        return self.published or self.expected

    @property
    def versions(self) -> list[tuple[str, Accuracy]]:
        """What there is to be said of the numbers of each version, by its name."""
        known = (("published", self.published), ("consistent", self.consistent), ("expected", self.expected))
        return [(name, accuracy) for name, accuracy in known if accuracy]


def accuracy(cells: Cells, total_off: float | None) -> TableAccuracy:
    """Of one table; what its totals are expected to be off by is known already."""
    return TableAccuracy(
        _expected(cells, total_off),
        _measured(cells, cells.published, hidden=True) if cells.published else None,
        _measured(cells, cells.consistent, hidden=False) if cells.consistent else None,
    )


def _expected(cells: Cells, total_off: float | None) -> Accuracy:
    known, rule = distribution(cells.mechanism), interval(cells.mechanism, MISS)
    counts = cells.true[cells.listed]
    off, expected = known.errors(np.concatenate([counts, np.zeros(cells.empty, dtype=np.int64)]))
    sizes, times = np.unique(counts, return_counts=True)
    if cells.empty:
        sizes, times = np.append(sizes, 0), np.append(times, cells.empty)
    printed, near = known.tail(sizes), known.within(sizes, rule.half_width)
    errors = Errors(int(off[0]), expected)
    held = float((near * times).sum())
    hidden = float(((1 - printed) * (sizes <= rule.absent) * times).sum())
    return Accuracy(
        errors,
        held / errors.numbers if errors.any else None,
        (held + hidden) / int(times.sum()) if len(times) else None,
        total_off,
    )


def _measured(cells: Cells, numbers: Numbers, *, hidden: bool) -> Accuracy:
    """`hidden`: whether the version says something of cells that it does not have."""
    printed = len(numbers.cells) + len(numbers.invented)
    printed_held, held, every = intervals_held(cells, numbers)
    parts, labels = cells.joined(cells.partition)
    truth = np.bincount(parts, cells.true, len(labels))
    off = np.abs(np.bincount(parts[numbers.cells], numbers.count, len(labels)) - truth)
    there = truth > 0
    return Accuracy(
        Errors.measured(np.concatenate([numbers.count - cells.true[numbers.cells], numbers.invented])),
        printed_held / printed if printed else None,
        held / every if hidden and every else None,
        float(np.mean(off[there] / truth[there])) if there.any() and not len(numbers.invented) else None,
    )


def intervals_held(cells: Cells, numbers: Numbers) -> tuple[int, int, int]:
    """Of how many printed cells, and of how many at all, what the version says is true; and how many there are."""
    true, rule = cells.true[numbers.cells], interval(cells.mechanism, MISS)
    printed = int(((numbers.low <= true) & (true <= numbers.high)).sum())
    printed += int((numbers.invented - rule.half_width <= 0).sum())
    hidden = cells.listed.copy()
    hidden[numbers.cells] = False
    unseen = int((cells.true[hidden] <= rule.absent).sum()) + cells.empty - len(numbers.invented)
    return printed, printed + unseen, int(cells.listed.sum()) + cells.empty
