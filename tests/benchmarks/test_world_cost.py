"""The cost of a known world: its cities are of the size they say, and the picture has all that was measured."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
from benchmarks.world_cost import GROWTH, HEADER, Cost, modes_of, plot, row, write_city

from tapveil.internal.outlook import read_public_files
from tapveil.plan.model import Plan

COSTS = [
    Cost(int(millions * 1e6), share, what, seconds=share * 40 + millions, gigabytes=1, size=2)
    for millions, share in GROWTH
    for what in ("release", "verify")
]


def test_a_city_has_the_places_and_the_trips_that_were_asked_for(tmp_path: Path) -> None:
    write_city(tmp_path, 2_000, 1 / 20)
    listed = (tmp_path / "places.csv").read_text().splitlines()[1:]
    assert len(listed) == sum(size for size, _ in modes_of(1 / 20).values()) == 30 + 15 + 5 + 2
    assert 1_800 < pq.read_metadata(tmp_path / "trips.parquet").num_rows < 2_200
    read_public_files(Plan.read(tmp_path / "plan.toml"))  # which refuses a list that is not of these modes


def test_cells_are_those_of_whole_trips() -> None:
    small = Cost(1, 1 / 20, "release", 1, 1, 1)
    assert small.cells == 14 * 25 * (31**2 + 16**2 + 6**2 + 3**2)


def test_each_cost_is_a_row_and_a_mark() -> None:
    assert all(row(cost).count("|") == HEADER.splitlines()[0].count("|") for cost in COSTS)
    drawn = ElementTree.fromstring(plot(COSTS))  # noqa: S314 - our own
    said = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert said.count("release") == said.count("verify") == 2
    assert {"million cells", "million trips", "40.8", "0.3", "6"} <= set(said)
