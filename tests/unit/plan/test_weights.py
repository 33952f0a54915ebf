from __future__ import annotations

from fractions import Fraction

import pytest

from tapveil import Plan
from tapveil.plan.model import Table

COLUMNS = {
    "od": ("tap_on_location", "tap_off_location"),
    "origin_time": ("tap_on_time", "tap_on_location"),
    "origin": ("tap_on_location",),
    "time": ("tap_on_time",),
    "total": (),
    "durations": ("tap_on_location", "tap_off_location", "duration"),
    "whole": ("tap_on_time", "tap_on_location", "tap_off_location"),
}


def weights(plan: Plan, given: dict[str, Fraction] | None = None, **privacy: object) -> dict[str, Fraction]:
    tables = tuple(Table(name=name, columns=of, weight=(given or {}).get(name)) for name, of in COLUMNS.items())
    changed = plan.privacy.model_copy(update=privacy)
    return dict(plan.model_copy(update={"table": tables, "privacy": changed}).guarantee.weights)


def test_a_world_without_weights_has_those_of_the_recommended_plan() -> None:
    journeys = Plan.preset("journeys")
    stated = journeys.guarantee.weights
    bare = tuple(table.model_copy(update={"weight": None}) for table in journeys.table)
    assert journeys.model_copy(update={"table": bare}).guarantee.weights == stated
    assert weights(journeys) == {
        "od": 1,
        "origin_time": 1,
        "origin": 1,
        "time": Fraction(1, 4),
        "total": Fraction(1, 4),
        "durations": Fraction(1, 2),
        "whole": Fraction(2, 5),
    }


@pytest.mark.parametrize(
    ("unit", "neighbours", "epsilon", "narrow"),
    [
        ("trip", "replace", 8, True),
        ("trip", "replace", 4, True),
        ("trip", "replace", Fraction(399, 100), False),
        ("trip", "add-remove", 3, True),
        ("card-day", "add-remove", 4, False),  # four trips a day: √2 times as much
        ("card-day", "add-remove", 6, True),
    ],
)
def test_whole_trips_have_much_weight_where_single_cells_can_be_seen(
    unit: str, neighbours: str, epsilon: Fraction, narrow: bool
) -> None:
    found = weights(Plan.preset("journeys"), unit=unit, neighbours=neighbours, epsilon=Fraction(epsilon))
    assert found["whole"] == (Fraction(3, 2) if narrow else Fraction(2, 5))


def test_one_weight_in_the_plan_is_enough_for_the_rule_to_stand_back() -> None:
    found = weights(Plan.preset("journeys"), {"od": Fraction(2)})
    assert found == {name: 2 if name == "od" else 1 for name in COLUMNS}


def test_the_noise_is_as_the_rule_says() -> None:
    journeys = Plan.preset("journeys")
    bare = tuple(table.model_copy(update={"weight": None}) for table in journeys.table)
    made = journeys.model_copy(update={"table": bare}).guarantee.mechanisms
    assert made["total"].scale == 4 * made["od"].scale


def test_thresholds_have_equal_weights_as_ever() -> None:
    assert set(weights(Plan.preset("journeys"), mechanism="gaussian").values()) == {Fraction(1)}
