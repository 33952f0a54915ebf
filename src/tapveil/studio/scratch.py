"""Scratch: what a studio writes for a moment. A studio that was killed leaves it behind, and the next one sweeps it.

Whether a studio lives is asked of the system, which ends a lock with the process that holds it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "tapveil-studio-"
ASIDE = re.compile(r"\.[0-9a-f]{16}\.aside")
"""The name of a file that is being received."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that only its owner can enter, for all temporary files of this process, those of counting as well."""
    before, place = tempfile.tempdir, Path(tempfile.gettempdir())
    for left in place.glob(f"{PREFIX}*"):
        _sweep(left)
    folder, lock = _locked_folder()
    try:
        tempfile.tempdir = str(folder)
        yield folder
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep_asides(folder: Path) -> None:
    """Remove the files of a folder that a studio was receiving when it was killed."""
    for left in folder.glob(".*.aside"):
        if ASIDE.fullmatch(left.name):
            _sweep(left)


def _locked_folder() -> tuple[Path, int]:
    while True:  # another studio may start now, and sweep what is not locked yet
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # mode 0700
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.is_dir():
                return folder, lock
            os.close(lock)


def _sweep(path: Path) -> None:
    """Remove a file or folder of ours that no process has locked."""
    with suppress(OSError):  # somebody else's, or gone
        if path.lstat().st_uid != os.getuid():
            return
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would wait for its writer
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        finally:
            os.close(lock)
