"""The published folder: tables, metadata, manifest, checksums. It appears whole or not at all.

Everything written here follows from published tables and the plan; this module cannot see an exact count.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapveil.base import atomic, vocabulary
from tapveil.base.errors import EngineError, PlanError
from tapveil.base.progress import Reporter, Silent
from tapveil.plan.model import Plan
from tapveil.published.csv import pieces, pieces_of, write_csv
from tapveil.published.derived import ROW, TABLE, DerivedSheet, derived, kind, raw_tables
from tapveil.published.describe import readme
from tapveil.published.describe.metadata import texts
from tapveil.published.explorer.page import page
from tapveil.published.lattice import WIDER_COLUMNS, Wider
from tapveil.published.manifest import Manifest
from tapveil.published.sheets import Sheet, sheets
from tapveil.published.table import Field, PublishedTable
from tapveil.veil import statement
from tapveil.veil.workspace import AFTER_SPENDING

if TYPE_CHECKING:  # what a key needs takes time to load, and most have none
    from tapveil.published.signature import SigningKey

ROWS_AT_ONCE = 1_000_000
CHECKSUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
LARGEST_MANIFEST = 4 * 2**20


@dataclass(frozen=True)
class Bundle:
    """A published folder on disk."""

    path: Path

    @property
    def privacy(self) -> dict[str, Any]:
        """The manifest: what is promised, and with which parameters."""
        manifest: dict[str, Any] = json.loads((self.path / "privacy.json").read_text(encoding="utf-8"))
        return manifest

    @property
    def sheets(self) -> list[str]:
        """The names of the tables in the folder, in the order of the plan."""
        package = json.loads((self.path / "datapackage.json").read_text(encoding="utf-8"))
        paths = [Path(resource["path"]) for resource in package["resources"]]
        return [path.stem for path in paths if path.parent.name == "data"]

    def sheet(self, name: str) -> pa.Table:
        """One table, as Arrow."""
        if name not in self.sheets:
            raise PlanError(f"there is no table `{name}` in {self.path} (tables: {', '.join(self.sheets)})")
        with pq.ParquetFile(self.path / "data" / f"{name}.parquet") as file:
            return file.read()


def distinct(parquet: Path, column: str) -> set[str]:
    """The texts of a column of a table in a folder, each once: by the lists that Parquet keeps of them."""
    found = set[str]()
    with pq.ParquetFile(parquet, read_dictionary=[column]) as file:
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=[column], use_threads=False):
            found.update(pc.unique(batch.column(0)).cast(pa.string()).to_pylist())
    return found


def bundles_in(folder: Path) -> Iterator[Bundle]:
    """The published folders that lie in a folder; what only looks like one is passed over."""
    for path in sorted(folder.iterdir()):
        manifest = path / "privacy.json"
        with suppress(OSError):  # a folder of someone else's
            if not path.name.startswith(".") and manifest.is_file() and manifest.stat().st_size <= LARGEST_MANIFEST:
                yield Bundle(path)


def check_destination(path: Path) -> None:
    """Refuse, before any work, a place where the folder could not appear."""
    if path.exists() or path.is_symlink():
        raise PlanError(f"{path} already exists; a release never overwrites one: choose another folder")
    if not path.parent.is_dir():
        raise PlanError(f"there is no folder {path.parent} to put {path.name} in")
    if not os.access(path.parent, os.W_OK):
        raise PlanError(f"no permission to write in {path.parent}")


def write(
    path: Path,
    workspace: Path,
    plan: Plan,
    tables: Sequence[PublishedTable],
    manifest: dict[str, Any],
    *,
    places: dict[str, Any] | None = None,
    wider: Wider | None = None,
    guard: Callable[[Path], None],
    bind: Callable[[bytes], None],
    key: SigningKey | None = None,
    progress: Reporter | None = None,
) -> Bundle:
    """Put the folder together in a workspace on the same disk, make it durable, then let it appear by one rename.

    `guard` looks at it before it is sealed by its checksums, and raises if anything in it must not leave; `bind` gets
    the checksums before it appears, and raises if it must not.
    """
    created, progress = date.fromisoformat(manifest["created"]), progress or Silent()
    laid_out, stated = sheets(plan, tables), Manifest.read(manifest)
    manifest = stated.as_json
    raw = raw_tables(stated, {sheet.name: sheet.cells for sheet in laid_out})
    with _translated_errors():
        with progress.stage("Making the numbers add up"):
            beside = derived(stated, plan.mechanisms, raw, wider or {})
        shutil.rmtree(workspace, ignore_errors=True)
        workspace.mkdir()
        _write_tables(workspace, plan, laid_out, beside, progress)
        if wider:
            _write_wider(workspace / vocabulary.WIDER, wider)
        _write_json(workspace / "privacy.json", manifest)
        package = _datapackage(workspace, plan, laid_out, created)
        package["resources"] += [_derived_resource(plan, stated, workspace, each) for each in beside]
        _write_json(workspace / "datapackage.json", package)
        for name, text in texts(manifest, package).items():
            (workspace / name).write_text(text, encoding="utf-8")
        if places is not None:
            (workspace / vocabulary.PLACES).write_text(statement.places_text(places), encoding="utf-8")
        with progress.stage("Drawing the page"):
            text = page(stated, package, raw, beside, places)
            (workspace / vocabulary.EXPLORER).write_text(text, encoding="utf-8")
        text = readme.readme(plan, created, signed=key is not None, places=places is not None)
        (workspace / "README.md").write_text(text, encoding="utf-8")
        with progress.stage("Sealing the folder"):
            guard(workspace)
            _write_checksums(workspace, package)
            if key:
                (workspace / SIGNATURE).write_text(key.sign((workspace / CHECKSUMS).read_bytes()), encoding="ascii")
            _hide_the_hour(workspace, created)
            atomic.sync_all([*_files(workspace), *(each for each in workspace.rglob("*") if each.is_dir()), workspace])
        check_destination(path)
        bind((workspace / CHECKSUMS).read_bytes())
        workspace.rename(path)
    # The folder is there: from here on nothing may look like a failure, or it would be released again.
    with suppress(OSError):
        atomic.sync(path.parent)
    return Bundle(path)


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise EngineError(f"the folder could not be written ({atomic.why(error)}). {AFTER_SPENDING}") from None


# --- files --------------------------------------------------------------------------------------------------------


def _write_tables(
    folder: Path, plan: Plan, laid_out: Sequence[Sheet], beside: Sequence[DerivedSheet], progress: Reporter
) -> None:
    """The tables as the noise left them, rows to go with them if wanted, and what follows from them."""
    cells = sum(len(sheet.cells) for sheet in laid_out) + sum(len(each.cells) for each in beside)
    written = 0
    with progress.stage("Writing the tables", lambda: written, total=cells, unit="cells"):
        for sheet in laid_out:
            _write_sheet(folder / "data", sheet)
            if plan.release.synthetic:
                _write_synthetic(folder / "synthetic", sheet)
            written += len(sheet.cells)
        for each in beside:
            _write_derived(folder, each)
            written += len(each.cells)


def _write_sheet(folder: Path, sheet: Sheet) -> None:
    folder.mkdir(exist_ok=True)
    parquet = folder / f"{sheet.name}.parquet"
    pq.write_table(sheet.cells, parquet, compression="zstd")
    write_csv(folder / f"{sheet.name}.csv", pieces(sheet.cells))


def _write_synthetic(folder: Path, sheet: Sheet) -> None:
    """As many rows for each cell as its published count says: the paper's synthetic data set."""
    folder.mkdir(exist_ok=True)
    parquet = folder / f"{sheet.name}.parquet"
    keys = sheet.cells.select(sheet.keys)
    ends = np.cumsum(sheet.cells.column("count").to_numpy())
    total = int(ends[-1]) if len(ends) else 0
    with pq.ParquetWriter(parquet, keys.schema, compression="zstd") as writer:
        for start in range(0, total, ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, total))
            writer.write_table(keys.take(pa.array(np.searchsorted(ends, rows, side="right"))))
    write_csv(folder / f"{sheet.name}.csv", pieces_of(parquet))


