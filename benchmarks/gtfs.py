"""What reading a timetable costs: our reader next to gtfs-kit and partridge, each in a process of its own.

All of them answer the same question: at which second of a service day may someone board or alight at which stop, by
service and type of route, each once; and on how many days each service runs. The others are asked with the python of
an environment that has them: `python -m benchmarks.gtfs --others DIR/bin/python [--feed FEED.zip]`. Without a feed, one
of 10 million stop times is generated.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

CALLS_PER_TRIP = 40
STOPS, ROUTES, SERVICES = 5_000, 200, 3

OURS = """
import sys
from pathlib import Path
from tapveil.inputs.gtfs import read_feed
feed = read_feed(Path(sys.argv[1]))
calls, days = feed.calls(), feed.calendar.days(feed.calendar.first, feed.calendar.last)
print(len(calls.second), sum(map(len, days.values())))
"""
_TAIL = """
trips = trips.merge(routes[["route_id", "route_type"]], on="route_id")
calls = times.merge(trips[["trip_id", "service_id", "route_type"]], on="trip_id")
seconds = pandas.concat([calls[["service_id", "route_type", "stop_id"]].assign(second=calls[end]) for end in ENDS])
print(len(seconds.dropna().drop_duplicates()), days)
"""
GTFS_KIT = (
    """
import sys, gtfs_kit, pandas
ENDS = ("arrival_time", "departure_time")
feed = gtfs_kit.read_feed(sys.argv[1], dist_units="km")
times, trips, routes = feed.stop_times, feed.trips, feed.routes
for end in ENDS:
    distinct = times[end].drop_duplicates().dropna()
    times[end] = times[end].map(dict(zip(distinct, map(gtfs_kit.helpers.timestr_to_seconds, distinct))))
days = sum(len(feed.get_active_services(day)) for day in feed.get_dates())
"""
    + _TAIL
)
PARTRIDGE = (
    """
import sys, partridge, pandas
ENDS = ("arrival_time", "departure_time")
feed = partridge.load_feed(sys.argv[1])
times, trips, routes = feed.stop_times, feed.trips, feed.routes
days = sum(map(len, partridge.read_service_ids_by_date(sys.argv[1]).values()))
"""
    + _TAIL
)


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    answer: str
    cpu_seconds: float
    peak_mb: int


def generate(path: Path, stop_times: int) -> None:
    """A feed of trips that call at one stop after the other, each a minute later."""
    trips = stop_times // CALLS_PER_TRIP
    chance = np.random.default_rng(1)
    starts, first = chance.integers(4 * 60, 24 * 60, trips), chance.integers(0, STOPS - CALLS_PER_TRIP, trips)
    step = np.arange(CALLS_PER_TRIP)
    clocks = np.array([f"{minute // 60:02d}:{minute % 60:02d}:00" for minute in range(26 * 60)])
    minutes = (starts[:, None] + step).ravel()
    table = pa.table(
        {
            "trip_id": np.repeat(np.arange(trips), CALLS_PER_TRIP),
            "arrival_time": pa.array(clocks).take(pa.array(minutes)),
            "departure_time": pa.array(clocks).take(pa.array(minutes)),
            "stop_id": (first[:, None] + step).ravel(),
            "stop_sequence": np.tile(step, trips),
        }
    )
    small = {
        "agency.txt": "agency_id,agency_name,agency_url,agency_timezone\n1,A,https://example.org,Australia/Sydney\n",
        "stops.txt": "stop_id,stop_name,stop_lat,stop_lon\n"
        + "".join(f"{stop},Stop {stop},{-33 - stop / 10**4},151.0\n" for stop in range(STOPS)),
        "routes.txt": "route_id,agency_id,route_short_name,route_long_name,route_type\n"
        + "".join(f"{route},1,{route},,3\n" for route in range(ROUTES)),
        "trips.txt": "route_id,service_id,trip_id\n"
        + "".join(f"{trip % ROUTES},{trip % SERVICES},{trip}\n" for trip in range(trips)),
        "calendar.txt": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
        + "".join(f"{service},1,1,1,1,1,0,0,20250303,20250601\n" for service in range(SERVICES)),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in small.items():
            archive.writestr(name, text)
        with archive.open("stop_times.txt", "w", force_zip64=True) as file:
            pa_csv.write_csv(table, file)


def measured(python: str, program: str, feed: Path) -> Cost:
    """CPU seconds and peak memory of a process that reads the feed."""
    with subprocess.Popen([python, "-c", program, str(feed)], stdout=subprocess.PIPE, text=True) as process:
        answer = process.stdout.read() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the reader ended with {process.returncode}")
    return Cost(answer.strip(), used.ru_utime + used.ru_stime, used.ru_maxrss >> 10)


def main() -> None:
    """Print a row for each reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", help="the python of an environment with gtfs-kit and partridge")
    parser.add_argument("--feed", type=Path)
    parser.add_argument("--stop-times", type=int, default=10_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        feed = options.feed or Path(folder) / "feed.zip"
        if options.feed is None:
            generate(feed, options.stop_times)
        readers = [("tapveil", sys.executable, OURS)]
        if options.others:
            readers += [("gtfs-kit", options.others, GTFS_KIT), ("partridge", options.others, PARTRIDGE)]
        print("| reader | CPU seconds | peak MB | calls, days of services |\n|---|---:|---:|---|")
        for name, python, program in readers:
            cost = measured(python, program, feed)
            print(f"| {name} | {cost.cpu_seconds:.1f} | {cost.peak_mb:,} | {cost.answer} |", flush=True)


if __name__ == "__main__":
    main()
