"""What estimates of whole trips are worth: errors, intervals and synthetic rows against real trips.

.venv/bin/python -m benchmarks.world                     # Namma Metro and the bike-share month, five draws
.venv/bin/python -m benchmarks.world --draws 1 --city    # one draw, and a made city of 600 × 600 places

Measures the tables of a known world with discrete Gaussian noise on every cell, estimates, and compares. Relative
error of a query: Σ|estimate − truth| / Σ truth over all its cells, a cell that is not published counting as 0. Beside
them, from the same exact counts, what thresholds (`gaussian`) and `dictionary` publish under the same promise.
"""

from __future__ import annotations

import argparse
import csv
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from tapveil.privacy import Exposure, RandomBytes, calibrate
from tapveil.privacy.noise import discrete_gaussian
from tapveil.published.estimates import Estimates, Measurement, World, estimate

DATA = Path(__file__).parents[2] / "shared" / "data"
DELTA = Fraction(3, 4_000_000)
AXES = ("date", "tap_on_time", "tap_on_location", "tap_off_location")
TABLES = (
    ("date", "tap_on_location", "tap_off_location"),
    ("date", "tap_on_time", "tap_on_location"),
    ("date", "tap_on_time", "tap_off_location"),
    AXES,
)
QUERIES = {
    "OD per day": ("date", "tap_on_location", "tap_off_location"),
    "OD in all": ("tap_on_location", "tap_off_location"),
    "origin × hour": ("date", "tap_on_time", "tap_on_location"),
    "origin per day": ("date", "tap_on_location"),
    "OD × hour per day": AXES,
}
HOLIDAYS = {date(2025, 8, 15), date(2015, 10, 12)}
"""From public calendars."""
CELLS, TRIPS = 0.93, 0.90
"""What intervals must hold, at least."""
WIDEST = 1.5
INF = float("inf")
MOST_EMPTY = 6.0

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A promise, the weights of the tables (the finest comes last), and the errors that are allowed, in per cent."""

    name: str
    epsilon: int
    exposure: Exposure
    weights: tuple[Fraction, ...]
    most: tuple[float, ...]

    @property
    def variances(self) -> list[Fraction]:
        """Of the noise of each table, by exact accounting; the square of a plan's weight is a share of the budget."""
        weights = tuple(Fraction(sqrt(weight)).limit_denominator(1000) for weight in self.weights)
        made = calibrate("world", weights, Fraction(self.epsilon), DELTA, self.exposure)
        return [each.scale**2 for each in made]


SMALL = (Fraction(1), Fraction(1), Fraction(1), Fraction(3, 20))
"""The finest table with a twentieth of the budget: it shows how far whole trips scatter."""
LARGE = (Fraction(1), Fraction(1), Fraction(1), Fraction(5, 2))
"""The finest table with 5/11 of it."""
NAMMA = (
    Case("card (28 trips), ε = 1", 1, Exposure("add-remove", 28), SMALL, (15, 7, 6.5, 2.7, 39)),
    Case("card, a year of weeks, ε = 8", 8, Exposure("add-remove", 728), SMALL, (13.5, 5.5, 5.3, 2.1, 38)),
    Case("trip, ε = 8, finest table", 8, Exposure("replace"), LARGE, (1.6, 0.5, 0.4, 0.1, 11.5)),
)
BIKES = (Case("trip, ε = 8", 8, Exposure("replace"), SMALL, (INF, 30, INF, INF, INF)),)
"""Nor may a query be worse than with thresholds."""


# --- trips ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class City:
    """Exact counts by date, hour, origin and destination."""

    counts: Counts
    kinds: tuple[int, ...]

    @property
    def world(self) -> World:
        """Its public lists: hours and places, on both ends the same."""
        return World(self.kinds, dict(zip(AXES[1:], self.counts.shape[1:], strict=True)), same_places=True)

    def table(self, columns: Sequence[str]) -> Counts:
        """Exact sums."""
        found: Counts = self.counts.sum(axis=tuple(i for i, axis in enumerate(AXES) if axis not in columns))
        return found


def kind(day: date) -> int:
    """0 weekday, 1 Saturday, 2 Sunday or holiday."""
    return 2 if day in HOLIDAYS or day.weekday() == 6 else 1 if day.weekday() == 5 else 0


def city(rows: Mapping[str, Sequence[str]], hours: Sequence[int], trips: Sequence[int]) -> City:
    days = sorted(set(rows["day"]))
    places = {name: i for i, name in enumerate(sorted({*rows["on"], *rows["off"]}))}
    numbers = {name: i for i, name in enumerate(days)}
    counts = np.zeros((len(days), 24, len(places), len(places)), dtype=np.int64)
    codes = ([numbers[d] for d in rows["day"]], hours, *([places[p] for p in rows[end]] for end in ("on", "off")))
    np.add.at(counts, codes, trips)
    return City(counts, tuple(kind(date.fromisoformat(day)) for day in days))


