"""The shapes that ship with tapveil, from presets over the demo city: the agency's header, schema and readers."""

from __future__ import annotations

import csv
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from frictionless import Resource, Schema, system

import tapveil
from tapveil.delivery.parcel import Parcel
from tapveil.demo.city import make_city
from tapveil.plan.model import AGENCIES, Plan, preset_text
from tapveil.published.csv import write_csv
from tapveil.published.sheets import laid_out
from tapveil.published.table import Field, PublishedTable
from tapveil.trips import workbook
from tapveil.verification.folder import verify_folder
from tests.agencies import idfm_loader, lta_matrix, mta_dashboard
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
        assert times or old in common, old
    return text


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes") / "city"
    make_city(folder, trips=40_000, days=DAYS, file_format="parquet")
    for path in (folder / "trips").iterdir():
        pq.write_table(_with_more(pq.read_table(path)), path)
    return folder


def _with_more(trips: pa.Table) -> pa.Table:
    """What some agencies know besides: a fare class, the vehicle's trip, and which of its stops both ends are."""
    cards = trips.column("card_id").cast(pa.int64()).to_pylist()
    classes = ["NAVIGO" if number % 5 else "IMAGINE R" if number % 3 else "FGT" for number in cards]
    places = [trips.column(f"tap_{end}_location").cast(pa.string()).to_pylist() for end in ("on", "off")]
    numbers = [[str(len(place or "") + 1) for place in listed] for listed in places]
    modes = [f"{mode} 1" for mode in trips.column("mode").cast(pa.string()).to_pylist()]
    more = {"fare_class": classes, "trip_id": modes, "on_sequence": numbers[0], "off_sequence": numbers[1]}
    for name, values in more.items():
        trips = trips.append_column(name, pa.array(values, pa.string()))
    return trips


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
    # The pairs are of all modes together: they say where stations are, as far as the modes of the list agree.
    one_mode = {name for name in {name for _, name in places} if sum(each == name for _, each in places) == 1}
    located = [
        row
        for row in rows_of(folder / "origin_destination_ridership.csv")
        if row["origin_station_complex_id"] in one_mode
    ]
    assert located
    assert all(row["origin_point"] == f"POINT ({row['origin_longitude']} {row['origin_latitude']})" for row in located)


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
    names = [row["station_complex_id"] for row in rows_of(copy / "shapes/mta/hourly_ridership.csv")]
    name = next(each for each in names if f",{each}," in text)  # noise decides which is the first; some are in quotes
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


def test_a_dashboard_of_new_yorks_hourly_ridership_shows_the_published_counts(published: Callable[..., Path]) -> None:
    folder = published("mta")
    shown = mta_dashboard.frame(folder / "shapes/mta/hourly_ridership.csv")
    expected: dict[tuple[str, str, str], dict[str, int]] = {}
    for row in tapveil.open(folder).table("hourly").rows():
        if row["tap_on_time"] != "-1" and row["tap_on_location"] != "UNKNOWN":
            cell = expected.setdefault((row["mode"], row["tap_on_location"], row["date"]), {})
            cell[row["tap_on_time"][:2]] = row["count"]
    found = {(row.transit_mode, row.station_complex_id, str(row.day)): row for row in shown.itertuples()}
    assert set(found) == set(expected)
    for key, hours in expected.items():
        assert found[key].ridership == sum(hours.values())
        assert hours[f"{found[key].busiest_hour:02d}"] == max(hours.values())


def test_a_matrix_of_singapores_origins_and_destinations_has_the_published_counts(
    published: Callable[..., Path],
) -> None:
    folder = published("lta")
    node = (folder / "shapes/lta/transport_node.csv").read_text().splitlines()[0]
    assert node == "YEAR_MONTH,DAY_TYPE,TIME_PER_HOUR,PT_TYPE,PT_CODE,TOTAL_TAP_IN_VOLUME,TOTAL_TAP_OUT_VOLUME"
    matrix = lta_matrix.matrix(folder / "shapes/lta/origin_destination.csv", hours=range(6, 10))
    expected: dict[tuple[str, str], int] = {}
    for row in tapveil.open(folder).table("od").where(day_type="weekday").rows():
        ends = row["tap_on_location"], row["tap_off_location"]
        if "06:00" <= row["tap_on_time"] < "10:00" and "UNKNOWN" not in ends:
            expected[ends] = expected.get(ends, 0) + row["count"]
    assert {(on, off): matrix.at[on, off] for on, off in expected} == expected
    assert matrix.to_numpy().sum() == sum(expected.values()) > 0


