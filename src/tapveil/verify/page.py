"""The page of a folder, made again from its tables: the same program around the same data, and nothing else."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tapveil.derived import DerivedSheet
from tapveil.explorer.contents import contents
from tapveil.explorer.page import LARGEST_DATA, LEVEL, Shell
from tapveil.manifest import Manifest
from tapveil.statement import EXPLORER, LARGEST_PLACES, PLACES
from tapveil.verify import reading
from tapveil.verify.finding import Finding

ROOM = 1.1
"""How much larger than ours its data may be packed: programs that compress differ a little, and hide little."""


def page_findings(
    folder: Path,
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
) -> Iterator[Finding]:
    """Whether the page is the one that tapveil draws of this folder."""
    places = reading.json_of(folder, PLACES, LARGEST_PLACES) if manifest.places else None
    made = contents(manifest, package, tables, beside, places)
    expected = made.data
    shell, found = Shell.around(made), reading.text_of(folder, EXPLORER, LARGEST_DATA)
    if not shell.is_around(found):
        words = "is not the page that this version of tapveil writes: do not open it unless you know who made it"
        yield Finding("page-program", EXPLORER, words)
        return
    if shell.data_in(found) != expected:
        yield Finding("page-differs", EXPLORER, "does not show what the tables of the folder say")
    elif len(found) > len(shell.text("")) + 4 / 3 * ROOM * len(zlib.compress(expected, LEVEL)) + 64:
        yield Finding("hidden-data", EXPLORER, "is larger than its numbers need")
