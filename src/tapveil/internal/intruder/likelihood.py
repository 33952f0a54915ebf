"""How likely a published number is for each count it may have come from, by the noise table that is drawn from.

The intruder against the release as planned knows everything but one person, so these likelihoods are all he needs:
by Neyman and Pearson nobody decides better than by their ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tapveil.demo.population import Integers
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.noise import NoiseTable, RandomBytes

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
IMPOSSIBLE = -1e9
"""Instead of the logarithm of 0, so that sums stay numbers."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A mechanism, drawn from and judged by."""

    mechanism: Mechanism

    def judge(self, truths: Integers, counts: Integers, random_bytes: RandomBytes) -> Floats:
        """Publish each row of true counts: the log-likelihood of each row of `counts`, for each of these."""
        numbers, shown = self.mechanism.draw(truths.ravel(), random_bytes)
        return self.of(numbers.reshape(truths.shape), shown.reshape(truths.shape), counts)

    def of(self, numbers: Integers, shown: Flags, counts: Integers) -> Floats:
        """The log-likelihood of each row of `counts`, for each row of published numbers."""
        possible = self._published(numbers[:, None, :], counts[None, :, :])
        absent = self._absent(counts)[None, :, :]
        found: Floats = np.where(shown[:, None, :], possible, absent).sum(axis=2)
        return found

    @cached_property
    def _table(self) -> NoiseTable:
        return self.mechanism.noise

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The smallest number that is published, and the step from which on one is."""
        return self.mechanism.smallest_published, self.mechanism.publish_step

    @cached_property
    def _below(self) -> Floats:
        """P(fewer steps of the noise than this)."""
        found: Floats = np.concatenate([[0.0], np.cumsum(self._weights)])
        return found

    @cached_property
    def _weights(self) -> Floats:
        """P(each step of the noise), a count in each row; the first row is of `_first` counts."""
        table = self._table
        steps = table.steps_per_count
        before, size = table.first - self._first * steps, len(table.weights)
        weights = np.zeros(-(-(before + size) // steps) * steps)
        weights[before : before + size] = np.array(table.weights, dtype=np.float64) / table.total
        return weights.reshape(-1, steps)

    @property
    def _first(self) -> int:
        return self._table.first // self._table.steps_per_count

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        """Of a number; and of the least number that is published, which may have only the last step of its count."""
        with np.errstate(divide="ignore"):
            each, least = np.log(self._weights.sum(axis=1)), np.log(self._weights[:, -1])
        if self._table.goes_on:  # the ends have all that lies beyond, which falls by as much at every step
            by = 1 / float(self.mechanism.scale)
            each[0], each[-1] = each[1] - by, each[-2] - by
            least = each
        return np.maximum(each, IMPOSSIBLE), np.maximum(least, IMPOSSIBLE)

    def _published(self, numbers: Integers, counts: Integers) -> Floats:
        each, least = self._logs
        place = numbers - counts - self._first
        inside = np.clip(place, 0, len(each) - 1)
        halved = (numbers == self._ends[0]) & (self._table.steps_per_count > 1)
        found: Floats = np.where(halved, least[inside], each[inside])
        beyond = np.abs(place - inside)
        slope = -1 / float(self.mechanism.scale) if self._table.goes_on else IMPOSSIBLE
        found = found + beyond * slope
        return found if self.mechanism.visits_empty_cells else np.where(counts > 0, found, IMPOSSIBLE)

    def _absent(self, counts: Integers) -> Floats:
        """Of a cell that is not published; an empty cell never is, unless empty cells get noise."""
        steps, below = self._table.steps_per_count, self._below
        place = self._ends[1] - steps * counts - self._first * steps
        with np.errstate(divide="ignore"):
            found = np.maximum(np.log(below[np.clip(place, 0, len(below) - 1)]), IMPOSSIBLE)
        return found if self.mechanism.visits_empty_cells else np.where(counts > 0, found, 0.0)
