"""Measurements as files: every cell, in little more room than their noise takes."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapveil.base.domain import every_cell
from tapveil.privacy.noise import discrete_gaussian
from tapveil.published import writer
from tapveil.published.manifest import Manifest

GOLDEN = Path(__file__).parents[2] / "golden" / "3f" / "world-of-noise"
MOST = 1.5
"""Bytes for each cell: 15 MB for ten million."""


@pytest.mark.parametrize("deviation", [6, 40, 200])
def test_a_million_cells_take_a_million_and_a_half_bytes(deviation: int, tmp_path: Path) -> None:
    """With the noise of single trips at ε = 1, of cards, and of cards over a year of weeks."""
    manifest = Manifest.read(json.loads((GOLDEN / "privacy.json").read_text(encoding="utf-8")))
    places, days = [f"Station {number:03d}" for number in range(268)], [f"2025-03-{day:02d}" for day in range(1, 15)]
    lists = {"mode": ["metro"], "date": days, "tap_on_location": places, "tap_off_location": places}
    keys, chance = every_cell([lists]), np.random.default_rng(1)
    size = len(keys["mode"][1])
    noisy = chance.poisson(5, size) + discrete_gaussian(Fraction(deviation) ** 2).sample(size, chance.bytes)
    cells = {key: pa.DictionaryArray.from_arrays(pa.array(codes), labels) for key, (labels, codes) in keys.items()}
    writer._write_parts(tmp_path / "od.parquet", manifest, [pa.table({**cells, "count": noisy})])
    assert (tmp_path / "od.parquet").stat().st_size < MOST * size
    found = pq.read_table(tmp_path / "od.parquet")
    assert found.column("count").to_numpy().tolist() == noisy.tolist()
    assert found.slice(268 * 268 - 1, 2).column("tap_on_location").to_pylist() == ["Station 267", "Station 000"]
