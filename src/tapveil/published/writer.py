"""The published folder, as it is written: tables, words, page, checksums. It appears complete or not at all.

Everything written here follows from published tables and the manifest; this module cannot see an exact count.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.base import atomic
from tapveil.base.errors import UsageError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.vocabulary import (
    CALENDAR,
    CHECKSUMS,
    COUNT,
    MANIFEST,
    PACKAGE,
    PLACES,
    READER,
    README,
    RIDER,
    SIGNATURE,
    WIDER,
    WORLD,
)
from tapveil.published import domain, place_facts, shaped
from tapveil.published.calendar import calendar_text
from tapveil.published.csv import pieces, pieces_of, write_csv
from tapveil.published.derived import derived, estimated_from
from tapveil.published.describe.datapackage import FileFacts, datapackage
from tapveil.published.describe.metadata import texts as portal_texts
from tapveil.published.describe.readme import readme
from tapveil.published.explorer.page import page_files
from tapveil.published.folder import Folder
from tapveil.published.lattice import WIDER_COLUMNS, Wider
from tapveil.published.manifest import Manifest, json_text
from tapveil.published.place_facts import PlaceFacts
from tapveil.published.places import FeatureCollection, places_text
from tapveil.published.reader import read_script
from tapveil.published.rider.page import rider_page
from tapveil.published.sheets import DerivedSheet, as_written, in_groups, laid_out, raw_tables
from tapveil.published.synthetic_trips import NOTE, SyntheticTrips, note
from tapveil.published.table import PublishedTable

if TYPE_CHECKING:  # what a key needs takes time to load, and most have none
    from tapveil.published.signature import SigningKey

ROWS_AT_ONCE = 1_000_000
ROW_GROUP = 2**20
"""Rows of a part of a Parquet file that is read at once."""


def check_destination(path: Path) -> None:
    """Refuse, before any work, a place where the folder could not appear."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} already exists; a release never overwrites one: choose another folder")
    there = next(each for each in (path.absolute().parent, *path.absolute().parent.parents) if each.exists())
    if not there.is_dir():
        raise UsageError(f"{there} is a file, not a folder: {path} cannot be written in it")
    if not os.access(there, os.W_OK):
        raise UsageError(f"no permission to write in {there}")


def write(
    path: Path,
    workspace: Path,
    manifest: Manifest,
    tables: Sequence[PublishedTable],
    *,
    places: FeatureCollection | None = None,
    wider: Wider | None = None,
    world: domain.Places | None = None,
    said: PlaceFacts = place_facts.NONE,
    guard: Callable[[Path], None],
    bind: Callable[[bytes], None],
    key: SigningKey | None = None,
    progress: Reporter | None = None,
) -> Folder:
    """Put the folder together in a workspace on the same disk, make it durable, then let it appear by one rename.

    `said`: what files of shapes say of places. `guard` looks at it before it is sealed by its checksums, and raises if
    anything in it must not leave; `bind` gets the checksums before it appears, and raises if it must not.
    """
    progress, rows = progress or Silent(), laid_out(manifest, tables)
    raw = raw_tables(manifest, rows)
    with progress.stage(Stage.MAKING_CONSISTENT):
        lists = domain.Domain(manifest, world or {}) if manifest.is_world else None
        estimated = estimated_from(lists, raw) if lists else None
        beside = derived(manifest, manifest.mechanisms, raw, wider or {}, estimated=estimated)
        trips = SyntheticTrips(estimated) if estimated and manifest.versions.trips else None
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir()
    _write_tables(workspace, manifest, rows, beside, progress)
    if trips:
        with progress.stage(Stage.WRITING_TRIPS):
            _write_trips(workspace, manifest, trips)
    if wider:
        _write_wider(workspace / WIDER, wider)

    if manifest.shapes:
        _write_shapes(workspace, shaped.Published(manifest, manifest.mechanisms, raw, estimated, said))

    @cache
    def facts(name: str) -> FileFacts:
        return FileFacts((workspace / name).stat().st_size, atomic.sha256(workspace / name))

    package = datapackage(manifest, beside, facts, trips)
    texts: dict[str, str] = {
        MANIFEST: json_text(manifest.as_json),
        PACKAGE: json_text(package),
        **portal_texts(manifest.as_json, package),
        **({PLACES: places_text(places)} if places is not None else {}),
        **({CALENDAR: calendar_text(manifest)} if manifest.calendars else {}),
        **({WORLD: domain.places_text(world)} if world else {}),
        **({READER: read_script(version)} if (version := manifest.versions.reader) else {}),
        **({RIDER: rider_page(manifest, version)} if (version := manifest.versions.rider) else {}),
        README: readme(manifest, signed=key is not None),
    }
    with progress.stage(Stage.DRAWING_PAGE):
        texts |= page_files(manifest, package, raw, beside, places)
    for name, text in texts.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(text, encoding="utf-8")
    with progress.stage(Stage.SEALING_FOLDER):
        guard(workspace)
        # By their names as texts: a path sorts `explorer/` before `explorer.html`, and `verify` does not.
        files = sorted(each.relative_to(workspace).as_posix() for each in workspace.rglob("*") if each.is_file())
        checksums = "".join(f"{facts(name).sha256}  {name}\n" for name in files).encode()
        (workspace / CHECKSUMS).write_bytes(checksums)
        if key:
            (workspace / SIGNATURE).write_text(key.sign(checksums), encoding="ascii")
        _hide_the_hour(workspace, manifest.created)
        atomic.sync(*workspace.rglob("*"), workspace)
    check_destination(path)
    bind(checksums)
    workspace.rename(path)
    # The folder is there: from here on nothing may look like a failure, or it would be released again.
    with suppress(OSError):
        atomic.sync(path.parent)
    return Folder(path)


