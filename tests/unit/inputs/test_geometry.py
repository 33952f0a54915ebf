from __future__ import annotations

import json
import math
import re
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapveil.base.errors import PlanError, TripDataError
from tapveil.inputs.geometry import Geometry, NamedShape, Polygons, collection, h3_cell, h3_place, points

Ring = list[list[float]]


def square(west: float, south: float, size: float = 1) -> Ring:
    east, north = west + size, south + size
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def polygon(*rings: Ring) -> Geometry:
    return {"type": "Polygon", "coordinates": [*rings]}


def feature(name: Any, geometry: Geometry | None) -> dict[str, Any]:
    return {"type": "Feature", "properties": {"name": name}, "geometry": geometry}


def write(path: Path, *features: Any, **others: Any) -> Path:
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features, **others}), encoding="utf-8")
    return path


def read(folder: Path, *features: Any, **others: Any) -> Polygons:
    return Polygons.read(write(folder / "zones.geojson", *features, **others), "name")


def refusal(folder: Path, *features: Any, **others: Any) -> str:
    with pytest.raises(TripDataError) as caught:
        read(folder, *features, **others)
    return str(caught.value)


def test_a_point_lies_in_the_area_around_it(tmp_path: Path) -> None:
    zones = read(tmp_path, feature("west", polygon(square(0, 0))), feature("east", polygon(square(2, 0))))
    assert zones.areas([(0.5, 0.25)])[0] == "west"
    assert zones.areas([(0.5, 2.5), (0.5, 1.5), (0.5, 0.5)]) == ["east", None, "west"]
    assert zones.areas([]) == []


def test_a_hole_is_outside_and_its_border_is_inside(tmp_path: Path) -> None:
    zones = read(tmp_path, feature("ring", polygon(square(0, 0, 4), square(1, 1, 2))))
    assert zones.areas([(0.5, 0.5), (2, 2), (1, 2)]) == ["ring", None, "ring"]


@pytest.mark.parametrize("backwards", [False, True])
def test_the_first_name_in_the_alphabet_has_the_border_and_the_overlap(tmp_path: Path, backwards: bool) -> None:
    features = [
        feature("b", polygon(square(0, 0))),
        feature("a", polygon(square(1, 0))),
        feature("c", polygon(square(0.5, 0))),
    ]
    zones = read(tmp_path, *(reversed(features) if backwards else features))
    assert zones.areas([(0.5, 1)])[0] == "a"
    assert zones.areas([(0.5, 0.75)])[0] == "b"
    assert zones.areas([(0, 0), (1, 2), (0, 1.5)]) == ["b", "a", "a"]  # corners and edges


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_a_point_that_is_nowhere_lies_in_no_area(tmp_path: Path, bad: float | None) -> None:
    zones = read(tmp_path, feature("west", polygon(square(0, 0))))
    assert zones.areas([(bad, 0.5), (0.5, 0.5), (0.5, bad), (bad, bad)]) == [None, "west", None, None]
    assert zones.areas([(bad, 0.5)])[0] is None
    assert h3_cell(bad, 0.5, 7) is None
    assert h3_cell(0.5, bad, 7) is None


def test_points_off_the_map_lie_in_no_area(tmp_path: Path) -> None:
    zones = read(tmp_path, feature("earth", polygon([[-180, -90], [180, -90], [180, 90], [-180, 90], [-180, -90]])))
    assert zones.areas([(91, 0), (0, 181), (6250000, 334000), (90, 180)]) == [None, None, None, "earth"]
    assert h3_cell(6250000, 334000, 7) is None


def test_areas_in_several_polygons_and_collections(tmp_path: Path) -> None:
    many = {"type": "MultiPolygon", "coordinates": [[square(0, 0, 4), square(1, 1, 2)], [square(10, 0)]]}
    mixed = {"type": "GeometryCollection", "geometries": [polygon(square(20, 0)), many]}
    nested = {"type": "GeometryCollection", "geometries": [mixed]}
    for geometry in (mixed, nested):
        zones = read(tmp_path, feature("isles", geometry))
        assert zones.areas([(0.5, 0.5), (2, 2), (0.5, 10.5), (0.5, 20.5)]) == ["isles", None, "isles", "isles"]


def test_polygons_of_one_area_may_overlap(tmp_path: Path) -> None:
    many = {"type": "MultiPolygon", "coordinates": [[square(0, 0, 2)], [square(1, 0, 2)]]}
    zones = read(tmp_path, feature("isle", many))
    assert zones.areas([(0.5, 1.5)])[0] == "isle"
    assert len(zones.places[0].geometry["coordinates"]) == 1


