"""Lists of places: points from CSV, points and areas from GeoJSON, and a clear word about anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tapveil.coarsen import read_places
from tapveil.errors import TripDataError
from tapveil.geometry import Place
from tapveil.placelist import read_place_list
from tapveil.plan import PlaceList, Plan
from tests.conftest import STOPS, opal_text

SQUARE = [[[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [1.0, 1.0]]]


def listed(folder: Path, file: str, text: str, **columns: str) -> list[Place]:
    (folder / file).write_text(text, encoding="utf-8")
    return read_place_list(folder, PlaceList(path=file, **columns))


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
    }


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
    assert found[0].geometry == {"type": "Point", "coordinates": [151.2, -33.9]}


WRONG = {
    "no column": ("places.csv", "place,latitude,longitude\n", "has no column `name`"),
    "no number": ("places.csv", "name,latitude,longitude\nCentral,north,2\n", "line 2: latitude and longitude are not"),
    "off the earth": ("places.csv", "name,latitude,longitude\nCentral,151,-33\n", "line 2: latitude 151.0"),
    "a line": ("places.geojson", geojson(feature("LineString", [[1.0, 2.0]], name="A")), "feature 1: is a LineString"),
    "no name": ("places.geojson", geojson(feature("Point", [1, 2], title="A")), "has no property `name`"),
    "no shape": ("places.geojson", geojson({"type": "Feature", "properties": {"name": "A"}}), "feature 1: has no"),
    "an open ring": ("places.geojson", geojson(feature("Polygon", [SQUARE[0][:3]], name="A")), "is not closed"),
    "metres": ("places.geojson", geojson(feature("Point", [334000, 6250000], name="A")), "not a longitude and"),
    "one number": ("places.geojson", geojson(feature("Point", [1], name="A")), "not a longitude and a latitude"),
    "wrongly nested": ("places.geojson", geojson(feature("Polygon", [1, 2], name="A")), "not nested"),
    "twice": ("places.geojson", geojson(*[feature("Point", [1, 2], name="A")] * 2), "two shapes of `A`"),
    "no JSON": ("places.json", "{", "not JSON"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_read_is_said_with_its_place(wrong: str, tmp_path: Path) -> None:
    name, text, words = WRONG[wrong]
    with pytest.raises(TripDataError, match=words):
        listed(tmp_path, name, text)


def test_a_list_that_is_not_there_is_said_before_anything_is_spent(tmp_path: Path) -> None:
    with pytest.raises(TripDataError, match=r"no list of places places\.csv"):
        read_place_list(tmp_path, PlaceList(path="places.csv"))


def test_all_places_of_the_list_are_published_whoever_travels_there(tmp_path: Path) -> None:
    (tmp_path / "stops.csv").write_text(STOPS, encoding="utf-8")
    (tmp_path / "places.csv").write_text("name,mode,latitude,longitude\nNever used,bus,1,2\n", encoding="utf-8")
    plan = Plan.parse(
        opal_text(**{"# [places]": "[places]", '# path = "places.csv"': 'path = "places.csv"'}), base=tmp_path
    )
    found = read_places(plan)
    assert found is not None
    assert [each["properties"]["name"] for each in found["features"]] == ["Never used"]
