"""Durable files: written aside, synced, renamed; and folders that only their owner may enter."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from tapveil.base.errors import UsageError

OWNER_ONLY = 0o700
OWNER_READS = 0o600


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file completely or not at all: under another name, synced, then renamed."""
    aside = aside_of(path)
    aside.unlink(missing_ok=True)
    write(aside)
    sync(aside)
    rename(aside, path)


def aside_of(path: Path) -> Path:
    """The temporary name of a file while it is written."""
    return path.with_name(f".{path.name}.aside")


def write_new(path: Path, text: str | bytes, mode: int = 0o666) -> None:
    """Create a new file with this mode and write text, or bytes, to it; fail if it exists."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise UsageError(f"{path} already exists; choose another name") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {why(error)}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {why(error)}") from None


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rename(old: Path, new: Path) -> None:
    """A durable rename: the parent folder is synced, too."""
    old.rename(new)
    sync(new.parent)


def sync(*paths: Path) -> None:
    """Wait until files and folders are on the disk."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def why(error: Exception) -> str:
    """Why a write failed, without any value of the data."""
    if "No space left" in str(error):
        return "the disk is full"
    return error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
