"""How many weeks fit into a budget, and why weeks are drawn independently.

    python -m benchmarks.weeks [--write]

Writes the two tables of docs/privacy/weeks.md. The first is what the ledger would say to that many releases; the second
holds independent noise against correlated noise, for a card that travels every week.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tapveil.internal.schedule import weeks_that_fit
from tapveil.plan.model import Plan
from tapveil.privacy.loss import Loss

PAGE = Path(__file__).parent.parent / "docs" / "privacy" / "weeks.md"
WEEKS = 52
TOTAL = Loss(Fraction(8), Fraction(1, 10**6))
EPSILONS = tuple(map(Fraction, (8, 4, 2, 1)))
MOST = 200
CELLS = (1, 2, 10, WEEKS)
"""Of a table, in one of which a card is each week; with as many cells as weeks, more change nothing."""
PLAN = """
[release]
name = "weekly"
title = "Weekly"
partition = []
[source]
path = "trips.csv"
first_day = 2025-03-03
last_day = 2025-03-09
[source.columns]
date = "day"
card = "card"
tap_on_time = "time"
tap_on_location = "stop"
tap_off_location = "off"
[privacy]
unit = "card"
neighbours = "add-remove"
mechanism = "{mechanism}"
epsilon = {epsilon}
delta = "{delta}"
trips_per_card = 14
without_card = "refuse"
[[table]]
name = "origins"
columns = ["tap_on_time", "tap_on_location"]
[[table]]
name = "destinations"
columns = ["tap_off_location"]
[[table]]
name = "pairs"
columns = ["tap_on_location", "tap_off_location"]
"""

Matrix = npt.NDArray[np.floating]


def plan(mechanism: str, epsilon: Fraction, parts: int = 2 * WEEKS) -> Plan:
    """Three tables of cards with up to 14 trips a week; δ of a week is an equal part of half of the total, or more."""
    name = "gaussian" if mechanism == "world" else mechanism
    made = Plan.parse(PLAN.format(mechanism=name, epsilon=epsilon, delta=TOTAL.delta / parts))
    # Which lists a known world has does not matter for its noise.
    return made.model_copy(update={"privacy": made.privacy.model_copy(update={"mechanism": mechanism})})


def fitting() -> Iterator[str]:
    """The table of weeks that fit."""
    thresholds, every = (
        "weeks with `gaussian` (thresholds) | σ, smallest published",
        "weeks with `world` (every cell) | σ",
    )
    yield f"| ε of a week | {thresholds} | {every} |"
    yield "|---|---|---|---|---|"
    for epsilon in EPSILONS:
        cells = [f"{epsilon}"]
        for mechanism in ("gaussian", "world"):
            [(_, number)] = weeks_that_fit(partial(plan, mechanism), [epsilon], TOTAL, MOST)
            table = plan(mechanism, epsilon).guarantee.mechanisms["pairs"]
            noise = f"{float(table.scale):.1f}"
            cells += [str(number), noise if mechanism == "world" else f"{noise}, {table.smallest_published}"]
        yield f"| {' | '.join(cells)} |"


# --- correlated noise -----------------------------------------------------------------------------------------------


def independent(weeks: int) -> Matrix:
    """Each week by itself."""
    return np.eye(weeks)


def tree(weeks: int) -> Matrix:
    """A binary tree: every node has noise (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011)."""
    rows, size = [], 1
    while size < 2 * weeks:
        for start in range(0, weeks, size):
            row = np.zeros(weeks)
            row[start : start + size] = 1
            rows.append(row)
        size *= 2
    return np.array(rows)


def square_root(weeks: int, band: int | None = None) -> Matrix:
    """The square root of the matrix of all running sums (Henzinger, Upadhyay and Upadhyay 2023), or a band of it."""
    entries = np.cumprod([1.0, *((2 * k - 1) / (2 * k) for k in range(1, weeks))])
    entries[band or weeks :] = 0
    return np.array([[entries[i - j] if i >= j else 0.0 for j in range(weeks)] for i in range(weeks)])


def shared(weeks: int, share: float) -> Matrix:
    """Noise of which all weeks have a part in common: its precision matrix is I - share · J / weeks."""
    return np.asarray(np.eye(weeks) - (1 - np.sqrt(1 - share)) / weeks)


STRATEGIES = {
    "independent weeks": independent(WEEKS),
    "binary tree": tree(WEEKS),
    "square root": square_root(WEEKS),
    "square root, band of 4 weeks": square_root(WEEKS, 4),
    "square root, band of 13 weeks": square_root(WEEKS, 13),
}
HALF_SHARED = shared(WEEKS, 1 / 2)
FEW = 6
"""Up to so many weeks, every way in which a card can travel is tried."""


def changes(weeks: int, cells: int) -> Matrix:
    """Every way in which a card is each week in one of these cells, or in none: by way, week and cell."""
    ways = np.array(list(product(range(cells + 1), repeat=weeks)))
    return np.asarray(np.eye(cells + 1)[ways][:, :, :cells])


def largest(strategy: Matrix, made: Matrix) -> float:
    """The largest μ of some changes, if the noise on the rows of a strategy has a deviation of 1."""
    return float(np.sqrt(((strategy @ made) ** 2).sum(axis=(1, 2)).max()))


def length(strategy: Matrix, cells: int) -> float:
    """The largest μ of a card that is each week in one of these cells, or in none, whichever weeks those are."""
    weeks = strategy.shape[1]
    if weeks <= FEW:
        return largest(strategy, changes(weeks, cells))
    gram = strategy.T @ strategy
    if (gram >= 0).all():  # most if it is every week in the same cell
        return float(np.sqrt(gram.sum()))
    one, other = gram[0, 0], gram[0, 1]
    if not np.allclose(gram, other + (one - other) * np.eye(weeks)):
        raise ValueError("too many weeks to try every way")
    # All weeks are alike and `other` is negative: most if it is in all cells about equally often.
    travelled = np.arange(weeks + 1)
    return float(np.sqrt(((one - other) * travelled + other * evenly(travelled, cells)).max()))


def evenly(weeks: npt.NDArray[np.integer], cells: int) -> npt.NDArray[np.integer]:
    """The least sum of squares of the weeks in each cell."""
    each, more = np.divmod(weeks, cells)
    return np.asarray((cells - more) * each**2 + more * (each + 1) ** 2)


def deviation(strategy: Matrix, queries: Matrix, cells: int | None = 1) -> float:
    """The root of the mean variance of the queries at μ = 1; without `cells`, for a unit that is in one week only."""
    most = length(strategy, cells) if cells else np.linalg.norm(strategy, axis=0).max()
    answers = queries @ np.linalg.pinv(strategy)
    return float(most * np.sqrt((answers**2).sum(axis=1).mean()))


QUERIES = {
    "a week": np.eye(WEEKS),
    "a quarter": np.kron(np.eye(4), np.ones((1, WEEKS // 4))),
    "the year": np.ones((1, WEEKS)),
    "all running sums": np.tril(np.ones((WEEKS, WEEKS))),
}


def least_of_sums(weeks: int, together: int, cells: int) -> float:
    """What no noise can be below for sums over `together` weeks, if a card is each week in one of these cells.

    The page proves it: the best noise has a part that all sums share, and how large it is depends on the cells.
    """
    sums = weeks // together
    share = np.linspace(0, 1, 20_000, endpoint=False)[:, None]
    travelled = np.arange(sums + 1)
    most = (travelled - share / sums * evenly(travelled, cells)).max(axis=1)
    variance = (sums - 1 + 1 / (1 - share[:, 0])) / sums
    return together * float(np.sqrt((most * variance).min()))


def least(queries: str, cells: int) -> float:
    """The same for the queries of the page; for running sums, whatever the cells are."""
    lengths = {"a week": 1, "a quarter": WEEKS // 4, "the year": WEEKS}
    if queries in lengths:
        return least_of_sums(WEEKS, lengths[queries], cells)
    return float(np.sqrt(np.mean(np.arange(1, WEEKS + 1) ** 2)))


def factorisations() -> Iterator[str]:
    """The table of strategies."""
    yield f"| noise | cells | {' | '.join(QUERIES)} | all running sums, unit in one week |"
    yield f"|---|--:|{'--:|' * (len(QUERIES) + 1)}"
    rows = [(name, strategy, "any", 1) for name, strategy in STRATEGIES.items()]
    rows += [("a half shared", HALF_SHARED, str(cells), cells) for cells in CELLS]
    for name, strategy, number, cells in rows:
        each = [deviation(strategy, queries, cells) for queries in QUERIES.values()]
        once = deviation(strategy, QUERIES["all running sums"], None)
        yield f"| {name} | {number} | {' | '.join(f'{value:.1f}' for value in (*each, once))} |"
    for cells in CELLS:
        bounds = " | ".join(f"{least(queries, cells):.1f}" for queries in QUERIES)
        yield f"| *no noise can be below* | {cells} | {bounds} | |"


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    tables = {"weeks that fit": list(fitting()), "strategies": list(factorisations())}
    if not parser.parse_args().write:
        print("\n\n".join("\n".join(lines) for lines in tables.values()))
        return
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in tables.items():
        marker = f"<!-- {name} -->\n"
        found = re.search(rf"{marker}(\|.*\n)*", text)
        if found:
            text = text.replace(found[0], marker + "".join(f"{line}\n" for line in lines))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
