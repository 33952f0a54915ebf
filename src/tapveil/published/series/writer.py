"""A series as files: partitioned Parquet, `series.json` and a page. All of it follows from its folders alone."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapveil.base import atomic
from tapveil.base.errors import FolderError, UsageError
from tapveil.base.vocabulary import CHECKSUMS, NUMBERS
from tapveil.published.frame import DATE, DEFINITION
from tapveil.published.manifest import json_text
from tapveil.published.series.page import page
from tapveil.published.series.reading import RELEASE, Series

VERSION = 1
"""Of the files of a series."""
CONTENTS, PAGE = "series.json", "series.html"


def write_series(series: Series, out: Path) -> Path:
    """Write the files of a series to a new folder; it appears complete or not at all."""
    if out.exists():
        raise UsageError(f"{out} already exists; choose another name")
    aside = atomic.aside_of(out)
    shutil.rmtree(aside, ignore_errors=True)
    try:
        for path, rows in tables(series):
            (aside / path).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, aside / path, compression="zstd", write_statistics=True)
        for name, text in texts(series).items():
            (aside / name).write_text(text, encoding="utf-8")
        names = sorted(path.relative_to(aside).as_posix() for path in aside.rglob("*") if path.is_file())
        sums = "".join(f"{atomic.sha256(aside / name)}  {name}\n" for name in names)
        (aside / CHECKSUMS).write_text(sums, encoding="utf-8")
        atomic.rename(aside, out)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise UsageError(f"{out} cannot be written: {atomic.why(error)}") from None
    return out


def texts(series: Series) -> dict[str, str]:
    """The files that are text, by name: the same series always has the same."""
    contents = as_json(series)
    return {CONTENTS: json_text(contents), PAGE: page(series, contents)}


def tables(series: Series) -> Iterator[tuple[str, pa.Table]]:
    """The Parquet files of each table, by year; where cells have no day, by release."""
    for name in series.tables:
        frame = series.table(name)
        dated = DATE in frame.keys
        rows = frame.to_arrow()
        parts = pc.utf8_slice_codeunits(pa.array(frame.cells[DATE].tolist(), pa.string()), 0, 4) if dated else None
        labels = parts if parts is not None else rows.column(RELEASE)
        column = "year" if dated else RELEASE
        for label in sorted(set(labels.to_pylist())):
            own = rows.filter(pc.equal(labels, label))
            kept = own if dated else own.drop_columns(RELEASE)
            yield f"{name}/{column}={_in_path(label)}/part-0.parquet", kept.combine_chunks()


def _in_path(label: str) -> str:
    return "".join(each if each.isalnum() or each in "-_.#" else "_" for each in label)


def as_json(series: Series) -> dict[str, Any]:
    """`series.json`: the folders with their checksums, the tables with their definitions, breaks and gaps."""
    found = {}
    for name in series.tables:
        frame = series.table(name)
        numbers, first = np.unique(frame.cells[DEFINITION], return_index=True)
        begins = frame.cells[DATE if DATE in frame.keys else RELEASE]
        starts = [{"definition": int(n), "from": str(begins[at])} for n, at in zip(numbers, first, strict=True)]
        columns = {"keys": list(frame.keys), "numbers": list(NUMBERS), "definitions": starts}
        found[name] = {"rows": len(frame), **columns}
    return {
        "series_version": VERSION,
        "title": series.folders[-1].manifest.title,
        "releases": [_release(series, place) for place in range(len(series.folders))],
        "tables": found,
        "breaks": [each.as_json for each in series.breaks],
        "gaps": [list(gap) for gap in series.gaps],
        "overlaps": series.overlaps,
    }


def _release(series: Series, place: int) -> Mapping[str, Any]:
    folder, days = series.folders[place], series.days_of(place)
    sums = folder.path / CHECKSUMS
    try:
        digest = hashlib.sha256(sums.read_bytes()).hexdigest()
    except OSError:
        raise FolderError(f"{folder.path} has no {CHECKSUMS}: it is not a complete published folder") from None
    span = {"first_day": days[0], "last_day": days[-1]} if days else {"first_day": None, "last_day": None}
    return {"name": series.names[place], "release_id": folder.manifest.release_id, "sums_sha256": digest, **span}
