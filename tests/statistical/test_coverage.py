"""Thousands of releases of every count from 0 to 1 000: the intervals hold the truth as often as stated.

Published and absent cells alike, for every mechanism, through the veil and the layout of a release. And with power: an
interval that is one too narrow, or an absent cell taken for zero, is found.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy import stats

from tapveil.counting.exact import ExactTable
from tapveil.counting.packing import Packing
from tapveil.plan.model import Plan
from tapveil.privacy.intervals import MISS, interval
from tapveil.published.sheets import laid_out
from tapveil.veil import crossing, statement

RELEASES = int(os.environ.get("TAPVEIL_RELEASES", "2000"))
"""`make test-full` asks for ten thousand."""
HIGHEST = 1_000
BY_CHANCE = 1e-9

PLAN = """\
[release]
name = "counts"
title = "Counts"
partition = []
[source]
path = "trips.csv"
[source.columns]
stop = "stop"
[privacy]
unit = "{unit}"
neighbours = "replace"
mechanism = "{mechanism}"
epsilon = {epsilon}
{delta}
[[table]]
name = "stops"
columns = ["stop"]
{cells}
"""
LABELS = tuple(f"{count:04d}" for count in range(HIGHEST + 1))

Shares = npt.NDArray[np.float64]


def plan_of(mechanism: str, epsilon: str) -> Plan:
    pure = mechanism == "dictionary"
    delta, cells = ("cut = 5", 'cells = "stops.csv"') if pure else ("delta = 1.25e-7", "")
    text = PLAN.format(unit="trip", mechanism=mechanism, epsilon=epsilon, delta=delta, cells=cells)
    return Plan.parse(text, base=Path())


def held(plan: Plan, absent: int | None = None, narrower: int = 0) -> Shares:
    """For each true count, the share of releases in which its interval holds it."""
    occurring = np.arange(1, HIGHEST + 1)  # a cell of nobody does not occur, and only a list has it
    exact = ExactTable("stops", Packing(("stop",), (HIGHEST + 1,)), {"stop": LABELS}, (occurring,), occurring)
    listed = pa.table({"stop": pa.array(LABELS, pa.string())}) if plan.privacy.mechanism == "dictionary" else None
    (table,) = plan.table
    manifest = statement.manifest(plan, date(2025, 1, 1), {})
    (claim,) = manifest.tables
    random_bytes = np.random.default_rng(20251116).bytes
    hits = np.zeros(HIGHEST + 1)
    for _ in range(RELEASES):
        (cells,) = laid_out(manifest, [crossing.draw(exact, plan, table, listed, random_bytes)]).values()
        count = cells.column("stop").cast(pa.int64()).to_numpy()
        low, high = (cells.column(name).to_numpy() for name in ("low", "high"))
        holds = np.arange(HIGHEST + 1) <= (claim.absent_95 if absent is None else absent)
        holds[count] = (low + narrower <= count) & (count <= high - narrower)
        hits += holds
    return hits / RELEASES


def too_rarely(shares: Shares) -> npt.NDArray[np.bool_]:
    """The counts whose interval held so rarely that it cannot be chance, were it right in 95 % of releases."""
    return np.asarray(stats.binom.cdf(shares * RELEASES, RELEASES, 1 - float(MISS)) < BY_CHANCE)


MECHANISMS = [
    *(("sbh", "1"), ("sbh", "2"), ("laplace", "1"), ("laplace", "2"), ("gaussian", "1"), ("gaussian", "2")),
    *(("dictionary", "1"), ("dictionary", "2")),
]


@pytest.mark.parametrize(("mechanism", "epsilon"), MECHANISMS)
def test_intervals_hold_as_often_as_stated(mechanism: str, epsilon: str) -> None:
    shares = held(plan_of(mechanism, epsilon))
    assert not too_rarely(shares).any(), np.flatnonzero(too_rarely(shares))
    assert shares.mean() >= 0.95
    assert shares[0] >= 0.95


@pytest.mark.parametrize(("mechanism", "epsilon"), [("sbh", "1"), ("laplace", "2"), ("gaussian", "1")])
def test_an_absent_cell_taken_for_zero_is_found(mechanism: str, epsilon: str) -> None:
    plan = plan_of(mechanism, epsilon)
    smallest = plan.guarantee.mechanisms["stops"].smallest_published
    wrong = too_rarely(held(plan, absent=0))
    assert wrong[1 : smallest - 2].all()


@pytest.mark.parametrize(("mechanism", "epsilon"), [("sbh", "2"), ("gaussian", "1"), ("dictionary", "1")])
def test_an_interval_that_is_too_narrow_is_found(mechanism: str, epsilon: str) -> None:
    plan = plan_of(mechanism, epsilon)
    half_width = interval(plan.guarantee.mechanisms["stops"], MISS).half_width
    shares = held(plan, narrower=max(1, half_width // 3))[200:]
    hits = shares.sum() * RELEASES  # all counts together, or one step of a narrow noise would not show
    assert stats.binom.cdf(hits, len(shares) * RELEASES, 1 - float(MISS)) < BY_CHANCE
