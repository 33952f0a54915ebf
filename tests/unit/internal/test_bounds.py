"""Bounds on the trips of a card: what each drops, as it is in the trips, and the noise that it adds."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import tapveil
from tapveil.internal.confidential import NOTICE
from tests.support.commands import run

PLAN = """
[release]
name = "weekly"
title = "Weekly"
partition = []
[source]
path = "trips.csv"
first_day = 2025-03-03
last_day = 2025-03-09
[source.columns]
date = "day"
card = "card"
tap_on_location = "stop"
tap_on_time = "time"
[privacy]
unit = "{unit}"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 8
delta = 1e-6
{bound} = 4
without_card = "refuse"
[[table]]
name = "stop_time"
columns = ["tap_on_time", "tap_on_location"]
"""
CARDS = {card: 1 + card % 8 for card in range(160)}
"""How many trips each made, all on one day."""


@pytest.fixture(params=["card", "card-day"])
def plan(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    rows = [f"2025-03-04,c{card},s{trip % 3},{8 + trip:02}:00" for card, made in CARDS.items() for trip in range(made)]
    (tmp_path / "trips.csv").write_text("day,card,stop,time\n" + "\n".join(rows) + "\n", encoding="utf-8")
    file = tmp_path / "plan.toml"
    bound = "trips_per_card" if request.param == "card" else "trips_per_day"
    file.write_text(PLAN.format(unit=request.param, bound=bound), encoding="utf-8")
    return file


def test_each_bound_drops_what_exceeds_it_and_a_higher_one_adds_noise(plan: Path) -> None:
    found = tapveil.outlook(tapveil.Plan.read(plan))
    assert [bound.most for bound in found.bounds] == [2, 3, 4, 6, 8]
    trips = sum(CARDS.values())
    for bound in found.bounds:
        beyond = sum(max(0, made - bound.most) for made in CARDS.values())
        assert bound.left_out == pytest.approx(beyond / trips)
    assert found.bounds[2].left_out == pytest.approx(found.left_out / trips)
    scales = [bound.mechanisms[0].scale for bound in found.bounds]
    assert all(low < high for low, high in pairwise(scales))
    assert scales[2] == tapveil.Plan.read(plan).guarantee.mechanisms["stop_time"].scale


def test_check_shows_them_below_its_notice_and_not_without_the_trips(plan: Path) -> None:
    shown = run("check", plan).stdout
    title = "drops and adds"
    assert NOTICE in shown[: shown.index(title)]
    assert "this plan" in shown
    assert title not in run("check", "--plan-only", plan).stdout


def test_trips_have_no_bound(tmp_path: Path, plan: Path) -> None:
    text = plan.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("trips_per", "without_card"))]
    (tmp_path / "trip.toml").write_text(
        "\n".join("unit = 'trip'" if line.startswith("unit") else line for line in lines), encoding="utf-8"
    )
    assert tapveil.outlook(tapveil.Plan.read(tmp_path / "trip.toml")).bounds == ()
