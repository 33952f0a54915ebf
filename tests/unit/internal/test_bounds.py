"""Bounds on the trips of a card: what each drops, as it is in the trips, and the noise that it adds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tapveil
from tapveil.internal.bounds import Rule
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
    assert [bound.most for bound in found.bounds] == [2, 4, 8]
    trips = sum(CARDS.values())
    for bound in found.bounds:
        beyond = sum(max(0, made - bound.most) for made in CARDS.values())
        assert bound.left_out == pytest.approx(beyond / trips)
    assert found.bounds[1].left_out == pytest.approx(found.left_out / trips)
    text = plan.read_text(encoding="utf-8")
    own = tapveil.Plan.read(plan).guarantee.mechanisms["stop_time"].scale
    for bound in found.bounds:
        other = tapveil.Plan.parse(text.replace(" = 4\n", f" = {bound.most}\n")).guarantee.mechanisms["stop_time"].scale
        assert bound.noise == pytest.approx(float(other / own), rel=0.1)
    assert found.bounds[1].noise == 1


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


WORLD = """
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
tap_on_time = "time"
tap_on_location = "stop"
mode = { value = "bus" }
[places]
path = "places.csv"
[coarsen]
time_minutes = 60
[privacy]
unit = "card"
neighbours = "add-remove"
mechanism = "world"
epsilon = 4
delta = 1e-6
trips_per_card = 6
without_card = "refuse"
[[table]]
name = "total"
columns = []
[[table]]
name = "stop_hour"
columns = ["tap_on_time", "tap_on_location"]
"""
GOES_ON = 0.8
"""Of those who made a trip, how many make one more."""


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan and its folder, of a week of cards whose trips are all in different cells, or nearly."""
    folder = tmp_path_factory.mktemp("earlier")
    random = np.random.default_rng(5)
    made = random.geometric(1 - GOES_ON, 4000)
    rows = [
        f"2025-03-0{random.integers(3, 10)},c{card},s{random.integers(40)},{random.integers(24):02}:00"
        for card, trips in enumerate(made)
        for _ in range(trips)
    ]
    (folder / "trips.csv").write_text("day,card,stop,time\n" + "\n".join(rows) + "\n", encoding="utf-8")
    places = [f"s{place},-33.{place:02},151.{place:02}" for place in range(40)]
    (folder / "places.csv").write_text("name,latitude,longitude\n" + "\n".join(places) + "\n", encoding="utf-8")
    (folder / "plan.toml").write_text(WORLD, encoding="utf-8")
    tapveil.release(tapveil.Plan.read(folder / "plan.toml"), folder / "published", in_ledger=False)
    return folder


def test_what_a_bound_drops_follows_from_a_folder_that_tells_cards_and_trips(earlier: Path) -> None:
    plan = tapveil.Plan.read(earlier / "plan.toml")
    rule = Rule.of(earlier / "published", plan)
    assert rule is not None
    assert rule.units == pytest.approx(4000, rel=0.05)
    exact = tapveil.outlook(plan).bounds
    for bound in exact:
        assert rule.left_out(bound.most) == pytest.approx(bound.left_out, abs=0.04)


def test_the_stricter_epsilon_is_the_lower_the_best_bound(earlier: Path) -> None:
    plan = tapveil.Plan.read(earlier / "plan.toml")
    rule = Rule.of(earlier / "published", plan)
    assert rule is not None
    best = [
        rule.best(plan.model_copy(update={"privacy": plan.privacy.model_copy(update={"epsilon": Fraction(epsilon)})}))
        for epsilon in (1, 4, 16)
    ]
    assert best == sorted(set(best))  # type: ignore[type-var]


def test_a_folder_that_does_not_count_cards_tells_no_bound(earlier: Path, tmp_path: Path) -> None:
    for name in ("trips.csv", "places.csv"):
        (tmp_path / name).write_bytes((earlier / name).read_bytes())
    text = WORLD.replace('[[table]]\nname = "total"\ncolumns = []\n', "")
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = tapveil.Plan.read(tmp_path / "plan.toml")
    tapveil.release(plan, tmp_path / "published", in_ledger=False)
    assert Rule.of(tmp_path / "published", plan) is None


def test_the_planner_offers_the_rule_of_an_earlier_folder(earlier: Path) -> None:
    asked = ("ledger", "plan", earlier / "plan.toml", "--epsilon", "8", "--delta", "1e-6", "--for", "4")
    done = run(*asked, "--from", earlier / "published")
    assert done.returncode == 0, done.stderr
    assert "by a rule of thumb from the folder alone" in done.stdout
    assert "is least at about" in done.stdout
    assert f'chosen_from = "{tapveil.open(earlier / "published").manifest.release_id}"' in done.stdout
    assert NOTICE not in done.stdout
    assert "rule of thumb" not in run(*asked).stdout
