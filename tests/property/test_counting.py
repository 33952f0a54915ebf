"""The same trips in any order, in any files, of any format: the same exact counts as twenty lines of plain Python."""

from __future__ import annotations

import gzip
import re
import tempfile
from collections import Counter
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapveil.base.errors import PlanError
from tapveil.base.progress import Silent
from tapveil.counting.counter import count
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.plan.model import Plan
from tapveil.trips.reasons import MALFORMED, NOT_UTF8, OTHER_COLUMN, Reason
from tests.conftest import OPAL_COLUMNS, WITH_TOTAL, free_plan, opal_plan, write_csv
from tests.support import reference

DATES = st.sampled_from(["2016-08-08", "20160808", " 2016-08-09", "2016-13-01", "soon", "", "2024-02-29"])
MODES = st.sampled_from(["bus", "train", " ferry ", "light,rail", ""])
TIMES = st.one_of(
    st.sampled_from(
        ["", "-1", "07:31", "7:05", "23:59:59", "24:20", "47:59", "48:00", "12:61", "0", "1439", "1465", "2880", "x"]
    ),
    st.integers(0, 1439).map(lambda m: f"{m // 60:02d}:{m % 60:02d}"),
)
STOPS = st.sampled_from(
    ["1001", "1002", "1003", "9999", "Central", 'The "Folly", No. 3', "Žižkov 東門", " padded ", "-1", ""]
)
ROWS = st.lists(st.tuples(DATES, MODES, TIMES, STOPS, TIMES, STOPS), max_size=40)

NAMES = OPAL_COLUMNS[1:]


def cells(table: ExactTable) -> Counter[tuple[str, ...]]:
    codes = table.packing.unpack(table.words)
    columns = [[table.labels[name][code] for code in codes[name]] for name in table.packing.columns]
    keys = list(zip(*columns, strict=True)) if columns else [()] * len(exact_counts(table))
    assert len(keys) == len(set(keys)), "a cell was counted in two rows"
    return Counter(dict(zip(keys, exact_counts(table).tolist(), strict=True)))


def exact(plan: Plan) -> Counted:
    return count(plan, memory="1GB", scratch=None, progress=Silent())


def write_part(path: Path, rows: list[tuple[str, ...]], names: list[str]) -> None:
    ordered = [[row[NAMES.index(name)] for name in names] for row in rows]
    if path.suffix == ".parquet":
        columns = {name: pa.array([row[i] or None for row in ordered], pa.string()) for i, name in enumerate(names)}
        pq.write_table(pa.table(columns), path)
        return
    write_csv(path, ordered, names)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.read_bytes()))


@settings(max_examples=60)
@given(rows=ROWS, data=st.data())
def test_counts_do_not_depend_on_order_files_or_format(rows: list[tuple[str, ...]], data: st.DataObject) -> None:
    expected, refused = reference.count(rows)
    shuffled = data.draw(st.permutations(rows))
    parts = data.draw(st.integers(1, 4))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "trips").mkdir()
        for part in range(parts):
            suffix = data.draw(st.sampled_from([".csv", ".csv.gz", ".parquet"]))
            names = list(data.draw(st.permutations(NAMES)))
            write_part(folder / "trips" / f"{part}{suffix}", shuffled[part::parts], names)
        counted = exact(opal_plan(folder, "trips/*", **WITH_TOTAL))
    assert {name: cells(table) for name, table in counted.tables.items()} == expected
    assert (counted.refusals.rows, counted.refusals.refused) == (len(rows), refused)


TYPED_ROWS = st.lists(
    st.tuples(
        st.integers(0, 20).map(lambda day: date(2016, 8, 8) + timedelta(days=day)) | st.none(),
        st.sampled_from(["bus", "train"]),
        st.integers(0, 1439) | st.none(),
        st.sampled_from(["1001", "1003", "Central"]) | st.none(),
    ),
    min_size=1,
    max_size=30,
)