def _write_derived(folder: Path, sheet: DerivedSheet) -> None:
    (folder / sheet.folder).mkdir(exist_ok=True)
    write_csv(folder / sheet.path, pieces(sheet.cells))


def _write_wider(path: Path, wider: Wider) -> None:
    """Which wider area each published place lies in: what the levels of places add up by."""
    rows = [(name, *place, area) for name, places in sorted(wider.items()) for place, area in sorted(places.items())]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(WIDER_COLUMNS)
        writer.writerows(rows)


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(statement.json_text(data), encoding="utf-8")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _write_checksums(folder: Path, package: dict[str, Any]) -> None:
    """Of all files; those of tables stand in the data package already."""
    tables = [file for resource in package["resources"] for file in (resource, *resource.get("alternates", ()))]
    known = {folder / file["path"]: file["hash"].removeprefix("sha256:") for file in tables}
    lines = [f"{known.get(path) or _sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in _files(folder)]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hide_the_hour(folder: Path, created: date) -> None:
    """How long the work took depends on the trips, and archives keep the times of files: all say midnight."""
    midnight = datetime.combine(created, time(), tzinfo=UTC).timestamp()
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (midnight, midnight))


# --- the data package ---------------------------------------------------------------------------------------------

_PARQUET = "application/vnd.apache.parquet"


