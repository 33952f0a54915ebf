"""Thin data: estimates where noise is as large as counts, beside what any whole numbers could do there.

.venv/bin/python -m benchmarks.thin            # the bike-share month, a quarter of it, and a small part of the metro
.venv/bin/python -m benchmarks.thin --write    # also renews docs/estimates-measured.md
.venv/bin/python -m benchmarks.thin --unseen   # small systems of other trips
.venv/bin/python -m benchmarks.thin --kinds    # what counting the days of a kind together brings

Exit code 1 if estimates are further off than thresholds by more than half a point of a per cent; than zeros, where
thresholds have no such table.

Relative error as in benchmarks.world. Beside estimates and thresholds, two that use no noise at all, and of a single
day its exact total alone: spread as on the typical day, which is the exact mean of all days of its kind, this day
included; and spread evenly over all cells. What can be estimated where noise drowns single days lies between them.

The unseen trips: of the demo city, its cards bounded as in a release, and small shares of the metro, other trips in
each draw. Units, ε and sizes are those of small systems.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.utility import journeys
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
    say,
    seeded,
)
from tapveil.privacy import Exposure
from tapveil.published.estimates import estimate
from tapveil.published.estimates.parts import in_parts
from tapveil.published.estimates.rounding import whole
from tapveil.published.estimates.world import DATE, KIND

TRIP, CARD = Exposure("replace"), Exposure("add-remove", 28)
CASES = (("trip, ε = 8", 8, TRIP), ("trip, ε = 1", 1, TRIP), ("card (28 trips), ε = 1", 1, CARD))
THRESHOLDS = "thresholds"
THREE = (Fraction(1),) * 3
"""Without whole trips."""
MOST_WORSE = 0.5
"""Points of a per cent by which estimates may be further off than thresholds, on average over the draws."""
FEW, SOME = 5_000, 258_000
"""Trips."""


A_MONTH = (5_000, 10_000, 20_000, 60_000)
"""Trips of small systems."""
OF_A_MONTH = 18 / 30
"""The days of the metro."""
DEMO = (20_000, 40_000, 60_000)
"""Trips of two weeks of the demo city, the first of which is used."""
EPSILONS = ("0.5", "1", "2", "8")
MEASURED = ("OD per day", "OD in all", "origin × hour", "origin per day")
"""Queries that thresholds answer, too."""


def thinned(truth: City, trips: int, seed: int = 5) -> City:
    """About as many trips, each kept or left out by chance."""
    share = trips / float(truth.counts.sum())
    return City(np.random.default_rng(seed).binomial(truth.counts, share), truth.kinds)


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
    """Errors by what was known and how it was told: of each promise, of thresholds first."""
    yield "exact totals of each day, spread as on the exact typical day", np.array(bound(truth, typical=True))
    yield "exact totals of each day, spread evenly", np.array(bound(truth, typical=False))
    for name, epsilon, exposure in CASES:
        three, four = (Case(name, epsilon, exposure, weights, ()) for weights in (THREE, SMALL))
        yield f"{name}: {THRESHOLDS}", np.array(peer("gaussian", truth, three, seeded(0)))
        for case, words in ((four, "estimates"), (three, "estimates, whole trips not measured")):
            own = [errors(truth, estimate(truth.world, measure(truth, case, seeded(draw)))) for draw in range(draws)]
            yield f"{name}: {words}", np.mean(own, axis=0)


def section(name: str, truth: City, draws: int) -> tuple[str, float]:
    """A table, and by how much estimates are further off than thresholds, at most."""
    lines = [f"**{name}**: {truth.counts.sum():,} trips, mean of {draws} draws\n", f"| | {' | '.join(QUERIES)} |"]
    lines.append("| --- |" + " --: |" * len(QUERIES))
    worst, other = -np.inf, np.full(len(QUERIES), np.inf)
    for what, found in rows(truth, draws):
        lines.append(f"| {what} | {' | '.join('–' if np.isnan(each) else f'{each:.3g} %' for each in found)} |")
        if THRESHOLDS in what:
            other = np.nan_to_num(found, nan=100.0)
        worst = max(worst, float((found - other).max()))
    return "\n".join(lines) + "\n", worst


# --- small systems of other trips -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Beside:
    """Errors of estimates and of thresholds under one promise, in per cent, by draw and query."""

    unit: str
    epsilon: str
    estimates: Floats
    thresholds: Floats

    @property
    def worse(self) -> Floats:
        """By how much estimates are further off than thresholds, on average over the draws."""
        found: Floats = self.estimates.mean(axis=0) - self.thresholds.mean(axis=0)
        return found


def of_people(trips: int, draws: int, epsilons: Sequence[str] = EPSILONS) -> Iterator[Beside]:
    """The demo city: its people's cards are bounded as in a release."""
    people = journeys.People.of(trips, say)
    found: dict[tuple[str, str], dict[str, list[tuple[float, ...]]]] = {}
    for _ in range(draws):
        for row in journeys.measure(people, 1, say, epsilons=epsilons, mechanisms=("gaussian", "world")):
            found.setdefault((row.unit, row.epsilon), {}).setdefault(row.mechanism, []).append(row.errors)
    for (unit, epsilon), rows in found.items():
        estimates, thresholds = (100 * np.array(rows[name])[:, : len(MEASURED)] for name in ("world", "gaussian"))
        yield Beside(unit, epsilon, estimates, thresholds)


