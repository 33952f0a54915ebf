"""Files at an address, such as `https://data.example/published`: fetched when they are asked for, one by one.

`SHA256SUMS` says which files there are, and every other file must be what it says. Addresses of the web need nothing
but the standard library; others (`s3://`, `gs://`, `hdfs://`) are opened by pyarrow.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any

from tapveil.base.errors import FolderError
from tapveil.base.vocabulary import CHECKSUMS

SECONDS = 60
"""How long a server may be silent."""
LARGEST_SUMS = 4 * 2**20
LARGEST_FILE = 8 * 2**30
"""More than any file of a release has: a server that never ends would fill the disk."""
BLOCK = 2**20
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_LINE = re.compile("([0-9a-f]{64})  (.+)")


def is_address(path: object) -> bool:
    """Whether it is an address, and not a path of this machine.

    >>> is_address("https://data.example/published"), is_address("published/*"), is_address("C:/published")
    (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def shown(address: str) -> str:
    """An address as messages have it: without a user, a password and options, any of which may be a key.

    >>> shown("s3://id:secret@bucket/published?region=eu-west-1")
    's3://bucket/published'
    """
    parts = urllib.parse.urlsplit(address)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


class Remote:
    """The files below an address, of which copies are kept until the program ends."""

    def __init__(self, address: str) -> None:
        """Name an address; nothing is fetched as yet."""
        self.address = urllib.parse.urlsplit(address)
        self._kept = tempfile.TemporaryDirectory(prefix="tapveil-")
        name = urllib.parse.unquote(self.address.path.rstrip("/").rpartition("/")[2]) or self.address.netloc
        self.place = Path(self._kept.name) / (re.sub(r"[^\w.#-]", "_", name).lstrip(".") or "published")
        self.place.mkdir()

    def __str__(self) -> str:
        return shown(self.whole)

    @property
    def whole(self) -> str:
        """The address with all that opens it, which no message may have."""
        return urllib.parse.urlunsplit(self.address._replace(fragment=""))

    @cached_property
    def sums(self) -> dict[str, str]:
        """The SHA-256 of every file, by its name."""
        with self._opened(CHECKSUMS) as file:
            data = file.read(LARGEST_SUMS + 1)
        found = dict[str, str]()
        for line in data[:LARGEST_SUMS].decode(errors="replace").splitlines():
            if matched := _LINE.fullmatch(line):
                found[matched[2]] = matched[1]
        if not found or len(data) > LARGEST_SUMS:
            raise FolderError(f"{self} has no {CHECKSUMS} of a published folder")
        (self.place / CHECKSUMS).write_bytes(data)
        return found

    def file(self, name: str) -> Path:
        """Where a file is on this machine, fetched now if it was not yet; there is none if the address has none.

        Raises:
            FolderError: It cannot be fetched, or is not what the checksums say.
        """
        path = self.place / name
        if name in self.sums and not path.exists() and ".." not in path.parts and path.is_relative_to(self.place):
            path.parent.mkdir(parents=True, exist_ok=True)
            aside, digest = path.with_name(f".{path.name}"), hashlib.sha256()
            with self._opened(name) as file, aside.open("wb") as written:
                while block := file.read(BLOCK):
                    digest.update(block)
                    written.write(block)
                    if written.tell() > LARGEST_FILE:
                        raise FolderError(f"{self}/{name} is larger than any file of a release")
            if digest.hexdigest() != self.sums[name]:
                raise FolderError(f"{self}/{name} is not what its {CHECKSUMS} says: it is damaged, or being replaced")
            aside.rename(path)
        return path

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        try:
            if self.address.scheme in ("http", "https"):
                path = f"{self.address.path.rstrip('/')}/{urllib.parse.quote(name)}"
                url = urllib.parse.urlunsplit(self.address._replace(path=path, fragment=""))
                with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 (of the web, as was asked)
                    yield answer
            else:
                system, base = _file_system(self.whole)
                with system.open_input_stream(f"{base.rstrip('/')}/{name}") as file:
                    yield file
        except urllib.error.HTTPError as error:
            raise FolderError(f"{self}/{name} cannot be fetched: {error.code} {error.reason}") from None
        except (OSError, HTTPException, ValueError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            words = str(reason).strip().splitlines() or [type(error).__name__]
            raise FolderError(f"{self}/{name} cannot be fetched: {words[0]}") from None


def matching(pattern: str) -> list[str]:
    """The addresses that match a pattern in its last part, such as `s3://bucket/published/*`; the web has no lists."""
    named, mark, options = pattern.partition("?")
    base, _, last = named.rstrip("/").rpartition("/")
    if pattern.startswith(("http:", "https:")) or re.search(r"[*?\[]", base):
        raise FolderError(f"{shown(pattern)} cannot be searched: give a list of the addresses of folders")
    system, path = _file_system(base + mark + options)
    from pyarrow import fs

    try:
        found = [info.base_name for info in system.get_file_info(fs.FileSelector(path)) if not info.is_file]
    except OSError as error:
        raise FolderError(f"{shown(base)} cannot be read: {str(error).splitlines()[0]}") from None
    return sorted(f"{base}/{name}{mark}{options}" for name in fnmatch.filter(found, last))


def _file_system(address: str) -> tuple[Any, str]:
    try:
        from pyarrow import ArrowException, fs
    except ImportError:
        raise FolderError(f"{shown(address)} needs pyarrow: pip install pyarrow") from None
    try:
        system, path = fs.FileSystem.from_uri(address)
    except (ArrowException, OSError, ValueError) as error:
        words = str(error).splitlines()[0].replace(address, shown(address))
        raise FolderError(f"{shown(address)} cannot be opened: {words}") from None
    return system, path
