"""How often a change is called real that is none, and how often one of a tenth is found: the table of docs/series.md.

python -m benchmarks.real_changes [--pairs 1000] [--seed 1]

A station has a number of trips on a mean day, half as many at weekends. Trips differ by chance (Poisson), times a
factor that differs from day to day; published numbers have Laplace noise. Exit code 1 if a promise is broken: false
alarms above 5 %, or, where days differ by chance alone, less than 95 % of changes found from one week each.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date, timedelta

import numpy as np

from tapveil.published.variation import Panel, change

FIRST = date(2025, 3, 3)
DAYS = np.array([1.0, 1.05, 1.1, 1.05, 1.1, 0.6, 0.4])
SPREADS = (0.0, 0.02, 0.03, 0.05, 0.08, 0.12)
WEEKS_OF_HISTORY = 30
MOST_FALSE, LEAST_FOUND = 0.05, 0.95


def numbers(pairs: int, weeks: int, level: float, spread: float, noise: float, random: np.random.Generator) -> Panel:
    """Published numbers of some weeks without a change, a row for each pair."""
    shape = (pairs, 7 * weeks)
    expected = level * np.tile(DAYS / DAYS.mean(), weeks) * np.exp(random.normal(0, spread, shape))
    counts = (random.poisson(expected) + np.rint(random.laplace(0, noise, shape))).astype(float)
    days = tuple(FIRST + timedelta(days=day) for day in range(7 * weeks))
    return Panel(days, counts, np.zeros(shape), np.full(shape, 2 * noise**2 + 1 / 12))


def called_real(whole: Panel, first: int, weeks: int, *, more: float = 0.0, history: bool = False) -> float:
    """The share of rows of which some weeks from a week on are called different from those before it."""
    counts = whole.counts.copy()
    counts[:, 7 * first :] *= 1 + more
    grown = Panel(whole.days, counts, whole.left_out, whole.noise)
    after, before = (grown.of(range(7 * at, 7 * (at + weeks))) for at in (first, first - weeks))
    return float(change(after, before, grown if history else None).real.mean())


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.real_changes")
    parser.add_argument("--pairs", type=int, default=1000, help="pairs of weeks for each figure")
    parser.add_argument("--level", type=float, default=1000, help="trips of a mean day")
    parser.add_argument("--noise", type=float, default=5, help="scale of the Laplace noise")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    random, kept = np.random.default_rng(asked.seed), True
    print("| days differ by | false alarms, two weeks | 10 % more is found: week against week "
          f"| with {WEEKS_OF_HISTORY} weeks of history | four weeks against four |\n|---|---|---|---|---|")  # fmt: skip
    for spread in SPREADS:
        two, eight, many = (
            numbers(asked.pairs, weeks, asked.level, spread, asked.noise, random)
            for weeks in (2, 8, WEEKS_OF_HISTORY + 2)
        )
        false, found = called_real(two, 1, 1), called_real(two, 1, 1, more=0.1)
        more = called_real(many, WEEKS_OF_HISTORY + 1, 1, more=0.1, history=True), called_real(eight, 4, 4, more=0.1)
        words = f"{spread:.0%}".replace("%", " %") if spread else "chance alone"
        print(f"| {words} | " + " | ".join(f"{100 * each:.0f} %" for each in (false, found, *more)) + " |")
        kept &= false <= MOST_FALSE and (spread > 0 or found >= LEAST_FOUND)
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
