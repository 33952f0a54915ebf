"""The shapes that ship with tapveil, from presets over the demo city: the agency's header, schema and readers."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from frictionless import Resource, Schema, system

import tapveil
from tapveil.demo.city import make_city
from tapveil.plan.model import Plan, preset_text
from tapveil.verification.folder import verify_folder
from tests.support.tampering import codes, refresh, resum

DAYS = [date(2025, 3, day) for day in range(3, 17)]
MODES = ["ferry", "lightrail", "train"]
Rows = list[dict[str, str]]


def for_the_city(preset: str, **changes: str) -> str:
    """A preset with the files, days and modes of the demo city, and a budget that fits its size."""
    text = preset_text(preset)
    common = {
        r'path = "trips/\*" ': 'path = "trips/*.parquet" ',
        r"modes = \[.*?\]": f"modes = {json.dumps(MODES)}",
        r"first_day = \S+": f"first_day = {DAYS[0]}",
        r"last_day = \S+": f"last_day = {DAYS[-1]}",
        r'(?<=\n)path = "places.csv" ': 'path = "places.geojson" ',
        r"epsilon = \d+ ": "epsilon = 30 ",
    }
    for old, new in {**common, **changes}.items():
        text, times = re.subn(old, new, text)
        assert times or old == r'(?<=\n)path = "places.csv" ', old
    return text


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes") / "city"
    make_city(folder, trips=40_000, days=DAYS, file_format="parquet")
    return folder


@pytest.fixture(scope="module")
def published(city: Path) -> Callable[..., Path]:
    """The folder of a preset over the city, made once and verified."""
    made: dict[tuple[Any, ...], Path] = {}

    def folder(preset: str, **changes: str) -> Path:
        key = (preset, *changes.items())
        if key not in made:
            out = city.parent / f"{preset}-{len(made)}"
            tapveil.release(Plan.parse(for_the_city(preset, **changes), base=city), out, in_ledger=False)
            assert verify_folder(out).findings == []
            made[key] = out
        return made[key]

    return folder


def rows_of(path: Path, delimiter: str = ",") -> Rows:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def test_tides_is_valid_by_the_schema_of_the_standard(published: Callable[..., Path], shared_data: Path) -> None:
    path = published("tides") / "shapes/tides/station_activities.csv"
    schema = json.loads((shared_data / "tides/station_activities.schema.json").read_text())
    assert path.read_text().splitlines()[0].split(",") == [field["name"] for field in schema["fields"]]
    schema.pop("foreignReferences")
    with system.use_context(trusted=True):
        report = Resource(path=str(path), schema=Schema.from_descriptor(schema)).validate()
    assert report.valid, report.flatten(["rowNumber", "fieldName", "note"])[:5]
    assert len(rows_of(path)) > 500


def test_tides_has_the_published_counts_of_all_modes_at_their_hours(published: Callable[..., Path]) -> None:
    folder = published("tides")
    expected: dict[tuple[str, ...], dict[str, int]] = {}
    for end, name in (("on", "entries"), ("off", "exits")):
        for row in tapveil.open(folder).table(name).rows():
            time, place = row[f"tap_{end}_time"], row[f"tap_{end}_location"]
            if time != "-1" and place != "UNKNOWN":
                cell = expected.setdefault((row["date"], place, time), {})
                cell[name] = cell.get(name, 0) + row["count"]
    found = {}
    for row in rows_of(folder / "shapes/tides/station_activities.csv"):
        start, end = (row[f"time_period_{which}"] for which in ("start", "end"))
        assert start[:10] == row["service_date"]
        assert start[10:] < end[10:] or end[10:] == "T00:00:00"
        found[row["service_date"], row["stop_id"], start[11:16]] = {
            name: int(row[f"total_{name}"]) for name in ("entries", "exits") if row[f"total_{name}"]
        }
    assert found == expected


MTA_HOURLY = (
    "transit_timestamp,transit_mode,station_complex_id,station_complex,borough,payment_method,fare_class_category,"
    "ridership,transfers,latitude,longitude,georeference"
)
MTA_PAIRS = (
    "year,month,day_of_week,hour_of_day,timestamp,origin_station_complex_id,origin_station_complex_name,"
    "origin_latitude,origin_longitude,destination_station_complex_id,destination_station_complex_name,"
    "destination_latitude,destination_longitude,estimated_average_ridership,origin_point,destination_point"
)


def test_mta_has_both_headers_and_where_stations_are(published: Callable[..., Path]) -> None:
    folder = published("mta") / "shapes/mta"
    assert (folder / "hourly_ridership.csv").read_text().splitlines()[0] == MTA_HOURLY
    assert (folder / "origin_destination_ridership.csv").read_text().splitlines()[0] == MTA_PAIRS
    places = {
        (feature["properties"]["mode"], feature["properties"]["name"]): feature["geometry"]
        for feature in json.loads((folder.parents[1] / "areas.geojson").read_text())["features"]
    }
    for row in rows_of(folder / "hourly_ridership.csv"):
        geometry = places[row["transit_mode"], row["station_complex_id"]]
        if geometry["type"] == "Point":
            assert geometry["coordinates"] == [float(row["longitude"]), float(row["latitude"])]
        assert row["georeference"] == f"POINT ({row['longitude']} {row['latitude']})"
        assert (row["borough"], row["transfers"]) == ("", "")


def test_mta_means_are_the_published_counts_by_the_days_of_the_calendar(published: Callable[..., Path]) -> None:
    folder = published("mta")
    expected: dict[tuple[str, ...], int] = {}
    for row in tapveil.open(folder).table("origin_destination").rows():
        if row["tap_on_time"] != "-1" and "UNKNOWN" not in (row["tap_on_location"], row["tap_off_location"]):
            key = row["day_of_week"], row["tap_on_time"], row["tap_on_location"], row["tap_off_location"]
            expected[key] = expected.get(key, 0) + row["count"]
    found = {}
    for row in rows_of(folder / "shapes/mta/origin_destination_ridership.csv"):
        day, hour = row["day_of_week"].lower(), f"{int(row['hour_of_day']):02d}:00"
        assert (row["year"], row["month"]) == ("2025", "3")
        ends = (row["origin_station_complex_id"], row["destination_station_complex_id"])
        found[day, hour, *ends] = float(row["estimated_average_ridership"])
    assert found == {key: count / 2 for key, count in expected.items()}  # two weeks: two days of each kind
    assert found


def test_what_is_said_of_places_is_part_of_what_is_verified(published: Callable[..., Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(published("mta"), copy)
    facts = copy / "shapes/places.csv"
    text = facts.read_text()
    assert text.splitlines()[0] == "mode,name,borough,latitude,longitude,title"
    name = rows_of(copy / "shapes/mta/hourly_ridership.csv")[0]["station_complex_id"]
    other = re.sub(rf"(?m)^(\w+,{re.escape(name)}),,[^,]*,", r"\1,,1.5,", text)
    assert other != text
    facts.write_text(other)
    refresh(copy, rederive=False)
    resum(copy)
    assert codes(verify_folder(copy)) == {"shape-differs"}
    facts.write_text(text.replace(",,", ',"",', 1))
    resum(copy)
    assert codes(verify_folder(copy)) == {"shape-differs"}
    facts.unlink()
    resum(copy)
    assert "table-missing" in codes(verify_folder(copy))
