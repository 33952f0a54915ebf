"""Another look at the trips: contradictions are named, ordinary trips are not, and single trips decide nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

import tapveil
from tests.conftest import write_csv

PLAN = """
[release]
name = "look"
title = "Look"
partition = ["date"]
[source]
path = "trips.csv"
[source.columns]
card = "card"
date = "day"
tap_on_time = "start"
tap_off_time = "end"
tap_on_location = "from"
tap_off_location = "to"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 8
delta = 1e-6
[[table]]
name = "on"
columns = ["tap_on_location"]
[[table]]
name = "off"
columns = ["tap_off_time", "tap_off_location"]
[[table]]
name = "on_time"
columns = ["tap_on_time"]
"""
NAMES = ("card", "day", "start", "end", "from", "to")


def rows(number: int = 400) -> list[tuple[str, ...]]:
    """Trips in the morning among five places, each of another card."""
    ends = [(start, end) for start in "ABCDE" for end in "ABCDE" if start != end]
    found: list[tuple[str, ...]] = []
    for n in range(number):
        start, end = ends[n % len(ends)]
        clock = f"2025-03-03 07:{n % 60:02}"
        found.append((f"c{n}", "2025-03-03", clock, f"2025-03-03 08:{n % 60:02}", start, end))
    return found


def notes(folder: Path, trips: Sequence[tuple[str, ...]], text: str = PLAN) -> str:
    write_csv(folder / "trips.csv", list(trips), NAMES)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    found = tapveil.outlook(tapveil.Plan.read(folder / "plan.toml"))
    return "\n".join([*found.notes, found.stops or ""])


def test_ordinary_trips_are_not_remarked_on(tmp_path: Path) -> None:
    said = notes(tmp_path, rows())
    assert not any(word in said for word in ("mixed up", "settlement", "duplicates", "coupled"))


def test_trips_that_end_before_they_begin_are_named(tmp_path: Path) -> None:
    turned = [(card, day, end, start, a, b) for card, day, start, end, a, b in rows()]
    assert "100 % of trips end before they begin: check that tap_on_time and tap_off_time are not mixed up" in notes(
        tmp_path, turned
    )
    few = [*turned[:8], *rows()[8:]]
    assert "before they begin" not in notes(tmp_path, few)


def test_clocks_without_a_day_are_looked_at_as_well(tmp_path: Path) -> None:
    clocks = [(card, day, end[11:], start[11:], a, b) for card, day, start, end, a, b in rows()]
    assert "100 % of trips end before they begin" in notes(tmp_path, clocks)


def test_a_date_that_is_not_the_day_of_the_times_is_named(tmp_path: Path) -> None:
    settled = [(card, "2025-03-07", *others) for card, _, *others in rows()]
    assert "`day` is more than a day from the day in the times, for 100 % of trips" in notes(tmp_path, settled)
    night = [(card, "2025-03-02", *others) for card, _, *others in rows()]  # a service day may be the day before
    assert "settlement" not in notes(tmp_path, night)


def test_hours_after_midnight_on_calendar_days_are_named(tmp_path: Path) -> None:
    clocks = [(card, day, start[11:], end[11:], a, b) for card, day, start, end, a, b in rows()]
    night = [(card, day, f"25:{n % 60:02}", "25:59", a, b) for n, (card, day, _, _, a, b) in enumerate(clocks)]
    said = "of trips have a time such as 25:10, and are counted at 01:10 of the date in their row"
    assert f"10.0 % {said}" in notes(tmp_path, [*clocks[40:], *night[:40]])
    assert said not in notes(tmp_path, clocks)
    starts = PLAN.replace("[source]\n", '[source]\ndates = "service"\nday_starts = "04:00"\n')
    assert said not in notes(tmp_path, [*clocks[40:], *night[:40]], starts)


@pytest.mark.parametrize("written", ["%H%M", "%H", "%H.%M"])
def test_a_time_that_brings_no_day_does_not_contradict_the_date(tmp_path: Path, written: str) -> None:
    clocks = [
        (card, day, *(datetime.fromisoformat(time).strftime(written) for time in (start, end)), *places)
        for card, day, start, end, *places in rows()
    ]
    plan = PLAN.replace('"start"', f'{{ column = "start", format = "{written}" }}')
    plan = plan.replace('"end"', f'{{ column = "end", format = "{written}" }}')
    assert "settlement" not in notes(tmp_path, clocks, plan)


def test_many_duplicates_are_said_with_their_share(tmp_path: Path) -> None:
    assert "20 rows (5 % of all rows) are duplicates" in notes(tmp_path, [*rows(), *rows()[:20]])
    assert "1 rows are duplicates" in notes(tmp_path, [*rows(), rows()[0]])


def test_places_are_coupled_only_where_they_would_show(tmp_path: Path) -> None:
    ferry = [
        (f"f{n}", "2025-03-03", "2025-03-03 07:10", "2025-03-03 07:30", *"PQ"[:: 1 - 2 * (n % 2)]) for n in range(60)
    ]
    assert "lead only to each other: P, Q. Where a trip began tells where it ended" in notes(
        tmp_path, [*rows(), *ferry]
    )
    assert "coupled" not in notes(tmp_path, [*rows(), *ferry[:2]])


def test_a_column_that_holds_cards_stops_check_as_it_stops_a_release(tmp_path: Path) -> None:
    cards = [(card, day, start, end, f"3085{n:012}", b) for n, (card, day, start, end, _, b) in enumerate(rows())]
    assert "column `tap_on_location`" in notes(tmp_path, cards)


def test_room_for_a_smaller_epsilon_is_said_where_much_is_published(tmp_path: Path) -> None:
    only_times = PLAN[: PLAN.index("[[table]]")] + '[[table]]\nname = "total"\ncolumns = []\n'
    assert "you have room: at epsilon = 0.5 even the emptiest table would still publish" in notes(
        tmp_path, rows(), only_times
    )
    assert "you have room" not in notes(tmp_path, rows(60))
