"""A hundred dots as a bitmap: as many are full as the number says, and the file is one."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tapveil.internal.dossier.dots import CELL, dots_png, png

RED, GREY = (200, 0, 0), (220, 220, 220)


def pixels_of(data: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """By the standard: each chunk has a length, a kind and a checksum."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, size = 8, b"", (0, 0)
    while at < len(data):
        length, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == int.from_bytes(data[at + 8 + length : at + 12 + length])
        if kind == b"IHDR":
            size = int.from_bytes(body[:4]), int.from_bytes(body[4:8])
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(size[1], 1 + 3 * size[0])
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(size[1], size[0], 3)


@pytest.mark.parametrize(("number", "full"), [("0", 0), ("0.03", 1), ("27", 27), ("99.97", 99), ("100", 100)])
def test_as_many_dots_are_full_as_the_number_says(number: str, full: int) -> None:
    centres = pixels_of(dots_png(number, RED, GREY))[CELL // 2 :: CELL, CELL // 2 :: CELL]
    assert centres.shape == (10, 10, 3)
    red = (centres == RED).all(axis=2).ravel()
    assert red.tolist() == [True] * full + [False] * (100 - full)


def test_pixels_come_back_as_they_were() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    assert (pixels_of(png(pixels)) == pixels).all()
