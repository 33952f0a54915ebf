"""A GeoPackage (OGC 12-128r18) with places, their numbers and all tables, by the standard library's SQLite alone."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tapveil.base.errors import FolderError
from tapveil.published.conversion.binary import bounds, well_known_binary
from tapveil.published.conversion.places import numbers_of_places, places
from tapveil.published.folder import Folder

APPLICATION_ID = 0x47504B47
"""`GPKG` (requirement 2)."""
USER_VERSION = 10300
LAYER = "places"
_WGS84 = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],'
    'UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]'
)
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


def write_geopackage(folder: Folder, path: Path, tables: Sequence[str]) -> None:
    """The file: the layer `places`, with means per day, and these tables as they were published."""
    known = places(folder)
    if not known:
        raise FolderError(f"{folder.where} lists no places")
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
        numbers = dict(numbers_of_places(folder))
        columns = [name for own in numbers.values() for name in own]
        _create(database, LAYER, {"geom": "GEOMETRY", "mode": "TEXT", "name": "TEXT", "title": "TEXT"}, columns)
        entry: tuple[object, ...] = (
            LAYER,
            "features",
            LAYER,
            folder.manifest.title,
            when,
            *bounds(each.shape for each in known),
            4326,
        )
        database.execute("INSERT INTO gpkg_contents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", entry)
        database.execute("INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', 'GEOMETRY', 4326, 0, 0)", (LAYER,))
        rows = []
        for each in known:
            found = [own[name].get((each.mode, each.name)) for own in numbers.values() for name in own]
            rows.append((blob(each.shape), each.mode, each.name, each.title, *found))
        _insert(database, LAYER, rows)
        for name in tables:
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
    return b"GP\x00\x01" + struct.pack("<i", 4326) + well_known_binary(shape)


def same_geopackage(one: Path, other: Path) -> bool:
    """Whether two files hold the same tables, row by row: another SQLite may put them on other pages."""
    return one.read_bytes() == other.read_bytes() or _dump(one) == _dump(other)


def _dump(path: Path) -> list[str] | None:
    database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        names = ("application_id", "user_version", "freelist_count", "page_size", "page_count")
        pragmas = {name: database.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
        if pragmas.pop("page_size") * pragmas.pop("page_count") != path.stat().st_size or pragmas["freelist_count"]:
            return None  # with room for what no table has
        return [*map(str, pragmas.values()), *database.iterdump()]
    except (sqlite3.Error, UnicodeDecodeError):
        return None  # damaged
    finally:
        database.close()
