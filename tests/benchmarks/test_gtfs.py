"""The benchmark of timetable readers: its feed is one, and what it measures is a process."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import gtfs
from tapveil.inputs.gtfs import read_feed


def test_a_generated_feed_has_as_many_calls_as_asked_for(tmp_path: Path) -> None:
    gtfs.generate(tmp_path / "feed.zip", 4000)
    feed = read_feed(tmp_path / "feed.zip")
    distinct = len(feed.calls().second)
    assert 3900 < distinct <= 4000, "few of them fall together"
    days = sum(map(len, feed.calendar.days(feed.calendar.first, feed.calendar.last).values()))
    cost = gtfs.measured(sys.executable, gtfs.OURS, tmp_path / "feed.zip")
    assert cost.answer == f"{distinct} {days}"
    assert cost.cpu_seconds > 0
    assert cost.peak_mb > 10
