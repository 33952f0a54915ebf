"""What the consistent version is worth: errors and bias of both versions, table by table, against the truth.

.venv/bin/python -m benchmarks.consistency            # prints
.venv/bin/python -m benchmarks.consistency --write    # also renews docs/consistency.md

The demo city is counted once per plan and drawn several times; both versions are held against its exact counts, which
may be seen: the city is made up. Counting, noise and the consistent version are those of a release.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.resolutions import plan_for
from benchmarks.utility.measure import BUILD, city
from benchmarks.utility.report import put_into
from tapveil.base.progress import Silent
from tapveil.counting import counter
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.plan.model import Plan
from tapveil.privacy.intervals import MISS, interval
from tapveil.published.consistent import Consistent, consistent
from tapveil.published.derived import stated_edges
from tapveil.published.lattice import Edge, Ints, Lattice, Node, lattice
from tapveil.veil import crossing, statement

DOCS = Path(__file__).parents[1] / "docs"
LEVELS = '{}, { name = "hour", time_minutes = 60 }, { name = "part", times = ["06:00", "10:00", "15:00", "19:00"] }'
PLANS = {
    "the paper's `sbh`": ("sbh", 2, ""),
    "`gaussian`": ("gaussian", 2, ""),
    "`gaussian`, three levels": ("gaussian", 4, f"levels = [{LEVELS}]"),
}
"""Mechanism, weight of time × location, and its levels."""
TOTALS = '[[table]]\nname = "total"\ncolumns = []\nweight = "1/4"\n'

Cell = tuple[str, ...]
Floats = npt.NDArray[np.float64]


@dataclass
class Errors:
    """Of the two versions of one table, over all its published cells: mean distance from the truth, and mean."""

    off: list[tuple[float, float]] = field(default_factory=list)
    lean: list[tuple[float, float]] = field(default_factory=list)
    total_off: list[tuple[float, float]] = field(default_factory=list)
    total_lean: list[tuple[float, float]] = field(default_factory=list)
    covered: list[float] = field(default_factory=list)
    """The share of published cells whose interval holds the truth."""


@dataclass
class Measured:
    """One plan on one city."""

    trips: int
    plan: str
    tables: dict[str, Errors]
    rests: list[float]
    """The share of remainders whose interval holds the truth."""
    totals: list[float]


def truth_of(exact: ExactTable) -> dict[Cell, int]:
    codes = exact.label_codes(np.arange(len(exact_counts(exact))))
    labels = [np.array(exact.labels[column])[codes[column]].tolist() for column in exact.packing.columns]
    return dict(zip(zip(*labels, strict=True), exact_counts(exact).tolist(), strict=True))


@dataclass(frozen=True)
class Truth:
    """The exact counts of the city."""

    tables: dict[str, dict[Cell, int]]

    @staticmethod
    def of(counted: Counted, partition: int) -> Truth:
        tables = {name: truth_of(exact) for name, exact in counted.tables.items()}
        parts: dict[Cell, int] = {}
        for cell, number in next(iter(tables.values())).items():
            parts[cell[:partition]] = parts.get(cell[:partition], 0) + number
        return Truth({**tables, "total": parts})

    def behind(self, node: Node) -> Floats:
        cells = zip(*(node.cells.column(key).to_pylist() for key in node.keys), strict=True)
        return np.array([self.tables[node.name].get(cell, 0) for cell in cells], dtype=np.float64)


def measure(trips: int, name: str, draws: int) -> Measured:
    folder = city(trips)
    plan = plan_for(folder, *PLANS[name], TOTALS)
    counted = counter.count(plan, memory="1GB", scratch=None, progress=Silent())
    truth = Truth.of(counted, len(plan.release.partition))
    manifest = statement.manifest(plan, date(2025, 1, 1), {})
    found = Measured(trips, name, {table: Errors() for table in plan.tables}, [], [])
    for _ in range(draws):
        cells = {
            name: crossing.draw(counted.tables[name], plan, table, None, os.urandom).cells
            for name, table in plan.tables.items()
        }
        whole = lattice(manifest, plan.guarantee.mechanisms, cells, {})
        _add(found, plan, whole, consistent(whole), truth)
    return found


def _add(found: Measured, plan: Plan, whole: Lattice, adds_up: Consistent, truth: Truth) -> None:
    total = whole.total
    if total is None:
        raise AssertionError("every plan here has totals")
    parts, rule = truth.behind(total), interval(plan.guarantee.mechanisms[total.name], MISS)
    moved_parts = adds_up.numbers[total.name] - parts
    found.totals.append(_held(parts, rule.low(total.numbers), rule.high(total.numbers)))
    for node in whole.nodes:
        errors, behind = found.tables[node.name], truth.behind(node)
        raw, moved = node.numbers - behind, adds_up.numbers[node.name] - behind
        errors.off.append((float(np.abs(raw).mean()), float(np.abs(moved).mean())))
        errors.lean.append((float(raw.mean()), float(moved.mean())))
        summed = raw if node is total else whole.between(node, total).add_up(node.numbers) - parts
        errors.total_off.append((float(np.abs(summed).mean()), float(np.abs(moved_parts).mean())))
        errors.total_lean.append((float(summed.mean()), float(moved_parts.mean())))
        half_width = interval(plan.guarantee.mechanisms[node.name], MISS).half_width
        errors.covered.append(float((np.abs(raw) <= half_width).mean()))
        found.rests += [_rest_held(edge, adds_up, truth) for edge in stated_edges(whole, node)]


def _rest_held(edge: Edge, adds_up: Consistent, truth: Truth) -> float:
    hidden = truth.behind(edge.coarse) - edge.add_up(truth.behind(edge.fine))
    return _held(hidden, *adds_up.rest_between(edge))


def _held(truth: Floats, low: Ints, high: Ints) -> float:
    return float(((low <= truth) & (truth <= high)).mean())


# --- report ---------------------------------------------------------------------------------------------------------


def markdown(measured: Sequence[Measured], draws: int) -> str:
    return "\n\n".join(_parts(measured, draws)) + "\n"


def _parts(measured: Sequence[Measured], draws: int) -> Iterator[str]:
    yield (
        f"Port Vesper over two weeks, total (8, 7.5e-7), unit `trip`, `replace`; means of {draws} draws. “Published” "
        "is `data/`, “consistent” is `consistent/`. Distances and leans are in trips: of a number, over all published "
        "cells; of a total, over all modes and days (published: the sum of the table; consistent: "
        "`consistent/total.csv`)."
    )
    for each in measured:
        yield f"### {each.trips:,} trips, {each.plan}"
        yield "\n".join(
            [
                "| table | a number is off by: published | consistent | it leans: published | consistent "
                "| a total is off by: published | consistent | it leans: published | consistent |",
                "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
                *(_row(name, errors) for name, errors in each.tables.items()),
            ]
        )
        covered = min(float(np.mean(errors.covered)) for errors in each.tables.values())
        rests, totals = (100 * float(np.mean(held)) for held in (each.rests, each.totals))
        yield (
            f"Intervals that hold the truth: of published cells {100 * covered:.1f} % in the worst table, "
            f"of remainders {rests:.1f} %, of totals {totals:.1f} %."
        )


def _row(name: str, errors: Errors) -> str:
    numbers = [f"{x:.3f}" for x in np.mean(errors.off, axis=0)] + [f"{x:+.2f}" for x in np.mean(errors.lean, axis=0)]
    totals = [f"{x:,.0f}" for x in np.mean(errors.total_off, axis=0)]
    totals += [f"{x:+,.0f}" for x in np.mean(errors.total_lean, axis=0)]
    return f"| {name} | " + " | ".join([*numbers, *totals]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, nargs="+", default=[300_000, 1_000_000, 5_000_000])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="renew docs/consistency.md")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    measured = []
    for trips in options.trips:
        for name in PLANS:
            print(f"{trips:,} trips, {name} …", file=sys.stderr)
            measured.append(measure(trips, name, options.draws))
    text = markdown(measured, options.draws)
    print(text)
    if options.write:
        put_into(DOCS / "consistency.md", text)


if __name__ == "__main__":
    main()
