"""What the bounds of a card leave out before anything is counted, and what a higher one would cost. Confidential.

Errors and shares of the tables are about what was counted. Where a card has more trips than the plan counts, the rest
is in no table, and no interval is about it: this part of the loss has to be said next to all others.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from tapveil.internal.comparison.compare import WIDEST_COMPARED, remade
from tapveil.internal.warnings import share_left_out
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import mean_error

Bound = Literal["trips_per_day", "trips_per_card"]


@dataclass(frozen=True)
class Cost:
    """What the noise of a table comes to: how far a number is off on average, and the least that is printed."""

    table: str
    off: float
    least: int


@dataclass(frozen=True)
class Higher:
    """A bound that the noise grows with, twice as high. It follows from the plan alone."""

    bound: Bound
    now: int
    then: int
    before: Cost
    after: Cost | None
    """None where no such noise can be made, or not in a reasonable time."""
    free: Bound | None
    """A bound that could be higher, too, and that no noise depends on."""


@dataclass(frozen=True, repr=False)
class LeftOut:
    """The trips that are left out because their card has more than the plan counts."""

    trips: int
    accepted: int
    share: float
    is_exact: bool
    """Whether this is the share; where taps are paired, it is at least so much."""
    higher: Higher


def left_out(plan: Plan, trips: int, accepted: int) -> LeftOut | None:
    """What the bounds of the plan leave out; None where nothing is."""
    if not trips:
        return None
    privacy = plan.privacy
    bound: Bound = "trips_per_day" if privacy.unit == "card-day" else "trips_per_card"
    now, then = privacy.trips_per_unit, 2 * privacy.trips_per_unit
    before = max((_cost(plan, name) for name in plan.tables), key=lambda cost: cost.off)
    after = None
    takes_long = privacy.mechanism == "sbh" and 2 * plan.guarantee.mechanisms[before.table].scale > WIDEST_COMPARED
    if not takes_long:
        with suppress(ValueError):  # no such noise can be made
            after = _cost(remade(plan, privacy=privacy.model_copy(update={bound: then})), before.table)
    free: Bound | None = "trips_per_day" if privacy.unit == "card" and privacy.trips_per_day else None
    share, higher = share_left_out(plan, trips, accepted), Higher(bound, now, then, before, after, free)
    return LeftOut(trips, accepted, share, not plan.columns.pairs_taps, higher)


def _cost(plan: Plan, table: str) -> Cost:
    mechanism = plan.guarantee.mechanisms[table]
    return Cost(table, mean_error(mechanism), mechanism.smallest_published)
