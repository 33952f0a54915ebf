"""Units of protection: contributions are bounded, and what one unit changes is what the accounting says."""

from __future__ import annotations

import csv
import datetime
import hashlib
import json
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapveil import release
from tapveil.base.errors import PlanError, TripDataError
from tapveil.internal import outlook as outlooks
from tapveil.plan.model import Plan
from tapveil.privacy.accountant import Exposure, epsilon
from tapveil.privacy.loss import Loss, whole_card_certified, whole_card_epsilon
from tapveil.privacy.mechanisms import Dictionary
from tapveil.trips.reasons import Reason
from tapveil.veil.statement import cost
from tests.conftest import write_csv
from tests.property.test_counting import cells, exact

Row = tuple[str, str, str, str]
"""Card, day, hour, stop."""
Tables = dict[str, Counter[tuple[str, ...]]]

PLAN = """
[release]
name = "units"
title = "Units"
partition = ["date"]
[source]
path = "trips.csv"
max_refused = 1
[source.columns]
card = "card"
date = "day"
tap_on_time = "hour"
tap_on_location = "stop"
[privacy]
unit = "{unit}"
neighbours = "{neighbours}"
mechanism = "{mechanism}"
epsilon = 8
delta = 1e-6
{bounds}
[[table]]
name = "time"
columns = ["tap_on_time"]
[[table]]
name = "place"
columns = ["tap_on_location"]
[[table]]
name = "both"
columns = ["tap_on_time", "tap_on_location"]
weight = 2
"""


TOTAL = '[[table]]\nname = "total"\ncolumns = []\nweight = "1/4"\n'


def plan_text(
    unit: str, bounds: str = "", without: str = "refuse", neighbours: str = "add-remove", mechanism: str = "gaussian"
) -> str:
    without = f'without_card = "{without}"\n' if unit != "trip" else ""
    return PLAN.format(unit=unit, neighbours=neighbours, mechanism=mechanism, bounds=without + bounds)


def count(folder: Path, text: str, rows: list[Row]) -> Tables:
    write_csv(folder / "trips.csv", rows, ("card", "day", "hour", "stop"))
    counted = exact(Plan.parse(text, base=folder))
    return {name: cells(table) for name, table in counted.tables.items()}


CARDS = st.sampled_from(["1", "2", "3", "4", " 2 "])
DAYS = st.sampled_from(["2025-03-03", "2025-03-04"])
HOURS = st.sampled_from(["07:00", "08:00", "09:00", "10:00"])
STOPS = st.sampled_from(["Ash", "Oak", "Elm", "A/B", "B"])
ROWS = st.lists(st.tuples(CARDS, DAYS, HOURS, STOPS), min_size=1, max_size=40)
NEW_STOPS = st.lists(st.tuples(DAYS, HOURS, st.sampled_from(["Aaa", "Zzz", "Ash", "Kai"])), min_size=1, max_size=12)


def changed(one: Tables, other: Tables) -> tuple[int, int]:
    """The most cells of a table that differ, and by how much at most."""
    differences = [
        {cell: abs(one[name][cell] - other[name][cell]) for cell in {*one[name], *other[name]}} for name in one
    ]
    number = max(sum(d > 0 for d in table.values()) for table in differences)
    return number, max((d for table in differences for d in table.values()), default=0)


@settings(max_examples=30)
@given(rows=ROWS, trace=NEW_STOPS, most=st.integers(1, 4), per_day=st.sampled_from([None, 1, 2]))
def test_a_card_changes_as_many_cells_as_it_may_each_by_one(
    rows: list[Row], trace: list[tuple[str, str, str]], most: int, per_day: int | None
) -> None:
    """Also when it brings stops that nobody else has: what is kept of the other cards must not move."""
    bounds = f"trips_per_card = {most}" + (f"\ntrips_per_day = {per_day}" if per_day else "")
    with tempfile.TemporaryDirectory() as name:
        text = plan_text("card", bounds) + TOTAL
        without = count(Path(name), text, rows)
        added = count(Path(name), text, [*rows, *(("new", *trip) for trip in trace)])
    number, by = changed(without, added)
    assert number <= most
    assert by <= 1
    assert number >= 1


