"""What is delivered: every file of a published folder, with what its Data Package says of it.

All of it is public already: a parcel is made from the folder alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from tapveil.base.vocabulary import CHECKSUMS, PACKAGE, SIGNATURE
from tapveil.delivery.file import Column, File
from tapveil.published.folder import open_folder
from tapveil.published.manifest import Manifest


@dataclass(frozen=True)
class Parcel:
    """A published folder, as a portal gets it."""

    folder: Path
    manifest: Manifest
    digest: str
    """SHA-256 of its `SHA256SUMS`: as long as it is the same, so is every file."""
    files: tuple[File, ...]
    name: str
    """What the data set is called in addresses at the portal."""

    @classmethod
    def of(cls, folder: Path, name: str | None = None) -> Parcel:
        """The parcel of a folder that was verified; by default it is named after its release."""
        manifest = open_folder(folder).manifest
        checksums = (folder / CHECKSUMS).read_bytes()
        listed = [line.split("  ", 1) for line in checksums.decode().splitlines()]
        known = {path: digest for digest, path in listed} | {CHECKSUMS: hashlib.sha256(checksums).hexdigest()}
        if (folder / SIGNATURE).exists():
            known[SIGNATURE] = hashlib.sha256((folder / SIGNATURE).read_bytes()).hexdigest()
        said = dict(_described(json.loads((folder / PACKAGE).read_text(encoding="utf-8"))))
        files = [File(folder, path, digest, *said.get(path, ("", ()))) for path, digest in known.items()]
        return cls(folder, manifest, known[CHECKSUMS], tuple(sorted(files, key=_order)), name or _name(manifest))

    @cached_property
    def description(self) -> str:
        """What a portal says of the release, as Markdown: what its Data Package says, and how it can be checked."""
        package = json.loads((self.folder / PACKAGE).read_text(encoding="utf-8"))
        return "\n\n".join(
            [
                str(package["description"]),
                f"Release {self.manifest.release_id}. Counts have noise; `README.md` explains them, and "
                f"`privacy.json` has the guarantee. SHA-256 of `SHA256SUMS`: {self.digest}",
            ]
        )

    @property
    def days(self) -> tuple[date, date] | None:
        """From when to when its trips were."""
        first, last = self.manifest.covers.first_day, self.manifest.covers.last_day
        return (first, last) if first and last else None

    @property
    def facts(self) -> dict[str, str]:
        """By which a portal's data set is known to be this release."""
        return {RELEASE: self.manifest.release_id, DIGEST: self.digest}


RELEASE, DIGEST = "tapveil_release_id", "tapveil_sha256sums"


def _described(package: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, tuple[Column, ...]]]]:
    """The title and the columns of each file that the Data Package has, also as an alternate."""
    for resource in package["resources"]:
        fields: Sequence[Mapping[str, str]] = resource.get("schema", {"fields": ()})["fields"]  # workbooks have none
        columns = tuple(Column(each["name"], each["type"], each["description"]) for each in fields)
        for file in (resource, *resource.get("alternates", ())):
            yield file["path"], (resource["title"], columns)


def _order(file: File) -> tuple[bool, bool, str]:
    """What people read first, then tables, then the rest."""
    return file.path not in ("README.md", "explorer.html"), not file.columns, file.path


def _name(manifest: Manifest) -> str:
    """Of every release another, and always the same: its name, and as much of its random id as makes it unique."""
    return f"{manifest.release.lower().replace('.', '-')}-{manifest.release_id[:12]}"
