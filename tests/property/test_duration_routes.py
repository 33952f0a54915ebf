"""Durations are counted straight from the files, or by SQL: by either route the same classes, and the same refusals."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapveil.counting import counter
from tapveil.counting.direct import counter as direct
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.public import PublicInputs
from tapveil.inputs.values import UNIT_SEPARATOR
from tapveil.plan.model import Plan
from tapveil.trips import files
from tests.conftest import write_csv
from tests.property.test_routes import assert_same, by_sql, times
from tests.property.test_world import BOUNDS, PLACES, PLAN

CLOCKS = [
    "08:00",
    "08:00:40",
    "8:20",
    "08:15:20",
    " 08:45",
    "23:50",
    "00:10",
    "25:30",
    "",
    "-1",
    "none",
    "late",
    f"08:00{UNIT_SEPARATOR}1",
]
DURATIONS = '[world]\ndurations = ["00:00", "00:15", "00:30", "01:00"]\n'
END = '\ntap_off_time = { column = "end", missing = ["none"] }\n[places]'
LASTED = '[[table]]\nname = "lasted"\ncolumns = ["tap_on_location", "tap_off_location", "duration"]\n'
NAMES = ("card", "mode", "day", "hour", "from", "to", "end")
UNITS = ("trip", "card-day", "card")


def plan_of(folder: Path, unit: str, path: str, end: str = END) -> Plan:
    write_csv(folder / "places.csv", PLACES, ("name", "mode", "latitude", "longitude"))
    text = PLAN.format(unit=unit, bounds=BOUNDS[unit], per_cell="").replace("trips.csv", path)
    return Plan.parse(text.replace("\n[places]", end) + LASTED + DURATIONS, base=folder)


@pytest.mark.parametrize("unit", UNITS)
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(
        st.tuples(*(st.sampled_from(each) for each in (["1", "2"], ["Ash", "Oak", ""], CLOCKS, CLOCKS))), max_size=30
    )
)
def test_texts(unit: str, rows: list[tuple[str, str, str, str]]) -> None:
    """Where a tap is missing, by a word of the plan or without one, there is a class for it; the rest is refused."""
    with tempfile.TemporaryDirectory() as name:
        trips = [(card, "bus", "2025-03-03", on, place, "Elm", off) for card, place, on, off in rows]
        write_csv(Path(name) / "trips.csv", trips, NAMES)
        plan = plan_of(Path(name), unit, "trips.csv")
        assert direct.suits(plan, files.find(plan), PublicInputs.of(plan).areas)
        ours = counter.count(plan)
        assert_same(ours, by_sql(plan))


@pytest.mark.parametrize(
    ("unit", "on", "off"),
    [
        ("trip", "int64", "stampus"),
        ("trip", "stampms", "stamps"),
        ("trip", "timeus", "text"),
        ("card-day", "uint16", "timems"),
        ("card", "text", "stampus"),
    ],
)
def test_typed_times(tmp_path: Path, unit: str, on: str, off: str) -> None:
    """Also of different types at both ends, and beyond the calendar."""
    chance, rows = random.Random(4), 1500
    table = {
        "card": pa.array(chance.choices(["1", "2", "3", "4"], k=rows)),
        "mode": pa.array(chance.choices(["bus", "train", "ferry"], k=rows)),
        "day": pa.array(chance.choices(["2025-03-03", "2025-03-04"], k=rows)),
        "hour": times(on, rows),
        "from": pa.array(chance.choices(["Ash", "Oak", "Elm"], k=rows)),
        "to": pa.array(chance.choices(["Ash", "Oak", "Elm"], k=rows)),
        "end": times(off, rows)[::-1],
    }
    pq.write_table(pa.table(table), tmp_path / "trips.parquet", row_group_size=400)
    plan = plan_of(tmp_path, unit, "trips.parquet", '\ntap_off_time = "end"\n[places]')
    assert direct.suits(plan, files.find(plan), PublicInputs.of(plan).areas)
    with mock.patch.object(direct, "AT_ONCE", 300), mock.patch.object(direct, "FEW", 50):
        ours = counter.count(plan)
    assert_same(ours, by_sql(plan))
    assert len(set(ours.tables["lasted"].labels["duration"])) == 5


def test_seconds_count_where_times_have_them(tmp_path: Path) -> None:
    """Of whole minutes alone, half of the trips of 14 minutes and a half would have taken 15."""
    ends = {"08:00:40": "08:15:20", "08:01:00": "08:15:59", "08:02:30": "08:17:30", "08:03": "08:18:10"}
    trips = [("1", "bus", "2025-03-03", on, "Ash", "Elm", off) for on, off in ends.items()]
    write_csv(tmp_path / "trips.csv", trips, NAMES)
    plan = plan_of(tmp_path, "trip", "trips.csv")
    for counted in (counter.count(plan), by_sql(plan)):
        table = counted.tables["lasted"]
        codes, counts = table.packing.unpack(table.words)["duration"], exact_counts(table)
        found = {table.labels["duration"][code]: int(n) for code, n in zip(codes, counts, strict=True) if n}
        assert found == {"00:00": 2, "00:15": 2}


def test_times_of_a_zone_are_left_to_sql(tmp_path: Path) -> None:
    """Where clocks change, what a typed time means follows from its day."""
    table = {name: pa.array(["x"]) for name in NAMES} | {
        "hour": times("stampus", 4)[:1],
        "end": times("stampus", 4)[:1],
    }
    pq.write_table(pa.table(table), tmp_path / "trips.parquet")
    plan = plan_of(tmp_path, "trip", "trips.parquet", '\ntap_off_time = "end"\n[places]')
    zoned = plan.model_copy(update={"source": plan.source.model_copy(update={"timezone": "Australia/Sydney"})})
    assert direct.suits(plan, files.find(plan), PublicInputs.of(plan).areas)
    assert not direct.suits(zoned, files.find(zoned), PublicInputs.of(zoned).areas)
