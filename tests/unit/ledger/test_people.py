"""People: what the releases of a ledger so far, and the newest for a year, mean for all trips of a person."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from tapveil.cli.console.ledger import show_ledger
from tapveil.ledger.accounts import Account
from tapveil.ledger.entry import Spend
from tapveil.ledger.people import so_far
from tapveil.ledger.words import AT_MOST
from tapveil.privacy.accountant import ChangedCells
from tapveil.privacy.person import Person, Releases, people
from tapveil.privacy.units import Neighbours, Unit
from tests.unit.ledger.test_accounts import START, budget, spend


def weeks(number: int, *, unit: str = "card", length: int = 7) -> list[Spend]:
    days = [(length * each, length * each + length - 1) for each in range(number)]
    return [spend(each, unit=unit, cells=10, scale=90, number=place) for place, each in enumerate(days)]  # type: ignore[arg-type]


def found(*spends: Spend) -> list[Person]:
    people = so_far(Account(budget(spends[0].unit, epsilon=10_000), spends))
    assert isinstance(people, list)
    return people


def test_all_releases_so_far_and_then_the_newest_for_a_year() -> None:
    people = found(*weeks(3))
    assert [sum(each.number for each in person.releases) for person in people] == [3] * 4 + [52] * 4
    assert [person.trips for person in people] == [6, 15, 30, 60, 104, 260, 520, 1040]
    assert people[0].epsilon("replace") < people[4].epsilon("replace")  # type: ignore[operator]


def test_a_release_that_names_no_days_has_no_bound() -> None:
    undated = spend(None, unit="card", cells=10, number=9)
    assert so_far(Account(budget("card"), (*weeks(2), undated))) == undated


def test_the_same_days_again_are_in_both_releases() -> None:
    again = weeks(2)[0].model_copy(update={"id": "f" * 32})
    once, twice = found(*weeks(2)), found(*weeks(2), again)
    assert (once[2].trips, twice[2].trips) == (20, 30)


def test_days_of_one_week_share_its_trips() -> None:
    assert found(*weeks(14, length=1))[2].trips == 20  # two weeks from a Monday on
    assert found(*(each for each in weeks(15, length=1) if each.first_day.weekday() == 0))[2].trips == 30  # type: ignore[union-attr]


@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
def test_what_a_ledger_says_of_people_is_exact_or_more_for_days_of_cards(unit: Unit) -> None:
    """Entries do not say whether the cells of a table are of one day, as `privacy.json` does."""
    [released] = weeks(1, unit=unit)
    said = found(released)[2]
    tables = tuple((mechanism, True) for mechanism in released.mechanisms)
    exact = people([Releases(unit, tables, released.cells, 7)], budget(unit).delta)[2]
    assert said.trips == exact.trips
    both: tuple[Neighbours, ...] = ("add-remove", "replace")
    for neighbours in both:
        ours, theirs = (each.shown_epsilon(neighbours) for each in (said, exact))
        assert ours is not None
        assert theirs is not None
        assert ours > theirs if unit == "card-day" else ours == theirs


@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
def test_the_ledger_says_where_its_figures_for_people_are_upper_bounds(unit: Unit) -> None:
    screen = StringIO()
    console = Console(file=screen, width=300, highlight=False, markup=False, soft_wrap=True)
    show_ledger(console, [START, budget(unit, epsilon=10_000), *weeks(1, unit=unit)])
    assert "all trips of one person" in screen.getvalue()
    assert (AT_MOST in screen.getvalue()) == (unit == "card-day")


def test_nothing_is_said_before_the_first_release() -> None:
    assert so_far(Account(budget("card"), ())) is None


def test_many_equal_releases_are_accounted_for_as_one_with_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Spend] = []
    own = Spend.mechanisms.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Spend, "mechanisms", property(lambda self: (asked.append(self), own(self))[1]))
    account = Account(budget("card", epsilon=10_000), tuple(weeks(300)))
    _ = account.epsilon, account.places
    assert isinstance(so_far(account), list)
    assert len(asked) < 10  # not once for each release
    cells = Account(budget("card"), tuple(weeks(300)))._changes[0].cells.left
    assert [type(each) for each in cells] == [ChangedCells]
    assert set(cells.values()) == {3000}
