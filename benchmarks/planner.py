"""A planned year: is the accuracy that the planner predicts the accuracy that a release has?

    python -m benchmarks.planner                              # cards of the demo city
    python -m benchmarks.planner TRIPS.parquet PLACES.csv     # trips of Namma Metro

TRIPS is the station-pair file of Namma Metro (hourly counts of pairs of stations). The planner chooses ε for 52 weekly
releases under (8, 1e-6); a week is then released, without a ledger, and held against its exact counts. Of the demo
city, a week is released several times: without a ledger, as its people are made up.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

import tapveil
from benchmarks.utility.measure import city
from tapveil.counting.counter import count
from tapveil.counting.exact import ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.demo.city import WEEKS
from tapveil.internal.accuracy import Need, share_within
from tapveil.internal.schedule import Schedule
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import distribution, mean_error
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


CARDS = """
[release]
name = "weekly"
title = "Weekly"
partition = ["mode"]
[source]
path = "trips/*.parquet"
first_day = {first}
last_day = {last}
[source.columns]
card = "card_id"
mode = "mode"
date = "trip_date"
tap_on_time = "tap_on_time"
tap_on_location = "tap_on_location"
tap_off_location = "tap_off_location"
[coarsen]
time_minutes = 60
[coarsen.location.bus]
lookup = "stops.csv"
from = "stop_id"
to = "postcode"
[privacy]
unit = "card"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 1
delta = 1e-8
trips_per_card = 14
without_card = "refuse"
[[table]]
name = "origins"
columns = ["tap_on_location"]
[[table]]
name = "origin_hour"
columns = ["tap_on_time", "tap_on_location"]
[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]
"""


def cards(trips: int, draws: int) -> None:
    """A week of the demo city's cards as it was predicted, and as it was in several releases."""
    folder, monday = city(trips), WEEKS[0]
    text = CARDS.format(first=monday, last=monday + timedelta(days=6))
    schedule = Schedule(Plan.parse(text, base=folder), "week", 52, TOTAL)
    plan = schedule.with_epsilon(schedule.epsilon)
    print(
        f"{trips:,} trips of the demo city, cards; each of 52 weeks may spend epsilon = {float(schedule.epsilon):g}; "
        f"means of {draws} releases of a week"
    )
    columns = {name: plan.columns.of(table) for name, table in plan.tables.items()}
    exact = {name: _cells(table, columns[name]) for name, table in count(plan).tables.items()}
    published: dict[str, list[tuple[int, int]]] = {name: [] for name in exact}
    with TemporaryDirectory() as scratch, redirect_stderr(io.StringIO()):
        for draw in range(draws):
            released = tapveil.release(plan, Path(scratch) / f"{draw}", in_ledger=False)
            for name, keys in columns.items():
                for row in released.table(name).to_arrow().to_pylist():
                    true = exact[name].get(tuple(str(row[column]) for column in keys), 0)
                    published[name].append((true, abs(row["count"] - true)))
    for name, mechanism in plan.guarantee.mechanisms.items():
        counts = np.array(list(exact[name].values()))
        law = distribution(mechanism).expected(*np.unique(counts, return_counts=True))
        true, off = np.array(published[name]).T
        near = true[off <= float(WITHIN) * true].sum() / draws / counts.sum()
        print(
            f"{name:12} cells published {len(true) / draws:,.1f}, predicted {law.cells:,.1f}; trips in cells within "
            f"10 %: {near:.2%}, predicted {share_within(mechanism, counts):.2%}; mean error of what is published "
            f"{off.mean():.2f}, predicted {law.distance / law.cells:.2f}"
        )


def _cells(exact: ExactTable, columns: Sequence[str]) -> dict[tuple[str, ...], int]:
    codes = exact.packing.unpack(exact.words)
    texts = [np.array(exact.labels[column], dtype=object)[codes[column]] for column in columns]
    return dict(zip(map(tuple, zip(*texts, strict=True)), exact_counts(exact).tolist(), strict=True))


def main() -> None:
    """Plan, release one week, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trips", type=Path, nargs="?")
    parser.add_argument("places", type=Path, nargs="?")
    parser.add_argument("--size", type=int, default=1_000_000, help="trips of the demo city")
    parser.add_argument("--draws", type=int, default=8, help="releases of the demo city")
    parser.add_argument("--first", default="2025-08-04")
    parser.add_argument("--last", default="2025-08-10")
    given = parser.parse_args()
    if given.trips is None:
        cards(given.size, given.draws)
        return
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
