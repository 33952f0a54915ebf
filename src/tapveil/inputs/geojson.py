"""GeoJSON files of agencies and statistical offices: their features in WGS 84, checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tapveil.base.errors import InputFileError
from tapveil.base.geojson import on_earth
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import PublicFiles

Corner = tuple[float, float]
"""Longitude, latitude."""
_WGS84 = ("CRS84", "CRS84H", "4326", "WGS84")
_SAVE_AS_WGS84 = "save it in WGS 84 (EPSG:4326)"


def read_features(path: Path, files: PublicFiles) -> list[Any]:
    """The features of a GeoJSON file in WGS 84."""
    try:
        with PublicList(files, path, "file of areas").opened() as file:
            data = json.load(file)
    except UnicodeDecodeError:
        raise InputFileError(f"the areas {path.name} are not UTF-8; save them as GeoJSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputFileError(f"{path.name}, line {error.lineno}: not valid JSON; save the areas as GeoJSON") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists without end
        raise InputFileError(f"the areas {path.name} cannot be read as JSON; save them as GeoJSON") from None
    match data:
        case {"type": "FeatureCollection", "features": [_, *_] as features, **others}:
            system = _coordinate_system(others.get("crs"))
            if re.split("[:/#]", system)[-1].replace(" ", "").upper() not in _WGS84:
                raise InputFileError(f"the areas {path.name} use the coordinate system {system}; {_SAVE_AS_WGS84}")
            return list(features)
        case {"type": "FeatureCollection", "features": []}:
            raise InputFileError(f"the areas {path.name} have no features; export them again")
    raise InputFileError(f"the areas {path.name} are not a FeatureCollection; save them as GeoJSON")


def _coordinate_system(crs: Any) -> str:
    """GeoJSON is WGS 84 unless it has a `crs`, the syntax of 2008, which programs still write."""
    match crs:
        case None:
            return "WGS 84"
        case {"properties": {"name": str(name)}}:
            return name
        case {"type": "EPSG", "properties": {"code": int(code)}}:
            return f"EPSG:{code}"
    return "an unknown system"


def properties_of(feature: Any) -> Mapping[str, Any]:
    """The properties of a feature."""
    match feature:
        case {"type": "Feature", "properties": dict(properties)}:
            return properties
        case {"type": "Feature"}:
            return {}
    raise ValueError("it is not a GeoJSON Feature")


def corner(position: Any) -> Corner:
    """Longitude and latitude of a position; a height is ignored."""
    match position:
        case [int() | float() as longitude, int() | float() as latitude, *_]:
            if on_earth(latitude, longitude):
                return longitude, latitude
            if on_earth(longitude, latitude):
                raise ValueError(f"({longitude}, {latitude}) has the latitude first; GeoJSON needs the longitude first")
            raise ValueError(
                f"({longitude}, {latitude}) is not a longitude from -180 to 180 and a latitude from -90 to 90. "
                f"If it is in metres of a projection, {_SAVE_AS_WGS84}"
            )
    raise ValueError("a position of its geometry is not a list of two numbers")
