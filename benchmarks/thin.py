"""Thin data: estimates where noise is as large as counts, beside what any whole numbers could do there.

.venv/bin/python -m benchmarks.thin            # the bike-share month, a quarter of it, and a small part of the metro
.venv/bin/python -m benchmarks.thin --write    # also renews docs/estimates-measured.md

Relative error as in benchmarks.world. Beside estimates and thresholds, two that use no noise at all, and of a single
day its exact total alone: spread as on the typical day, which is the exact mean of all days of its kind, this day
included; and spread evenly over all cells. What can be estimated where noise drowns single days lies between them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.utility.report import put_into
from benchmarks.world import (
    AXES,
    DATA,
    DOCS,
    QUERIES,
    SMALL,
    Case,
    City,
    Floats,
    bikes,
    errors,
    measure,
    namma,
    off,
    peer,
    seeded,
)
from tapveil.privacy import Exposure
from tapveil.published.estimates import estimate
from tapveil.published.estimates.parts import in_parts
from tapveil.published.estimates.rounding import whole

TRIP, CARD = Exposure("replace"), Exposure("add-remove", 28)
CASES = (("trip, ε = 8", 8, TRIP), ("trip, ε = 1", 1, TRIP), ("card (28 trips), ε = 1", 1, CARD))
FEW, SOME = 5_000, 258_000
"""Trips."""


def thinned(truth: City, trips: int) -> City:
    """About as many trips, each kept or left out by chance."""
    share = trips / float(truth.counts.sum())
    return City(np.random.default_rng(5).binomial(truth.counts, share), truth.kinds)


def bound(truth: City, *, typical: bool) -> list[float]:
    """The errors of exact totals of each day in whole numbers that add up: spread as on a typical day, or evenly."""
    found = np.zeros_like(truth.counts)
    for day, own in enumerate(truth.kinds):
        alike = truth.counts[[other == own for other in truth.kinds]].sum(axis=0)
        alike = alike if typical else np.ones_like(alike)
        found[day] = whole(in_parts(alike * (truth.counts[day].sum() / alike.sum())))
    gone = {name: tuple(i for i, axis in enumerate(AXES) if axis not in columns) for name, columns in QUERIES.items()}
    return [off(found.sum(axis=gone[name]), truth.table(columns)) for name, columns in QUERIES.items()]


def rows(truth: City, draws: int) -> Iterator[tuple[str, Floats]]:
    """Errors by what was known and how it was told."""
    yield "exact totals of each day, spread as on the exact typical day", np.array(bound(truth, typical=True))
    yield "exact totals of each day, spread evenly", np.array(bound(truth, typical=False))
    for name, epsilon, exposure in CASES:
        case = Case(name, epsilon, exposure, SMALL, ())
        own = [errors(truth, estimate(truth.world, measure(truth, case, seeded(draw)))) for draw in range(draws)]
        yield f"{name}: estimates", np.mean(own, axis=0)
        yield (
            f"{name}: thresholds",
            np.array(peer("gaussian", truth, Case(name, epsilon, exposure, (Fraction(1),), ()), seeded(0))),
        )


def section(name: str, truth: City, draws: int) -> str:
    """A table."""
    lines = [f"**{name}**: {truth.counts.sum():,} trips, mean of {draws} draws\n", f"| | {' | '.join(QUERIES)} |"]
    lines.append("| --- |" + " --: |" * len(QUERIES))
    for what, found in rows(truth, draws):
        lines.append(f"| {what} | {' | '.join('–' if np.isnan(each) else f'{each:.3g} %' for each in found)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="renew docs/estimates-measured.md")
    options = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"the trips are not there: {DATA}")
    month, metro = bikes(), namma()
    cities = (
        ("Bike share, a month", month),
        ("The same, about a quarter of its trips", thinned(month, FEW)),
        ("Namma Metro, about 2 % of its trips", thinned(metro, SOME)),
    )
    parts = []
    for name, truth in cities:
        parts.append(section(name, truth, options.draws))
        print(parts[-1], flush=True)
    if options.write:
        put_into(DOCS / "estimates-measured.md", "\n".join(parts), "thin")


if __name__ == "__main__":
    main()
