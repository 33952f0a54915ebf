"""Trips are counted straight from their files, or by SQL: by either route the same counts, and the same refusals."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tapveil.base.errors import TripDataError
from tapveil.counting import counter
from tapveil.counting.counter import count
from tapveil.counting.direct import clock, tally
from tapveil.counting.direct import counter as direct
from tapveil.counting.direct.batches import NeedsEngineError
from tapveil.counting.direct.fast_path import FastPath
from tapveil.counting.direct.tally import Tally
from tapveil.counting.exact import Counted
from tapveil.counting.refusals import refuse_too_many
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan
from tapveil.trips import files
from tapveil.trips.buffers import Positions
from tapveil.trips.reasons import MALFORMED, Reason
from tapveil.trips.reasons import NOT_UTF8 as NOT_UTF8_LINE
from tests.conftest import WITH_TOTAL, free_plan, opal_plan
from tests.property.test_counting import cells


@pytest.fixture(autouse=True, scope="module")
def few() -> Iterator[None]:
    """Few rows make known what is new, so that the short way is taken by as many as can take it."""
    with mock.patch.object(direct, "FEW", 50):
        yield


DAYS = [date(2016, 8, 8) + timedelta(days=n) for n in range(9)]
PLACES = ["Central", "1001", " 1001", "1002", "9999", 'The "Folly", No. 3', "東門", "", "-1", None]
MODES = ["bus", "train", " bus ", "ferry", "", None]


def some(values: list[Any], rows: int, seed: int) -> list[Any]:
    return random.Random(seed).choices(values, k=rows)


def times(kind: str, rows: int) -> pa.Array:
    """Times of one type, with what such a type can have that is no time."""
    minutes = [*range(-3, 1442), 2879, 2880, 2881, None]
    chosen = some(minutes, rows, 7)
    if kind.startswith(("int", "uint")):
        low = 0 if kind.startswith("u") else -9
        typed = getattr(pa, kind)()
        room = 8 * (typed.bit_width // 8) - (not kind.startswith("u"))
        extreme = [2**room - 1, 0 if kind.startswith("u") else -(2**room)]
        kept = [n if n is None or low <= n < 2**room else 0 for n in chosen]
        return pa.array([*kept[:-2], *extreme], typed)
    if kind.startswith("time"):
        unit = kind[4:]
        typed = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        clock = [None if n is None else time(n % 1440 // 60, n % 60, 59) for n in chosen]
        return pa.array(clock, typed)
    if kind.startswith("stamp"):
        beyond = datetime(1, 1, 1) if kind != "stampns" else datetime(1677, 9, 22)
        late = datetime(9999, 12, 31, 23, 59, 59) if kind != "stampns" else datetime(2262, 4, 10)
        stamps = [None if n is None else datetime(2016, 8, 8, 0, 0, 30) + timedelta(minutes=n) for n in chosen]
        return pa.array([*stamps[:-3], beyond, late, datetime(1969, 12, 31, 23, 59, 59)], pa.timestamp(kind[5:]))
    texts = [None if n is None else f"{n // 60:02d}:{n % 60:02d}" if n % 3 else str(n) for n in chosen]
    return pa.array(texts, pa.string())


def days(kind: str, rows: int) -> pa.Array:
    chosen = some([*DAYS, date(2016, 8, 8), None], rows, 3)
    if kind == "date":
        return pa.array([*chosen[:-1], date(1, 1, 1)], pa.date32())
    if kind == "beyond":  # a date of a year that has five digits
        numbers = [None if day is None else (day - date(1970, 1, 1)).days for day in chosen]
        return pa.array([*numbers[:-2], 3_000_000, -900_000], pa.int32()).view(pa.date32())
    if kind == "stamp":
        return pa.array([day and datetime(day.year, day.month, day.day, 23, 59) for day in chosen], pa.timestamp("us"))
    if kind == "integer":
        return pa.array([day and int(day.strftime("%Y%m%d")) for day in chosen], pa.int64())
    return pa.array([day and day.isoformat() for day in chosen], pa.string())


KINDS = [
    *(("date", kind) for kind in ("text", "int8", "int16", "int64", "uint8", "uint32", "uint64")),
    *(("date", f"time{unit}") for unit in ("s", "ms", "us", "ns")),
    *(("date", f"stamp{unit}") for unit in ("s", "ms", "us", "ns")),
    *((kind, "text") for kind in ("text", "beyond", "stamp", "integer")),
]


def write(path: Path, day_kind: str, time_kind: str, rows: int = 4000) -> None:
    coded = pa.array(some(PLACES, rows, 5), pa.string()).dictionary_encode()
    table = {
        "trip_date": days(day_kind, rows),
        "mode": pa.array(some(MODES, rows, 1), pa.string()),
        "tap_on_time": times(time_kind, rows),
        "tap_on_location": pa.array(some(PLACES, rows, 4), pa.string()),
        "tap_off_time": times(time_kind, rows)[::-1] if time_kind == "text" else times(time_kind, rows),
        "tap_off_location": coded,
    }
    pq.write_table(pa.table(table), path, row_group_size=1500)


def by_sql(plan: Plan) -> Counted:
    """Counted by the engine, whatever could be counted without it."""
    with mock.patch.object(direct, "suits", return_value=False):
        return count(plan, locate=True)


def both_routes(plan: Plan) -> tuple[Counted, Counted]:
    return count(plan), by_sql(plan)


def assert_same(ours: Counted, theirs: Counted) -> None:
    assert set(ours.tables) == set(theirs.tables)
    for name in ours.tables:
        assert cells(ours.tables[name]) == cells(theirs.tables[name]), name
        assert ours.tables[name].packing.columns == theirs.tables[name].packing.columns
    assert Counter(ours.refusals.by_reason) == Counter(theirs.refusals.by_reason)
    assert (ours.refusals.rows, ours.refusals.elsewhere) == (theirs.refusals.rows, theirs.refusals.elsewhere)


@pytest.mark.parametrize(("day_kind", "time_kind"), KINDS)
def test_typed_columns_count_the_same_by_either_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, day_kind: str, time_kind: str
) -> None:
    write(tmp_path / "trips.parquet", day_kind, time_kind)
    plan = opal_plan(tmp_path, "trips.parquet", **WITH_TOTAL)
    assert direct.suits(plan, files.find(plan), PublicInputs.of(plan).areas)
    expected = by_sql(plan)
    assert_same(count(plan), expected)
    monkeypatch.setattr(direct, "AT_ONCE", 500)
    with short_ways() as (short, left):
        assert_same(count(plan), expected)
    counted = sum(short) - sum(left)  # the rest are refused, or the first to have what they have
    assert counted > 1000 or "ns" in day_kind + time_kind


FORMATTED = {
    "hours": ("hours", [*range(26), 47, 48, -1, None]),
    "clock": ("%H%M", [0, 5, 101, 731, 1159, 2359, 2400, 60, -1, None]),
    "epoch": ("epoch", [1470609060, 1470609060_000, 1470609060_000_000, 147060906, -1, None]),
}


@pytest.mark.parametrize("name", FORMATTED)
@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64()])
def test_numbers_in_a_format_count_the_same_by_either_route(tmp_path: Path, name: str, kind: pa.DataType) -> None:
    """As integers they are not minutes, whatever their type."""
    written, values = FORMATTED[name]
    write(tmp_path / "trips.parquet", "date", "int32")
    table = pq.read_table(tmp_path / "trips.parquet")
    chosen = pa.array(some(values, len(table), 11), pa.int64()).cast(kind)
    table = table.set_column(table.schema.get_field_index("tap_on_time"), "tap_on_time", chosen)
    pq.write_table(table, tmp_path / "trips.parquet", row_group_size=1500)
    column = f'tap_on_time = {{ column = "tap_on_time", format = "{written}" }}'
    zone = {"[source]\n": '[source]\ntimezone = "Australia/Sydney"\n'} if name == "epoch" else {}
    wanted = {'tap_on_time = "tap_on_time"': column, "1 %": "90 %", **zone}
    plan = opal_plan(tmp_path, "trips.parquet", **wanted)
    ours, theirs = both_routes(plan)
    assert_same(ours, theirs)
    expected = {"hours": "07:00", "clock": "07:30", "epoch": "08:30"}[name]
    assert expected in {label for cell in cells(ours.tables["on_time"]) for label in cell}


@contextmanager
def short_ways() -> Iterator[tuple[list[int], list[int]]]:
    """How many rows of each batch were tried the short way, and how many of them were left."""
    tried, left = list[int](), list[int]()
    add = FastPath.add

    def spied(self: FastPath, batch: pa.RecordBatch) -> Positions:
        rest = add(self, batch)
        tried.append(batch.num_rows)
        left.append(len(rest))
        return rest

    with mock.patch.object(FastPath, "add", spied):
        yield tried, left


@pytest.mark.parametrize("kind", ["stampus", "stamps", "timems", "int32", "uint16"])
@pytest.mark.parametrize(("minutes", "bins"), [(15, 8), (1, 64), (60, 1 << 12), (180, 4)])
def test_times_are_binned_alike_wherever_most_of_them_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, minutes: int, bins: int
) -> None:
    """Tables of few bins, and days that begin in the night: what lies beyond them goes the long way."""
    write(tmp_path / "trips.parquet", "date", kind)
    changed = {
        "time_minutes = 15": f'time_minutes = {minutes}\nafter_midnight = "continued"',
        "[source]\n": '[source]\nday_starts = "03:00"\n',
        **WITH_TOTAL,
    }
    plan = opal_plan(tmp_path, "trips.parquet", **changed)
    expected = by_sql(plan)
    monkeypatch.setattr(clock, "LEAST_BINS", bins)
    monkeypatch.setattr(clock, "MOST_BINS", bins)
    monkeypatch.setattr(direct, "AT_ONCE", 300)
    assert_same(count(plan), expected)


def test_counts_do_not_depend_on_where_batches_and_runs_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few places, short runs, small batches: keys are sorted, merged, moved and spread over and over."""
    write(tmp_path / "trips.parquet", "date", "stampms")
    plan = opal_plan(tmp_path, "trips.parquet", **WITH_TOTAL)
    expected = by_sql(plan)
    for places, at_once, rows in ((1 << 25, 64, 37), (2000, 64, 100), (0, 50, 1000), (1 << 25, 1 << 20, 4096)):
        monkeypatch.setattr(tally, "MOST_COUNTERS", places)
        monkeypatch.setattr(tally, "AT_ONCE", at_once)
        monkeypatch.setattr(direct, "AT_ONCE", rows)
        assert_same(count(plan), expected)