def test_a_loader_of_parisian_validations_finds_stops_whole_with_rests_instead_of_a_mask(
    published: Callable[..., Path],
) -> None:
    folder = published("idfm")
    loaded = idfm_loader.validations(folder / "shapes/idfm/2025_T1_NB_FER.txt")
    assert set(loaded.CATEGORIE_TITRE) == {"NAVIGO", "IMAGINE R", "FGT", "NON PUBLIE"}
    found = loaded.groupby(["JOUR", "CODE_STIF_ARRET"]).NB_VALD.sum().to_dict()
    cells: dict[tuple[Any, str], int] = {}
    for row in tapveil.open(folder).table("validations").rows():
        key = pd.Timestamp(row["date"]), row["tap_on_location"]
        cells[key] = cells.get(key, 0) + row["count"]
    for row in tapveil.open(folder).table("stops").rows():
        if row["tap_on_location"] != "UNKNOWN":
            key = pd.Timestamp(row["date"]), row["tap_on_location"]
            assert found[key] == max(row["count"], cells.get(key, 0))


def test_parisian_profiles_are_shares_of_a_stop_and_a_kind_of_day(published: Callable[..., Path]) -> None:
    folder = published("idfm")
    shares = idfm_loader.profiles(folder / "shapes/idfm/2025_T1_PROFIL_FER.txt")
    assert {kind for _, kind in shares.index} <= {"JOHV", "SAHV", "DIJFP"}
    assert ((shares.sum(axis=1) - 1).abs() < 0.002).all()  # each rounded to a hundredth of a per cent
    cells = [
        row
        for row in tapveil.open(folder).table("profiles").where(day_type="weekday").rows()
        if row["tap_on_time"] != "-1"
    ]
    place = max(cells, key=lambda row: row["count"])["tap_on_location"]
    counts = {int(row["tap_on_time"][:2]): row["count"] for row in cells if row["tap_on_location"] == place}
    for hour, count in counts.items():
        assert shares.loc[(place, "JOHV"), hour] == pytest.approx(count / sum(counts.values()), abs=1e-4)


RIDE = """
[[table]]
name = "boarded"
columns = ["trip_id", "on_sequence", "tap_on_location"]
[[table]]
name = "alighted"
columns = ["trip_id", "off_sequence", "tap_off_location"]
"""


def _with_vehicle_trips() -> dict[str, str]:
    more = "".join(f'{name} = "{name}"\n' for name in ("trip_id", "on_sequence", "off_sequence"))
    return {
        r'partition = \["mode", "month", "day_type"\]': 'partition = ["mode"]',
        r'date = "trip_date"\n': f'date = "trip_date"\n{more}',
        r'columns = \["tap': 'columns = ["month", "day_type", "tap',
        r"\Z": RIDE,
    }


