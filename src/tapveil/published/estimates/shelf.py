"""Arrays of days, put aside one after the other: in memory while they are few, then in a file without a name.

Estimating goes from day to day, and so does all that is written of it: one day at a time is in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from tempfile import SpooledTemporaryFile
from typing import Any, overload

import numpy as np
import numpy.typing as npt

IN_MEMORY = 1 << 25
"""Bytes; what is more lies on disk."""

Array = npt.NDArray[Any]


class Shelf(Sequence[Array]):
    """Arrays that are read as often as wanted, each a copy of what was put there.

    >>> shelf = Shelf()
    >>> shelf.put(np.array([1, 2], np.uint8))
    >>> shelf.put(np.array([[0.5]]))
    >>> [each.tolist() for each in shelf]
    [[1, 2], [[0.5]]]
    """

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (closed with the shelf)
        self._end = 0
        self._places: list[tuple[int, tuple[int, ...], np.dtype[Any]]] = []

    def put(self, numbers: Array) -> None:
        """One more, after all others."""
        self._file.seek(self._end)
        self._file.write(np.ascontiguousarray(numbers).tobytes())
        self._places.append((self._end, numbers.shape, numbers.dtype))
        self._end += numbers.nbytes

    def put_all(self, several: Iterable[Array]) -> None:
        """Some more, one after the other."""
        for numbers in several:
            self.put(numbers)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Array]: ...
    def __getitem__(self, index: int | slice) -> Array | Sequence[Array]:
        """A copy: what is done to it does not change what lies there."""
        if isinstance(index, slice):
            return [self[each] for each in range(len(self))[index]]
        start, shape, kind = self._places[index]
        found = np.empty(shape, kind)
        self._file.seek(start)
        found.reshape(-1).view(np.uint8)[:] = np.frombuffer(self._file.read(found.nbytes), np.uint8)
        return found
