"""Reading what others wrote: nothing outside the folder, nothing without a bound, no surprise left unnamed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tapveil.base.findings import Finding, shown

MOST_FILES = 2_000
LARGEST_FILE = 8 * 2**30
"""A file beyond this is not looked into: hashing it would take as long as its owner likes."""
LARGEST_TEXT = 4 * 2**20
DEEPEST = 3
NOT_CANONICAL = "is not in canonical form; the difference could hide data"


class UnreadableError(Exception):
    """Something that cannot be read, as a finding."""

    def __init__(self, code: str, place: str, sentence: str) -> None:
        super().__init__(sentence)
        self.finding = Finding(code, place, sentence)


def files_in(folder: Path) -> tuple[dict[str, int], list[Finding]]:
    """All regular files by their names in the folder, with their sizes; what is none, or too much, is found.

    So is a folder that holds no file: checksums do not list it, and its name could be anything.
    """
    files: dict[str, int] = {}
    findings: list[Finding] = []
    folders: list[str] = []
    waiting = [("", 0)]
    while waiting:
        inside, depth = waiting.pop()
        for entry in sorted(os.scandir(folder / inside), key=lambda each: each.name):
            name = f"{inside}{entry.name}"
            if entry.is_symlink():
                findings.append(
                    Finding("link", shown(name), "is a symbolic link; its target is not part of the folder")
                )
            elif entry.is_dir(follow_symlinks=False):
                if depth == DEEPEST:
                    findings.append(Finding("too-deep", shown(name), "is nested deeper than any folder of a release"))
                else:
                    waiting.append((f"{name}/", depth + 1))
                    folders.append(f"{name}/")
            elif not entry.is_file(follow_symlinks=False):
                findings.append(Finding("not-a-file", shown(name), "is neither a file nor a folder"))
            else:
                files[name] = entry.stat(follow_symlinks=False).st_size
            if len(files) + len(folders) + len(findings) > MOST_FILES:
                return files, [*findings, Finding("too-many-files", ".", f"contains more than {MOST_FILES:,} files")]
    holding = {f"{parent}/" for name in files for parent in PurePosixPath(name).parents}
    empty = (
        Finding("file-unexpected", each, "is an empty folder; its name could hide data")
        for each in folders
        if each not in holding
    )
    return files, [*findings, *empty]


def open_inside(folder: Path, name: str) -> int:
    """A descriptor of a regular file of the folder; never through a link at any step, never something that blocks."""
    *inner, last = name.split("/")
    opened: list[int] = []
    try:
        opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
        for step in inner:
            opened.append(os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        descriptor = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=opened[-1])
    except OSError as error:
        raise UnreadableError("file-unreadable", shown(name), f"cannot be read: {error.strerror}") from None
    finally:
        for each in opened:
            os.close(each)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnreadableError("not-a-file", shown(name), "is not a regular file")
    return descriptor


def sha256(folder: Path, name: str) -> str:
    """The checksum of a file, of a size that is bounded even while it is read."""
    digest, rest = hashlib.sha256(), LARGEST_FILE
    too_large = UnreadableError("too-large", shown(name), "is larger than any file of a release")
    with os.fdopen(open_inside(folder, name), "rb") as file:
        if os.fstat(file.fileno()).st_size > LARGEST_FILE:
            raise too_large
        while block := file.read(2**20):
            rest -= len(block)
            if rest < 0:
                raise too_large
            digest.update(block)
    return digest.hexdigest()


def text_of(folder: Path, name: str, largest: int = LARGEST_TEXT) -> str:
    """A small text file."""
    with os.fdopen(open_inside(folder, name), "rb") as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise UnreadableError("too-large", shown(name), f"is larger than {largest:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableError("not-utf8", shown(name), "is not UTF-8 text") from None


def is_made_of(folder: Path, name: str, pieces: Iterable[bytes]) -> bool:
    """Whether a file is these bytes, one piece after the other, and nothing else."""
    with os.fdopen(open_inside(folder, name), "rb") as file:
        return all(file.read(len(piece)) == piece for piece in pieces) and not file.read(1)


def json_of(folder: Path, name: str) -> dict[str, Any]:
    """A JSON file that holds one object, with no key twice and no number that is none."""
    return json_in(text_of(folder, name), name)


def json_in(text: str, name: str) -> dict[str, Any]:
    """The same, of a text that has been read."""
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise UnreadableError("not-json", shown(name), "is not valid JSON, or has a duplicate key") from None
    if not isinstance(data, dict):
        raise UnreadableError("not-json", shown(name), "is not a JSON object")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def stays_inside(name: str) -> bool:
    """Whether a name in a list can only mean a file of the folder.

    >>> stays_inside("data/on_time.csv"), stays_inside("../x"), stays_inside("/etc/x"), stays_inside("a//b")
    (True, False, False, False)
    """
    parts = name.split("/")
    return bool(name) and "\\" not in name and "\0" not in name and not {"", ".", ".."} & set(parts)


def listed(text: str) -> Iterator[tuple[str, str] | None]:
    """The lines of a file of checksums: name and checksum; None for one that is none."""
    lines = text.split("\n")
    if lines.pop() != "":
        yield None
    for line in lines:
        found = re.fullmatch("([0-9a-f]{64})  (.+)", line, re.DOTALL)
        yield (found[2], found[1]) if found and stays_inside(found[2]) else None
