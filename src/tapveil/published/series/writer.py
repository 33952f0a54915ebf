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
from tapveil.base.vocabulary import CHECKSUMS, MANIFEST, NUMBERS
from tapveil.published.frame import DATE, DEFINITION, RELEASE, Frame
from tapveil.published.manifest import json_text
from tapveil.published.series.page import page_files
from tapveil.published.series.reading import Series
from tapveil.published.series.written import CONTENTS, RELEASES, VERSION


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
        contents = as_json(series)
        for name, text in (texts(series, contents) | page_files(series, contents)).items():
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            (aside / name).write_text(text, encoding="utf-8")
        names = sorted(path.relative_to(aside).as_posix() for path in aside.rglob("*") if path.is_file())
        sums = "".join(f"{atomic.sha256(aside / name)}  {name}\n" for name in names)
        (aside / CHECKSUMS).write_text(sums, encoding="utf-8")
        atomic.rename(aside, out)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise UsageError(f"{out} cannot be written: {atomic.why(error)}") from None
    return out


def texts(series: Series, contents: Mapping[str, Any]) -> dict[str, str]:
    """The files that are text but for the page, by name: the same series always has the same."""
    manifests = {
        f"{RELEASES}/{name}/{MANIFEST}": folder.file(MANIFEST).read_text(encoding="utf-8")
        for name, folder in zip(series.names, series.folders, strict=True)
    }
    return {CONTENTS: json_text(contents), **manifests}


def tables(series: Series) -> Iterator[tuple[str, pa.Table]]:
    """The Parquet files of each table, by year; where cells have no day, by release."""
    for name in series.tables:
        frame = series.table(name)
        rows, (column, labels) = frame.to_arrow(), _parted(frame)
        of_row = pa.array(labels, pa.string())
        for part in _parts(name, frame):
            own = rows.filter(pc.equal(of_row, part[column]))
            kept = own.drop_columns(RELEASE) if column == RELEASE else own
            yield part["file"], kept.combine_chunks()


def _parts(table: str, frame: Frame) -> list[dict[str, str]]:
    """The files of a table, each with the year, or the release, that it has."""
    column, labels = _parted(frame)
    found = dict[str, str]()
    for label in sorted(set(labels)):
        place = "".join(each if each.isalnum() or each in "-_.#" else "_" for each in label)
        while place in found:
            place += "_"
        found[place] = label
    return [{"file": f"{table}/{column}={place}/part-0.parquet", column: label} for place, label in found.items()]


def _parted(frame: Frame) -> tuple[str, list[str]]:
    """What a table is parted by, and the label of each row."""
    if DATE in frame.keys:
        return "year", [day[:4] for day in frame.cells[DATE].tolist()]
    return RELEASE, frame.cells[RELEASE].tolist()


def as_json(series: Series, version: int = VERSION) -> dict[str, Any]:
    """`series.json`: the folders with their checksums, the tables with their definitions, breaks and gaps."""
    found = {}
    for name in series.tables:
        frame = series.table(name)
        numbers, first = np.unique(frame.cells[DEFINITION], return_index=True)
        begins = frame.cells[DATE if DATE in frame.keys else RELEASE]
        starts = [{"definition": int(n), "from": str(begins[at])} for n, at in zip(numbers, first, strict=True)]
        columns = {"keys": list(frame.keys), "numbers": list(NUMBERS), "definitions": starts}
        found[name] = {"rows": len(frame), **columns, "parts": _parts(name, frame), "listed": _listed(series, name)}
    return {
        "series_version": version,
        "title": series.folders[-1].manifest.title if version == 1 else series.title,
        "releases": [_release(series, place) for place in range(len(series.folders))],
        "tables": found,
        "breaks": [each.as_json for each in series.breaks],
        "gaps": [list(gap) for gap in series.gaps],
        "overlaps": series.overlaps,
    }


def _listed(series: Series, table: str) -> dict[str, list[str]]:
    """Of each column of places: those that public lists name and the table has no cell of."""
    frame, kinds = series.table(table), series.folders[-1].manifest.columns
    places = [key for key in frame.keys if kinds.get(key) == "location"]
    return {key: sorted(frame.names[key] - {*frame.cells[key].tolist()}) for key in places}


def _release(series: Series, place: int) -> Mapping[str, Any]:
    folder, days = series.folders[place], series.days_of(place)
    try:
        digest = hashlib.sha256(folder.file(CHECKSUMS).read_bytes()).hexdigest()
    except OSError:
        raise FolderError(f"{folder.where} has no {CHECKSUMS}: it is not a complete published folder") from None
    span = {"first_day": days[0], "last_day": days[-1]} if days else {"first_day": None, "last_day": None}
    return {
        "name": series.names[place],
        "release_id": folder.manifest.release_id,
        "sums_sha256": digest,
        **span,
        "days": days,
    }
