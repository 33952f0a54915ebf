"""How many cells per second of one core each mechanism draws, next to OpenDP's samplers of the same noise.

Time is what the process used on the processor, in one thread, with the kernel's share for random bytes. All samplers
run in turn, several times, and the median counts. OpenDP's column needs `pip install opendp`; its samplers compute
each draw with exact arithmetic, ours look it up in an integer table that was made once.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tapveil.plan.model import Plan
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.mechanisms import Dictionary, Mechanism

GOAL = 5_000_000
WEIGHTS = tuple(Fraction(weight) for weight in (1, 1, 1, 1, 2, 2))
DELTA = Fraction("7.5e-7")
TRIP = Exposure("replace", 1)
CARD = Exposure("add-remove", 28)


def mechanisms() -> list[tuple[str, Mechanism]]:
    """A narrow and a wide one of each: any one trip at a total of 8, and a whole card of 28 trips at ½."""
    opal = Plan.preset("opal").guarantee.mechanisms
    chosen: list[tuple[str, Mechanism]] = [(f"opal, {name}", opal[name]) for name in ("on_time", "on_time_location")]
    chosen += [("card, ½", calibrate("sbh", WEIGHTS, Fraction(1, 2), DELTA, CARD)[0])]
    for name in ("laplace", "gaussian"):
        chosen += [("trip, 8", calibrate(name, WEIGHTS, Fraction(8), DELTA, TRIP)[-1])]
        chosen += [("card, ½", calibrate(name, WEIGHTS, Fraction(1, 2), DELTA, CARD)[0])]
    chosen += [("trip, 8", Dictionary(Fraction(1)))]
    chosen += [("card, ½", Dictionary(Fraction(1, 448)))]
    return chosen


def theirs(mechanism: Mechanism) -> Callable[[Any], Any] | None:
    """OpenDP's sampler of the same noise on whole numbers, or None if it is not installed."""
    try:
        dp = importlib.import_module("opendp.prelude")
    except ImportError:
        return None
    dp.enable_features("contrib")
    gaussian = mechanism.name == "gaussian"
    make, metric = (dp.m.make_gaussian, dp.l2_distance) if gaussian else (dp.m.make_laplace, dp.l1_distance)
    domain = dp.vector_domain(dp.atom_domain(T=int))
    sampler: Callable[[Any], Any] = make(domain, metric(T=int), float(mechanism.scale))
    return sampler


def bare(mechanism: Mechanism, size: int) -> None:
    """What numpy alone would do: random words, and a search in the table's edges."""
    words = np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
    np.searchsorted(mechanism.noise._upper_edges, words, side="right")


def seconds(work: Callable[[], object]) -> float:
    """What the process used for it."""
    started = time.process_time()
    work()
    return time.process_time() - started


@dataclass(frozen=True)
class Speed:
    """Cells per second of one core."""

    ours: float
    bare: float
    theirs: float | None


def speed(mechanism: Mechanism, cells: int, their_cells: int, repeat: int) -> Speed:
    """The median of several runs, in turn."""
    counts = np.random.default_rng(1).geometric(0.05, cells)
    few = counts[:their_cells].astype(np.int32)
    sampler = theirs(mechanism)
    mechanism.draw(counts[:1000], os.urandom)  # the table is made once, not for every draw
    mine, floor, other = [], [], []
    for _ in range(repeat):
        mine.append(cells / seconds(lambda: mechanism.draw(counts, os.urandom)))
        floor.append(cells / seconds(lambda: bare(mechanism, cells)))
        if sampler:
            other.append(their_cells / seconds(lambda: sampler(few)))
    return Speed(statistics.median(mine), statistics.median(floor), statistics.median(other) if other else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=5_000_000)
    parser.add_argument("--opendp-cells", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    print(f"Million cells per second of one core; {options.cells:,} cells ({options.opendp_cells:,} for OpenDP),")
    print(f"median of {options.repeat} runs in turn")
    print("| mechanism | budget | scale | tapveil | OpenDP | ratio | numpy searchsorted |")
    print("|---|---|--:|--:|--:|--:|--:|")
    slowest = float("inf")
    for budget, mechanism in mechanisms():
        found = speed(mechanism, options.cells, options.opendp_cells, options.repeat)
        slowest = min(slowest, found.ours)
        other = f"{found.theirs / 1e6:.3f} | {found.ours / found.theirs:.0f}" if found.theirs else "not installed | –"
        figures = f"{float(mechanism.scale):.4g} | {found.ours / 1e6:.1f} | {other} | {found.bare / 1e6:.1f}"
        print(f"| {mechanism.name} | {budget} | {figures} |", flush=True)
    print(f"The slowest draws {slowest / 1e6:.1f} million cells per second of one core", end=" ")
    print(f"(at least {GOAL / 1e6:g}: {'met' if slowest >= GOAL else 'not met'})")


if __name__ == "__main__":
    main()
