"""Noise that is calibrated ahead, for the ε that a slider may move to, so that moving it is answered at once.

Exact calibration takes a good part of a second. Until that of an ε is known, the noise of the nearest one that is known
stands in, scaled: σ and threshold are about in proportion to 1/ε. What is answered with it says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction

from tapveil.base.errors import PlanError
from tapveil.internal.accuracy import wider
from tapveil.plan.model import Plan
from tapveil.privacy.mechanisms import LARGEST_EPSILON, SMALLEST_EPSILON, Mechanism

SCALE = (
    *("0.1", "0.15", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1", "1.2", "1.4", "1.6", "1.8", "2"),
    *("2.5", "3", "3.5", "4", "5", "6", "7", "8", "10"),
)
"""The ε of the slider."""
AROUND = 4
"""Of these, so many that are nearest to the one that was asked for are calibrated as well."""

Mechanisms = Mapping[str, Mechanism]


class Ahead:
    """The noise of plans that differ in their ε alone."""

    def __init__(self, tell: Callable[[str], None] = lambda epsilon: None) -> None:
        self._tell = tell
        self._changed = threading.Condition()
        self._mark: object = None
        self._plan: Plan | None = None
        self._known: dict[Fraction, Mechanisms | None] = {}
        self._wanted: list[Fraction] = []
        self._asked: set[Fraction] = set()
        self._works = False

    def mechanisms(self, plan: Plan) -> tuple[Mechanisms, bool]:
        """The noise of a plan, and whether it is exact; PlanError where no noise gives its promise."""
        epsilon = plan.privacy.epsilon
        with self._changed:
            self._attend_to(plan)
            near = [each for each, noise in self._known.items() if noise is not None]
            if epsilon is not None and near and epsilon not in self._known:
                self._want(epsilon)
                nearest = min(near, key=lambda each: abs(float(each / epsilon) - 1))
                return scaled(_found(self._known[nearest]), nearest / epsilon), False
        return self.exactly(plan), True

    def exactly(self, plan: Plan) -> Mechanisms:
        """The noise of a plan, calibrated now if it is not known; PlanError where no noise gives its promise."""
        epsilon = plan.privacy.epsilon
        if epsilon is None:
            return exact(plan)
        with self._changed:
            mark = self._attend_to(plan)
            if epsilon in self._known:
                return _found(self._known[epsilon])
        found = exact(plan)
        with self._changed:
            if mark is self._mark:  # another plan may have been asked for meanwhile
                self._known[epsilon] = found
        return found

    def _attend_to(self, plan: Plan) -> object:
        """Begin anew where anything but ε is another than before."""
        mark = (plan.privacy.model_copy(update={"epsilon": None}), plan.table)
        if mark != self._mark:
            self._mark, self._plan, self._known, self._asked, self._wanted = mark, plan, {}, set(), []
        return self._mark

    def _want(self, epsilon: Fraction) -> None:
        """Calibrate for an ε next, and then for those around it: a slider moves step by step."""
        self._asked.add(epsilon)
        around = sorted(map(Fraction, SCALE), key=lambda each: abs(float(each / epsilon) - 1))[:AROUND]
        self._wanted = [*dict.fromkeys([epsilon, *around])]
        if not self._works:
            self._works = True
            threading.Thread(target=self._work, daemon=True).start()

    def stop(self) -> None:
        """Calibrate no more than what is asked for."""
        with self._changed:
            self._wanted = []

    def _work(self) -> None:
        while True:
            with self._changed:
                self._wanted = [each for each in self._wanted if each not in self._known]
                if not self._wanted or self._plan is None:
                    self._works = False
                    return
                epsilon, mark, plan = self._wanted[0], self._mark, self._plan
            try:
                found: Mechanisms | None = exact(with_epsilon(plan, epsilon))
            except PlanError:
                found = None
            with self._changed:
                if mark is not self._mark:
                    continue
                self._known[epsilon] = found
                asked = epsilon in self._asked
            if asked:
                self._tell(str(epsilon))


def exact(plan: Plan) -> Mechanisms:
    """The noise of a plan as it would be drawn; PlanError where there is none."""
    try:
        return plan.guarantee.mechanisms
    except ValueError as error:
        raise PlanError(str(error)) from None


def _found(noise: Mechanisms | None) -> Mechanisms:
    if noise is None:
        raise PlanError("no noise gives this promise: choose another epsilon")
    return noise


def scaled(noise: Mechanisms, times: Fraction) -> Mechanisms:
    """Noise, wider by a factor."""
    return {name: wider(each, times) for name, each in noise.items()}


def with_epsilon(plan: Plan, epsilon: Fraction) -> Plan:
    """The plan with another ε."""
    return plan.model_copy(update={"privacy": plan.privacy.model_copy(update={"epsilon": epsilon})})


def read_epsilon(value: object) -> Fraction | None:
    """An ε as an edit has it; None for anything that no plan may have."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    found = Fraction(Decimal(str(value)))
    return found if SMALLEST_EPSILON <= found <= LARGEST_EPSILON else None
