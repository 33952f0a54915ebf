"""Where the report goes: a new file that only its owner may read, never in a published folder."""

from __future__ import annotations

from pathlib import Path

from tapveil.disk import write_private
from tapveil.errors import PlanError

ENDING = ".html"
PUBLISHED = "privacy.json"
"""What a published folder has."""


def check_destination(path: Path) -> None:
    """Refuse, before any trip is counted, a place where the report could not or must not be."""
    if path.suffix != ENDING:
        raise PlanError(f"{path}: the report is an HTML file: give it a name that ends in {ENDING}")
    if path.exists() or path.is_symlink():
        raise PlanError(f"{path} already exists; choose another name")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise PlanError(f"{path} is in a folder that is not there")
    for above in (folder, *folder.parents, *path.absolute().parents):
        if (above / PUBLISHED).exists():
            raise PlanError(
                f"{path} would lie in the published folder {above.name}: the report is internal, write it elsewhere"
            )


def write_report(path: Path, text: str) -> None:
    """The report as a new file; the place is looked at again, for counting takes its time."""
    check_destination(path)
    write_private(path, text)
