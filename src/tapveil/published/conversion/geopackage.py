"""A GeoPackage (OGC 12-128r18) with places, their numbers and all tables, by the standard library's SQLite alone."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tapveil.base.errors import FolderError
from tapveil.published.change import NOISE_HIGH, NOISE_LOW
from tapveil.published.conversion.places import places
from tapveil.published.folder import Folder
from tapveil.published.frame import DATE

APPLICATION_ID = 0x47504B47
"""`GPKG` (requirement 2)."""
USER_VERSION = 10300
LAYER = "places"
_WGS84 = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],'
    'UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]'
)
_CODES = {"Point": 1, "LineString": 2, "Polygon": 3, "MultiPoint": 4, "MultiLineString": 5, "MultiPolygon": 6}
_SYSTEM = """
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL,
  organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE,
  description TEXT DEFAULT '', last_change DATETIME NOT NULL, min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE,
  srs_id INTEGER, CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id));
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL,
  geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL,
  CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name), CONSTRAINT uk_gc_table_name UNIQUE (table_name),
  CONSTRAINT fk_gc_tn FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name),
  CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id));
"""
_WRITER = slice(96, 100)
"""Where the header of a file says which SQLite wrote it last."""


def write_geopackage(folder: Folder, path: Path) -> None:
    """The file: the layer `places`, with means per day, and every table as it was published."""
    known = places(folder)
    if not known:
        raise FolderError(f"{folder.path} lists no places")
    database = sqlite3.connect(path)
    try:
        database.executescript(f"PRAGMA page_size = 4096; PRAGMA application_id = {APPLICATION_ID};")
        database.executescript(f"PRAGMA user_version = {USER_VERSION}; {_SYSTEM}")
        systems = [
            ("Undefined cartesian SRS", -1, "NONE", -1, "undefined", None),
            ("Undefined geographic SRS", 0, "NONE", 0, "undefined", None),
            ("WGS 84 geodetic", 4326, "EPSG", 4326, _WGS84, None),
        ]
        database.executemany("INSERT INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, ?)", systems)
        when = f"{folder.manifest.created.isoformat()}T00:00:00.000Z"
        numbers = dict(_numbers(folder))
        columns = [name for own in numbers.values() for name in own]
        _create(database, LAYER, {"geom": "GEOMETRY", "mode": "TEXT", "name": "TEXT", "title": "TEXT"}, columns)
        axes = [[each.longitude for each in known], [each.latitude for each in known]]
        bounds = [end(axis) for end in (min, max) for axis in axes]
        entry = (LAYER, "features", LAYER, folder.manifest.title, when, *bounds, 4326)
        database.execute("INSERT INTO gpkg_contents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", entry)
        database.execute("INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', 'GEOMETRY', 4326, 0, 0)", (LAYER,))
        rows = []
        for each in known:
            found = [own[name].get((each.mode, each.name)) for own in numbers.values() for name in own]
            rows.append((blob(each.shape), each.mode, each.name, each.title, *found))
        _insert(database, LAYER, rows)
        for name in folder.tables:
            frame = folder.table(name)
            _create(database, f"table_{name}", dict.fromkeys(frame.keys, "TEXT"), frame.columns[len(frame.keys) :])
            words = f"{name}, as published"
            entry = (f"table_{name}", "attributes", f"table_{name}", words, when, None, None, None, None, None)
            database.execute("INSERT INTO gpkg_contents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", entry)
            _insert(database, f"table_{name}", zip(*(column.tolist() for column in frame.cells.values()), strict=True))
        database.commit()
    finally:
        database.close()
    written = bytearray(path.read_bytes())
    written[_WRITER] = struct.pack(">I", 3_040_000)  # the same bytes, whichever SQLite is installed
    path.write_bytes(written)


def _numbers(folder: Folder) -> Iterator[tuple[str, Mapping[str, Mapping[tuple[str, str], float | None]]]]:
    """Of each table of places by day: the mean of a day, and the interval of its noise, by mode and place."""
    for claim in folder.manifest.tables:
        kinds = [folder.manifest.columns[column] for column in claim.columns]
        keys = folder.manifest.keys(claim)
        if kinds != ["location"] or claim.level is not None or not {*keys} <= {"mode", DATE, claim.columns[0]}:
            continue
        if DATE not in keys:
            continue
        means = folder.table(claim.name).mean(over="date")
        places = means.cells[claim.columns[0]].tolist()
        modes = means.cells["mode"].tolist() if "mode" in keys else [""] * len(places)
        own = {}
        for name, column in (("mean", "mean"), ("low", NOISE_LOW), ("high", NOISE_HIGH)):
            values = [None if np.isnan(each) else round(each, 3) for each in means.cells[column].tolist()]
            own[f"{claim.name}_{name}"] = dict(zip(zip(modes, places, strict=True), values, strict=True))
        yield claim.name, own


def _create(database: sqlite3.Connection, table: str, texts: Mapping[str, str], numbers: Sequence[str]) -> None:
    kind = "DOUBLE" if table == LAYER else "INTEGER"
    columns = [f"{_quoted(name)} {type_}" for name, type_ in texts.items()]
    columns += [f"{_quoted(name)} {kind}" for name in numbers]
    own = ", ".join(["fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL", *columns])
    database.execute(f"CREATE TABLE {_quoted(table)} ({own})")


def _insert(database: sqlite3.Connection, table: str, rows: Any) -> None:
    listed = [(None, *row) for row in rows]
    if listed:
        marks = ", ".join("?" * len(listed[0]))
        database.executemany(f"INSERT INTO {_quoted(table)} VALUES ({marks})", listed)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def blob(shape: Mapping[str, Any]) -> bytes:
    """A shape as GeoPackage has it (requirement 19): a header without an envelope, then well-known binary.

    >>> blob({"type": "Point", "coordinates": [1.0, 2.0]}).hex()
    '47500001e61000000101000000000000000000f03f0000000000000040'
    """
    return b"GP\x00\x01" + struct.pack("<i", 4326) + _binary(shape["type"], shape["coordinates"])


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
