"""Count the demo city once per unit of protection, then draw with each mechanism at each ε and compare with the truth.

The exact counts do not depend on ε or on the mechanism, so one count serves all plans of a unit. Noise comes from
the same code and the same source as in a release. The city is made up: its exact counts may be looked at.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tapveil.base.progress import Silent
from tapveil.counting import counter
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.demo import city as demo_city
from tapveil.plan.model import Plan
from tapveil.privacy.mechanisms import Mechanism

BUILD = Path(__file__).parents[2] / "build" / "bench"
MEMORY = "1GB"
"""The default: cards are counted a share at a time."""

MECHANISMS = ("sbh", "laplace", "gaussian")
EPSILONS = ("8", "4", "1", "0.5")
DELTA = "7.5e-7"
UNITS = {
    "trip": 'unit = "trip"\nneighbours = "replace"',
    "card-day": 'unit = "card-day"\nneighbours = "add-remove"\ntrips_per_day = 4\nwithout_card = "refuse"',
    "card": 'unit = "card"\nneighbours = "add-remove"\ntrips_per_card = 28\ntrips_per_day = 4\nwithout_card = "refuse"',
}
TABLES = {
    "on_time": (["tap_on_time"], 1),
    "on_location": (["tap_on_location"], 1),
    "off_time": (["tap_off_time"], 1),
    "off_location": (["tap_off_location"], 1),
    "on_time_location": (["tap_on_time", "tap_on_location"], 2),
    "off_time_location": (["tap_off_time", "tap_off_location"], 2),
}
COARSE = tuple(name for name, (columns, _) in TABLES.items() if len(columns) == 1)
FINE = tuple(name for name, (columns, _) in TABLES.items() if len(columns) == 2)

SOURCE = """\
[release]
name = "port-vesper"
title = "Port Vesper"
partition = ["mode", "date"]

[source]
path = "trips/*.parquet"

[source.columns]
card = "card_id"
mode = "mode"
date = "trip_date"
tap_on_time = "tap_on_time"
tap_on_location = "tap_on_location"
tap_off_time = "tap_off_time"
tap_off_location = "tap_off_location"

[coarsen]
time_minutes = 15