@settings(max_examples=30)
@given(rows=ROWS, trace=NEW_STOPS, most=st.integers(1, 3))
def test_a_cards_day_changes_as_many_cells_as_it_may_each_by_one(
    rows: list[Row], trace: list[tuple[str, str, str]], most: int
) -> None:
    """The card has other days, too: they must not move."""
    others = [("new", "2025-03-09", hour, stop) for _, hour, stop in trace]
    day = [("new", "2025-03-08", hour, stop) for _, hour, stop in trace]
    text = plan_text("card-day", f"trips_per_day = {most}") + TOTAL
    with tempfile.TemporaryDirectory() as name:
        without = count(Path(name), text, [*rows, *others])
        added = count(Path(name), text, [*rows, *others, *day])
    number, by = changed(without, added)
    assert 1 <= number <= most
    assert by <= 1


@settings(max_examples=30)
@given(rows=ROWS, unit=st.sampled_from(["card", "card-day"]), by_day=st.booleans())
def test_a_total_has_each_card_once_in_each_part(rows: list[Row], unit: str, by_day: bool) -> None:
    """It is no sum of cells: a card that is in several of them is one card; without days, one for each of its days."""
    bounds = {"card": "trips_per_card = 99", "card-day": "trips_per_day = 99"}[unit]
    text = plan_text(unit, bounds) + TOTAL
    with tempfile.TemporaryDirectory() as name:
        found = count(Path(name), text if by_day else text.replace('["date"]', "[]"), rows)["total"]
    units = {(card.strip(), day) if by_day or unit == "card-day" else (card.strip(), "") for card, day, _, _ in rows}
    assert found == Counter((day,) if by_day else () for _, day in units)


@settings(max_examples=20)
@given(rows=ROWS, data=st.data())
def test_what_is_kept_does_not_depend_on_the_order_of_the_rows(rows: list[Row], data: st.DataObject) -> None:
    text = plan_text("card", "trips_per_card = 2")
    with tempfile.TemporaryDirectory() as name:
        assert count(Path(name), text, rows) == count(Path(name), text, data.draw(st.permutations(rows)))


@settings(max_examples=15)
@given(rows=ROWS, alone=NEW_STOPS, at_once=st.integers(1, 9))
def test_counting_in_shares_changes_nothing(rows: list[Row], alone: list[tuple[str, str, str]], at_once: int) -> None:
    """Rows without a card, too, are in one share."""
    text = plan_text("card", "trips_per_card = 2", "own-unit")
    every = [*rows, *(("", *trip) for trip in alone)]
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        whole = count(Path(name), text, every)
        patch.setattr("tapveil.counting.engines.duckdb.session.ROWS_AT_ONCE", at_once)
        patch.setattr("tapveil.counting.direct.card_counter.ROWS_AT_ONCE", at_once)
        assert count(Path(name), text, every) == whole


MINUTES = [7 * 60 + 5 * k for k in range(12)]


def parquet_rows(cards: int) -> dict[str, list[object]]:
    every = [(card, k) for card in range(cards) for k in range(6)]
    return {
        "card": [f"c{card}" for card, _ in every],
        "day": ["2025-03-03"] * len(every),
        "hour": [MINUTES[(5 * card + 7 * k) % 12] for card, k in every],
        "stop": [f"s{(3 * card + k) % 7}" for card, k in every],
    }


