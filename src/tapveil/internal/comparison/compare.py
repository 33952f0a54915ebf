"""Choosing ε with open eyes: what other budgets, mechanisms and units would leave of the same trips.

For the data custodian, before anything is spent. Trips are counted once for each unit, for counting depends on neither
the mechanism nor ε; the rest is computed from the distributions of the noise, and nothing is drawn. Confidential.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pydantic

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import UsageError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.counting.counter import count
from tapveil.counting.exact import Counted
from tapveil.counting.refusals import refuse_too_many
from tapveil.inputs.cell_list import Dictionaries
from tapveil.inputs.public import PublicInputs
from tapveil.internal.comparison.forecast import ExactSizes, TableForecast, Worth, forecast, together
from tapveil.internal.confidential import NOTICE
from tapveil.plan.model import Plan, Privacy
from tapveil.plan.toml import problems
from tapveil.privacy.units import Neighbours, Unit
from tapveil.published.manifest import number

EPSILONS = (Fraction(1, 2), *map(Fraction, (1, 2, 4, 8, 16)))
"""The totals that are compared, besides the plan's own."""
MECHANISMS = ("sbh", "laplace", "gaussian")
LISTED = "dictionary"
NOTHING_SUPPRESSED = (
    'mechanism = "world" publishes every cell, so {what} of what is suppressed does not apply; `tapveil check` has the '
    "error of each table"
)
TRIPS_PER_DAY, TRIPS_PER_CARD = 4, 28
"""The bounds of a card, where the plan has none."""
WIDEST_COMPARED = 250
"""The widest noise of `sbh` that is looked at: to make it takes time in proportion, and it leaves next to nothing."""

ONE, SEVERAL, ALL = "one column", "several columns", "all tables"
"""Tables are distinguished by how many columns of their own they have: the finer ones suffer first."""


