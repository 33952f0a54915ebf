"""The places of a folder: named shapes to draw, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from tapveil.statement import LARGEST_PLACES, PLACES, places_text
from tapveil.verify import reading
from tapveil.verify.finding import Finding

_DEPTH = {"Point": 0, "MultiPoint": 1, "Polygon": 2, "MultiPolygon": 3}
"""How deeply the positions of a geometry are nested."""
_PROPERTIES = {"name", "mode", "title"}


def places_findings(folder: Path, name: str) -> Iterator[Finding]:
    """What is wrong with the file of places."""
    data = reading.json_of(folder, name, LARGEST_PLACES)
    found = list(_data_findings(data, name))
    yield from found
    if any(each.code == "places-shape" for each in found):
        return
    if reading.text_of(folder, name, LARGEST_PLACES) != places_text(data):
        yield Finding("hidden-data", name, "is not written as it was: how it is could tell something")


def is_places(data: Mapping[str, Any]) -> bool:
    """Whether these are named places with shapes, in their order: what a release may write, and nothing else."""
    return not any(_data_findings(data, PLACES))


def _data_findings(data: Mapping[str, Any], name: str) -> Iterator[Finding]:
    features = data.get("features")
    if set(data) != {"type", "features"} or data["type"] != "FeatureCollection" or not isinstance(features, list):
        yield Finding("places-shape", name, "is not a GeoJSON FeatureCollection, or is more than one")
        return
    if not all(map(_is_place, features)):
        yield Finding("places-shape", name, "holds something that is not a named place with a shape")
        return
    keys = [(each["properties"]["name"], each["properties"]["mode"]) for each in features]
    if keys != sorted(set(keys)):
        yield Finding("places-order", name, "its places are not in the order of their names, each once")


def _is_place(feature: Any) -> bool:
    if not isinstance(feature, dict) or set(feature) != {"type", "properties", "geometry"}:
        return False
    properties, geometry = feature["properties"], feature["geometry"]
    if feature["type"] != "Feature" or not isinstance(properties, dict) or not isinstance(geometry, dict):
        return False
    named = {"name", "mode"} <= set(properties) <= _PROPERTIES
    texts = all(isinstance(text, str) and text.strip() and _is_whole(text) for text in properties.values())
    depth = _DEPTH.get(str(geometry.get("type")))
    if set(geometry) != {"type", "coordinates"} or depth is None or not named or not texts:
        return False
    return _is_shape(geometry["coordinates"], depth, rings=depth >= 2)


def _is_whole(text: str) -> bool:
    """Whether it can be written: not with half a character, as JSON can spell it."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_shape(value: Any, depth: int, *, rings: bool) -> bool:
    """A position, or a list of what is one level less deep; a ring is closed, and goes around something."""
    if not isinstance(value, list) or not value:
        return False
    if depth == 0:
        return len(value) == 2 and all(_is_degree(part, most) for part, most in zip(value, (180, 90), strict=True))
    if rings and depth == 1 and (len(value) < 4 or value[0] != value[-1]):
        return False
    return all(_is_shape(part, depth - 1, rings=rings) for part in value)


def _is_degree(part: Any, most: int) -> bool:
    """A number of six digits after the point, as places are written."""
    return isinstance(part, float) and isfinite(part) and abs(part) <= most and round(part, 6) == part