@pytest.mark.parametrize(
    ("rings", "inside", "outside"),
    [
        ([[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]], [(1, 0.2), (1, 1.8)], [(0.2, 1)]),
        ([square(0, 0, 4), [[3, 1], [6, 1], [6, 2], [3, 2], [3, 1]]], [(0.5, 0.5)], [(1.5, 3.5), (1.5, 5)]),
        ([[*square(0, 0), [0, -5], [0, 0]]], [(0.5, 0.5)], [(-2, 0)]),
        ([square(0, 0), square(0.5, 0.5, 0)], [(0.5, 0.5)], []),
    ],
    ids=["bow tie", "hole that leaves", "spike", "hole without an inside"],
)
def test_rings_that_cross_themselves_are_repaired_and_keep_what_has_an_inside(
    tmp_path: Path, rings: list[Ring], inside: list[tuple[float, float]], outside: list[tuple[float, float]]
) -> None:
    zones = read(tmp_path, feature("a", polygon(*rings)))
    assert zones.areas(inside) == ["a"] * len(inside)
    assert zones.areas(outside) == [None] * len(outside)
    assert zones.places[0].geometry["type"] in {"Polygon", "MultiPolygon"}


def test_open_rings_and_heights_are_read(tmp_path: Path) -> None:
    zones = read(tmp_path, feature("a", polygon([[0, 0, 12.5], [1, 0], [1, 1, 9, 9], [0, 1]])))
    assert zones.areas([(0.5, 0.5)])[0] == "a"


@pytest.mark.parametrize(
    ("value", "name"), [(1, "1"), (2000.0, "2000"), (2.5, "2.5"), (" Mitte ", "Mitte"), ("東京", "東京"), (0, "0")]
)
def test_a_name_is_a_text_or_a_number(tmp_path: Path, value: Any, name: str) -> None:
    assert read(tmp_path, feature(value, polygon(square(0, 0)))).areas([(0.5, 0.5)]) == [name]


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_a_blank_name_is_refused(tmp_path: Path, blank: Any) -> None:
    said = refusal(tmp_path, feature("a", polygon(square(0, 0))), feature(blank, polygon(square(2, 0))))
    assert said == "zones.geojson, feature 2: `name` is empty; name the area, or remove it"


@pytest.mark.parametrize("value", [True, ["a"], {"de": "a"}, math.nan, math.inf, "\ud800"])
def test_a_name_that_cannot_be_written_is_refused(tmp_path: Path, value: Any) -> None:
    assert "feature 1: `name` is neither text nor a number" in refusal(tmp_path, feature(value, polygon()))


def test_a_missing_name_suggests_the_property_that_was_meant(tmp_path: Path) -> None:
    zone = {"type": "Feature", "properties": {"zone_name": "a", "id": 1}, "geometry": polygon(square(0, 0))}
    path = write(tmp_path / "zones.geojson", zone, {**zone, "properties": None})
    with pytest.raises(TripDataError, match=r"feature 1: it has no property `zonename`: did you mean `zone_name`\?"):
        Polygons.read(path, "zonename")
    with pytest.raises(TripDataError, match=r"feature 1: it has no property `X` \(there are: `zone_name`, `id`\)"):
        Polygons.read(path, "X")
    with pytest.raises(TripDataError, match=r"feature 2: it has no property `id` \(there are: `zone_name`\)"):
        Polygons.read(path, "id")


@pytest.mark.parametrize(
    ("geometry", "said"),
    [
        (None, "it has no geometry; add one, or remove the feature"),
        ({"type": "Point", "coordinates": [0, 0]}, "its geometry is a Point; an area is a Polygon or a MultiPolygon"),
        ({"type": "GeometryCollection", "geometries": [None]}, "it has no geometry"),
        ({"type": "GeometryCollection", "geometries": []}, "its geometry has no area"),
        ({"type": "MultiPolygon", "coordinates": [7]}, "its geometry is not valid GeoJSON"),
        ({"type": "Polygon"}, "its geometry is not valid GeoJSON"),
        ({"type": ["Polygon"]}, "its geometry is not valid GeoJSON"),
        ("POLYGON ((0 0, 1 0, 1 1, 0 0))", "its geometry is not valid GeoJSON"),
        (polygon(), "its geometry has no area"),
        (polygon([[0, 0], [1, 1], [2, 2], [0, 0]]), "its geometry has no area"),
        (polygon([[0, 0], [1, 1]]), "a ring of its geometry has fewer than three positions"),
        (polygon([[0, 0], [1], [1, 1]]), "a position of its geometry is not a list of two numbers"),
        (
            {"type": "Polygon", "coordinates": [[[0, 0], ["1", 0], [1, 1]]]},
            "a position of its geometry is not a list of two numbers",
        ),
        (polygon([[0, 0], [math.nan, 0], [1, 1]]), "(nan, 0) is not a longitude"),
        (polygon([[0, 0], [10**400, 0], [1, 1]]), "is not a longitude"),
        (polygon(square(334000, 6250000)), "If it is in metres of a projection, save it in WGS 84 (EPSG:4326)"),
        (polygon(square(179.5, 0)), "(180.5, 0) is not a longitude from -180 to 180"),
        (polygon(square(-33.9, 151.2)), "has the latitude first; GeoJSON needs the longitude first"),
    ],
)
def test_a_geometry_that_is_no_area_is_refused_with_its_number(tmp_path: Path, geometry: Any, said: str) -> None:
    refused = refusal(tmp_path, feature("a", polygon(square(0, 0))), feature("b", geometry))
    assert refused.startswith("zones.geojson, feature 2: ")
    assert said in refused


