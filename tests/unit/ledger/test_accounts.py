"""What several releases cost together: days and modes apart, in common, and in units of another size."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapveil.ledger.accounts import Account, accounts
from tapveil.ledger.entry import Budget, Entry, Spend, SpentTable, Start
from tapveil.ledger.refusals import Code, Refusal, of_release
from tapveil.privacy import accountant
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.mechanisms import stated
from tapveil.privacy.units import Neighbours, Unit
from tests.conftest import TODAY

DELTA = Fraction(1, 10**6)
MONDAY = date(2016, 8, 8)


def day(number: int) -> date:
    return MONDAY + timedelta(days=number)


def spend(
    days: tuple[int, int] | None = None,
    modes: tuple[str, ...] | None = None,
    scale: int = 2,
    unit: Unit = "trip",
    cells: int = 1,
    number: int = 0,
    days_by: str = "column day",
) -> Spend:
    table = SpentTable(name="t", mechanism="laplace", scale=Fraction(scale), threshold=Fraction(20 * scale))
    return Spend(
        on=TODAY,
        id=f"{number:032x}",
        data_set="trips",
        release="r",
        plan_sha256="0" * 64,
        unit=unit,
        neighbours="replace",
        cells=cells,
        tables=(table,),
        first_day=day(days[0]) if days else None,
        last_day=day(days[1]) if days else None,
        days_by=days_by if days or unit == "card-day" else None,
        modes=modes,
        modes_by="column mode" if modes else None,
        cards_by=None if unit == "trip" else "column card",
    )


def budget(unit: Unit = "trip", neighbours: Neighbours = "replace", epsilon: int = 8) -> Budget:
    return Budget(on=TODAY, data_set="trips", unit=unit, neighbours=neighbours, epsilon=Fraction(epsilon), delta=DELTA)


START = Start(on=TODAY, ledger="0" * 32)


def refused(*entries: Entry) -> Refusal | None:
    """Why the last release is refused, if it is."""
    *before, last = entries
    assert isinstance(last, Spend)
    return of_release([START, *before], last, again=True)


def code(*entries: Entry) -> Code | None:
    found = refused(*entries)
    return found.code if found else None


def spent(*spends: Spend, unit: Unit = "trip", neighbours: Neighbours = "replace") -> float:
    epsilon = Account(budget(unit, neighbours), spends).epsilon
    assert epsilon is not None
    return float(epsilon)


def alone(*scales: int, cells: int = 1, neighbours: Neighbours = "replace") -> float:
    """One release with these tables, by the accountant."""
    tables = [stated("laplace", Fraction(scale), Fraction(20 * scale)).cells for scale in scales]
    return accountant.epsilon(tables, float(DELTA), Exposure(neighbours, cells), precision=1e-6)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_other_days_cost_the_larger_for_trips_and_the_composition_for_cards(neighbours: Neighbours) -> None:
    weeks = spend((0, 6), scale=2), spend((7, 13), scale=4)
    assert spent(*weeks, neighbours=neighbours) == pytest.approx(alone(2, neighbours=neighbours), rel=1e-4)
    cards = tuple(each.model_copy(update={"unit": "card", "cells": 3, "cards_by": "column card"}) for each in weeks)
    together = alone(2, 4, cells=3, neighbours=neighbours)
    assert spent(*cards, unit="card", neighbours=neighbours) == pytest.approx(together, rel=1e-4)
    assert together > alone(2, cells=3, neighbours=neighbours) + 0.1


def test_releases_that_have_a_day_in_common_compose() -> None:
    both = spent(spend((0, 7)), spend((7, 13)))
    assert both == pytest.approx(alone(2, 2), rel=1e-4)
    assert spent(spend((0, 6)), spend(None)) == pytest.approx(both, rel=1e-4), "no limit is all days"


def test_other_modes_of_the_same_day_add_up_for_card_days_only() -> None:
    modes = spend((0, 6), ("bus",)), spend((0, 6), ("ferry", "train"))
    assert spent(*modes) == pytest.approx(alone(2), rel=1e-4)
    assert spent(*modes, spend((3, 3), ("bus", "tram"))) == pytest.approx(alone(2, 2), rel=1e-4)
    days = tuple(each.model_copy(update={"unit": "card-day", "cards_by": "column card"}) for each in modes)
    assert spent(*days, unit="card-day") == pytest.approx(alone(2, 2), rel=1e-4)


def test_a_trip_may_be_exchanged_for_one_of_another_day() -> None:
    """It leaves a cell here and enters one there: at unequal weeks that is neither week's own cost."""
    weeks = Account(budget(), (spend((0, 6), scale=2), spend((7, 13), scale=5)))
    changes = {(tuple(c.left.items()), tuple(c.entered.items())) for c in weeks._changes}
    assert len(changes) == 4
    left, entered = ({stated("laplace", Fraction(s), Fraction(20 * s)).cells: 1} for s in (2, 5))
    across = accountant.Change(left, entered)
    between = accountant.epsilon_upper_bound([across], float(DELTA), 1e-6)
    assert alone(5) < between < alone(2)


