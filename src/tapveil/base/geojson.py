"""Shapes of GeoJSON (RFC 7946), as far as places have them: how they are nested, and what lies on the earth."""

from __future__ import annotations

from itertools import chain
from typing import Any

DEPTH = {"Point": 0, "MultiPoint": 1, "Polygon": 2, "MultiPolygon": 3}
"""How deeply the positions of a geometry are nested."""
RING = 4
"""The fewest positions of a ring: its first is there again as its last."""


def positions(kind: str, coordinates: Any) -> list[Any] | None:
    """All that should be positions of a shape; None where they are not nested as its kind asks, or a ring is open.

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
    """Whether there is such a place."""
    return latitude is not None and longitude is not None and abs(latitude) <= 90 and abs(longitude) <= 180
