"""What is confidential says so, and goes into a new file that only its owner may read, never in a published folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tapveil.base.atomic import OWNER_READS, write_new
from tapveil.base.errors import UsageError

Ending = Literal[".html", ".svg"]

NAMES: dict[Ending, tuple[str, str]] = {".html": ("report", "an HTML"), ".svg": ("picture", "an SVG")}
"""What is confidential and becomes a file, and of which sort that is."""
NOTICE = "CONFIDENTIAL: exact data, not protected by differential privacy."
"""Stands over everything that shows exact counts, or what follows from them."""
PUBLISHED = "privacy.json"
"""What a published folder has."""


def check_destination(path: Path, ending: Ending) -> None:
    """Refuse, before any trip is counted, a place where a confidential file could not or must not be."""
    what, sort = NAMES[ending]
    if path.suffix != ending:
        raise UsageError(f"{path}: the {what} is {sort} file, so its name must end in {ending}")
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} already exists; choose another name")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise UsageError(f"the folder of {path} does not exist")
    for above in (folder, *folder.parents, *path.absolute().parents):
        if (above / PUBLISHED).exists():
            raise UsageError(
                f"{path} is inside the published folder {above.name}; the {what} is confidential, write it elsewhere"
            )


def write_internal(path: Path, text: str, ending: Ending) -> None:
    """Write a text to a new confidential file; its place is checked again, for counting takes its time."""
    check_destination(path, ending)
    write_new(path, text, OWNER_READS)
