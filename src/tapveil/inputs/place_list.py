"""The list of places of a plan, for the map: a public CSV file of points, or GeoJSON. Never from the trips."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tapveil.base.errors import InputFileError, did_you_mean
from tapveil.base.geojson import DEPTH, on_earth, positions
from tapveil.base.vocabulary import EVERY_MODE
from tapveil.inputs.geojson import corner, properties_of, read_features
from tapveil.inputs.geometry import NamedShape, points
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import PublicFiles
from tapveil.plan.model import PlaceList

_GEOJSON = (".geojson", ".json")
_NOT_WRITTEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and unpaired surrogates."""


def read_place_list(base: Path, listed: PlaceList, files: PublicFiles) -> list[NamedShape]:
    """All places of the list, whether or not trips use them, or the list says where they are; none twice."""
    path = base / listed.path
    found = list((_of_geojson if path.suffix.lower() in _GEOJSON else _of_csv)(path, listed, files))
    seen = set[tuple[str, str]]()
    for place in found:
        if (place.name, place.mode) in seen:
            raise InputFileError(
                f"the list of places {path.name} has two shapes of `{place.name}`; keep one, or join them"
            )
        seen.add((place.name, place.mode))
    if not any(place.is_somewhere for place in found):
        raise InputFileError(
            f"the list of places {path.name} is empty; add rows with a name, a latitude and a longitude"
        )
    return found


def _text(where: str, column: str, value: Any) -> str:
    """A name or a mode as stripped text; empty where there is none."""
    if not isinstance(value, str | int | float | None) or isinstance(value, bool):
        raise InputFileError(f"{where}: `{column}` is neither text nor a number; correct it")
    text = "" if value is None else str(value).strip()
    if _NOT_WRITTEN.search(text):
        raise InputFileError(f"{where}: `{column}` has a control character or an unpaired surrogate; remove it")
    return text


def _degrees(text: str) -> float:
    """A number of degrees, with a point or, as `50,8497`, with a comma: there are no thousands of degrees."""
    return float(re.sub(r"^(-?[0-9]{1,3}),([0-9]+)$", r"\1.\2", text))


def _of_csv(path: Path, listed: PlaceList, files: PublicFiles) -> Iterator[NamedShape]:
    """A place with several rows has several points; one without coordinates has none, and is a place all the same."""
    members: dict[tuple[str, str], list[tuple[float, float]]] = {}
    titles: dict[tuple[str, str], str] = {}
    titled = [listed.title] if listed.title else []
    source = PublicList(files, path, "list of places", "[places] path")
    for number, row in source.rows([listed.name, listed.latitude, listed.longitude, *titled], [listed.mode]):
        where = f"{path.name}, line {number}"
        name, mode = (_text(where, column, row.get(column)) for column in (listed.name, listed.mode))
        texts = [row[column] for column in (listed.latitude, listed.longitude)]
        if not name:
            continue
        titles[name, mode or EVERY_MODE] = _text(where, listed.title, row[listed.title]) if listed.title else ""
        at = members.setdefault((name, mode or EVERY_MODE), [])
        if not any(texts):
            continue
        try:
            latitude, longitude = map(_degrees, texts)
        except ValueError:
            words = "latitude and longitude must be numbers in degrees, such as -33.88 or -33,88"
            raise InputFileError(f"{where}: {words}") from None
        if not on_earth(latitude, longitude):
            raise InputFileError(
                f"{where}: latitude {latitude}, longitude {longitude} is not on the earth; use degrees in WGS 84"
            )
        at.append((latitude, longitude))
    for (name, mode), places in members.items():
        yield replace(points(name, places), mode=mode, title=titles[name, mode])


def _of_geojson(path: Path, listed: PlaceList, files: PublicFiles) -> Iterator[NamedShape]:
    for number, feature in enumerate(read_features(path, files), 1):
        where = f"{path.name}, feature {number}"
        match feature:
            case {"properties": dict(properties), "geometry": {"type": str(kind), "coordinates": list(coordinates)}}:
                pass
            case _:
                raise InputFileError(f"{where}: has no properties or no geometry")
        name, mode = (_text(where, column, properties.get(column)) for column in (listed.name, listed.mode))
        if not name:
            raise InputFileError(f"{where}: has no property `{listed.name}`{did_you_mean(listed.name, properties)}")
        if kind not in DEPTH:
            raise InputFileError(f"{where}: is a {kind}; a place must be a point, several points, or an area")
        found = positions(kind, coordinates)
        if found is None:
            raise InputFileError(f"{where}: its coordinates are not nested as in GeoJSON, or a ring is not closed")
        try:
            for position in found:
                corner(position)
        except ValueError as error:
            raise InputFileError(f"{where}: {error}") from None
        title = _text(where, listed.title, properties.get(listed.title)) if listed.title else ""
        yield NamedShape(name, {"type": kind, "coordinates": coordinates}, mode or EVERY_MODE, title)


def facts_in_list(
    base: Path, listed: PlaceList, files: PublicFiles, needed: Sequence[str], optional: Sequence[str]
) -> dict[tuple[str, str], dict[str, str]]:
    """What further columns, or properties, of the list say of each place, by mode and name; the first row counts."""
    path, found = base / listed.path, dict[tuple[str, str], dict[str, str]]()
    if path.suffix.lower() in _GEOJSON:
        rows = [properties_of(feature) for feature in read_features(path, files)]
        known = {name for row in rows for name in row}
        if missing := next((name for name in needed if name not in known), None):
            raise InputFileError(f"the list of places {path.name} has no `{missing}`{did_you_mean(missing, known)}")
        every = ((f"{path.name}, feature {number}", row) for number, row in enumerate(rows, 1))
    else:
        source = PublicList(files, path, "list of places", "[places] path")
        texts = source.rows([listed.name, *needed], [listed.mode, *optional])
        every = ((f"{path.name}, line {number}", dict[str, Any](row)) for number, row in texts)
    for where, row in every:
        name, mode = (_text(where, column, row.get(column)) for column in (listed.name, listed.mode))
        said = {field: _text(where, field, row.get(field)) for field in (*needed, *optional)}
        if name:
            found.setdefault((mode or EVERY_MODE, name), said)
    return found
