"""Lists in the project folder that are offered as areas, and areas on the map."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tapveil.studio.project import Project
from tapveil.studio.publish import on_map, options
from tapveil.studio.server import Server
from tapveil.studio.studio import Screens, Studio
from tests.support.example import PLAN, WHARVES

DISTRICTS = "wharf,district,latitude\n" + "".join(f"{name},{name[0] < 'N'},{n}\n" for n, name in enumerate(WHARVES))


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "trips.csv").write_text("mode,day,boarded,wharf\n", encoding="utf-8")
    made = Studio(Project.of(tmp_path), Server(tmp_path.name), cast("Screens", None))
    yield made
    made.ahead.stop()


def offered(studio: Studio) -> dict[str, Any]:
    return {each["name"]: each for each in options(studio, {})["locations"]}


@pytest.mark.parametrize("column", ["wharf", "Wharf", "first_wharf"])
def test_a_list_of_the_places_is_offered_by_what_makes_areas_of_them(studio: Studio, column: str) -> None:
    folder = studio.project.folder
    (folder / "districts.csv").write_text(DISTRICTS.replace("wharf", "wharf" if "_" in column else column, 1))
    text = PLAN.replace('"wharf"', '"first_wharf"') if "_" in column else PLAN
    studio.project.plan_path.write_text(text, encoding="utf-8")
    (folder / "other.csv").write_text("stop,district\nQuay,A\n")
    (folder / "broken.csv").write_bytes(b"wharf,district\n\xff\xfe,\n")
    (folder / "twice.csv").write_text("wharf,zone\nQuay,A\nQuay,B\nManly,A\n")
    (folder / "february.csv").write_text("mode,day,boarded,wharf,district\nbus,1,2,Quay,A\n")
    assert [*offered(studio)] == ["Places as the trips name them", "district, by districts.csv"]


def test_a_list_that_is_chosen_is_in_the_plan(studio: Studio) -> None:
    (studio.project.folder / "districts.csv").write_text(DISTRICTS)
    edits = offered(studio)["district, by districts.csv"]["edits"]
    plan = studio.plan(edits)
    assert plan.coarsen.location["*"].lookup == "districts.csv"
    chosen = options(studio, {"edits": edits})["locations"]
    assert [each["name"] for each in chosen if each["chosen"]] == ["district, by districts.csv"]


def test_areas_are_on_the_map_with_their_outlines(studio: Studio) -> None:
    ring = [[151.2, -33.8], [151.3, -33.8], [151.3, -33.9], [151.2, -33.8]]
    shapes = {"Quay": ("Polygon", [ring]), "Manly": ("MultiPolygon", [[ring], [ring, ring]])}
    features = [
        {"type": "Feature", "properties": {"name": name}, "geometry": {"type": kind, "coordinates": coordinates}}
        for name, (kind, coordinates) in shapes.items()
    ]
    places = {"type": "FeatureCollection", "features": features}
    (studio.project.folder / "places.geojson").write_text(json.dumps(places))
    studio.project.plan_path.write_text(f'{PLAN}\n[places]\npath = "places.geojson"\n', encoding="utf-8")
    found = on_map(studio, {"table": "on_location"})
    assert found["places"] == []
    assert {each["name"]: len(each["rings"]) for each in found["areas"]} == {"Quay": 1, "Manly": 3}
    assert "trips" not in found["areas"][0]