@pytest.mark.parametrize("other", [None, 7, [], {}, {"type": "Polygon", "coordinates": [square(0, 0)]}])
def test_a_feature_that_is_none_is_refused_with_its_number(tmp_path: Path, other: Any) -> None:
    sound = feature("a", polygon(square(0, 0)))
    assert refusal(tmp_path, other, sound) == "zones.geojson, feature 1: it is not a GeoJSON Feature"
    assert refusal(tmp_path, sound, other) == "zones.geojson, feature 2: it is not a GeoJSON Feature"


def named(system: str) -> dict[str, Any]:
    return {"type": "name", "properties": {"name": system}}


@pytest.mark.parametrize(
    "crs",
    [
        None,
        named("urn:ogc:def:crs:OGC:1.3:CRS84"),
        named("urn:ogc:def:crs:EPSG::4326"),
        named("http://www.opengis.net/def/crs/OGC/1.3/CRS84"),
        named("http://www.opengis.net/gml/srs/epsg.xml#4326"),
        named("epsg:4326"),
        named("WGS 84"),
        {"type": "EPSG", "properties": {"code": 4326}},
    ],
)
def test_wgs_84_is_known_by_its_names(tmp_path: Path, crs: Any) -> None:
    assert read(tmp_path, feature("a", polygon(square(0, 0))), crs=crs).names == ("a",)


@pytest.mark.parametrize(
    ("crs", "system"),
    [
        (named("urn:ogc:def:crs:EPSG::3857"), "urn:ogc:def:crs:EPSG::3857"),
        (named("EPSG:14326"), "EPSG:14326"),
        ({"type": "EPSG", "properties": {"code": 28356}}, "EPSG:28356"),
        ({"type": "link", "properties": {"href": "a.prj"}}, "an unknown system"),
        ("EPSG:4326", "an unknown system"),
    ],
)
def test_other_coordinates_are_refused(tmp_path: Path, crs: Any, system: str) -> None:
    said = refusal(tmp_path, feature("a", polygon(square(0, 0))), crs=crs)
    assert said == f"the areas zones.geojson use the coordinate system {system}; save it in WGS 84 (EPSG:4326)"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "zones.geojson, line 1: not valid JSON"),
        (b'{"type":\n"FeatureCollection",}', "zones.geojson, line 2: not valid JSON"),
        (b"[" * 1_000_000, "cannot be read as JSON"),
        (b"1" * 5_000, "cannot be read as JSON"),
        (b'"caf\xe9"', "are not UTF-8"),
        ('{"type": "FeatureCollection", "features": []}'.encode("utf-16"), "are not UTF-8"),
        (b"[]", "not a FeatureCollection"),
        (b'{"type": "Topology", "objects": {}}', "not a FeatureCollection"),
        (b'{"type": "FeatureCollection"}', "not a FeatureCollection"),
        (b'{"type": "FeatureCollection", "features": {}}', "not a FeatureCollection"),
        (b'{"type": "FeatureCollection", "features": []}', "have no features"),
    ],
)
def test_a_file_that_is_no_geojson_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "zones.geojson").write_bytes(data)
    with pytest.raises(TripDataError, match=said):
        Polygons.read(tmp_path / "zones.geojson", "name")


