"""A known world: a unit changes as many measured cells as it may, each by one, and all cells are always there."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapveil.counting import counter
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan
from tests.conftest import write_csv

Row = tuple[str, str, str, str, str, str]
"""Card, mode, day, hour, origin, destination."""
PLAN = """
[release]
name = "world"
title = "World"
partition = ["mode", "date"]
[source]
path = "trips.csv"
max_refused = 1
modes = ["bus", "train"]
first_day = 2025-03-03
last_day = 2025-03-05
[source.columns]
card = "card"
mode = "mode"
date = "day"
tap_on_time = "hour"
tap_on_location = "from"
tap_off_location = "to"
[places]
path = "places.csv"
[coarsen]
time_minutes = 360
[privacy]
unit = "{unit}"
neighbours = "add-remove"
mechanism = "world"
epsilon = 8
delta = 1e-6
{bounds}
[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]
[[table]]
name = "origins"
columns = ["tap_on_time", "tap_on_location"]
{per_cell}
[[table]]
name = "total"
columns = []
"""
PLACES = [("Ash", "bus", 0, 0), ("Oak", "bus", 0, 1), ("Ash", "train", 0, 0), ("Elm", "*", 0, 2)]
BOUNDS = {
    "trip": "",
    "card-day": 'trips_per_day = 2\nwithout_card = "refuse"',
    "card": 'trips_per_card = 3\nwithout_card = "own-unit"',
}
MOST = {"trip": 1, "card-day": 2, "card": 3}
MODES, DAYS = st.sampled_from(["bus", "train", "ferry"]), st.sampled_from([f"2025-03-0{n}" for n in (2, 3, 4, 5, 6)])
HOURS = st.sampled_from(["03:00", "08:00", "23:59", ""])
STOPS = st.sampled_from(["Ash", "Oak", "Elm", "ash", "UNKNOWN", "Nowhere", ""])
TRIP = st.tuples(MODES, DAYS, HOURS, STOPS, STOPS)
ROWS = st.lists(st.tuples(st.sampled_from(["1", "2", "3"]), MODES, DAYS, HOURS, STOPS, STOPS), max_size=25)


def measured(
    folder: Path, unit: str, rows: list[Row], per_cell: str = "", world: str = ""
) -> dict[str, Counter[tuple[str, ...]]]:
    """The exact number in every cell of the world, before noise."""
    write_csv(folder / "places.csv", PLACES, ("name", "mode", "latitude", "longitude"))
    write_csv(folder / "trips.csv", rows, ("card", "mode", "day", "hour", "from", "to"))
    plan = Plan.parse(PLAN.format(unit=unit, bounds=BOUNDS[unit], per_cell=per_cell) + world, base=folder)
    inputs = PublicInputs.of(plan)
    counted = counter.count(plan, inputs=inputs)
    found = {}
    for name, listed in inputs.dictionaries.items():
        assert listed is not None
        exact = counted.tables[name]
        places, cells = exact.places_in(listed)
        assert len(places) == len(exact_counts(exact)), "a trip outside of the world"
        every = np.zeros(len(listed), dtype=np.int64)
        every[places] = exact_counts(exact)[cells]
        labels = zip(*(column.to_pylist() for column in listed.columns), strict=True)
        found[name] = Counter(dict(zip(labels, every.tolist(), strict=True)))
        assert len(found[name]) == len(listed), "a cell is listed twice"
    return found


SERVICE = '[world.service]\nbus = "06:00-18:00"\ntrain = "11:00-13:00"\n'


@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
@settings(max_examples=20)
@given(rows=ROWS, trace=st.lists(TRIP, min_size=1, max_size=8))
def test_times_outside_of_service_are_one_cell_and_a_unit_counts_there_as_anywhere(
    unit: str, rows: list[Row], trace: list[tuple[str, str, str, str, str]]
) -> None:
    """They are one cell before a card is counted, not after."""
    if unit == "trip":
        trace = trace[:1]
    if unit == "card-day":
        trace = [(mode, trace[0][1], *rest) for mode, _, *rest in trace]  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as name:
        without = measured(Path(name), unit, rows, world=SERVICE)
        added = measured(Path(name), unit, [*rows, *(("new", *trip) for trip in trace)], world=SERVICE)
        every = measured(Path(name), unit, rows)
    times = {mode: {cell[2] for cell in without["origins"] if cell[0] == mode} for mode in ("bus", "train")}
    assert times == {"bus": {"-1", "06:00", "12:00"}, "train": {"-1", "06:00", "12:00"}}
    for table in without:
        changes = [abs(added[table][cell] - without[table][cell]) for cell in without[table]]
        assert sum(change > 0 for change in changes) <= MOST[unit]
        assert max(changes) <= 1
        assert without[table] == every[table] or table == "origins"
    if unit == "trip":  # nobody is lost
        outside = {cell: count for cell, count in every["origins"].items() if cell not in without["origins"]}
        assert sum(without["origins"].values()) == sum(every["origins"].values())
        moved: Counter[tuple[str, ...]] = Counter()
        for (mode, day, _, place), count in outside.items():
            moved[mode, day, "-1", place] += count
        assert all(without["origins"][cell] == every["origins"][cell] + moved[cell] for cell in without["origins"])


@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
@settings(max_examples=25)
@given(rows=ROWS, trace=st.lists(TRIP, min_size=1, max_size=8))
def test_a_unit_changes_as_many_cells_as_it_may_each_by_one(
    unit: str, rows: list[Row], trace: list[tuple[str, str, str, str, str]]
) -> None:
    """Also with places that no list has: they are one cell before a card is counted, not after."""
    if unit == "trip":
        trace = trace[:1]
    if unit == "card-day":
        trace = [(mode, trace[0][1], *rest) for mode, _, *rest in trace]  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as name:
        without = measured(Path(name), unit, rows)
        added = measured(Path(name), unit, [*rows, *(("new", *trip) for trip in trace)])
    for table in without:
        assert list(without[table]) == list(added[table]), "the cells that are there depend on trips"
        changes = [abs(added[table][cell] - without[table][cell]) for cell in without[table]]
        assert sum(change > 0 for change in changes) <= MOST[unit]
        assert max(changes) <= 1


@pytest.mark.parametrize("unit", ["card-day", "card"])
@settings(max_examples=25)
@given(rows=ROWS, trace=st.lists(TRIP, min_size=1, max_size=8))
def test_where_two_trips_of_a_unit_may_share_a_cell_they_do_and_no_more(
    unit: str, rows: list[Row], trace: list[tuple[str, str, str, str, str]]
) -> None:
    """No cell changes by more than two, all of them together by no more than a unit has trips; other tables as ever."""
    trace = [(mode, trace[0][1], *rest) for mode, _, *rest in trace]  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as name:
        without = measured(Path(name), unit, rows, "trips_per_cell = 2")
        added = measured(Path(name), unit, [*rows, *(("new", *trip) for trip in trace)], "trips_per_cell = 2")
        twice = measured(Path(name), unit, [*rows, *(("new", *trace[0]) for _ in range(3))], "trips_per_cell = 2")
    for table in without:
        most = 2 if table == "origins" else 1
        changes = [abs(added[table][cell] - without[table][cell]) for cell in without[table]]
        assert max(changes) <= most
        assert sum(changes) <= MOST[unit]
        inside = trace[0][0] != "ferry" and "2025-03-03" <= trace[0][1] <= "2025-03-05"
        assert max(abs(twice[table][cell] - without[table][cell]) for cell in without[table]) == most * inside


@settings(max_examples=20)
@given(rows=ROWS)
def test_all_trips_of_listed_days_and_modes_are_in_every_table(rows: list[Row]) -> None:
    with tempfile.TemporaryDirectory() as name:
        found = measured(Path(name), "trip", rows)
    inside = [row for row in rows if row[1] != "ferry" and "2025-03-03" <= row[2] <= "2025-03-05"]
    assert {sum(table.values()) for table in found.values()} == {len(inside)}


CLOCKS = st.sampled_from(["08:00", "08:20", "08:45", "23:50", "00:10", "25:30", "", "-1"])


@pytest.mark.parametrize("unit", ["trip", "card"])
@settings(max_examples=20)
@given(rows=st.lists(st.tuples(st.sampled_from(["1", "2"]), CLOCKS, CLOCKS), max_size=12))
def test_each_trip_has_one_class_of_durations_from_its_own_two_times(
    unit: str, rows: list[tuple[str, str, str]]
) -> None:
    """Also past midnight; and where a tap is missing, that of the unknown ones."""

    def minute(text: str) -> int | None:
        return None if text in ("", "-1") else int(text[:2]) * 60 + int(text[3:])

    def lasted(on: str, off: str) -> str:
        start, end = minute(on), minute(off)
        if start is None or end is None:
            return "-1"
        return next(label for label in ("00:30", "00:15", "00:00") if (end - start) % 1440 >= (minute(label) or 0))

    text = PLAN.format(unit=unit, bounds=BOUNDS[unit], per_cell="").replace(
        "\n[places]", '\ntap_off_time = "end"\n[places]'
    )
    text = text.replace("columns = []", 'columns = ["duration"]').replace('name = "total"', 'name = "lasted"')
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_csv(folder / "places.csv", PLACES, ("name", "mode", "latitude", "longitude"))
        trips = [(card, "bus", "2025-03-03", on, "Ash", "Oak", off) for card, on, off in rows]
        write_csv(folder / "trips.csv", trips, ("card", "mode", "day", "hour", "from", "to", "end"))
        plan = Plan.parse(text + '[world]\ndurations = ["00:00", "00:15", "00:30"]\n', base=folder)
        inputs = PublicInputs.of(plan)
        exact = counter.count(plan, inputs=inputs).tables["lasted"]
        listed = inputs.dictionaries["lasted"]
        assert listed is not None
        places, cells = exact.places_in(listed)
        labels = listed.column("duration").to_pylist()
        found = {labels[place]: int(exact_counts(exact)[cell]) for place, cell in zip(places, cells, strict=True)}
    assert set(labels) == {"-1", "00:00", "00:15", "00:30"}
    if unit == "trip":
        assert found == Counter(lasted(on, off) for _, on, off in rows)
    else:  # a card counts once in a cell, and with three trips at most
        of_card = {card: {lasted(on, off) for each, on, off in rows if each == card} for card in ("1", "2")}
        few = {card for card in of_card if sum(each == card for each, *_ in rows) <= MOST[unit]}
        least = Counter(each for card in few for each in of_card[card])
        assert all(found.get(each, 0) >= count for each, count in least.items())
        assert all(count <= sum(each in lasts for lasts in of_card.values()) for each, count in found.items())
