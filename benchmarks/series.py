"""What a series of weekly folders costs: opening it, reading a table, comparing two weeks.

python -m benchmarks.series [--weeks 104] [--places 100]

Folders are of generated numbers, two tables each. CPU time, the smallest of three. Exit code 1 if 104 weeks, or as many
as were asked for, take more than 2 s to open.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from tests.support.weeks import FIRST, trips, week_folder

import tapveil

MOST_SECONDS = 2.0


def seconds(work: Callable[[], object]) -> float:
    """The CPU time of some work, the smallest of three."""
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.series")
    parser.add_argument("--weeks", type=int, default=104)
    parser.add_argument("--places", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        for week in range(asked.weeks):
            truth = {f"Stop {place}": trips(200 + 20 * place, week * 1000 + place) for place in range(asked.places)}
            week_folder(Path(home) / f"w{week:03d}", truth, FIRST + timedelta(days=7 * week), week)
        pattern = f"{home}/w*"

        def opened() -> tapveil.Series:
            series: tapveil.Series = tapveil.open(pattern)
            assert len(series.days) == 7 * asked.weeks
            _ = str(series)
            return series

        table = opened().table("on_location")
        days = table.days
        works: dict[str, Callable[[], object]] = {
            "open, with breaks and gaps": opened,
            "read a table": lambda: opened().table("on_location"),
            "last week against the one before": lambda: table.between(days[-7], days[-1]).minus(
                table.between(days[-14], days[-8])
            ),
        }
        found = {name: seconds(work) for name, work in works.items()}
    print(f"{asked.weeks} weekly folders of {asked.places} places, {len(table):,} cells")
    for name, needed in found.items():
        print(f"{needed:6.2f} s of CPU  {name}")
    sys.exit(0 if found["open, with breaks and gaps"] <= MOST_SECONDS else 1)


if __name__ == "__main__":
    main()
