"""How much a whole release costs beside the bare GROUP BYs it contains: CPU time, wall time, peak memory.

Machines are shared and noisy, so both are run in turn, several times, and compared as a ratio of medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "bench"


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


def city(trips: int) -> Path:
    """The demo city as Parquet, made once."""
    folder = BUILD / f"city-{trips}"
    if not (folder / "plan.toml").exists():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"Making a city of {trips:,} trips ...", flush=True)
        # in a process of its own: a child's peak memory starts from its parent's
        make = ["demo", str(folder), "--trips", str(trips), "--format", "parquet"]
        measure([sys.executable, "-m", "tapveil", *make])
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trips", type=int, default=30_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    folder, out = city(options.trips), BUILD / "published"
    bare: list[Cost] = []
    ours: list[Cost] = []
    for _ in range(options.repeat):
        bare.append(measure([sys.executable, str(HERE / "bare.py"), str(folder)]))
        shutil.rmtree(out, ignore_errors=True)
        ours.append(
            measure(
                [sys.executable, "-m", "tapveil", "release", str(folder / "plan.toml"), "--no-ledger", "-o", str(out)]
            )
        )
    print(f"{options.trips:,} trips, {os.cpu_count()} cores, median of {options.repeat} runs each, in turn")
    print(f"{'':28}{'CPU s':>10}{'wall s':>10}{'peak MB':>10}")
    for name, costs in (("bare DuckDB GROUP BYs", bare), ("tapveil, whole release", ours)):
        middle = [statistics.median(getattr(cost, field) for cost in costs) for field in ("cpu", "wall", "peak_mb")]
        print(f"{name:28}{middle[0]:10.2f}{middle[1]:10.2f}{middle[2]:10.0f}")
    ratio = statistics.median(cost.cpu for cost in ours) / statistics.median(cost.cpu for cost in bare)
    print(f"{'ratio of CPU time':28}{ratio:10.2f}")


if __name__ == "__main__":
    main()
