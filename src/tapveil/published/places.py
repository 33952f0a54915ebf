"""`areas.geojson`: where the published places lie. What the file may hold, and the one way to write it.

A release refuses what `verify` would not take, before anything is paid for: both ask here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from tapveil.base.findings import Finding
from tapveil.base.geojson import DEPTH, positions
from tapveil.base.vocabulary import DIGITS, PLACES
from tapveil.published.identifiers import text_findings

FeatureCollection = Mapping[str, Any]
"""Named places with their shapes, as GeoJSON."""
LARGEST = 32 * 2**20
"""Bytes of the file that a release writes: whoever verifies a folder reads them all, and so does the page."""
LONGEST_NAME = 200
"""Letters of a name, a mode or a title."""
_PROPERTIES = {"name", "mode", "title"}


def places_text(places: FeatureCollection) -> str:
    """The file, a line for each place: the one way to write it, so that there is room for nothing else."""
    lines = (json.dumps(feature, ensure_ascii=False, separators=(",", ":")) for feature in places["features"])
    return '{"type":"FeatureCollection","features":[\n' + ",\n".join(lines) + "\n]}\n"


def places_findings(data: FeatureCollection, file: str = PLACES) -> Iterator[Finding]:
    """Why these are not named places with shapes, in their order, and nothing else."""
    features = data.get("features")
    if set(data) != {"type", "features"} or data["type"] != "FeatureCollection" or not isinstance(features, list):
        yield Finding("places-shape", file, "is not a plain GeoJSON FeatureCollection")
        return
    found = [_positions(feature) for feature in features]
    if None in found or not _are_written(chain.from_iterable(filter(None, found))):
        yield Finding(
            "places-shape", file, "contains a feature without a name, without a mode or with an invalid geometry"
        )
        return
    keys = [(each["properties"]["name"], each["properties"]["mode"]) for each in features]
    if keys != sorted(set(keys)):
        yield Finding("places-order", file, "does not list every place once, sorted by name")
    yield from name_findings(file, (text for each in features for text in each["properties"].values()))


def name_findings(file: str, names: Iterable[str]) -> Iterator[Finding]:
    """Whether names of places, which anyone can have invented, are short and hold nothing that identifies a person."""
    every = set(names)
    if any(len(name) > LONGEST_NAME for name in every):
        yield Finding("too-large", file, f"has a name or a title of more than {LONGEST_NAME} characters")
    yield from text_findings(file, every)


def _positions(feature: Any) -> list[Any] | None:
    """All that should be positions of a named place; None where it is no such place."""
    match feature:
        case {"type": "Feature", "properties": dict(named), "geometry": {"type": str(kind), "coordinates": shape}}:
            keys = (len(feature), len(feature["geometry"])) == (3, 2) and {"name", "mode"} <= set(named) <= _PROPERTIES
            if keys and kind in DEPTH and all(map(_is_name, named.values())):
                return positions(kind, shape)
    return None


def _is_name(text: Any) -> bool:
    """Whether it is a text that can be written: not with half a character, as JSON can spell it."""
    return isinstance(text, str) and bool(text.strip()) and not any("\ud800" <= each <= "\udfff" for each in text)


def _are_written(every: Iterable[Any]) -> bool:
    """Whether each is two numbers on the earth, of six digits after the point; all at once: there may be millions."""
    found = list(every)
    if not {list} >= set(map(type, found)) or not {2} >= set(map(len, found)):
        return False
    if not {float} >= set(map(type, chain.from_iterable(found))):
        return False
    degrees = np.array(found, dtype=float).reshape(-1, 2)
    return bool((np.abs(degrees) <= (180, 90)).all() and (degrees == np.round(degrees, DIGITS)).all())