def test_what_does_not_fit_into_memory_is_counted_by_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "trips.parquet", "date", "stampms")
    plan = opal_plan(tmp_path, "trips.parquet", **WITH_TOTAL)
    expected = count(plan)
    monkeypatch.setattr(tally, "MOST_COUNTERS", 0)
    monkeypatch.setattr(tally, "AT_ONCE", 64)
    monkeypatch.setattr(direct, "BYTES_OF_A_CELL", 10**8)
    with pytest.raises(NeedsEngineError):
        direct.Pass(plan, files.find(plan), PublicInputs.of(plan).areas, {}, 10**9).count()
    assert_same(count(plan), expected)


def test_what_only_refused_rows_say_takes_no_room(tmp_path: Path) -> None:
    """A stop means itself for a train and its postcode for a bus: of 5000 stops, trains have none."""
    rows = 20_000
    stops = [f"{n}" for n in some(list(range(5000)), rows, 1)]
    table = {
        "trip_date": pa.array([DAYS[0]] * rows),
        "mode": pa.array(["bus" if n % 2 else "" for n in range(rows)]),
        "tap_on_time": pa.array(["07:30"] * rows),
        "tap_on_location": pa.array(stops),
        "tap_off_time": pa.array(["07:45"] * rows),
        "tap_off_location": pa.array(stops),
    }
    pq.write_table(pa.table(table), tmp_path / "trips.parquet")
    counted = count(opal_plan(tmp_path, "trips.parquet", **{"1 %": "60 %"}))
    assert len(counted.tables["on_location"].labels["tap_on_location"]) < 10


