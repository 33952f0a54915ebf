"""What a whole release of the demo city costs beside the least that it could: CPU time, wall time, peak memory.

Machines are shared and noisy, so all are run in turn, several times, and compared as ratios of medians:

    bare scan        PyArrow reads the six columns of the Parquet files, and no more: the floor for anything
    bare GROUP BYs   DuckDB counts the two maximal tables, with the same binning and lookup: the floor for an engine
    bare parsing     DuckDB parses the same six columns of the CSV files, and no more
    tapveil          a whole release, from files to folder, page included
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks import history

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "bench"
RESULTS = HERE.parent / "docs" / "release-costs.json"


@dataclass(frozen=True)
class Cost:
    """What one process used."""

    cpu: float
    wall: float
    peak_mb: float


def measure(command: list[str]) -> Cost:
    """Run a command to its end; what the kernel says it used."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - started, used.ru_maxrss / 1024)


def city(trips: int, format: str = "parquet") -> Path:
    """The demo city, made once."""
    folder = BUILD / (f"city-{trips}" if format == "parquet" else f"city-{trips}-{format}")
    if not (folder / "plan.toml").exists():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"Making a city of {trips:,} trips ...", flush=True)
        # in a process of its own: a child's peak memory starts from its parent's
        make = ["demo", str(folder), "--trips", str(trips), "--format", format, "--quiet"]
        measure([sys.executable, "-m", "tapveil", *make])
    return folder


def released(plan: Path) -> list[str]:
    """The command of a whole release of a plan, into a folder of its own."""
    out = BUILD / "published"
    shutil.rmtree(out, ignore_errors=True)
    return [sys.executable, "-m", "tapveil", "release", str(plan), "--no-ledger", "-q", "-o", str(out)]


def bare(what: str, folder: Path) -> list[str]:
    """The command of one of the floors."""
    return [sys.executable, str(HERE / "bare.py"), what, str(folder)]


def in_turn(names: Sequence[str], folder: Path, repeat: int) -> dict[str, Cost]:
    """The medians of several runs each."""
    runs: dict[str, list[Cost]] = {name: [] for name in names}
    for _ in range(repeat):
        for name in names:
            runs[name].append(measure(released(folder / "plan.toml") if name == "tapveil" else bare(name, folder)))
    return {name: median(costs) for name, costs in runs.items()}


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(*(statistics.median(values) for values in zip(*(asdict(cost).values() for cost in costs), strict=True)))


def show(title: str, costs: dict[str, Cost], trips: int) -> None:
    """A table of costs, and each as a ratio of tapveil's."""
    ours = costs["tapveil"]
    print(f"\n{title}")
    print(f"{'':16}{'CPU s':>9}{'wall s':>9}{'peak MB':>9}{'ns per trip':>13}{'tapveil is':>12}")
    for name, cost in costs.items():
        ratio = f"{ours.cpu / cost.cpu:.2f} ×"
        print(f"{name:16}{cost.cpu:9.2f}{cost.wall:9.2f}{cost.peak_mb:9.0f}{1e9 * cost.cpu / trips:13.0f}{ratio:>12}")


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--trips", type=int, default=30_000_000, help="in Parquet, beside the floors; default: 30 million"
    )
    parser.add_argument(
        "--csv", type=int, default=30_000_000, help="in CSV (2.5 GB), beside parsing alone; default: 30 million"
    )
    parser.add_argument("--small", type=int, default=10_000, help="where start-up is all; default: 10 thousand")
    parser.add_argument(
        "--growth",
        type=int,
        nargs="*",
        default=[10_000_000, 100_000_000],
        help="in Parquet, alone; default: 10 and 100 million",
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; default: 3")
    parser.add_argument("--write", action="store_true", help=f"keep the results in docs/{RESULTS.name}")
    parser.add_argument("--record", action="store_true", help="add the ratios to benchmarks/history.jsonl and its page")
    options = parser.parse_args()
    load = os.getloadavg()[1]
    results: dict[str, dict[str, Cost]] = {}
    print(f"{os.cpu_count()} cores, medians of {options.repeat} runs each, in turn")
    for format, trips, floors in (
        ("parquet", options.trips, ["scan", "group-bys"]),
        ("csv", options.csv, ["parsing"]),
        ("csv", options.small, ["parsing"]),
        *(("parquet", trips, []) for trips in options.growth),
    ):
        if trips:
            costs = in_turn([*floors, "tapveil"], city(trips, format), options.repeat)
            show(f"{trips:,} trips in {format}", costs, trips)
            results[f"{trips} {format}"] = costs
    if options.write:
        RESULTS.write_text(json.dumps(_kept(results, options.repeat), indent=1) + "\n", encoding="utf-8")
    if options.record:
        history.record(history.run_of(results, options.repeat, load))
        history.write(history.read())


def _kept(results: dict[str, dict[str, Cost]], repeat: int) -> dict[str, object]:
    packages = ("duckdb", "numpy", "pyarrow", "tapveil")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
        "repeat": repeat,
        "costs": {name: {each: asdict(cost) for each, cost in costs.items()} for name, costs in results.items()},
    }


if __name__ == "__main__":
    main()
