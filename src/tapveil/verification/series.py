"""Checks the files of a series against the published folders that it is of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.base.errors import FolderError
from tapveil.base.findings import Finding, Verification, shown
from tapveil.base.vocabulary import CHECKSUMS, MANIFEST
from tapveil.published.folder import Folder
from tapveil.published.series.reading import Series
from tapveil.published.series.writer import CONTENTS, tables, texts
from tapveil.verification import reading
from tapveil.verification.reading import UnreadableError


def verify_series(path: str | Path, series: Series) -> Verification:
    """Whether the files of a series are those that follow from its folders, and these have what their checksums say.

    The claims of each folder are verified by `verify`.
    """
    place = Path(path)
    if not (place / CONTENTS).is_file():
        raise FolderError(f"{place} is not a series: it has no {CONTENTS}")
    checked = Verification()
    for folder in series.folders:
        checked.findings.extend(_folder_findings(folder))
    try:
        checked.findings.extend(_findings(place, series))
    except UnreadableError as error:
        checked.findings.append(error.finding)
    number = len(series.folders)
    checked.summary = f"the series follows from {number} {'folders' if number > 1 else 'folder'}"
    checked.notes.append("the claims of each folder are checked by `tapveil verify FOLDER`")
    return checked


def _folder_findings(folder: Folder) -> Iterator[Finding]:
    """Whether the files that a series is read from are those of the folder's checksums."""
    stated = {}
    for line in reading.text_of(folder.path, CHECKSUMS).splitlines():
        digest, _, name = line.partition("  ")
        stated[name] = digest
    own = {MANIFEST, *(name for claim in folder.manifest.tables for name in folder.manifest.files(claim)[:1])}
    for name in sorted(own):
        try:
            found = hashlib.sha256((folder.path / name).read_bytes()).hexdigest()
        except OSError:
            found = ""
        if stated.get(name) != found:
            yield Finding(
                "checksum-differs", f"{folder.path.name}/{name}", "does not match the checksums of its folder"
            )


def _findings(place: Path, series: Series) -> Iterator[Finding]:
    files, found = reading.files_in(place)
    yield from found
    expected = {CHECKSUMS}
    for name, text in texts(series).items():
        expected.add(name)
        if name not in files:
            yield Finding("file-missing", name, "is missing")
        elif (place / name).read_bytes() != text.encode():
            yield Finding("derived-differs", name, "does not follow from the folders")
    for name, rows in tables(series):
        expected.add(name)
        if name not in files:
            yield Finding("table-missing", name, "is missing")
        elif not _same(place / name, rows):
            yield Finding("derived-differs", name, "does not follow from the folders")
    sums = "".join(
        f"{hashlib.sha256((place / name).read_bytes()).hexdigest()}  {name}\n"
        for name in sorted({*files} - {CHECKSUMS})
    )
    if CHECKSUMS not in files or reading.text_of(place, CHECKSUMS) != sums:
        yield Finding("checksum-differs", CHECKSUMS, "does not list the files as they are")
    for name in sorted(set(files) - expected):
        yield Finding("file-unexpected", shown(name), "does not belong to a series")


def _same(path: Path, rows: pa.Table) -> bool:
    try:
        with pq.ParquetFile(path) as file:
            found = file.read()
    except (OSError, pa.ArrowException):
        return False
    return bool(found.schema.equals(rows.schema) and found.equals(rows))