def _datapackage(folder: Path, plan: Plan, laid_out: Sequence[Sheet], created: date) -> dict[str, Any]:
    """Frictionless Data Package, version 2: a resource per CSV file, with its Parquet copy as an alternate."""
    files = [
        (folder / part / f"{sheet.name}.csv", sheet)
        for part in (["data", "synthetic"] if plan.release.synthetic else ["data"])
        for sheet in laid_out
    ]
    package: dict[str, Any] = {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": plan.release.name,
        "title": plan.release.title,
        "description": plan.release.description or statement.promise(plan),
        "created": f"{created.isoformat()}T00:00:00Z",
        "resources": [_resource(plan, folder, path, sheet) for path, sheet in files],
    }
    if plan.release.publisher:
        package["contributors"] = [{"title": plan.release.publisher, "roles": ["publisher"]}]
    if plan.release.licence:
        package["licenses"] = [{"name": plan.release.licence}]
    return package


def _resource(plan: Plan, folder: Path, path: Path, sheet: Sheet) -> dict[str, Any]:
    synthetic = path.parent.name == "synthetic"
    continued = plan.coarsen.after_midnight == "continued"
    fields = [statement.field(field, continued=continued) for field in sheet.fields]
    schema: dict[str, Any] = {"fields": fields, "missingValues": []}
    if not synthetic:
        fields += [statement.number_field(plan, name, sheet.smallest) for name in sheet.numbers]
        schema |= _primary_key(sheet.keys)
    return {
        "name": f"synthetic-{sheet.name}" if synthetic else sheet.name,
        "type": "table",
        "title": f"{sheet.title} (synthetic rows)" if synthetic else sheet.title,
        **_file(folder, path, "text/csv"),
        "encoding": "utf-8",
        "schema": schema,
        "alternates": [_file(folder, path.with_suffix(".parquet"), _PARQUET)],
    }


def _derived_resource(plan: Plan, manifest: Manifest, folder: Path, sheet: DerivedSheet) -> dict[str, Any]:
    """A resource for a file that follows from others; CSV alone."""
    continued = plan.coarsen.after_midnight == "continued"
    own = {ROW: statement.ROW_FIELD, TABLE: statement.TABLE_FIELD}
    keys = [own.get(key) or statement.field(Field(key, kind(manifest, key)), continued=continued) for key in sheet.keys]
    numbers = [statement.derived_field(plan, name) for name in sheet.numbers]
    return {
        "name": f"{sheet.folder}-{sheet.name}",
        "type": "table",
        "title": f"{sheet.title} ({sheet.folder})",
        **_file(folder, folder / sheet.path, "text/csv"),
        "encoding": "utf-8",
        "schema": {"fields": [*keys, *numbers], "missingValues": [], **_primary_key(sheet.keys)},
    }


def _primary_key(keys: Sequence[str]) -> dict[str, list[str]]:
    """What tells rows apart; nothing where there is one row, as the standard has no empty key."""
    return {"primaryKey": list(keys)} if keys else {}


def _file(folder: Path, path: Path, mediatype: str) -> dict[str, Any]:
    return {
        "path": path.relative_to(folder).as_posix(),
        "format": path.suffix[1:],
        "mediatype": mediatype,
        "bytes": path.stat().st_size,
        "hash": f"sha256:{_sha256(path)}",
    }
