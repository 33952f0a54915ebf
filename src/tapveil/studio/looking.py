"""Looking: of which trips exact numbers were shown here, so that a plan that is chosen afterwards says so.

The server remembers it, not the page, which may be loaded again. It ends with the studio, as the numbers do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tapveil.plan.model import Plan

NOTES = {"looked_at_trips", "chosen_from"}
"""What [privacy] says of how a plan was chosen; all else there is a choice."""
Trips = tuple[str, ...]


@dataclass
class Looking:
    """The trips of which numbers were shown, and what each plan had chosen until then."""

    _seen: set[Trips] = field(default_factory=set)
    _before: dict[tuple[str, Trips], object] = field(default_factory=dict)

    def saw(self, name: str, shown: Plan, written: Plan | None) -> None:
        """Exact numbers of the trips of a plan are shown: what is written by now was chosen before."""
        trips = _trips(shown)
        self._seen.add(trips)
        plan = written if written and _trips(written) == trips else shown
        self._before.setdefault((name, trips), choices(plan))

    def counted(self, trips: Trips) -> None:
        """A plan was proposed by counting these trips: of those chosen from here on, none was chosen before."""
        self._seen.add(trips)

    def has_seen(self, plan: Plan) -> bool:
        """Whether numbers of its trips were shown."""
        return _trips(plan) in self._seen

    def must_say(self, name: str, before: Plan | None, plan: Plan) -> bool:
        """Whether a plan must say that it was chosen by looking at the trips, and does not."""
        trips = _trips(plan)
        if trips not in self._seen or plan.privacy.looked_at_trips:
            return False
        own = choices(before) if before and not before.privacy.looked_at_trips else None
        return self._before.setdefault((name, trips), own) != choices(plan)


def choices(plan: Plan) -> object:
    """What is chosen of a plan: tables, bins, areas, bounds and noise. Not which column is what, nor which days."""
    chosen = plan.table, plan.release.partition, plan.coarsen, plan.places, plan.gtfs, plan.world
    return *chosen, plan.privacy.model_dump(exclude=NOTES)


def _trips(plan: Plan) -> Trips:
    return trips_at(plan.base, plan.source.path)


def trips_at(base: Path, paths: Iterable[str | Path]) -> Trips:
    """The trips of a plan in this folder that names these paths."""
    return tuple(sorted(str(base / path) for path in paths))
