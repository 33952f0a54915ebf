"""Bounds: how many trips of a card to count. A low one leaves out trips, a high one adds noise to every cell.

What a bound drops is seen in the trips, which is confidential, or follows from a published folder by a rule of thumb.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from tapveil.base.vocabulary import COUNT
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import mean_error
from tapveil.privacy.mechanisms import Gaussian, World

TIMES = (Fraction(1, 2), Fraction(1), Fraction(2))
"""The bounds of which is spoken, against the plan's own: each other one is another count of the excerpt."""
MOST = 500
"""No bound that is tried is higher."""


@dataclass(frozen=True, repr=False)
class Bound:
    """What a bound on the trips of a unit drops and adds. CONFIDENTIAL where what it drops was seen in the trips."""

    most: int
    left_out: float
    """The share of the trips that it leaves out."""
    noise: float
    """How wide noise is with the plan's ε, against the plan's own: about, since nothing is calibrated for it."""

    @property
    def as_json(self) -> dict[str, Any]:
        return {"most_trips": self.most, "share_left_out": self.left_out, "noise_against_own": self.noise}


def bound_of(plan: Plan) -> int | None:
    """The plan's own; None where units are trips."""
    return {"trip": None, "card-day": plan.privacy.trips_per_day, "card": plan.privacy.trips_per_card}[
        plan.privacy.unit
    ]


def with_bound(plan: Plan, most: int) -> Plan:
    """The plan with another bound on the trips of a unit."""
    key = "trips_per_day" if plan.privacy.unit == "card-day" else "trips_per_card"
    return plan.model_copy(update={"privacy": plan.privacy.model_copy(update={key: most})})


def around(plan: Plan, left_out: Callable[[int], float]) -> Iterator[Bound]:
    """A few bounds around the plan's own. Gaussian noise grows as the root of the bound, Laplace noise as the bound."""
    own = bound_of(plan)
    if own is None:
        return
    power = 0.5 if isinstance(next(iter(plan.guarantee.mechanisms.values())), Gaussian | World) else 1.0
    for most in sorted({max(1, round(own * times)) for times in TIMES}):
        yield Bound(most, left_out(most), (most / own) ** power)


@dataclass(frozen=True)
class Rule:
    """How many trips units make, as a published folder tells it: each goes on to one more with the same probability.

    Then the share q^m of all trips is beyond the first m of their units. Of the demo city's people, it is so up to ten
    trips a week; beyond, fewer are left out than that.
    """

    units: int
    goes_on: float
    """q: how many of those who made a trip make one more."""
    table: str
    cells: int
    """Of the table in which the most trips count."""

    @classmethod
    def of(cls, folder: Path, plan: Plan) -> Rule | None:
        """From the number of units and of their trips; None where a folder does not tell both."""
        from tapveil.published.folder import Folder  # not loaded where the plan alone is asked

        opened = Folder(folder)
        manifest = opened.manifest
        most = manifest.bounds.cells_per_table
        apart = ("date",) if plan.privacy.unit == "card-day" else ()
        claims = {claim.name: claim for claim in manifest.tables}
        whole = [name for name, claim in claims.items() if not claim.columns and (claim.trips_per_cell or 1) == 1]
        if not (manifest.is_world and manifest.unit == plan.privacy.unit and manifest.partition == apart and whole):
            return None
        counts = {name: np.asarray(opened.table(name).to_arrow().column(COUNT), dtype=np.int64) for name in claims}
        units = int(counts.pop(whole[0]).sum())
        table = max(counts, key=lambda name: int(counts[name].sum()), default=None)
        if table is None or units < 1 or not 1 < int(counts[table].sum()) / units < most:
            return None
        return cls(units, _goes_on(int(counts[table].sum()) / units, most), table, len(counts[table]))

    def left_out(self, most: int) -> float:
        """The share of the trips that a bound leaves out."""
        return float(self.goes_on**most)

    def best(self, plan: Plan) -> int | None:
        """The bound with the least expected error of a cell: the trips it lacks, and the noise, which grows as √m."""
        own, mechanism = bound_of(plan), plan.guarantee.mechanisms.get(self.table)
        if own is None or mechanism is None:
            return None
        trips = self.units / (1 - self.goes_on) / self.cells
        noise = mean_error(mechanism) / sqrt(own)
        return min(range(1, MOST), key=lambda most: trips * self.left_out(most) + noise * sqrt(most))


def _goes_on(mean: float, most: int) -> float:
    """q, if units with at most this many trips have this mean: 1 + q + q² + … is it."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(middle**power for power in range(most)) < mean else (low, middle)
    return low
