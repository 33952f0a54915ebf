"""Checks the files of a series against the published folders that it is of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.base.errors import FolderError
from tapveil.base.findings import Finding, Verification, shown
from tapveil.base.vocabulary import CHECKSUMS
from tapveil.published.explorer.page import PART, taken_apart
from tapveil.published.series import page
from tapveil.published.series.page import DATA_OPENS, PAGE, TITLES, path_of
from tapveil.published.series.reading import Series
from tapveil.published.series.writer import as_json, tables, texts
from tapveil.published.series.written import CONTENTS, VERSION, Written
from tapveil.verification import reading
from tapveil.verification.known_versions import SERIES_PROGRAMS
from tapveil.verification.page import LARGEST_PAGE, data_findings
from tapveil.verification.reading import UnreadableError
from tapveil.verification.source import source_findings


def verify_series(path: str | Path, series: Series) -> Verification:
    """Whether the files of a series are those that follow from its folders, and these have what their checksums say.

    The claims of each folder are verified by `verify`.
    """
    place = Path(path)
    if not (place / CONTENTS).is_file():
        raise FolderError(f"{place} is not a series: it has no {CONTENTS}")
    checked = Verification()
    for folder in series.folders:
        checked.findings.extend(source_findings(folder))
    try:
        checked.findings.extend(_findings(place, series))
    except UnreadableError as error:
        checked.findings.append(error.finding)
    number = len(series.folders)
    checked.summary = f"the series follows from {number} {'folders' if number > 1 else 'folder'}"
    checked.notes.append("the claims of each folder are checked by `tapveil verify FOLDER`")
    return checked


def _findings(place: Path, series: Series) -> Iterator[Finding]:
    files, found = reading.files_in(place)
    yield from found
    contents = as_json(series, Written.read(place.joinpath, str(place)).version)
    expected = {CHECKSUMS}
    for name, text in texts(series, contents).items():
        expected.add(name)
        if name not in files:
            yield from _missing(name)
        elif not reading.is_made_of(place, name, [text.encode()]):
            yield Finding("derived-differs", name, "does not follow from the folders")
    held = page.data(series, contents, contents["series_version"])
    parts = {path_of(number): each for number, each in enumerate(held.parts, 1)}
    expected |= {PAGE, *parts}
    yield from _page_findings(place, contents, held.data, has_parts=bool(parts))
    for name, each in parts.items():
        yield from _part_findings(place, name, each) if name in files else _missing(name)
    for name, rows in tables(series):
        expected.add(name)
        if name not in files:
            yield Finding("table-missing", name, "is missing")
        elif not _same(place / name, rows):
            yield Finding("derived-differs", name, "does not follow from the folders")
    sums = "".join(f"{reading.sha256(place, name)}  {name}\n" for name in sorted({*files} - {CHECKSUMS}))
    if CHECKSUMS not in files or reading.text_of(place, CHECKSUMS) != sums:
        yield Finding("checksum-differs", CHECKSUMS, "does not list the files as they are")
    for name in sorted(set(files) - expected):
        yield Finding("file-unexpected", shown(name), "does not belong to a series")


def _page_findings(place: Path, contents: Mapping[str, Any], data: bytes, *, has_parts: bool) -> Iterator[Finding]:
    """Whether the page is, but for its data, one that tapveil writes for such a series, and has these data."""
    shell, own = taken_apart(reading.text_of(place, PAGE, LARGEST_PAGE), DATA_OPENS)
    title, version = str(contents["title"]), contents["series_version"]
    shells = shell, page.shell(title, has_parts=has_parts)
    program, ours = (each.program(title, TITLES) for each in shells)
    if version != (VERSION if program == ours else SERIES_PROGRAMS.get(program)):
        yield Finding("page-program", PAGE, "is not a page that tapveil writes for such a series; do not open it")
    yield from data_findings(PAGE, own, data)


def _part_findings(place: Path, name: str, data: bytes) -> Iterator[Finding]:
    found = PART.fullmatch(reading.text_of(place, name, LARGEST_PAGE))
    if not found or path_of(int(found[1])) != name:
        yield Finding("page-program", name, "is not a file that tapveil writes next to a page; do not open the page")
    else:
        yield from data_findings(name, found[2], data)


def _missing(name: str) -> Iterator[Finding]:
    yield Finding("file-missing", name, "is missing")


def _same(path: Path, rows: pa.Table) -> bool:
    try:
        with pq.ParquetFile(path) as file:  # its rows are in memory only if they are as many as they should be
            alike = file.metadata.num_rows == len(rows) and file.schema_arrow.equals(rows.schema)
            return bool(alike and file.read().equals(rows))
    except (OSError, pa.ArrowException):
        return False
