"""What tests share: small trips, small plans, and the real data where it is present."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tapveil.ledger import book
from tapveil.ledger.entry import Budget
from tapveil.plan.model import Plan, preset_text
from tests.browser import launch

# A loaded machine is no fault of a test.
settings.register_profile("loaded", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loaded")

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"

OPAL_COLUMNS = ("card_id", "trip_date", "mode", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location")
STOPS = "stop_id,stop_name,postcode\n1001,First St,2000\n1002,Second St,2000\n1003,Third St,2010\n"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED_DATA.exists():
        pytest.skip("the real data is not beside this checkout (../shared/data)")
    return SHARED_DATA


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all tests of a process: Playwright does not start twice in one."""
    try:
        with sync_playwright() as playwright:
            started = launch(playwright)
            yield started
            started.close()
    except PlaywrightError as error:
        if os.environ.get("TAPVEIL_BROWSER") == "required":
            raise
        pytest.skip(f"no Chromium (make browser): {str(error).splitlines()[0]}")


def with_mounts(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script that may mount small disks, in a mount namespace of its own; it prints `code …` once it has."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if "code" not in done.stdout:
        pytest.skip(f"this machine does not let us mount a small disk: {done.stderr.strip()}")
    return done


def write_csv(path: Path, rows: Iterable[Sequence[object]], header: Sequence[str] = OPAL_COLUMNS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


WITH_TOTAL = {
    "# In total: ": '[[table]]\nname = "total"\ncolumns = []\nepsilon = 1\ndelta = "1/8000000"\n\n# In total: '
}
"""A change of the opal preset: totals as well."""


def opal_text(**changes: str) -> str:
    """The opal preset with some of its text replaced: `opal_text(**{"trips/*": "trips.csv"})`."""
    text = preset_text("opal")
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def opal_plan(folder: Path, path: str = "trips.csv", **changes: str) -> Plan:
    """The opal preset over a file in a folder, with a small lookup beside it."""
    (folder / "stops.csv").write_text(STOPS, encoding="utf-8")
    text = opal_text(**{"trips/*": path}, **changes)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return Plan.read(folder / "plan.toml")


def free_plan(
    folder: Path, path: str, columns: dict[str, str], tables: dict[str, list[str]], partition: Sequence[str] = ()
) -> Plan:
    """A plan of free columns and tables, each table at (1, 1/8000000)."""
    lines = [
        '[release]\nname = "free"\ntitle = "Free"',
        f"partition = {json.dumps(list(partition))}",
        f"[source]\npath = {json.dumps(path)}\n[source.columns]",
        *(f"{ours} = {json.dumps(theirs)}" for ours, theirs in columns.items()),
        '[privacy]\nunit = "trip"\nneighbours = "replace"\nmechanism = "sbh"',
    ]
    for name, keys in tables.items():
        lines.append(f'[[table]]\nname = "{name}"\ncolumns = {json.dumps(keys)}\nepsilon = 1\ndelta = "1/8000000"')
    (folder / "plan.toml").write_text("\n".join(lines), encoding="utf-8")
    return Plan.read(folder / "plan.toml")


def start_ledger(plan: Plan, epsilon: str = "8", delta: str = "1e-6") -> Path:
    """The ledger that a plan names, with a budget for its data set and unit."""
    book.Ledger.start(plan.ledger_path, TODAY)
    declare(plan, epsilon, delta)
    return plan.ledger_path


def declare(plan: Plan, epsilon: str, delta: str) -> None:
    privacy = {"unit": plan.privacy.unit, "neighbours": plan.privacy.neighbours}
    budget = {"on": TODAY, "data_set": plan.ledger.data_set, **privacy, "epsilon": epsilon, "delta": delta}
    with book.Ledger.open(plan.ledger_path) as ledger:
        ledger.declare(Budget.model_validate(budget | {"reason": "a test needs it", "by": "the test"}))


TODAY = date(2026, 11, 16)
BUS = ("308500001", "2016-08-08", "bus", "07:31", "1001", "07:55", "1003")
TRAIN = ("308500002", "2016-08-09", "train", "08:02", "Central", "", "")


# --- a table at several levels ----------------------------------------------------------------------------------------

LEVELLED = """
[release]
name = "levelled"
title = "Boardings at several levels"
[source]
path = "trips.csv"
first_day = 2025-03-03
last_day = 2025-03-04
[source.columns]
card = "card_id"
mode = "mode"
date = "trip_date"
tap_on_time = "tap_on_time"
tap_on_location = "tap_on_location"
[coarsen]
time_minutes = 30
[coarsen.wider.region."*"]
lookup = "regions.csv"
from = "place"
to = "region"
[coarsen.wider.region.bus]
lookup = "zones.csv"
from = "place"
to = "zone"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "sbh"
epsilon = 8
delta = 1e-6
[[table]]
name = "on_time"
columns = ["tap_on_time"]
levels = [{}, { name = "hours", time_minutes = 60 }, { name = "peaks", times = ["06:00", "10:00"] }]
[[table]]
name = "on_location"
columns = ["tap_on_location"]
levels = [{}, { name = "region", location = "region" }]
[[table]]
name = "both"
columns = ["tap_on_time", "tap_on_location"]
weight = 3
levels = [
  { weight = 2 },
  { name = "hours", time_minutes = 60 },
  { name = "region", times = ["06:00", "10:00"], location = "region" },
]
[[table]]
name = "total"
columns = []
weight = "1/4"
"""
BY_CARD = {'unit = "trip"': 'unit = "card-day"\ntrips_per_day = 3\nwithout_card = "refuse"'}


def levelled_plan(folder: Path, **changes: str) -> Plan:
    """Tables at several levels, over some thousands of trips that follow from nothing but this line of code."""
    places = {"bus": ["2000", "2010", "2020", "9999"], "train": ["Central", "Town, Hall", "東門", ""]}
    rows = []
    for number in range(12_000):
        mode, day = ("bus", "train")[number * 7 % 3 > 0], f"2025-03-0{3 + number % 2}"
        minute = (number * number * 37 + 11 * number) % 1200 + 200 if number % 50 else None
        place = places[mode][(number * number * 13 + number // 7) % 97 % 5 % 4]
        clock = "" if minute is None else f"{minute // 60:02d}:{minute % 60:02d}"
        rows.append((f"30852200{number % 4000:08}", day, mode, clock, place))
    write_csv(folder / "trips.csv", rows, ("card_id", "trip_date", "mode", "tap_on_time", "tap_on_location"))
    write_csv(
        folder / "regions.csv", [("Central", "South"), ("Town, Hall", "South"), ("東門", "北")], ("place", "region")
    )
    write_csv(folder / "zones.csv", [("2000", "A"), ("2010", "A"), ("2020", "B")], ("place", "zone"))
    text = LEVELLED
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return Plan.read(folder / "plan.toml")
