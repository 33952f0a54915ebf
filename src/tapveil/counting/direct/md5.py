"""MD5 of many short texts at once: each step of the algorithm (RFC 1321) is done for all of them.

Cards are distinguished, and their trips ordered (`ranks`), by MD5, which every engine has. One by one it would cost
more than all the rest of counting. Texts that need more than one block, which no card is, are left to `hashlib`.
"""

from __future__ import annotations

import math
from hashlib import md5

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.counting.ranks import Words
from tapveil.trips.buffers import Positions

AT_ONCE = 1 << 14
"""Texts at a time: few enough for the state to stay in the processor's cache."""
LONGEST = 55
"""The most bytes of a text that fits into one block."""
Halves = npt.NDArray[np.uint32]

_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_ROTATED = [*[7, 12, 17, 22] * 4, *[5, 9, 14, 20] * 4, *[4, 11, 16, 23] * 4, *[6, 10, 15, 21] * 4]
_ADDED = [np.uint32(int(abs(math.sin(number + 1)) * 2**32)) for number in range(64)]
_WORD = [*range(16), *((5 * n + 1) % 16 for n in range(16)), *((3 * n + 5) % 16 for n in range(16))]
_WORD += [7 * n % 16 for n in range(16)]
_BIT_LENGTH = 14
# For the bytes that are left of a text where a word begins (none, 0, 1, …, 8): which belong to it, and the mark after.
_OWN = np.array([0, *((1 << 8 * left) - 1 for left in range(9))], dtype=np.uint64)
_MARK = np.array([0, *(0x80 << 8 * left for left in range(8)), 0], dtype=np.uint64)


def digests(texts: pa.Array) -> tuple[Words, Words]:
    """The MD5 of each text, as two numbers: its first 16 hexadecimal digits, and the others; undefined for NULL."""
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=width)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    first, second = np.empty(len(texts), dtype=np.uint64), np.empty(len(texts), dtype=np.uint64)
    for start in range(0, len(texts), AT_ONCE):
        some = ends[start : start + AT_ONCE + 1]
        here = slice(start, start + len(some) - 1)
        letters = np.zeros(some[-1] - some[0] + 64, dtype=np.uint8)
        if some[-1] > some[0]:
            letters[: some[-1] - some[0]] = np.frombuffer(data, dtype=np.uint8)[some[0] : some[-1]]
        a, b, c, d = _state(letters, some[:-1] - some[0], lengths := np.diff(some))
        first[here], second[here] = _joined(a, b), _joined(c, d)
        for row in start + np.flatnonzero(lengths > LONGEST):
            digest = md5(texts[int(row)].as_buffer(), usedforsecurity=False).digest()
            first[row], second[row] = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
    return first, second


def _state(letters: npt.NDArray[np.uint8], starts: Positions, lengths: Positions) -> tuple[Halves, ...]:
    """The four words of each MD5."""
    words = {_BIT_LENGTH: (lengths * 8).astype(np.uint32)}
    every = np.ndarray(
        (len(letters) - 7,), dtype="<u8", buffer=letters.data, strides=(1,)
    )  # eight letters from each on
    for number in range(int(lengths.clip(0, LONGEST).max()) // 8 + 1):
        left = np.clip(lengths - 8 * number, -1, 8) + 1
        word = every[np.minimum(starts + 8 * number, len(every) - 1)] & _OWN[left] | _MARK[left]
        words[2 * number], words[2 * number + 1] = word.astype(np.uint32), (word >> np.uint64(32)).astype(np.uint32)
    a, b, c, d = (np.full(len(starts), word, dtype=np.uint32) for word in _START)
    mixed = np.empty_like(a)
    for number in range(64):
        _mix(number // 16, b, c, d, mixed)
        a += mixed
        a += _ADDED[number]
        if _WORD[number] in words:
            a += words[_WORD[number]]
        np.right_shift(a, np.uint32(32 - _ROTATED[number]), out=mixed)
        a <<= np.uint32(_ROTATED[number])
        a |= mixed
        a += b
        a, b, c, d = d, a, b, c
    return tuple(word + np.uint32(start) for word, start in zip((a, b, c, d), _START, strict=True))


def _mix(round_: int, b: Halves, c: Halves, d: Halves, out: Halves) -> None:
    """The function of a round: F, G, H or I."""
    if round_ == 3:
        np.invert(d, out=out)
        out |= b
        out ^= c
        return
    np.bitwise_xor(c, d if round_ == 0 else b, out=out)
    if round_ == 0:
        out &= b
        out ^= d
    elif round_ == 1:
        out &= d
        out ^= c
    else:
        out ^= d


def _joined(one: Halves, other: Halves) -> Words:
    """Two words of a digest as one number, in the order of its digits."""
    joined: Words = (one.byteswap().astype(np.uint64) << np.uint64(32)) | other.byteswap()
    return joined
