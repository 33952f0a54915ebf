"""Port Vesper on a map: a bay, lines that run out of the centre, postcodes around it. Generated, like its trips.

It lies at sea, where no real city is. Busy places are near the centre, as they are in cities.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from math import atan2, cos, hypot, pi, sin, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Point = tuple[float, float]
"""Kilometres to the east and to the north of the central quay."""

CENTRE = (-40.0, 160.0)
KM_PER_DEGREE = 111.2
HEXAGON = 1.35
"""From the middle of a postcode to its corners, in kilometres."""
LINES = (0.62, 1.35, 2.0, 2.65, 3.3, 3.95, 4.6, 5.2)
"""The directions in which trains leave, none of them into the bay."""


def write_map(path: Path, stops: Mapping[str, Sequence[str]], postcodes: Sequence[str]) -> None:
    """Stops as points, the postcodes of buses as areas."""
    features = [
        _feature(name, mode, {"type": "Point", "coordinates": _degrees(place)})
        for mode, names in stops.items()
        for name, place in zip(names, WAYS[mode](), strict=False)
    ]
    for name, corners in zip(postcodes, _areas(), strict=False):
        features.append(_feature(name, "bus", {"type": "Polygon", "coordinates": [[*map(_degrees, corners)]]}))
    lines = ",\n".join(json.dumps(feature, ensure_ascii=False) for feature in features)
    path.write_text(f'{{"type": "FeatureCollection", "features": [\n{lines}\n]}}\n', encoding="utf-8")


def positions(mode: str, number: int) -> npt.NDArray[np.float32]:
    """Where the first stops of a mode lie; those of buses, in the middle of their postcodes."""
    return np.array([*islice(WAYS[mode](), number)], dtype=np.float32)


def _feature(name: str, mode: str, geometry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "properties": {"name": name, "mode": mode}, "geometry": geometry}


def _degrees(place: Point) -> list[float]:
    latitude, longitude = CENTRE
    east, north = place
    narrow = KM_PER_DEGREE * cos(latitude * pi / 180)
    return [round(longitude + east / narrow, 6), round(latitude + north / KM_PER_DEGREE, 6)]


def _stations() -> Iterator[Point]:
    """The main station, then outwards on every line in turn."""
    yield (-0.4, -0.2)
    for number in count():
        line, steps = number % len(LINES), number // len(LINES) + 1
        away, turn = 0.9 * steps**0.97, 0.05 * sin(0.4 * steps + 2 * line)
        angle = LINES[line] + turn
        yield (-0.4 + away * cos(angle), -0.2 + away * sin(angle))


def _wharves() -> Iterator[Point]:
    """Along both shores of the bay, from the quay outwards."""
    for number in count():
        out, side = 0.8 * (number // 2) + 0.5, 1 if number % 2 else -1
        yield (out, side * (0.35 + 0.11 * out) + 0.35 * sin(out))


def _tram_stops() -> Iterator[Point]:
    """One line along the bay's southern shore, turning inland."""
    for number in count():
        along = 0.42 * number
        yield (-0.6 - 0.8 * along + 0.5 * sin(along), -0.9 - 0.25 * along + 0.9 * sin(0.6 * along))


def _areas() -> Iterator[list[Point]]:
    """Hexagons around the centre, ring after ring, bent so that they look like postcodes; none in the bay."""
    corners = [(HEXAGON * cos(pi / 3 * k), HEXAGON * sin(pi / 3 * k)) for k in (*range(6), 0)]
    for east, north in _inland():
        yield [_bent(east + x, north + y) for x, y in corners]


def _inland() -> Iterator[Point]:
    for east, north in _middles():
        if hypot(east, north) <= 2 or abs(atan2(north, east)) >= 0.3:  # the bay opens to the east
            yield (east, north)


def _middles() -> Iterator[Point]:
    yield (0.0, 0.0)
    steps = [(cos(pi / 3 * k + pi / 6), sin(pi / 3 * k + pi / 6)) for k in range(6)]
    apart = HEXAGON * sqrt(3)
    for ring in count(1):
        east, north = ring * apart * steps[4][0], ring * apart * steps[4][1]
        for direction in steps:
            for _ in range(ring):
                yield (east, north)
                east, north = east + apart * direction[0], north + apart * direction[1]


def _bent(x: float, y: float) -> Point:
    """Moved a little, by a rule that neighbours share, so that their borders still meet."""
    return (x + 0.28 * sin(1.7 * y + 0.4 * x) + 0.05 * x * cos(0.2 * y), y + 0.28 * sin(1.3 * x - 0.6 * y))


WAYS = {"bus": _inland, "train": _stations, "ferry": _wharves, "lightrail": _tram_stops}
"""Where stops lie, the busiest first."""
