"""Made-up trips, already binned, in one Parquet file: the same for every contender.

python -m benchmarks.compare.trips TRIPS FILE

Two weeks of four modes; the times of a day have two peaks, and few places have most of the trips. Six tables of them
have about 0.9 million cells at 1 million trips, and 1.6 million at 5 million.
"""

from __future__ import annotations

import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.job import BIN_MINUTES

SEED = 1
CHUNK = 1_000_000
DAYS = [str(date(2025, 3, 3) + timedelta(days=day)) for day in range(14)]
MODES = {"bus": (0.45, 480), "train": (0.44, 240), "ferry": (0.04, 36), "lightrail": (0.07, 30)}
"""Each mode's share of the trips, and its places."""
SKEW = 0.7
"""The place of rank r has a share in proportion to r^-SKEW."""
PEAKS = ((0.3, 8.0, 1.2), (0.3, 17.3, 1.6), (0.4, 13.0, 5.0))
"""Shares of the trips that start around an hour, give or take so many."""
LAST_BIN = 24 * 60 // BIN_MINUTES - 1

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def write(trips: int, path: Path) -> None:
    """The file, a million trips at a time; whole or not at all."""
    unfinished = path.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, _some(1, 0).schema) as writer:
        for number, start in enumerate(range(0, trips, CHUNK)):
            writer.write_table(_some(min(CHUNK, trips - start), number, cards=max(1, trips // 20)))
    unfinished.rename(path)


def _some(rows: int, number: int, cards: int = 1) -> pa.Table:
    random = np.random.default_rng((SEED, number))
    modes = random.choice(len(MODES), rows, p=[share for share, _ in MODES.values()])
    on = _start_hours(random, rows)
    off = on + random.lognormal(-1, 0.6, rows)
    return pa.table(
        {
            "mode": _labels(list(MODES), modes),
            "date": _labels(DAYS, random.integers(len(DAYS), size=rows)),
            "on_time": _minutes(on),
            "on_loc": _labels(_places(), _place_codes(random, modes)),
            "off_time": _minutes(off),
            "off_loc": _labels(_places(), _place_codes(random, modes)),
            "card": random.integers(cards, size=rows),
        }
    )


def _start_hours(random: np.random.Generator, rows: int) -> Floats:
    peak = random.choice(len(PEAKS), rows, p=[share for share, _, _ in PEAKS])
    middle, width = (np.array(each)[peak] for each in list(zip(*PEAKS, strict=True))[1:])
    return random.normal(middle, width)


def _minutes(hours: Floats) -> pa.Array:
    """The start of the bin, in minutes after midnight."""
    bins = np.clip(hours * 60 // BIN_MINUTES, 0, LAST_BIN)
    return pa.array((bins * BIN_MINUTES).astype(np.int32))


def _places() -> list[str]:
    return [f"{mode} {place:03d}" for mode, (_, places) in MODES.items() for place in range(places)]


def _place_codes(random: np.random.Generator, modes: npt.NDArray[np.int64]) -> Codes:
    codes = np.empty(len(modes), dtype=np.int64)
    first = 0
    for number, (_, places) in enumerate(MODES.values()):
        shares = np.arange(1, places + 1) ** -SKEW
        here = modes == number
        codes[here] = first + random.choice(places, here.sum(), p=shares / shares.sum())
        first += places
    return codes


def _labels(names: list[str], codes: Codes) -> pa.Array:
    """Plain texts, as an export has them; in the file they are dictionary-coded all the same."""
    return pa.array(names).take(pa.array(codes))


if __name__ == "__main__":
    write(int(sys.argv[1]), Path(sys.argv[2]))