def namma() -> City:
    rows = pq.read_table(DATA / "namma" / "stationpair-hourly.parquet").to_pydict()
    names = {"day": "Date", "on": "Origin Station", "off": "Destination Station"}
    text = {key: [str(value)[:10] if key == "day" else value for value in rows[name]] for key, name in names.items()}
    return city(text, [int(hour) for hour in rows["Hour"]], [int(n) for n in rows["Ridership"]])


def bikes() -> City:
    with (DATA / "bikeshare" / "JC-201510-citibike-tripdata.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = {
        "day": [row["Start Time"][:10] for row in rows],
        "on": [row["Start Station ID"] for row in rows],
        "off": [row["End Station ID"] for row in rows],
    }
    return city(text, [int(row["Start Time"][11:13]) for row in rows], [1] * len(rows))


# --- measuring and estimating ---------------------------------------------------------------------------------------


def seeded(seed: int) -> RandomBytes:
    return np.random.default_rng(seed).bytes


def measure(truth: City, case: Case, random: RandomBytes) -> list[Measurement]:
    """Noise on every cell of every table."""
    found = []
    for columns, variance in zip(TABLES, case.variances, strict=True):
        exact = truth.table(columns)
        noise = discrete_gaussian(variance).sample(exact.size, random).reshape(exact.shape)
        found.append(Measurement(columns, exact + noise, float(variance)))
    return found


def off(estimated: Counts, exact: Counts) -> float:
    return 100 * float(np.abs(estimated - exact).sum()) / float(exact.sum())


def errors(truth: City, found: Estimates) -> list[float]:
    return [off(found.count(columns), truth.table(columns)) for columns in QUERIES.values()]


@dataclass(frozen=True)
class Held:
    """How the intervals of one query did."""

    cells: float
    trips: float
    width: float
    """Of what an oracle would need, on average over cells."""


def held(truth: City, found: Estimates) -> Iterator[Held]:
    for columns in QUERIES.values():
        table, exact = found.table(columns), truth.table(columns)
        inside = (table.low <= exact) & (exact <= table.high)
        needed = oracle(table.count, exact)
        width = float((table.high - table.low).mean()) / float((np.minimum(table.count, needed) + needed).mean())
        yield Held(float(inside.mean()), float((inside * exact).sum() / exact.sum()), width)


def oracle(estimated: Counts, exact: Counts) -> Counts:
    """For estimates of each size, the least distance within which 95 % of the cells lie, and 90 % of their trips."""
    sizes = np.floor(8 * np.log2(1 + estimated)).astype(np.int64).ravel()
    order = np.argsort(sizes, kind="stable")
    distance, trips = np.abs(estimated - exact).ravel()[order], exact.ravel()[order]
    needed = np.empty(len(order), dtype=np.int64)
    edges = np.searchsorted(sizes[order], np.arange(sizes.max() + 2))
    for start, end in pairwise(edges.tolist()):
        if end > start:
            nearest = np.argsort(distance[start:end], kind="stable")
            reached = np.cumsum(trips[start:end][nearest])
            cells = distance[start:end][nearest[max(int(np.ceil(0.95 * (end - start))) - 1, 0)]]
            by_trips = distance[start:end][nearest[np.searchsorted(reached, TRIPS * reached[-1])]]
            needed[order[start:end]] = max(cells, by_trips)
    return needed.reshape(estimated.shape)


def empty(truth: City, found: Estimates) -> float:
    """The share of estimated trips in cells that are empty in truth, in per cent."""
    count = found.count(AXES)
    return 100 * float(count[truth.counts == 0].sum()) / float(count.sum())


# --- what else there is ---------------------------------------------------------------------------------------------


def peer(name: str, truth: City, case: Case, random: RandomBytes) -> list[float]:
    """Errors of today's mechanisms, with the same three tables; a query is a sum of the table that tells it best."""
    mechanisms = calibrate(name, (Fraction(1),) * 3, Fraction(case.epsilon), DELTA, case.exposure)
    published: dict[Sequence[str], Counts] = {}
    for columns, mechanism in zip(TABLES[:3], mechanisms, strict=True):
        exact = truth.table(columns)
        numbers, shown = mechanism.draw(exact.ravel(), random)
        listed = shown & (True if mechanism.visits_empty_cells else exact.ravel() > 0)
        published[columns] = np.where(listed, numbers, 0).reshape(exact.shape)
    found = []
    for query in QUERIES.values():
        able = [
            off(table.sum(axis=tuple(i for i, c in enumerate(own) if c not in query)), truth.table(query))
            for own, table in published.items()
            if set(query) <= set(own)
        ]
        found.append(min(able, default=float("nan")))
    return found


