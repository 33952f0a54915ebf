"""People: what the releases of a ledger so far, and the newest for a year, mean for all trips of a person."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from tapveil.cli.console.ledger import show_ledger
from tapveil.ledger.accounts import Account
from tapveil.ledger.entry import Entry, Spend
from tapveil.ledger.people import so_far, why_none
from tapveil.ledger.report import report
from tapveil.ledger.words import AT_MOST
from tapveil.privacy.accountant import ChangedCells
from tapveil.privacy.person import Person, Releases, people
from tapveil.privacy.units import Neighbours, Unit
from tests.unit.ledger.test_accounts import START, budget, spend


def weeks(number: int, *, unit: str = "card", length: int = 7) -> list[Spend]:
    days = [(length * each, length * each + length - 1) for each in range(number)]
    return [spend(each, unit=unit, cells=10, scale=90, number=place) for place, each in enumerate(days)]  # type: ignore[arg-type]


def found(*spends: Spend) -> list[Person]:
    return so_far(Account(budget(spends[0].unit, epsilon=10_000), spends))


def shown(*entries: Entry) -> str:
    screen = StringIO()
    show_ledger(Console(file=screen, width=300, highlight=False, markup=False, soft_wrap=True), [START, *entries])
    return screen.getvalue()


def test_all_releases_so_far_and_then_the_newest_for_a_year() -> None:
    people = found(*weeks(3))
    assert [sum(each.number for each in person.releases) for person in people] == [3] * 4 + [52] * 4
    assert [person.trips for person in people] == [6, 15, 30, 60, 104, 260, 520, 1040]
    assert people[0].epsilon("replace") < people[4].epsilon("replace")  # type: ignore[operator]


def test_a_release_that_names_no_days_has_no_bound() -> None:
    undated = spend(None, unit="card", cells=10, number=9)
    account = Account(budget("card"), (*weeks(2), undated))
    assert so_far(account) == []
    assert "names no days" in (why_none(account) or "")


def test_where_noise_was_chosen_from_another_release_there_is_no_bound_and_why_is_said() -> None:
    first, second = weeks(2)
    account = Account(budget("card"), (first, second.model_copy(update={"chosen_from": first.id})))
    assert so_far(account) == []
    assert shown(account.budget, *account.spends).count("chosen_from): the budget alone adds those up.") == 1
    [said] = report([account.budget, *account.spends])["budgets"]
    assert (said["people"], said["people_unknown"]) == (None, why_none(account))


def test_what_releases_mean_for_a_person_is_shown_in_frequencies_and_as_json() -> None:
    promised, spends = budget("card", epsilon=10_000), weeks(3)
    [said] = report([promised, *spends])["budgets"]
    rows = [*said["people"]["so_far"], *said["people"]["a_year"]]
    assert [(row["trips_per_week"], row["releases"]) for row in rows] == [
        (trips, releases) for releases in (3, 52) for trips in (2, 5, 10, 20)
    ]
    lines = [line.split() for line in shown(promised, *spends).splitlines()]
    for row in rows:
        [line] = [line for line in lines if line[:2] == [str(row["trips_per_week"]), str(row["releases"])]]
        wrong, right = row["believed"]
        assert float(wrong) + float(right) == pytest.approx(100)
        few = 0 < float(wrong) < 0.01
        assert line[6:9] == (["<0.01", "|", ">99.99"] if few else [wrong, "|", right])
        assert row["verdict"] == "none" or row["verdict"] in line
    assert max(len(line) for line in shown(promised, *spends).splitlines() if "|" in line[:70]) <= 100


def test_the_same_days_again_are_in_both_releases() -> None:
    again = weeks(2)[0].model_copy(update={"id": "f" * 32})
    once, twice = found(*weeks(2)), found(*weeks(2), again)
    assert (once[2].trips, twice[2].trips) == (20, 30)


def test_days_of_one_week_share_its_trips() -> None:
    assert found(*weeks(14, length=1))[2].trips == 20  # two weeks from a Monday on
    assert found(*(each for each in weeks(15, length=1) if each.first_day.weekday() == 0))[2].trips == 30  # type: ignore[union-attr]


@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
def test_what_a_ledger_says_of_people_is_exact_or_more_for_days_of_cards(unit: Unit, length: int) -> None:
    """Entries do not say whether the cells of a table are of one day, as `privacy.json` does; those of a day are."""
    [released] = weeks(1, unit=unit, length=length)
    said = found(released)[2]
    tables = tuple((mechanism, True) for mechanism in released.mechanisms)
    exact = people([Releases(unit, tables, released.cells, length)], budget(unit).delta)[2]
    assert said.trips == exact.trips
    both: tuple[Neighbours, ...] = ("add-remove", "replace")
    for neighbours in both:
        ours, theirs = (each.shown_epsilon(neighbours) for each in (said, exact))
        assert ours is not None
        assert theirs is not None
        assert ours > theirs if (unit, length) == ("card-day", 7) else ours == theirs


@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
def test_the_ledger_says_where_its_figures_for_people_are_upper_bounds(unit: Unit, length: int) -> None:
    text = shown(budget(unit, epsilon=10_000), *weeks(1, unit=unit, length=length))
    assert "all trips of one person" in text
    assert (AT_MOST in text) == (unit == "card-day" and length > 1)


def test_nothing_is_said_before_the_first_release() -> None:
    assert so_far(Account(budget("card"), ())) == []


def test_many_equal_releases_are_accounted_for_as_one_with_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Spend] = []
    own = Spend.mechanisms.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Spend, "mechanisms", property(lambda self: (asked.append(self), own(self))[1]))
    account = Account(budget("card", epsilon=10_000), tuple(weeks(300)))
    _ = account.epsilon, account.places
    assert so_far(account)
    assert len(asked) < 10  # not once for each release
    cells = Account(budget("card"), tuple(weeks(300)))._changes[0].cells.left
    assert [type(each) for each in cells] == [ChangedCells]
    assert set(cells.values()) == {3000}