def test_gtfs_ride_is_valid_in_a_feed(published: Callable[..., Path], shared_data: Path) -> None:
    """The headers of the sample feed, required fields, formats, and stops that the feed has."""
    folder = published("gtfs-ride", **_with_vehicle_trips()) / "shapes/gtfs-ride"
    stops = {
        feature["properties"]["name"]
        for feature in json.loads((folder.parents[2] / "city/places.geojson").read_text())["features"]
    }
    with zipfile.ZipFile(shared_data / "gtfs-ride/ride_sample_all.zip") as feed:
        for name in ("ridership.txt", "board_alight.txt", "ride_feed_info.txt"):
            header = feed.read(name).decode("utf-8-sig").splitlines()[0]
            assert (folder / name).read_text().splitlines()[0] == header
    day, clock, number = r"202503\d\d", r"\d\d:\d\d:00", r"\d+|"
    ridership = rows_of(folder / "ridership.txt")
    for row in ridership:
        assert re.fullmatch(day, row["ridership_start_date"])
        assert row["ridership_start_date"] <= row["ridership_end_date"]
        assert re.fullmatch(clock, row["ridership_start_time"])
        assert row["ridership_start_time"] < row["ridership_end_time"]
        assert re.fullmatch(number, row["total_boardings"])
        assert re.fullmatch(number, row["total_alightings"])
        assert row["total_boardings"] + row["total_alightings"]
        assert row["stop_id"] in stops
    kinds = {tuple(row[day] for day in WEEK) for row in ridership}
    assert kinds == {tuple("1111100"), tuple("0000010"), tuple("0000001")}
    boarded = rows_of(folder / "board_alight.txt")
    for row in boarded:
        assert row["trip_id"] in {f"{mode} 1" for mode in MODES}
        assert row["stop_id"] in stops
        assert int(row["stop_sequence"]) > 0
        assert (row["record_use"], row["service_date"]) == ("0", "")
    keys = [(row["trip_id"], row["stop_id"], row["stop_sequence"]) for row in boarded]
    assert len(set(keys)) == len(keys) > 10
    (info,) = rows_of(folder / "ride_feed_info.txt")
    assert (info["ride_files"], info["ride_start_date"], info["ride_end_date"]) == ("4", "20250303", "20250316")


WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
QUEENSLAND = "operator,month,route,direction,time,ticket_type,origin_stop,destination_stop,quantity"


def test_queensland_has_its_header_parts_of_weekdays_and_weekends_in_one_row(published: Callable[..., Path]) -> None:
    folder = published("queensland")
    path = folder / "shapes/queensland/origin_destination_trips_2025-03.csv"
    assert path.read_text().splitlines()[0] == QUEENSLAND
    rows = rows_of(path)
    expected: dict[tuple[str, ...], int] = {}
    for row in tapveil.open(folder).table("trips").rows():
        ends = row["tap_on_location"], row["tap_off_location"]
        if "UNKNOWN" not in ends and row["tap_on_time"] != "-1":
            key = (row["tap_on_time"] if row["day_type"] == "weekday" else "", *ends)
            expected[key] = expected.get(key, 0) + row["count"]
    starts = {"12:00am": "00:00", "8:30am": "08:30", "3:00pm": "15:00", "7:00pm": "19:00"}
    found = {}
    for row in rows:
        time = re.fullmatch(r"Weekday \((.*)-.*\)|Weekend", row["time"])
        assert time
        found[starts.get(time[1], ""), row["origin_stop"], row["destination_stop"]] = int(row["quantity"])
        assert (row["operator"], row["month"], row["route"], row["ticket_type"]) == ("", "2025-03", "", "")
    assert found == expected
    assert len(found) == len(rows)


def test_numbat_is_a_workbook_for_each_kind_of_day_with_quarter_hours_across(published: Callable[..., Path]) -> None:
    folder = published("numbat")
    books = folder / "shapes/numbat"
    assert {path.name for path in books.iterdir()} == {
        f"NBT25{kind}_Outputs.xlsx" for kind in ("MON", "TWT", "FRI", "SAT", "SUN")
    }
    package = json.loads((folder / "datapackage.json").read_text())
    described = {each["path"]: each for each in package["resources"] if each["path"].endswith(".xlsx")}
    assert set(described) == {f"shapes/numbat/{path.name}" for path in books.iterdir()}
    assert all("schema" not in each and each["format"] == "xlsx" for each in described.values())
    assert all((folder / path).stat().st_size == each["bytes"] for path, each in described.items())
    delivered = {file.path: (file.title, file.columns) for file in Parcel.of(folder).files if file.path in described}
    assert delivered == {path: (each["title"], ()) for path, each in described.items()}
    book = books / "NBT25TWT_Outputs.xlsx"
    assert workbook.sheets(book) == ["Station_Entries", "Station_Exits"]
    with workbook.as_csv(book, "Station_Entries", header=3, trips=4) as file:
        rows = list(csv.DictReader(file.read().decode().splitlines()))
    header = list(rows[0])
    bands = ["Total", "Early", "AM Peak", "Midday", "PM Peak", "Evening", "Late"]
    assert header[:11] == ["NLC", "ASC", "Station", "Coverage", *bands]
    assert (header[11], header[-1], len(header)) == ("0500-0515", "0445-0500", 107)
    cells = [
        row
        for row in tapveil.open(folder).table("entries").where(day_type="TWT").rows()
        if row["tap_on_time"] != "-1" and row["tap_on_location"] != "UNKNOWN"
    ]
    by_place: dict[tuple[str, str], dict[str, int]] = {}
    for row in cells:
        by_place.setdefault((row["mode"], row["tap_on_location"]), {})[row["tap_on_time"]] = row["count"]
    assert {(row["Coverage"], row["Station"]) for row in rows} == set(by_place)
    for row in rows:
        own = by_place[row["Coverage"], row["Station"]]
        assert float(row["Total"]) == pytest.approx(sum(own.values()) / 6, abs=0.051)  # two weeks of three such days
        shown = {f"{name[:2]}:{name[2:4]}": value for name, value in list(row.items())[11:] if value}
        assert {time: float(value) for time, value in shown.items()} == pytest.approx(
            {time: count / 6 for time, count in own.items()}, abs=0.051
        )


