"""Checks that the published folder which files were made from is as its own checksums say."""

from __future__ import annotations

from collections.abc import Iterator

from tapveil.base.findings import Finding
from tapveil.base.vocabulary import CHECKSUMS, MANIFEST, PLACES, WORLD
from tapveil.published.folder import Folder
from tapveil.verification import reading
from tapveil.verification.reading import UnreadableError


def source_findings(folder: Folder) -> Iterator[Finding]:
    """Whether the files that numbers are read from are those of the folder's checksums."""
    try:
        stated = dict(
            each for each in reading.listed(reading.text_of(folder.file(CHECKSUMS).parent, CHECKSUMS)) if each
        )
    except UnreadableError as error:
        yield error.finding
        return
    own = {MANIFEST, *(name for claim in folder.manifest.tables for name in folder.manifest.files(claim)[:1])}
    own |= {name for name in (PLACES, WORLD) if folder.file(name).is_file()}
    for name in sorted(own):
        folder.file(name)  # fetched, if the folder is at an address
        try:
            found = reading.sha256(folder.path, name)
        except UnreadableError:
            found = ""
        if stated.get(name) != found:
            sentence = "does not match the checksums of its folder"
            yield Finding("checksum-differs", f"{folder.path.name}/{name}", sentence)
