"""The page of a folder, made again from its tables: the same program around the same data, and nothing else."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tapveil._version import __version__
from tapveil.derived import DerivedSheet
from tapveil.explorer.contents import contents
from tapveil.explorer.page import LEVEL, Shell
from tapveil.manifest import Manifest
from tapveil.statement import EXPLORER, Places
from tapveil.verify import reading
from tapveil.verify.finding import Finding
from tapveil.verify.reading import UnreadableError

ROOM = 1.05
"""How much larger than ours its data may be packed: programs that compress differ a little, and hide little."""
LARGEST_PAGE = 64 * 2**20


def program_findings(folder: Path, manifest: Manifest | None) -> Iterator[Finding]:
    """Whether the page is, but for its data, the one that tapveil writes: looked at whatever else is wrong.

    Somebody who is told that a folder is not sound may well open its page to see what is in it.
    """
    if manifest is None:
        yield Finding("page-program", EXPLORER, "belongs to nothing that can be read: do not open it")
        return
    try:
        found = reading.text_of(folder, EXPLORER, LARGEST_PAGE)
    except UnreadableError as error:
        yield error.finding
        return
    if not Shell.titled(manifest.title).is_around(found):
        made = f"tapveil {manifest.software.version}" if manifest.software.version != __version__ else "somebody else"
        words = (
            f"is not the page that tapveil {__version__} writes, but one by {made}: do not open it unless you know whom"
        )
        yield Finding("page-program", EXPLORER, words)


def page_findings(
    folder: Path,
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
    places: Places | None,
) -> Iterator[Finding]:
    """Whether the page shows what the tables and the places say, and holds nothing else."""
    expected = contents(manifest, package, tables, beside, places).data
    shell, found = Shell.titled(manifest.title), reading.text_of(folder, EXPLORER, LARGEST_PAGE)
    if not shell.is_around(found):
        return  # another page, and said so
    if shell.data_in(found, len(expected)) != expected:
        yield Finding("page-differs", EXPLORER, "does not show what the tables of the folder say")
    elif len(found) > len(shell.text("")) + 4 / 3 * ROOM * len(zlib.compress(expected, LEVEL)) + 64:
        yield Finding("hidden-data", EXPLORER, "is larger than its numbers need")
