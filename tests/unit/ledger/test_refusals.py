"""Why a ledger says no: the facts are true, and the words name the release, the reason and a way out that works."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tapveil.ledger import words
from tapveil.ledger.accounts import Account
from tapveil.ledger.coverage import Everywhere
from tapveil.ledger.entry import Budget, Entry, Published, Scheduled, Spend, SpentTable
from tapveil.ledger.reading import Reading
from tapveil.ledger.refusals import Across, Code, Refusal, of_budget, of_release
from tests.conftest import TODAY
from tests.unit.ledger.test_accounts import START, budget, refused, spend

TIGHT = budget(epsilon=3)
"""Room for one release of two cells at scale 1, and not for two."""


def one(days: tuple[int, int] | None = None, number: int = 1, **more: object) -> Spend:
    return spend(days, scale=1, number=number).model_copy(update=more)


def finished(each: Spend) -> Published:
    return Published(on=TODAY, id=each.id, checksums_sha256="0" * 64)


def said(found: Refusal | None, code: Code) -> str:
    assert found
    assert found.code is code
    return words.refusal(found)


def test_a_release_that_is_too_much_by_itself_is_said_to_be() -> None:
    """Also where others share its days: without them it would not fit either."""
    text = said(refused(budget(epsilon=1), one((0, 6)), one((0, 6), 2)), Code.TOO_MUCH)
    assert "this release alone would cost epsilon 2" in text
    assert words.RAISE in text


def test_a_tuned_plan_is_refused_for_the_release_that_it_was_chosen_from() -> None:
    noise = {"tables": (SpentTable(name="t", mechanism="gaussian", scale=Fraction(2), threshold=Fraction(20)),)}
    first = one((0, 6), 0x47EFCC5F << 96, **noise)
    others = [one((day, day), day, **noise) for day in (7, 8, 9, 10)]
    tuned = one((20, 26), 99, chosen_from=first.id, **noise)
    untuned = tuned.model_copy(update={"chosen_from": None})
    holds = Budget(**{**dict(TIGHT), "epsilon": Account(TIGHT, (first, *others, untuned)).epsilon})
    assert refused(holds, first, *others, untuned) is None
    found = refused(holds, first, *others, tuned)
    text = said(found, Code.ADDS_UP)
    assert found
    assert {clash.across for clash in found.clashes} == {Across.CHOSEN}
    assert "Its privacy loss adds up with r 47efcc5f (2016-08-08 to 2016-08-14, not finished)" in text
    assert "and 2 more: its noise was chosen from the output of r 47efcc5f (chosen_from)" in text
    assert "release with the plan as it was before tuning, without chosen_from" in text


def test_taps_under_a_budget_for_trips_are_refused_for_being_taps() -> None:
    weeks = one((0, 6), rows="taps"), one((7, 13), 2, rows="taps")
    text = said(refused(TIGHT, *weeks), Code.ADDS_UP)
    assert 'shape = "taps": a trip may tap on on one day and off on the next' in text
    assert 'unit = "card-day"' in text
    assert "first_day" not in text


@pytest.mark.parametrize(
    ("reading", "key"),
    [
        ("column day from windows-1252", "encoding: windows-1252 instead of utf-8"),
        ('column day format "%d/%m/%Y"', 'columns: column day format "%d/%m/%Y" instead of column day'),
        ("column other", "columns: column other instead of column day"),
        ("column day in Europe/London", "timezone: Europe/London instead of none"),
        ("column day from 04:00 by column at", "day_starts: 04:00 by column at instead of midnight"),
    ],
)
def test_days_that_are_read_in_another_way_are_named_by_the_key(reading: str, key: str) -> None:
    assert Reading.of(reading).text == reading
    usual, other = one((0, 6)), one((7, 13), 2, days_by=reading)
    for text in (said(refused(TIGHT, usual, other), Code.ADDS_UP), said(asked(usual, other), Code.REPEATED)):
        assert f"this plan reads the day differently than the first release ({key})" in text
        assert f"read the day as before: set {key.split(':')[0]} under [source] as it was" in text


def asked(*entries: Entry) -> Refusal | None:
    """As `refused`, with any budget, and nobody says that days are released again."""
    *before, last = entries
    assert isinstance(last, Spend)
    return of_release([START, budget(epsilon=1000), *before], last, again=False)


NEITHER, EARLIER, THIS, BOTH = (
    None,
    "the plan of r 00000000: no days are named",
    "this plan: no days are named",
    "both cover ",
)


@pytest.mark.parametrize(
    ("earlier", "newest", "said_of", "way"),
    [
        (None, (0, 6), [EARLIER], "r 00000000 counts for every day, so no choice of days avoids it"),
        ((0, 6), None, [THIS], "set first_day and last_day under [source] to other days"),
        (None, None, [EARLIER, THIS], "r 00000000 counts for every day"),
        ((0, 6), (5, 9), [f"{BOTH}2016-08-13 to 2016-08-14"], "publish other days or modes"),
    ],
)
@pytest.mark.parametrize("again", [True, False])
def test_it_is_said_which_plan_names_no_days_or_which_days_both_cover(
    earlier: tuple[int, int] | None, newest: tuple[int, int] | None, said_of: list[str], way: str, again: bool
) -> None:
    pair = one(earlier), one(newest, 2)
    text = said(refused(TIGHT, *pair), Code.ADDS_UP) if again else said(asked(*pair), Code.REPEATED)
    assert way in text
    for words_of in (EARLIER, THIS, BOTH):
        assert (words_of in text) == any(each.startswith(words_of) for each in said_of)
    assert all(each in text for each in said_of)


def test_the_modes_in_common_are_named() -> None:
    both = one((0, 6), modes=("bus", "train"), modes_by="column mode")
    text = said(asked(both, one((0, 6), 2, modes=("bus",), modes_by="column mode")), Code.REPEATED)
    assert "both cover 2016-08-08 to 2016-08-14, bus" in text


def test_an_unfinished_release_in_the_way_is_finished_for_nothing() -> None:
    first, second = one(), one(number=2)
    free = "To finish it at no further cost, run `tapveil release PLAN -o FOLDER --resume` with its plan and its folder"
    for text in (said(refused(TIGHT, first, second), Code.ADDS_UP), said(asked(first, second), Code.REPEATED)):
        assert "not finished" in text
        assert free in text
    assert free not in said(refused(TIGHT, first, finished(first), second), Code.ADDS_UP)
    assert free not in said(asked(first, finished(first), second), Code.REPEATED)


def test_all_that_clash_are_counted_and_the_newest_are_named() -> None:
    weeks = [one((0, 6), number << 96) for number in range(1, 6)]
    wide = budget(epsilon=11)
    assert refused(wide, *weeks) is None
    text = said(refused(wide, *weeks, one((0, 6), 99)), Code.ADDS_UP)
    days = "(2016-08-08 to 2016-08-14, not finished)"
    assert f"adds up with r 00000005 {days}, r 00000004 {days}, r 00000003 {days} and 2 more:" in text
    assert words.RAISE in text


def test_a_delta_that_is_used_up_is_said_to_be() -> None:
    narrow = one().tables[0].model_copy(update={"threshold": Fraction(15)})
    first, second = (one(number=number, tables=(narrow,)) for number in (1, 2))
    wide = budget(epsilon=100)
    assert refused(wide, first) is None
    text = said(refused(wide, first, second), Code.ADDS_UP)
    assert "delta is used up (with this release, the total would be delta 1.2" in text
    assert "a larger delta is needed" in text


def test_what_was_overdrawn_before_is_not_blamed_on_the_newest() -> None:
    text = said(refused(one((0, 6)), one((0, 6), 2), TIGHT, one((20, 26), 3)), Code.OVERDRAWN)
    assert "without this release, the total is epsilon 4" in text


def test_a_release_for_a_smaller_unit_is_not_sent_to_declare_a_budget_in_vain() -> None:
    days = spend(unit="card-day", number=1)
    before: list[Entry] = [budget("card-day", epsilon=100), days, budget(epsilon=100)]
    text = said(refused(*before, one(number=2)), Code.SMALLER_UNIT)
    assert "Another budget for unit trip would not change that" in text
    assert 'Set unit = "card-day" in the plan' in text
    late = of_budget([START, budget(epsilon=100), one()], budget("card", epsilon=100))
    assert "set a budget for unit trip of `trips`" in said(late, Code.SMALLER_UNIT)


def test_a_budget_that_allows_more_says_why() -> None:
    entries: list[Entry] = [START, budget(epsilon=4)]
    more = budget(epsilon=5)
    assert "the new one allows more" in said(of_budget(entries, more), Code.UNEXPLAINED)
    assert of_budget(entries, Budget(**{**dict(more), "reason": "more days", "by": "A. Officer"})) is None


def test_taps_without_a_card_are_not_said_to_have_no_days() -> None:
    """The entry cannot tell whether the plan named days: both are said."""
    cardless = [spend(unit="card-day", number=number, scale=1).model_copy(update={"rows": "taps"}) for number in (1, 2)]
    found = refused(budget("card-day", epsilon=3), *cardless)
    assert found
    assert found.everywhere is Everywhere.CARDLESS
    assert 'without_card = "own-unit"' in words.refusal(found)


def scheduled(each: Spend, releases: int) -> Scheduled:
    """Weeks with the noise of a release."""
    return Scheduled(
        on=TODAY,
        data_set=each.data_set,
        unit=each.unit,
        releases=releases,
        days=7,
        cells=each.cells,
        tables=each.tables,
    )


def test_a_release_of_every_day_does_not_take_the_room_of_scheduled_weeks() -> None:
    """With their noise it fits by itself, and no week would after it."""
    week, always, schedule = one((0, 6)), one(None, 2), scheduled(one(), 3)
    assert refused(TIGHT, always, week)
    assert refused(TIGHT, schedule, week, one((7, 13), 2)) is None
    said(refused(TIGHT, schedule, always), Code.BREAKS_SCHEDULE)


def test_a_release_does_not_take_the_days_of_scheduled_weeks_that_are_to_come() -> None:
    """It shows trips that the next weeks show again: they would not fit after it. Days that had their week are free."""
    tight = Budget(**{**dict(TIGHT), "epsilon": Fraction(5, 2)})
    week, schedule = one((0, 6)), scheduled(one(), 3)
    narrow = spend((7, 20), scale=3, number=2)
    month = one((7, 34), 2)
    assert refused(tight, week, narrow) is None
    assert refused(tight, week, month) is None
    for long in (narrow, month):
        said(refused(tight, schedule, week, long), Code.BREAKS_SCHEDULE)
    later = [one((7, 13), 3), one((14, 20), 4)]
    assert refused(budget(epsilon=100), schedule, week, narrow) is None
    assert refused(tight, schedule, week, *later[:1]) is None
    assert refused(tight, schedule, week, later[1], one((7, 13), 5, tables=narrow.tables)) is None


def test_scheduled_weeks_go_on_after_a_release_of_every_day_that_leaves_them_room() -> None:
    """Those that are to come do not share the days of the week that is released now."""
    always, schedule = spend(None, scale=4, number=9), scheduled(one(), 3)
    weeks = [one((7 * number, 7 * number + 6), number + 1) for number in range(3)]
    for made in range(3):
        assert refused(TIGHT, schedule, always, *weeks[: made + 1]) is None
    said(refused(TIGHT, schedule, always, *weeks, one((21, 27), 5)), Code.SCHEDULE_COMPLETE)


def test_a_tuned_release_is_not_one_of_a_schedule_that_was_planned_without_it() -> None:
    """Its loss is added to theirs: with the same noise it leaves less room than one of them."""
    noise = {"tables": (SpentTable(name="t", mechanism="gaussian", scale=Fraction(4), threshold=Fraction(40)),)}
    weeks = [spend((7 * n, 7 * n + 6), unit="card", number=n + 1).model_copy(update=noise) for n in range(4)]
    holds = budget("card")
    holds = Budget(**{**dict(holds), "epsilon": Account(holds, tuple(weeks)).epsilon})
    tuned = weeks[0].model_copy(update={"chosen_from": "f" * 32})
    assert refused(holds, scheduled(weeks[0], 4), *weeks) is None
    assert refused(holds, tuned, *weeks[1:])
    said(refused(holds, scheduled(weeks[0], 4), tuned), Code.BREAKS_SCHEDULE)
