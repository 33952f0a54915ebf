"""What one who tampers with a folder, and knows the format, makes fit again afterwards."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.base.errors import TapveilError
from tapveil.base.findings import Verification
from tapveil.base.vocabulary import EXPLORER, PLACES, README, RIDER, SIGNATURE
from tapveil.published.derived import estimated_from
from tapveil.published.describe.datapackage import FileFacts, datapackage
from tapveil.published.describe.metadata import texts
from tapveil.published.describe.readme import readme
from tapveil.published.explorer import page
from tapveil.published.explorer.page import Shell, packed, part, path_of, taken_apart
from tapveil.published.manifest import VERSIONS, Manifest
from tapveil.published.rider.page import rider_page
from tapveil.verification import manifest as manifests
from tapveil.verification.derived import derived_sheets, published_tables
from tapveil.verification.reading import UnreadableError
from tapveil.verification.world import domain_of, measured_tables
from tests.conftest import write_csv

STUMBLES = (
    TapveilError,
    UnreadableError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    OSError,
    pa.ArrowException,
)
"""What a folder that is none does to those who make it fit."""

_TITLES = re.compile("(<title>|<h1>).*?(</title>|</h1>)", re.DOTALL)


def refresh(folder: Path, *, rederive: bool = True) -> None:
    """Make all that follows fit again, as one who tampers and knows the format would: what adds up, what describes."""
    if rederive:
        with suppress(*STUMBLES):
            derive_again(folder)
    package = json.loads((folder / "datapackage.json").read_text())
    for one in package["resources"]:
        for described in (one, *one.get("alternates", ())):
            data = (folder / described["path"]).read_bytes()
            described |= {"bytes": len(data), "hash": f"sha256:{hashlib.sha256(data).hexdigest()}"}
    write_package(folder, package)


def forge_sizes(parquet: Path) -> None:
    """Let the footer of a Parquet file say that next to nothing has to be unpacked."""
    data, metadata = parquet.read_bytes(), pq.read_metadata(parquet)
    start = len(data) - 8 - metadata.serialized_size
    footer = data[start:]
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    said = {group.column(number).total_uncompressed_size for group in groups for number in range(group.num_columns)}
    for size in sorted({*said, *(group.total_byte_size for group in groups)}, reverse=True):
        written = _zigzag(size)
        footer = footer.replace(written, _zigzag(64, len(written))) if len(written) > 3 else footer
    parquet.write_bytes(data[:start] + footer)


def _zigzag(number: int, length: int = 1) -> bytes:
    """A number as Thrift writes it, in at least so many bytes."""
    rest, digits = number << 1, bytearray()
    while rest or len(digits) < length:
        digits.append(128 | rest & 127)
        rest >>= 7
    digits[-1] &= 127
    return bytes(digits)


def derive_again(folder: Path) -> None:
    """`consistent/` and `finest/`, from the tables as they are now."""
    manifest = Manifest.read(json.loads((folder / "privacy.json").read_text()))
    made, _ = manifests.mechanisms(manifest)
    with np.errstate(invalid="ignore"):  # counts that no city has
        sheets = derived_sheets(folder, manifest, made, published_tables(folder, manifest))
    for sheet in sheets:
        write_csv(folder / sheet.path, zip(*sheet.cells.to_pydict().values(), strict=True), sheet.cells.column_names)
        (folder / sheet.path).write_bytes((folder / sheet.path).read_bytes().replace(b"\r\n", b"\n"))


def write_package(folder: Path, package: dict[str, Any]) -> None:
    """The Data Package, and what portals read, with checksums that fit."""
    (folder / "datapackage.json").write_text(json.dumps(package, indent=2, ensure_ascii=False) + "\n")
    manifest = json.loads((folder / "privacy.json").read_text())
    with suppress(LookupError, TypeError, ValueError):  # of a manifest that is none
        for name, text in texts(manifest, package).items():
            (folder / name).write_text(text, encoding="utf-8")
    with suppress(*STUMBLES):
        redraw(folder)
    resum(folder)


def describe_again(folder: Path) -> None:
    """All that follows from the manifest as it is now: the Data Package, what portals read, the page and the README."""
    package = json.loads((folder / "datapackage.json").read_text())
    with suppress(*STUMBLES):
        manifest = Manifest.read(json.loads((folder / "privacy.json").read_text()))
        beside = derived_sheets(folder, manifest, manifest.mechanisms, published_tables(folder, manifest))
        package = datapackage(manifest, beside, lambda name: FileFacts(*facts_of(folder / name)))
    write_package(folder, package)


def facts_of(path: Path) -> tuple[int, str]:
    data = path.read_bytes()
    return len(data), hashlib.sha256(data).hexdigest()


def redraw(folder: Path) -> None:
    """The page of the tables, and the README of the manifest, as they are now."""
    manifest = Manifest.read(json.loads((folder / "privacy.json").read_text()))
    made, _ = manifests.mechanisms(manifest)
    domain = domain_of(folder, manifest) if manifest.is_world else None
    tables = measured_tables(folder, domain) if domain else published_tables(folder, manifest)
    package = json.loads((folder / "datapackage.json").read_text())
    places = json.loads((folder / PLACES).read_text()) if manifest.places else None
    with np.errstate(invalid="ignore"):
        beside = derived_sheets(folder, manifest, made, tables, estimated_from(domain, tables) if domain else None)
    if version := manifest.versions.rider:
        (folder / RIDER).write_text(rider_page(manifest, version), encoding="utf-8")
    held = page.data(manifest, package, tables, beside, places)
    data = packed(held.data)
    shell = Shell.titled(manifest.title, has_parts=bool(held.parts))
    shutil.rmtree(folder / "explorer", ignore_errors=True)
    for number, each in enumerate(held.parts, 1):
        (folder / "explorer").mkdir(exist_ok=True)
        (folder / path_of(number)).write_text(part(number, each), encoding="utf-8")
    if manifest.versions.page != VERSIONS.page:  # the program of its own version, with the title of today
        shell, _ = taken_apart((folder / EXPLORER).read_text(encoding="utf-8"))
        shell = replace(shell, head=_TITLES.sub(lambda found: found[1] + escape(manifest.title) + found[2], shell.head))
    (folder / EXPLORER).write_text(shell.text(data), encoding="utf-8")
    if manifest.versions.readme:
        signed = (folder / SIGNATURE).exists()
        (folder / README).write_text(readme(manifest, signed=signed), encoding="utf-8")


def change_package(folder: Path, old: str, new: str) -> None:
    text = (folder / "datapackage.json").read_text()
    assert old in text
    write_package(folder, json.loads(text.replace(old, new)))


def resum(folder: Path) -> None:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = (
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
        for name in names
        if "SHA256" not in name
    )
    (folder / "SHA256SUMS").write_text("".join(lines))


def codes(checked: Verification) -> set[str]:
    return {finding.code for finding in checked.findings}
