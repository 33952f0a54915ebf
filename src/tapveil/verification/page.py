"""The page of a folder, made again from its tables: the same program around the same data, and nothing else."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tapveil._version import __version__
from tapveil.base.findings import Finding, shown
from tapveil.base.vocabulary import EXPLORER
from tapveil.published.explorer import page
from tapveil.published.explorer.page import LEVEL, PART, Shell, path_of, taken_apart, unpacked
from tapveil.published.manifest import VERSIONS, Manifest
from tapveil.published.places import FeatureCollection
from tapveil.published.sheets import DerivedSheet
from tapveil.verification import reading
from tapveil.verification.known_versions import PROGRAMS
from tapveil.verification.reading import UnreadableError

ROOM = 1.05
"""How much larger than ours its data may be packed: programs that compress differ a little, and hide little."""
LARGEST_PAGE = 64 * 2**20


def parts_in(files: Iterable[str]) -> list[str]:
    """The files next to the page, whoever put them there."""
    return sorted(name for name in files if name.startswith("explorer/"))


def program_in(folder: Path, manifest: Manifest | None, parts: Sequence[str]) -> tuple[list[Finding], bool]:
    """Whether the page is, but for its data, one that tapveil writes; and if so, whether another version wrote it.

    Looked at whatever else is wrong: somebody who is told that a folder is not sound may well open its page to see what
    is in it.
    """
    if manifest is None:
        return [Finding("page-program", EXPLORER, "belongs to a folder that cannot be read; do not open it")], False
    try:
        shell, _ = taken_apart(reading.text_of(folder, EXPLORER, LARGEST_PAGE))
    except UnreadableError as error:
        return [error.finding], False
    shells = (shell, Shell.titled(manifest.title, has_parts=bool(parts)))
    program, ours = (each.program(manifest.title) for each in shells)
    if manifest.versions.page != (VERSIONS.page if program == ours else PROGRAMS.get(program)):
        words = f"is not a page that tapveil up to {__version__} writes for such a folder; do not open it"
        return [Finding("page-program", EXPLORER, words)], False
    return [found for name in parts if (found := _script_in(folder, name))], program != ours


def _script_in(folder: Path, name: str) -> Finding | None:
    """A file that the page would run, but that does more than hand over data."""
    try:
        found = PART.fullmatch(reading.text_of(folder, name, LARGEST_PAGE))
    except UnreadableError as error:
        return error.finding
    if found and name == path_of(int(found[1])):
        return None
    return Finding(
        "page-program", shown(name), "is not a file that tapveil writes next to a page; do not open the page"
    )


def page_findings(
    folder: Path,
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
    places: FeatureCollection | None,
    parts: Sequence[str],
) -> Iterator[Finding]:
    """Whether the page and the files next to it show what the tables and the places say, and hold nothing else."""
    expected = page.data(manifest, package, tables, beside, places)
    data = taken_apart(reading.text_of(folder, EXPLORER, LARGEST_PAGE))[1]
    yield from data_findings(EXPLORER, data, expected.data)
    wanted = {path_of(number): each for number, each in enumerate(expected.parts, 1)}
    for name in sorted({*wanted, *parts}):
        if name not in wanted:
            yield Finding("file-unexpected", shown(name), "does not belong to a release")
        elif name not in parts:
            yield Finding("file-missing", name, "is missing")
        elif found := PART.fullmatch(reading.text_of(folder, name, LARGEST_PAGE)):
            yield from data_findings(name, found[2], wanted[name])


def data_findings(name: str, data: str, expected: bytes) -> Iterator[Finding]:
    """Whether a page, or a file next to it, holds these data and nothing else."""
    if unpacked(data, len(expected)) != expected:
        yield Finding("page-differs", name, "does not show the data of the published tables")
    elif len(data) > 4 / 3 * ROOM * len(zlib.compress(expected, LEVEL)) + 64:
        yield Finding("hidden-data", name, "is larger than its data; the difference could hide data")
