"""Columns that follow from the day: by either route the trips of the right days, and one unit changes what it may."""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapveil.plan.model import Plan
from tests.conftest import write_csv
from tests.property.test_counting import cells, exact
from tests.property.test_routes import assert_same, both_routes

Row = tuple[str, str, str, str]
"""Card, day, hour, stop."""
PLAN = """
[release]
name = "calendars"
title = "Calendars"
partition = ["month", "day_type"]
[source]
path = "trips.csv"
max_refused = 1
first_day = 2025-02-27
last_day = 2025-03-05
{source}
[source.columns]
card = "card"
date = {{ column = "day", missing = ["none"] }}
tap_on_time = "hour"
tap_on_location = "stop"
[coarsen]
time_minutes = {minutes}
[coarsen.date]
month = "month"
day_type = {{ days = "weekday-saturday-sunday", holidays = [2025-03-04] }}
season = {{ lookup = "terms.csv", from = "from", until = "until", to = "term", otherwise = "term" }}
[privacy]
unit = "{unit}"
neighbours = "add-remove"
mechanism = "{mechanism}"
epsilon = 8
delta = 1e-6
{bounds}
{places}
[[table]]
name = "stops"
columns = ["tap_on_time", "tap_on_location"]
{per_cell}
[[table]]
name = "seasons"
columns = ["season"]
{per_cell}
[[table]]
name = "total"
columns = []
{per_cell}
"""
DAYS = [f"2025-02-{n}" for n in (26, 27, 28)] + [f"2025-03-0{n}" for n in range(1, 8)]
"""The first and the last two are not counted; the 1st is a Saturday, the 4th a holiday."""
ROW = st.tuples(
    st.sampled_from(["1", "2", "3"]),
    st.sampled_from([*DAYS, "none", "soon", ""]),
    st.sampled_from(["02:00", "08:00", "20:00", ""]),
    st.sampled_from(["Ash", "Oak"]),
)
BOUNDS = {
    "trip": "",
    "card-day": 'trips_per_day = 2\nwithout_card = "refuse"',
    "card": 'trips_per_card = 5\ntrips_per_day = 3\nwithout_card = "refuse"',
}
QUICK = settings(max_examples=12, suppress_health_check=list(HealthCheck))


def plan_of(
    folder: Path, rows: list[Row], unit: str = "trip", *, late: bool = False, world: bool = False, per_cell: int = 1
) -> Plan:
    write_csv(folder / "trips.csv", rows, ("card", "day", "hour", "stop"))
    write_csv(folder / "terms.csv", [("2025-02-01", "2025-02-27", "break")], ("from", "until", "term"))
    write_csv(folder / "places.csv", [("Ash", 0, 0), ("Oak", 0, 1)], ("name", "latitude", "longitude"))
    text = PLAN.format(
        unit=unit,
        bounds=BOUNDS[unit],
        source='day_starts = "04:00"' if late else "",
        minutes=240 if late else 720,
        mechanism="world" if world else "gaussian",
        places='[places]\npath = "places.csv"' if world else "",
        per_cell=f"trips_per_cell = {per_cell}" if per_cell > 1 else "",
    )
    return Plan.parse(text, base=folder)


def labels_of(day: str) -> tuple[str, str, str]:
    """Month, kind and season, as a person would say them."""
    kind = {5: "saturday", 6: "sunday"}.get(date.fromisoformat(day).weekday(), "weekday")
    return day[:7], "sunday" if day == "2025-03-04" else kind, "break" if day <= "2025-02-27" else "term"


@QUICK
@given(rows=st.lists(ROW, min_size=1, max_size=50), late=st.booleans())
def test_trips_are_counted_in_the_cells_of_their_days_by_either_route(rows: list[Row], late: bool) -> None:
    """Also where a day starts at 04:00, and so the hour decides the day."""
    expected: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in ("stops", "seasons", "total")}
    for _, written, hour, stop in rows:
        if written not in DAYS:
            continue
        day = DAYS[DAYS.index(written) - 1] if late and hour == "02:00" and written != DAYS[0] else written
        if "2025-02-27" <= day <= "2025-03-05":
            month, kind, season = labels_of(day)
            bins = {"": "-1", "08:00": "08:00", "20:00": "20:00"} if late else {"": "-1", "20:00": "12:00"}
            time = bins.get(hour, "00:00")
            expected["stops"][month, kind, time, stop] += 1
            expected["seasons"][month, kind, season] += 1
            expected["total"][month, kind] += 1
    with tempfile.TemporaryDirectory() as name:
        ours, theirs = both_routes(plan_of(Path(name), rows, late=late))
    assert_same(ours, theirs)
    assert {table: cells(each) for table, each in ours.tables.items()} == expected


