"""Public files as they were when first opened: each is read once, even if it changes later.

The same bytes are parsed and hashed, so a list that is replaced during a release is published under the SHA-256 of
what was used. Small files are kept in memory, larger ones in an unnamed file on the scratch disk: a timetable may be
larger than memory.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from tapveil.base import atomic
from tapveil.base.errors import EngineError, InputFileError

SMALL = 4 << 20
"""Files up to this many bytes are kept in memory."""
PIECE = 1 << 20


class PublicFiles(Protocol):
    """The source of public files: the disk as it is now, or a snapshot of it."""

    def open(self, path: Path) -> BinaryIO:
        """Open a file at its beginning."""

    def names(self, folder: Path) -> tuple[str, ...]:
        """The names in a folder."""


class OnDisk:
    """Files as they are now, where nothing is published from them."""

    def open(self, path: Path) -> BinaryIO:
        return path.open("rb")

    def names(self, folder: Path) -> tuple[str, ...]:
        return tuple(sorted(each.name for each in folder.iterdir()))


ON_DISK = OnDisk()


class Snapshot:
    """Files and folders, each as it was when first requested."""

    def __init__(self, scratch: Path | None = None) -> None:
        self._scratch = scratch
        self._names: dict[Path, tuple[str, ...]] = {}
        self._copies: dict[Path, _Copy] = {}
        self._hashes: dict[Path, str] = {}
        """Of folders, and of their files, which are hashed with them and not kept."""

    def open(self, path: Path) -> BinaryIO:
        return self._copy(path).open()

    def names(self, folder: Path) -> tuple[str, ...]:
        if folder not in self._names:
            self._names[folder] = ON_DISK.names(folder)
        return self._names[folder]

    def sha256(self, path: Path) -> str:
        """The SHA-256 of a file; for a folder, of its files in order, each after its name and size."""
        if path not in self._names and not path.is_dir():
            return self._copy(path).sha256
        if path in self._hashes:
            return self._hashes[path]
        whole = hashlib.sha256()
        for file in (path / name for name in self.names(path)):
            copy = self._copies.get(file)
            if copy or file.is_file():
                own = hashlib.sha256()
                with copy.open() if copy else ON_DISK.open(file) as source:
                    whole.update(f"{file.name}\0{_size(source)}\0".encode())
                    for piece in _pieces(source, whole.update):
                        own.update(piece)
                self._hashes[file] = own.hexdigest()
        return self._hashes.setdefault(path, whole.hexdigest())

    def _copy(self, path: Path) -> _Copy:
        if path in self._copies:
            return self._copies[path]
        digest = hashlib.sha256()
        with ON_DISK.open(path) as source:
            small, pieces = _size(source) <= SMALL, _pieces(source, digest.update)
            kept = b"".join(pieces) if small else _spilled(pieces, path, self._scratch)
        if self._hashes.get(path, digest.hexdigest()) != digest.hexdigest():
            raise InputFileError(f"{path.name} changed while it was in use; run the command again when it is complete")
        return self._copies.setdefault(path, _Copy(digest.hexdigest(), kept))


@dataclass(frozen=True)
class _Copy:
    """All bytes of a file."""

    sha256: str
    kept: bytes | _Spilled

    def open(self) -> BinaryIO:
        return io.BytesIO(self.kept) if isinstance(self.kept, bytes) else io.BufferedReader(_Reader(self.kept))


def _size(file: BinaryIO) -> int:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


def _pieces(file: BinaryIO, tell: Callable[[bytes], object]) -> Iterator[bytes]:
    """A file in pieces; `tell` is called with each piece first."""
    while piece := file.read(PIECE):
        tell(piece)
        yield piece


class _Spilled:
    """An unnamed file; the system frees it with this object, or with the process."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def __del__(self) -> None:
        os.close(self.descriptor)


def _spilled(pieces: Iterable[bytes], path: Path, scratch: Path | None) -> _Spilled:
    try:
        with tempfile.TemporaryFile(prefix="tapveil-", dir=scratch) as file:
            file.writelines(pieces)
            file.flush()
            return _Spilled(os.dup(file.fileno()))
    except OSError as error:
        raise EngineError(
            f"{path.name} cannot be stored on the scratch disk ({atomic.why(error)}); set --scratch to a larger disk"
        ) from None


class _Reader(io.RawIOBase):
    """A reader with its own position in a shared file."""

    def __init__(self, file: _Spilled) -> None:
        self._file, self._place = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._file.size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        read = os.preadv(self._file.descriptor, [buffer], self._place)
        self._place += read
        return read
