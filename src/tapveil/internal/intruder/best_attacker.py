"""How often the best attacker can be right: from the exact accountant, whatever the trips are and whatever he knows.

He has to say which of k equally likely things is true. Where these are "there" and "not there", `privacy.attacker` says
how often he is right, at most. Else δ(α) is the accountant's curve for what he has to distinguish, and

- each is some unit in the same place, so that any two are neighbours by replacement. With A_i "he says i" and P_i the
  distribution where i is true, P_i(A_i) ≤ e^α P_j(A_i) + δ(α) for all j. Added up over all i and j, he is right with
  probability at most (e^α + (k − 1) δ(α)) / (e^α + k − 1), for every α ≥ 0.
- each is a neighbour of "nobody there", by addition, where he is right once in k whatever he says. So he is right with
  probability at most e^α / k + δ(α), and at most 1 − e^−α (1 − 1/k − δ(α)).

The least of these is the bound. The promise is the same with one point of the curve, the plan's (ε, δ).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, nextafter

from tapveil.plan.model import Plan
from tapveil.privacy import accountant
from tapveil.privacy.accountant import Change, ChangedCells, Exposure
from tapveil.privacy.attacker import attacker
from tapveil.privacy.loss import compose
from tapveil.privacy.person import WEEK, Person, Releases
from tapveil.privacy.units import Neighbours

Curve = Callable[[float], float]
"""δ at ε, from above."""
POINTS = 33
"""On the curve."""
FURTHEST = 8.0
ROUNDED_UP = 1 + 1e-12


@dataclass(frozen=True)
class Bound:
    """How often the best attacker is right, at most."""

    exact: float
    """Against this very mechanism, by exact accounting."""
    promised: float | None
    """As the plan's ε and δ say; None where they promise nothing that is worth a number."""


def which(number: int, replaced: Curve | None, added: Curve | None, points: Iterable[float] | None = None) -> float:
    """Of several, each of them somebody."""
    found = 1.0
    for alpha in points if points is not None else (FURTHEST * n / (POINTS - 1) for n in range(POINTS)):
        grown = exp(alpha)
        if replaced is not None:
            found = min(found, (grown + (number - 1) * replaced(alpha)) / (grown + number - 1))
        if added is not None:
            delta = added(alpha)
            found = min(found, grown / number + delta, 1 - (1 - 1 / number - delta) / grown)
    return min(1.0, found * ROUNDED_UP)


@dataclass(frozen=True)
class Promise:
    """What a plan promises, in curves."""

    plan: Plan

    def _curve(self, neighbours: Neighbours) -> Curve:
        tables = [mechanism.cells for mechanism in self.plan.guarantee.mechanisms.values()]
        exposure = Exposure(neighbours, self.plan.guarantee.exposure.cells)
        return lambda alpha: accountant.delta(tables, alpha, exposure)

    def unit_is_there(self, times: int = 1) -> Bound:
        """Whether a unit is in the trips; they may be published more than once."""
        guarantee = self.plan.guarantee
        loss = compose([guarantee.loss_for("add-remove")] * times)
        exposure = Exposure("add-remove", guarantee.exposure.cells)
        best = attacker(list(guarantee.mechanisms.values()) * times, loss, exposure)
        return Bound(min(1.0, best.right * ROUNDED_UP), _worth(best.promised.right))

    def which_unit(self, number: int) -> Bound:
        """Which of several units is in the trips."""
        exact = which(number, self._curve("replace"), self._curve("add-remove"))
        stated = [
            _at_one_point(number, *self._loss("replace"), replaced=True),
            _at_one_point(number, *self._loss("add-remove"), replaced=False),
        ]
        return Bound(exact, _worth(min(stated)))

    def which_person(self, number: int, trips: int, days: int) -> Bound:
        """Which of several people, each with no more trips than this on these days, is in them with all trips."""
        if self.plan.privacy.unit == "card":
            return self.which_unit(number)
        plan = self.plan
        tables = tuple(
            (plan.guarantee.mechanisms[table.name], "date" in map(plan.source.kind, plan.columns.of(table)))
            for table in plan.table
        )
        released = Releases(plan.privacy.unit, tables, plan.guarantee.exposure.cells, days)
        a_week = ceil(Fraction(trips * WEEK, max(days, WEEK)))
        cells: Mapping[ChangedCells, int] = released.moved_cells(a_week, apart=False)
        both, either = [Change(cells, cells, reactive=True)], _either(cells)
        exact = which(number, _worst(both), _worst(either))
        person = Person(a_week, (released,), plan.guarantee.loss.delta)
        found = person.shown_epsilon("add-remove")
        if found is None:
            return Bound(exact, None)
        return Bound(exact, _worth(_at_one_point(number, float(found), float(person.delta), replaced=False)))

    def _loss(self, neighbours: Neighbours) -> tuple[float, float]:
        loss = self.plan.guarantee.loss_for(neighbours)
        return nextafter(float(loss.epsilon), 1e9), nextafter(float(loss.delta), 1.0)


def _either(cells: Mapping[ChangedCells, int]) -> Sequence[Change]:
    return [Change(cells, {}, reactive=True), Change({}, cells, reactive=True)]


def _worst(changes: Sequence[Change]) -> Curve:
    return lambda alpha: accountant.worst_delta(changes, alpha)


def _at_one_point(number: int, epsilon: float, delta: float, *, replaced: bool) -> float:
    if epsilon > 700:  # e^700 is about the largest float
        return 1.0
    curve: Curve = lambda _: delta  # noqa: E731
    return which(number, curve if replaced else None, None if replaced else curve, [epsilon])


def _worth(bound: float) -> float | None:
    return bound if bound < 1 else None
