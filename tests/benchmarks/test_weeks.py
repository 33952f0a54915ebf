"""Why weeks are drawn independently: no other noise is better for a unit that is in every week."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from benchmarks.weeks import (
    CELLS,
    HALF_SHARED,
    PAGE,
    QUERIES,
    STRATEGIES,
    TOTAL,
    WEEKS,
    Matrix,
    changes,
    deviation,
    factorisations,
    fitting,
    independent,
    largest,
    least,
    least_of_sums,
    length,
    plan,
    shared,
)

from benchmarks import weeks as weeks_module
from tapveil.internal.schedule import weeks_that_fit

SUMS = ["a week", "a quarter", "the year"]


@pytest.mark.parametrize("queries", SUMS)
def test_independent_weeks_reach_what_no_noise_can_be_below_in_many_cells(queries: str) -> None:
    found = deviation(independent(WEEKS), QUERIES[queries], WEEKS)
    assert found == pytest.approx(least(queries, WEEKS))
    for strategy in (*STRATEGIES.values(), HALF_SHARED):
        assert deviation(strategy, QUERIES[queries], WEEKS) >= least(queries, WEEKS) * (1 - 1e-9)


@pytest.mark.parametrize("queries", SUMS)
@pytest.mark.parametrize("cells", CELLS)
def test_with_fewer_cells_no_noise_is_below_what_the_page_says(queries: str, cells: int) -> None:
    for strategy in (*STRATEGIES.values(), *(shared(WEEKS, share) for share in (0.1, 0.5, 0.88, 0.99))):
        assert deviation(strategy, QUERIES[queries], cells) >= least(queries, cells) * (1 - 1e-6)


def test_in_a_single_cell_a_shared_part_is_better_for_all_but_the_year() -> None:
    week, quarter, year = (deviation(HALF_SHARED, QUERIES[queries]) for queries in SUMS)
    assert week == pytest.approx(np.sqrt(53 / 2))
    assert quarter < 0.8 * least("a quarter", WEEKS)
    assert year == pytest.approx(WEEKS)


@pytest.mark.parametrize("cells", [2, 4, 13, 26, 52])
def test_the_best_noise_for_few_cells_has_the_formula_of_the_page(cells: int) -> None:
    formula = (1 + np.sqrt((WEEKS - 1) * (cells - 1))) ** 2 / (cells * WEEKS)
    assert least_of_sums(WEEKS, 1, cells) ** 2 == pytest.approx(WEEKS * formula)
    assert formula >= 1 - 1 / cells


def test_for_running_sums_independent_weeks_are_within_a_quarter_of_the_best() -> None:
    sums = QUERIES["all running sums"]
    assert deviation(independent(WEEKS), sums) < 1.25 * least("all running sums", 1)


def test_for_a_unit_of_one_week_correlated_noise_is_better() -> None:
    sums = QUERIES["all running sums"]
    own, root = (deviation(STRATEGIES[name], sums, None) for name in ("independent weeks", "square root"))
    assert root < own / 2


@pytest.mark.parametrize(
    ("mechanism", "parts", "weeks"), [("gaussian", 52, 51), ("gaussian", 104, 58), ("world", 104, 61)]
)
def test_how_delta_is_divided_decides_how_many_weeks_fit(mechanism: str, parts: int, weeks: int) -> None:
    """As the page says: what thresholds use up of δ is not left for the sum of the losses."""
    made = partial(plan, mechanism, parts=parts)
    assert list(weeks_that_fit(made, [Fraction(1)], TOTAL, 100)) == [(Fraction(1), weeks)]


def random_strategies(weeks: int) -> Iterator[Matrix]:
    """Correlations of both signs, and noise with a part in common."""
    random = np.random.default_rng(1)
    for number in range(60):
        some = random.normal(0, 0.3, (weeks, weeks)) * random.integers(0, 2, (weeks, weeks))
        yield (shared(weeks, random.random()) if number % 2 else independent(weeks)) + some * random.random()


@pytest.mark.parametrize(("weeks", "cells"), [(6, 1), (6, 2), (6, 3), (5, 5), (4, 6)])
def test_no_random_noise_is_better_whichever_weeks_and_cells_a_card_is_in(weeks: int, cells: int) -> None:
    alone, better = least_of_sums(weeks, 1, weeks), 0
    for strategy in random_strategies(weeks):
        found = deviation(strategy, np.eye(weeks), cells)
        assert found >= least_of_sums(weeks, 1, cells) * (1 - 1e-6)
        better += found < alone
    assert bool(better) == (cells < weeks)  # what holds in many cells does not hold in few


@pytest.mark.parametrize(("together", "cells"), [(2, 1), (2, 3), (3, 1), (3, 2), (6, 1)])
def test_sums_of_weeks_have_no_better_noise_either(together: int, cells: int) -> None:
    sums = np.kron(np.eye(6 // together), np.ones((1, together)))
    for strategy in random_strategies(6):
        assert deviation(strategy, sums, cells) >= least_of_sums(6, together, cells) * (1 - 1e-6)


@pytest.mark.parametrize(("weeks", "cells"), [(6, 1), (4, 2), (3, 3)])
def test_where_two_cards_are_exchanged_independent_weeks_are_the_best_in_every_table(weeks: int, cells: int) -> None:
    """A card that is replaced changes two cells in a week, up and down: here, both at once."""
    one = changes(weeks, cells)
    both = (one[:, None] - one[None, :]).reshape(-1, weeks, cells)
    changed = min(2, cells)
    own = largest(independent(weeks), both)
    assert own == pytest.approx(np.sqrt(changed * weeks))
    for strategy in random_strategies(weeks):
        noise = np.sqrt(np.trace(np.linalg.inv(strategy.T @ strategy)) / weeks)
        assert largest(strategy, both) * noise >= own * (1 - 1e-9)


@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("cells", [1, 2, 4, 7])
def test_the_largest_change_of_shared_noise_is_that_of_all_ways_to_travel(share: float, cells: int) -> None:
    of_all = largest(shared(5, share), changes(5, cells))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(weeks_module, "FEW", 0)
        assert length(shared(5, share), cells) == pytest.approx(of_all)
        assert length(independent(5), cells) == pytest.approx(np.sqrt(5))


def test_the_page_has_the_tables_of_the_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for lines in (fitting(), factorisations()):
        assert "\n".join(lines) in text
