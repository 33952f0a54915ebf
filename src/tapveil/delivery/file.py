"""One file of a published folder, and what its Data Package says of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from mimetypes import MimeTypes
from pathlib import Path

_TYPES = MimeTypes()  # of Python itself, not of this machine
_TYPES.add_type("application/vnd.apache.parquet", ".parquet")
_TYPES.add_type("application/ld+json", ".jsonld")
_TYPES.add_type("application/geo+json", ".geojson")
_TYPES.add_type("application/yaml", ".yaml")
_TYPES.add_type("text/markdown", ".md")


@dataclass(frozen=True)
class Column:
    """A column of a table, as the Data Package has it."""

    name: str
    type: str
    description: str


@dataclass(frozen=True)
class File:
    """One file of the folder."""

    folder: Path
    path: str
    """In the folder, with `/`; also its name at the portal."""
    sha256: str
    title: str = ""
    columns: tuple[Column, ...] = ()

    @property
    def place(self) -> Path:
        return self.folder / self.path

    @property
    def size(self) -> int:
        return self.place.stat().st_size

    @cached_property
    def sha1(self) -> str:
        """For portals that state it of what has arrived; what was sent is known by its SHA-256."""
        with self.place.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.sha1(usedforsecurity=False)).hexdigest()

    @property
    def format(self) -> str:
        return Path(self.path).suffix.removeprefix(".")

    @property
    def media_type(self) -> str:
        return _TYPES.guess_type(self.path)[0] or "application/octet-stream"

    @property
    def description(self) -> str:
        """What it holds, and what each column means, as Markdown."""
        columns = [f"- `{each.name}`: {each.description}" for each in self.columns]
        return "\n\n".join(filter(None, [self.title, "\n".join(columns)]))
