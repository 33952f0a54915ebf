"""What a release of a known world costs: a made city of four modes, from trips to the folder and back.

python -m benchmarks.world_cost                       # 3, 10 and 30 million trips
python -m benchmarks.world_cost --growth              # smaller cities: by the number of places, and of trips
python -m benchmarks.world_cost --growth --write      # also renews docs/scale.md and its picture
python -m benchmarks.world_cost --days 14 28 56 --places 0.5 --trips 1      # a longer period
python -m benchmarks.world_cost --metro               # 12 million trips of a real metro, whole trips measured as well

Four modes with 600, 300, 100 and 40 places, 14 days: gravity between places, two peaks a day, Poisson. Each release
runs in a process of its own; its CPU and the most memory that it had are those of the operating system.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.utility.report import put_into
from tapveil.base.svg import ON_PAPER, SHAPES, box, line, marks, picture, round_steps, text

MODES = {"bus": (600, 0.6), "train": (300, 0.25), "tram": (100, 0.1), "ferry": (40, 0.05)}
"""Places, and the share of trips."""
FIRST, DAYS = date(2025, 3, 3), 14
HOURS = np.array([1, 1, 1, 1, 2, 8, 30, 80, 90, 50, 35, 35, 40, 40, 40, 50, 70, 90, 80, 50, 35, 25, 15, 8])
LIKE_WEEKDAYS = (1, 1, 1, 1, 1, 0.7, 0.5)
WIDE, HIGH, APART = 250, 200, 120
"""Of a part of the picture, and between the two."""
DOCS = Path(__file__).parents[1] / "docs"
SHARE, MILLIONS = 0.25, 1.0
"""Of all places, where trips grow; and trips, where places do."""
GROWTH = (
    *((MILLIONS, share) for share in (1 / 6, SHARE, 1 / 3, 1 / 2)),
    *((millions, SHARE) for millions in (0.3, 3.0, 6.0)),
)
"""Millions of trips, and the share of places."""
MOST_SECONDS, MOST_GIGABYTES, AT = 180, 4.0, 30
"""What 30 million trips may take."""
MOST_OF_METRO = (25, 2.0)
"""Seconds and gigabytes that a release of the metro may take."""
METRO = Path(__file__).parents[2] / "shared" / "data" / "namma" / "stationpair-hourly.parquet"
WHOLE = """[[table]]
name = "whole"
columns = ["tap_on_time", "tap_on_location", "tap_off_location"]
weight = "2/5"
"""
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
    share: float
    """Of the places of the whole city."""
    what: str
    seconds: float
    """Of CPU."""
    gigabytes: float
    size: float
    """Of the folder, in megabytes."""
    days: int = DAYS

    @property
    def cells(self) -> int:
        """Of whole trips: days × times × places × places, with the entries for all else."""
        return sum(self.days * (len(HOURS) + 1) * (size + 1) ** 2 for size, _ in modes_of(self.share).values())


def modes_of(share: float) -> dict[str, tuple[int, float]]:
    """Fewer places of each mode, and the share of trips."""
    return {mode: (max(2, round(size * share)), part) for mode, (size, part) in MODES.items()}


def write_city(folder: Path, trips: int, share: float = 1, days: int = DAYS) -> None:
    """A plan, a list of places, and one row for each trip, in the order of days."""
    random = np.random.default_rng(1)
    last = FIRST + timedelta(days=days - 1)
    modes, quoted = modes_of(share), ", ".join(f'"{mode}"' for mode in sorted(MODES))
    (folder / "plan.toml").write_text(PLAN.format(modes=quoted, first=FIRST, last=last))
    listed = [f"{mode} {n:03d},{mode},{n * 0.01:.2f},0" for mode, (size, _) in modes.items() for n in range(size)]
    (folder / "places.csv").write_text("\n".join(["name,mode,latitude,longitude", *listed]) + "\n")
    flows = {mode: _flows(size, random) for mode, (size, _) in modes.items()}
    whole = sum(LIKE_WEEKDAYS[(FIRST + timedelta(days=day)).weekday()] for day in range(days))
    names, first_of = _names(modes, days)
    schema = _coded(names, np.zeros(1, np.int32), np.zeros(1, np.int32), *[np.zeros(1, np.int32)] * 3).schema
    with pq.ParquetWriter(folder / "trips.parquet", schema) as file:
        for day in range(days):
            of_day = LIKE_WEEKDAYS[(FIRST + timedelta(days=day)).weekday()] / whole
            for number, (mode, (size, part)) in enumerate(modes.items()):
                rows = random.poisson(trips * of_day * part)
                cells = random.choice(size * size, rows, p=flows[mode]).astype(np.int32)
                hours = random.choice(24, rows, p=HOURS / HOURS.sum()).astype(np.int32)
                places = (first_of[mode] + cells // size, first_of[mode] + cells % size)
                constant = (np.full(rows, number, np.int32), np.full(rows, day, np.int32))
                file.write_table(_coded(names, *constant, hours, *places))


def write_metro(folder: Path) -> tuple[int, int]:
    """A plan, a list of places and one row for each trip of the real metro; the number of trips, and of stations."""
    rows = pq.read_table(METRO)
    repeat = np.repeat(np.arange(len(rows), dtype=np.int32), rows["Ridership"].to_numpy())
    stations = sorted({*rows["Origin Station"].to_pylist(), *rows["Destination Station"].to_pylist()})
    texts = {
        "mode": pa.array(["metro"] * len(rows)),
        "date": pa.array([str(day)[:10] for day in rows["Date"].to_pylist()]),
        "time": pa.array([f"{int(hour):02d}:15" for hour in rows["Hour"].to_pylist()]),
        "from": rows["Origin Station"].combine_chunks(),
        "to": rows["Destination Station"].combine_chunks(),
    }
    pq.write_table(
        pa.table({key: each.dictionary_encode().take(repeat) for key, each in texts.items()}), folder / "trips.parquet"
    )
    listed = "\n".join(f'"{name}",metro,{n * 0.01:.2f},0' for n, name in enumerate(stations))
    (folder / "places.csv").write_text(f"name,mode,latitude,longitude\n{listed}\n")
    days = texts["date"].unique().sort()
    (folder / "plan.toml").write_text(PLAN.format(modes='"metro"', first=days[0], last=days[-1]) + WHOLE)
    return len(repeat), len(stations)


def _flows(size: int, random: np.random.Generator) -> npt.NDArray[np.float64]:
    """How likely each pair of places is: a few large ones, and habits."""
    large = random.pareto(1.2, size) + 0.1
    flow = (large[:, None] * large * random.gamma(1, 1, (size, size))).ravel()
    found: npt.NDArray[np.float64] = flow / flow.sum()
    return found


def _names(modes: Mapping[str, tuple[int, float]], number: int) -> tuple[dict[str, list[str]], dict[str, int]]:
    places: list[str] = []
    first_of: dict[str, int] = {}
    for mode, (size, _) in modes.items():
        first_of[mode] = len(places)
        places += [f"{mode} {n:03d}" for n in range(size)]
    days = [(FIRST + timedelta(days=day)).isoformat() for day in range(number)]
    hours = [f"{hour:02d}:15" for hour in range(24)]
    return {"mode": list(MODES), "date": days, "time": hours, "from": places, "to": places}, first_of


def _coded(names: dict[str, list[str]], *codes: npt.NDArray[np.int32]) -> pa.Table:
    return pa.table(
        {key: pa.DictionaryArray.from_arrays(code, names[key]) for key, code in zip(names, codes, strict=True)}
    )


def run(folder: Path, trips: int, share: float, days: int) -> Iterator[Cost]:
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
        yield Cost(trips, share, what, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9, size, days)


# --- report ---------------------------------------------------------------------------------------------------------

HEADER = (
    "| million trips | places of the modes | days | million cells of whole trips "
    "| command | s of CPU | GB | folder, MB |\n"
    "|--:|---|--:|--:|---|--:|--:|--:|"
)


def row(cost: Cost) -> str:
    """One of the table."""
    places = ", ".join(str(size) for size, _ in modes_of(cost.share).values())
    sizes = f"{cost.trips / 1e6:g} | {places} | {cost.days} | {cost.cells / 1e6:.1f} | {cost.what}"
    return f"| {sizes} | {cost.seconds:.1f} | {cost.gigabytes:.2f} | {cost.size:.1f} |"


def plot(costs: Sequence[Cost]) -> str:
    """CPU by cells and by trips, as SVG: one line for each command."""
    said = "CPU time of a release of a made city and of its verification, by cells of whole trips and by trips."
    return picture(2 * (WIDE + APART), HIGH + 90, said, _body(costs)) + "\n"


def _body(costs: Sequence[Cost]) -> Iterator[str]:
    yield box(0, 0, 2 * (WIDE + APART), HIGH + 90, ON_PAPER.paper)
    yield text(20, 22, "Seconds of CPU", 14, colour=ON_PAPER.ink, bold=True)
    by_cells = [cost for cost in costs if cost.trips == MILLIONS * 1e6]
    by_trips = [cost for cost in costs if cost.share == SHARE]
    most = max(cost.seconds for cost in costs)
    yield from _part(sorted(by_cells, key=lambda cost: cost.cells), lambda cost: cost.cells, "million cells", 50, most)
    beside = 50 + WIDE + APART
    yield from _part(
        sorted(by_trips, key=lambda cost: cost.trips), lambda cost: cost.trips, "million trips", beside, most
    )


def _part(costs: Sequence[Cost], size: Callable[[Cost], int], unit: str, left: float, most: float) -> Iterator[str]:
    furthest = max(map(size, costs))

    def at(cost: Cost) -> tuple[float, float]:
        return left + WIDE * size(cost) / furthest, 40 + HIGH * (1 - cost.seconds / most)

    for step in round_steps(most):
        y = 40 + HIGH * (1 - step / most)
        yield line([(left, y), (left + WIDE, y)], ON_PAPER.grid)
        yield text(left - 8, y + 4, f"{step:g}", 12, colour=ON_PAPER.pale, anchor="end")
    for each in sorted(set(map(size, costs))):
        x = left + WIDE * each / furthest
        yield text(x, HIGH + 60, f"{each / 1e6:.3g}", 12, colour=ON_PAPER.pale, anchor="middle")
    yield text(left + WIDE / 2, HIGH + 80, unit, 12, colour=ON_PAPER.ink, anchor="middle")
    for what, colour, shape in zip(("release", "verify"), (ON_PAPER.blue, ON_PAPER.orange), SHAPES, strict=False):
        places = [at(cost) for cost in costs if cost.what == what]
        yield line(places, colour, 1.8)
        yield marks(places, shape, colour, 4)
        yield text(places[-1][0] + 10, places[-1][1] + (4 if what == "release" else 18), what, 12, colour=colour)


def metro() -> int:
    """Print what 12 million trips of a real metro cost; 1 if that is more than it may be."""
    with tempfile.TemporaryDirectory() as name:
        trips, stations = write_metro(Path(name))
        print(f"{trips:,} trips, {stations} stations")
        costs = list(run(Path(name), trips, 1, DAYS))
    for cost in costs:
        print(f"{cost.what}: {cost.seconds:.1f} s of CPU, {cost.gigabytes:.2f} GB, a folder of {cost.size:.1f} MB")
    seconds, gigabytes = MOST_OF_METRO
    return 0 if costs[0].seconds <= seconds and costs[0].gigabytes <= gigabytes else 1


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.world_cost", description=__doc__.splitlines()[0])
    parser.add_argument("--trips", type=float, nargs="+", default=[3, 10, AT], help="in millions, of the whole city")
    parser.add_argument("--days", type=int, nargs="+", default=[DAYS])
    parser.add_argument("--places", type=float, default=1.0, help="share of the places of the whole city")
    parser.add_argument("--growth", action="store_true", help="cities of several sizes instead")
    parser.add_argument("--write", action="store_true", help="with --growth: renew docs/scale.md and its picture")
    parser.add_argument("--metro", action="store_true", help="the trips of a real metro (../shared/data) instead")
    options = parser.parse_args()
    if options.metro:
        return metro()
    print(HEADER, flush=True)
    costs, good = [], True
    chosen = [(millions, options.places, days) for millions in options.trips for days in options.days]
    for millions, share, days in [(*each, DAYS) for each in GROWTH] if options.growth else chosen:
        with tempfile.TemporaryDirectory() as name:
            write_city(Path(name), int(millions * 1e6), share, days)
            for cost in run(Path(name), int(millions * 1e6), share, days):
                costs.append(cost)
                print(row(cost), flush=True)
                within = cost.seconds <= MOST_SECONDS and cost.gigabytes <= MOST_GIGABYTES
                good &= millions > AT or within
    if options.growth and options.write:
        put_into(DOCS / "scale.md", "\n".join([HEADER, *map(row, costs)]) + "\n", "world")
        (DOCS / "world-cost.svg").write_text(plot(costs), encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
