"""Where published places lie, by a public list: for a map, never from the trips. CSV for points, GeoJSON for any."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from tapveil.base.csv_header import found_delimiter
from tapveil.base.errors import TripDataError, did_you_mean
from tapveil.base.vocabulary import EVERY_MODE
from tapveil.inputs.geometry import Place, on_earth, points, read_features
from tapveil.inputs.snapshot import PublicFiles, open_text
from tapveil.plan.model import PlaceList

_DEPTH = {"Point": 0, "MultiPoint": 1, "Polygon": 2, "MultiPolygon": 3}
"""How deeply the positions of a geometry are nested."""
_GEOJSON = (".geojson", ".json")
_NOT_WRITTEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, and halves of a character."""


def read_place_list(base: Path, listed: PlaceList, files: PublicFiles) -> list[Place]:
    """All places of the list, whether the trips have them or not; one that is listed twice is an error."""
    path = base / listed.path
    found = list((_of_geojson if path.suffix.lower() in _GEOJSON else _of_csv)(path, listed, files))
    seen = set[tuple[str, str]]()
    for place in found:
        if (place.name, place.mode) in seen:
            raise TripDataError(f"the places {path.name} have two shapes of `{place.name}`; keep one, or join them")
        seen.add((place.name, place.mode))
    if not found:
        raise TripDataError(f"the list of places {path.name} is empty: no row has a name, a latitude and a longitude")
    return found


def _spelt(where: str, column: str, value: Any) -> str:
    """A name, or a mode, without the blanks around it; nothing where there is none."""
    if not isinstance(value, str | int | float | None) or isinstance(value, bool):
        raise TripDataError(f"{where}: its `{column}` is neither a text nor a number")
    text = "" if value is None else str(value).strip()
    if _NOT_WRITTEN.search(text):
        raise TripDataError(f"{where}: its `{column}` has a control character, or half a character; leave it out")
    return text


# --- points -----------------------------------------------------------------------------------------------------------


def _of_csv(path: Path, listed: PlaceList, files: PublicFiles) -> Iterator[Place]:
    """A place that has several rows has several points."""
    members: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number, row in _rows(path, listed, files):
        where = f"{path.name}, line {number}"
        name, mode = (_spelt(where, column, row.get(column)) for column in (listed.name, listed.mode))
        texts = [(row[column] or "").strip() for column in (listed.latitude, listed.longitude)]
        if name and any(texts):
            members.setdefault((name, mode or EVERY_MODE), []).append(_position(where, texts))
    for (name, mode), positions in members.items():
        shape = points(name, positions)
        yield Place(name, shape.geometry, mode)


def _rows(path: Path, listed: PlaceList, files: PublicFiles) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with open_text(files, path) as file:
            rows = csv.DictReader(file, delimiter=_delimiter(file, listed), skipinitialspace=True)
            rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
            _require(path, (listed.name, listed.latitude, listed.longitude), rows.fieldnames)
            for row in rows:
                yield rows.line_num, row
    except FileNotFoundError:
        raise TripDataError(
            f"there is no list of places {path.name} ([places] path; it starts from the plan)"
        ) from None
    except OSError as error:
        raise TripDataError(f"the list of places {path.name} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise TripDataError(f"the list of places {path.name} is not a CSV file in UTF-8") from None


def _delimiter(file: TextIO, listed: PlaceList) -> str:
    """What separates the columns, by the first line; the file is at its start again."""
    header = file.readline()
    file.seek(0)
    return found_delimiter(header, (listed.name, listed.mode, listed.latitude, listed.longitude))


def _require(path: Path, wanted: Sequence[str], columns: Sequence[str]) -> None:
    for name in wanted:
        if name not in columns:
            hint = did_you_mean(name, columns) or f" (columns: {', '.join(columns)})"
            raise TripDataError(f"the list of places {path.name} has no column `{name}`{hint}")


def _position(where: str, texts: Sequence[str]) -> tuple[float, float]:
    try:
        latitude, longitude = map(float, texts)
    except ValueError:
        raise TripDataError(f"{where}: latitude and longitude are not two numbers in degrees, such as -33.88") from None
    if not on_earth(latitude, longitude):
        raise TripDataError(f"{where}: latitude {latitude}, longitude {longitude} is nowhere on the earth")
    return latitude, longitude


# --- shapes -----------------------------------------------------------------------------------------------------------


def _of_geojson(path: Path, listed: PlaceList, files: PublicFiles) -> Iterator[Place]:
    for number, feature in enumerate(read_features(path, files), 1):
        where = f"{path.name}, feature {number}"
        match feature:
            case {"properties": dict(properties), "geometry": {"type": str(kind), "coordinates": list(coordinates)}}:
                depth = _DEPTH.get(kind)
            case _:
                raise TripDataError(f"{where}: has no properties, or no shape")
        name, mode = (_spelt(where, column, properties.get(column)) for column in (listed.name, listed.mode))
        if not name:
            raise TripDataError(f"{where}: has no property `{listed.name}`{did_you_mean(listed.name, properties)}")
        if depth is None:
            raise TripDataError(f"{where}: is a {kind}; a place is a point, several, or an area")
        shape = {"type": kind, "coordinates": _shape(where, coordinates, depth, rings=depth >= 2)}
        yield Place(name, shape, mode or EVERY_MODE)


def _shape(where: str, value: Any, depth: int, *, rings: bool) -> list[Any]:
    """A position, or a list of what is one level less deep; a ring is closed."""
    if not isinstance(value, list) or not value:
        raise TripDataError(f"{where}: its coordinates are empty, or not nested as GeoJSON nests them")
    if depth == 0:
        longitude, latitude = (part if isinstance(part, int | float) else None for part in (*value[:2], None)[:2])
        if latitude is None or longitude is None or not on_earth(latitude, longitude):
            raise TripDataError(f"{where}: {value[:2]} is not a longitude and a latitude in degrees (WGS 84)")
        return [float(longitude), float(latitude)]
    found = [_shape(where, part, depth - 1, rings=rings) for part in value]
    if rings and depth == 1 and (len(found) < 4 or found[0] != found[-1]):
        raise TripDataError(f"{where}: a ring of its border is not closed")
    return found