[coarsen.location.bus]
lookup = "stops.csv"
from = "stop_id"
to = "postcode"
"""

Counts = npt.NDArray[np.int64]


def city(trips: int) -> Path:
    """The demo city as Parquet, made once."""
    folder = BUILD / f"city-{trips}"
    if not (folder / "plan.toml").exists():
        shutil.rmtree(folder, ignore_errors=True)
        demo_city.make_city(folder, trips=trips, seed=1, file_format="parquet")
    return folder


def plan_for(folder: Path, unit: str, mechanism: str, epsilon: str) -> Plan:
    """The opal tables with one total and weights, for any unit and mechanism."""
    privacy = f'[privacy]\n{UNITS[unit]}\nmechanism = "{mechanism}"\nepsilon = {epsilon}\ndelta = {DELTA}\n'
    tables = (f'[[table]]\nname = "{name}"\ncolumns = {keys}\nweight = {w}\n' for name, (keys, w) in TABLES.items())
    return Plan.parse("\n".join([SOURCE, privacy, *tables]), base=folder)


@dataclass(frozen=True)
class Truth:
    """One table of a unit: what the plan counts, how many trips that stands for, and which total each cell adds to."""

    counts: Counts
    trips: Counts
    """For a unit of a card, all trips of the same cells, without bounds; else the counts themselves."""
    totals: Counts
    """For each cell, the number of its mode and day."""

    @staticmethod
    def of(exact: ExactTable, unbounded: ExactTable) -> Truth:
        if exact.packing != unbounded.packing or exact.labels != unbounded.labels:
            raise AssertionError("the cells of two units are numbered differently")
        codes = exact.packing.unpack(exact.words)
        totals = codes["mode"] * len(exact.labels["date"]) + codes["date"]
        (ours,), (theirs,) = exact.words, unbounded.words  # one word is enough for the cells of these tables
        order = np.argsort(theirs)
        places = order[np.searchsorted(theirs, ours, sorter=order)]
        if not np.array_equal(theirs[places], ours):
            raise AssertionError("a card has a cell that its trips do not have")
        return Truth(exact_counts(exact), exact_counts(unbounded)[places], totals.astype(np.int64))


@dataclass(frozen=True)
class Tables:
    """What some tables of a release were worth, on average over the draws. Errors are None where nothing came out."""

    cells: float
    share: float
    """True counts of the published cells, as a share of all."""
    error: float | None
    """Mean distance of a published number from what the plan counts."""
    trip_error: float | None
    """Mean distance of a published number from the trips of that cell, without bounds."""
    total_error: float
    """Mean distance of a total per mode and day, summed from published cells, from the true one, relative to it."""


@dataclass(frozen=True)
class Result:
    """One plan."""

    unit: str
    mechanism: str
    epsilon: str
    fine: Tables
    coarse: Tables
    smallest: int
    """The least number that a time × location table prints."""
    width: float
    """b or σ of its noise."""


@dataclass(frozen=True)
class City:
    """All that was measured on one city."""

    trips: int
    counted: int
    """Trips without those that were refused."""
    occurring: int
    """Cells of the time × location tables that occur."""
    bounded: dict[str, float]
    """For each unit, what the time × location tables of the plan count, as a share of the trips."""
    results: tuple[Result, ...]

    def result(self, unit: str, mechanism: str, epsilon: str) -> Result:
        return next(r for r in self.results if (r.unit, r.mechanism, r.epsilon) == (unit, mechanism, epsilon))


Cities = Sequence[City]


def measure(trips: int, draws: int, say: Callable[[str], None]) -> City:
    """Everything on a city of so many trips."""
    folder = city(trips)
    counted: dict[str, Counted] = {}
    for unit in UNITS:
        say(f"{trips:,} trips: counting by {unit}")
        plan = plan_for(folder, unit, "sbh", EPSILONS[0])
        counted[unit] = counter.count(plan, memory=MEMORY, scratch=None, progress=Silent())
    plain = counted["trip"]
    results: list[Result] = []
    bounded: dict[str, float] = {}
    for unit in UNITS:
        say(f"{trips:,} trips: drawing by {unit}")
        truths = {name: Truth.of(counted[unit].tables[name], plain.tables[name]) for name in TABLES}
        bounded[unit] = _sum(counted[unit], FINE) / _sum(plain, FINE)
        results += _results(folder, unit, truths, draws)
    return City(
        trips,
        plain.refusals.rows - plain.refusals.refused,
        sum(len(exact_counts(plain.tables[name])) for name in FINE),
        bounded,
        tuple(results),
    )


def _sum(counted: Counted, names: tuple[str, ...]) -> int:
    return sum(int(exact_counts(counted.tables[name]).sum()) for name in names)


def _results(folder: Path, unit: str, truths: dict[str, Truth], draws: int) -> Iterator[Result]:
    for epsilon in EPSILONS:
        for mechanism in MECHANISMS:
            plan = plan_for(folder, unit, mechanism, epsilon)
            mechanisms = plan.guarantee.mechanisms
            if (unit, mechanism, epsilon) == ("trip", "sbh", "8") and mechanisms != Plan.preset(
                "opal"
            ).guarantee.mechanisms:
                raise AssertionError("sbh at (8, 7.5e-7) is not the opal preset")
            fine, coarse = (
                _worth([(truths[name], mechanisms[name]) for name in names], draws) for names in (FINE, COARSE)
            )
            first = mechanisms[FINE[0]]
            yield Result(unit, mechanism, epsilon, fine, coarse, first.smallest_published, float(first.scale))


def _worth(tables: list[tuple[Truth, Mechanism]], draws: int) -> Tables:
    cells = counts = error = trip_error = 0
    total_errors: list[float] = []
    for truth, mechanism in tables:
        true_totals = np.bincount(truth.totals, truth.counts)
        there = true_totals > 0
        for _ in range(draws):
            numbers, published = mechanism.draw(truth.counts, os.urandom)
            cells += int(published.sum())
            counts += int(truth.counts[published].sum())
            error += int(np.abs(numbers - truth.counts)[published].sum())
            trip_error += int(np.abs(numbers - truth.trips)[published].sum())
            totals = np.bincount(truth.totals[published], numbers[published], minlength=len(true_totals))
            total_errors += (np.abs(totals - true_totals)[there] / true_totals[there]).tolist()
    everything = draws * sum(int(truth.counts.sum()) for truth, _ in tables)
    return Tables(
        cells / draws,
        counts / everything,
        error / cells if cells else None,
        trip_error / cells if cells else None,
        float(np.mean(total_errors)),
    )


@dataclass(frozen=True)
class Claim:
    """At total (8, 7.5e-7), any one trip replaced: how many more time × location cells `gaussian` publishes."""

    least: Fraction
    ratio: float

    @staticmethod
    def on(measured: City) -> Claim:
        ours, paper = (measured.result("trip", name, "8").fine.cells for name in ("gaussian", "sbh"))
        return Claim(Fraction(13, 10), ours / paper)

    @property
    def met(self) -> bool:
        return self.ratio >= self.least

    def __str__(self) -> str:
        verdict = "met" if self.met else "not met"
        return f"gaussian / sbh = {self.ratio:.2f} (at least {float(self.least):g}: {verdict})"
