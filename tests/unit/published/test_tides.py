"""Synthetic trips as taps: when each was, by the clock of the service day."""

from __future__ import annotations

from datetime import date, datetime
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from tapveil.published.manifest import Manifest
from tapveil.published.tides import fare_transactions

DAY = date(2025, 3, 3)


def taps(**trip: str) -> list[dict[str, Any]]:
    manifest = cast(Manifest, SimpleNamespace(day=SimpleNamespace(starts=240)))
    batch = pa.RecordBatch.from_pylist([{"date": DAY, **trip}])
    return [row for found in fare_transactions(manifest, [batch, batch]) for row in found.to_pylist()]


@pytest.mark.parametrize(
    ("label", "moment"),
    [
        ("08:00", datetime(2025, 3, 3, 8)),
        ("01:30", datetime(2025, 3, 4, 1, 30)),
        ("25:30", datetime(2025, 3, 4, 1, 30)),
    ],
)
def test_the_night_after_belongs_to_the_service_date(label: str, moment: datetime) -> None:
    found = taps(tap_on_time=label, tap_on_location="Ash")
    assert [(tap["service_date"], tap["event_timestamp"]) for tap in found] == [(DAY, moment)] * 2
    assert [tap["token_id"] for tap in found] == ["synthetic-1", "synthetic-2"]


def test_an_end_whose_time_was_not_measured_has_that_of_the_other() -> None:
    on, off = taps(tap_on_time="08:00", tap_on_location="Ash", tap_off_location="Oak")[:2]
    assert (on["fare_action"], off["fare_action"]) == ("Enter", "Exit")
    assert on["event_timestamp"] == off["event_timestamp"]
    assert on["token_id"] == off["token_id"] != on["transaction_id"] != off["transaction_id"]


def test_an_end_without_a_tap_has_no_row() -> None:
    trip = {"tap_on_time": "08:00", "tap_on_location": "UNKNOWN", "tap_off_time": "-1", "tap_off_location": "UNKNOWN"}
    assert [(tap["fare_action"], tap["stop_id"]) for tap in taps(**trip)] == [("Enter", None)] * 2