@dataclass(frozen=True, repr=False)
class Point:
    """One unit, mechanism and total ε, and what would come of it. Confidential."""

    unit: Unit
    mechanism: str
    epsilon: Fraction
    worth: Mapping[str, Worth]
    """Of the tables of one column, of those of several, and of all; nothing where it cannot be made."""
    impossible: str | None = None
    """Why it cannot be made, if it cannot."""
    own: bool = False
    """Whether this is the plan itself."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """What every unit, mechanism and total ε would publish. CONFIDENTIAL: from exact counts."""

    title: str
    """The title of the release."""
    neighbours: Neighbours
    """The notion of neighbours of the plan."""
    delta: Fraction
    """The total δ of the plan."""
    bounds: Mapping[Unit, tuple[int | None, int | None]]
    """For each unit: the most trips on a day, and in all, that are counted."""
    kept: Mapping[Unit, float]
    """For each unit, what is counted within its bounds, as a share of the trips; before any noise."""
    points: tuple[Point, ...]
    """Everything that was compared."""

    @property
    def own(self) -> Point:
        """The plan itself."""
        return next(point for point in self.points if point.own)

    @property
    def own_differs(self) -> bool:
        """Whether the plan gives its tables budgets of their own, and one total shared by them gives other noise."""
        own = self.own
        like = (own.unit, own.mechanism, own.epsilon)
        return any((each.unit, each.mechanism, each.epsilon) == like and not each.own for each in self.points)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units that were compared."""
        return tuple(dict.fromkeys(point.unit for point in self.points))

    @property
    def groups(self) -> tuple[str, ...]:
        """Which tables are distinguished: where all are of one sort, that is all of them."""
        sorts = tuple(group for group in (ONE, SEVERAL) if group in self.own.worth)
        return sorts if len(sorts) > 1 else (ALL,)

    def of(self, unit: Unit) -> tuple[Point, ...]:
        """The points of one unit.

        Args:
            unit: `"trip"`, `"card-day"` or `"card"`.

        Returns:
            Its points, in the order of the mechanisms and totals.

        Example:
            >>> import tapveil
            >>> comparison = tapveil.compare(tapveil.Plan.read("plan.toml"))
            >>> len(comparison.of(comparison.own.unit)) > 10
            True
        """
        return tuple(point for point in self.points if point.unit == unit)

    def never(self, unit: Unit) -> set[str]:
        """The mechanisms that cannot be made for a unit at any total.

        Args:
            unit: `"trip"`, `"card-day"` or `"card"`.

        Returns:
            Their names.

        Example:
            >>> import tapveil
            >>> comparison = tapveil.compare(tapveil.Plan.read("plan.toml"))
            >>> comparison.never(comparison.own.unit)
            set()
        """
        points = self.of(unit)
        return {each.mechanism for each in points} - {each.mechanism for each in points if not each.impossible}

    def refusals(self, unit: Unit) -> dict[tuple[str, tuple[Fraction, ...]], list[str]]:
        """What cannot be made for a unit: why and at which totals, and which mechanisms.

        Args:
            unit: `"trip"`, `"card-day"` or `"card"`.

        Returns:
            The mechanisms, by the reason and the totals.

        Example:
            >>> import tapveil
            >>> comparison = tapveil.compare(tapveil.Plan.read("plan.toml"))
            >>> comparison.refusals(comparison.own.unit)
            {}
        """
        totals: dict[tuple[str, str], tuple[Fraction, ...]] = {}
        for point in self.of(unit):
            if point.impossible:
                key = (point.impossible, point.mechanism)
                totals[key] = (*totals.get(key, ()), point.epsilon)
        found: dict[tuple[str, tuple[Fraction, ...]], list[str]] = {}
        for (reason, mechanism), epsilons in totals.items():
            found.setdefault((reason, epsilons), []).append(mechanism)
        return found

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values, marked as confidential.

        Returns:
            What `tapveil check --compare --json` prints.

        Example:
            >>> import tapveil
            >>> comparison = tapveil.compare(tapveil.Plan.read("plan.toml"))
            >>> comparison.as_json()["neighbours"]
            'replace'
        """
        return {
            "notice": NOTICE,
            "neighbours": self.neighbours,
            "delta": number(self.delta),
            "units": [
                {
                    "unit": unit,
                    "trips_per_day": self.bounds[unit][0],
                    "trips_per_card": self.bounds[unit][1],
                    "counted_share": self.kept.get(unit),
                }
                for unit in self.units
            ],
            "points": [
                {
                    "unit": point.unit,
                    "mechanism": point.mechanism,
                    "epsilon": number(point.epsilon),
                    "is_the_plan": point.own,
                    "not_possible": point.impossible,
                    "tables": {group: asdict(worth) for group, worth in point.worth.items()},
                }
                for point in self.points
            ],
        }


def compare(
    plan: Plan, *, memory: str = MEMORY, scratch: Path | None = None, progress: Reporter | None = None
) -> Comparison:
    """Estimate what other mechanisms, units and epsilons would publish of the same trips. Publishes nothing.

    CONFIDENTIAL: the result follows from exact counts and is not protected by differential privacy.

    Args:
        plan: The plan to compare with others.
        memory: Memory limit for counting, such as `"2GB"`; larger data spills to disk.
        scratch: Folder to spill to; by default the system's.
        progress: Receives the stages of the work; silent by default.

    Returns:
        A point for every unit, mechanism and total ε; `own` is the plan itself.

    Raises:
        TripDataError: The trips, or a file that the plan names, cannot be used.
        EngineError: The engine, the memory or the disk failed.
        UsageError: `memory` is not an amount; or the plan publishes every cell, so there is nothing to compare.

    Example:
        >>> import tapveil
        >>> found = tapveil.compare(tapveil.Plan.read("plan.toml"))
        >>> found.units, found.own.mechanism, float(found.own.epsilon)
        (('trip',), 'gaussian', 1.0)
    """
    return compared(PublicInputs.of(plan, scratch), memory=memory, scratch=scratch, progress=progress or Silent())


def compared(
    inputs: PublicInputs,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter,
    truth: Truth | None = None,
) -> Comparison:
    """The comparison; with `truth`, what the plan itself counts, nothing is counted, and its unit alone is compared."""
    plan = inputs.plan
    if plan.privacy.is_world:
        raise UsageError(NOTHING_SUPPRESSED.format(what="a comparison"))
    _ = inputs.dictionaries  # what is wrong with a list is said before the trips are read
    units = [plan.privacy.unit] if truth else list(_units(plan))
    points: list[Point] = []
    trips: dict[Unit, int] = {}
    for unit in units:
        candidates = _candidates(plan, unit, progress)
        possible, counted = next((made for _, made in candidates if made), None), truth
        if possible and not counted:
            exact = count(possible, memory=memory, scratch=scratch, progress=progress, inputs=inputs)
            refuse_too_many(exact.refusals, possible)
            counted = Truth.of(possible, exact, inputs.dictionaries)
        done = partial(lambda before: len(points) - before, len(points))
        with progress.stage(Stage.COMPARING, done, total=len(candidates), unit="plans", by=unit):
            for point, like in candidates:
                points.append(replace(point, worth=counted.worth(like)) if counted and like else point)
        if counted:
            trips[unit] = counted.trips
    bounds = {unit: _bounded(plan, unit) for unit in units}
    return Comparison(
        plan.release.title,
        plan.privacy.neighbours,
        plan.guarantee.loss.delta,
        {unit: (bounded.trips_per_day, bounded.trips_per_card) for unit, bounded in bounds.items()},
        {unit: each / trips["trip"] for unit, each in trips.items() if trips.get("trip")},
        tuple(points),
    )


def _units(plan: Plan) -> Iterator[Unit]:
    """The units that the trips could be protected by: of paired taps no single trip can be, and cards need a card."""
    if not plan.columns.pairs_taps:
        yield "trip"
    if plan.source.card:
        yield "card-day"
        yield "card"


def _bounded(plan: Plan, unit: Unit) -> Privacy:
    """The promise for another unit: the plan's own bounds where it has them."""
    privacy = plan.privacy
    if unit == privacy.unit:
        return privacy
    by_day = unit == "card-day" or (unit == "card" and plan.source.can_name_days)
    changed = {
        "unit": unit,
        "without_card": None if unit == "trip" else privacy.without_card or "own-unit",
        "trips_per_day": privacy.trips_per_day or TRIPS_PER_DAY if by_day else None,
        "trips_per_card": privacy.trips_per_card or TRIPS_PER_CARD if unit == "card" else None,
    }
    return privacy.model_copy(update=changed)


