"""`converted.json`: which folder the files next to it are of, and in which form each is; by it they are made again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tapveil.base.errors import FolderError, UsageError
from tapveil.base.vocabulary import CHECKSUMS
from tapveil.published.folder import Folder
from tapveil.published.manifest import json_text

STATEMENT = "converted.json"
LARGEST = 2**20


class CsvStyle(BaseModel):
    """How CSV files for spreadsheets are written."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    bom: bool = True
    """Whether a file begins with a byte-order mark."""
    delimiter: Literal[",", ";", "\t"] = ","
    """What is between columns."""


def csv_style(bom: bool, delimiter: str) -> CsvStyle:
    """A style; UsageError if there is no such delimiter."""
    try:
        return CsvStyle.model_validate({"bom": bom, "delimiter": delimiter})
    except ValidationError:
        raise UsageError(f"there is no delimiter {delimiter!r} for CSV: a comma, a semicolon or a tab") from None


class Made(BaseModel):
    """The files of one form."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: int
    """Of the writer of the form."""
    style: CsvStyle | None = None
    """Of CSV alone."""
    tables: tuple[str, ...] | None = None
    """The tables that were chosen, if not all of them."""
    files: dict[str, str]
    """Each file with its SHA-256."""


class Statement(BaseModel):
    """What the files of a folder were made from."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    conversion_version: Literal[1] = 1
    """Of this statement."""
    title: str
    """Of the release."""
    release_id: str
    """Of the release."""
    sums_sha256: str
    """The SHA-256 of the `SHA256SUMS` of the published folder."""
    forms: dict[str, Made] = {}
    """The files, by the word that asked for them."""

    @classmethod
    def of(cls, folder: Folder) -> Statement:
        """That of a folder, without any file as yet."""
        try:
            sums = folder.file(CHECKSUMS).read_bytes()
        except OSError:
            raise FolderError(f"{folder.where} has no {CHECKSUMS}: it is not a complete published folder") from None
        manifest, digest = folder.manifest, hashlib.sha256(sums).hexdigest()
        return cls(title=manifest.title, release_id=manifest.release_id, sums_sha256=digest)

    @classmethod
    def read(cls, out: Path) -> Statement | None:
        """That of a folder of files, if it has one; UsageError if it is not one that this tapveil can read."""
        path = out / STATEMENT
        if not path.is_file():
            return None
        try:
            if path.stat().st_size > LARGEST:
                raise ValueError("too large")
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError, ValidationError):
            raise UsageError(f"{path} is damaged, or of a later version of tapveil") from None

    def same_source(self, other: Statement) -> bool:
        """Whether both are of the same folder."""
        return (self.release_id, self.sums_sha256) == (other.release_id, other.sums_sha256)

    @property
    def text(self) -> str:
        """The file."""
        contents: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        return json_text(contents)
