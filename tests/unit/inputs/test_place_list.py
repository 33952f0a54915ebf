"""Lists of places: points from CSV, points and areas from GeoJSON, and a clear word about anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tapveil.base.errors import TripDataError
from tapveil.inputs.geometry import NamedShape, collection
from tapveil.inputs.place_list import read_place_list
from tapveil.inputs.public import PublicInputs
from tapveil.inputs.snapshot import ON_DISK
from tapveil.internal.outlook import outlook, read_public_files
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tapveil.plan.model import PlaceList, Plan
from tapveil.veil.release import release
from tapveil.verification.folder import verify_folder
from tests.conftest import opal_plan, start_ledger, write_csv

SQUARE = [[[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [1.0, 1.0]]]


def listed(folder: Path, file: str, text: str, **columns: str) -> list[NamedShape]:
    (folder / file).write_text(text, encoding="utf-8")
    return read_place_list(folder, PlaceList(path=file, **columns), ON_DISK)


def geojson(*features: dict[str, Any]) -> str:
    return json.dumps({"type": "FeatureCollection", "features": list(features)})


def feature(kind: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": {"type": kind, "coordinates": coordinates}}


def test_points_of_a_csv_file(tmp_path: Path) -> None:
    text = (
        "name,mode,latitude,longitude\nCentral,train,-33.883,151.206\n2000,bus,-33.8,151.2\n2000,bus,-33.9,151.3\n"
        "Quay,,-33.86,151.21\nNowhere,bus,,\n"
    )
    found = {(place.mode, place.name): place.geometry for place in listed(tmp_path, "places.csv", text)}
    assert found == {
        ("train", "Central"): {"type": "Point", "coordinates": [151.206, -33.883]},
        ("bus", "2000"): {"type": "MultiPoint", "coordinates": [[151.3, -33.9], [151.2, -33.8]]},
        ("*", "Quay"): {"type": "Point", "coordinates": [151.21, -33.86]},
        ("bus", "Nowhere"): {"type": "MultiPoint", "coordinates": []},
    }


def test_degrees_may_have_a_decimal_comma(tmp_path: Path) -> None:
    (place,) = listed(tmp_path, "places.csv", "name;latitude;longitude\nA;-33,8;151,25\n")
    assert place.geometry["coordinates"] == [151.25, -33.8]


def test_columns_of_other_names(tmp_path: Path) -> None:
    columns = {"name": "stop", "latitude": "lat", "longitude": "lon"}
    (place,) = listed(tmp_path, "places.csv", "stop,lat,lon\nCentral,1,2\n", **columns)
    assert (place.name, place.mode, place.geometry["coordinates"]) == ("Central", "*", [2.0, 1.0])


def test_points_and_areas_of_a_geojson_file(tmp_path: Path) -> None:
    text = geojson(
        feature("Point", [151.2, -33.9, 12], name="Central", mode="train"),
        feature("Polygon", SQUARE, name=2000, mode="bus"),
        feature("MultiPolygon", [SQUARE], name="East"),
    )
    found = listed(tmp_path, "places.geojson", text)
    assert [(place.name, place.mode) for place in found] == [("Central", "train"), ("2000", "bus"), ("East", "*")]
    (drawn,) = collection(found[:1])["features"]
    assert drawn["geometry"] == {"type": "Point", "coordinates": [151.2, -33.9]}, "without its height"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_separates_the_columns_is_found(delimiter: str, tmp_path: Path) -> None:
    rows = [("name", "latitude", "longitude", "note"), ("Central", "-33.88", "151.2", '"a, b; c"')]
    (place,) = listed(tmp_path, "places.csv", "".join(f"{delimiter.join(row)}\n" for row in rows))
    assert (place.name, place.geometry["coordinates"]) == ("Central", [151.2, -33.88])


@pytest.mark.parametrize(("mode", "read"), [(" ", "*"), ("", "*"), (None, "*"), ("bus ", "bus"), (3, "3")])
def test_a_mode_is_read_without_the_blanks_around_it(mode: Any, read: str, tmp_path: Path) -> None:
    (place,) = listed(tmp_path, "places.geojson", geojson(feature("Point", [1, 2], name=" A ", mode=mode)))
    (point,) = listed(tmp_path, "places.csv", f"name,mode,latitude,longitude\n A ,{'' if mode is None else mode},2,1\n")
    assert (place.name, place.mode) == (point.name, point.mode) == ("A", read)


WRONG = {
    "no column": ("places.csv", "place,latitude,longitude\n", "has no column `name`"),
    "no number": ("places.csv", "name,latitude,longitude\nCentral,north,2\n", "line 2: latitude and longitude must be"),
    "off the earth": ("places.csv", "name,latitude,longitude\nCentral,151,-33\n", "line 2: latitude 151.0"),
    "a line": ("places.geojson", geojson(feature("LineString", [[1.0, 2.0]], name="A")), "feature 1: is a LineString"),
    "no name": ("places.geojson", geojson(feature("Point", [1, 2], title="A")), "has no property `name`"),
    "no shape": ("places.geojson", geojson({"type": "Feature", "properties": {"name": "A"}}), "feature 1: has no"),
    "an open ring": ("places.geojson", geojson(feature("Polygon", [SQUARE[0][:3]], name="A")), "is not closed"),
    "latitude first": ("places.geojson", geojson(feature("Point", [-33.8, 151.2], name="A")), "longitude first"),
    "metres": ("places.geojson", geojson(feature("Point", [334000, 6250000], name="A")), "not a longitude from"),
    "one number": ("places.geojson", geojson(feature("Point", [1], name="A")), "not a list of two numbers"),
    "wrongly nested": ("places.geojson", geojson(feature("Polygon", [1, 2], name="A")), "not nested"),
    "twice": ("places.geojson", geojson(*[feature("Point", [1, 2], name="A")] * 2), "two shapes of `A`"),
    "half a character": ("places.json", geojson(feature("Point", [1, 2], name="A\ud800")), "feature 1: `name` has"),
    "half a mode": (
        "places.json",
        geojson(feature("Point", [1, 2], name="A", mode="\udfff")),
        "`mode` has a control",
    ),
    "two lines": ("places.json", geojson(feature("Point", [1, 2], name="A\nB")), "feature 1: `name` has a control"),
    "a list": ("places.json", geojson(feature("Point", [1, 2], name=["A"])), "`name` is neither text nor a number"),
    "two lines of CSV": ("places.csv", 'name,latitude,longitude\n"A\nB",1,2\n', "line 3: `name` has a control"),
    "a bell": ("places.csv", "name,mode,latitude,longitude\nA,b\a,1,2\n", "line 2: `mode` has a control"),
    "a header only": ("places.csv", "name,latitude,longitude\n", r"places\.csv is empty"),
    "no positions": ("places.csv", "name,latitude,longitude\nA,,\n,1,2\n", r"places\.csv is empty"),
    "commas in numbers": (
        "places.csv",
        "name;latitude;longitude\nA;-33,8;1,151,2\n",
        "line 2: .* in degrees, such as -33.88 or -33,88",
    ),
    "no JSON": ("places.json", "{", "not valid JSON"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_read_is_said_with_its_place(wrong: str, tmp_path: Path) -> None:
    name, text, words = WRONG[wrong]
    with pytest.raises(TripDataError, match=words):
        listed(tmp_path, name, text)


def test_a_list_that_is_not_there_is_said_before_anything_is_spent(tmp_path: Path) -> None:
    with pytest.raises(
        TripDataError, match=r"no list of places .*places\.csv \(\[places\] path; paths are relative to the plan\)"
    ):
        read_place_list(tmp_path, PlaceList(path="places.csv"), ON_DISK)


def with_places(folder: Path, file: str) -> Plan:
    return opal_plan(folder, **{"# [places]": "[places]", '# path = "places.csv"': f'path = "{file}"'})


@pytest.mark.parametrize("mode", [" ", "bus ", "bus"])
def test_a_folder_with_these_places_keeps_its_word(mode: str, tmp_path: Path) -> None:
    (tmp_path / "places.geojson").write_text(geojson(feature("Point", [1, 2], name="A", mode=mode)), encoding="utf-8")
    write_csv(tmp_path / "trips.csv", [("1", "2016-08-08", "train", "08:00", "A", "08:20", "B")] * 90)
    published = release(with_places(tmp_path, "places.geojson"), tmp_path / "out", in_ledger=False)
    assert not verify_folder(published.path).findings


@pytest.mark.parametrize(
    "place",
    [
        NamedShape(" ", {"type": "Point", "coordinates": [1.0, 2.0]}),
        NamedShape("A", {"type": "Point", "coordinates": [1.0, 2.0]}, " "),
        NamedShape("A\ud800", {"type": "Point", "coordinates": [1.0, 2.0]}),
        NamedShape("A", {"type": "Polygon", "coordinates": []}),
    ],
)
def test_what_verify_would_not_take_is_not_paid_for(
    place: NamedShape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever list it came from."""
    write_csv(tmp_path / "trips.csv", [])
    (tmp_path / "places.csv").write_text("name,latitude,longitude\nA,1,2\n", encoding="utf-8")
    plan = with_places(tmp_path, "places.csv")
    start_ledger(plan)
    monkeypatch.setattr("tapveil.inputs.map.read_place_list", lambda base, listed, files: [place])
    with pytest.raises(TripDataError, match="the lists of places cannot be published"):
        read_public_files(plan)  # as `check` does
    with pytest.raises(TripDataError, match="the lists of places cannot be published"):
        release(plan, tmp_path / "out")
    with Ledger.open(plan.ledger_path) as book:
        assert not [entry for entry in book.entries if isinstance(entry, Spend)]


