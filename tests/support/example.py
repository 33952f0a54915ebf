"""The small harbour of the examples in docstrings: `trips.csv`, `plan.toml`, `ledger.sqlite` and `published`."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Budget
from tapveil.plan.model import Plan
from tapveil.veil.release import release

PLAN = """
[release]
name = "harbour"
title = "Harbour ferries"

[source]
path = "trips.csv"

[source.columns]
mode = "mode"
date = "day"
tap_on_time = "boarded"
tap_on_location = "wharf"

[coarsen]
time_minutes = 60

[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 1
delta = 1e-6

[[table]]
name = "on_time"
columns = ["tap_on_time"]

[[table]]
name = "on_location"
columns = ["tap_on_location"]

[[table]]
name = "total"
columns = []
"""
WHARVES = ("Quay", "Garden Island", "Mosman", "Manly", "Watsons Bay")
TRIPS = 4000


def make(folder: Path) -> None:
    """Write the trips, the plan and a ledger with a budget; release the first of two weeks' budget."""
    prepare(folder)
    release(Plan.read(folder / "plan.toml"), folder / "published")


def prepare(folder: Path) -> None:
    """Write the trips, the plan and a ledger with a budget."""
    with (folder / "trips.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["mode", "day", "boarded", "wharf"])
        for n in range(TRIPS):
            clock = f"{7 + n % 10:02d}:{n % 60:02d}"
            rows.writerow(["ferry", f"2025-03-0{3 + n % 2}", clock, WHARVES[n * n % 7 % 5]])
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    plan = Plan.read(folder / "plan.toml")
    Ledger.start(plan.ledger_path)
    budget = {"unit": plan.privacy.unit, "neighbours": plan.privacy.neighbours, "epsilon": "4", "delta": "1e-5"}
    with Ledger.open(plan.ledger_path) as ledger:
        ledger.declare(Budget.model_validate({"on": date(2025, 3, 10), "data_set": plan.ledger.data_set, **budget}))
