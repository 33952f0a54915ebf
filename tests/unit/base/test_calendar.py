"""Calendars: every day is in one period and of one kind, and a list of days is written in one way."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapveil.base.calendar import (
    DAYS,
    KINDS_OF_DAY,
    PERIODS,
    days_by_label,
    days_from,
    days_of_spans,
    fault_of_kinds,
    kind_of,
    period_of,
    spans_by_label,
)

ANY_DAY = st.dates(date(1950, 1, 1), date(2150, 12, 31))


@given(ANY_DAY)
def test_periods_are_those_of_the_standard_calendar(day: date) -> None:
    assert period_of(day, "week") == day.strftime("%G-W%V")
    assert period_of(day, "month") == day.strftime("%Y-%m")
    assert period_of(day, "year") == day.strftime("%Y")
    quarters = {"Q1": (1, 2, 3), "Q2": (4, 5, 6), "Q3": (7, 8, 9), "Q4": (10, 11, 12)}
    year, quarter = period_of(day, "quarter").split("-")
    assert int(year) == day.year
    assert day.month in quarters[quarter]


@given(ANY_DAY)
def test_a_season_has_three_months_in_a_row_and_december_is_the_first_of_winter_in_the_north(day: date) -> None:
    later = day.replace(day=1) + timedelta(days=31)
    year, season = period_of(day, "season").split("-")
    assert int(year) == later.year if day.month == 12 else int(year) == day.year
    assert day.strftime("%B")[0] in season
    assert "JFMAMJJASOND"[day.month - 1] == season[(day.month % 12) % 3]


@given(ANY_DAY, st.sampled_from(PERIODS))
def test_periods_are_in_the_order_of_their_days(day: date, period: str) -> None:
    tomorrow = day + timedelta(days=1)
    seasons = {"DJF": 0, "MAM": 1, "JJA": 2, "SON": 3}

    def order(label: str) -> tuple[str, int | str]:
        year, _, rest = label.partition("-")
        return year, seasons.get(rest, rest)

    assert order(period_of(day, period)) <= order(period_of(tomorrow, period))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", KINDS_OF_DAY)
@given(day=ANY_DAY)
def test_every_day_is_of_one_kind_and_a_holiday_is_like_a_sunday(name: str, day: date) -> None:
    kinds = KINDS_OF_DAY[name]
    assert fault_of_kinds(kinds) is None
    assert day.strftime("%A").lower() in kinds[kind_of(day, kinds)]
    sunday = next(each for each in days_from(day, day + timedelta(days=6)) if each.weekday() == 6)
    assert kind_of(day, kinds, {day}) == kind_of(sunday, kinds)


def test_a_holiday_may_be_a_kind_of_its_own() -> None:
    kinds = {"work": DAYS[:6], "rest": ("sunday",), "feast": ("holiday",)}
    assert kind_of(date(2016, 12, 25), kinds, {date(2016, 12, 25)}) == "feast"
    assert kind_of(date(2016, 12, 25), kinds) == "rest"


@given(ANY_DAY, st.lists(st.sampled_from("abc"), min_size=1, max_size=40))
def test_spans_have_each_day_once_and_give_the_labels_back(first: date, labels: list[str]) -> None:
    days = days_from(first, first + timedelta(days=len(labels) - 1))
    spans = spans_by_label(dict(zip(days, labels, strict=True)))
    found = {day: label for label, each in spans.items() for day in days_of_spans(each)}
    assert [found[day] for day in days] == labels
    assert sum(len(list(days_of_spans(each))) for each in spans.values()) == len(days)
    changes = sum(one != two for one, two in pairwise(labels))
    assert sum(map(len, spans.values())) == changes + 1
    assert sum(days_by_label(labels).values()) == len(labels)
