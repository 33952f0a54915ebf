"""What the driver holds: made-up counts come in part by part, as from a cluster, and go through the noise.

The claim (docs/scale.md) is that memory follows the largest part and what is published, not how many cells there are.
The counts lie in files that are mapped into memory: of those pages the system takes back what it needs, so what is
measured is memory of the process itself (RssAnon), and the pages of files beside it (RssFile).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tapveil.counting.engines.spool import Spool
from tapveil.counting.exact import ExactTable
from tapveil.counting.packing import Packing
from tapveil.plan.model import Plan, preset_text
from tapveil.veil.crossing import draw

BINS, TABLE = 97, "on_time_location"
MODES = ("bus", "train")
LIKELY = 0.02
"""The share of cells that are large enough to be published, nearly surely."""


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.driver", description=__doc__)
    parser.add_argument("--cells", type=int, nargs="+", default=[10_000_000, 40_000_000, 160_000_000], help="in all")
    parser.add_argument(
        "--part", type=int, nargs="+", default=[500_000, 2_000_000, 8_000_000], help="cells in the largest part"
    )
    parser.add_argument("--one", action="store_true", help="measure a single pair, in this process")
    options = parser.parse_args()
    if options.one:
        return print(*measured(options.cells[0], options.part[0]))
    print(f"{'cells':>14}{'largest part':>14}{'published':>12}{'own MB':>9}{'mapped MB':>11}{'on disk MB':>12}")
    for part in options.part:
        for cells in options.cells:
            command = [sys.executable, "-m", "benchmarks.driver", "--one", "--cells", str(cells), "--part", str(part)]
            found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            published, own, mapped = map(int, found)
            disk = 16 * cells // 10**6
            print(f"{cells:14,}{part:14,}{published:12,}{own:9,}{mapped:11,}{disk:12,}", flush=True)


def measured(cells: int, part: int) -> tuple[int, int, int]:
    """How many cells were published, and the most memory of the process itself and of mapped files, in MB."""
    with tempfile.TemporaryDirectory() as name, memory_watched() as most:
        plan = _plan(Path(name))
        exact = _collected(plan, cells, part)
        published = draw(exact, plan, plan.tables[TABLE], None, os.urandom)
    return len(published.cells), most["RssAnon"] // 1000, most["RssFile"] // 1000


def _plan(folder: Path) -> Plan:
    (folder / "plan.toml").write_text(preset_text("opal"), encoding="utf-8")
    return Plan.read(folder / "plan.toml")


def _collected(plan: Plan, cells: int, part: int) -> ExactTable:
    """Generated counts, spooled part by part as an engine hands them out: a part is one mode on one day."""
    places, parts = -(-part // BINS), -(-cells // part)
    days = -(-parts // len(MODES))
    keys = plan.columns.of(plan.tables[TABLE])
    labels = {
        "mode": MODES,
        "date": tuple(f"day {n:05d}" for n in range(days)),
        "tap_on_time": tuple(f"bin {n:02d}" for n in range(BINS)),
        "tap_on_location": tuple(f"stop {n:07d}" for n in range(places)),
    }
    packing = Packing(keys, tuple(len(labels[key]) for key in keys))
    chance = np.random.default_rng(1)
    with Spool(packing.words + 1) as spool:
        for number in range(parts):
            within = np.arange(part)
            mode, day = np.full(part, number % len(MODES)), np.full(part, number // len(MODES))
            codes = {"mode": mode, "date": day, "tap_on_time": within % BINS, "tap_on_location": within // BINS}
            counts = np.where(
                chance.random(part) < LIKELY, chance.integers(100, 1000, part), chance.integers(1, 4, part)
            )
            spool.append([*packing.pack(codes, part), counts])
        *words, counts = spool.arrays()
    return ExactTable(TABLE, packing, labels, tuple(words), counts)


@contextmanager
def memory_watched() -> Iterator[dict[str, int]]:
    """The most that each kind of memory came to meanwhile, in kB."""
    most, done = {"RssAnon": 0, "RssFile": 0}, threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            for line in Path("/proc/self/status").read_text().splitlines():
                kind, _, amount = line.partition(":")
                if kind in most:
                    most[kind] = max(most[kind], int(amount.split()[0]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


if __name__ == "__main__":
    main()