def test_a_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    path = write(tmp_path / "zones.geojson", feature("a", polygon(square(0, 0))))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Polygons.read(path, "name").names == ("a",)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TripDataError, match=re.escape(f"there is no file of areas {tmp_path / 'none.geojson'}")):
        Polygons.read(tmp_path / "none.geojson", "name")
    with pytest.raises(TripDataError, match="is a folder; choose a file in it"):
        Polygons.read(tmp_path, "name")
    path = write(tmp_path / "zones.geojson", feature("a", polygon(square(0, 0))))
    with pytest.raises(TripDataError, match="cannot be read: Not a directory"):
        Polygons.read(path / "more.geojson", "name")
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(TripDataError, match="no permission to read the file of areas"):
        Polygons.read(path, "name")


def denied(*_: Any, **__: Any) -> str:
    raise PermissionError(13, "Permission denied")


def test_places_are_the_areas_sorted_and_joined_whatever_their_order(tmp_path: Path) -> None:
    features = [
        feature("b", polygon(square(0, 0))),
        feature("a", polygon(square(5, 5))),
        feature("b", polygon(square(1, 0))),
        feature("b", polygon(square(9, 0, 4), square(10, 1))),
    ]
    places = read(tmp_path, *features).places
    assert places == read(tmp_path, *reversed(features)).places
    assert [place.name for place in places] == ["a", "b"]
    assert places[0].geometry == polygon(square(5, 5))
    assert all(signed_area(outer) > 0 for outer, *_ in places[1].geometry["coordinates"])
    assert all(signed_area(hole) < 0 for _, *holes in places[1].geometry["coordinates"] for hole in holes)
    assert places[1].geometry["type"] == "MultiPolygon"
    assert sorted(map(len, places[1].geometry["coordinates"])) == [1, 2]  # two squares became one; the hole is kept


def test_overlapping_areas_of_one_name_are_joined_the_same_in_any_order(tmp_path: Path) -> None:
    """Neither the order of the features counts nor the corner that a ring starts from."""
    random = np.random.default_rng(7)
    stars = [star(index % 4, index // 4 % 4, random.uniform(0.2, 1.5, 7).tolist()) for index in range(30)]
    turned = [[*stars[index][3:-1], *stars[index][:4]] for index in random.permutation(30)]
    one, other = (read(tmp_path, *(feature("a", polygon(ring)) for ring in rings)) for rings in (stars, turned))
    assert one.places == other.places


def test_places_are_as_the_points_say(tmp_path: Path) -> None:
    """What is drawn, read again, has the same area at every point."""
    many = {"type": "MultiPolygon", "coordinates": [[square(0, 0, 4), square(1, 1, 2)], [square(3, 3, 4)]]}
    zones = read(tmp_path, feature("a", many), feature("b", polygon(square(2, 2, 3))))
    again = read(tmp_path, *collection(zones.places)["features"])
    points = [(x / 4, y / 4) for x in range(-2, 32) for y in range(-2, 32)]
    assert zones.areas(points) == again.areas(points)


def crossings(ring: Ring, x: float, y: float) -> int:
    """How often a ray to the east crosses a ring."""
    return sum(
        (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1) for (x1, y1), (x2, y2) in pairwise(ring)
    )


def from_border(ring: Ring, x: float, y: float) -> float:
    def distance(start: list[float], end: list[float]) -> float:
        (x1, y1), (x2, y2) = start, end
        share = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2)
        share = min(1, max(0, share))
        return math.hypot(x - x1 - share * (x2 - x1), y - y1 - share * (y2 - y1))

    return min(distance(start, end) for start, end in pairwise(ring))


def star(column: int, row: int, radii: list[float], size: float = 1) -> Ring:
    """A ring around a crossing of the grid. Its corners go once around it, so it does not cross itself."""
    turns = [2 * math.pi * index / len(radii) for index in range(len(radii))]
    ring = [
        [column + size * radius * math.cos(turn), row + size * radius * math.sin(turn)]
        for radius, turn in zip(radii, turns, strict=True)
    ]
    return [*ring, ring[0]]


STARS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.tuples(st.text("abc", min_size=1, max_size=2), st.lists(st.floats(0.2, 1.5), min_size=3, max_size=9)),
    min_size=1,
)
SPOTS = st.lists(st.tuples(st.floats(-2, 5), st.floats(-2, 5)), min_size=1, max_size=40)


@settings(max_examples=200)
@given(stars=STARS, spots=SPOTS, hollow=st.booleans())
def test_areas_agree_with_counting_the_borders_on_the_way_out(
    stars: dict[tuple[int, int], tuple[str, list[float]]], spots: list[tuple[float, float]], hollow: bool
) -> None:
    areas = [
        (name, [star(*place, radii), *([star(*place, radii, 0.5)] if hollow else [])])
        for place, (name, radii) in stars.items()
    ]
    clear = [(y, x) for x, y in spots if all(from_border(ring, x, y) > 1e-9 for _, rings in areas for ring in rings)]
    expected = [
        min((name for name, rings in areas if sum(crossings(ring, x, y) for ring in rings) % 2), default=None)
        for y, x in clear
    ]
    with tempfile.TemporaryDirectory() as folder:
        zones = read(Path(folder), *(feature(name, polygon(*rings)) for name, rings in areas))
    assert zones.areas(clear) == expected
    assert zones.areas(clear) == expected


