"""The privacy guarantee of a plan, and the noise that achieves it: a function of [privacy] and [[table]] alone.

It is made anew whenever a plan is asked for it, so that a copy of a plan never carries the noise of the original;
what takes time, `calibrate`, remembers what it found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from tapveil.plan.weights import by_rule
from tapveil.privacy.accountant import Exposure, over_time
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.loss import Loss, compose, in_other_notion
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.units import Neighbours

if TYPE_CHECKING:
    from tapveil.plan.model import Privacy, Table


@dataclass(frozen=True)
class Guarantee:
    """The privacy guarantee of a release. If no noise can achieve it, `mechanisms` raises ValueError with a reason."""

    privacy: Privacy
    tables: tuple[Table, ...]

    @property
    def is_shared(self) -> bool:
        """Whether one total is shared by weight; else every table has its own (ε, δ)."""
        return self.privacy.epsilon is not None

    @cached_property
    def weights(self) -> Mapping[str, Fraction]:
        """The share of each table in the total, by its name: as given, 1 by default; or, in a world, all by a rule."""
        names = [table.name for table in self.tables]
        given = [table.weight for table in self.tables]
        if self.privacy.is_world and self.is_shared and not any(given):
            return dict(zip(names, by_rule(self.privacy, self.tables, self.exposure.changed), strict=True))
        return dict(zip(names, (weight or Fraction(1) for weight in given), strict=True))

    @property
    def exposure(self) -> Exposure:
        """What one unit of protection can change: each of its trips is in one cell of every table."""
        return Exposure(self.privacy.neighbours, self.privacy.trips_per_unit)

    @property
    def loss(self) -> Loss:
        """The (ε, δ) of the release, as stated: the total, or the sum over the tables."""
        whole = (self.privacy,) if self.is_shared else self.tables
        return compose(Loss(each.epsilon or Fraction(0), each.delta or Fraction(0)) for each in whole)

    def loss_for(self, neighbours: Neighbours) -> Loss:
        """The (ε, δ) of the release in either notion of neighbours."""
        if neighbours == self.privacy.neighbours:
            return self.loss
        return in_other_notion(list(self.mechanisms.values()), self.loss, Exposure(neighbours, self.exposure.cells))

    @cached_property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The mechanism of each table, by its name."""
        if not self.is_shared:
            return {table.name: self.own_mechanism(table) for table in self.tables}
        made = self._calibrated(self.privacy, self.tables)
        return dict(zip((table.name for table in self.tables), made, strict=True))

    def own_mechanism(self, table: Table) -> Mechanism:
        """The mechanism of a table with its own (ε, δ)."""
        return self._calibrated(table, (table,))[0]

    def _calibrated(self, budget: Privacy | Table, tables: tuple[Table, ...]) -> tuple[Mechanism, ...]:
        epsilon, delta = budget.epsilon or Fraction(0), budget.delta or Fraction(0)
        # Releases of other days may follow: what is exchanged may leave this one and enter another.
        exposure = over_time(self.exposure, self.privacy.unit)
        weights = tuple(self.weights[table.name] for table in tables)
        per_cell = tuple(table.most_per_cell for table in tables)
        return calibrate(self.privacy.mechanism, weights, epsilon, delta, exposure, self.privacy.cut or 1, per_cell)
