"""The files of a feed: in a zip file, in a folder, or a single file. Errors are translated into our own words."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from tapveil.base.errors import InputFileError
from tapveil.inputs.snapshot import PublicFiles

LARGEST_FILE = 4 << 30
"""A file that unpacks to more than this is refused: it may be an attack on disk or memory."""


@dataclass(frozen=True)
class Files:
    """The files of a feed by their GTFS names: in a folder, a single file, or members of a zip file."""

    path: Path
    members: Mapping[str, Path | zipfile.ZipInfo]
    source: PublicFiles

    @property
    def called(self) -> str:
        return self.path.name or str(self.path)

    def call(self, name: str) -> str:
        return self.called if self.members.get(name) == self.path else f"{name} in {self.called}"

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file, unpacked. Errors while it is read are translated into our own words."""
        member = self.members[name]
        with in_our_words(self.call(name)):
            if isinstance(member, Path):
                with self.source.open(member) as file:
                    yield file
                return
            if member.flag_bits & 0x1:
                raise InputFileError(f"{self.call(name)} is encrypted; unpack the feed and use the folder")
            if member.file_size > LARGEST_FILE:
                raise InputFileError(
                    f"{self.call(name)} unpacks to {member.file_size / (1 << 30):.1f} GB, more than "
                    f"the maximum of {LARGEST_FILE >> 30} GB; check that it is a GTFS feed"
                )
            with self.source.open(self.path) as packed, zipfile.ZipFile(packed) as archive:
                try:
                    unpacked = archive.open(member)
                except ValueError:  # it is said to lie before the beginning of the archive
                    raise zipfile.BadZipFile from None
                with unpacked:
                    yield unpacked


def missing(files: Files, name: str, purpose: str) -> InputFileError:
    alone = files.members.get("stops.txt") == files.path
    fault = "is only a list of stops" if alone else f"has no {name}"
    return InputFileError(f'{files.called} {fault}; cells = "gtfs" needs {name} {purpose}')


@contextmanager
def in_our_words(called: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError):
        raise InputFileError(f"{called} is damaged; download the feed again") from None
    except NotImplementedError:
        words = f"{called} uses an unknown compression; unpack the feed and use the folder"
        raise InputFileError(words) from None
    except FileNotFoundError:
        words = f"there is no {called}; a feed is a GTFS zip file, a folder, or a CSV file of stops"
        raise InputFileError(words) from None
    except PermissionError:
        raise InputFileError(f"no permission to read {called}") from None
    except OSError as error:
        raise InputFileError(f"{called} cannot be read: {error.strerror or error}") from None


def find_files(path: Path, source: PublicFiles) -> Files:
    called = path.name or str(path)
    members: Mapping[str, Path | zipfile.ZipInfo] = {"stops.txt": path}
    with in_our_words(called):
        if path.is_dir():
            members = {name: path / name for name in source.names(path)}
        else:
            with source.open(path) as file:
                if file.read(2) == b"PK" or path.suffix.lower() == ".zip":
                    with zipfile.ZipFile(file) as archive:
                        members = _zip_members(path.name, archive.infolist())
    if "stops.txt" not in members:
        nested = any(name.lower().endswith(".zip") for name in members)
        hint = "it contains other zip files; unpack them and choose one" if nested else "check that it is a GTFS feed"
        raise InputFileError(f"{called} has no stops.txt; {hint}")
    return Files(path, members, source)


def _zip_members(called: str, infos: Sequence[zipfile.ZipInfo]) -> dict[str, Path | zipfile.ZipInfo]:
    """The files next to stops.txt: at the top of the zip file, or in the one folder that has it."""
    files = {PurePosixPath(info.filename): info for info in infos if info.filename and not info.is_dir()}
    homes = sorted({path.parent for path in files if path.name == "stops.txt"})
    if len(homes) > 1 and homes[0] != PurePosixPath():
        listed = ", ".join(str(home) for home in homes)
        raise InputFileError(f"{called} contains several feeds ({listed}); unpack it and choose the folder of one")
    return {path.name: info for path, info in files.items() if not homes or path.parent == homes[0]}