def test_days_that_are_read_in_another_way_are_all_days() -> None:
    """A trip that starts on Monday and ends on Tuesday is one trip."""
    starts, ends = spend((0, 0), days_by="column start"), spend((1, 1), days_by="column end")
    assert spent(starts, ends) == pytest.approx(alone(2, 2), rel=1e-4)
    assert spent(starts, spend((1, 1), days_by="column start")) == pytest.approx(alone(2), rel=1e-4)
    fixed = [spend(modes=(mode,)).model_copy(update={"modes_by": f"column {mode}"}) for mode in ("bus", "train")]
    assert spent(*fixed) == pytest.approx(alone(2, 2), rel=1e-4)


def test_cards_and_their_days_must_be_the_same_in_all_releases() -> None:
    """A card by its number and by its chip are two: one of these may be many of those."""
    number, chip = (spend(unit="card").model_copy(update={"cards_by": f"column {name}"}) for name in ("no", "chip"))
    one, other = spend(unit="card-day", days_by="column start"), spend(unit="card-day", days_by="column end")
    cases: dict[Unit, tuple[Spend, ...]] = {"card": (number, chip), "card-day": (one, other)}
    for unit, spends in cases.items():
        account = Account(budget(unit, epsilon=1000), spends)
        assert account.epsilon is None
        assert code(account.budget, *spends) is Code.OTHER_UNITS
    assert Account(budget("card", epsilon=1000), (number, number)).epsilon is not None


def test_what_protects_cards_protects_trips_and_not_the_other_way() -> None:
    cards = spend((0, 6), unit="card", cells=3)
    # the trips of a card that are kept may be exchanged: that is a replacement, whatever the budget is about
    assert spent(cards, neighbours="add-remove") == pytest.approx(alone(2, cells=3), rel=1e-4)
    # a trip exchanged for one of another card changes what is kept of both
    assert spent(cards) == pytest.approx(alone(2, cells=6), rel=1e-4)
    for unit in ("card-day", "card"):
        assert code(budget(unit, epsilon=1000), spend()) is Code.SMALLER_UNIT


def test_every_budget_of_the_data_set_must_hold() -> None:
    assert code(spend()) is Code.NO_BUDGET
    assert code(budget("trip"), spend(unit="card")) is Code.NO_BUDGET
    both = budget("trip", epsilon=100), budget("card", epsilon=1)
    assert code(*both, spend(unit="card", cells=5)) is Code.TOO_MUCH
    other = both[1].model_copy(update={"data_set": "others"})
    assert refused(both[0], other, spend()) is None


def test_a_later_budget_takes_the_place_of_an_earlier() -> None:
    [account] = accounts([budget(epsilon=1), budget(epsilon=3), spend()])
    assert account.budget.epsilon == 3


COVERAGE = st.tuples(
    st.none() | st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda pair: (min(pair), max(pair))),
    st.none() | st.sets(st.sampled_from(["bus", "ferry", "train"]), min_size=1).map(lambda names: tuple(sorted(names))),
    st.sampled_from([2, 3]),
)


