"""The places of a folder as points: one for each place of a mode that `areas.geojson` has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tapveil.base.errors import FolderError
from tapveil.base.vocabulary import EVERY_MODE, PLACES
from tapveil.published.change import NOISE_HIGH, NOISE_LOW
from tapveil.published.folder import Folder
from tapveil.published.frame import DATE
from tapveil.published.manifest import TableClaim
from tapveil.published.names import DAMAGED


@dataclass(frozen=True)
class Place:
    """A place of a mode, where it lies, and its shape as GeoJSON."""

    mode: str
    name: str
    title: str
    longitude: float
    latitude: float
    shape: Mapping[str, Any]


def places(folder: Folder) -> list[Place]:
    """All places that a folder says the position of, by name and mode; FolderError if it says none.

    A place of every mode is one of each mode that has none of this name; where tables have no mode, modes are empty.
    """
    path = folder.file(PLACES)
    if not path.is_file():
        raise FolderError(f"{folder.where} has no {PLACES}: it does not say where its places are")
    try:
        features = json.loads(path.read_text(encoding="utf-8"))["features"]
        listed = [_place(feature) for feature in features]
    except DAMAGED:
        raise FolderError(f"{folder.where} is damaged: `tapveil verify` says where") from None
    modes = sorted(folder.modes) if "mode" in folder.manifest.partition else [""]
    own = {(each.name, each.mode): each for each in listed}
    found: dict[tuple[str, str], Place] = {}
    for each in listed:
        for mode in modes if each.mode == EVERY_MODE or modes == [""] else [each.mode]:
            if each.mode != EVERY_MODE or (each.name, mode) not in own:
                found.setdefault((each.name, mode), replace(each, mode=mode))
    return [found[key] for key in sorted(found)]


def numbers_of_places(folder: Folder) -> Iterator[tuple[str, Mapping[str, Mapping[tuple[str, str], float | None]]]]:
    """The mean of a day at each place, and the interval of its noise, by mode and place: of each table of places alone.

    In a folder of every cell, of sums as well, where places at one end of trips have other columns in every table.
    """
    daily = list(_daily(folder))
    alone = [(claim.name, claim.name, claim.columns[0]) for claim, _ in daily if len(claim.columns) == 1]
    others = dict.fromkeys(end for _, ends in daily for end in ends if end not in {column for *_, column in alone})
    for end in others if folder.manifest.is_world else ():
        claims = [(len(ends), len(claim.columns), claim.name) for claim, ends in daily if end in ends]
        alone.append((end, min(claims)[-1], end))
    for name, table, column in alone:
        frame = folder.table(table)
        keys = [key for key in ("mode", DATE, column) if key in frame.keys]
        means = (frame if len(keys) == len(frame.keys) else frame.sum(by=keys)).mean(over="date")
        named = means.cells[column].tolist()
        modes = means.cells["mode"].tolist() if "mode" in keys else [""] * len(named)
        own = {}
        for end, limit in (("mean", "mean"), ("low", NOISE_LOW), ("high", NOISE_HIGH)):
            values = [None if np.isnan(each) else round(each, 3) for each in means.cells[limit].tolist()]
            own[f"{name}_{end}"] = dict(zip(zip(modes, named, strict=True), values, strict=True))
        yield name, own


def _daily(folder: Folder) -> Iterator[tuple[TableClaim, Sequence[str]]]:
    """The tables by day and place that nothing else splits but the mode, and their columns of places."""
    manifest = folder.manifest
    for claim in manifest.tables:
        ends = [column for column in claim.columns if manifest.columns[column] == "location"]
        keys = manifest.keys(claim)
        if ends and claim.level is None and DATE in keys and {*keys} <= {"mode", DATE, *claim.columns}:
            yield claim, ends


def _place(feature: Mapping[str, Any]) -> Place:
    named, shape = feature["properties"], feature["geometry"]
    longitude, latitude = centre(shape)
    return Place(named["mode"], named["name"], named.get("title", ""), longitude, latitude, shape)


def centre(shape: Mapping[str, Any]) -> tuple[float, float]:
    """The middle of points; of areas, the centre of gravity of their outlines, to six digits.

    >>> centre({"type": "MultiPoint", "coordinates": [[1.0, 2.0], [3.0, 2.0]]})
    (2.0, 2.0)
    >>> centre({"type": "Polygon", "coordinates": [[[0.0, 0.0], [4.0, 0.0], [4.0, 1.0], [0.0, 1.0], [0.0, 0.0]]]})
    (2.0, 0.5)
    """
    kind, found = shape["type"], shape["coordinates"]
    if kind == "Point":
        return found[0], found[1]
    if kind == "MultiPoint":
        weighted = [(1.0, x, y) for x, y in found]
    else:
        weighted = [_ring(polygon[0]) for polygon in (found if kind == "MultiPolygon" else [found])]
    total = sum(weight for weight, _, _ in weighted)
    return (
        round(sum(weight * x for weight, x, _ in weighted) / total, 6),
        round(sum(weight * y for weight, _, y in weighted) / total, 6),
    )


def _ring(ring: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """The area of an outline, and its centre of gravity; of one without an area, the mean of its corners."""
    sides = [(a, b, a[0] * b[1] - b[0] * a[1]) for a, b in pairwise(ring)]
    area = sum(cross for _, _, cross in sides) / 2
    if abs(area) < 1e-12:
        return 1e-12, sum(x for x, _ in ring) / len(ring), sum(y for _, y in ring) / len(ring)
    x, y = (sum((a[at] + b[at]) * cross for a, b, cross in sides) / (6 * area) for at in (0, 1))
    return abs(area), x, y
