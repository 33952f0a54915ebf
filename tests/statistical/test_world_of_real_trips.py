"""Synthetic trips of a real metro: their sums, what the world excludes, and rows that cannot be. Needs ../shared."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.vocabulary import UNKNOWN
from tapveil.plan.model import Plan
from tapveil.privacy import Exposure, calibrate
from tests.conftest import SHARED_DATA, write_csv

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED_DATA.exists(), reason="the real data is not beside this checkout (../shared/data)"),
]

TRIPS = SHARED_DATA / "namma" / "stationpair-hourly.parquet"
EXCLUDED, FIRST_HOUR = "Yeshwantpur", 5
MOST_EMPTY = 0.06
ENDS = ("Origin", "Destination")
KEYS = ("date", "tap_on_time", "tap_on_location", "tap_off_location")
PLAN = f"""
[release]
name = "metro"
title = "A metro"
partition = ["date"]
[source]
path = "{TRIPS}"
shape = "counts"
first_day = 2025-08-01
last_day = 2025-08-18
[source.columns]
date = "Date"
tap_on_time = {{ column = "Hour", format = "%H" }}
tap_on_location = "Origin Station"
tap_off_location = "Destination Station"
count = "Ridership"
[places]
path = "stations.csv"
[coarsen]
time_minutes = 60
[world]
holidays = [2025-08-15]
service = "05:00-24:00"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "world"
epsilon = "1/4"
delta = 7.5e-7
[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]
weight = 1
[[table]]
name = "origin_hour"
columns = ["tap_on_time", "tap_on_location"]
weight = 1
[[table]]
name = "destination_hour"
columns = ["tap_on_time", "tap_off_location"]
weight = 1
[[table]]
name = "whole"
columns = ["tap_on_time", "tap_on_location", "tap_off_location"]
weight = "2/5"
"""


@pytest.fixture(scope="module")
def exact() -> pa.Table:
    """The trips by day, time, origin and destination, as the world has them."""
    rows = pq.read_table(TRIPS)
    hour = rows["Hour"].cast(pa.int64())
    text = pc.binary_join_element_wise(pc.utf8_lpad(hour.cast(pa.string()), 2, "0"), ":00", "")
    times = pc.if_else(pc.less(hour, FIRST_HOUR), "-1", text)
    ends = (pc.if_else(pc.equal(rows[f"{end} Station"], EXCLUDED), UNKNOWN, rows[f"{end} Station"]) for end in ENDS)
    dates = pc.utf8_slice_codeunits(rows["Date"].cast(pa.string()), 0, 10)
    made = pa.table(dict(zip(KEYS, (dates, times, *ends), strict=True)) | {"count": rows["Ridership"]})
    return made.filter(pc.greater(made["count"], 0))


@pytest.fixture(scope="module")
def published(exact: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All stations but one are listed, and the hours of service: no others can be in the folder."""
    folder = tmp_path_factory.mktemp("metro")
    stations = sorted(set(exact["tap_on_location"].to_pylist()) | set(exact["tap_off_location"].to_pylist()))
    spots = [(name, 12.9 + n / 1000, 77.5) for n, name in enumerate(stations) if name != UNKNOWN]
    write_csv(folder / "stations.csv", spots, ("name", "latitude", "longitude"))
    return tapveil.release(Plan.parse(PLAN, base=folder), folder / "out", in_ledger=False).path


def test_noise_is_at_least_that_of_whole_cards_at_epsilon_1() -> None:
    """The file has no cards, so a single trip is given so small an ε that its noise is that of 28 trips at ε = 1."""
    delta, weights = Fraction(3, 4_000_000), (Fraction(1),) * 3 + (Fraction(2, 5),)
    card = calibrate("world", weights, Fraction(1), delta, Exposure("add-remove", 28))
    assert Plan.parse(PLAN).guarantee.mechanisms["od"].scale >= card[0].scale * Fraction(97, 100)


def trips(folder: Path) -> pa.Table:
    return pq.read_table(folder / "trips" / "synthetic_trips.parquet")


def by(table: pa.Table, columns: Sequence[str], counts: str | None = None) -> pa.Table:
    """The trips of each combination, in order: a row each, or as many as a column says."""
    own = pa.table({column: table[column].cast(pa.string()) for column in columns})
    own = own.append_column("count", table[counts] if counts else pa.array([1] * len(table), pa.int64()))
    summed = own.group_by(list(columns)).aggregate([("count", "sum")]).rename_columns([*columns, "count"])
    return summed.sort_by([(column, "ascending") for column in columns]).combine_chunks()


def test_no_row_is_at_a_stop_or_in_an_hour_that_the_world_excludes(exact: pa.Table, published: Path) -> None:
    rows = trips(published)
    assert EXCLUDED in pq.read_table(TRIPS)["Origin Station"].to_pylist()
    for end in ("tap_on_location", "tap_off_location"):
        found = set(rows[end].cast(pa.string()).unique().to_pylist())
        assert found <= set(exact[end].unique().to_pylist()) | {UNKNOWN}
        assert EXCLUDED not in found
    assert set(rows["tap_on_time"].cast(pa.string()).unique().to_pylist()) <= {
        "-1",
        *(f"{hour:02d}:00" for hour in range(FIRST_HOUR, 24)),
    }


def test_few_rows_are_in_cells_that_are_empty_in_truth(exact: pa.Table, published: Path) -> None:
    rows = by(trips(published), KEYS)
    empty = pc.sum(rows.join(exact, list(KEYS), join_type="left anti")["count"]).as_py()
    assert 0 < empty <= MOST_EMPTY * pc.sum(rows["count"]).as_py()


def test_the_sums_of_the_rows_are_every_table_of_estimates(published: Path) -> None:
    rows, folder = trips(published), tapveil.open(published)
    for columns in (KEYS, *(("date", *table.columns) for table in folder.manifest.tables)):
        frame = folder.estimate(columns).to_arrow()
        assert by(rows, columns).equals(by(frame.filter(pc.greater(frame["count"], 0)), columns, "count"))
