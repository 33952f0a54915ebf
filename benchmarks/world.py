"""What estimates of whole trips are worth: errors, intervals and synthetic rows against real trips.

.venv/bin/python -m benchmarks.world                     # Namma Metro and the bike-share month, five draws
.venv/bin/python -m benchmarks.world --draws 1 --city    # one draw, and a made city of 600 × 600 places
.venv/bin/python -m benchmarks.world --write             # also renews docs/estimates-measured.md and its picture

Measures the tables of a known world with discrete Gaussian noise on every cell, estimates, and compares. Relative
error of a query: Σ|estimate − truth| / Σ truth over all its cells, a cell that is not published counting as 0. Beside
them, from the same exact counts, what thresholds (`gaussian`) and `dictionary` publish under the same promise, and what
private-pgm makes of the same measurements. The demo city's people are measured by benchmarks.utility.journeys.
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
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks import world_page
from benchmarks.compare.contenders import Contender
from benchmarks.compare.environment import python_for
from benchmarks.compare.process import Limits, StoppedError, run
from benchmarks.utility import journeys
from benchmarks.utility.report import put_into
from tapveil.privacy import Exposure, RandomBytes, calibrate
from tapveil.privacy.noise import discrete_gaussian
from tapveil.published.estimates import Estimates, Measurement, World, estimate

DOCS = Path(__file__).parents[1] / "docs"
PGM = Contender("private-pgm", "", "", ("mbi",), "private_pgm", "private-pgm")
PROGRAM = Path(__file__).parent / "peers" / "private_pgm.py"
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
    epsilon: int | Fraction
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
    """Noise on every cell of every table that has a weight."""
    found = []
    for columns, variance in zip(TABLES[: len(case.weights)], case.variances, strict=True):
        exact = truth.table(columns)
        noise = discrete_gaussian(variance).sample(exact.size, random).reshape(exact.shape)
        found.append(Measurement(columns, exact + noise, float(variance)))
    return found


def off(estimated: Counts, exact: Counts) -> float:
    return 100 * float(np.abs(estimated - exact).sum()) / float(exact.sum())


def errors(truth: City, found: Estimates) -> list[float]:
    return [off(found.table(columns).count, truth.table(columns)) for columns in QUERIES.values()]


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


def private_pgm(truth: City, case: Case, random: RandomBytes) -> list[float]:
    """Errors of a graphical model, fitted to the same measurements by a library in an environment of its own."""
    measured = measure(truth, case, random)[:3]
    given: dict[str, Any] = {"axes": AXES, "shape": truth.counts.shape, "tables": 3, "queries": len(QUERIES)}
    for number, each in enumerate(measured):
        given |= {f"noisy{number}": each.noisy, f"deviation{number}": sqrt(each.variance)}
        given |= {f"columns{number}": [AXES.index(column) for column in each.columns]}
    for number, columns in enumerate(QUERIES.values()):
        given[f"query{number}"] = [AXES.index(column) for column in columns]
    with TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "measured.npz", **given)
        run([str(python_for(PGM)), str(PROGRAM), name], folder, folder / "log", Limits(3600, 16_000))
        with np.load(folder / "answered.npz") as answered:
            return [off(answered[str(i)], truth.table(columns)) for i, columns in enumerate(QUERIES.values())]


# --- report ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Found:
    """What was measured of a case, on average over the draws."""

    case: Case
    errors: Floats
    peers: Mapping[str, Floats]
    stopped: Mapping[str, str]
    """Why there is nothing to be said of another library."""
    held: Floats
    """A row each for cells and trips in their intervals, and for the width of these; a column for each query."""
    empty: float
    seconds: float

    @property
    def good(self) -> bool:
        """Whether all is within what is allowed."""
        cells, trips, width = self.held
        found = bool((self.errors <= self.case.most).all())
        found &= self.case not in BIKES or not (self.errors > self.peers["gaussian"]).any()
        found &= cells.min() >= CELLS and trips.min() >= TRIPS and width.max() <= WIDEST
        return bool(found and ("card" not in self.case.name or self.empty <= MOST_EMPTY))


def found_in(truth: City, case: Case, draws: int, skip: Sequence[str]) -> Found:
    """One case."""
    off, intervals, empties, seconds = [], [], [], 0.0
    for draw in range(draws):
        measured = measure(truth, case, seeded(draw))
        start = time.process_time()
        estimates = estimate(truth.world, measured)
        seconds += time.process_time() - start
        off.append(errors(truth, estimates))
        intervals.append([[each.cells, each.trips, each.width] for each in held(truth, estimates)])
        empties.append(empty(truth, estimates))
    peers, stopped = {}, {}
    for what in ("gaussian", "dictionary"):
        peers[what] = np.mean([peer(what, truth, case, seeded(draw)) for draw in range(draws)], axis=0)
    if PGM.name not in skip and case in (NAMMA[0], *BIKES):
        try:
            peers[PGM.name] = np.array(private_pgm(truth, case, seeded(0)))
        except StoppedError as error:
            stopped[PGM.name] = str(error)
    held_on_average = np.mean(intervals, axis=0).T
    return Found(case, np.mean(off, axis=0), peers, stopped, held_on_average, float(np.mean(empties)), seconds / draws)


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--people", type=int, default=5_000_000, help="trips of the demo city; 0: without it")
    parser.add_argument("--skip", nargs="*", default=[], choices=[PGM.name], help="libraries to leave out")
    parser.add_argument("--city", action="store_true", help="also the cost of a made city of 600 × 600 places")
    parser.add_argument("--write", action="store_true", help="renew docs/estimates-measured.md and its picture")
    args = parser.parse_args()
    parts, found = [], []
    if args.draws and DATA.exists():
        for name, truth, cases in (("Namma Metro, 18 days", namma(), NAMMA), ("Bike share, a month", bikes(), BIKES)):
            each = [found_in(truth, case, args.draws, args.skip) for case in cases]
            parts.append(world_page.section(name, truth, each, args.draws))
            print(parts[-1], flush=True)
            found += each
    if args.people:
        people = journeys.People.of(args.people, say)
        rows = [*journeys.measure(people, 1, say, epsilons=("8", "2", "1"))]
        parts.append("### The demo city\n\n" + journeys.markdown(people, rows, 1))
        print(parts[-1], flush=True)
    if args.write:
        put_into(DOCS / "estimates-measured.md", "\n".join(parts))
        (DOCS / "estimates-measured.svg").write_text(world_page.picture(found), encoding="utf-8")
    if args.city:
        large()
    return 0 if all(each.good for each in found) else 1


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