@QUICK
@given(rows=st.lists(ROW, min_size=1, max_size=50), unit=st.sampled_from(["card-day", "card"]))
def test_cards_are_counted_the_same_by_either_route(rows: list[Row], unit: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        ours, theirs = both_routes(plan_of(Path(name), rows, unit))
    assert_same(ours, theirs)
    assert ours.left_out == theirs.left_out


@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
@QUICK
@given(
    rows=st.lists(ROW, max_size=25),
    trace=st.lists(ROW, min_size=1, max_size=12),
    per_cell=st.integers(1, 2),
    world=st.booleans(),
)
def test_one_unit_changes_as_much_as_is_accounted_for(
    unit: str, rows: list[Row], trace: list[Row], per_cell: int, world: bool
) -> None:
    """A card has many days in one cell: it counts there once, or as often as the plan says; its bound is over all."""
    per_cell = per_cell if world and unit != "trip" else 1
    other = [] if unit != "card-day" else [("new", "2025-03-03", hour, stop) for _, _, hour, stop in trace]
    day = {"trip": trace[:1], "card-day": [("new", "2025-03-05", *row[2:]) for row in trace], "card": trace}[unit]
    unit_rows = [("new", *row[1:]) for row in day]
    with tempfile.TemporaryDirectory() as name:
        without, added = (
            {
                table: cells(each)
                for table, each in exact(
                    plan_of(Path(name), all_rows, unit, world=world, per_cell=per_cell)
                ).tables.items()
            }
            for all_rows in ([*rows, *other], [*rows, *other, *unit_rows])
        )
    most = {"trip": 1, "card-day": 2, "card": 5}[unit]
    for table, before in without.items():
        changes = {cell: added[table][cell] - before[cell] for cell in {*before, *added[table]}}
        assert all(0 <= change <= per_cell for change in changes.values())
        assert sum(changes.values()) <= most


def test_a_card_with_a_trip_on_every_weekday_is_one_card_in_the_cell_of_weekdays(tmp_path: Path) -> None:
    """And five card-days, and as many trips as the plan counts in one cell."""
    rows = [("1", day, "08:00", "Ash") for day in ("2025-03-03", "2025-03-05", "2025-03-03")]
    cell = ("2025-03", "weekday", "00:00", "Ash")

    def counted(unit: str, per_cell: int = 1, *, world: bool = False) -> int:
        plan = plan_of(tmp_path, rows, unit, world=world, per_cell=per_cell)
        return cells(exact(plan).tables["stops"])[cell]

    assert (counted("trip"), counted("card-day"), counted("card")) == (3, 2, 1)
    assert (counted("card", 2, world=True), counted("card", 3, world=True)) == (2, 3)


def test_taps_that_make_trips_are_of_the_day_of_their_first_tap_by_either_route(tmp_path: Path) -> None:
    """A night bus of Friday ends on Saturday: by card the trip is one of Friday, a weekday."""
    taps = [
        ("1", "on", "2025-02-28 23:50", "Ash"),
        ("1", "off", "2025-03-01 00:20", "Oak"),
        ("2", "on", "2025-03-01 09:00", "Ash"),
        ("2", "off", "2025-03-01 09:30", "Elm"),
        ("3", "on", "2025-03-06 09:00", "Ash"),
    ]
    write_csv(tmp_path / "taps.csv", taps, ("card", "tap", "at", "stop"))
    text = PLAN.format(
        unit="card",
        bounds=BOUNDS["card"],
        source='shape = "taps"\n[source.taps]\non = ["on"]\noff = ["off"]\nsame = "card"',
        mechanism="gaussian",
        places="",
        per_cell="",
        minutes=720,
    )
    columns = 'card = "card"\ndate = "at"\ntap = "tap"\ntap_time = "at"\ntap_location = "stop"\n'
    text = text[: text.index('card = "card"')] + columns + text[text.index("[coarsen]") :]
    text = text.replace('"trips.csv"', '"taps.csv"')
    text = text.replace('["tap_on_time", "tap_on_location"]', '["tap_on_location", "tap_off_location"]')
    write_csv(tmp_path / "terms.csv", [("2025-02-01", "2025-02-27", "break")], ("from", "until", "term"))
    ours, theirs = both_routes(Plan.parse(text, base=tmp_path))
    assert_same(ours, theirs)
    assert cells(ours.tables["stops"]) == {
        ("2025-02", "weekday", "Ash", "Oak"): 1,
        ("2025-03", "saturday", "Ash", "Elm"): 1,
    }
