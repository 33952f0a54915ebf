"""What would take too long to verify is refused: in a plan, and in a folder before it is tried."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tapveil.base.errors import PlanError
from tapveil.plan.model import Plan
from tapveil.privacy.effort import MOST_KINDS, WIDEST, WIDEST_TOGETHER, too_much
from tapveil.privacy.mechanisms import Mechanism, stated


def noise(name: str, scale: int, threshold: int = 9000) -> Mechanism:
    return stated(name, Fraction(scale), Fraction(threshold))


@pytest.mark.parametrize("name", ["sbh", "laplace", "gaussian", "dictionary"])
def test_the_bounds_are_on_width_on_all_widths_and_on_kinds(name: str) -> None:
    assert too_much([]) is None
    assert too_much([noise(name, WIDEST)] * 64) is None, "the same noise is looked at once"
    assert "scale 2,001" in str(too_much([noise(name, WIDEST + 1)]))
    wide = [noise(name, WIDEST), noise(name, WIDEST - 1), noise(name, WIDEST_TOGETHER - 2 * WIDEST + 1)]
    assert too_much(wide) is None
    assert "add up to 5,001" in str(too_much([*wide, noise(name, 1)]))
    kinds = [noise(name, 5, 100 + n) for n in range(MOST_KINDS + 1)]
    assert too_much(kinds[1:]) is None
    assert "33 tables" in str(too_much(kinds))


def plan(tables: int, privacy: str, budget: str) -> Plan:
    columns = "\n".join(f'c{n} = "c{n}"' for n in range(tables))
    lines = ['[release]\nname = "x"\ntitle = "X"\npartition = []\n[source]\npath = "x.csv"\n[source.columns]', columns]
    lines += [f'card = "card"\n[privacy]\nneighbours = "add-remove"\n{privacy}']
    lines += [f'[[table]]\nname = "t{n}"\ncolumns = ["c{n}"]\n{budget.format(n=n)}' for n in range(tables)]
    return Plan.parse("\n".join(lines))


TRIP = 'unit = "trip"\nmechanism = "{}"'
CARD = 'unit = "card"\ntrips_per_card = {}\nwithout_card = "refuse"\nmechanism = "sbh"'
EPSILON = 'epsilon = "{}"\ndelta = "1e-6"'


def test_a_plan_that_nobody_could_verify_is_refused_in_plain_words() -> None:
    with pytest.raises(
        PlanError, match=r"scale 2,100; the maximum that can be verified is 2,000; use a larger epsilon"
    ):
        plan(1, CARD.format(2100), EPSILON.format("1"))
    with pytest.raises(PlanError, match=r"33 tables with different noise.* fewer different epsilons and deltas"):
        plan(33, TRIP.format("sbh"), 'epsilon = "1.{n:02d}"\ndelta = "1e-6"')
    assert len(plan(33, TRIP.format("sbh"), EPSILON.format("1")).guarantee.mechanisms) == 33
