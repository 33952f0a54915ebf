"""A timetable in GTFS: the stops, lines, calls and days that an operator has made public.

A feed says where and when a trip could have been, never where one was: nothing here sees a trip, and messages may
quote what the feed says. Files are read when they are asked for, each column as texts of which each distinct one is
looked at once, so a feed of millions of stop times is a matter of seconds.

There are libraries for this, gtfs-kit and partridge. On 10 million stop times they take 20 and 25 CPU seconds, this
reader 13, in less memory (docs/scale.md, `python -m benchmarks.gtfs`); and a fault of the feed is said with its line.

What is not read: fares, shapes, transfers, and the areas of services on demand.
"""

from __future__ import annotations

from tapveil.inputs.gtfs.calls import Calls, Line
from tapveil.inputs.gtfs.feed import Feed, Stop, read_feed

__all__ = ["Calls", "Feed", "Line", "Stop", "read_feed"]
