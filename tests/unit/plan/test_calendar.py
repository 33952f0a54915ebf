"""[coarsen.date]: what a plan may say of calendars, and what it is told where it is wrong."""

from __future__ import annotations

import pytest

from tapveil.base.errors import PlanError
from tapveil.plan.model import Plan
from tests.property.test_calendars import PLAN

TEXT = PLAN.format(unit="trip", bounds="", source="", mechanism="gaussian", places="", per_cell="", minutes=60)
MONTH, KINDS = 'month = "month"', 'days = "weekday-saturday-sunday"'
WRONG = {
    "a period that there is not": (MONTH, 'month = "moth"', "did you mean `month`"),
    "kinds that there are not": (KINDS, 'days = "workday-weekend"', "did you mean `weekday-weekend`"),
    "a day in two kinds": (KINDS, 'days = { a = ["monday"], b = ["monday"] }', "`monday` is in two kinds of day"),
    "a day in no kind": (KINDS, 'days = { a = ["monday"] }', "`tuesday` is in no kind of day"),
    "a day that there is not": (KINDS, 'days = { a = ["mondy"] }', "did you mean `monday`"),
    "a kind with blanks": (KINDS, 'days = { " a" = ["monday"] }', "is in no kind"),
    "two ways": (MONTH, 'month = { period = "month", days = "day-of-week" }', "exactly one of"),
    "holidays of a period": (MONTH, "month = { period = 'month', holidays = [2025-03-03] }", "only used with `days`"),
    "columns of a period": (MONTH, 'month = { period = "month", to = "a" }', "only used with `lookup`"),
    "a list without columns": (MONTH, 'month = { lookup = "a.csv" }', "needs `from` and `to`"),
    "no timetable": (KINDS, f"{KINDS}, timetable = true", "needs a section [gtfs]"),
    "no days": ("first_day = 2025-02-27\nlast_day = 2025-03-05\n", "", "needs first_day and last_day"),
    "labels for dates": ("max_refused = 1", 'max_refused = 1\ndates = "labels"', "needs first_day and last_day"),
    "the name of a column": ("season = {", 'card = "month"\nseason = {', "another name"),
    "a column that there is not": ('"month", "day_type"]', '"month", "day_typ"]', "did you mean `day_type`"),
    "a kind for columns of files": ('card = "card"', 'card = { column = "card", kind = "calendar" }', "follow from"),
    "a reserved name": (MONTH, 'days = "month"', "unknown column `month`"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_calendar_is_refused_with_what_to_do(what: str) -> None:
    old, new, words = WRONG[what]
    assert old in TEXT
    with pytest.raises(PlanError) as refused:
        Plan.parse(TEXT.replace(old, new))
    assert words in str(refused.value)


def test_what_readers_call_days_and_means_is_no_column_of_a_plan_with_calendars() -> None:
    with pytest.raises(PlanError, match="`days` is reserved"):
        Plan.parse(TEXT.replace(MONTH, 'days = "month"').replace('["month"', '["days"'))
    assert Plan.parse(TEXT)


def test_a_name_alone_means_the_same_as_a_section() -> None:
    short, long = (Plan.parse(TEXT.replace(MONTH, each)) for each in (MONTH, 'month = { period = "month" }'))
    assert short.digest == long.digest
    assert short.coarsen.date["month"].in_words == "the month"


def test_the_day_is_read_once_more_for_each_column_but_what_is_missing_is_decided_by_the_date() -> None:
    plan = Plan.parse(TEXT)
    assert plan.columns.read["month"] == plan.columns.read["date"] == "day"
    assert plan.source.missing("date") == {"none"}
    assert plan.source.missing("month") == set()
    assert plan.source.kind("month") == "calendar"
    assert set(plan.columns.calendars) == {"month", "day_type", "season"}
