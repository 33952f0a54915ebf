"""The places of a folder: named shapes to draw, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tapveil.base.findings import Finding
from tapveil.base.vocabulary import DIGITS, PLACES
from tapveil.published.places import Places, places_text
from tapveil.verify import reading
from tapveil.verify.known_versions import LARGEST_PLACES

_DEPTH = {"Point": 0, "MultiPoint": 1, "Polygon": 2, "MultiPolygon": 3}
"""How deeply the positions of a geometry are nested."""
_PROPERTIES = {"name", "mode", "title"}


def places_in(folder: Path, name: str) -> tuple[Places, list[Finding]]:
    """The places of a folder, and what is wrong with their file."""
    text = reading.text_of(folder, name, LARGEST_PLACES)
    data = reading.json_in(text, name)
    found = list(_data_findings(data, name))
    if not any(each.code == "places-shape" for each in found) and text != places_text(data):
        found.append(Finding("hidden-data", name, "is not written as it was: how it is could tell something"))
    return data, found


def is_places(data: Mapping[str, Any]) -> bool:
    """Whether these are named places with shapes, in their order: what a release may write, and nothing else."""
    return not any(_data_findings(data, PLACES))


def _data_findings(data: Mapping[str, Any], name: str) -> Iterator[Finding]:
    features = data.get("features")
    if set(data) != {"type", "features"} or data["type"] != "FeatureCollection" or not isinstance(features, list):
        yield Finding("places-shape", name, "is not a GeoJSON FeatureCollection, or is more than one")
        return
    if not all(map(_is_place, features)) or not _are_on_earth(map(_positions, features)):
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
    """Anything, or a list of what is one level less deep; a ring is closed, and goes around something."""
    if depth == 0:
        return True
    if not isinstance(value, list) or not value:
        return False
    if depth == 1:
        return not rings or (len(value) >= 4 and value[0] == value[-1])
    return all(_is_shape(part, depth - 1, rings=rings) for part in value)


def _positions(feature: Mapping[str, Any]) -> list[Any]:
    """All that should be positions of a place."""
    geometry = feature["geometry"]
    found = [geometry["coordinates"]]
    for _ in range(_DEPTH[geometry["type"]]):
        found = list(chain.from_iterable(found))
    return found


def _are_on_earth(positions: Iterable[list[Any]]) -> bool:
    """Two numbers each, of six digits after the point, as places are written; all at once, as there may be millions."""
    every = list(chain.from_iterable(positions))
    if not {list} >= set(map(type, every)) or not {2} >= set(map(len, every)):
        return False
    if not {float} >= set(map(type, chain.from_iterable(every))):
        return False
    degrees = np.array(every, dtype=float).reshape(-1, 2)
    return bool((np.abs(degrees) <= (180, 90)).all() and (degrees == np.round(degrees, DIGITS)).all())