@settings(max_examples=60)
@given(st.lists(COVERAGE, min_size=1, max_size=4), st.sampled_from(["replace", "add-remove"]))
def test_places_are_found_as_by_looking_at_every_day_and_mode(
    covered: list[tuple[tuple[int, int] | None, tuple[str, ...] | None, int]], neighbours: Neighbours
) -> None:
    spends = tuple(spend(days, modes, scale, number=n) for n, (days, modes, scale) in enumerate(covered))

    def noise(number: int, mode: str) -> tuple[int, ...]:
        return tuple(
            scale
            for days, modes, scale in covered
            if (days is None or days[0] <= number <= days[1]) and (modes is None or mode in modes)
        )

    places = {tuple(sorted(noise(*place))) for place in product(range(-1, 6), ["bus", "ferry", "train", "tram"])}
    table = {scale: stated("laplace", Fraction(scale), Fraction(20 * scale)).cells for scale in (2, 3)}

    def side(scales: tuple[int, ...]) -> dict[accountant.ChangedCells, int]:
        return {table[scale]: scales.count(scale) for scale in set(scales)}

    if neighbours == "replace":
        changes = [accountant.Change(side(one), side(two)) for one in places for two in places]
    else:
        changes = [
            change for p in places for change in (accountant.Change(side(p), {}), accountant.Change({}, side(p)))
        ]
    expected = accountant.epsilon_upper_bound([c for c in changes if c.left or c.entered], float(DELTA), 1e-6)
    assert spent(*spends, neighbours=neighbours) == pytest.approx(expected, rel=1e-4)
    account = Account(budget("trip", neighbours), spends)
    worst = max(place.epsilon or 0 for place in account.places)
    assert worst <= (account.epsilon or 0) * Fraction(10001, 10000)


def test_a_release_that_was_chosen_from_another_is_added_to_it() -> None:
    """Its noise may depend on what the other showed: no accounting of both at once, but the sum, each at half of δ."""
    first = spend((0, 6), number=1)
    again = spend((0, 6), number=2).model_copy(update={"chosen_from": first.id})
    tables = [stated("laplace", Fraction(2), Fraction(40)).cells]
    half = accountant.epsilon(tables, float(DELTA / 2), Exposure("replace", 1), precision=1e-6)
    assert spent(first, again) == pytest.approx(2 * half, rel=1e-4)
    assert spent(first, again) >= spent(first, spend((0, 6), number=2))
    gaussian = SpentTable(name="t", mechanism="gaussian", scale=Fraction(4), threshold=Fraction(40))
    one, two = (each.model_copy(update={"tables": (gaussian,)}) for each in (first, again))
    assert spent(one, two) > 1.2 * spent(one, two.model_copy(update={"chosen_from": None})), "adding up costs more"


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_a_release_of_other_days_that_was_chosen_from_another(neighbours: Neighbours) -> None:
    """A trip that is there or not is in one of them; one that is exchanged may leave the one and enter the other."""
    first = spend((0, 6), number=1)
    later = spend((7, 13), number=2).model_copy(update={"chosen_from": first.id})
    if neighbours == "add-remove":
        assert spent(first, later, neighbours=neighbours) == pytest.approx(alone(2, neighbours=neighbours), rel=1e-4)
        return
    cell = stated("laplace", Fraction(2), Fraction(40)).cells
    ways = [accountant.Change({cell: 1}, {}), accountant.Change({}, {cell: 1})]
    across = sum(accountant.epsilon_upper_bound([way], float(DELTA / 2), 1e-6) for way in ways)
    assert spent(first, later) == pytest.approx(max(across, alone(2)), rel=1e-4)


def test_what_was_chosen_from_another_is_refused_where_the_sum_is_too_much() -> None:
    first = spend((0, 6), scale=1, number=1)
    again = spend((0, 6), scale=1, number=2)
    assert refused(budget(epsilon=4), first, again) is None
    assert code(budget(epsilon=3), first, again.model_copy(update={"chosen_from": first.id})) is Code.ADDS_UP
