"""What tuning is worth: week one of the demo city is published, the plan tuned from that folder, week two counted.

.venv/bin/python -m benchmarks.tuning            # prints
.venv/bin/python -m benchmarks.tuning --write    # also renews docs/tuning.md

Shares are expected values over the noise, from the exact counts of week two. The city is made up: they may be seen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.utility.measure import BUILD, city
from benchmarks.utility.report import put_into
from tapveil.base.progress import Silent
from tapveil.counting import counter
from tapveil.counting.exact import Counted
from tapveil.counting.reveal import exact_counts
from tapveil.demo import city as demo_city
from tapveil.internal.next_plan import next_plan
from tapveil.plan.model import Plan, preset_text
from tapveil.privacy.mechanisms import Mechanism
from tapveil.tuning.tune import Tuned, tune
from tapveil.veil import release

DOCS = Path(__file__).parents[1] / "docs"
KINDS = {
    "time": ("on_time", "off_time"),
    "location": ("on_location", "off_location"),
    "time × location": ("on_time_location", "off_time_location"),
}


@dataclass(frozen=True)
class Measured:
    """One plan on week two: by kind of table, the share of trips in published cells, and how far its noise goes."""

    name: str
    weights: str
    shares: dict[str, float]
    errors: dict[str, int]
    smallest: dict[str, int]

    @property
    def mean(self) -> float:
        return sum(self.shares.values()) / len(self.shares)


@dataclass(frozen=True)
class City:
    """One city: what was guessed from week one, and what came of it in week two."""

    trips: int
    tuned: Tuned
    plans: tuple[Measured, ...]


def plan_text(monday: date) -> str:
    """The opal preset, parameter for parameter, for one week of the city."""
    text = preset_text("opal")
    for old, new in {
        'path = "trips/*" ': 'path = "trips/*.parquet" ',
        "# first_day = 2016-08-08": f"first_day = {monday}",
        "# last_day = 2016-08-14": f"last_day = {monday + timedelta(days=6)}",
    }.items():
        if old not in text:
            raise AssertionError(f"the opal preset has changed: {old}")
        text = text.replace(old, new)
    return text


def with_weights(text: str, mechanism: str) -> str:
    """The preset with another mechanism, its ε as weights of the same total."""
    text = text.replace('mechanism = "sbh"', f'mechanism = "{mechanism}"\nepsilon = 8\ndelta = 7.5e-7')
    for epsilon in (1, 2):
        text = text.replace(f'epsilon = {epsilon}\ndelta = "1/8000000"', f"weight = {epsilon}")
    return text


def measure(trips: int) -> City:
    """Everything on a city of so many trips."""
    folder, (first, second) = city(trips), demo_city.WEEKS
    with tempfile.TemporaryDirectory(dir=BUILD) as scratch:
        out = Path(scratch) / "published"
        published = release.release(Plan.parse(plan_text(first), base=folder), out, in_ledger=False)
        tuned = tune(published.path)
        if not isinstance(tuned, Tuned):
            raise AssertionError("the city is published with thresholds")
    text = plan_text(second)
    counted = counter.count(Plan.parse(text, base=folder), memory="1GB", scratch=None, progress=Silent())
    plans = {
        "the preset, `sbh`": text,
        "`gaussian`, the preset’s weights": with_weights(text, "gaussian"),
        f"tuned: `{tuned.mechanism}`": next_plan(text, tuned),
    }
    loss = Plan.parse(text).guarantee.loss
    if any(Plan.parse(each).guarantee.loss != loss for each in plans.values()):
        raise AssertionError("the plans do not promise the same")
    return City(trips, tuned, tuple(measured(name, Plan.parse(each), counted) for name, each in plans.items()))


def measured(name: str, plan: Plan, counted: Counted) -> Measured:
    """One plan on the exact counts."""
    shares = {
        kind: float(np.mean([share(counted, table, plan.guarantee.mechanisms[table]) for table in tables]))
        for kind, tables in KINDS.items()
    }
    one_of_each = {kind: plan.guarantee.mechanisms[tables[0]] for kind, tables in KINDS.items()}
    weights = ":".join(str(_weight(plan, tables[0])) for tables in KINDS.values())
    errors = {kind: mechanism.error_bound(Fraction(1, 20)) for kind, mechanism in one_of_each.items()}
    smallest = {kind: mechanism.smallest_published for kind, mechanism in one_of_each.items()}
    return Measured(name, weights, shares, errors, smallest)


def _weight(plan: Plan, table: str) -> Fraction:
    return plan.tables[table].weight or plan.tables[table].epsilon or Fraction(1)


def share(counted: Counted, table: str, mechanism: Mechanism) -> float:
    """The trips in cells that are published, of all; expected over the noise."""
    sizes, cells = np.unique(exact_counts(counted.tables[table]), return_counts=True)
    chances = np.array([float(mechanism.publish_probability(int(size))) for size in sizes])
    return float(sizes * cells @ chances / (sizes @ cells))


def markdown(cities: list[City]) -> str:
    return "\n\n".join(part for each in cities for part in _city(each)) + "\n"


def _city(measured_city: City) -> Iterator[str]:
    preset, mechanism_alone, tuned = measured_city.plans
    yield f"**{measured_city.trips:,} trips in two weeks**"
    heads = ["plan of week two", "weights", *KINDS, "mean", "95 % within", "least printed"]
    rows = [heads, ["---", "--:", *["--:"] * (len(heads) - 2)], *map(_row, measured_city.plans)]
    yield "\n".join(f"| {' | '.join(row)} |" for row in rows)
    guess = measured_city.tuned
    yield (
        f"Of the gain of {_points(tuned.mean - preset.mean)}, {_points(mechanism_alone.mean - preset.mean)} are due to "
        f"the mechanism and {_points(tuned.mean - mechanism_alone.mean)} to the weights. From the folder of week one "
        f"it was guessed that a mean of {_percent(guess.before)} would become {_percent(guess.after)}."
    )


def _row(one: Measured) -> list[str]:
    shares = [_percent(each) for each in (*one.shares.values(), one.mean)]
    return [one.name, one.weights, *shares, _slashed(one.errors), _slashed(one.smallest)]


def _slashed(by_kind: dict[str, int]) -> str:
    return " / ".join(map(str, by_kind.values()))


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _points(part: float) -> str:
    return f"{100 * part:.1f} points"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--write", action="store_true", help="renew docs/tuning.md")
    options = parser.parse_args()
    cities = []
    for trips in options.trips:
        print(f"{trips:,} trips", file=sys.stderr)
        cities.append(measure(trips))
    text = markdown(cities)
    print(text)
    if options.write:
        put_into(DOCS / "tuning.md", text)


if __name__ == "__main__":
    main()
