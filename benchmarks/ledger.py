"""Ten years of daily releases: how long the commands of the ledger take.

    python -m benchmarks.ledger [--days 3650]

A ledger of three data sets (trips, days of cards, cards), each with a third of the days, is written as releases write
it. Then each command runs in a process of its own: the time that it uses the processor, from its start to its end,
with modules compiled as in an installed program. The last row is the plan of docs/privacy/weeks.md, next to longer
releases.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from benchmarks.weeks import PLAN as WEEK
from benchmarks.weeks import TOTAL, WEEKS
from tapveil.ledger.book import Ledger, _chained, _write_head
from tapveil.ledger.entry import Budget, Entry, Published, Spend, SpentTable
from tapveil.privacy.units import Unit

FIRST_DAY = date(2016, 1, 1)
SCALES: dict[Unit, Fraction] = {"trip": Fraction(3), "card-day": Fraction(6), "card": Fraction(900)}
PLAN = """
[release]
name = "daily"
title = "Daily"
partition = []
[source]
path = "trips.csv"
first_day = {day}
last_day = {day}
[source.columns]
date = "day"
card = "card"
tap_on_location = "stop"
[privacy]
unit = "{unit}"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 1
delta = 1e-8
{bound}
[ledger]
data_set = "{data_set}"
[[table]]
name = "stops"
columns = ["tap_on_location"]
"""


def entries(days: int) -> Iterator[Entry]:
    """Budgets, then every day a release, and its folder."""
    for unit in SCALES:
        common = {"data_set": f"of-{unit}", "unit": unit, "neighbours": "add-remove"}
        yield Budget.model_validate({"on": FIRST_DAY, **common, "epsilon": 50, "delta": "1e-3"})
    for number in range(days):
        day = FIRST_DAY + timedelta(days=number)
        for unit, scale in [list(SCALES.items())[number * len(SCALES) // days]]:
            identity = secrets.token_hex(16)
            yield Spend(
                on=day,
                id=identity,
                data_set=f"of-{unit}",
                release="daily",
                plan_sha256="0" * 64,
                unit=unit,
                neighbours="add-remove",
                cells=1 if unit == "trip" else 4,
                tables=tuple(
                    SpentTable(name=name, mechanism="gaussian", scale=scale, threshold=Fraction(1 + 8 * scale))
                    for name in ("origins", "destinations", "pairs")
                ),
                first_day=day,
                last_day=day,
                days_by="column day",
                cards_by=None if unit == "trip" else "column card",
                modes=None,
                modes_by=None,
            )
            yield Published(on=day, id=identity, checksums_sha256=secrets.token_hex(32))


def write(path: Path, days: int) -> int:
    """A ledger of these entries, chained as by releases, at once; returns their number."""
    Ledger.start(path, FIRST_DAY)
    with sqlite3.connect(path) as connection:
        number, digest = connection.execute("SELECT number, hash FROM entries").fetchone()
        rows = []
        for entry in entries(days):
            body = entry.text(secrets.token_hex(16))
            number += 1
            digest = _chained(number, digest, body)
            rows.append((number, body, digest))
        connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
    connection.close()
    _write_head(path, number, digest)
    return int(number)


def commands(folder: Path, days: int) -> Iterator[tuple[str, list[str]]]:
    """Every command of the ledger, by its name."""
    ledger = ["--ledger", str(folder / "ledger.sqlite")]
    yield "ledger", ["ledger", *ledger]
    yield "ledger --json", ["ledger", *ledger, "--json"]
    yield "ledger verify", ["ledger", "verify", *ledger]
    yield "ledger accept", ["ledger", "accept", "0" * 32, *ledger, "--reason", "measured", "--by", "benchmark"]
    day = FIRST_DAY + timedelta(days=days)
    for unit in SCALES:
        bound = {
            "trip": "",
            "card-day": "trips_per_day = 4\nwithout_card = 'refuse'",
            "card": "trips_per_card = 4\nwithout_card = 'refuse'",
        }[unit]
        plan = folder / f"{unit}.toml"
        plan.write_text(PLAN.format(day=day, unit=unit, data_set=f"of-{unit}", bound=bound), encoding="utf-8")
        total = ["--epsilon", "51", "--delta", "1e-3"]
        yield f"ledger budget ({unit})", ["ledger", "budget", str(plan), *total, "--reason", "measured", "--by", "me"]
        yield f"ledger plan --keep ({unit})", ["ledger", "plan", str(plan), *total, "--every", "day", "--keep"]
    week = folder / "week.toml"
    week.write_text(WEEK.format(mechanism="gaussian", epsilon=1, delta="1e-8"), encoding="utf-8")
    total = ["--epsilon", str(float(TOTAL.epsilon)), "--delta", str(float(TOTAL.delta)), "--for", str(WEEKS)]
    yield f"ledger plan ({WEEKS} weeks, three tables)", ["ledger", "plan", str(week), *total]


def main() -> None:
    """Write a ledger and time every command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=3650)
    days = parser.parse_args().days
    with TemporaryDirectory() as folder:
        number = write(Path(folder) / "ledger.sqlite", days)
        print(f"{number:,} entries: {days:,} releases of {len(SCALES)} data sets")
        for name, arguments in commands(Path(folder), days):
            _timed(arguments, Path(folder))  # compiles what it imports
            print(f"{name:40} {_timed(arguments, Path(folder)):6.2f} s")


def _timed(arguments: list[str], folder: Path) -> float:
    """How long a command uses the processor, in seconds."""
    compiled = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "tapveil", *arguments], capture_output=True, text=True, env=compiled)
    after = getrusage(RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"tapveil {' '.join(arguments)}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
