"""Numbers of trips in parts of a trip: whole multiples of 2⁻²⁰, so that a sum is exact in whatever order it is taken.

Whoever makes estimates again, on another machine or in ten years, must get the same bytes. The elementary operations
of IEEE 754 (+, −, ×, ÷, √, and rounding to a whole number) give the same result everywhere; sums do not, since numpy
chooses their order by processor, layout and version. Here every array that is summed holds whole numbers: each partial
sum is then exact as long as it stays below 2⁵³, which leaves room for 2³³ trips, and the order cannot matter. No
other function (exp, log, power, matrix products) is used anywhere in this package.
"""

from __future__ import annotations

from math import frexp, ldexp

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PARTS = float(1 << 20)
"""Of one trip."""
_BITS = 52


def in_parts(trips: npt.NDArray[np.generic] | float) -> Floats:
    """Trips as whole parts, the nearest."""
    return np.rint(np.asarray(trips, dtype=np.float64) * PARTS)


def in_trips(parts: Floats) -> Floats:
    """Parts as trips: exact, since it only moves the point."""
    return parts * (1 / PARTS)


def add_by(groups: npt.NDArray[np.integer], numbers: Floats, size: int) -> Floats:
    """The sum of the numbers of each group, the same in every order.

    Any numbers: they are first rounded to multiples of a power of two that is so coarse that no partial sum needs
    more than 53 bits, and so fine that it changes a sum by less than one part in 2³⁰ of what is summed.

    >>> add_by(np.array([0, 1, 0]), np.array([0.25, 2.0, 0.5]), 2).tolist()
    [0.75, 2.0]
    """
    largest = max(float(numbers.max(initial=0.0)), -float(numbers.min(initial=0.0)))
    if largest == 0.0:
        return np.zeros(size)
    room = _BITS - frexp(largest)[1] - numbers.size.bit_length()
    whole = np.ravel(numbers * ldexp(1.0, room))
    np.rint(whole, out=whole)
    return np.bincount(groups.ravel(), whole, minlength=size) * np.float64(ldexp(1.0, -room))


def signs(seed: int, size: int) -> npt.NDArray[np.int8]:
    """+1 and −1 in equal shares, a fixed sequence for each seed: the bits of SplitMix64 (Steele et al., 2014).

    >>> signs(1, 8).tolist()
    [1, 1, 1, -1, -1, 1, -1, -1]
    """
    bits = np.unpackbits(_bytes(seed, -(-size // 64)))[:size]
    return (2 * bits.astype(np.int8) - 1).astype(np.int8)


def normals(seed: int, size: int) -> Floats:
    """Numbers nearly as a normal law with deviation 1 gives them, a fixed sequence for each seed: sums of eight bytes.

    >>> normals(1, 4).round(2).tolist()
    [-0.22, 0.14, 0.83, 1.29]
    """
    sums = _bytes(seed, size).reshape(-1, 8).sum(axis=1, dtype=np.int64)
    found: Floats = (sums - 1020) / np.sqrt(8 * (256.0**2 - 1) / 12)
    return found


def _bytes(seed: int, words: int) -> npt.NDArray[np.uint8]:
    """Eight of each word of SplitMix64."""
    found = np.arange(1, words + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        found = (found + np.uint64(seed) * np.uint64(1 << 32)) * np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found ^= found >> np.uint64(31)
    return found.astype("<u8").view(np.uint8)
