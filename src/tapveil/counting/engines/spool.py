"""Counts that an engine returns in pieces, on disk instead of in memory.

The files are unnamed: only this process can reach them, and the system frees them with the last array that uses them,
even if the process is killed.
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Self

import numpy as np

from tapveil.base.errors import EngineError
from tapveil.trips.buffers import Integers


class Spool:
    """Columns of integers that grow together.

    >>> with Spool(2) as spool:
    ...     spool.append([np.array([1, 2]), np.array([10, 20])])
    ...     spool.append([np.array([3]), np.array([30])])
    ...     words, counts = spool.arrays()
    >>> counts.tolist()
    [10, 20, 30]
    """

    def __init__(self, columns: int, folder: Path | None = None) -> None:
        self._open = ExitStack()
        with disk_errors():
            files = (tempfile.TemporaryFile(prefix="tapveil-", dir=folder) for _ in range(columns))  # noqa: SIM115 (below)
            self._files: list[IO[bytes]] = [self._open.enter_context(file) for file in files]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the files; returned arrays stay valid."""
        self._open.close()

    def append(self, piece: Sequence[Integers]) -> None:
        """Append one array per column, all of the same length."""
        if len({len(column) for column in piece}) > 1:
            raise AssertionError("the columns of a piece differ in length")
        with disk_errors():
            for file, column in zip(self._files, piece, strict=True):
                file.write(column.astype(np.int64, copy=False).tobytes())

    def arrays(self) -> tuple[Integers, ...]:
        """The complete columns, read-only; pages are read from disk on demand."""
        with disk_errors():
            for file in self._files:
                file.flush()
            # An empty file cannot be mapped.
            none = np.empty(0, dtype=np.int64)
            return tuple(np.memmap(file, np.int64, "r") if file.tell() else none for file in self._files)


@contextmanager
def disk_errors() -> Iterator[None]:
    """Translate errors of the disk into EngineError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise EngineError("the scratch disk is full; set --scratch to a larger one") from None
        why = f"counts cannot be stored on disk ({error.strerror})"
        raise EngineError(f"{why}; set --scratch to a writable disk") from None
