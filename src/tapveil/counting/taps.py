"""Taps: where a row is one tap and not a trip, which taps the tables of a plan are counted from."""

from __future__ import annotations

from collections.abc import Sequence

from tapveil.plan.model import Plan


def by_end(plan: Plan) -> list[Plan]:
    """Where a row is one tap, the tables of each end of a trip are counted from the taps of that end."""
    return [plan.model_copy(update={"table": tables}) for tables in plan.columns.sides.values()] or [plan]


def counted_words(plan: Plan) -> Sequence[str]:
    """The words for the taps that the tables of a plan count: on, off, or both."""
    taps = plan.source.taps
    if taps is None:
        return ()
    ends = {"on": taps.on, "off": taps.off, "both": (*taps.on, *taps.off)}
    return [word for end in plan.columns.sides for word in ends[end]]
