"""The days of a release, by the names of its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapveil.internal.public_days import Days, days_in_names


@pytest.mark.parametrize(
    ("names", "days"),
    [
        (["trips_2025-03-01.csv"], "2025-03-01 to 2025-03-01"),
        (["20250301.csv", "20250302.csv"], "2025-03-01 to 2025-03-02"),
        (["a_20250303_20250316.csv"], "2025-03-03 to 2025-03-16"),
        (["dt=2025-03-01/part-0.csv", "dt=2025-03-07/part-0.csv"], "2025-03-01 to 2025-03-07"),
        (["JC-202402-tripdata.csv"], "2024-02-01 to 2024-02-29"),
        (["2025_S1.csv"], None),
        (["loc_20160808-14.csv"], None),
        (["2025-03-03_09.csv"], None),
        (["20250303_000001.csv"], "2025-03-03 to 2025-03-03"),
        (["20250301.csv", "more.csv"], None),
        (["20250231.csv"], None),
        (["card_1234567890.csv"], None),
    ],
)
def test_days_are_those_in_every_name(names: list[str], days: str | None) -> None:
    found = days_in_names("trips", [Path("trips") / name for name in names])
    assert (str(found) if found else None) == days


def test_a_name_that_the_rows_contradict_holds_them_not() -> None:
    exported, seen = Days.read("2025-04-02", None), Days.read("2025-03-01 to 2025-03-31", None)
    month = Days.read("2025-03-01 to 2025-03-31", None)
    assert exported
    assert seen
    assert month
    assert not exported.hold(seen)
    assert month.hold(seen)


def test_days_that_were_proposed_from_the_trips_stay_those_of_the_trips() -> None:
    seen = Days.read("2025-03-01 to 2025-03-31", None)
    assert seen
    proposed = Days(seen.first, seen.last, "trips")
    for text, of_trips in (("2025-03-01 to 2025-03-31", True), ("2025-03-01 to 2025-03-30", False)):
        answered = Days.read(text, proposed)
        assert answered
        assert answered.of_trips is of_trips
