"""Tables of a known world in which noise hides most trips: `check` says so, and what helps."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

import tapveil
from tapveil.internal.outlook import Outlook, outlook
from tapveil.plan.model import Plan
from tests.conftest import write_csv
from tests.support.commands import run

PLACES = [(name, n / 100, 0.0) for n, name in enumerate(["Ash", "Elm", "Fir", "Oak", "Yew", "Bay", "Box", "Fig"])]
PLAN = """
[release]
name = "small"
title = "Small"
partition = ["date"]

[source]
path = "trips.csv"
first_day = 2025-03-03
last_day = 2025-03-30

[source.columns]
card = "card"
date = "day"
tap_on_time = "time"
tap_on_location = "from"
tap_off_location = "to"

[places]
path = "places.csv"

[coarsen]
time_minutes = 240

[world]
holidays = [2025-03-10]

[privacy]
unit = "card-day"
neighbours = "add-remove"
mechanism = "world"
epsilon = 1
delta = 1e-6
trips_per_day = 4
without_card = "refuse"

[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]

[[table]]
name = "origins"
columns = ["tap_on_time", "tap_on_location"]

[[table]]
name = "total"
columns = []
trips_per_cell = 4
"""


def plan_of(folder: Path, a_day: int, text: str = PLAN) -> Plan:
    """A month with as many trips on each day, more of them between some places."""
    chance, rows = random.Random(1), []
    for day in range(28):
        on = date(2025, 3, 3) + timedelta(days=day)
        for trip in range(a_day):
            start, end = (min(chance.randrange(8), chance.randrange(8)) for _ in range(2))
            rows.append((f"c{trip}", f"{on}", f"{chance.randrange(6, 22):02}:15", PLACES[start][0], PLACES[end][0]))
    write_csv(folder / "trips.csv", rows, ("card", "day", "time", "from", "to"))
    write_csv(folder / "places.csv", PLACES, ("name", "latitude", "longitude"))
    (folder / "plan.toml").write_text(text)
    return Plan.read(folder / "plan.toml")


def advice(found: Outlook) -> str:
    return next((note for note in found.notes if "smaller than their noise" in note), "")


def shares(text: str) -> list[int]:
    return [int(share) for share in re.findall(r"(?:od|origins) (\d+) %", text)]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_of(tmp_path_factory.mktemp("few"), 200)


def test_the_advice_can_be_followed_and_brings_what_it_says(few: Plan) -> None:
    found = outlook(few)
    assert [*found.thin] == ["od", "origins"]
    thin, together = (shares(part) for part in advice(found).split("counted together"))
    assert all(share > 50 for share in thin)
    partition, day_type = re.findall(r"(partition = \[.*?\])|(day_type = \{.*?\})", advice(found))
    text = PLAN.replace('partition = ["date"]', partition[0]).replace("[world]\nholidays = [2025-03-10]\n", "")
    changed = few.base / "changed.toml"
    changed.write_text(text + f"\n[coarsen.date]\n{day_type[1]}\n")
    assert not outlook(Plan.read(changed)).thin
    held = {name: table.scale for name, table in Plan.read(changed).guarantee.mechanisms.items()}
    assert held == {name: table.scale for name, table in few.guarantee.mechanisms.items()}, "noise as wide"
    assert all(share < 50 for share in together)

    def off(plan: Plan, by: list[str], name: str) -> int:
        """The errors of pairs of all days together."""
        folder = tapveil.release(plan, few.base / name, in_ledger=False)
        pairs = folder.estimate([*by, "tap_on_location", "tap_off_location"]).rows()
        counted = dict.fromkeys(((a[0], b[0]) for a in PLACES for b in PLACES), 0)
        for row in pairs:
            cell = row["tap_on_location"], row["tap_off_location"]
            counted[cell] = counted.get(cell, 0) + row["count"]
        for line in (few.base / "trips.csv").read_text().splitlines()[1:]:
            *_, start, end = line.split(",")
            counted[start, end] -= 1
        return sum(map(abs, counted.values()))

    assert off(Plan.read(changed), ["day_type"], "by-kind") < off(few, ["date"], "by-day")


def test_the_summary_says_it_where_no_table_is_nearly_empty(few: Plan) -> None:
    said = " ".join(run("check", "plan.toml", cwd=few.base).stdout.split())
    assert "Most cells are smaller than their noise" in said
    assert "noise hides most cells of 2 of 3 tables: see above" in said


def test_of_many_trips_and_of_thresholds_nothing_is_said(tmp_path: Path) -> None:
    assert not advice(outlook(plan_of(tmp_path, 4_000)))
    thresholds = PLAN.replace('"world"', '"gaussian"').replace("[world]\nholidays = [2025-03-10]\n", "")
    assert not advice(outlook(plan_of(tmp_path, 200, thresholds.replace("trips_per_cell = 4", ""))))


def test_a_whole_card_would_count_once_for_all_days_so_days_stay_apart(tmp_path: Path) -> None:
    text = PLAN.replace('"card-day"', '"card"').replace("trips_per_day = 4", "trips_per_card = 28")
    found = advice(outlook(plan_of(tmp_path, 200, text)))
    assert "Use larger areas or wider bins" in found
    assert "day_type" not in found