@pytest.mark.parametrize("how", ["int64", "float64", "text", "clock", "timestamp"])
def test_what_is_kept_does_not_depend_on_the_types_of_a_file(tmp_path: Path, how: str) -> None:
    """One row without a time makes a column of minutes a column of floats: nobody else's trips may move."""
    rows = parquet_rows(20)
    minutes = [int(str(minute)) for minute in rows["hour"]]
    texts = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in minutes]
    hours = {
        "int64": pa.array(minutes, pa.int64()),
        "float64": pa.array(minutes, pa.float64()),
        "text": pa.array(texts),
        "clock": pa.array([datetime.time(minute // 60, minute % 60) for minute in minutes]),
        "timestamp": pa.array([datetime.datetime(2025, 3, 3, minute // 60, minute % 60) for minute in minutes]),
    }
    plan = Plan.parse(plan_text("card", "trips_per_card = 2").replace("trips.csv", "*.parquet"), base=tmp_path)
    pq.write_table(pa.table({**rows, "hour": hours["int64"]}), tmp_path / "a.parquet")
    as_minutes = {name: cells(table) for name, table in exact(plan).tables.items()}
    pq.write_table(pa.table({**rows, "hour": hours[how]}), tmp_path / "a.parquet")
    assert {name: cells(table) for name, table in exact(plan).tables.items()} == as_minutes


def test_cards_that_a_float_cannot_hold_are_refused(tmp_path: Path) -> None:
    text = plan_text("card", "trips_per_card = 2", "own-unit").replace("trips.csv", "*.parquet")
    rows = {"day": ["2025-03-03"] * 3, "hour": ["07:00"] * 3, "stop": ["Ash"] * 3}
    pq.write_table(pa.table({"card": [2.0**53, 3085000000422532001.0, 12.0], **rows}), tmp_path / "a.parquet")
    counted = exact(Plan.parse(text, base=tmp_path))
    assert dict(counted.refusals.by_reason) == {Reason("unreadable", "card"): 1}
    big = pa.array([2**62, 2**62 + 1, 7], pa.int64())
    pq.write_table(pa.table({"card": big, **rows}), tmp_path / "a.parquet")
    assert sum(cells(exact(Plan.parse(text, base=tmp_path)).tables["both"]).values()) == 3


def test_blanks_around_a_card_are_those_around_all_values(tmp_path: Path) -> None:
    rows = [(card, "2025-03-03", "07:00", "Ash") for card in ("A", "A\t", "\u2003A", "\x85A\x0b")]
    assert count(tmp_path, plan_text("card", "trips_per_card = 1"), rows)["both"].total() == 1


def test_days_by_their_labels_cannot_be_bounded() -> None:
    text = plan_text("card-day", "trips_per_day = 2").replace("max_refused = 1", 'max_refused = 1\ndates = "labels"')
    with pytest.raises(PlanError, match="one day could be several"):
        Plan.parse(text)


DAY_OF_NO_ROW = {
    "one value for every row": ('{ value = "2025-03-03" }', "is read from the files"),
    "a day of any month": ('{ column = "day", format = "%d" }', "several days would become one"),
    "a day of any year": ('{ column = "day", format = "%d/%m" }', "several days would become one"),
    "an hour": ('{ column = "day", format = "%H:%M" }', "several days would become one"),
}


@pytest.mark.parametrize(("day", "message"), DAY_OF_NO_ROW.values(), ids=DAY_OF_NO_ROW.keys())
@pytest.mark.parametrize("unit", ["card-day", "card"])
@pytest.mark.parametrize("more", ["", '\nday_starts = "04:00"'])
def test_several_days_cannot_pass_for_one(unit: str, more: str, day: str, message: str) -> None:
    """What is kept of a card's Monday would depend on its Tuesday."""
    bounds = "trips_per_day = 2" + ("\ntrips_per_card = 4" if unit == "card" else "")
    text = plan_text(unit, bounds).replace('date = "day"', f"date = {day}")
    with pytest.raises(PlanError, match=message):
        Plan.parse(text.replace("max_refused = 1", f"max_refused = 1{more}"))


def test_a_single_day_may_be_named_by_the_plan(tmp_path: Path) -> None:
    """With a card as the unit, all that it did in these files is one unit, whatever day that was."""
    text = plan_text("card", "trips_per_card = 2").replace('date = "day"', 'date = { value = "2025-03-03" }')
    rows = [("1", "", "07:00", "Ash"), ("1", "", "08:00", "Ash"), ("1", "", "09:00", "Ash")]
    assert count(tmp_path, text, rows)["both"].total() == 2
    assert Plan.parse(text).guarantee.exposure.cells == 2


def test_a_unit_counts_once_in_a_cell(tmp_path: Path) -> None:
    rows = [("1", "2025-03-03", "07:00", "Ash")] * 3 + [("2", "2025-03-03", "07:00", "Ash")]
    tables = count(tmp_path, plan_text("card", "trips_per_card = 10"), rows)
    assert tables["both"] == {("2025-03-03", "07:00", "Ash"): 2}
    assert count(tmp_path, plan_text("trip"), rows)["both"] == {("2025-03-03", "07:00", "Ash"): 4}


def test_a_card_is_a_card_on_another_day_and_two_units_by_the_day(tmp_path: Path) -> None:
    rows = [("1", day, "07:00", "Ash") for day in ("2025-03-03", "2025-03-04")]
    text = plan_text("card", "trips_per_card = 10").replace('["date"]', "[]")
    assert count(tmp_path, text, rows)["both"] == {("07:00", "Ash"): 1}
    text = plan_text("card-day", "trips_per_day = 10").replace('["date"]', "[]")
    assert count(tmp_path, text, rows)["both"] == {("07:00", "Ash"): 2}


def test_rows_without_a_card(tmp_path: Path) -> None:
    rows = [
        ("", "2025-03-03", "07:00", "Ash"),
        (" ", "2025-03-03", "07:00", "Ash"),
        ("1", "2025-03-03", "07:00", "Ash"),
    ]
    cell = ("2025-03-03", "07:00", "Ash")
    assert count(tmp_path, plan_text("card", "trips_per_card = 1", "own-unit"), rows)["both"][cell] == 3
    assert count(tmp_path, plan_text("card", "trips_per_card = 1", "refuse"), rows)["both"][cell] == 1
    refused = exact(Plan.parse(plan_text("card", "trips_per_card = 1", "refuse"), base=tmp_path)).refusals
    assert dict(refused.by_reason) == {Reason("missing", "card"): 2}
    assert refused.rows == 3


def test_a_card_is_its_spelling_without_blanks_and_decimals(tmp_path: Path) -> None:
    """The same card as text, with blanks, and as a number that passed through a float."""
    text = plan_text("card", "trips_per_card = 1").replace("trips.csv", "*.parquet")
    day = {"day": ["2025-03-03"] * 2, "hour": ["07:00", "08:00"], "stop": ["Ash", "Oak"]}
    for name, column in {"a": pa.array([" 12 ", "12"]), "b": pa.array([12.0, 12.0])}.items():
        pq.write_table(pa.table({"card": column, **day}), tmp_path / f"{name}.parquet")
    counted = exact(Plan.parse(text, base=tmp_path))
    assert sum(cells(counted.tables["both"]).values()) == 1
    assert counted.left_out == 3


def test_a_card_that_passed_through_a_float_is_the_same_card_in_csv(tmp_path: Path) -> None:
    rows = [(card, "2025-03-03", "07:00", "Ash") for card in ("7", "7.0", " 7.0 ", "07", "7.05", "a.0")]
    tables = count(tmp_path, plan_text("card", "trips_per_card = 9"), rows)
    assert tables["both"] == {("2025-03-03", "07:00", "Ash"): 4}


def test_the_holder_sees_what_was_left_out(tmp_path: Path) -> None:
    rows = [("1", "2025-03-03", f"{hour:02d}:00", "Ash") for hour in range(10)]
    write_csv(tmp_path / "trips.csv", rows, ("card", "day", "hour", "stop"))
    outlook = outlooks.outlook(Plan.parse(plan_text("card", "trips_per_card = 3"), base=tmp_path))
    assert outlook.left_out == 7
    assert outlook.as_json()["trips_beyond_bounds"] == 7


def test_sensitivity_follows_from_the_plan() -> None:
    assert Plan.parse(plan_text("trip")).guarantee.exposure == Exposure("add-remove", 1)
    assert Plan.parse(plan_text("card-day", "trips_per_day = 4")).guarantee.exposure == Exposure("add-remove", 4)
    plan = Plan.parse(plan_text("card", "trips_per_card = 30\ntrips_per_day = 4", neighbours="replace"))
    assert plan.guarantee.exposure == Exposure("replace", 30)
    assert plan.guarantee.exposure.changed == 60


MISTAKES = {
    "no bound for a card": ("card", "", '[privacy] unit: "card" needs trips_per_card'),
    "no bound for a day": ("card-day", "", '[privacy] unit: "card-day" needs trips_per_day'),
    "a cap over days": ("card-day", "trips_per_day = 2\ntrips_per_card = 9", "must not depend on each other"),
    "a bound for a trip": ("trip", "trips_per_day = 2", 'is only for unit = "card-day" or "card"'),
    "none at all": ("card", "trips_per_card = 0", "`trips_per_card`"),
    "a cut": ("trip", "cut = 3", '[privacy] cut: is only for mechanism = "dictionary"'),
}


@pytest.mark.parametrize(("unit", "bounds", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_unit_that_cannot_be_kept_is_refused(unit: str, bounds: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan.parse(plan_text(unit, bounds))
    assert message in str(caught.value)


def test_a_card_unit_needs_the_card_column() -> None:
    text = plan_text("card", "trips_per_card = 2").replace('card = "card"\n', "")
    with pytest.raises(PlanError, match="needs a column `card`"):
        Plan.parse(text)
    with pytest.raises(PlanError, match="without_card"):
        Plan.parse(plan_text("card", "trips_per_card = 2").replace('without_card = "refuse"\n', ""))


def test_a_total_and_weights_go_together() -> None:
    with pytest.raises(PlanError, match="replace epsilon and delta of this table by a weight"):
        Plan.parse(plan_text("trip").replace("weight = 2", "epsilon = 2"))
    with pytest.raises(PlanError, match="a weight is a share of a total"):
        Plan.parse(plan_text("trip").replace("epsilon = 8\ndelta = 1e-6\n", ""))
    with pytest.raises(PlanError, match="delta is missing"):
        Plan.parse(plan_text("trip").replace("delta = 1e-6\n", ""))


@pytest.mark.parametrize("mechanism", ["sbh", "laplace", "gaussian"])
@pytest.mark.parametrize(("epsilon", "delta"), [("250", "1e-6"), ("80", "1e-6"), ("0.05", "1e-14"), ("0.5", "0.9")])
def test_extreme_plans_are_kept_or_refused_in_words(mechanism: str, epsilon: str, delta: str) -> None:
    """Where noise is so narrow, or δ so small, that an ε of the other notion does not exist."""
    text = plan_text("trip", mechanism=mechanism).replace("epsilon = 8", f"epsilon = {epsilon}")
    text = text.replace("delta = 1e-6", f"delta = {delta}")
    try:
        stated = cost(Plan.parse(text))
    except PlanError as error:
        assert "too coarse" in str(error) or "must be at" in str(error)  # noqa: PT017
    else:
        assert all(guarantee["delta_accounted"] <= guarantee["delta"] for guarantee in stated["guarantees"])


def test_a_dictionary_too_narrow_for_its_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="at most 40 for each changed cell"):
        Plan.parse(LISTED.format(cut=1).replace("epsilon = 2", "epsilon = 100"), base=tmp_path)


def test_a_release_of_cards_says_so(tmp_path: Path) -> None:
    rows = [(str(card), "2025-03-03", "07:00", "Ash") for card in range(200)]
    write_csv(tmp_path / "trips.csv", rows, ("card", "day", "hour", "stop"))
    release(
        Plan.parse(plan_text("card", "trips_per_card = 2", "own-unit"), base=tmp_path),
        tmp_path / "out",
        in_ledger=False,
    )
    stated = json.loads((tmp_path / "out" / "privacy.json").read_text())
    assert stated["unit"] == "card"
    assert stated["bounds"] == {"cells_per_table": 2, "trips_per_card": 2, "without_card": "own-unit"}
    assert [each["neighbours"] for each in stated["guarantees"]] == ["replace", "add-remove"]
    assert stated["whole_cards"] is None
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "cards, each once per cell" in readme
    assert "At most 2 trips of each card are counted" in readme
    with (tmp_path / "out" / "data" / "both.csv").open() as file:
        (published,) = csv.DictReader(file)
    assert abs(int(published["count"]) - 200) < 40


def test_a_trip_plan_shows_what_it_means_for_a_card() -> None:
    cards = {card["trips"]: card for card in cost(Plan.preset("opal"))["whole_cards"]}
    assert list(cards) == [2, 10, 28, 40]
    assert cards[2]["epsilon"] == pytest.approx(7.94, abs=0.01)
    assert cards[40]["epsilon"] > cards[28]["epsilon"] > cards[10]["epsilon"] > 20
    assert cards[40]["delta"] == pytest.approx(40 * 7.5e-7)


@pytest.mark.parametrize("trips", [2, 10, 40])
def test_the_quick_bound_for_a_card_is_a_little_above_the_close_one(trips: int) -> None:
    mechanisms = list(Plan.preset("opal").guarantee.mechanisms.values())
    delta = Fraction(trips * 75, 10**8)
    quick = whole_card_epsilon(mechanisms, trips, delta)
    close = epsilon([m.cells for m in mechanisms], float(delta), Exposure("add-remove", trips), precision=1e-4)
    assert quick is not None
    assert close <= quick <= close * 1.01
    assert whole_card_certified(mechanisms, trips, Loss(quick, delta))
    assert not whole_card_certified(mechanisms, trips, Loss(Fraction(close) * Fraction(99, 100), delta))


def test_without_delta_a_card_has_no_bound_of_its_own() -> None:
    assert whole_card_epsilon(list(Plan.preset("opal").guarantee.mechanisms.values()), 2, Fraction(0)) is None


# --- dictionaries ---------------------------------------------------------------------------------------------------

LISTED = """
[release]
name = "listed"
title = "Listed"
partition = []
[source]
path = "trips.csv"
[source.columns]
tap_on_time = "hour"
tap_on_location = "stop"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "dictionary"
cut = {cut}
[[table]]
name = "both"
columns = ["tap_on_time", "tap_on_location"]
epsilon = 2
cells = "cells.csv"
"""


def listed_plan(folder: Path, cut: int = 1, stops: int = 50) -> Plan:
    write_csv(folder / "trips.csv", [("7:05", "s1")] * 300 + [("07:00", "elsewhere")] * 300, ("hour", "stop"))
    write_csv(
        folder / "cells.csv",
        [(f"s{stop}", hour) for stop in range(stops) for hour in ("7:00", "08:00")],
        ("tap_on_location", "tap_on_time"),
    )
    return Plan.parse(LISTED.format(cut=cut), base=folder)


def published(folder: Path, plan: Plan) -> dict[tuple[str, str], int]:
    release(plan, folder / "out", in_ledger=False)
    with (folder / "out" / "data" / "both.csv").open() as file:
        return {(row["tap_on_time"], row["tap_on_location"]): int(row["count"]) for row in csv.DictReader(file)}


def test_a_dictionary_has_noise_on_every_listed_cell_and_on_no_other(tmp_path: Path) -> None:
    plan = listed_plan(tmp_path)
    assert plan.guarantee.mechanisms["both"] == Dictionary(Fraction(1), 1)
    assert plan.guarantee.loss.delta == 0
    found = published(tmp_path, plan)
    assert abs(found["07:00", "s1"] - 300) < 50
    assert ("07:00", "elsewhere") not in found  # it is not on the list
    assert abs(len(found) - outlooks.outlook(plan).tables[0].expected_cells) < 6 * 4.5
    assert 5 < len(found) < 60  # 99 empty cells, 27 % of them printed
    assert min(found.values()) == 1
    assert list(found) == sorted(found)
    stated = json.loads((tmp_path / "out" / "privacy.json").read_text())
    assert stated["delta"] == 0
    digest = hashlib.sha256((tmp_path / "cells.csv").read_bytes()).hexdigest()
    assert stated["public_files_sha256"] == {"cells of both": digest}


def test_a_cut_is_public_and_costs_nothing(tmp_path: Path) -> None:
    plan = listed_plan(tmp_path, cut=30)
    assert plan.guarantee.loss == listed_plan(tmp_path).guarantee.loss
    assert set(published(tmp_path, plan)) == {("07:00", "s1")}


def test_a_long_list_is_drawn_sparsely_with_the_same_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapveil.veil.crossing.LONG_LIST", 10)
    found = published(tmp_path, listed_plan(tmp_path, stops=5000))
    assert abs(found["07:00", "s1"] - 300) < 50
    assert list(found) == sorted(found)
    empty = [count for cell, count in found.items() if cell != ("07:00", "s1")]
    q = 0.36787944117144233
    assert abs(len(empty) - 9999 * q / (1 + q)) < 6 * 45
    assert abs(empty.count(1) / len(empty) - (1 - q)) < 6 * 0.0093


def test_the_holder_sees_what_the_list_leaves_out(tmp_path: Path) -> None:
    (note,) = outlooks.outlook(listed_plan(tmp_path)).notes
    assert "99 of 100 listed cells are empty" in note
    assert "300 trips are in cells that are not listed" in note


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no column `tap_on_time`"),
        ("tap_on_time,tap_on_location\n", "has a header but no cells"),
        ("tap_on_time,tap_on_location\nsoon,s1\n", "line 2: `tap_on_time` cannot be read as a time"),
        ("tap_on_tim,tap_on_location\n07:00,s1\n", "did you mean `tap_on_tim`"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path: Path, text: str, message: str) -> None:
    plan = listed_plan(tmp_path)
    (tmp_path / "cells.csv").write_text(text)
    with pytest.raises(TripDataError):
        outlooks.read_public_files(plan)  # as `check --plan-only` does
    with pytest.raises(TripDataError) as caught:
        release(plan, tmp_path / "out", in_ledger=False)
    assert message in str(caught.value)
    (tmp_path / "cells.csv").unlink()
    with pytest.raises(TripDataError, match="there is no list of cells"):
        release(plan, tmp_path / "out", in_ledger=False)
    assert not (tmp_path / "out").exists()
