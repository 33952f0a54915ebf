"""Tables that tell the same sums are brought to agree, by weighted least squares."""

from __future__ import annotations

import numpy as np

from tapveil.published.estimates.margins import STEP, Measured, Noisy, agreeing, margin, summed
from tapveil.published.estimates.parts import in_parts, in_trips
from tests.unit.published.estimates.city import TABLES, measured, trips, world

AB, A, B = ("tap_on_location", "tap_off_location"), ("tap_on_location",), ("tap_off_location",)


def test_agreement_is_the_least_squares_solution() -> None:
    """Against a solver that knows nothing of margins."""
    random = np.random.default_rng(1)
    tables = {AB: random.normal(10, 3, (3, 4)), A: random.normal(40, 5, 3), B: random.normal(30, 4, 4)}
    variances = {AB: 9.0, A: 25.0, B: 16.0}
    cells = np.eye(12).reshape(12, 3, 4)
    design = {AB: cells.reshape(12, 12), A: cells.sum(axis=2), B: cells.sum(axis=1)}
    rows = np.vstack([design[c].T / np.sqrt(variances[c]) for c in tables])
    aims = np.concatenate([tables[c].ravel() / np.sqrt(variances[c]) for c in tables])
    best = np.linalg.lstsq(rows, aims, rcond=None)[0].reshape(3, 4)
    found = agreeing({c: Noisy(in_parts(tables[c]), variances[c]) for c in tables})
    assert np.abs(in_trips(found[AB].numbers) - best).max() < 1e-4
    assert np.abs(in_trips(found[A].numbers) - best.sum(axis=1)).max() < 1e-4


def test_sums_of_agreeing_tables_are_the_same() -> None:
    tables = agreeing(Measured(world(), measured(trips(), 5.0)).day(3))
    for columns in (A, B, ("tap_on_time",), ()):
        sums = [summed(t.numbers, own, columns)[0] for own, t in tables.items() if set(columns) <= set(own)]
        assert len(sums) > 1
        assert all(np.abs(in_trips(sums[0] - other)).max() < 1e-3 for other in sums)


def test_the_same_table_measured_twice_is_believed_more() -> None:
    twice = [*measured(trips(), 5.0), *measured(trips(), 5.0, seed=9)]
    one, both = (Measured(world(), tables).day(0) for tables in (twice[:3], twice))
    for columns in one:
        assert both[columns].variance == one[columns].variance / 2


def test_the_variance_of_a_margin_is_that_of_its_noise() -> None:
    exact = trips()
    errors = []
    for seed in range(40):
        tables = Measured(world(), measured(exact, 5.0, seed=seed)).day(0)
        found = margin(tables, A)
        errors.append((in_trips(found.numbers) - exact[0].sum(axis=(0, 2))) ** 2 / found.variance)
    assert 0.8 < np.mean(errors) < 1.2


def test_moved_measurements_are_moved_by_the_step() -> None:
    tables = measured(trips(), 5.0)
    still, moved = (Measured(world(), tables, moved).day(2) for moved in (False, True))
    for each in tables:
        far = in_trips(moved[each.of_trips].numbers - still[each.of_trips].numbers) / np.sqrt(each.variance)
        assert np.abs(np.abs(far) - STEP).max() < 1e-5
        assert abs(far.mean()) < STEP / 2


def test_days_of_a_kind_are_summed_with_their_noise() -> None:
    tables = measured(trips(), 5.0)
    found = Measured(world(), tables).kind(0)
    for each in tables:
        assert (in_trips(found[each.of_trips].numbers) == each.noisy[:5].sum(axis=0)).all()
        assert found[each.of_trips].variance == 5 * each.variance
    assert Measured(world(), tables).columns == sorted({each[1:] for each in TABLES})
