"""Taps: where a row is one tap and not a trip, which taps the tables of a plan are counted from."""

from __future__ import annotations

from collections.abc import Sequence

from tapveil.plan.model import Plan


def pairs_taps(plan: Plan) -> bool:
    """Whether a table has both ends of a trip, so that taps on and off must be paired."""
    return "both" in plan.sides


def by_end(plan: Plan) -> list[Plan]:
    """Where a row is one tap, the tables of each end of a trip are counted from the taps of that end."""
    return [plan.model_copy(update={"table": tables}) for tables in plan.sides.values()] or [plan]


def counted_words(plan: Plan) -> Sequence[str]:
    """The words for the taps that the tables of a plan count: on, off, or both."""
    taps = plan.source.taps
    if taps is None:
        return ()
    ends = {"on": taps.on, "off": taps.off, "both": (*taps.on, *taps.off)}
    return [word for end in plan.sides for word in ends[end]]
