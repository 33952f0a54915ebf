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
from tapveil.privacy.noise import RandomBytes

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
IMPOSSIBLE = -1e9
"""Instead of the logarithm of 0, so that sums stay numbers."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A mechanism, drawn from and judged by."""

    mechanism: Mechanism

    def judge(self, truth: Integers, counts: Integers, times: int, random_bytes: RandomBytes) -> Floats:
        """Publish the true counts a number of times: the log-likelihood of each row of `counts`, each time."""
        numbers, shown = self.mechanism.draw(np.tile(truth, times), random_bytes)
        return self.of(numbers.reshape(times, -1), shown.reshape(times, -1), counts)

    def of(self, numbers: Integers, shown: Flags, counts: Integers) -> Floats:
        """The log-likelihood of each row of `counts`, for each row of published numbers."""
        possible = self._published(numbers[:, None, :], counts[None, :, :])
        absent = self._absent(counts)[None, :, :]
        found: Floats = np.where(shown[:, None, :], possible, absent).sum(axis=2)
        return found

    @cached_property
    def _weights(self) -> Floats:
        """P(each step of the noise), a count in each row; the first row is of `_first` counts."""
        table = self.mechanism.noise
        steps = table.steps_per_count
        before, size = table.first - self._first * steps, len(table.weights)
        weights = np.zeros(-(-(before + size) // steps) * steps)
        weights[before : before + size] = np.array(table.weights, dtype=np.float64) / table.total
        return weights.reshape(-1, steps)

    @property
    def _first(self) -> int:
        return self.mechanism.noise.first // self.mechanism.noise.steps_per_count

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        """Of a number; and of the least number that is published, which may have only the last step of its count."""
        with np.errstate(divide="ignore"):
            each, least = np.log(self._weights.sum(axis=1)), np.log(self._weights[:, -1])
        if self.mechanism.noise.goes_on:  # the ends have all that lies beyond, which falls by as much at every step
            by = 1 / float(self.mechanism.scale)
            each[0], each[-1] = each[1] - by, each[-2] - by
            least = each
        return np.maximum(each, IMPOSSIBLE), np.maximum(least, IMPOSSIBLE)

    def _published(self, numbers: Integers, counts: Integers) -> Floats:
        each, least = self._logs
        place = numbers - counts - self._first
        inside = np.clip(place, 0, len(each) - 1)
        halved = (numbers == self.mechanism.smallest_published) & (self.mechanism.noise.steps_per_count > 1)
        found: Floats = np.where(halved, least[inside], each[inside])
        beyond = np.abs(place - inside)
        slope = -1 / float(self.mechanism.scale) if self.mechanism.noise.goes_on else IMPOSSIBLE
        found = found + beyond * slope
        return found if self.mechanism.visits_empty_cells else np.where(counts > 0, found, IMPOSSIBLE)

    def _absent(self, counts: Integers) -> Floats:
        """Of a cell that is not published; an empty cell never is, unless empty cells get noise."""
        steps = self.mechanism.noise.steps_per_count
        below = np.concatenate([[0.0], np.cumsum(self._weights)])
        place = self.mechanism.publish_step - steps * counts - self._first * steps
        with np.errstate(divide="ignore"):
            found = np.maximum(np.log(below[np.clip(place, 0, len(below) - 1)]), IMPOSSIBLE)
        return found if self.mechanism.visits_empty_cells else np.where(counts > 0, found, 0.0)
