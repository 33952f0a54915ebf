"""Killed at any instant, or failing at any write: never half a folder, never a spend lost or made twice."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tapveil.plan.model import Plan
from tests.conftest import start_ledger, write_csv

ROOT = Path(__file__).parents[2]
SHARES = 4
PLAN = """
[release]
name = "crash"
title = "Crash"
[source]
path = "trips.csv"
[source.columns]
card = "card_id"
mode = "mode"
date = "trip_date"
tap_on_time = "tap_on_time"
tap_on_location = "tap_on_location"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "laplace"
epsilon = 4
delta = 1e-6
[[table]]
name = "on_time"
columns = ["tap_on_time"]
[[table]]
name = "on_location"
columns = ["tap_on_location"]
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A plan, its trips, and a ledger whose budget holds the release once."""
    chance = random.Random(1)
    rows = [
        (f"c{n}", "2016-08-08", chance.choice(["bus", "train"]), f"{hour:02d}:00", f"stop {n % 4}", "23:00", "x")
        for n in range(3000)
        for hour in [chance.randrange(6, 22)]
    ]
    write_csv(tmp_path / "trips.csv", rows)
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    start_ledger(Plan.read(tmp_path / "plan.toml"), "4", "1e-6")
    return tmp_path


WORLD = """
[release]
name = "crash"
title = "Crash"
[source]
path = "trips.csv"
modes = ["bus", "train"]
first_day = 2016-08-08
last_day = 2016-08-09
[source.columns]
card = "card_id"
mode = "mode"
date = "trip_date"
tap_on_time = "tap_on_time"
tap_on_location = "tap_on_location"
tap_off_time = "tap_off_time"
tap_off_location = "tap_off_location"
[places]
path = "places.csv"
[coarsen]
time_minutes = 240
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "world"
epsilon = 4
delta = 1e-6
[[table]]
name = "on"
columns = ["tap_on_time", "tap_on_location"]
[[table]]
name = "off"
columns = ["tap_off_time", "tap_off_location"]
"""


@pytest.fixture
def world(source: Path) -> Path:
    """The same trips, of which every cell is measured: with estimates and synthetic trips."""
    places = [("x", 1, 1), *((f"stop {n}", 0, n) for n in range(4))]
    write_csv(source / "places.csv", places, ("name", "latitude", "longitude"))
    (source / "plan.toml").write_text(WORLD, encoding="utf-8")
    return source


def some(every: int) -> pytest.MarkDecorator:
    """CI tries one point in so many; `make test-full` all of them, in shares that run side by side."""
    shares = [pytest.param(SHARES, first, marks=pytest.mark.slow) for first in range(SHARES)]
    return pytest.mark.parametrize(("every", "first"), [(every, 0), *shares])


@some(60)
def test_a_known_world_killed_at_every_step(every: int, first: int, world: Path) -> None:
    """Also while measurements, estimates and synthetic trips are written."""
    points = crash(world, "points", every, first)
    for step in ("write off.parquet", "rows off.parquet", "close off.parquet", "write joint.csv"):
        assert any(step in point for point in points), step
    for step in ("write", "rows", "close"):
        assert any(f"{step} synthetic_trips.parquet" in point for point in points), step
    assert any("write synthetic_trips.csv" in point for point in points)


@some(120)
def test_every_write_of_a_known_world_may_fail(every: int, first: int, world: Path) -> None:
    assert len(crash(world, "errors", every, first)) >= 30


def crash(source: Path, what: str, *numbers: int) -> list[str]:
    command = [sys.executable, "-m", "tests.support.crashes", str(source), what, *map(str, numbers)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout.splitlines()


@some(12)
def test_killed_at_every_step_that_touches_disk_or_ledger(every: int, first: int, source: Path) -> None:
    points = crash(source, "points", every, first)
    assert len(points) >= 60, "\n".join(points)
    for step in ("ledger COMMIT", "rename .journal.json.aside", "write .on_time.sealed.aside", "rename folder"):
        assert any(step in point for point in points), step


@some(15)
def test_every_write_may_fail(every: int, first: int, source: Path) -> None:
    """ENOSPC, EIO and EACCES at every point."""
    assert len(crash(source, "errors", every, first)) >= 30


@pytest.mark.parametrize("times", [15, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_at_random_times(times: int, source: Path) -> None:
    assert crash(source, "times", times)
