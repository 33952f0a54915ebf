"""Places and their numbers as GeoParquet 1.1 (OGC), for GeoPandas, DuckDB and QGIS. Needs pyarrow."""

from __future__ import annotations

import json
from pathlib import Path

from tapveil.base.errors import FolderError, ReaderError
from tapveil.published.conversion.binary import bounds, well_known_binary
from tapveil.published.conversion.places import numbers_of_places, places
from tapveil.published.folder import Folder

GEOMETRY, METADATA = "geometry", b"geo"


def write_geoparquet(folder: Folder, path: Path) -> None:
    """The file: a row for each place of a mode, with the mean of a day and the interval of its noise, and its shape."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise ReaderError("pyarrow is not installed: pip install pyarrow; or convert to gpkg") from None
    known = places(folder)
    if not known:
        raise FolderError(f"{folder.where} lists no places")
    texts = {"mode": [each.mode for each in known], "name": [each.name for each in known]}
    texts["title"] = [each.title for each in known]
    columns = {name: arrow.array(values, arrow.string()) for name, values in texts.items()}
    for _, own in numbers_of_places(folder):
        for name, values in own.items():
            columns[name] = arrow.array([values.get((each.mode, each.name)) for each in known], arrow.float64())
    columns[GEOMETRY] = arrow.array([well_known_binary(each.shape) for each in known], arrow.binary())
    box = list(bounds(each.shape for each in known))  # in degrees: OGC:CRS84, unless another system is stated
    kinds = sorted({each.shape["type"] for each in known})
    shapes = {GEOMETRY: {"encoding": "WKB", "geometry_types": kinds, "bbox": box}}
    stated = {"version": "1.1.0", "primary_column": GEOMETRY, "columns": shapes}
    rows = arrow.table(columns).replace_schema_metadata({METADATA: json.dumps(stated)})
    parquet.write_table(rows, path, compression="zstd")


def same_geoparquet(one: Path, other: Path) -> bool:
    """Whether two files have the same rows and say the same of their shapes: another Arrow may write other bytes."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    try:
        if parquet.read_metadata(one).num_rows != parquet.read_metadata(other).num_rows:
            return False  # and more rows than there should be are never in memory
        ours, theirs = (parquet.read_table(path) for path in (one, other))
    except (OSError, arrow.ArrowException):
        return False
    return bool(ours.equals(theirs) and ours.schema.equals(theirs.schema, check_metadata=True))