# --- report ---------------------------------------------------------------------------------------------------------


def row(name: str, numbers: Sequence[float]) -> str:
    return f"| {name:40} | " + " | ".join(f"{number:17.2f}" for number in numbers) + " |"


def report(name: str, truth: City, cases: Sequence[Case], draws: int) -> bool:
    """Print a table for each case; whether all is within what is allowed."""
    good = True
    print(f"\n## {name}: {truth.counts.sum():,} trips, {truth.counts.size:,} cells\n")
    print(f"| {'':40} | " + " | ".join(f"{query:>17}" for query in QUERIES) + " |")
    print("|" + "---|" * (1 + len(QUERIES)))
    for case in cases:
        found, intervals, empties, seconds = [], [], [], 0.0
        for draw in range(draws):
            measured = measure(truth, case, seeded(draw))
            start = time.process_time()
            estimates = estimate(truth.world, measured)
            seconds += time.process_time() - start
            found.append(errors(truth, estimates))
            intervals.append(list(held(truth, estimates)))
            empties.append(empty(truth, estimates))
        mean = np.mean(found, axis=0)
        print(row(f"{case.name}: error, %", mean))
        print(row("  allowed", case.most))
        peers = {
            what: np.mean([peer(what, truth, case, seeded(draw)) for draw in range(draws)], axis=0)
            for what in ("gaussian", "dictionary")
        }
        for what, numbers in peers.items():
            print(row(f"  {what}", numbers))
        shares = [np.mean([getattr(h[i], n) for h in intervals]) for n in ("cells", "trips", "width") for i in range(5)]
        print(row("  cells in their intervals, %", [100 * share for share in shares[:5]]))
        print(row("  trips in intervals, %", [100 * share for share in shares[5:10]]))
        print(row("  width, of an oracle's", shares[10:]))
        print(f"|   {np.mean(empties):.2f} % of rows in empty cells; {seconds / draws:.1f} s of CPU |")
        good &= bool((mean <= case.most).all())
        good &= case not in BIKES or not (mean > peers["gaussian"]).any()
        good &= min(shares[:5]) >= CELLS and min(shares[5:10]) >= TRIPS and max(shares[10:]) <= WIDEST
        good &= "card" not in case.name or np.mean(empties) <= MOST_EMPTY
    return good


def large(places: int = 600, days: int = 14, trips: int = 20_000_000) -> None:
    """The cost of a made city: gravity, two peaks, Poisson."""
    random = np.random.default_rng(1)
    size = random.pareto(1.2, places) + 0.1
    hours = np.array([1, 1, 1, 1, 2, 8, 30, 80, 90, 50, 35, 35, 40, 40, 40, 50, 70, 90, 80, 50, 35, 25, 15, 8])
    flow = size[:, None] * size * random.gamma(1, 1, (places, places))
    flow /= flow.sum()
    kinds = tuple(kind(date(2025, 3, 3) + timedelta(days=day)) for day in range(days))
    case = NAMMA[0]
    tables: list[list[Counts]] = [[] for _ in TABLES]
    for day in range(days):
        mean = trips / days * (1, 0.7, 0.5)[kinds[day]] * hours[:, None, None] / hours.sum() * flow
        counts = random.poisson(mean).astype(np.int32)
        for i, (columns, variance) in enumerate(zip(TABLES, case.variances, strict=True)):
            exact = counts.sum(axis=tuple(j for j, axis in enumerate(AXES[1:]) if axis not in columns))
            noise = discrete_gaussian(variance).sample(exact.size, seeded(day)).reshape(exact.shape)
            tables[i].append((exact + noise).astype(np.int32))
    world = World(kinds, dict(zip(AXES[1:], (24, places, places), strict=True)), same_places=True)
    measured = [Measurement(c, t, float(v)) for c, t, v in zip(TABLES, tables, case.variances, strict=True)]
    start = time.process_time()
    found = estimate(world, measured)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n{places} × {places} places × 24 hours × {days} days: {time.process_time() - start:.0f} s of CPU,")
    print(f"{peak:.1f} GB at the peak, measurements included; {int(found.count([])):,} trips")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--city", action="store_true", help="also the cost of a made city of 600 × 600 places")
    args = parser.parse_args()
    good = True
    if args.draws and DATA.exists():
        good &= report("Namma Metro, 18 days", namma(), NAMMA, args.draws)
        good &= report("Bike share, a month", bikes(), BIKES, args.draws)
    if args.city:
        large()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
