"""How many trips of a card to count, and how to bound them: leave some out, or count each with less weight.

.venv/bin/python -m benchmarks.bounding            # prints
.venv/bin/python -m benchmarks.bounding --write    # also renews docs/guides/choose-a-unit.md

The people of the demo city, a week, every cell measured with Gaussian noise. With at most m trips of a unit counted,
each in a cell of its own, the sum of squares of its changes is at most m. A weight of √(m/n) for each of its n > m
trips has the same bound (clipping in L2), and keeps √(mn) of them instead of m. Noise is √m times that of one trip.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from benchmarks.utility.journeys import DAYS
from benchmarks.utility.measure import DELTA, city
from benchmarks.utility.report import put_into
from tapveil.privacy import Exposure, calibrate

DOCS = Path(__file__).parents[1] / "docs"
UNITS = {"card-day": "card_id, trip_date", "card": "card_id"}
BOUNDS = {"card-day": (1, 2, 3, 4, 6, 8), "card": (2, 4, 7, 10, 14, 20, 28)}
EPSILONS = (8, 2, 1)
TABLES = 3
TRIPS = """
SELECT {unit}, trip_date, mode, coalesce(hour(tap_on_time), -1) AS hour,
    CASE WHEN mode = 'bus' THEN postcode::VARCHAR ELSE tap_on_location END AS place
FROM read_parquet('{folder}/trips/*.parquet') LEFT JOIN read_csv('{folder}/stops.csv', types = {{'stop_id': 'VARCHAR'}})
    ON mode = 'bus' AND tap_on_location = stop_id
WHERE trip_date BETWEEN '{first}' AND '{last}' AND mode IS NOT NULL
"""
CODED = """
SELECT dense_rank() OVER (ORDER BY {unit}) - 1 AS owner,
    dense_rank() OVER (ORDER BY mode, trip_date, hour, place) - 1 AS cell
FROM ({trips})
"""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trips:
    """Of each trip, whose it is and in which cell; how many its owner made, and its place among them, by lot."""

    cell: Ints
    made: Ints
    place: Ints

    @staticmethod
    def of(folder: Path, unit: str) -> Trips:
        text = TRIPS.format(unit="card_id", folder=folder, first=DAYS[0], last=DAYS[-1])
        found = duckdb.execute(CODED.format(unit=UNITS[unit], trips=text)).fetchnumpy()
        owner, cell = (np.asarray(found[name], dtype=np.int64) for name in ("owner", "cell"))
        order = np.random.default_rng(1).permutation(len(owner))
        owner, cell = owner[order], cell[order]
        by_owner = np.argsort(owner, kind="stable")
        made = np.bincount(owner)
        first = np.cumsum(made) - made
        place = np.empty_like(owner)
        place[by_owner] = np.arange(len(owner)) - first[owner[by_owner]]
        return Trips(cell, made[owner], place)

    def weights(self, way: str, bound: int) -> Floats:
        """How much each trip counts."""
        if way == "dropping":
            return (self.place < bound).astype(np.float64)
        return np.sqrt(np.minimum(1, bound / self.made))


@dataclass(frozen=True)
class Row:
    """One bound, and one way to keep it."""

    bound: int
    way: str
    kept: float
    errors: tuple[float, ...]
    """Of trips by origin, hour and day, for each ε: the mean distance of a measurement from all trips of its cell."""


def measure(trips: Trips, unit: str) -> Iterator[Row]:
    """Every bound, both ways."""
    exact = np.bincount(trips.cell).astype(np.float64)
    noise = np.random.default_rng(2).standard_normal(len(exact))
    for bound in BOUNDS[unit]:
        for way in ("dropping", "clipping"):
            weights = trips.weights(way, bound)
            bias = np.bincount(trips.cell, weights) - exact
            errors = tuple(float(np.abs(bias + scale(unit, bound, e) * noise).mean()) for e in EPSILONS)
            yield Row(bound, way, float(weights.sum() / len(weights)), errors)


def scale(unit: str, bound: int, epsilon: int) -> float:
    """σ of each of three tables of the same weight, by exact accounting; clipping has the same."""
    made = calibrate(
        "world", (Fraction(1),) * TABLES, Fraction(epsilon), Fraction(DELTA), Exposure("add-remove", bound)
    )
    return float(made[0].scale)


def markdown(rows: dict[str, list[Row]], size: int) -> str:
    """A table for each unit; the best of each column is bold."""
    parts = [f"The demo city of {size:,} trips, the first week, three tables, δ = {DELTA}."]
    for unit, found in rows.items():
        heads = " | ".join(f"error, ε = {epsilon}" for epsilon in EPSILONS)
        lines = [
            f"| most trips | bounded by | trips counted | {heads} |",
            "| --: | --- | --: |" + " --: |" * len(EPSILONS),
        ]
        best = {
            way: [min(row.errors[i] for row in found if row.way == way) for i in range(len(EPSILONS))]
            for way in ("dropping", "clipping")
        }
        for row in found:
            shown = (
                f"**{error:.2f}**" if error == best[row.way][i] else f"{error:.2f}"
                for i, error in enumerate(row.errors)
            )
            lines.append(f"| {row.bound} | {row.way} | {100 * row.kept:.1f} % | {' | '.join(shown)} |")
        parts.append(f"**Unit `{unit}`**\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, default=5_000_000)
    parser.add_argument("--write", action="store_true", help="renew docs/guides/choose-a-unit.md")
    options = parser.parse_args()
    folder = city(options.trips)
    text = markdown({unit: [*measure(Trips.of(folder, unit), unit)] for unit in UNITS}, options.trips)
    print(text)
    if options.write:
        put_into(DOCS / "guides" / "choose-a-unit.md", text)


if __name__ == "__main__":
    main()