def typed_times(kind: str, day: date | None, minute: int | None) -> Any:
    if minute is None:
        return None
    if kind.startswith("time-") or kind == "time":
        return clock_time(minute // 60, minute % 60)
    moment = datetime.combine(day or date(1969, 12, 31), clock_time(minute // 60, minute % 60, 59))
    return moment if kind.startswith("timestamp") else minute


ARROW = {
    "timestamp-s": pa.timestamp("s"),
    "timestamp-ms": pa.timestamp("ms"),
    "timestamp-us": pa.timestamp("us"),
    "timestamp-ns": pa.timestamp("ns"),
    "time": pa.time64("us"),
    "int8-to-64": pa.int64(),
    "uint16": pa.uint16(),
    "int16": pa.int16(),
    "double": pa.float64(),
    "decimal": pa.decimal128(12, 3),
    "large": pa.large_string(),
    "time-ms": pa.time32("ms"),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
}


@settings(max_examples=60)
@given(
    rows=TYPED_ROWS, kind=st.sampled_from(sorted(ARROW)), date_type=st.sampled_from(["date", "integer", "timestamp"])
)
def test_typed_parquet_counts_as_its_text(rows: list[tuple[Any, ...]], kind: str, date_type: str) -> None:
    texts = [
        (str(day or ""), mode, "" if minute is None else str(minute), stop or "", "", "")
        for day, mode, minute, stop in rows
    ]
    expected, refused = reference.count(texts)
    on = [typed_times(kind, day, minute) for day, _, minute, _ in rows]
    if kind in ("dictionary", "large"):
        on = [None if value is None else str(value) for value in on]
    days = [row[0] for row in rows]
    dates = {
        "date": pa.array(days, pa.date32()),
        "integer": pa.array([day and int(day.strftime("%Y%m%d")) for day in days], pa.int32()),
        "timestamp": pa.array([day and datetime.combine(day, clock_time(5)) for day in days], pa.timestamp("us")),
    }
    table = pa.table(
        {
            "trip_date": dates[date_type],
            "mode": pa.array([row[1] for row in rows]).dictionary_encode(),
            "tap_on_time": pa.array(on, ARROW[kind]),
            "tap_on_location": pa.array([row[3] for row in rows], pa.string()),
            "tap_off_time": pa.nulls(len(rows), pa.timestamp("s")),
            "tap_off_location": pa.nulls(len(rows), pa.string()),
        }
    )
    with tempfile.TemporaryDirectory() as name:
        pq.write_table(table, Path(name) / "trips.parquet")
        counted = exact(opal_plan(Path(name), "trips.parquet", **WITH_TOTAL))
    assert {name: cells(table) for name, table in counted.tables.items()} == expected
    assert counted.refusals.refused == refused


def test_a_cell_is_packed_into_as_many_words_as_it_needs(tmp_path: Path) -> None:
    """Six free columns of 3 000 values each: 10^20 points, more than one word holds."""
    names = [f"c{index}" for index in range(6)]
    rows = [[f"{row * (7, 11, 13, 17, 19, 23)[index] % 3000:04d}" for index in range(6)] for row in range(3000)]
    write_csv(tmp_path / "trips.csv", rows + rows[:500], names)
    tables = {"all": names, "some": ["c5", "c0"], "total": []}
    plan = free_plan(tmp_path, "trips.csv", {name: name for name in names}, tables)
    counted = exact(plan)
    everything = counted.tables["all"]
    assert everything.packing.words == 3
    assert cells(everything) == Counter(tuple(row) for row in rows + rows[:500])
    assert cells(counted.tables["some"]) == Counter((row[5], row[0]) for row in rows + rows[:500])
    assert cells(counted.tables["total"]) == Counter({(): 3500}), "without a partition, one number"


@pytest.mark.parametrize("zone", ["Australia/Sydney", "Europe/London"])
def test_times_with_an_offset_are_read_in_the_plans_time_zone(tmp_path: Path, zone: str) -> None:
    rows = [["2016-08-08T07:31:00+10:00", "train", "2016-08-08T07:31:00+10:00", "Central", "", ""]]
    write_csv(tmp_path / "trips.csv", rows, NAMES)
    counted = exact(opal_plan(tmp_path, **{'# timezone = "Australia/Sydney"': f'timezone = "{zone}"'}))
    local = {"Australia/Sydney": ("2016-08-08", "07:30"), "Europe/London": ("2016-08-07", "22:30")}[zone]
    assert cells(counted.tables["on_time"]) == Counter({("train", *local): 1})
    instants = pa.array([datetime.fromisoformat(rows[0][0])], pa.timestamp("us", tz="UTC"))
    table = pa.table([instants, ["train"], instants, ["Central"], instants, ["Town"]], names=list(NAMES))
    pq.write_table(table, tmp_path / "trips.parquet")
    counted = exact(opal_plan(tmp_path, "trips.parquet", **{'# timezone = "Australia/Sydney"': f'timezone = "{zone}"'}))
    assert cells(counted.tables["on_time"]) == Counter({("train", *local): 1})


def test_exact_counts_hide_when_printed(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [["2016-08-08", "train", "07:31", "Central", "", ""]] * 7, NAMES)
    counted = exact(opal_plan(tmp_path))
    shown = repr(counted) + repr(counted.tables) + repr(counted.refusals) + str(counted.tables["on_time"])
    assert "Central" not in shown
    assert "7" not in shown


def test_rows_are_refused_by_reason(tmp_path: Path) -> None:
    good = ["2016-08-08", "train", "07:31", "Central", "", ""]
    bad = [["never", *good[1:]], ["", *good[1:]], [good[0], "", *good[2:]], [*good[:2], "25:99", *good[3:]]]
    write_csv(tmp_path / "trips.csv", [good] * 3 + bad, NAMES)
    with (tmp_path / "trips.csv").open("ab") as file:
        file.write(b"one,two\n" + b"caf\xe9,bus,07:31,x,,\n" + b"a,b,c,d,e,f,g,h\n")
    refusals = exact(opal_plan(tmp_path)).refusals
    assert dict(refusals.by_reason) == {
        Reason("unreadable", "date"): 1,
        Reason("missing", "date"): 1,
        Reason("missing", "mode"): 1,
        Reason("unreadable", "tap_on_time"): 1,
        MALFORMED: 2,
        NOT_UTF8: 1,
    }
    assert refusals.rows == 10


def test_dates_may_be_free_labels(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [["Mon", "train", "07:31", "Central", "", ""]], NAMES)
    plan = opal_plan(tmp_path, **{'# dates = "labels"': 'dates = "labels"'})
    assert cells(exact(plan).tables["on_time"]) == Counter({("train", "Mon", "07:30"): 1})


def test_origin_by_destination_is_just_another_table(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [["2016-08-08", "bus", "07:31", "1001", "07:40", "1003"]] * 2, NAMES)
    changes = {'columns = ["tap_on_time"]': 'columns = ["tap_on_location", "tap_off_location"]'}
    changes['partition = ["mode", "date"]'] = 'partition = ["date"]'
    counted = exact(opal_plan(tmp_path, **changes))
    assert cells(counted.tables["on_time"]) == Counter({("2016-08-08", "2000", "2010"): 2})


def test_each_file_is_read_as_itself(tmp_path: Path) -> None:
    """No pattern in a file's name, no `key=value` folder, no other file's types changes what a file says."""
    folder = tmp_path / "mode=tram"
    folder.mkdir()
    row = dict(zip(NAMES, (["2016-08-08"], ["train"], ["08:00"], ["0123"], [None], [None]), strict=True))
    for name, stop in (
        ("a1.parquet", pa.array([123.0])),
        ("a[1].parquet", pa.array(["0123"])),
        ("b*.parquet", pa.nulls(1)),
    ):
        pq.write_table(pa.table({**row, "tap_on_location": stop}), folder / name)
    counted = exact(opal_plan(tmp_path, "mode=tram/*.parquet"))
    expected = {("train", "2016-08-08", stop): 1 for stop in ("123", "0123", "UNKNOWN")}
    assert cells(counted.tables["on_location"]) == Counter(expected)


@pytest.mark.parametrize(
    ("column", "value", "arrow"),
    [
        ("trip_date", 4_000_000, pa.date32()),
        ("trip_date", 2**60, pa.timestamp("us")),
        ("tap_on_time", 2**62, pa.timestamp("us", tz="UTC")),
        ("trip_date", 2**62, pa.timestamp("us", tz="UTC")),
        ("tap_on_time", 86_400_000_000, pa.time64("us")),
        ("tap_on_time", 100_000, pa.int64()),
    ],
)
def test_an_impossible_value_costs_its_own_row_at_most(
    tmp_path: Path, column: str, value: int, arrow: pa.DataType
) -> None:
    good = {
        "trip_date": 20160808,
        "mode": "train",
        "tap_on_time": 480,
        "tap_on_location": "A",
        "tap_off_time": None,
        "tap_off_location": None,
    }
    types = {"trip_date": pa.int32(), "tap_on_time": pa.int32(), "tap_off_time": pa.int32()}
    columns = {name: pa.array([good[name]] * 3, types.get(name, pa.string())) for name in NAMES}
    plain = {pa.date32(): 17021, pa.int64(): 480}.get(
        arrow,
        1_470_643_200_000_000 % (86_400_000_000 if column == "tap_on_time" and arrow == pa.time64("us") else 10**18),
    )
    columns[column] = pa.array([plain, value, plain], pa.int32() if arrow == pa.date32() else pa.int64()).cast(arrow)
    pq.write_table(pa.table(columns), tmp_path / "trips.parquet")
    counted = exact(opal_plan(tmp_path, "trips.parquet", **{'# timezone = "Australia/Sydney"': 'timezone = "UTC"'}))
    assert counted.refusals.rows == 3
    assert counted.refusals.refused <= 1
    assert sum(cells(counted.tables["on_location"]).values()) == 3 - counted.refusals.refused


@pytest.mark.parametrize("name", ["refusal", "set", "n", "raw_value", "rank", "code_mode", "trips", "counted", "group"])
def test_a_column_may_have_any_name(tmp_path: Path, name: str) -> None:
    write_csv(tmp_path / "trips.csv", [["", "bus", "x"], ["2016-08-08", "bus", "x"]], ["day", "mode", "what"])
    columns = {"date": "day", "mode": "mode", name: "what"}
    counted = exact(free_plan(tmp_path, "trips.csv", columns, {name: [name]}, partition=["mode", "date"]))
    assert cells(counted.tables[name]) == Counter({("bus", "2016-08-08", "x"): 1})
    assert dict(counted.refusals.by_reason) == {Reason("missing", "date"): 1}


def test_eighty_columns_are_not_too_many(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(80)]
    write_csv(tmp_path / "trips.csv", [[str(number % 3) for number in range(80)]] * 2, names)
    counted = exact(free_plan(tmp_path, "trips.csv", {name: name for name in names}, {"all": names}))
    assert cells(counted.tables["all"]) == Counter({tuple(str(number % 3) for number in range(80)): 2})


def test_thirty_columns_may_refuse_a_row(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(30)]
    good, bad = ["08:00"] * 30, ["soon"] * 30
    rows = [good, bad, [*bad[:1], *good[1:]], [*good[:-1], "soon"], [*good[:12], "soon", *good[13:-1], "soon"]]
    write_csv(tmp_path / "trips.csv", rows, names)
    free_plan(tmp_path, "trips.csv", {name: name for name in names}, {"all": names})
    text = (tmp_path / "plan.toml").read_text()
    timed = re.sub(r'^(t\d+) = "(t\d+)"$', r'\1 = {column = "\2", kind = "time"}', text, flags=re.MULTILINE)
    counted = exact(Plan.parse(timed, base=tmp_path))
    assert cells(counted.tables["all"]) == Counter({("08:00",) * 30: 1})
    assert dict(counted.refusals.by_reason) == {
        Reason("unreadable", "t0"): 2,
        OTHER_COLUMN: 2,
    }


MISSING = """
[release]
name = "missing"
title = "Missing"
partition = []
[source]
path = "trips.{ending}"
[source.columns]
card = {{ column = "card", missing = ["NA"] }}
tap_off_time = {{ column = "exit", missing = ["0", "NA"] }}
tap_off_location = {{ column = "stop", missing = "Unfinished" }}
[privacy]
unit = "{unit}"
neighbours = "replace"
mechanism = "sbh"
{bounds}
[[table]]
name = "off"
columns = ["tap_off_time", "tap_off_location"]
epsilon = 1
delta = "1/8000000"
"""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("unit", ["trip", "card"])
def test_texts_that_mean_missing(ending: str, unit: str, tmp_path: Path) -> None:
    """Named per column: 0 is no exit time, and still a stop; a typed column knows it as well as a text."""
    stops = ["Unfinished", "0", "Central", " Unfinished "]
    rows = pa.table({"card": ["a", "b", "NA", "d"], "exit": [0, 0, 1465, 451], "stop": stops})
    if ending == "csv":
        pa_csv.write_csv(rows, tmp_path / "trips.csv")
    else:
        pq.write_table(rows, tmp_path / "trips.parquet")
    bounds = 'trips_per_card = 2\nwithout_card = "refuse"' if unit == "card" else ""
    counted = exact(Plan.parse(MISSING.format(ending=ending, unit=unit, bounds=bounds), base=tmp_path))
    expected = {("-1", "UNKNOWN"): 1, ("-1", "0"): 1, ("00:15", "Central"): 1, ("07:30", "UNKNOWN"): 1}
    if unit == "card":
        del expected["00:15", "Central"]
        assert counted.refusals.by_reason == {Reason("missing", "card"): 1}
    assert cells(counted.tables["off"]) == expected


def test_missing_is_for_columns_of_the_files() -> None:
    text = MISSING.format(ending="csv", unit="trip", bounds="")
    with pytest.raises(PlanError, match="need `column`"):
        Plan.parse(text.replace('column = "stop"', 'value = "x"'))