@pytest.mark.parametrize(("keys", "in_32_bits"), [(0, 2**31), (10**6, 2**31), (0, 12_000), (10**6, 12_000)])
def test_a_tally_is_a_counter(monkeypatch: pytest.MonkeyPatch, keys: int, in_32_bits: int) -> None:
    """However many keys are expected, and also once there are more than a small counter could hold."""
    monkeypatch.setattr(tally, "SETTLED", 5000)
    monkeypatch.setattr(tally, "CELLS_AT_ONCE", 1000)
    monkeypatch.setattr(tally, "MOST_IN_32_BITS", in_32_bits)
    chance = np.random.default_rng(1)
    ours, expected = Tally(["day", "place"], {}, 10**6, 10**6, keys), Counter[tuple[int, int]]()
    for size in (3, 3, 10, 11, 50, 400, 401):
        days, places = chance.integers(0, size, 5000), chance.integers(0, 2 * size, 5000)
        strides = ours.strides({"day": size, "place": 2 * size})
        ours.add(days * strides["day"] + places * strides["place"])
        expected.update(zip(days.tolist(), places.tolist(), strict=True))
    found = Counter[tuple[int, int]]()
    for codes, numbers in ours.cells():
        cells = zip(codes["day"].tolist(), codes["place"].tolist(), strict=True)
        found.update(dict(zip(cells, numbers.tolist(), strict=True)))
    assert found == expected


