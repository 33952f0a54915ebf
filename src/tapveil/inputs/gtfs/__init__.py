"""A timetable in GTFS: the stops, lines, calls and days that an operator has made public.

A feed states where and when a trip is possible, never where one was: nothing here sees a trip, and messages may
quote the feed. Files are read on demand, and each distinct text of a column is parsed once, so
a feed with millions of stop times takes seconds.

There are libraries for this, gtfs-kit and partridge. On 10 million stop times they take 20 and 25 CPU seconds, this
reader 13, in less memory (docs/scale.md, `python -m benchmarks.gtfs`); and it reports mistakes with their line.

Not read: fares, shapes, transfers, and areas of on-demand services.
"""

from __future__ import annotations

from tapveil.inputs.gtfs.calls import Calls, Line
from tapveil.inputs.gtfs.feed import Feed, Stop, read_feed

__all__ = ["Calls", "Feed", "Line", "Stop", "read_feed"]
