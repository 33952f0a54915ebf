"""How near hourly origins and destinations are, by kind of day: real counts, with noise for all trips of a card's day.

    python -m benchmarks.calendars

Measured are the noisy counts of one table, and estimates from it and three more under the same guarantee.
Namma Metro publishes its hourly counts exactly. They have no cards, so no trip is left out here as a limit would: what
is measured is noise alone, from the plan's own mechanism.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import date
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.world import DATA
from tapveil.base.calendar import KINDS_OF_DAY, kind_of
from tapveil.plan.model import Plan, preset_text
from tapveil.published.estimates import Measurement, World, estimate

Numbers = npt.NDArray[np.int64]

HOLIDAY = date(2025, 8, 15)
"""Independence Day."""
TABLE = """
[[table]]
name = "od"
columns = ["tap_on_time", "tap_on_location", "tap_off_location"]
"""


MARGINS = """weight = 4

[[table]]
name = "on"
columns = ["tap_on_time", "tap_on_location"]

[[table]]
name = "off"
columns = ["tap_on_time", "tap_off_location"]

[[table]]
name = "pairs"
columns = ["tap_on_location", "tap_off_location"]
"""
"""Three more tables: what they take from the first, estimates give back."""
AXES = {"od": (0, 1, 2, 3), "on": (0, 1, 2), "off": (0, 1, 3), "pairs": (0, 2, 3)}
COLUMNS = ("date", "tap_on_time", "tap_on_location", "tap_off_location")
"""Of estimates: a kind of day is one day to them."""
DRAWS = 3


def plan(more: str = "") -> Plan:
    """The plan of stations and hours, with every cell of one table, hour, origin and destination; and of others."""
    text = preset_text("station-hour").replace('"gaussian"', '"world"')
    return Plan.parse(text[: text.index("[[table]]")] + TABLE + more)


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
    show(lists[0], true, off)
    for least in (20, 50, 100):
        some = true >= least
        median, within = np.median(off[some] / true[some]), (10 * off[some] <= true[some]).mean()
        share = 100 * true[some].sum() / true.sum()
        print(
            f"cells of at least {least}: {share:.0f} % of the trips, median error {100 * median:.1f} %, "
            f"{100 * within:.0f} % of them within 10 %"
        )
    print(f"estimates, with three more tables under the same guarantee, mean of {DRAWS} draws")
    show(lists[0], true, np.mean([np.abs(estimated(true) - true) for _ in range(DRAWS)], axis=0))


def show(kinds: list[str], true: Numbers, off: Numbers) -> None:
    """The errors of each kind of day, and of all."""
    for name, wrong, of in [*zip(kinds, off, true, strict=True), ("all", off, true)]:
        everywhere, there = (100 * wrong[where].sum() / of.sum() for where in (of >= 0, of > 0))
        print(f"{name}: {of.sum():,} trips; errors are {everywhere:.1f} % of them, {there:.1f} % in cells with trips")


def estimated(true: Numbers) -> Numbers:
    """Estimates of all cells from a draw of four tables, as a folder has them."""
    measurements = []
    for name, mechanism in plan(MARGINS).guarantee.mechanisms.items():
        gone = tuple(axis for axis in range(4) if axis not in AXES[name])
        table = np.ascontiguousarray(true.sum(axis=gone))
        noisy, _ = mechanism.draw(table.reshape(-1), os.urandom)
        columns = tuple(COLUMNS[axis] for axis in AXES[name])
        measurements.append(Measurement(columns, noisy.reshape(table.shape), float(mechanism.scale) ** 2))
    sizes = dict(zip(COLUMNS[1:], true.shape[1:], strict=True))
    return estimate(World(tuple(range(len(true))), sizes, same_places=True), measurements).count(COLUMNS)


if __name__ == "__main__":
    main()
