"""Generated rides on a real timetable, released with the timetable as the dictionary of cells.

Same feed, same seed, same rides. Nobody took them, so their seed and their exact counts may be known.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from importlib.resources import files
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from tapveil.base.errors import InputFileError, UsageError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.demo.city import new_folder
from tapveil.inputs.gtfs import Calls, Feed, read_feed
from tapveil.inputs.timetable import plain_mode

DAYS = 7
BUDGET = ("16", "0")
"""What may ever be published of the rides: this release twice over, without any δ."""
NO_TAP_OFF = 0.05
TRIPS_PER_CARD = 18


def make_rides(folder: Path, gtfs: Path, *, trips: int, seed: int = 1, progress: Reporter | None = None) -> Path:
    """Write rides, the feed and a plan into a new folder; the plan's path is returned."""
    if trips < 1:
        raise UsageError("--trips must be at least 1")
    feed = read_feed(gtfs)
    if not feed.has_lines:
        raise InputFileError(f"{gtfs.name} has only stops: rides need a timetable with routes, trips and stop times")
    week = _week(feed)
    new_folder(folder)
    (folder / "trips").mkdir()
    made = 0
    with (progress or Silent()).stage(Stage.RIDING, lambda: made, total=trips, unit="trips"):
        copy = folder / ("gtfs.zip" if gtfs.is_file() else "gtfs")
        shutil.copyfile(gtfs, copy) if gtfs.is_file() else shutil.copytree(gtfs, copy)
        for day, rides in _rides(feed, week, trips, seed):
            pa_csv.write_csv(rides, folder / "trips" / f"{day}.csv")
            made += len(rides)
    plan = folder / "plan.toml"
    text = files(__package__).joinpath("rides.toml").read_text(encoding="utf-8")
    plan.write_text(text.format(first_day=week[0], last_day=week[-1], gtfs=copy.name), encoding="utf-8")
    return plan


def _week(feed: Feed) -> list[date]:
    """A week of the calendar from its first Monday on."""
    first = feed.calendar.first + timedelta(days=-feed.calendar.first.weekday() % 7)
    first = first if first + timedelta(days=DAYS - 1) <= feed.calendar.last else feed.calendar.first
    return [first + timedelta(days=number) for number in range(DAYS)]


def _rides(feed: Feed, week: list[date], trips: int, seed: int) -> Iterator[tuple[date, pa.Table]]:
    calls, services = feed.calls(), feed.calendar.days(week[0], week[-1])
    running = {
        day: np.isin(calls.service, [n for n, name in enumerate(calls.services) if day in services.get(name, ())])
        for day in week
    }
    passed = list(accumulate((int(active.sum()) for active in running.values()), initial=0))
    if not passed[-1]:
        raise InputFileError("the timetable has no service in its first week")
    until = [trips * each // passed[-1] for each in passed]
    for number, (day, active) in enumerate(running.items()):
        size = until[number + 1] - until[number]  # in proportion, and exact in total
        if size:
            random = np.random.default_rng([seed, number])
            yield day, _day(random, calls, active, day, size, max(1, trips // TRIPS_PER_CARD))


def _day(
    random: np.random.Generator, calls: Calls, active: npt.NDArray[np.bool_], day: date, size: int, cards: int
) -> pa.Table:
    """Rides of one service day: someone boards at a call, a little late, and alights at a later one."""
    boarding, alighting = np.flatnonzero(active & calls.boards), np.flatnonzero(active & calls.alights)
    popular = 1 / (1 + calls.stop[boarding] % 37)  # a few stops are busy, most are quiet
    on = random.choice(boarding, size, p=popular / popular.sum())
    ready = calls.second[on] + 60 * random.integers(5, 40, size)
    by_time = alighting[np.argsort(calls.second[alighting], kind="stable")]
    later = np.searchsorted(calls.second[by_time], ready) + random.integers(0, 30, size)
    off = by_time[np.minimum(later, len(by_time) - 1)]
    delay = np.clip(random.normal(90, 150, (2, size)), -180, 1200).astype(np.int64)
    done = (random.random(size) > NO_TAP_OFF) & (calls.second[off] > calls.second[on])
    stops, midnight = pa.array(calls.stop_ids), np.datetime64(datetime.combine(day, time()), "s")
    seconds = np.stack([calls.second[on], calls.second[off]]) + delay
    moments = midnight + seconds.astype("timedelta64[s]")
    return pa.table(
        {
            "card": pa.array(random.integers(0, cards, size) + 10**9),
            "mode": pa.array([plain_mode(int(kind)) for kind in calls.route_type[on]]),
            "tap_on": pa.array(moments[0]).cast(pa.string()),
            "on_stop": stops.take(pa.array(calls.stop[on])),
            "tap_off": pa.array(moments[1], mask=~done).cast(pa.string()),
            "off_stop": stops.take(pa.array(calls.stop[off], mask=~done)),
        }
    )
