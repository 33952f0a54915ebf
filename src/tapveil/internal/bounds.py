"""Bounds: how many trips of a card to count. A low one leaves out trips, a high one adds noise to every cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tapveil.plan.model import Plan
from tapveil.privacy.mechanisms import Mechanism

TIMES = (Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3, 2), Fraction(2))
"""The bounds of which is spoken, against the plan's own."""


@dataclass(frozen=True, repr=False)
class Bound:
    """What a bound on the trips of a unit drops and adds. CONFIDENTIAL where what it drops was seen in the trips."""

    most: int
    left_out: float
    """The share of the trips that it leaves out."""
    mechanisms: tuple[Mechanism, ...]
    """Of each table, with the plan's ε."""

    @property
    def as_json(self) -> dict[str, Any]:
        scales = [float(mechanism.scale) for mechanism in self.mechanisms]
        return {"most_trips": self.most, "share_left_out": self.left_out, "noise_scales": scales}


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
    """A few bounds around the plan's own, where noise can be that wide."""
    own = bound_of(plan)
    for most in sorted({max(1, round(own * times)) for times in TIMES}) if own else ():
        try:
            mechanisms = tuple(with_bound(plan, most).guarantee.mechanisms.values())
        except ValueError:
            continue
        yield Bound(most, left_out(most), mechanisms)
