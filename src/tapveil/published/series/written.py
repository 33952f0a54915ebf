"""A series as it was written: tables from its Parquet files, definitions and noise from the manifests next to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from tapveil.base.errors import FolderError, ReaderError
from tapveil.base.vocabulary import MANIFEST, NUMBERS
from tapveil.published.columns import Column, texts
from tapveil.published.folder import Folder, open_folder
from tapveil.published.frame import DEFINITION, RELEASE

CONTENTS = "series.json"
RELEASES = "releases"
"""Where a series has the manifest of each release, in a folder of its name."""
VERSION = 2
"""Of the files of a series: since 2, the page compares periods. All versions up to it can be read and verified."""
LARGEST_CONTENTS = 64 * 2**20
BOTH = " + "
"""Between the names of releases that a number is from."""


@dataclass(frozen=True, eq=False)
class Written:
    """The files of a series, on this machine or at an address."""

    file: Callable[[str], Path]
    """Where one of them is."""
    named: str
    """How the series is called in messages."""
    contents: Mapping[str, Any]
    """`series.json`."""

    @classmethod
    def read(cls, file: Callable[[str], Path], named: str) -> Written:
        """The series; FolderError if it is damaged or of another version."""
        try:
            path = file(CONTENTS)
            if path.stat().st_size > LARGEST_CONTENTS:
                raise ValueError("too large")
            contents = json.loads(path.read_text(encoding="utf-8"))
            if contents["series_version"] not in range(1, VERSION + 1):
                raise ValueError("another version")
            _ = contents["tables"].keys()
            for each in contents["releases"]:
                if not _is_name(each["name"]) or [day for day in each["days"] if not date.fromisoformat(day)]:
                    raise ValueError("another name, or day")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise FolderError(f"{named} is not a series that this tapveil can read: {CONTENTS} is damaged") from None
        return cls(file, named, contents)

    @property
    def version(self) -> int:
        """Which version of tapveil's series it is."""
        return int(self.contents["series_version"])

    @property
    def names(self) -> list[str]:
        """The names of its releases, in their order."""
        return [each["name"] for each in self.contents["releases"]]

    def folders(self) -> list[Folder]:
        """Its releases: manifests alone."""
        return [open_folder(self.file(f"{RELEASES}/{name}/{MANIFEST}").parent) for name in self.names]

    def days(self) -> list[list[str]]:
        """The days of each release."""
        return [list(each["days"]) for each in self.contents["releases"]]

    def places(self, table: str, column: str) -> frozenset[str]:
        """The places that public lists of its releases name, whether they have published cells or not."""
        return frozenset(self.contents["tables"][table].get("listed", {}).get(column, ()))

    def cells(self, table: str, keys: Sequence[str]) -> dict[str, Column]:
        """The rows of a table. Needs pyarrow."""
        try:
            import pyarrow as arrow
            import pyarrow.parquet as parquet
        except ImportError:
            raise ReaderError("a series of Parquet files needs pyarrow: pip install pyarrow") from None
        columns: dict[str, list[Column]] = {name: [] for name in (*keys, *NUMBERS, RELEASE, DEFINITION)}
        try:
            for part in self.contents["tables"][table]["parts"]:
                with parquet.ParquetFile(self.file(part["file"])) as opened:
                    rows = opened.read()
                for name, into in columns.items():
                    if name == RELEASE and RELEASE in part:
                        into.append(np.full(len(rows), part[RELEASE], object))
                    elif name in (*NUMBERS, DEFINITION):
                        into.append(rows.column(name).to_numpy().astype(np.int64))
                    else:
                        into.append(texts(rows.column(name).cast(arrow.string()).to_pylist()))
        except (OSError, KeyError, TypeError, ValueError, arrow.ArrowException):
            raise self._damaged from None
        found = {name: np.concatenate(each) if each else np.empty(0, object) for name, each in columns.items()}
        if not {part for label in set(found[RELEASE].tolist()) for part in _releases(label, self.names)} <= {
            *self.names
        }:
            raise self._damaged
        return found

    @property
    def _damaged(self) -> FolderError:
        return FolderError(f"{self.named} is damaged: `tapveil series FOLDERS --verify` says where")


def _is_name(name: object) -> bool:
    """Whether it can be that of a folder."""
    return isinstance(name, str) and "/" not in name and name not in ("", ".", "..")


def _releases(label: str, known: Container[str]) -> list[str]:
    """The releases that a number is from."""
    return [label] if label in known else label.split(BOTH)


def combined_noise(labels: Column, of_release: Mapping[str, float]) -> Column:
    """The variance of the noise of each number; of one that several releases have, that of their weighted mean."""
    found = dict[str, float]()
    for label in set(labels.tolist()):
        found[label] = 1 / sum(1 / of_release[name] for name in _releases(label, of_release))
    return np.array([found[label] for label in labels.tolist()], float)
