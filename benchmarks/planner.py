"""A planned year on real trips: is the accuracy that the planner predicts the accuracy that a release has?

    python -m benchmarks.planner TRIPS.parquet PLACES.csv

TRIPS is the station-pair file of Namma Metro (hourly counts of pairs of stations). The planner chooses ε for 52 weekly
releases under (8, 1e-6); the first week is then released, without a ledger, and held against its exact counts.
"""

from __future__ import annotations

import argparse
import io
from contextlib import redirect_stderr
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

import tapveil
from tapveil.internal.accuracy import Need
from tapveil.internal.schedule import Schedule
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import mean_error
from tapveil.privacy.loss import Loss

PLAN = """
[release]
name = "namma"
title = "Namma Metro"
partition = ["date"]
[source]
path = "{trips}"
shape = "counts"
first_day = {first}
last_day = {last}
[source.columns]
date = "Date"
tap_on_time = {{ column = "Hour", format = "%H" }}
tap_on_location = "Origin Station"
tap_off_location = "Destination Station"
count = "Ridership"
[places]
path = "{places}"
[coarsen]
time_minutes = 60
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "world"
epsilon = 1
delta = 1e-6
[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]
[[table]]
name = "origin_hour"
columns = ["tap_on_time", "tap_on_location"]
"""
COLUMNS = {"od": ["Origin Station", "Destination Station"], "origin_hour": ["Hour", "Origin Station"]}
STATIONS = ("Origin Station", "Destination Station")
TOTAL = Loss(Fraction(8), Fraction(1, 10**6))
WITHIN, LEAST = Fraction(1, 10), 20


def main() -> None:
    """Plan, release one week, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trips", type=Path)
    parser.add_argument("places", type=Path)
    parser.add_argument("--first", default="2025-08-04")
    parser.add_argument("--last", default="2025-08-10")
    given = parser.parse_args()
    trips = pq.read_table(given.trips).to_pandas()
    days = trips["Date"].astype(str).str[:10]
    trips = trips[(days >= given.first) & (days <= given.last)].assign(Date=days)
    text = PLAN.format(first=given.first, last=given.last, trips=given.trips.resolve(), places=given.places.resolve())
    schedule = Schedule(Plan.parse(text), "week", 52, TOTAL)
    print(f"each of 52 weeks may spend epsilon = {float(schedule.epsilon):g}")
    with TemporaryDirectory() as scratch, redirect_stderr(io.StringIO()):
        file = Path(scratch) / "plan.toml"
        file.write_text(schedule.written(text, schedule.epsilon), encoding="utf-8")
        plan = tapveil.Plan.read(file)
        folder = tapveil.release(plan, Path(scratch) / "published", in_ledger=False)
        for name, columns in COLUMNS.items():
            measured = folder.table(name).to_arrow().to_pandas()
            keys = ["date", *plan.tables[name].columns]
            listed = set(measured["tap_on_location"])
            stations = {column: trips[column].where(trips[column].isin(listed), "UNKNOWN") for column in STATIONS}
            true = trips.assign(**stations).groupby(["Date", *columns])["Ridership"].sum()
            asked = measured[keys].astype(str)
            if name == "origin_hour":
                asked["tap_on_time"] = asked["tap_on_time"].str[:2]
            exact = {tuple(map(_plain, key)): count for key, count in true.items()}
            counts = np.array([exact.get(tuple(map(_plain, row)), 0) for row in asked.itertuples(index=False)])
            off = np.abs(measured["count"].to_numpy() - counts)
            mechanism, busy = plan.guarantee.mechanisms[name], counts >= LEAST
            need = Need(name, WITHIN, LEAST)
            met = (off[busy] <= np.floor(float(WITHIN) * counts[busy] + 1e-9)).mean()
            print(
                f"{name:12} {len(counts):,} cells, {int(counts.sum()):,} of {int(true.sum()):,} trips found; "
                f"mean error {off.mean():.3f}, predicted {mean_error(mechanism):.3f}; within 10 % where at least "
                f"{LEAST}: {met:.1%}, predicted {need.met(mechanism, counts[busy]).mean():.1%}"
            )


def _plain(value: object) -> str:
    text = str(value).strip()
    return str(int(text)) if text.isdigit() else text


if __name__ == "__main__":
    main()
