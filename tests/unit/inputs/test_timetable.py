"""The cells of a timetable, against a plain-Python listing of every call."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tapveil.base.errors import PlanError, TripDataError
from tapveil.demo.ridership import make_rides
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan

FEED = {
    "agency.txt": "agency_name,agency_url,agency_timezone\nX,http://x,Australia/Sydney\n",
    "stops.txt": (
        "stop_id,stop_name,stop_lat,stop_lon,zone_id,location_type,parent_station\n"
        "s,Station,-33.88,151.20,1,1,\np1,Platform 1,-33.8801,151.2001,1,0,s\np2,Platform 2,-33.8802,151.2002,1,0,s\n"
        "a,Alpha,-33.90,151.10,2,0,\nf,Far Wharf,-33.70,151.30,3,0,\ng,Other Wharf,-33.71,151.31,3,0,\n"
    ),
    "routes.txt": "route_id,route_short_name,route_type\nr1,T1,2\nr2,333,700\nr3,F9,4\n",
    "trips.txt": "route_id,service_id,trip_id\nr1,daily,t1\nr2,late,t2\nr3,daily,t3\n",
    "stop_times.txt": (
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type\n"
        "t1,07:58:00,08:00:00,p1,1,0,0\nt1,08:20:00,08:21:00,a,2,0,0\nt1,08:40:00,08:40:00,p2,3,0,0\n"
        "t2,23:50:00,23:50:00,a,1,0,0\nt2,25:10:00,25:15:00,p2,2,0,1\nt2,26:05:00,26:05:00,f,3,0,0\n"
        "t3,10:00:00,10:00:00,f,1,0,0\nt3,10:30:00,10:30:00,g,2,0,0\n"
    ),
    "calendar.txt": (
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
        "daily,1,1,1,1,1,1,1,20160930,20161005\n"
    ),
    "calendar_dates.txt": "service_id,date,exception_type\ndaily,20161003,2\nlate,20161001,1\nlate,20161003,1\n",
}

PLAN = """
[release]
name = "cells"
title = "Cells"
[source]
path = "trips.csv"
{source}
[source.columns]
mode = "mode"
date = "on"
tap_on_time = "on"
tap_on_location = "from"
tap_off_time = "off"
tap_off_location = "to"
[coarsen]
time_minutes = 15
{coarsen}
[gtfs]
path = "gtfs.zip"
minutes_before = {before}
minutes_after = {after}
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "dictionary"
epsilon = 1
[[table]]
name = "on"
columns = ["tap_on_time", "tap_on_location"]
cells = "gtfs"
[[table]]
name = "off"
columns = ["tap_off_time", "tap_off_location"]
cells = "gtfs"
[[table]]
name = "places"
columns = ["tap_on_location"]
cells = "gtfs"
"""


def write_feed(folder: Path, **changes: str) -> None:
    with zipfile.ZipFile(folder / "gtfs.zip", "w") as archive:
        for name, text in (FEED | {f"{key}.txt": value for key, value in changes.items()}).items():
            archive.writestr(name, text)


def plan(folder: Path, source: str = "", coarsen: str = "", before: int = 0, after: int = 0, text: str = PLAN) -> Plan:
    write_feed(folder)
    return Plan.parse(text.format(source=source, coarsen=coarsen, before=before, after=after), base=folder)


MODES = {"2": "train", "700": "bus", "4": "ferry"}
DAYS = {
    "daily": [date(2016, 9, 30) + timedelta(days=n) for n in (0, 1, 2, 4, 5)],
    "late": [date(2016, 10, 1), date(2016, 10, 3)],
}
STATION = {"p1": "s", "p2": "s"}


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(FEED[name])))


def calls(off: bool) -> Iterator[tuple[str, datetime, str]]:
    """Every call of every day: mode, the moment by the clock in Sydney, stop."""
    routes = {row["route_id"]: MODES[row["route_type"]] for row in rows("routes.txt")}
    trips = {row["trip_id"]: row for row in rows("trips.txt")}
    times = rows("stop_times.txt")
    for number, row in enumerate(times):
        trip = trips[row["trip_id"]]
        edge = times[number - 1] if off else times[(number + 1) % len(times)]
        if edge["trip_id"] != row["trip_id"] or row["drop_off_type" if off else "pickup_type"] == "1":
            continue
        hours, minutes, seconds = map(int, row["arrival_time" if off else "departure_time"].split(":"))
        for day in DAYS[trip["service_id"]]:
            noon = datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo("Australia/Sydney")).timestamp()
            moment = noon - 12 * 3600 + 3600 * hours + 60 * minutes + seconds
            yield routes[trip["route_id"]], datetime.fromtimestamp(moment, ZoneInfo("Australia/Sydney")), row["stop_id"]


def expected(off: bool, starts: int, continued: bool, before: int, after: int) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for mode, moment, stop in calls(off):
        for minute in range(-before, after + 1):
            shown = (moment.astimezone(ZoneInfo("UTC")) + timedelta(minutes=minute)).astimezone(moment.tzinfo)
            clock = 60 * shown.hour + shown.minute
            day = shown.date() - timedelta(days=clock < starts)
            bin_ = clock - clock % 15 + (1440 if continued and clock < starts else 0)
            label = f"{bin_ // 60:02d}:{bin_ % 60:02d}"
            for place in {stop, STATION.get(stop, stop), "UNKNOWN"}:
                found.add((mode, day.isoformat(), label, place))
            found.add((mode, day.isoformat(), "-1", "UNKNOWN"))
    return found


def listed(table: object) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("before", "after"), [(0, 0), (10, 20), (0, 45), (15, 30)])
@pytest.mark.parametrize(("starts", "continued"), [(0, False), (240, False), (240, True)])
def test_cells_are_those_of_every_call(before: int, after: int, starts: int, continued: bool, tmp_path: Path) -> None:
    """Past midnight, on the day that the clocks change (2 October 2016), with exceptions of the calendar."""
    source = f'day_starts = "{starts // 60:02d}:00"'
    coarsen = 'after_midnight = "continued"' if continued else ""
    found = PublicInputs.of(plan(tmp_path, source, coarsen, before, after)).dictionaries
    for name, off in (("on", False), ("off", True)):
        cells = listed(found[name])
        assert set(cells) == expected(off, starts, continued, before, after)
        assert cells == sorted(set(cells)), "sorted, none twice"
    assert set(listed(found["places"])) == {
        (mode, day, place) for mode, day, _, place in expected(False, starts, continued, before, after)
    }


def test_only_covered_days_and_modes(tmp_path: Path) -> None:
    source = 'first_day = 2016-10-02\nlast_day = 2016-10-02\nmodes = ["train", "bus"]'
    cells = listed(PublicInputs.of(plan(tmp_path, source)).dictionaries["on"])
    assert {cell[:2] for cell in cells} == {("train", "2016-10-02"), ("bus", "2016-10-02")}
    assert ("bus", "2016-10-02", "01:15", "s") in cells, "the late bus of the day before"
    with pytest.raises(TripDataError, match="no cells on the days"):
        _ = PublicInputs.of(plan(tmp_path, "first_day = 2020-01-01\nlast_day = 2020-01-02")).dictionaries


def test_stops_as_they_are_published(tmp_path: Path) -> None:
    for way, places in {"station_name": {"Station", "Alpha", "Far Wharf"}, "zone_id": {"1", "2", "3"}}.items():
        named = plan(tmp_path, coarsen=f'[coarsen.location."*"]\ngtfs = "{way}"')
        assert {cell[2] for cell in listed(PublicInputs.of(named).dictionaries["places"])} == places | {"UNKNOWN"}
        drawn = PublicInputs.of(named).places
        assert drawn
        assert places <= {each["properties"]["name"] for each in drawn["features"]}
    plain = PublicInputs.of(plan(tmp_path)).places
    assert plain
    assert [(each["properties"]["name"], each["properties"].get("title")) for each in plain["features"]][:2] == [
        ("a", "Alpha"),
        ("f", "Far Wharf"),
    ]


def test_modes_have_the_names_that_the_trips_give_them(tmp_path: Path) -> None:
    text = PLAN.replace("[privacy]", '[gtfs.modes]\n700 = "nightbus"\n2 = "rail"\n[privacy]')
    cells = listed(PublicInputs.of(plan(tmp_path, text=text)).dictionaries["places"])
    assert {cell[0] for cell in cells} == {"nightbus", "rail", "ferry"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["tap_on_location"]', '["tap_on_location", "tap_off_location"]', "tables of one end"),
        ('[gtfs]\npath = "gtfs.zip"\nminutes_before = 0\nminutes_after = 0\n', "", "needs a section [gtfs]"),
        ('mode = "mode"', 'mode = "mode"\nfare = "fare"', None),
        ('path = "trips.csv"', 'path = "trips.csv"\ndates = "labels"', "needs calendar dates"),
    ],
)
def test_what_a_timetable_cannot_say(old: str, new: str, message: str | None, tmp_path: Path) -> None:
    write_feed(tmp_path)
    text = PLAN.format(source="", coarsen="", before=0, after=0)
    assert old in text
    if message is None:
        text = text.replace('["tap_on_location"]', '["fare"]')
        message = "does not know fare"
    with pytest.raises(PlanError) as error:
        Plan.parse(text.replace(old, new), base=tmp_path)
    assert message in str(error.value)


AREAS = """{"type": "FeatureCollection", "features": [
 {"type": "Feature", "properties": {"suburb": "South"}, "geometry": {"type": "Polygon", "coordinates":
  [[[151, -34], [151.25, -34], [151.25, -33.8], [151, -33.8], [151, -34]]]}},
 {"type": "Feature", "properties": {"suburb": "North"}, "geometry": {"type": "Polygon", "coordinates":
  [[[151.25, -33.8], [151.5, -33.8], [151.5, -33.6], [151.25, -33.6], [151.25, -33.8]]]}}]}"""


def test_areas_by_polygon_and_by_h3_cell(tmp_path: Path) -> None:
    (tmp_path / "suburbs.geojson").write_text(AREAS)
    text = '[coarsen.location."*"]\npolygons = "suburbs.geojson"\nname = "suburb"\n[coarsen.location.ferry]\nh3 = 6'
    mixed = plan(tmp_path, coarsen=text)
    areas = PublicInputs.of(mixed).areas
    assert {areas.area("bus", stop) for stop in ("s", "p1", "a")} == {"South"}
    assert areas.area("bus", "f") == "North"
    assert areas.area("ferry", "f").startswith("86")
    assert areas.area("bus", "nowhere") == areas.area("ferry", "") == "UNKNOWN"
    drawn = PublicInputs.of(mixed).places
    assert drawn
    shapes = {(each["properties"]["mode"], each["geometry"]["type"]) for each in drawn["features"]}
    assert shapes == {("*", "Polygon"), ("ferry", "Polygon")}


@pytest.mark.parametrize(
    ("area", "message"),
    [
        ('lookup = "a.csv"\nh3 = 6', "give exactly one of `lookup`, `gtfs`, `polygons` and `h3`"),
        ('polygons = "a.geojson"', "`polygons` needs `name`"),
        ('lookup = "a.csv"', "`lookup` needs `from` and `to`"),
        ("h3 = 16", "less than or equal to 15"),
        ('gtfs = "name"', "'stop_name'"),
    ],
)
def test_an_area_is_one_of_four(area: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError) as error:
        plan(tmp_path, coarsen=f'[coarsen.location."*"]\n{area}')
    assert message in str(error.value)


@pytest.mark.parametrize("trips", [1, 3, 10, 1000, 1001])
def test_a_city_on_a_timetable_has_as_many_rides_as_are_asked_for(trips: int, tmp_path: Path) -> None:
    """However they are shared among the days."""
    write_feed(tmp_path)
    make_rides(tmp_path / "city", tmp_path / "gtfs.zip", trips=trips)
    days = (tmp_path / "city" / "trips").glob("*.csv")
    assert sum(len(day.read_text(encoding="utf-8").splitlines()) - 1 for day in days) == trips
