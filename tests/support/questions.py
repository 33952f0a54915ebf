"""The small city of the page of ten questions: generated trips, their plan, and the release of them.

    python -m tests.support.questions build/questions

The trips are the same every time, the noise is not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tapveil
from tests.conftest import write_csv
from tests.support.weeks import FIRST, WEEK, days_of

STATIONS = ["Central", "Museum", "Harbour", "Park", "Mill", "Grown"]
HOURS = np.array([0.2, 0.2, 0.4, 0.3, 2, 4, 8, 14, 16, 8, 6, 5.5, 6, 4, 6.5, 8, 11, 13, 9, 6, 4, 3, 2, 1])
PLAN = """
[release]
name = "questions"
title = "Trips of a small city"
partition = ["mode", "date"]
[source]
path = "trips.csv"
first_day = 2025-03-03
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
time_minutes = 60
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 8
delta = 1e-6
"""
TABLES = {
    "total": "[]",
    "on_time": '["tap_on_time"]',
    "on_location": '["tap_on_location"]',
    "on_time_location": '["tap_on_time", "tap_on_location"]',
    "od": '["tap_on_location", "tap_off_location"]',
}
Row = tuple[str, str, str, str, str]
DAYS = days_of(FIRST, 14)
TRAM_HOURS = {**dict.fromkeys((7, 9, *range(13, 19)), 90), 10: 70, 12: 3}
"""Trips in an hour; at 8 and at 11 they differ from day to day, and at 12 they are too few to be published."""


def trips() -> list[Row]:
    """Two weeks of trips; one station has a quarter more in the second, and one has a trip a day."""
    random, rows = np.random.default_rng(7), list[Row]()
    for number, day in enumerate(DAYS):
        for mode, of in (("train", 1.0), ("ferry", 0.2)):
            for place, station in enumerate(STATIONS):
                level = of * WEEK[number % 7] * 900 / (1 + place / 2)
                level *= 1.25 if station == "Grown" and number > 6 else 1
                many = int(random.poisson(level))
                hours = random.choice(24, many, p=HOURS / HOURS.sum())
                ends = random.choice(len(STATIONS), many, p=np.arange(6, 0, -1) / 21)
                rows += [
                    (mode, day, f"{hour:02d}:30", station, STATIONS[end])
                    for hour, end in zip(hours.tolist(), ends.tolist(), strict=True)
                ]
        rows.append(("train", day, "12:30", "Quiet Halt", "Central"))
        rows += _trams(number, day)
    return rows


def _trams(number: int, day: str) -> list[Row]:
    """What misleads whoever averages the published days: every other day, a station, an hour and a flow are hidden."""
    busy = number % 2 == 0
    rows = list[Row]()
    for hour, many in TRAM_HOURS.items():
        rows += [("tram", day, f"{hour:02d}:30", "Park", "Mill")] * many
    rows += [("tram", day, "11:30", "Park", "Mill")] * (60 if busy else 2)
    rows += [("tram", day, "08:30", "Central", "Park")] * 120
    rows += [("tram", day, "08:30", "Museum", "Mill")] * (200 if busy else 2)
    rows += [("tram", day, "22:30", "Museum", "Mill")] * (1500 if busy else 2)
    return rows


def lay_out(home: Path, rows: list[Row]) -> Path:
    """The trips, the places and the plan of them in a folder."""
    home.mkdir(parents=True, exist_ok=True)
    write_csv(home / "trips.csv", rows, ("mode", "day", "time", "from", "to"))
    points = [(name, 1 + at / 100, 2 + at / 50) for at, name in enumerate([*STATIONS, "Quiet Halt"])]
    places = [(name, mode, *point) for name, *point in points for mode in ("ferry", "train", "tram")]
    write_csv(home / "places.csv", places, ("name", "mode", "latitude", "longitude"))
    tables = "".join(f'[[table]]\nname = "{name}"\ncolumns = {columns}\n' for name, columns in TABLES.items())
    (home / "plan.toml").write_text(PLAN + tables, encoding="utf-8")
    return home / "plan.toml"


def published(home: Path, rows: list[Row]) -> None:
    """The release of the city, in `published`."""
    tapveil.release(tapveil.Plan.read(lay_out(home, rows)), home / "published", in_ledger=False)


if __name__ == "__main__":
    published(Path(sys.argv[1]), trips())
