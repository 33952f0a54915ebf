"""Arrow buffers of a column as arrays: its integers in memory, and which of them are present."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]
AnyIntegers = npt.NDArray[np.integer]
Positions = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def integers(array: pa.Array) -> AnyIntegers:
    """The integers of a column, without a copy; undefined where there is no value."""
    width = array.type.bit_width // 8
    sign = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    whole = np.frombuffer(array.buffers()[1], dtype=f"{sign}{width}")
    return whole[array.offset : array.offset + len(array)]


def present(array: pa.Array) -> Flags:
    """Which rows have a value."""
    bits = array.buffers()[0]
    if bits is None:
        return np.ones(len(array), dtype=np.bool_)
    before, skipped = divmod(array.offset, 8)
    every = np.frombuffer(bits, dtype=np.uint8)[before : before + (skipped + len(array) + 7) // 8]
    unpacked = np.unpackbits(every, count=skipped + len(array), bitorder="little")
    return unpacked[skipped:].view(np.bool_)


def per_day(kind: pa.DataType) -> int:
    """How many of the units of a type there are in a day."""
    return 24 * 60 * 60 * _PER_SECOND[kind.unit]
