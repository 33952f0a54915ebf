"""Rows of cards, put aside in shares: all rows of a card are in one share, so a share can be counted by itself.

Rows come in the order of the files and are needed card by card. They are collected in blocks, each sorted by share and
then written to disk; a share is read from all blocks. The file is unnamed (see `spool`): it goes with the process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

import numpy as np

from tapveil.counting.engines.spool import disk_errors
from tapveil.trips.buffers import AnyIntegers, Positions

NUMBER = 256
"""Shares, by the first eight bits of a card; few shares are counted together where they are small."""
ROWS_OF_A_BLOCK = 1 << 20

Rows = tuple[AnyIntegers, ...]
"""One array for each column; the first is the card, 64 bits that are as good as random."""


@dataclass(frozen=True)
class _Block:
    starts: Positions
    """The first row of each share, and last the number of rows."""
    places: tuple[int, ...] = ()
    """Where the columns begin in the file."""
    rows: Rows = ()
    """The columns, where they are not in the file."""


class Shares:
    """All rows, while they come and when they are read again."""

    def __init__(self, folder: Path | None) -> None:
        self._folder, self._open = folder, ExitStack()
        self._file: IO[bytes] | None = None
        self._waiting: list[Rows] = []
        self._blocks: list[_Block] = []
        self._kinds: list[np.dtype] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def add(self, rows: Rows) -> None:
        """Put rows aside."""
        self._waiting.append(rows)
        if sum(len(each[0]) for each in self._waiting) >= ROWS_OF_A_BLOCK:
            self._blocks.append(self._written(self._block()))

    def groups(self, most: int) -> Iterator[tuple[float, Rows]]:
        """Some shares at a time, of at most this many rows unless it is a single one; and which part is done then."""
        if self._waiting:
            self._blocks.append(self._block())
        sizes = sum((np.diff(block.starts) for block in self._blocks), start=np.zeros(NUMBER, dtype=np.int64))
        first = 0
        while first < NUMBER:
            after = first + max(1, int(np.searchsorted(np.cumsum(sizes[first:]), most, side="right")))
            yield min(after, NUMBER) / NUMBER, self._read(first, min(after, NUMBER))
            first = after

    def _block(self) -> _Block:
        """All waiting rows, sorted by share."""
        shares = np.concatenate([(rows[0] >> np.uint64(56)).astype(np.uint8) for rows in self._waiting])
        order = np.argsort(shares, kind="stable")
        columns = zip(*self._waiting, strict=True)
        rows = tuple(np.concatenate(column)[order] for column in columns)
        self._waiting, self._kinds = [], [column.dtype for column in rows]
        return _Block(np.concatenate([[0], np.cumsum(np.bincount(shares, minlength=NUMBER))]), rows=rows)

    def _written(self, block: _Block) -> _Block:
        places = []
        with disk_errors():
            if self._file is None:
                file = tempfile.TemporaryFile(prefix="tapveil-", dir=self._folder)  # noqa: SIM115 (closed with the others)
                self._file = self._open.enter_context(file)
            for column in block.rows:
                places.append(self._file.tell())
                self._file.write(column.data)
        return _Block(block.starts, tuple(places))

    def _read(self, first: int, after: int) -> Rows:
        """The rows of the shares from one to another."""
        ranges = [(block, int(block.starts[first]), int(block.starts[after])) for block in self._blocks]
        rows = sum(end - start for _, start, end in ranges)
        columns = tuple(np.empty(rows, dtype=kind) for kind in self._kinds)
        for number, column in enumerate(columns):
            place = 0
            for block, start, end in ranges:
                self._fill(column[place : (place := place + end - start)], block, number, start)
        return columns

    def _fill(self, part: AnyIntegers, block: _Block, number: int, start: int) -> None:
        if block.rows:
            part[:] = block.rows[number][start : start + len(part)]
        elif self._file is not None and len(part):
            with disk_errors():
                self._file.seek(block.places[number] + start * part.itemsize)
                if self._file.readinto(part.view(np.uint8).data) != part.nbytes:  # type: ignore[attr-defined]
                    raise AssertionError("a block is shorter than it was written")
