"""Which area a point lies in, and the shape of an area for a map.

Areas are public: they come from a statistical office, or from H3, and never from the trips. Longitude and latitude
are degrees of WGS 84 throughout, and straight lines between two corners are straight on a flat map. shapely and h3 are
imported where they are needed, since most plans need neither.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tapveil.base.errors import InputFileError, PlanError, did_you_mean
from tapveil.base.geojson import on_earth
from tapveil.base.vocabulary import DIGITS
from tapveil.inputs.geojson import Corner, corner, properties_of, read_features
from tapveil.inputs.snapshot import ON_DISK, PublicFiles
from tapveil.plan.model import Area, Plan

Geometry = dict[str, Any]
"""A geometry of GeoJSON, longitude before latitude."""

_AREAL = ("Polygon", "MultiPolygon", "GeometryCollection")


@dataclass(frozen=True)
class NamedShape:
    """A place with its name and its shape on a map."""

    name: str
    geometry: Geometry
    mode: str = "*"
    """The mode of the place; `*` for every mode without its own entry."""
    title: str = ""
    """Its name for people, where `name` is only an ID."""

    @property
    def is_somewhere(self) -> bool:
        """Whether it can be drawn: a list may name a place without saying where it is."""
        return self.geometry != points(self.name, ()).geometry


@dataclass(frozen=True, eq=False)
class Polygons:
    """Areas with borders. A border belongs to every area that it bounds.

    A point in several areas belongs to the first of them in alphabetical order, so that the order of the file does not
    matter.
    """

    names: tuple[str, ...]
    """The area of each shape, in alphabetical order; an area can have several shapes."""
    shapes: tuple[Any, ...]

    @classmethod
    def read(cls, path: Path, name: str, files: PublicFiles = ON_DISK) -> Polygons:
        """Read the areas of a GeoJSON file; `name` is the property with the name of an area."""
        _shapely()  # a missing package is reported before a mistake in the file
        features, parts = read_features(path, files), list[tuple[str, Any]]()
        for number, feature in enumerate(features, 1):
            try:
                area = _read_name(properties_of(feature), name, properties_of(features[0]))
                shapes = [shape for rings in _polygons(feature.get("geometry")) for shape in _sound_shapes(rings)]
                if not shapes:
                    raise ValueError("its geometry has no area")
            except ValueError as error:
                raise InputFileError(f"{path.name}, feature {number}: {error}") from None
            parts += [(area, shape) for shape in shapes]
        parts.sort(key=lambda part: (part[0], part[1].wkb))
        return cls(tuple(area for area, _ in parts), tuple(shape for _, shape in parts))

    def areas(self, points: Sequence[tuple[float | None, float | None]]) -> list[str | None]:
        """The area of each point, given as (latitude, longitude); None where it lies in no area, or has no place."""
        shapely = _shapely()
        shapes, tree = self._index
        latitude, longitude = np.array(points, dtype=float).reshape(-1, 2).T
        known = np.flatnonzero(np.isfinite(latitude) & np.isfinite(longitude))
        near, shape = tree.query(shapely.points(longitude[known], latitude[known]))
        asked = known[near]
        covers = shapely.intersects_xy(shapes[shape], longitude[asked], latitude[asked])
        first = np.full(len(points), len(self.names))
        np.minimum.at(first, asked[covers], shape[covers])
        names = (*self.names, None)
        return [names[index] for index in first]

    @property
    def places(self) -> list[NamedShape]:
        """All areas, sorted by name; shapes with the same name are joined."""
        shapely, found = _shapely(), []
        for name, group in groupby(zip(self.names, self.shapes, strict=True), key=lambda part: part[0]):
            # In the order that `normalize` gives, outer rings counter-clockwise (RFC 7946).
            joined = shapely.orient_polygons(shapely.normalize(shapely.union_all([shape for _, shape in group])))
            found.append(NamedShape(name, json.loads(shapely.to_geojson(joined))))
        return found

    @cached_property
    def _index(self) -> tuple[Any, Any]:
        """The shapes, prepared so that the corners of a long border are not walked for every point, and their tree."""
        shapely = _shapely()
        shapes = np.array(self.shapes, dtype=object)
        shapely.prepare(shapes)
        return shapes, shapely.STRtree(shapes)


def h3_cell(latitude: float | None, longitude: float | None, resolution: int) -> str | None:
    """The H3 cell of a point; None if it is not on the earth. H3 itself would wrap metres around the earth."""
    h3 = _h3()
    return str(h3.latlng_to_cell(latitude, longitude, resolution)) if on_earth(latitude, longitude) else None


def h3_place(cell: str) -> NamedShape:
    """The outline of an H3 cell, in two polygons where longitude 180 cuts it."""
    h3 = _h3()
    ring = _unrolled([(longitude, latitude) for latitude, longitude in h3.cell_to_boundary(cell)])
    polygons = [[[[*corner] for corner in (*piece, piece[0])]] for piece in _cut_at_180(ring)]
    if len(polygons) == 1:
        return NamedShape(cell, {"type": "Polygon", "coordinates": polygons[0]})
    return NamedShape(cell, {"type": "MultiPolygon", "coordinates": polygons})


def points(name: str, places: Iterable[tuple[float, float]]) -> NamedShape:
    """A place that is several points on the earth, or one: the stops of a station, or of a zone.

    >>> points("Central", [(-33.883, 151.206), (-33.883, 151.206), (-33.9, 151.2)]).geometry
    {'type': 'MultiPoint', 'coordinates': [[151.2, -33.9], [151.206, -33.883]]}
    """
    distinct = [[longitude, latitude] for latitude, longitude in sorted(set(places))]
    if len(distinct) == 1:
        return NamedShape(name, {"type": "Point", "coordinates": distinct[0]})
    return NamedShape(name, {"type": "MultiPoint", "coordinates": distinct})


def collection(places: Iterable[NamedShape]) -> dict[str, Any]:
    """Places as a GeoJSON FeatureCollection, with the same bytes for the same places."""
    features = [
        {
            "type": "Feature",
            "properties": {"name": place.name, "mode": place.mode} | ({"title": place.title} if place.title else {}),
            "geometry": {**place.geometry, "coordinates": _rounded(place.geometry["coordinates"])},
        }
        for place in sorted(places, key=lambda place: (place.name, place.mode))
    ]
    return {"type": "FeatureCollection", "features": features}


def _shapely() -> Any:
    try:
        import shapely
    except ImportError:
        raise PlanError("areas by polygons need the package shapely: pip install 'tapveil[geo]'") from None
    return shapely


def _h3() -> Any:
    try:
        import h3
    except ImportError:
        raise PlanError("areas by H3 cells need the package h3: pip install 'tapveil[geo]'") from None
    return h3


def _read_name(properties: Mapping[str, Any], name: str, first: Mapping[str, Any]) -> str:
    if name not in properties:
        others = [other for other in first if other != name]
        listed = f" (there are: {', '.join(f'`{other}`' for other in others[:10])})" if others else ""
        raise ValueError(f"it has no property `{name}`{did_you_mean(name, others) or listed}")
    text = _name_text(properties[name])
    if text is None:
        raise ValueError(f"`{name}` is neither text nor a number; choose another property")
    if not text:
        raise ValueError(f"`{name}` is empty; name the area, or remove it")
    return text


def _name_text(value: Any) -> str | None:
    """A value as text, as it would be written in a lookup: 2000 for 2000.0."""
    match value:
        case None:
            return ""
        case str(text) if not re.search("[\ud800-\udfff]", text):  # halves of a character cannot be written
            return text.strip()
        case int(number) if not isinstance(number, bool):
            return str(number)
        case float(number) if math.isfinite(number):
            return str(int(number) if number.is_integer() else number)
    return None


def _polygons(geometry: Any) -> Iterator[Any]:
    """The rings of each polygon in a geometry, unchanged."""
    waiting = [geometry]
    while waiting:
        match waiting.pop():
            case None:
                raise ValueError("it has no geometry; add one, or remove the feature")
            case {"type": "Polygon", "coordinates": list(rings)}:
                yield rings
            case {"type": "MultiPolygon", "coordinates": list(polygons)}:
                yield from polygons
            case {"type": "GeometryCollection", "geometries": list(geometries)}:
                waiting += geometries
            case {"type": str(kind)} if kind not in _AREAL:
                raise ValueError(f"its geometry is a {kind}; an area is a Polygon or a MultiPolygon")
            case _:
                raise ValueError("its geometry is not valid GeoJSON")


def _sound_shapes(rings: Any) -> list[Any]:
    """A polygon as valid shapes that do not cross themselves; parts without an area are dropped.

    `structure` takes a hole for a hole even where it leaves the outer ring; `linework` would make it ground there.
    """
    if not isinstance(rings, list):
        raise ValueError("its geometry is not valid GeoJSON")
    if not rings:
        return []
    corners = []
    for ring in rings:
        if not isinstance(ring, list) or len(ring) < 3:
            raise ValueError("a ring of its geometry has fewer than three positions")
        corners.append(np.array([corner(position) for position in ring], dtype=float))
    shapely = _shapely()
    shape = shapely.Polygon(corners[0], corners[1:])
    if not shape.is_valid:
        shape = shapely.make_valid(shape, method="structure", keep_collapsed=False)
    return [part for part in shapely.get_parts(shapely.get_parts(shape)) if part.geom_type == "Polygon" and part.area]


def _rounded(coordinates: Any) -> Any:
    """Positions as two rounded numbers, without a height."""
    match coordinates:
        case [int() | float() as longitude, int() | float() as latitude, *_]:
            return [round(float(degrees), DIGITS) + 0.0 for degrees in (longitude, latitude)]  # no -0.0
    return [_rounded(each) for each in coordinates]


def _unrolled(ring: list[Corner]) -> list[Corner]:
    """A ring with longitudes that continue past 180; around a pole, it is closed along the edge of the map."""
    unrolled = [ring[0]]
    for longitude, latitude in (*ring[1:], ring[0]):
        turns = round((unrolled[-1][0] - longitude) / 360)
        unrolled.append((longitude + 360 * turns, latitude))
    start, end = unrolled[0], unrolled[-1]
    if start == end:
        return unrolled[:-1]
    pole = math.copysign(90, start[1])
    return [*unrolled, (end[0], pole), (start[0], pole)]


def _cut_at_180(ring: list[Corner]) -> list[list[Corner]]:
    """The parts of an unrolled ring, each within -180 to 180 (RFC 7946, section 3.1.9)."""
    if min(longitude for longitude, _ in ring) < -180:
        ring = [(longitude + 360, latitude) for longitude, latitude in ring]
    if max(longitude for longitude, _ in ring) <= 180:
        return [ring]
    return [_half(ring, 1), [(longitude - 360, latitude) for longitude, latitude in _half(ring, -1)]]


def _half(ring: list[Corner], side: int) -> list[Corner]:
    """The part of a ring west (1) or east (-1) of longitude 180 (Sutherland and Hodgman 1974)."""
    half: list[Corner] = []
    for before, after in pairwise((ring[-1], *ring)):
        if (before[0] - 180) * (after[0] - 180) < 0:
            share = (180 - before[0]) / (after[0] - before[0])
            half.append((180.0, before[1] + share * (after[1] - before[1])))
        if side * (after[0] - 180) <= 0:
            half.append(after)
    return half


def polygons(plan: Plan, area: Area, files: PublicFiles) -> Polygons:
    """The polygons of an area of a plan."""
    return Polygons.read(plan.base / str(area.polygons), area.name or "", files)