def weights_of(plan: Plan) -> list[Fraction]:
    """How the plan shares its total: by weights, or by the ε of each table."""
    own = [table.epsilon or Fraction(1) for table in plan.table]
    shares = list(plan.guarantee.weights.values()) if plan.guarantee.is_shared else own
    return [share / min(shares) for share in shares]


def variant(plan: Plan, unit: Unit, mechanism: str, epsilon: Fraction) -> Plan:
    """The plan as it would be with another unit, mechanism and total; ValueError, in words, if it cannot be."""
    listed, bounded, weights = mechanism == LISTED, _bounded(plan, unit), weights_of(plan)
    if not listed and not plan.guarantee.loss.delta:
        raise ValueError("it needs a delta, and the plan has none")
    least = min(weight for table, weight in zip(plan.table, weights, strict=True) if table in plan.detailed)
    width = sum(weights) / least * bounded.trips_per_unit * (2 if bounded.neighbours == "replace" else 1) / epsilon
    if mechanism == "sbh" and width > WIDEST_COMPARED:
        raise ValueError(f"noise wider than scale {WIDEST_COMPARED} takes too long to compare")
    delta, cut = (None, plan.privacy.cut) if listed else (plan.guarantee.loss.delta, None)
    budget = {"mechanism": mechanism, "epsilon": epsilon, "delta": delta, "cut": cut}
    shares = {"epsilon": None, "delta": None} | ({} if listed else {"cells": None})
    shared = (
        table.model_copy(update={**shares, "weight": weight}) for table, weight in zip(plan.table, weights, strict=True)
    )
    return remade(plan, privacy=bounded.model_copy(update=budget), table=tuple(shared))


