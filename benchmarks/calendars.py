"""How near hourly origins and destinations are, by kind of day: real counts, with noise for all trips of a card's day.

    python -m benchmarks.calendars

Namma Metro publishes its hourly counts exactly. They have no cards, so no trip is left out here as a limit would: what
is measured is noise alone, from the plan's own mechanism.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import date
from itertools import product

import numpy as np
import pyarrow.parquet as pq

from benchmarks.world import DATA
from tapveil.base.calendar import KINDS_OF_DAY, kind_of
from tapveil.plan.model import Plan, preset_text

HOLIDAY = date(2025, 8, 15)
"""Independence Day."""
TABLE = """
[[table]]
name = "od"
columns = ["tap_on_time", "tap_on_location", "tap_off_location"]
"""


def plan() -> Plan:
    """The plan of stations and hours, with every cell of one table: hour, origin and destination."""
    text = preset_text("station-hour").replace('"gaussian"', '"world"')
    return Plan.parse(text[: text.index("[[table]]")] + TABLE)


def counts() -> Counter[tuple[str, ...]]:
    """Trips by kind of day, hour, origin and destination."""
    rows, found = pq.read_table(DATA / "namma" / "stationpair-hourly.parquet").to_pydict(), Counter[tuple[str, ...]]()
    kinds = KINDS_OF_DAY["weekday-saturday-sunday"]
    for day, *cell, trips in zip(*rows.values(), strict=True):
        found[kind_of(date.fromisoformat(day), kinds, {HOLIDAY}), *map(str, cell)] += trips
    return found


def main() -> None:
    exact, mechanism = counts(), plan().guarantee.mechanisms["od"]
    lists = [sorted({cell[place] for cell in exact}) for place in range(4)]
    lists[2] = lists[3] = sorted({*lists[2], *lists[3]})  # a trip may begin wherever one ends
    true = np.array([exact[cell] for cell in product(*lists)], dtype=np.int64).reshape([len(each) for each in lists])
    noisy, _ = mechanism.draw(true.reshape(-1), os.urandom)
    off = np.abs(noisy.reshape(true.shape) - true)
    print(f"noise scale {float(mechanism.scale):.2f}; {true.size:,} cells, {(true > 0).sum():,} with trips")
    for name, wrong, of in [*zip(lists[0], off, true, strict=True), ("all", off, true)]:
        everywhere, there = (100 * wrong[where].sum() / of.sum() for where in (of >= 0, of > 0))
        print(f"{name}: {of.sum():,} trips; errors are {everywhere:.1f} % of them, {there:.1f} % in cells with trips")
    for least in (20, 50, 100):
        some = true >= least
        median, within = np.median(off[some] / true[some]), (10 * off[some] <= true[some]).mean()
        share = 100 * true[some].sum() / true.sum()
        print(
            f"cells of at least {least}: {share:.0f} % of the trips, median error {100 * median:.1f} %, "
            f"{100 * within:.0f} % of them within 10 %"
        )


if __name__ == "__main__":
    main()
