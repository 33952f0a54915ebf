"""Where the files of a feed are: in a zip file or a folder, or alone. What goes wrong is told in our words."""

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
"""A file that unpacks to more than this is no timetable, but perhaps a trap for the disk or the memory."""


@dataclass(frozen=True)
class Files:
    """The files of a feed by the names that GTFS gives them: of a folder or alone, or members of a zip file."""

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
        """A file, unpacked. Whatever goes wrong while it is read is told in our words."""
        member = self.members[name]
        with in_our_words(self.call(name)):
            if isinstance(member, Path):
                with self.source.open(member) as file:
                    yield file
                return
            if member.flag_bits & 0x1:
                raise InputFileError(f"{self.call(name)} is encrypted; unpack the feed and name the folder")
            if member.file_size > LARGEST_FILE:
                raise InputFileError(
                    f"{self.call(name)} unpacks to {member.file_size / (1 << 30):.1f} GB, more than a timetable has "
                    f"(at most {LARGEST_FILE >> 30} GB); is this the right file?"
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
    fault = "is a list of stops alone" if alone else f"has no {name}"
    return InputFileError(f'{files.called} {fault}; cells = "gtfs" needs {name} {purpose}')


@contextmanager
def in_our_words(called: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError):
        raise InputFileError(f"{called} is damaged (was its transfer cut off?); fetch the feed again") from None
    except NotImplementedError:
        words = f"{called} is packed in a way that cannot be read; unpack the feed and name the folder"
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
        hint = "it holds other zip files: unpack them and name one" if nested else "is it a GTFS feed?"
        raise InputFileError(f"{called} has no stops.txt; {hint}")
    return Files(path, members, source)


def _zip_members(called: str, infos: Sequence[zipfile.ZipInfo]) -> dict[str, Path | zipfile.ZipInfo]:
    """The files beside stops.txt: at the top of the zip file, or else in the one folder that has it."""
    files = {PurePosixPath(info.filename): info for info in infos if info.filename and not info.is_dir()}
    homes = sorted({path.parent for path in files if path.name == "stops.txt"})
    if len(homes) > 1 and homes[0] != PurePosixPath():
        listed = ", ".join(str(home) for home in homes)
        raise InputFileError(f"{called} holds several feeds ({listed}); unpack it and name the folder of one")
    return {path.name: info for path, info in files.items() if not homes or path.parent == homes[0]}
