"""What a release of a known world costs: a made city of four modes, from trips to the folder and back.

python -m benchmarks.world_cost                                  # 3, 10 and 30 million trips
python -m benchmarks.world_cost --trips 30 --plot docs/world-cost.svg

Four modes with 600, 300, 100 and 40 places, 14 days: gravity between places, two peaks a day, Poisson. Each release
runs in a process of its own; its CPU and the most memory that it had are those of the operating system.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.internal.svg import ON_PAPER, SHAPES, box, line, marks, picture, round_steps, text

MODES = {"bus": (600, 0.6), "train": (300, 0.25), "tram": (100, 0.1), "ferry": (40, 0.05)}
"""Places, and the share of trips."""
FIRST, DAYS = date(2025, 3, 3), 14
HOURS = np.array([1, 1, 1, 1, 2, 8, 30, 80, 90, 50, 35, 35, 40, 40, 40, 50, 70, 90, 80, 50, 35, 25, 15, 8])
LIKE_WEEKDAYS = (1, 1, 1, 1, 1, 0.7, 0.5)
WIDE, HIGH = 460, 220
"""Of the picture."""
MOST_SECONDS, MOST_GIGABYTES, AT = 180, 4.0, 30
"""What 30 million trips may take."""
PLAN = """
[release]
name = "cost"
title = "Cost"
[source]
path = "trips.parquet"
modes = [{modes}]
first_day = {first}
last_day = {last}
[source.columns]
mode = "mode"
date = "date"
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
mechanism = "world"
epsilon = 8
delta = 1e-6
[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]
[[table]]
name = "origins"
columns = ["tap_on_time", "tap_on_location"]
[[table]]
name = "destinations"
columns = ["tap_on_time", "tap_off_location"]
[[table]]
name = "total"
columns = []
weight = "1/4"
"""


@dataclass(frozen=True)
class Cost:
    """Of one command."""

    trips: int
    what: str
    seconds: float
    """Of CPU."""
    gigabytes: float
    size: float
    """Of the folder, in megabytes."""


def write_city(folder: Path, trips: int) -> None:
    """A plan, a list of places, and one row for each trip, in the order of days."""
    random = np.random.default_rng(1)
    last = FIRST + timedelta(days=DAYS - 1)
    modes = ", ".join(f'"{mode}"' for mode in sorted(MODES))
    (folder / "plan.toml").write_text(PLAN.format(modes=modes, first=FIRST, last=last))
    listed = [f"{mode} {n:03d},{mode},{n * 0.01:.2f},0" for mode, (size, _) in MODES.items() for n in range(size)]
    (folder / "places.csv").write_text("\n".join(["name,mode,latitude,longitude", *listed]) + "\n")
    flows = {mode: _flows(size, random) for mode, (size, _) in MODES.items()}
    whole = sum(LIKE_WEEKDAYS[(FIRST + timedelta(days=day)).weekday()] for day in range(DAYS))
    names, first_of = _names()
    schema = _coded(names, np.zeros(1, np.int32), np.zeros(1, np.int32), *[np.zeros(1, np.int32)] * 3).schema
    with pq.ParquetWriter(folder / "trips.parquet", schema) as file:
        for day in range(DAYS):
            share = LIKE_WEEKDAYS[(FIRST + timedelta(days=day)).weekday()] / whole
            for number, (mode, (size, part)) in enumerate(MODES.items()):
                rows = random.poisson(trips * share * part)
                cells = random.choice(size * size, rows, p=flows[mode]).astype(np.int32)
                hours = random.choice(24, rows, p=HOURS / HOURS.sum()).astype(np.int32)
                places = (first_of[mode] + cells // size, first_of[mode] + cells % size)
                constant = (np.full(rows, number, np.int32), np.full(rows, day, np.int32))
                file.write_table(_coded(names, *constant, hours, *places))


def _flows(size: int, random: np.random.Generator) -> npt.NDArray[np.float64]:
    """How likely each pair of places is: a few large ones, and habits."""
    large = random.pareto(1.2, size) + 0.1
    flow = (large[:, None] * large * random.gamma(1, 1, (size, size))).ravel()
    found: npt.NDArray[np.float64] = flow / flow.sum()
    return found


def _names() -> tuple[dict[str, list[str]], dict[str, int]]:
    places: list[str] = []
    first_of: dict[str, int] = {}
    for mode, (size, _) in MODES.items():
        first_of[mode] = len(places)
        places += [f"{mode} {n:03d}" for n in range(size)]
    days = [(FIRST + timedelta(days=day)).isoformat() for day in range(DAYS)]
    hours = [f"{hour:02d}:15" for hour in range(24)]
    return {"mode": list(MODES), "date": days, "time": hours, "from": places, "to": places}, first_of


def _coded(names: dict[str, list[str]], *codes: npt.NDArray[np.int32]) -> pa.Table:
    return pa.table(
        {key: pa.DictionaryArray.from_arrays(code, names[key]) for key, code in zip(names, codes, strict=True)}
    )


def run(folder: Path, trips: int) -> Iterator[Cost]:
    """Release and verify, each in a process of its own."""
    commands = {"release": ["release", "plan.toml", "--output", "out", "--no-ledger"], "verify": ["verify", "out"]}
    for what, command in commands.items():
        process = subprocess.Popen(
            [sys.executable, "-m", "tapveil", *command, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{what} of {trips:,} trips failed")
        size = sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file()) / 1e6
        yield Cost(trips, what, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9, size)


def plot(costs: list[Cost], path: Path) -> None:
    """CPU by trips, as SVG: one line for each command."""
    said = "CPU time of a release of a made city and of its verification, by millions of trips."
    path.write_text(picture(WIDE + 170, HIGH + 80, said, _body(costs)) + "\n", encoding="utf-8")


def _body(costs: Sequence[Cost]) -> Iterator[str]:
    most, furthest = max(cost.seconds for cost in costs), max(cost.trips for cost in costs)

    def at(cost: Cost) -> tuple[float, float]:
        return 50 + WIDE * cost.trips / furthest, 40 + HIGH * (1 - cost.seconds / most)

    yield box(0, 0, WIDE + 170, HIGH + 80, ON_PAPER.paper)
    yield text(20, 22, "Seconds of CPU, by millions of trips", 14, colour=ON_PAPER.ink, bold=True)
    for step in round_steps(most):
        y = 40 + HIGH * (1 - step / most)
        yield line([(50, y), (50 + WIDE, y)], ON_PAPER.grid)
        yield text(42, y + 4, f"{step:g}", 12, colour=ON_PAPER.pale, anchor="end")
    for trips in sorted({cost.trips for cost in costs}):
        x = 50 + WIDE * trips / furthest
        yield text(x, HIGH + 60, f"{trips / 1e6:g}", 12, colour=ON_PAPER.pale, anchor="middle")
    for what, colour, shape in zip(("release", "verify"), (ON_PAPER.blue, ON_PAPER.orange), SHAPES, strict=False):
        places = [at(cost) for cost in costs if cost.what == what]
        yield line(places, colour, 1.8)
        yield marks(places, shape, colour, 4)
        yield text(places[-1][0] + 12, places[-1][1] + 4, what, 12, colour=colour)


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.world_cost", description=__doc__.splitlines()[0])
    parser.add_argument("--trips", type=float, nargs="+", default=[3, 10, AT], help="in millions")
    parser.add_argument("--plot", type=Path, help="write a picture of the growth to this file")
    options = parser.parse_args()
    print(f"| {'million trips':>13} | {'command':8} | {'s of CPU':>9} | {'GB':>5} | {'folder, MB':>10} | {'s':>5} |")
    print("|---|---|---|---|---|---|")
    costs, good = [], True
    for millions in options.trips:
        with tempfile.TemporaryDirectory() as name:
            write_city(Path(name), int(millions * 1e6))
            start = time.monotonic()
            for cost in run(Path(name), int(millions * 1e6)):
                passed, start = time.monotonic() - start, time.monotonic()
                costs.append(cost)
                numbers = f"{cost.seconds:9.1f} | {cost.gigabytes:5.2f} | {cost.size:10.1f} | {passed:5.0f}"
                print(f"| {millions:13.1f} | {cost.what:8} | {numbers} |", flush=True)
                within = cost.seconds <= MOST_SECONDS and cost.gigabytes <= MOST_GIGABYTES
                good &= millions > AT or within
    if options.plot:
        plot(costs, options.plot)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
