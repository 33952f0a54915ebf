"""The geometries of GeoJSON (RFC 7946) that places have: how they are nested, and whether they lie on the earth."""

from __future__ import annotations

from itertools import chain
from typing import Any

DEPTH = {"Point": 0, "MultiPoint": 1, "Polygon": 2, "MultiPolygon": 3}
"""The nesting depth of the positions of a geometry."""
RING = 4
"""The minimum number of positions of a ring, whose last position repeats the first."""


def positions(kind: str, coordinates: Any) -> list[Any] | None:
    """All positions of a geometry; None if they are not nested correctly, or a ring is not closed.

    >>> positions("MultiPoint", [[1.0, 2.0], [3.0, 4.0]]), positions("Polygon", [[[1.0, 2.0], [3.0, 4.0]]])
    ([[1.0, 2.0], [3.0, 4.0]], None)
    """
    found = [coordinates]
    for left in reversed(range(DEPTH[kind])):
        if not all(isinstance(part, list) and part for part in found):
            return None
        rings = found if left == 0 and DEPTH[kind] >= 2 else []
        if not all(len(ring) >= RING and ring[0] == ring[-1] for ring in rings):
            return None
        found = list(chain.from_iterable(found))
    return found


def on_earth(latitude: float | None, longitude: float | None) -> bool:
    """Whether the coordinates are on the earth."""
    return latitude is not None and longitude is not None and abs(latitude) <= 90 and abs(longitude) <= 180