@pytest.mark.parametrize("name", ["spare", "variants", "keys", "common", "part", "start", "tap_on_time"])
def test_a_column_may_be_called_as_ours_are(tmp_path: Path, name: str) -> None:
    write(tmp_path / "trips.parquet", "date", "stampms")
    columns = {name: "mode", "line": "tap_on_location", "tap_off_time": "tap_off_time"}
    tables = {"all": [name, "line", "tap_off_time"], "total": []}
    plan = free_plan(tmp_path, "trips.parquet", columns, tables)
    assert_same(*both_routes(plan))


ODD = {
    "nanoseconds": pa.array([1470700799999999999, 1470700800000000000, 2**62], pa.timestamp("ns")),
    "clock": pa.array([899999999999, 0, None], pa.time64("ns")),
    "list": pa.array([["a"], [], None], pa.list_(pa.string())),
    "struct": pa.array([{"a": 1}, None, {"a": 2}]),
    "bool": pa.array([True, False, None]),
    "float": pa.array([1.5, 2.0, None]),
    "large": pa.array(["a", "", None], pa.large_string()),
    "view": pa.array(["a", "", None], pa.string_view()),
    "days": pa.array([0, 86_400_000, None], pa.date64()),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_types_count_the_same_by_either_route(tmp_path: Path, kind: str) -> None:
    pq.write_table(pa.table({"x": ODD[kind], "y": ["a", "b", "b"]}), tmp_path / "trips.parquet")
    ours = "tap_on_time" if kind in ("nanoseconds", "clock") else "label"
    plan = free_plan(tmp_path, "trips.parquet", {ours: "x", "line": "y"}, {"all": [ours, "line"]})
    assert_same(*both_routes(plan))


def stored_as(kind: pa.DataType, *values: int) -> pa.Array:
    """Values as they lie in memory, whether or not the type allows them."""
    data = b"".join(value.to_bytes(kind.bit_width // 8, "little", signed=value < 0) for value in values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])


NOT_UTF8 = pa.array([b"caf\xe9", b"b", b"b"]).view(pa.string())
FAR, HOUR = 2**63 - 1, 3600 * 10**6
ILL_TYPED = {
    "text": NOT_UTF8,
    "large text": NOT_UTF8.cast(pa.large_binary()).view(pa.large_string()),
    "text as a view": NOT_UTF8.cast(pa.binary_view()).cast(pa.binary()).view(pa.string()).cast(pa.string_view()),
    "listed text": pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), NOT_UTF8[:2]),
    "text in a struct": pa.StructArray.from_arrays([NOT_UTF8], ["a"]),
    "text in a list": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), NOT_UTF8),
    "time32[ms]": stored_as(pa.time32("ms"), 86_400_001, 86_400_000, 7),
    "time32[ms] below 0": stored_as(pa.time32("ms"), -1, 0, 7),
    "time64[us]": stored_as(pa.time64("us"), FAR, HOUR, HOUR),
    "time64[ns]": stored_as(pa.time64("ns"), FAR, HOUR, HOUR),
}
"""Three values each, of which the type does not allow the first."""