# --- files --------------------------------------------------------------------------------------------------------


def _write_tables(
    folder: Path, manifest: Manifest, rows: Mapping[str, pa.Table], beside: Sequence[DerivedSheet], progress: Reporter
) -> None:
    """The tables as the noise left them, rows to go with them if wanted, and what follows from them."""
    cells, written = sum(map(len, rows.values())) + sum(each.rows for each in beside), 0
    with progress.stage(Stage.WRITING_TABLES, lambda: written, total=cells, unit="cells"):
        for name, table in rows.items():
            _write_table(folder, manifest, name, table)
            if manifest.synthetic:
                _write_synthetic(folder / "synthetic", name, table.drop_columns(list(manifest.numbers)), table[COUNT])
            written += len(table)
        for each in beside:
            (folder / each.folder).mkdir(exist_ok=True)
            _write_parts(folder / each.path, manifest, each.pieces())
            written += each.rows


def _write_table(folder: Path, manifest: Manifest, name: str, table: pa.Table) -> None:
    """A table in each of its formats, some rows at a time."""
    claim = next(each for each in manifest.tables if manifest.arrangement.file_of(each)[0] == name)
    for file in manifest.files(claim):
        (folder / file).parent.mkdir(exist_ok=True)
        if file.endswith(".parquet") and not manifest.is_world:
            pq.write_table(table, folder / file, compression="zstd", row_group_size=ROW_GROUP)
        else:
            _write_parts(folder / file, manifest, [table])


def _write_parts(path: Path, manifest: Manifest, rows: Iterable[pa.Table]) -> None:
    """Rows whose keys may be codes, some at a time: as CSV or Parquet, by the name of the file."""
    groups = (as_written(manifest, group.combine_chunks()) for group in in_groups(rows, ROW_GROUP))
    if path.suffix == ".csv":
        write_csv(path, (piece for group in groups for piece in pieces(group)))
        return
    first = next(groups)
    with pq.ParquetWriter(path, first.schema, compression="zstd") as out:
        for group in chain([first], groups):
            out.write_table(group, row_group_size=ROW_GROUP)


def _write_trips(folder: Path, manifest: Manifest, trips: SyntheticTrips) -> None:
    """Synthetic trips, each file of which says what it is: by its name, and in the footer of a Parquet file."""
    for path in trips.paths:
        (folder / path).parent.mkdir(exist_ok=True)
        groups = (as_written(manifest, group) for group in in_groups(trips.pieces(), ROW_GROUP))
        if path.endswith(".csv"):
            write_csv(folder / path, (piece for group in groups for piece in pieces(group)))
            continue
        first = next(groups)
        with pq.ParquetWriter(folder / path, first.schema, compression="zstd") as out:
            for group in chain([first], groups):
                out.write_table(group, row_group_size=ROW_GROUP)
            out.add_key_value_metadata({NOTE: note(manifest)})


def _write_shapes(folder: Path, published: shaped.Published) -> None:
    """The files of shapes, and what they say of places."""
    said = iter([published.facts.text().encode()])
    more = [(place_facts.PATH, said)] if published.facts.fields else []
    for name, pieces_of_it in chain(more, published.files()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as file:
            file.writelines(pieces_of_it)


def _write_synthetic(folder: Path, name: str, keys: pa.Table, counts: pa.ChunkedArray) -> None:
    """As many rows for each cell as its published count says: the paper's synthetic data set."""
    folder.mkdir(exist_ok=True)
    parquet, ends = folder / f"{name}.parquet", np.cumsum(counts.to_numpy())
    total = int(ends[-1]) if len(ends) else 0
    with pq.ParquetWriter(parquet, keys.schema, compression="zstd") as writer:
        for start in range(0, total, ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, total))
            writer.write_table(keys.take(pa.array(np.searchsorted(ends, rows, side="right"))))
    write_csv(folder / f"{name}.csv", pieces_of(parquet))


def _write_wider(path: Path, wider: Wider) -> None:
    """Which wider area each published place lies in: what the levels of places add up by."""
    rows = [(name, *place, area) for name, places in sorted(wider.items()) for place, area in sorted(places.items())]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([WIDER_COLUMNS, *rows])


def _hide_the_hour(folder: Path, created: date) -> None:
    """How long the work took depends on the trips, and archives keep the times of files: all say midnight."""
    midnight = datetime.combine(created, time(), tzinfo=UTC).timestamp()
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (midnight, midnight))