def test_shapes_too_large_to_be_verified_are_refused_before_anything_is_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "places.csv").write_text("name,latitude,longitude\nA,1,2\n", encoding="utf-8")
    plan = with_places(tmp_path, "places.csv")
    monkeypatch.setattr("tapveil.published.places.LARGEST", 100)
    with pytest.raises(TripDataError, match="Simplify their borders"):
        read_public_files(plan)


def test_all_places_of_the_list_are_published_whoever_travels_there(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("name,mode,latitude,longitude\nNever used,bus,1,2\n", encoding="utf-8")
    found = PublicInputs.of(with_places(tmp_path, "places.csv")).places
    assert found is not None
    assert [each["properties"]["name"] for each in found["features"]] == ["Never used"]


# --- a list that lacks places -----------------------------------------------------------------------------------------


def remarked(folder: Path, text: str) -> list[str]:
    """What `check` says of a list: 90 trips go from A to B, 10 from C to nowhere."""
    (folder / "places.csv").write_text(text, encoding="utf-8")
    trips = [("1", "2016-08-08", "train", "08:00", "A", "08:20", "B")] * 90
    write_csv(folder / "trips.csv", trips + [("1", "2016-08-08", "train", "09:00", "C", "", "")] * 10)
    return [note for note in outlook(with_places(folder, "places.csv")).notes if "map" in note]


LACKING = "are not in places.csv: they will not be on the map"
HINT = f"{LACKING}; use the names as they are published, such as the postcode, not the stop"


def test_check_says_which_share_the_list_lacks(tmp_path: Path) -> None:
    assert remarked(tmp_path, "name,latitude,longitude\nA,1,2\nB,1,2\n") == [
        f"tap_on_location: 1 of 2 places, with 10 % of trips, {LACKING}"
    ]


def test_check_asks_where_nothing_is_on_the_list(tmp_path: Path) -> None:
    assert remarked(tmp_path, "name,latitude,longitude\nStop A,1,2\n") == [
        f"tap_on_location: 2 of 2 places, with 100 % of trips, {HINT}",
        f"tap_off_location: 1 of 1 places, with 90 % of trips, {HINT}",
    ]


@pytest.mark.parametrize("mode", ["", "train"])
def test_check_is_silent_where_all_are_on_the_list(mode: str, tmp_path: Path) -> None:
    assert not remarked(tmp_path, "name,mode,latitude,longitude\n" + "".join(f"{each},{mode},1,2\n" for each in "ABC"))


def test_a_mode_with_places_of_its_own_has_no_others(tmp_path: Path) -> None:
    """As the page draws them."""
    found = remarked(tmp_path, "name,mode,latitude,longitude\nA,train,1,2\nB,,1,2\nC,,1,2\n")
    assert [note.partition(",")[0] for note in found] == [
        "tap_on_location: 1 of 2 places",
        "tap_off_location: 1 of 1 places",
    ]