@pytest.mark.parametrize("ours", ["tap_on_time", "date", "label", "tap_on_location"])
@pytest.mark.parametrize("kind", ILL_TYPED)
def test_a_value_that_its_type_does_not_allow_refuses_its_row_alone(tmp_path: Path, kind: str, ours: str) -> None:
    pq.write_table(pa.table({"x": ILL_TYPED[kind], "y": ["a", "b", "b"]}), tmp_path / "trips.parquet")
    plan = free_plan(tmp_path, "trips.parquet", {ours: "x", "line": "y"}, {"all": [ours, "line"]})
    direct, by_sql = both_routes(plan)
    assert_same(direct, by_sql)
    assert direct.refusals.by_reason[Reason("ill-typed")] == 1
    assert by_sql.refusals.located[Reason("ill-typed")] == [("trips.parquet", 1)]
    assert direct.refusals.rows == 3


@pytest.mark.parametrize("kind", ["text", "listed text", "text as a view"])
def test_a_card_that_is_no_text_refuses_its_row_only_where_cards_count(tmp_path: Path, kind: str) -> None:
    pq.write_table(pa.table({"card": ILL_TYPED[kind], "y": ["a", "b", "c"]}), tmp_path / "trips.parquet")
    plan = free_plan(tmp_path, "trips.parquet", {"card": "card", "line": "y"}, {"all": ["line"]})
    direct, by_sql = both_routes(plan)
    assert_same(direct, by_sql)
    assert direct.refusals.refused == 0
    assert counter.cards_among(["b", "c"], plan, shapes=direct.cards) == {"b"}
    of_cards = {"unit": "card", "trips_per_card": 1, "without_card": "refuse", "neighbours": "add-remove"}
    by_card = plan.model_copy(update={"privacy": plan.privacy.model_copy(update=of_cards)})
    counted = count(by_card)
    assert counted.refusals.by_reason == {Reason("ill-typed"): 1}
    assert sum(cells(counted.tables["all"]).values()) == 1


