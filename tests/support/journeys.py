"""A small city of which every cell is measured: sixteen places, two modes, eleven days, one of them a holiday."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tapveil.plan.model import Plan
from tests.conftest import write_csv

PLACES = [f"{row}{column}" for row in ("Ash", "Elm", "Oak", "Yew") for column in (" North", " East", " South", " West")]
PLAN = """
[release]
name = "journeys"
title = "Journeys of a small city"
licence = "CC-BY-4.0"
publisher = "Port Vesper Transit"
partition = ["mode", "date"]
[source]
path = "trips.csv"
modes = ["metro", "tram"]
first_day = 2025-03-06
last_day = 2025-03-16
[source.columns]
mode = "mode"
date = "day"
tap_on_time = "time"
tap_on_location = "from"
tap_off_location = "to"
[places]
path = "places.csv"
[coarsen]
time_minutes = 120
[world]
holidays = [2025-03-10]
[privacy]
unit = "trip"
neighbours = "add-remove"
mechanism = "world"
epsilon = 2
delta = 1e-6
[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]
[[table]]
name = "origin_time"
columns = ["tap_on_time", "tap_on_location"]
[[table]]
name = "total"
columns = []
weight = "1/4"
"""


def journeys(folder: Path, change: Mapping[str, str] | None = None, trips: int = 40_000) -> Plan:
    """The plan of the city, its trips and its places next to it."""
    chance = np.random.default_rng(7)
    pull = 1 / np.arange(1, len(PLACES) + 1)
    ends = chance.choice(PLACES, (2, trips), p=pull / pull.sum())
    days, hours = chance.integers(6, 17, trips), chance.normal(13, 4, trips).clip(5, 23).astype(int)
    modes = chance.choice(["metro", "tram"], trips, p=[0.7, 0.3])
    rows = [
        (mode, f"2025-03-{day:02d}", f"{hour:02d}:30", start, end)
        for mode, day, hour, start, end in zip(modes, days, hours, *ends, strict=True)
    ]
    write_csv(folder / "trips.csv", rows, ("mode", "day", "time", "from", "to"))
    spots = [(name, "", 50 + n // 4 / 100, 8 + n % 4 / 100) for n, name in enumerate(PLACES)]
    write_csv(folder / "places.csv", spots, ("name", "mode", "latitude", "longitude"))
    text = PLAN
    for old, new in (change or {}).items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return Plan.read(folder / "plan.toml")