def remade(plan: Plan, **changed: object) -> Plan:
    """The plan with some of its parts changed; ValueError, in words, if it cannot be."""
    # Made anew rather than copied: a copy would skip what makes sure of it.
    try:
        made = Plan.model_validate({**dict(plan), **changed})
    except pydantic.ValidationError as error:
        # Without the place: it is in a plan that nobody wrote.
        raise ValueError(next(problems(error, Plan)).message) from None
    made._base = plan.base
    return made


def _candidates(plan: Plan, unit: Unit, progress: Reporter) -> list[tuple[Point, Plan | None]]:
    """All that is compared for a unit, in the order in which it is shown, and the plan of what is possible."""
    found: list[tuple[Point, Plan | None]] = []
    mechanisms = (*MECHANISMS, *((LISTED,) if all(table.cells for table in plan.table) else ()))
    epsilons = sorted({*EPSILONS, plan.guarantee.loss.epsilon})
    whole = len(mechanisms) * len(epsilons)
    with progress.stage(Stage.FINDING_NOISE, lambda: len(found), total=whole, unit="plans", by=unit):
        for like in product([unit], mechanisms, epsilons):
            made = impossible = None
            try:
                made = variant(plan, *like)
            except ValueError as error:
                impossible = str(error)
            own = like == (plan.privacy.unit, plan.privacy.mechanism, plan.guarantee.loss.epsilon)
            # Next to the plan itself, one total is a point of its own where it would give other noise.
            if not own or (made and made.guarantee.mechanisms != plan.guarantee.mechanisms):
                found.append((Point(*like, {}, impossible), made))
            if own:
                found.append((Point(*like, {}, own=True), plan))
    return found


@dataclass(frozen=True, repr=False, eq=False)
class Truth:
    """The exact tables of a unit, as far as forecasts need them. Secret."""

    occurring: Mapping[str, ExactSizes]
    listed: Mapping[str, ExactSizes]
    """The same, where only the cells of public lists are published."""

    @classmethod
    def of(cls, plan: Plan, counted: Counted, dictionaries: Dictionaries) -> Truth:
        partition, tables = plan.release.partition, counted.tables
        listed = {name: cells for name, cells in dictionaries.items() if cells is not None}
        return cls(
            {name: ExactSizes.of(table, partition) for name, table in tables.items()},
            {name: ExactSizes.of(tables[name], partition, cells) for name, cells in listed.items()},
        )

    @property
    def trips(self) -> int:
        """What all tables together count."""
        return sum(int(sizes.totals.sum()) for sizes in self.occurring.values())

    def forecasts(self, plan: Plan) -> dict[str, TableForecast]:
        """What each table of a plan of this unit would be worth."""
        sizes = self.listed if plan.privacy.lists_cells else self.occurring
        return {name: forecast(sizes[name], mechanism) for name, mechanism in plan.guarantee.mechanisms.items()}

    def worth(self, plan: Plan) -> dict[str, Worth]:
        """What a plan of this unit would publish."""
        found = self.forecasts(plan)
        groups = {
            ONE: [table.name for table in plan.table if len(table.columns) == 1],
            SEVERAL: [table.name for table in plan.table if len(table.columns) > 1],
            ALL: [table.name for table in plan.detailed],
        }
        return {group: together([found[name] for name in names]) for group, names in groups.items() if names}
