"""Shapes as well-known binary (OGC 06-103r4), which GeoPackage and GeoParquet have in common."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_CODES = {"Point": 1, "LineString": 2, "Polygon": 3, "MultiPoint": 4, "MultiLineString": 5, "MultiPolygon": 6}


def well_known_binary(shape: Mapping[str, Any]) -> bytes:
    """A shape of GeoJSON, little-endian.

    >>> well_known_binary({"type": "Point", "coordinates": [1.0, 2.0]}).hex()
    '0101000000000000000000f03f0000000000000040'
    """
    return _binary(shape["type"], shape["coordinates"])


def bounds(shapes: Iterable[Mapping[str, Any]]) -> tuple[float, float, float, float]:
    """The least and the greatest longitude and latitude of some shapes: west, south, east, north.

    >>> bounds([{"type": "Point", "coordinates": [1.0, 2.0]}, {"type": "MultiPoint", "coordinates": [[3.0, 0.0]]}])
    (1.0, 0.0, 3.0, 2.0)
    """
    points = [point for shape in shapes for point in _points(shape["coordinates"])]
    west, south, east, north = (end(point[at] for point in points) for end in (min, max) for at in (0, 1))
    return west, south, east, north


def _points(found: Any) -> Iterable[Sequence[float]]:
    if isinstance(found[0], (int, float)):
        yield found
    else:
        for each in found:
            yield from _points(each)


def _binary(kind: str, found: Any) -> bytes:
    head = b"\x01" + struct.pack("<I", _CODES[kind])
    if kind == "Point":
        return head + struct.pack("<2d", *found)
    if kind in ("LineString", "Polygon"):
        parts = [_line(each) for each in found] if kind == "Polygon" else [_line(found)]
        return head + (struct.pack("<I", len(parts)) if kind == "Polygon" else b"") + b"".join(parts)
    return head + struct.pack("<I", len(found)) + b"".join(_binary(kind.removeprefix("Multi"), each) for each in found)


def _line(points: Sequence[Sequence[float]]) -> bytes:
    return struct.pack("<I", len(points)) + b"".join(struct.pack("<2d", *point) for point in points)
