"""Looking: of which trips exact numbers were shown here, so that a plan that is chosen afterwards says so.

The server remembers it, not the page, which may be loaded again. It ends with the studio, as the numbers do.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tapveil.plan.model import Plan

NOTES = {"looked_at_trips", "chosen_from"}
"""What [privacy] says of how a plan was chosen; all else there is a choice."""
Trips = frozenset[str]
"""Files by where they are, however plans name them; a pattern that finds none, and a table, by its own words."""


@dataclass
class Looking:
    """The trips of which numbers were shown, and what each plan had chosen until then."""

    _seen: set[str] = field(default_factory=set)
    _before: dict[tuple[str, Trips], object] = field(default_factory=dict)

    def saw(self, name: str, shown: Plan, written: Plan | None) -> None:
        """Exact numbers of the trips of a plan are shown: what is written by now was chosen before."""
        trips = _trips(shown)
        self._seen |= trips
        plan = written if written and _trips(written) == trips else shown
        self._chosen_before(name, trips, choices(plan))

    def counted(self, trips: Trips) -> None:
        """A plan was proposed by counting these trips: of those chosen from here on, none was chosen before."""
        self._seen |= trips

    def has_seen(self, plan: Plan) -> bool:
        """Whether numbers of its trips, or of some of them, were shown."""
        return not self._seen.isdisjoint(_trips(plan))

    def must_say(self, name: str, before: Plan | None, plan: Plan) -> bool:
        """Whether a plan must say that it was chosen by looking at the trips, and does not."""
        if plan.privacy.looked_at_trips or not self.has_seen(plan):
            return False
        own = choices(before) if before and not before.privacy.looked_at_trips else None
        return self._chosen_before(name, _trips(plan), own) != choices(plan)

    def _chosen_before(self, name: str, trips: Trips, now: object) -> object:
        """What a plan had chosen when numbers of some of these trips were first shown: what it has now, if not said."""
        shared = (each for each in self._before if each[0] == name and not trips.isdisjoint(each[1]))
        return self._before.setdefault(next(shared, (name, trips)), now)


def choices(plan: Plan) -> object:
    """What is chosen of a plan: tables, bins, areas, bounds and noise. Not which column is what, nor which days."""
    chosen = plan.table, plan.release.partition, plan.coarsen, plan.places, plan.gtfs, plan.world
    return *chosen, plan.privacy.model_dump(exclude=NOTES)


def _trips(plan: Plan) -> Trips:
    return trips_at(plan.base, plan.source.path) | ({plan.source.table} if plan.source.table else frozenset())


def trips_at(base: Path, paths: Iterable[str | Path]) -> Trips:
    """The trips of a plan in this folder that names these paths."""
    patterns = [str(base / path) for path in paths]
    found = [name for each in patterns for name in glob.glob(each, recursive=True) or [each]]  # noqa: PTH207 (an absolute pattern)
    return frozenset(str(Path(name).resolve()) for name in found)
