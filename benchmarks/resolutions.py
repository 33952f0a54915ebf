"""What a second resolution is worth: the share of trips that can be seen at an hour or finer, per place.

.venv/bin/python -m benchmarks.resolutions            # prints
.venv/bin/python -m benchmarks.resolutions --write    # also renews docs/resolutions.md and docs/resolutions.svg

A trip is seen if the quarter of an hour at its place was published, or the hour. Same trips, same total (ε, δ), same
tables otherwise. Counting and noise are those of a release; the city is made up, so its exact counts may be seen.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import log10
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.utility.measure import BUILD
from benchmarks.utility.report import put_into
from tapveil.base.progress import Silent
from tapveil.counting import counter
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.demo import city as demo_city
from tapveil.plan.model import Plan

DOCS = Path(__file__).parents[1] / "docs"
DAYS = (date(2025, 3, 3), date(2025, 3, 4))
SIZES = (4_000_000, 1_500_000, 400_000, 150_000)
ENDS = ("on", "off")
LEVELS = '{}, { name = "hour", time_minutes = 60 }'
PLANS = {
    "the paper's `sbh`": ("sbh", 2, ""),
    "`gaussian`": ("gaussian", 2, ""),
    "`gaussian`, 15 minutes and hour": ("gaussian", 4, f"levels = [{LEVELS}]"),
}
"""Mechanism, weight of time × location (of both levels together), and its levels."""
COLOURS = ("#222222", "#0072b2", "#d55e00")

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Measured:
    """One city: for each plan, the share of trips that can be seen, and how wide its noise is."""

    trips: int
    shares: dict[str, float]
    fine: dict[str, float]
    """The share that can be seen at 15 minutes."""
    noise: dict[str, str]


def city(trips: int) -> Path:
    """Two working days, made once."""
    folder = BUILD / f"two-days-{trips}"
    if not (folder / "plan.toml").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        demo_city.make_city(folder, trips=trips, seed=1, file_format="parquet", days=DAYS)
    return folder


def plan_for(folder: Path, mechanism: str, weight: int, levels: str, more: str = "") -> Plan:
    """The tables of the paper with one total of (8, 7.5e-7), and time × location at some levels; more, if asked for."""
    source = (folder / "plan.toml").read_text(encoding="utf-8").split("\n[privacy]\n")[0]
    privacy = f'unit = "trip"\nneighbours = "replace"\nmechanism = "{mechanism}"\nepsilon = 8\ndelta = 7.5e-7\n'
    tables = "".join(
        f'[[table]]\nname = "{end}_time"\ncolumns = ["tap_{end}_time"]\n'
        f'[[table]]\nname = "{end}_location"\ncolumns = ["tap_{end}_location"]\n'
        f'[[table]]\nname = "{end}_time_location"\ncolumns = ["tap_{end}_time", "tap_{end}_location"]\n'
        f"weight = {weight}\n{levels}\n"
        for end in ENDS
    )
    return Plan.parse(f"{source}\n[privacy]\n{privacy}{tables}{more}", base=folder)


def measure(trips: int, draws: int) -> Measured:
    folder = city(trips)
    plans = {name: plan_for(folder, *choice) for name, choice in PLANS.items()}
    finest = list(plans.values())[-1]  # has all tables of the others
    counted = counter.count(finest, memory="1GB", scratch=None, progress=Silent())
    shares, fine, noise = {}, {}, {}
    for name, plan in plans.items():
        seen = [_seen(plan, counted, end) for end in ENDS for _ in range(draws)]
        shares[name], fine[name] = (float(np.mean(each)) for each in zip(*seen, strict=True))
        made = [each for table, each in plan.guarantee.mechanisms.items() if table.startswith("on_time_location")]
        noise[name] = "; ".join(f"{float(each.scale):.3g}, from {each.smallest_published}" for each in made)
    return Measured(trips, shares, fine, noise)


def _seen(plan: Plan, counted: Counted, end: str) -> tuple[float, float]:
    """The share of trips whose hour, or quarter of an hour, at their place is published; and the quarters alone."""
    fine, hour = (counted.tables[f"{end}_time_location{level}"] for level in ("", "-hour"))
    _, published = plan.guarantee.mechanisms[fine.name].draw(exact_counts(fine), os.urandom)
    seen: Mask = published.copy()
    if hour.name in plan.guarantee.mechanisms:
        _, published_hours = plan.guarantee.mechanisms[hour.name].draw(exact_counts(hour), os.urandom)
        seen |= published_hours[_hours(fine, hour, end)]
    total = exact_counts(fine).sum()
    return float(exact_counts(fine)[seen].sum() / total), float(exact_counts(fine)[published].sum() / total)


def _hours(fine: ExactTable, hour: ExactTable, end: str) -> npt.NDArray[np.int64]:
    """For each cell of 15 minutes, the cell of its hour."""
    codes, hours = fine.packing.unpack(fine.words), hour.packing.unpack(hour.words)
    codes[f"tap_{end}_time"] = (codes[f"tap_{end}_time"] + 3) // 4  # code 0 is a missing time
    sizes = [len(hour.labels[column]) for column in hour.packing.columns]
    ours, theirs = (np.ravel_multi_index([each[c] for c in hour.packing.columns], sizes) for each in (codes, hours))
    order = np.argsort(theirs)
    found: npt.NDArray[np.int64] = order[np.searchsorted(theirs[order], ours)]
    return found


# --- report ---------------------------------------------------------------------------------------------------------


def markdown(cities: Sequence[Measured], draws: int) -> str:
    head = "| trips in two days | " + " | ".join(PLANS) + " |\n|---:|" + "---:|" * len(PLANS)
    rows = [
        f"| {each.trips:,} | " + " | ".join(f"{100 * each.shares[name]:.1f} %" for name in PLANS) + " |"
        for each in cities
    ]
    fine = [
        f"| {each.trips:,} | " + " | ".join(f"{100 * each.fine[name]:.1f} %" for name in PLANS) + " |"
        for each in cities
    ]
    noise = "; ".join(f"{name}: {cities[0].noise[name]}" for name in PLANS)
    return (
        "Share of the trips that can be seen at an hour or finer, at their place:\n\n"
        + "\n".join([head, *rows])
        + "\n\nThe same at 15 minutes alone, which shows what the second level takes from the first:\n\n"
        + "\n".join([head, *fine])
        + f"\n\nPort Vesper, two working days, six tables (and the hours), total (8, 7.5e-7), unit `trip`, `replace`. "
        f"Weights 1 for a table of one column; time × location 2, or 4 for both levels together. Width of the noise of "
        f"time × location, and the smallest number printed: {noise}. Means of {draws} draws for each end of a trip.\n"
    )


WIDTH, HEIGHT, LEFT, TOP, WIDE, HIGH = 760, 400, 80, 70, 420, 250


def svg(cities: Sequence[Measured]) -> str:
    """A line for each plan: what can be seen against how many trips there are."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        '<text x="20" y="30" font-size="17" font-weight="bold">Trips that can be seen at an hour or finer</text>',
        '<text x="20" y="50" font-size="13" fill="#555">Port Vesper, two days, the same (8, 7.5e-7) for all</text>',
    ]
    for part in range(5):
        y = TOP + HIGH * (1 - part / 4)
        lines.append(f'<path d="M{LEFT} {y:.1f}h{WIDE}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" font-size="12" text-anchor="end">{25 * part} %</text>')
    for each in cities:
        label = f"{each.trips / 1e6:g} million" if each.trips >= 10**6 else f"{each.trips // 1000} 000"
        lines.append(
            f'<text x="{_x(each.trips):.1f}" y="{TOP + HIGH + 20}" font-size="12" text-anchor="middle">{label}</text>'
        )
    middle = LEFT + WIDE / 2
    lines.append(f'<text x="{middle}" y="{TOP + HIGH + 44}" font-size="13" text-anchor="middle">trips</text>')
    ordered = sorted(cities, key=lambda each: each.trips)
    for number, (name, colour) in enumerate(zip(PLANS, COLOURS, strict=True)):
        places = [(_x(each.trips), TOP + HIGH * (1 - each.shares[name])) for each in ordered]
        path = " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        lines += [_mark(number, x, y, colour) for x, y in places]
        label = name.replace("`", "")
        at = places[-1][1] + (-10, 5, 20)[2 - number]
        lines.append(f'<text x="{places[-1][0] + 12:.1f}" y="{at:.1f}" font-size="13" fill="{colour}">{label}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _x(trips: int) -> float:
    first, last = log10(min(SIZES)), log10(max(SIZES))
    return LEFT + 30 + (WIDE - 60) * (log10(trips) - first) / (last - first)


def _mark(number: int, x: float, y: float, colour: str) -> str:
    shapes = (
        f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>',
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>',
        f'<path d="M{x:.1f} {y - 6:.1f}l6 10h-12z" fill="{colour}"/>',
    )
    return shapes[number]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="renew docs/resolutions.md and docs/resolutions.svg")
    options = parser.parse_args()
    cities = []
    for trips in options.trips:
        print(f"{trips:,} trips …", file=sys.stderr)
        cities.append(measure(trips, options.draws))
    text = markdown(cities, options.draws)
    print(text)
    if options.write:
        put_into(DOCS / "resolutions.md", text)
        (DOCS / "resolutions.svg").write_text(svg(cities), encoding="utf-8")


if __name__ == "__main__":
    main()