def test_many_points_in_many_areas_are_found_at_once(tmp_path: Path) -> None:
    zones = read(
        tmp_path,
        *(feature(f"{x:02d}-{y:02d}", polygon(square(x, y))) for x in range(50) for y in range(40)),
    )
    points = np.random.default_rng(5).uniform([0, 0], [40, 50], (5_000, 2)).tolist()
    assert zones.areas(points) == [f"{int(x):02d}-{int(y):02d}" for y, x in points]
    assert len(zones.places) == 2_000


def test_a_long_border_is_not_walked_for_every_point(tmp_path: Path) -> None:
    import shapely

    coast = star(0, 0, [10 + math.sin(corner * 50) for corner in range(20_000)])
    zones = read(tmp_path, feature("isle", polygon(coast)))
    assert zones.areas([(0, index / 20_000) for index in range(20_000)]) == ["isle"] * 20_000
    assert shapely.is_prepared(zones.shapes).all()


def test_a_point_has_its_h3_cell() -> None:
    assert h3_cell(-33.883, 151.206, 0) == "80bffffffffffff"
    assert h3_cell(-33.883, 151.206, 8) == "88be0e3431fffff"


def test_a_cell_is_drawn_as_the_hexagon_around_its_points() -> None:
    cell = str(h3_cell(-33.883, 151.206, 8))
    place = h3_place(cell)
    [ring] = place.geometry["coordinates"]
    assert place.name == cell
    assert len(ring) == 7
    assert ring[0] == ring[-1]
    assert crossings(ring, 151.206, -33.883) == 1


def test_a_cell_on_longitude_180_is_drawn_on_both_sides_of_it() -> None:
    cell = str(h3_cell(-17, 180, 5))
    geometry = h3_place(cell).geometry
    assert geometry["type"] == "MultiPolygon"
    for [ring] in geometry["coordinates"]:
        assert max(x for x, _ in ring) - min(x for x, _ in ring) < 1
        assert all(-180 <= x <= 180 for x, _ in ring)


@pytest.mark.parametrize("resolution", [0, 1])
def test_the_cells_of_a_resolution_cover_the_map_once(resolution: int) -> None:
    """So they are right at longitude 180 and at the poles too: each outline counter-clockwise, none too wide."""
    import h3

    cells = [cell for base in h3.get_res0_cells() for cell in h3.cell_to_children(base, resolution)]
    ground = 0.0
    for geometry in (h3_place(cell).geometry for cell in cells):
        parts = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
        assert all(signed_area(ring) > 0 for [ring] in parts)
        ground += sum(signed_area(ring) for [ring] in parts)
        assert all(abs(x) <= 180 and abs(y) <= 90 for [ring] in parts for x, y in ring)
    assert ground == pytest.approx(360 * 180)


def signed_area(ring: Ring) -> float:
    """Above zero where the ring goes counter-clockwise."""
    return sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in pairwise(ring)) / 2


def test_a_collection_is_sorted_and_rounded_and_says_the_names_only() -> None:
    places = [points("b", [(-0.0000001, 151.20612345678)]), NamedShape("a", polygon(square(0, 0)))]
    found = collection(places)
    assert json.dumps(found) == json.dumps(collection(reversed(places)))
    assert found["features"][0] == {
        "type": "Feature",
        "properties": {"name": "a", "mode": "*"},
        "geometry": polygon(square(0, 0)),
    }
    assert json.dumps(found["features"][1]["geometry"]["coordinates"]) == "[151.206123, 0.0]"
    assert collection([]) == {"type": "FeatureCollection", "features": []}


def test_a_missing_package_is_said_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("shapely", "h3"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(PlanError, match=r"need the package shapely: pip install 'tapveil\[geo\]'"):
        Polygons.read(tmp_path / "none.geojson", "name")
    with pytest.raises(PlanError, match=r"need the package h3: pip install 'tapveil\[geo\]'"):
        h3_cell(0, 0, 7)
    with pytest.raises(PlanError, match=r"need the package h3: pip install 'tapveil\[geo\]'"):
        h3_place("88be0e3431fffff")
    assert collection([points("Central", [(-33.883, 151.206)])])["features"]
