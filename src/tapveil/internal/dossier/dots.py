"""A hundred dots as a bitmap (PNG), for programs that draw no SVG."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from tapveil.published.describe.frequencies import SIDE, filled

CELL = 28
"""Pixels from dot to dot: on paper, about 300 to the inch."""
RADIUS = 9.0
Colour = tuple[int, int, int]


def dots_png(of_100: str, full: Colour, empty: Colour) -> bytes:
    """A square of a hundred dots on white, as many of them full as the picture of `explain` has."""
    colours = np.full((SIDE * SIDE, 3), empty, float)
    colours[: filled(of_100)] = full
    grid = colours.reshape(SIDE, SIDE, 3).repeat(CELL, 0).repeat(CELL, 1)
    along = np.arange(CELL) - (CELL - 1) / 2
    distance = np.hypot(along[:, None], along[None, :])
    ink = np.tile(np.clip(RADIUS + 0.5 - distance, 0, 1), (SIDE, SIDE))[..., None]  # smooth at the rim
    return png(np.rint(255 * (1 - ink) + grid * ink).astype(np.uint8))


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Rows of pixels, each red, green and blue, as a file (PNG, third edition: 8 bits, no filter)."""
    high, wide, _ = pixels.shape
    rows = np.concatenate([np.zeros((high, 1), np.uint8), pixels.reshape(high, -1)], axis=1)
    head = wide.to_bytes(4) + high.to_bytes(4) + bytes((8, 2, 0, 0, 0))
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)