def of_metro(metro: City, trips: int, draws: int, epsilons: Sequence[str] = EPSILONS) -> Iterator[Beside]:
    """A share of the metro: other trips and other noise in each draw."""
    for unit, exposure in journeys.EXPOSURES.items():
        for epsilon in epsilons:
            say(f"{trips:,} trips of the metro by {unit}, epsilon {epsilon}")
            case = Case(unit, Fraction(epsilon), exposure, SMALL, ())
            found = []
            for draw in range(draws):
                truth, random = thinned(metro, trips, 3000 + draw), seeded(4000 + draw)
                own = errors(truth, estimate(truth.world, measure(truth, case, random)))
                found.append([each[: len(MEASURED)] for each in (own, peer("gaussian", truth, case, random))])
            estimates, thresholds = np.array(found).transpose(1, 0, 2)
            yield Beside(unit, epsilon, estimates, thresholds)


def unseen(name: str, found: Sequence[Beside], draws: int) -> tuple[str, float]:
    """A table, with thresholds in brackets; cases in which both publish nothing are said below it. The worst of all."""
    lines = [
        f"**{name}**; {'one draw' if draws == 1 else f'mean of {draws} draws'}, thresholds in brackets\n",
        f"| | {' | '.join(MEASURED)} |",
    ]
    lines.append("| --- |" + " --: |" * len(MEASURED))
    nothing = []
    for each in found:
        what, pairs = f"{each.unit}, ε = {each.epsilon}", (each.estimates.mean(axis=0), each.thresholds.mean(axis=0))
        if np.round(pairs, 1).min() == np.round(pairs, 1).max() == 100:
            nothing.append(what)
            continue
        shown = (f"{own:.1f} % ({other:.1f})" for own, other in zip(*pairs, strict=True))
        lines.append(f"| {what} | {' | '.join(shown)} |")
    lines += [f"\nBoth 100 %, since all cells are zero: {'; '.join(nothing)}."] if nothing else []
    worst = max(float(each.worse.max()) for each in found)
    lines.append(f"\nEstimates beyond thresholds at most: {worst:+.2f} points.")
    return "\n".join(lines) + "\n", worst


# --- days of a kind together ----------------------------------------------------------------------------------------


def of_kinds(truth: City) -> City:
    """The same trips, the days of a kind counted together."""
    kinds = sorted(set(truth.kinds))
    together = [truth.counts[[own == kind for own in truth.kinds]].sum(axis=0) for kind in kinds]
    return City(np.stack(together), tuple(range(len(kinds))))


def by_kind(truth: City, draws: int) -> str:
    """A table: errors of counts by kind of day, from tables of each day and from tables of each kind."""
    together = of_kinds(truth)
    queries = {name.replace("per day", "by kind"): columns for name, columns in QUERIES.items() if name in MEASURED}
    lines = [f"| | {' | '.join(queries).replace('hour', 'hour by kind')} |", "| --- |" + " --: |" * len(queries)]
    for epsilon in (8, 2, 1):
        case = Case(f"trip, ε = {epsilon}", epsilon, TRIP, THREE, ())
        found: dict[str, list[list[float]]] = {}
        for draw in range(draws):
            apart = estimate(truth.world, measure(truth, case, seeded(draw)))
            daily = [tuple(KIND if column == DATE else column for column in columns) for columns in queries.values()]
            exact = [together.table(columns) for columns in queries.values()]
            own = [off(apart.count(columns), each) for columns, each in zip(daily, exact, strict=True)]
            found.setdefault("each day", []).append(own)
            made = estimate(together.world, measure(together, case, seeded(draw)))
            found.setdefault("days of a kind together", []).append(errors(together, made)[: len(queries)])
            least = peer("gaussian", together, case, seeded(draw))[: len(queries)]
            found.setdefault(f"days of a kind together, {THRESHOLDS}", []).append(least)
        for what, each in found.items():
            shown = (f"{error:.1f} %" for error in np.mean(each, axis=0))
            lines.append(f"| {case.name}: {what} | {' | '.join(shown)} |")
    return "\n".join([f"{truth.counts.sum():,} trips, mean of {draws} draws\n", *lines]) + "\n"


def all_seen(draws: int) -> Iterator[tuple[str, float]]:
    """A table for each city."""
    month, metro = bikes(), namma()
    yield section("Bike share, a month", month, draws)
    yield section("The same, about a quarter of its trips", thinned(month, FEW), draws)
    yield section("Namma Metro, about 2 % of its trips", thinned(metro, SOME), draws)


def all_unseen(draws: int, epsilons: Sequence[str]) -> Iterator[tuple[str, float]]:
    """A table for each city and size."""
    for trips in DEMO:
        yield unseen(f"The demo city, {trips:,} trips in two weeks", [*of_people(trips, draws, epsilons)], draws)
    metro = namma()
    for trips in A_MONTH:
        name = f"Namma Metro, {trips:,} trips a month"
        yield unseen(name, [*of_metro(metro, round(trips * OF_A_MONTH), draws, epsilons)], draws)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="renew docs/estimates-measured.md")
    parser.add_argument("--unseen", action="store_true", help="instead, small systems of other trips")
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS, help="with --unseen")
    parser.add_argument("--kinds", action="store_true", help="instead, the month with days of a kind together")
    options = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"the trips are not there: {DATA}")
    if options.kinds:
        print(table := by_kind(bikes(), options.draws), flush=True)
        if options.write:
            put_into(DOCS / "estimates-measured.md", table, "kinds")
        return
    parts, worst = list[str](), -np.inf
    for part, worse in all_unseen(options.draws, options.epsilons) if options.unseen else all_seen(options.draws):
        print(part, flush=True)
        parts.append(part)
        worst = max(worst, worse)
    if options.write:
        put_into(DOCS / "estimates-measured.md", "\n".join(parts), "unseen" if options.unseen else "thin")
    if worst > MOST_WORSE:
        raise SystemExit(f"estimates are further off than thresholds by {worst:.2f} points, at most {MOST_WORSE}")


if __name__ == "__main__":
    main()
