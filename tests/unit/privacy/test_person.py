"""A person: what releases mean for all trips of somebody, of one release and of a year."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from tapveil.privacy import accountant
from tapveil.privacy.accountant import Change, Exposure
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.group import moved
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Mechanism, World
from tapveil.privacy.person import Person, Releases, people, people_of_a_year, verdict
from tapveil.privacy.units import Neighbours, Unit

DELTA = Fraction(1, 10**6)


def weekly(unit: Unit, *mechanisms: Mechanism, most: int = 1, days: int = 7, dated: bool = False) -> Releases:
    return Releases(unit, tuple((each, dated) for each in mechanisms), most, days)


def epsilon(releases: Releases, trips: int, neighbours: Neighbours = "add-remove", **more: bool) -> float:
    found = Person(trips, (releases,), DELTA, **more).epsilon(neighbours)
    assert found is not None
    return float(found)


@pytest.mark.parametrize(("days", "number"), [(1, 365), (7, 52), (14, 26), (30, 12), (31, 12), (365, 1), (800, 1)])
def test_a_year_has_as_many_releases_as_fit_into_365_days(days: int, number: int) -> None:
    assert weekly("card", World(Fraction(9)), days=days).in_a_year().number == number


def test_a_card_at_its_bound_has_about_the_promise_itself() -> None:
    tables = calibrate("world", (Fraction(1), Fraction(1)), Fraction(1), DELTA, Exposure("add-remove", 14))
    assert epsilon(weekly("card", *tables, most=14), 20) == pytest.approx(1, rel=0.02)


def test_a_person_with_fewer_trips_than_the_bound_loses_less() -> None:
    card = weekly("card", World(Fraction(9)), most=14)
    losses = [epsilon(card, trips) for trips in (2, 5, 10, 14, 20)]
    assert all(a < b for a, b in pairwise(losses[:-1]))
    assert losses[-1] == losses[-2]


def test_a_year_is_accounted_for_as_all_its_changed_cells() -> None:
    table = World(Fraction(60))
    year = weekly("card", table, table, most=14).in_a_year()
    cells = {table.cells: 52 * 14 * 2}
    for neighbours, change in (("add-remove", Change(cells, {})), ("replace", Change(cells, cells))):
        exact = accountant.epsilon_upper_bound([change], float(DELTA), 1e-6)
        assert exact <= epsilon(year, 20, neighbours) * (1 + 1e-6)  # type: ignore[arg-type]
        assert epsilon(year, 20, neighbours) <= exact * 1.01  # type: ignore[arg-type]


def test_a_commuters_year_of_trips_is_about_what_the_accountant_says_for_520_trips() -> None:
    tables = [Gaussian(Fraction("3.255"), 20)] * 4 + [Gaussian(Fraction("1.6275"), 10)] * 2
    assert 370 < epsilon(weekly("trip", *tables).in_a_year(), 10, apart=True) < 390


def test_trips_of_one_cell_lose_more_than_trips_of_several() -> None:
    released = weekly("trip", World(Fraction(20)))
    assert epsilon(released, 10) > 2 * epsilon(released, 10, apart=True)
    exact = accountant.epsilon_upper_bound([Change({World(Fraction(2)).cells: 1}, {})], float(DELTA), 1e-6)
    assert epsilon(released, 10) == pytest.approx(exact, rel=0.02)  # ten counts at σ = 20 are one at σ = 2


def test_a_days_card_counts_once_in_a_cell_of_its_day_and_on_every_day_in_one_without() -> None:
    dated, undated = (weekly("card-day", World(Fraction(20)), most=2, dated=dated) for dated in (True, False))
    assert epsilon(dated, 5) == epsilon(undated, 5, apart=True) < epsilon(undated, 5)


def test_days_of_a_card_can_fill_a_cell_only_as_often_as_there_are_trips() -> None:
    released = weekly("card-day", World(Fraction(20)), most=2)
    exact = accountant.epsilon_upper_bound([Change({World(Fraction(4)).cells: 1}, {})], float(DELTA), 1e-6)
    assert epsilon(released, 5) == pytest.approx(exact, rel=0.02)  # five days in one cell, and no other
    assert Person(20, (released,), DELTA).releases[0].counted(20) == 14


def test_the_trips_of_a_week_may_all_be_in_one_of_its_daily_releases() -> None:
    table = World(Fraction(20))
    daily, once_a_week = weekly("trip", table, days=1).in_a_year(), replace(weekly("trip", table), number=53)
    assert epsilon(daily, 5) == epsilon(once_a_week, 5)
    assert Person(5, (daily,), DELTA).trips == 53 * 5


def test_the_same_trip_every_week_alone_in_a_cell_near_the_threshold_has_no_promise() -> None:
    person = Person(20, (weekly("trip", Gaussian(Fraction(2), 12)),), DELTA)
    assert person.delta > Fraction(1, 2)
    assert person.epsilon("add-remove") is None
    assert verdict(person.meaning) == "none"


def test_pure_noise_adds_up_and_needs_no_delta() -> None:
    released = weekly("trip", Dictionary(Fraction(1, 4)), Dictionary(Fraction(1, 2)))
    person = Person(10, (released.in_a_year(),), Fraction(0))
    assert (person.epsilon("add-remove"), person.epsilon("replace")) == (390, 780)
    assert person.delta == 0


def test_the_same_releases_in_two_lists_or_in_one_are_the_same() -> None:
    week = weekly("card", World(Fraction(30)), most=14)
    apart = Person(10, (replace(week, number=20), replace(week, number=32)), DELTA).epsilon("replace")
    assert apart == Person(10, (week.in_a_year(),), DELTA).epsilon("replace")


def test_what_is_shown_is_never_less_than_what_is_found() -> None:
    for person in people([weekly("card", World(Fraction(30)), most=14).in_a_year()], DELTA):
        shown, found = person.shown_epsilon(), person.epsilon("add-remove")
        assert (found or 0) < (shown or 0) < (found or 0) * Fraction(102, 100)


def test_one_release_and_a_year_are_stated() -> None:
    stated = people_of_a_year(weekly("card", World(Fraction(30)), most=14), DELTA)
    assert [person.releases[0].number for person in stated] == [1] * 4 + [52] * 4


def test_several_trips_in_a_cell_cost_at_least_as_much_for_a_person_with_fewer_trips() -> None:
    once, often = (weekly("card", World(Fraction(30), c, 14), most=14) for c in (1, 7))
    assert epsilon(often, 20) > epsilon(once, 20)
    seven = accountant.epsilon_upper_bound([Change({moved(World(Fraction(30)), 7): 1}, {})], float(DELTA), 1e-6)
    assert epsilon(often, 7) >= 0.99 * seven


def test_the_verdict_gets_worse_with_the_loss() -> None:
    scales = (60, 20, 9, 3)
    found = [verdict(Person(10, (weekly("card", World(Fraction(scale)), most=10),), DELTA).meaning) for scale in scales]
    assert found == ["strong", "strong", "moderate", "weak"]


def test_days_whose_cells_hold_several_trips_of_a_card_add_up_where_a_cell_is_of_all_days() -> None:
    """A table without the date: a cell moves by 7 days of 2 trips each, as far as there are trips."""
    table = World(Fraction(60), per_cell=2, trips=4)
    card_day = weekly("card-day", table, most=4)
    exact = accountant.epsilon_upper_bound([Change({moved(table, 14): 1}, {})], float(DELTA), 1e-6)
    assert epsilon(card_day, 14) >= exact * (1 - 1e-6)
    assert epsilon(weekly("card-day", table, most=4, dated=True), 14) < epsilon(card_day, 14)


def test_a_card_whose_cells_hold_several_trips_has_a_year_too() -> None:
    """Any way to spread two trips over cells costs no more than stated, and a year of them has an epsilon."""
    table = World(Fraction(40), per_cell=2, trips=4)
    card = weekly("card", table, most=4)
    for cells in ({moved(table, 1): 2}, {moved(table, 2): 1}):
        exact = accountant.epsilon_upper_bound([Change(cells, {})], float(DELTA), 1e-6)
        assert epsilon(card, 2) >= exact * (1 - 1e-4)
    assert epsilon(card.in_a_year(), 20) < 40
