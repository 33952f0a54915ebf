"""A small made-up city, measured: what the tests of estimates share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates import Measurement, World

AXES = ("date", "tap_on_time", "tap_on_location", "tap_off_location")
TABLES = (
    ("date", "tap_on_location", "tap_off_location"),
    ("date", "tap_on_time", "tap_on_location"),
    ("date", "tap_on_time", "tap_off_location"),
)
KINDS = (0, 0, 0, 0, 0, 1, 2)
SHAPE = (7, 6, 9, 9)

Counts = npt.NDArray[np.int64]


def trips(seed: int = 1, mean: float = 12.0) -> Counts:
    """Exact counts: places of many sizes, two peaks, quieter weekends."""
    random = np.random.default_rng(seed)
    size, hours = random.gamma(0.7, 1, SHAPE[2]), np.array([1, 6, 3, 3, 7, 2])
    flow = size[:, None] * size * random.gamma(2, 1, SHAPE[2:])
    days = np.array([1, 1, 1, 1, 1, 0.6, 0.4])
    rate = days[:, None, None, None] * hours[:, None, None] * flow
    return random.poisson(rate * (mean * rate.size / rate.sum()))


def world() -> World:
    return World(KINDS, dict(zip(AXES[1:], SHAPE[1:], strict=True)), same_places=True)


def table(counts: Counts, columns: tuple[str, ...]) -> Counts:
    found: Counts = counts.sum(axis=tuple(i for i, axis in enumerate(AXES) if axis not in columns))
    return found


def measured(
    counts: Counts, deviation: float, columns: tuple[tuple[str, ...], ...] = TABLES, seed: int = 2
) -> list[Measurement]:
    random = np.random.default_rng(seed)
    found = []
    for each in columns:
        exact = table(counts, each)
        noise = np.rint(random.normal(0, deviation, exact.shape)).astype(np.int64)
        found.append(Measurement(each, exact + noise, deviation**2 + 1 / 12))
    return found
