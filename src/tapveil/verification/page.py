"""The page of a folder, made again from its tables: the same program around the same data, and nothing else."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tapveil._version import __version__
from tapveil.base.findings import Finding
from tapveil.base.vocabulary import EXPLORER
from tapveil.published.explorer import page
from tapveil.published.explorer.page import LEVEL, Shell, taken_apart, unpacked
from tapveil.published.manifest import VERSIONS, Manifest
from tapveil.published.places import FeatureCollection
from tapveil.published.sheets import DerivedSheet
from tapveil.verification import reading
from tapveil.verification.known_versions import PROGRAMS
from tapveil.verification.reading import UnreadableError

ROOM = 1.05
"""How much larger than ours its data may be packed: programs that compress differ a little, and hide little."""
LARGEST_PAGE = 64 * 2**20


def program_in(folder: Path, manifest: Manifest | None) -> tuple[list[Finding], bool]:
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
    program, ours = (each.program(manifest.title) for each in (shell, Shell.titled(manifest.title)))
    if manifest.versions.page != (VERSIONS.page if program == ours else PROGRAMS.get(program)):
        words = f"is not a page that tapveil up to {__version__} writes for such a folder; do not open it"
        return [Finding("page-program", EXPLORER, words)], False
    return [], program != ours


def page_findings(
    folder: Path,
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
    places: FeatureCollection | None,
) -> Iterator[Finding]:
    """Whether the page shows what the tables and the places say, and holds nothing else."""
    expected = page.data(manifest, package, tables, beside, places)
    data = taken_apart(reading.text_of(folder, EXPLORER, LARGEST_PAGE))[1]
    if unpacked(data, len(expected)) != expected:
        yield Finding("page-differs", EXPLORER, "does not show the data of the folder's tables")
    elif len(data) > 4 / 3 * ROOM * len(zlib.compress(expected, LEVEL)) + 64:
        yield Finding("hidden-data", EXPLORER, "is larger than its data; the difference could hide data")