@pytest.mark.parametrize("ours", ["tap_on_time", "date", "label"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_timestamp_that_an_engine_cannot_hold_refuses_its_row_alone(tmp_path: Path, unit: str, ours: str) -> None:
    """Milliseconds reach farther than DuckDB does; of the first microseconds it cannot say the date."""
    one_day = {"ms": 1000, "us": 10**6, "ns": 10**9}[unit] * 1_470_700_800
    pq.write_table(
        pa.table({"x": stored_as(pa.timestamp(unit), FAR, -FAR - 1, one_day, one_day), "y": list("abcd")}),
        tmp_path / "trips.parquet",
    )
    plan = free_plan(tmp_path, "trips.parquet", {ours: "x", "line": "y"}, {"all": [ours, "line"]})
    direct, by_sql = both_routes(plan)
    assert_same(direct, by_sql)
    assert direct.refusals.refused == (0 if ours == "label" else 1 if unit == "ns" else 2)


def test_where_a_row_stands_is_not_what_a_column_says(tmp_path: Path) -> None:
    """DuckDB has names of its own for the numbers of files and rows, and a column of the trips goes before them."""
    columns = {"file_index": [7, 8, 9], "File_Row_Number": [77, 88, 99], "t": ["07:00", "soon", "07:00"]}
    pq.write_table(pa.table({**columns, "y": ["a", "b", "c"]}), tmp_path / "trips.parquet")
    plan = free_plan(tmp_path, "trips.parquet", {"tap_on_time": "t", "line": "y"}, {"all": ["tap_on_time", "line"]})
    assert by_sql(plan).refusals.located == {Reason("unreadable", "tap_on_time"): [("trips.parquet", 2)]}


def test_broken_lines_are_located_also_where_no_column_can_refuse_a_row(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_bytes(b"x,y\na,b\ncaf\xe9,b\na,b,c\n")
    plan = free_plan(tmp_path, "trips.csv", {"label": "x", "line": "y"}, {"all": ["label", "line"]})
    located = {NOT_UTF8_LINE: [("trips.csv", 3)], MALFORMED: [("trips.csv", 4)]}
    assert by_sql(plan).refusals.located == located


def test_refused_rows_of_very_wide_tables_are_all_counted(tmp_path: Path) -> None:
    """A cell of several words: a reason to refuse then comes with each of the others."""
    rows = 70_000
    columns = {
        "t": ["soon" if n % 20 < 2 else "07:00" for n in range(rows)],
        "a": [f"a{n // 2}" for n in range(rows)],
        "b": [f"b{n}" for n in range(rows)],
    }
    pq.write_table(pa.table(columns), tmp_path / "trips.parquet")
    ours = {"tap_on_time": "t", "a": "a", "b": "b"}
    plan = free_plan(tmp_path, "trips.parquet", ours, {"all": ["tap_on_time", "a", "b"]})
    short, by_sql = both_routes(plan)
    assert by_sql.refusals.refused == short.refusals.refused == rows // 10
    assert by_sql.refusals.rows == short.refusals.rows == rows


def test_where_most_rows_are_refused_the_short_way_is_not_tried_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine of ten rows are of other days; then come those that the plan covers."""
    rows = 40_000
    days = [DAYS[0] if n % 10 or n > 30_000 else DAYS[1] for n in range(rows)]
    columns = {"day": pa.array(days), "stop": [f"s{n % 7}" for n in range(rows)]}
    pq.write_table(pa.table(columns), tmp_path / "trips.parquet")
    free_plan(tmp_path, "trips.parquet", {"date": "day", "label": "stop"}, {"all": ["date", "label"]})
    text, covered = (tmp_path / "plan.toml").read_text(), f"first_day = {DAYS[1]}\nlast_day = {DAYS[1]}"
    plan = Plan.parse(text.replace("[source]\n", f"[source]\n{covered}\n"), base=tmp_path)
    expected = by_sql(plan)
    monkeypatch.setattr(direct, "AT_ONCE", 500)
    with short_ways() as (tried, left):
        assert_same(count(plan), expected)
    assert sum(tried) < rows / 3
    assert sum(left) > sum(tried) / 2


def test_a_timestamp_beyond_all_days_is_no_day(tmp_path: Path) -> None:
    far = pa.array([(2**32 + 17021) * 86_400_000, 17021 * 86_400_000], pa.timestamp("ms"))
    pq.write_table(pa.table({"day": far, "y": ["a", "a"]}), tmp_path / "trips.parquet")
    counted = count(free_plan(tmp_path, "trips.parquet", {"date": "day", "line": "y"}, {"all": ["date", "line"]}))
    assert (counted.refusals.refused, sum(cells(counted.tables["all"]).values())) == (1, 1)


COUNTS = """
[release]
name = "counts"
title = "Counts"
partition = ["date"]
[source]
path = "counts.*"
shape = "counts"
max_refused = 1
[source.columns]
date = "day"
tap_on_time = { column = "hour", format = "%H" }
tap_on_location = "from"
count = "trips"
[source.counts]
most = 40
[coarsen]
time_minutes = 60
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 8
delta = 1e-6
[[table]]
name = "on"
columns = ["tap_on_time", "tap_on_location"]
[[table]]
name = "total"
columns = []
"""


def counts_table(numbers: list[Any], kind: pa.DataType) -> pa.Table:
    rows = len(numbers)
    return pa.table(
        {
            "day": pa.array(some(["2016-08-08", "2016-08-09", "x"], rows, 3), pa.string()),
            "hour": pa.array(some([*range(24), None], rows, 4), pa.int32()),
            "from": pa.array(some(["Central", "東門", None], rows, 5), pa.string()),
            "trips": pa.array(numbers, kind),
        }
    )


def counts_plan(folder: Path, table: pa.Table, form: str = "parquet") -> Plan:
    folder.mkdir(exist_ok=True)
    if form == "parquet":
        pq.write_table(table, folder / "counts.parquet")
    else:
        pa_csv.write_csv(table, folder / "counts.csv")
    (folder / "plan.toml").write_text(COUNTS, encoding="utf-8")
    return Plan.read(folder / "plan.toml")


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64()])
def test_rows_that_are_numbers_of_trips_count_the_same_by_either_route(
    tmp_path: Path, kind: pa.DataType, form: str
) -> None:
    usual: dict[str, list[Any]] = {
        "string": ["0", "1", " 7 ", "3.0", "41", "-1", "2.5", "", "many", None],
        "int64": [0, 1, 7, 41, -1, None],
    }
    numbers = some(usual.get(str(kind), [0.0, 1.0, 41.0, 2.5, -1.0, None]), 3000, 9)
    table = counts_table(numbers, kind)
    ours, theirs = both_routes(counts_plan(tmp_path / "plan", table, form))
    assert_same(ours, theirs)
    expected: Counter[tuple[str, ...]] = Counter()
    for row in table.to_pylist():
        try:
            number = float(str(row["trips"]).strip())
        except ValueError:
            continue
        if row["day"] != "x" and number > 0 and number.is_integer():
            hour = "-1" if row["hour"] is None else f"{row['hour']:02}:00"
            expected[row["day"], hour, row["from"] or "UNKNOWN"] += min(int(number), 40)
    assert cells(ours.tables["on"]) == expected


@pytest.mark.parametrize("written", ["<100", "1,000", "1.000", "1 000", "-1", "2.5", "", None])
def test_a_number_that_cannot_be_read_stops_the_release_and_not_its_row(tmp_path: Path, written: str | None) -> None:
    """999 and 1,000 are one trip apart; and of a table with `<100`, one trip more may change a cell by 100."""
    table = pa.table({"day": ["2016-08-08", "x"], "hour": [7, 8], "from": ["A", "B"], "trips": ["9" * 40, written]})
    plan = counts_plan(tmp_path / "plan", table)
    for counted in both_routes(plan):
        assert cells(counted.tables["total"]) == {("2016-08-08",): 40}
        refuse_too_many(counted.refusals, plan)  # of a row without a day, the number does not matter
    plan = counts_plan(tmp_path / "plan", table.set_column(0, "day", pa.array(["2016-08-08"] * 2)))
    for counted in both_routes(plan):
        with pytest.raises(TripDataError, match=r"a number of trips \(column `trips`\) is missing, masked or not a"):
            refuse_too_many(counted.refusals, plan)


def test_a_separator_in_a_number_stops_the_release_also_where_it_breaks_the_line(tmp_path: Path) -> None:
    plan = counts_plan(tmp_path / "plan", counts_table([1], pa.int64()), "csv")
    (tmp_path / "plan" / "counts.csv").write_text("day,hour,from,trips\n20160808,7,A,999\n20160808,8,A,1,000\n")
    with pytest.raises(TripDataError, match="or a line does not match the header"):
        refuse_too_many(count(plan).refusals, plan)


def test_one_trip_more_in_a_row_changes_one_cell_by_at_most_one(tmp_path: Path) -> None:
    """Also at the bound on a row, where refusing the row would change its cell by all of its trips."""
    numbers = some([0, 1, 39, 40, 41], 60, 2)
    before = count(counts_plan(tmp_path / "before", counts_table(numbers, pa.int64())))
    for row in range(0, len(numbers), 7):
        more = [number + (place == row) for place, number in enumerate(numbers)]
        after = count(counts_plan(tmp_path / "after", counts_table(more, pa.int64())))
        for name in before.tables:
            one, other = cells(before.tables[name]), cells(after.tables[name])
            assert sum(abs(one[cell] - other[cell]) for cell in {*one, *other}) <= 1


@pytest.mark.parametrize("others", [[1001.0], [2.5], [-1.0], [1001.0, 1002.0], [None]])
def test_what_nan_counts_as_does_not_depend_on_other_trips(tmp_path: Path, others: list[float | None]) -> None:
    """Statistics of Parquet leave NaN out: by them, a column of NaN and one number holds that number alone."""
    stops = [*[float("nan")] * 3, *others]
    table = {"day": ["2016-08-08"] * len(stops), "hour": [7] * len(stops), "from": stops, "card": stops}
    pq.write_table(pa.table(table), tmp_path / "trips.parquet")
    text = COUNTS.replace('shape = "counts"\n', "").replace('count = "trips"\n', 'card = "card"\n')
    text = text.replace("[source.counts]\nmost = 40\n", "").replace("counts.*", "trips.parquet")
    by_card = 'unit = "card"\ntrips_per_card = 9\nwithout_card = "own-unit"'
    for unit in ('unit = "trip"', by_card):
        (tmp_path / "plan.toml").write_text(text.replace('unit = "trip"', unit), encoding="utf-8")
        unknown = 3 + sum(each in (None, -1.0) for each in others)
        for counted in both_routes(Plan.read(tmp_path / "plan.toml")):
            assert cells(counted.tables["on"])["2016-08-08", "07:00", "UNKNOWN"] == unknown