def test_opal_has_the_bytes_of_its_layout(published: Callable[..., Path], tmp_path: Path) -> None:
    folder = published("opal", **{"# shapes": "shapes", r"epsilon = \d\n": "epsilon = 6\n"})
    release = tapveil.open(folder)
    tables = []
    for claim in release.manifest.tables:
        rows = release.table(claim.name).rows()
        texts = {key: pa.array([row[key] for row in rows], pa.string()) for key in release.manifest.keys(claim)}
        cells = pa.table({**texts, "count": pa.array([row["count"] for row in rows], pa.int64())})
        assert len(cells) > 0
        fields = tuple(Field(key, release.manifest.columns[key]) for key in release.manifest.keys(claim))
        tables.append(PublishedTable(claim.name, fields, cells))
    manifest = release.manifest.model_copy(update={"layout": "opal"})
    for name, laid in laid_out(manifest, tables).items():
        write_csv(tmp_path / f"{name}.csv", [laid])
        assert (folder / f"shapes/opal/{name}.csv").read_bytes() == (tmp_path / f"{name}.csv").read_bytes()


LIMITS = ("low", "high")


def test_station_hour_has_intervals_where_others_have_a_mask(published: Callable[..., Path]) -> None:
    folder = published("station-hour", **{r'# shapes = \["lta"\]': 'shapes = ["station-hour"]'})
    cells = {
        (row["mode"], row["day_type"], row["tap_on_time"], row["tap_on_location"]): row
        for row in tapveil.open(folder).table("taps_on").rows()
    }
    for row in rows_of(folder / "shapes/station-hour/station_hour.csv"):
        cell = cells.get((row["mode"], row["day_type"], row["time"], row["station"]), {})
        shown = [row[f"entries{name}"] for name in ("", "_low", "_high")]
        assert shown == [str(cell.get(name, "")) for name in ("count", *LIMITS)]
        assert row["days"] == {"weekday": "10", "weekend": "4"}[row["day_type"]]


@pytest.mark.parametrize("name", AGENCIES)
def test_every_agencys_preset_names_its_shape(name: str) -> None:
    assert Plan.preset(name).release.shapes == (name,)


def test_shapes_of_every_cell_have_estimates_and_no_gaps(published: Callable[..., Path]) -> None:
    ends = '[places]\npath = "places.geojson"\n\n[privacy]'
    world = {
        'mechanism = "gaussian" ': 'mechanism = "world" ',
        r"modes = .*": 'modes = ["ferry"]',
        r"last_day = .*": f"last_day = {DAYS[1]}",
        r"\[privacy\]": ends,
        r"\Z": '\n[[table]]\nname = "pairs"\ncolumns = ["tap_on_location", "tap_off_location"]\n',
    }
    folder = published("tides", **world)
    rows = rows_of(folder / "shapes/tides/station_activities.csv")
    assert all(row["total_entries"].isdigit() for row in rows)
    estimates = tapveil.open(folder).estimate(["date", "tap_on_time", "tap_on_location"])
    known = [row for row in estimates.rows() if row["tap_on_time"] != "-1" and row["tap_on_location"] != "UNKNOWN"]
    assert sum(int(row["total_entries"]) for row in rows) == sum(row["count"] for row in known)
