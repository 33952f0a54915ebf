"""What `areas.geojson` may hold: named places with shapes, in their order, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tapveil.published.places import LONGEST_NAME, places_findings, places_text

SQUARE = [[[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [1.0, 1.0]]]


def is_places(data: dict[str, Any]) -> bool:
    return not any(places_findings(data))


def placed(*names: str, **more: str) -> dict[str, Any]:
    """A point for each name."""
    shape = {"type": "Point", "coordinates": [1.0, 2.0]}
    features = [
        {"type": "Feature", "properties": {"name": name, "mode": "*", **more}, "geometry": shape} for name in names
    ]
    return {"type": "FeatureCollection", "features": features}


def test_places_are_in_the_order_of_their_names_and_nothing_is_beside_them() -> None:
    sound = placed("A", "B")
    assert is_places(sound)
    assert is_places(shaped("MultiPolygon", [SQUARE], whole=True))
    assert not is_places({**sound, "features": sound["features"][::-1]})
    assert not is_places({**sound, "features": sound["features"] * 2})
    assert not is_places({**sound, "name": "more"})
    assert not is_places({})


@pytest.mark.parametrize("key", ["name", "mode", "title"])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Central Station", None),
        ("8a2a1072b59ffff", None),
        ("x" * LONGEST_NAME, None),
        ("x" * (LONGEST_NAME + 1), "too-large"),
        ("08:00 Central 4111222233334444", "identifier-card"),
        ("0123456789abcdef0123456789abcdef", "identifier-hash"),
    ],
)
def test_names_modes_and_titles_are_short_and_identify_nobody(key: str, text: str, code: str | None) -> None:
    data = placed("A")
    data["features"][0]["properties"][key] = text
    assert {each.code for each in places_findings(data)} == ({code} if code else set())
    assert not any(text in each.sentence for each in places_findings(data)), "a finding repeats no value"


def test_a_place_is_a_line_of_the_file() -> None:
    assert places_text(placed("A", "B")).count("\n") == 4


POINTS: list[Any] = [[1.5, 2.5], [180.0, -90.0], [-0.000001, 0.1]]
NO_POINTS: list[Any] = [
    *([], [1.5], [1.5, 2.5, 3.5], [1, 2.5], [True, 2.5], ["1.5", 2.5], [[1.5], 2.5], [None, 2.5], "ab", 1.5, None),
    *(
        [180.000001, 0.5],
        [0.5, -90.000001],
        [0.1234567, 0.5],
        [float("nan"), 0.5],
        [float("inf"), 0.5],
        {1.5: 2, 2.5: 3},
    ),
]


@pytest.mark.parametrize("position", POINTS)
@pytest.mark.parametrize("kind", ["Point", "MultiPoint", "Polygon", "MultiPolygon"])
def test_a_position_is_two_numbers_on_earth_of_six_digits(kind: str, position: Any) -> None:
    assert is_places(shaped(kind, position))
    assert not any(is_places(shaped(kind, wrong)) for wrong in NO_POINTS)


@pytest.mark.parametrize("shape", [[], [[]], [[POINTS[0]] * 3], [POINTS * 2], [[*POINTS, POINTS[1]]], POINTS, None])
def test_a_ring_is_closed_and_goes_around_something(shape: Any) -> None:
    assert not is_places(shaped("Polygon", shape, whole=True))


def shaped(kind: str, position: Any, *, whole: bool = False) -> dict[str, Any]:
    """A place with this position among others; or with these as all of its positions."""
    ring = [POINTS[0], position, POINTS[1], POINTS[0]]
    shapes = {"Point": position, "MultiPoint": ring, "Polygon": [ring], "MultiPolygon": [[ring, ring], [ring]]}
    geometry = {"type": kind, "coordinates": position if whole else shapes[kind]}
    feature = {"type": "Feature", "properties": {"name": "A", "mode": "*"}, "geometry": geometry}
    return {"type": "FeatureCollection", "features": [feature]}
