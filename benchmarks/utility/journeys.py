"""Journeys of the demo city's people: thresholds, `dictionary` and the known world beside each other, by unit and ε.

Counted as a release counts (a card's trips are bounded, and it counts once per cell), then drawn by each mechanism, and
compared with all trips. Relative error of a query: Σ|published − trips| / Σ trips over all its cells, where a cell that
is not published counts as 0. Of the known world, estimates are compared, of the others, the table that tells it best.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tapveil.base.progress import Silent
from tapveil.counting import counter
from tapveil.counting.exact import ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.demo.city import WEEKS
from tapveil.demo.stops import POSTCODES, Network, postcode
from tapveil.plan.model import Plan
from tapveil.privacy import Exposure, calibrate
from tapveil.published.estimates import Measurement, World, estimate

from .measure import DELTA, MEMORY, SOURCE, UNITS, city

EXPOSURES = {
    "trip": Exposure("replace"),
    "card-day": Exposure("add-remove", 4),
    "card": Exposure("add-remove", 28),
}
MECHANISMS = {"gaussian": "thresholds", "dictionary": "dictionary", "world": "known world"}
EPSILONS = ("8", "4", "2", "1", "0.5")
AXES = ("date", "tap_on_time", "tap_on_location", "tap_off_location")
TABLES = {
    "od": ("date", "tap_on_location", "tap_off_location"),
    "origin_time": ("date", "tap_on_time", "tap_on_location"),
    "destination_time": ("date", "tap_on_time", "tap_off_location"),
}
QUERIES = {
    "OD per day": TABLES["od"],
    "OD in all": ("tap_on_location", "tap_off_location"),
    "origin × hour": TABLES["origin_time"],
    "origin per day": ("date", "tap_on_location"),
    "OD × hour per day": AXES,
}
DAYS = [WEEKS[0] + timedelta(days=day) for day in range(7)]
KINDS = (0, 0, 0, 0, 0, 1, 2)

Counts = npt.NDArray[np.int64]
Columns = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """One unit, ε and mechanism."""

    unit: str
    epsilon: str
    mechanism: str
    errors: tuple[float, ...]
    """Of the queries, as shares, on average; not a number where no table tells it."""
    apart: tuple[float, ...]
    """Of each query, how far the draws are apart: the largest error less the smallest."""


@dataclass(frozen=True)
class People:
    """Exact counts of a week, by mode: of all trips, and of what each unit counts."""

    trips: Mapping[str, Counts]
    counted: Mapping[str, Mapping[str, Mapping[str, Counts]]]
    """By unit, table and mode."""

    @staticmethod
    def of(size: int, say: Callable[[str], None]) -> People:
        folder, lists = city(size), public_lists()
        counted = {}
        for unit in UNITS:
            say(f"{size:,} trips: counting journeys by {unit}")
            tables = counter.count(plan_for(folder, unit), memory=MEMORY, scratch=None, progress=Silent()).tables
            counted[unit] = {name: dense(tables[name], columns, lists) for name, columns in TABLES.items()}
            if unit == "trip":
                trips = dense(tables["whole"], AXES, lists)
        return People(trips, counted)

    def exact(self, mode: str, columns: Sequence[str]) -> Counts:
        """All trips, over some columns."""
        return summed(self.trips[mode], AXES, columns)


def public_lists() -> dict[str, dict[str, list[str]]]:
    """Of each mode, the entries of each column."""
    network = Network(np.random.default_rng([1, 0]))
    times = ["-1", *(f"{hour:02d}:00" for hour in range(24))]
    found = {}
    for mode in network.modes:
        names = [str(postcode(number)) for number in range(POSTCODES)] if mode.name == "bus" else [*mode.stops]
        places = [*names, "UNKNOWN"]
        found[mode.name] = dict(zip(AXES, ([*map(str, DAYS)], times, places, places), strict=True))
    return found


def plan_for(folder: Path, unit: str) -> Plan:
    """What is counted of a week for a unit; of trips, the whole trip as well."""
    days = f"first_day = {DAYS[0]}\nlast_day = {DAYS[-1]}\n\n[source.columns]"
    source = SOURCE.replace("time_minutes = 15", "time_minutes = 60").replace("\n[source.columns]", days)
    privacy = f'[privacy]\n{UNITS[unit]}\nmechanism = "gaussian"\nepsilon = 8\ndelta = {DELTA}\n'
    tables = TABLES | ({"whole": AXES} if unit == "trip" else {})
    texts = [f'[[table]]\nname = "{name}"\ncolumns = {[*columns[1:]]}\n' for name, columns in tables.items()]
    return Plan.parse("\n".join([source, privacy, *texts]), base=folder)


def dense(table: ExactTable, columns: Columns, lists: Mapping[str, Mapping[str, list[str]]]) -> dict[str, Counts]:
    """Of each mode, every cell of the public lists, empty ones too."""
    codes, counts = table.packing.unpack(table.words), exact_counts(table)
    found = {}
    for mode, entries in lists.items():
        own = codes["mode"] == table.labels["mode"].index(mode)
        places = []
        for column in columns:
            index = {label: number for number, label in enumerate(entries[column])}
            places.append(np.array([index.get(label, -1) for label in table.labels[column]])[codes[column][own]])
        shape = [len(entries[column]) for column in columns]
        flat = np.ravel_multi_index(tuple(places), shape)
        cells = np.bincount(flat, counts[own], minlength=int(np.prod(shape)))
        found[mode] = cells.astype(np.int64).reshape(shape)
    return found


def summed(counts: Counts, columns: Sequence[str], kept: Sequence[str]) -> Counts:
    """Over the columns that are not kept."""
    found: Counts = counts.sum(axis=tuple(i for i, column in enumerate(columns) if column not in kept))
    return found


def measure(
    people: People,
    draws: int,
    say: Callable[[str], None],
    units: Sequence[str] = (*UNITS,),
    epsilons: Sequence[str] = EPSILONS,
    mechanisms: Sequence[str] = (*MECHANISMS,),
) -> Iterator[Row]:
    """Every unit, ε and mechanism, on average over the draws."""
    for unit in units:
        for epsilon in epsilons:
            say(f"journeys by {unit}, epsilon {epsilon}")
            for mechanism in mechanisms:
                found = [_errors(people, unit, epsilon, mechanism) for _ in range(draws)]
                mean, apart = np.mean(found, axis=0).tolist(), np.ptp(found, axis=0).tolist()
                yield Row(unit, epsilon, mechanism, tuple(mean), tuple(apart))


def _errors(people: People, unit: str, epsilon: str, mechanism: str) -> list[float]:
    """One draw."""
    off = np.zeros(len(QUERIES))
    for mode in people.trips:
        counted = {name: people.counted[unit][name][mode] for name in TABLES}
        answers = drawn(mechanism, counted, unit, epsilon)
        for number, columns in enumerate(QUERIES.values()):
            exact = people.exact(mode, columns)
            off[number] += min((np.abs(each - exact).sum() for each in answers(columns)), default=np.nan)
    trips = sum(int(counts.sum()) for counts in people.trips.values())
    return [float(each) / trips for each in off]


def drawn(name: str, counted: Mapping[str, Counts], unit: str, epsilon: str) -> Callable[[Columns], Iterator[Counts]]:
    """All that is published of the tables of a mode: for some columns, every answer to be had."""
    delta = Fraction(0) if name == "dictionary" else Fraction(DELTA)
    mechanisms = calibrate(name, (Fraction(1),) * len(TABLES), Fraction(epsilon), delta, EXPOSURES[unit])
    published = {}
    for (table, exact), mechanism in zip(counted.items(), mechanisms, strict=True):
        numbers, shown = mechanism.draw(exact.ravel(), os.urandom)
        listed = shown & (True if mechanism.visits_empty_cells else exact.ravel() > 0)
        published[table] = np.where(listed, numbers, 0).reshape(exact.shape)
    if name != "world":

        def sums(columns: Columns) -> Iterator[Counts]:
            for table, own in TABLES.items():
                if set(columns) <= set(own):
                    yield summed(published[table], own, columns)

        return sums
    sizes = {"tap_on_time": counted["origin_time"].shape[1]}
    sizes |= dict(zip(AXES[2:], counted["od"].shape[1:], strict=True))
    variances = [float(mechanism.scale**2) for mechanism in mechanisms]
    measured = [Measurement(TABLES[name], published[name], v) for name, v in zip(TABLES, variances, strict=True)]
    estimates = estimate(World(KINDS, sizes, same_places=True), measured)

    def estimated(columns: Columns) -> Iterator[Counts]:
        yield estimates.table(columns).count

    return estimated


# --- report ---------------------------------------------------------------------------------------------------------


def markdown(people: People, rows: Sequence[Row], draws: int) -> str:
    """A table for each unit."""
    return "\n\n".join(_parts(people, rows, draws)) + "\n"


def _parts(people: People, rows: Sequence[Row], draws: int) -> Iterator[str]:
    trips = sum(int(counts.sum()) for counts in people.trips.values())
    said = f"{trips:,} trips of a week; mean of {draws} draw{'s' if draws > 1 else ''}; δ = {DELTA}."
    if draws > 1:
        apart, largest = max(
            (apart / mean, row)
            for row in rows
            for mean, apart in zip(row.errors, row.apart, strict=True)
            if mean == mean
        )
        said += (
            f"\nThe draws of an entry are at most {100 * apart:.1f} % of it apart "
            f"({largest.unit}, ε = {largest.epsilon}, {MECHANISMS[largest.mechanism]})."
        )
    yield said
    for unit in dict.fromkeys(row.unit for row in rows):
        kept = sum(int(counts.sum()) for counts in people.counted[unit]["od"].values()) / trips
        note = "" if unit == "trip" else f" (bounding, and counting a card once per cell, leaves {100 * kept:.1f} %)"
        lines = [f"| ε | | {' | '.join(QUERIES)} |", "| --: | --- |" + " --: |" * len(QUERIES)]
        for row in rows:
            if row.unit == unit:
                shown = (f"{100 * error:.1f} %" if error == error else "–" for error in row.errors)
                lines.append(f"| {row.epsilon} | {MECHANISMS[row.mechanism]} | {' | '.join(shown)} |")
        yield f"**Unit `{unit}`**{note}\n\n" + "\n".join(lines)
