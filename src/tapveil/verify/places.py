"""The places of a folder: named shapes to draw, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from tapveil.verify import reading
from tapveil.verify.finding import Finding

_DEPTH = {"Point": 0, "MultiPoint": 1, "Polygon": 2, "MultiPolygon": 3}
"""How deeply the positions of a geometry are nested."""
_PROPERTIES = {"name", "mode", "title"}


def places_findings(folder: Path, name: str) -> Iterator[Finding]:
    """What is wrong with the file of places."""
    data = reading.json_of(folder, name)
    features = data.get("features")
    if set(data) != {"type", "features"} or data["type"] != "FeatureCollection" or not isinstance(features, list):
        yield Finding("places-shape", name, "is not a GeoJSON FeatureCollection, or is more than one")
        return
    if not all(map(_is_place, features)):
        yield Finding("places-shape", name, "holds something that is not a named place with a shape")
        return
    keys = [(each["properties"]["name"], each["properties"]["mode"]) for each in features]
    if keys != sorted(keys):
        yield Finding("places-order", name, "its places are not in the order of their names")


def _is_place(feature: Any) -> bool:
    if not isinstance(feature, dict) or set(feature) != {"type", "properties", "geometry"}:
        return False
    properties, geometry = feature["properties"], feature["geometry"]
    if feature["type"] != "Feature" or not isinstance(properties, dict) or not isinstance(geometry, dict):
        return False
    named = {"name", "mode"} <= set(properties) <= _PROPERTIES
    texts = all(isinstance(text, str) and text.strip() for text in properties.values())
    depth = _DEPTH.get(str(geometry.get("type")))
    shaped = set(geometry) == {"type", "coordinates"} and depth is not None
    return named and texts and shaped and _is_position(geometry["coordinates"], depth or 0)


def _is_position(value: Any, depth: int) -> bool:
    if not isinstance(value, list) or not value:
        return False
    if depth:
        return all(_is_position(part, depth - 1) for part in value)
    return len(value) == 2 and all(
        isinstance(part, int | float) and not isinstance(part, bool) and isfinite(part) and abs(part) <= most
        for part, most in zip(value, (180, 90), strict=True)
    )
