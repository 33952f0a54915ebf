"""Exact totals: of which days, modes and places of a release they are."""

from __future__ import annotations

from datetime import date

import pytest

from tapveil.base import public_total
from tapveil.base.calendar import days_from
from tapveil.base.public_total import Lists, PublicTotal, part_of

DAYS = days_from(date(2025, 3, 3), date(2025, 3, 9))


def total(first: date, last: date) -> PublicTotal:
    return PublicTotal(trips=1, first_day=first, last_day=last, source="Annual report")


def test_a_total_is_of_its_days() -> None:
    assert part_of(total(DAYS[1], DAYS[3]), Lists(DAYS, {})).days == set(DAYS[1:4])


@pytest.mark.parametrize("last", [date(2025, 3, 10), date.max])
def test_days_that_a_release_does_not_have_are_not_even_listed(last: date, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile folder may have hundreds of totals, each of all days of the calendar."""

    def listed(*_: date) -> list[date]:
        raise AssertionError("they were listed")

    monkeypatch.setattr(public_total, "days_from", listed)
    with pytest.raises(ValueError, match="days that the release does not have"):
        part_of(total(DAYS[0], last), Lists(DAYS, {}))
