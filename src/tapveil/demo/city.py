"""A generated city, Port Vesper, with people, and messy records of their trips: four modes, two separate weeks.

Same seed, same city, byte for byte. Made in bulk, a day at a time, so tens of millions of trips take a minute and
little memory. Nobody lives there, so its seed and its exact counts may be known.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tapveil.base.defaults import DEMO_TRIPS, Format
from tapveil.base.errors import UsageError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.vocabulary import MINUTES_PER_DAY
from tapveil.demo.geography import write_map
from tapveil.demo.people import People
from tapveil.demo.stops import FIRST, LAST, POSTCODES, Network, postcode
from tapveil.plan.model import preset_text

MOST_TRIPS_AS_CSV = 5_000_000
WEEKS = (date(2025, 3, 3), date(2025, 7, 7))
JOURNEYS = "journeys.toml"
"""The recommended plan."""
BUDGET = ("16", "1.5e-6")
"""What may ever be published of the city: the paper's release twice over."""
BROKEN = 0.002
FEW_TRIPS = 500
"""A day with fewer trips has no broken rows: one of them could be more than a release puts up with."""


def make_city(
    folder: Path,
    *,
    trips: int = DEMO_TRIPS,
    seed: int = 1,
    file_format: Format | None = None,
    days: Sequence[date] | None = None,
    progress: Reporter | None = None,
) -> Path:
    """Write trips, stops and two plans into a new folder; the path of the paper's plan is returned."""
    if trips < 1:
        raise UsageError("--trips must be at least 1")
    chosen: Format = file_format or ("csv" if trips <= MOST_TRIPS_AS_CSV else "parquet")
    new_folder(folder)
    (folder / "trips").mkdir()
    network = Network(np.random.default_rng([seed, 0]))
    days = days or [monday + timedelta(days=day) for monday in WEEKS for day in range(7)]
    sizes = dict(zip(days, _trips_per_day(days, trips), strict=True))
    made = 0

    with (progress or Silent()).stage(Stage.BUILDING_CITY, lambda: made, total=trips, unit="trips"):
        _write_stops(folder / "stops.csv", network.modes[0].stops)
        postcodes = [str(postcode(number)) for number in range(POSTCODES)]  # those of the busiest stops first
        write_map(folder / "places.geojson", {mode.name: mode.stops for mode in network.modes[1:]}, postcodes)
        people = People(np.random.default_rng([seed, 0, 1]), network, sizes)
        for index, (day, size) in enumerate(sizes.items()):
            table = _day(np.random.default_rng([seed, 1 + index]), people, day, size)
            if chosen == "csv":
                pa_csv.write_csv(_texts(table), folder / "trips" / f"{day}.csv")
            else:
                pq.write_table(_typed(table), folder / "trips" / f"{day}.parquet")
            made += size
    if chosen == "csv" and trips >= FEW_TRIPS:  # a download tool left its own last words in the first file
        with (folder / "trips" / f"{days[0]}.csv").open("a", encoding="utf-8") as file:
            file.write("<Error><Code>SlowDown</Code></Error>\n")
    modes = [mode.name for mode in network.modes]
    (folder / JOURNEYS).write_text(_journeys(chosen, days, modes), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(_paper(chosen, days), encoding="utf-8")
    return plan


def new_folder(folder: Path) -> None:
    """A folder that is there and empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists and is not empty; choose another folder, or remove it first")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be created: {error.strerror}") from None


_A_LIST = "# with columns name, mode, latitude, longitude; or areas as GeoJSON"
_A_MAP = 'path = "places.geojson"               # stops as points, postcodes as areas'


def _paper(file_format: Format, days: Sequence[date]) -> str:
    """The plan of the paper's release."""
    return _changed(
        "opal",
        file_format,
        {
            'name = "opal"': 'name = "port-vesper"',
            'title = "Tap-on': 'title = "Port Vesper: tap-on',
            "# first_day = 2016-08-08": f"first_day = {days[0]}",
            "# last_day = 2016-08-14": f"last_day = {days[-1]}",
            '# card = "card_id"': 'card = "card_id"',
            "# [places]  ": "[places]    ",
            f'# path = "places.csv"                 {_A_LIST}': _A_MAP,
        },
    )


def _journeys(file_format: Format, days: Sequence[date], modes: Sequence[str]) -> str:
    """The recommended plan, for the days of the first week: all days of a known world are measured."""
    week = [day for day in days if day < days[0] + timedelta(days=7)]
    return _changed(
        "journeys",
        file_format,
        {
            'name = "journeys"': 'name = "port-vesper-journeys"',
            'title = "Journeys': 'title = "Port Vesper: journeys',
            'modes = ["bus", "train"]  ': f"modes = {list(modes)}  ".replace("'", '"'),
            "first_day = 2016-08-08": f"first_day = {week[0]}",
            "last_day = 2016-08-14": f"last_day = {week[-1]}",
            f'path = "places.csv"                   {_A_LIST}': _A_MAP,
            "# [coarsen.location.bus]              # if stops are too many: publish larger areas instead": (
                "[coarsen.location.bus]                # bus stops are too many: publish their postcode instead"
            ),
            '# lookup = "stops.csv"': 'lookup = "stops.csv"',
            '# from = "stop_id"': 'from = "stop_id"',
            '# to = "postcode"': 'to = "postcode"',
        },
    )


def _changed(preset: str, file_format: Format, changes: Mapping[str, str]) -> str:
    text = preset_text(preset)
    asked = "# looked_at_trips = false             # state it: were bins, areas or tables chosen by looking at trips?"
    both = {
        'path = "trips/*" ': f'path = "trips/*.{file_format}" ',
        asked: "looked_at_trips = false               # the plan was there before the trips",
    }
    for old, new in {**both, **changes}.items():
        if old not in text:
            raise AssertionError(f"the preset {preset} has changed: {old}")
        text = text.replace(old, new)
    return text


def _write_stops(path: Path, bus_stops: tuple[str, ...]) -> None:
    """Where the bus stops lie; the newest twenty are not in the list yet."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["stop_id", "stop_name", "postcode"])
        for number, stop in enumerate(bus_stops[:-20]):
            street, road = FIRST[number % len(FIRST)], LAST[number // len(FIRST) % len(LAST)].title()
            writer.writerow([stop, f"{street} St at {road} Rd, Stand {number % 4 + 1}", postcode(number)])


def _trips_per_day(days: Sequence[date], trips: int) -> list[int]:
    """Weekends are quieter, and so is the second week; the parts add up to the whole."""
    usual = (1, 1, 1.02, 1.04, 1.05, 0.55, 0.42)
    weights = np.array([usual[day.weekday()] * (0.92 if day > WEEKS[1] else 1) for day in days])
    ends = np.round(np.cumsum(weights) / weights.sum() * trips).astype(int)
    return [int(size) for size in np.diff(ends, prepend=0)]


def _day(random: np.random.Generator, people: People, day: date, size: int) -> dict[str, Any]:
    """One day's trips as columns of numbers and codes; `None` marks of absence come as masks."""
    trips, modes = people.trips(random, day, size), people.network.modes
    return {
        "card": trips.card,
        "day": day,
        "mode": trips.mode,
        "modes": pa.array([mode.name for mode in modes]),
        "stops": pa.array(people.network.stops),
        "on": trips.on,
        "off": trips.off,
        "from": trips.start,
        "to": trips.stop,
        "no_on": random.random(size, dtype=np.float32) < 0.004,
        "no_off": random.random(size, dtype=np.float32) < np.array([mode.no_tap_off for mode in modes])[trips.mode],
        "broken": np.where(random.random(size) < BROKEN, random.integers(1, 4, size), 0) * (size >= FEW_TRIPS),
    }


def _common(trips: dict[str, Any]) -> dict[str, pa.Array]:
    coded = pa.DictionaryArray.from_arrays
    return {
        "card_id": pa.array(3_085_000_000_000_000 + trips["card"] * 97),
        "mode": coded(pa.array(trips["mode"], mask=trips["broken"] == 1), trips["modes"]),
        "tap_on_location": coded(pa.array(trips["from"], mask=trips["no_on"]), trips["stops"]),
        "tap_off_location": coded(pa.array(trips["to"], mask=trips["no_off"]), trips["stops"]),
    }


_ORDER = ["card_id", "trip_date", "mode", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"]


def _typed(trips: dict[str, Any]) -> pa.Table:
    """As a data warehouse exports it: dates and timestamps."""
    columns, day = _common(trips), np.datetime64(trips["day"])
    columns["trip_date"] = pa.array(np.full(len(trips["mode"]), day), pa.date32(), mask=trips["broken"] > 1)
    for end, missing in (("on", "no_on"), ("off", "no_off")):
        moments = day.astype("datetime64[s]") + trips[end] * np.timedelta64(60, "s")
        columns[f"tap_{end}_time"] = pa.array(moments, pa.timestamp("s"), mask=trips[missing])
    return pa.table({name: columns[name] for name in _ORDER})


def _texts(trips: dict[str, Any]) -> pa.Table:
    """As a text export: clock times that run past 24:00, empty fields, a few that are garbled."""
    columns = {name: column.cast(pa.string()) for name, column in _common(trips).items()}
    columns["trip_date"] = pa.compute.if_else(pa.array(trips["broken"] == 2), "30/02/2025", str(trips["day"]))
    clock = pa.array([f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(2 * MINUTES_PER_DAY)])
    for end, missing in (("on", "no_on"), ("off", "no_off")):
        columns[f"tap_{end}_time"] = clock.take(pa.array(trips[end], mask=trips[missing]))
    garbled = pa.array(trips["broken"] == 3)
    columns["tap_on_time"] = pa.compute.if_else(garbled, "2S:61", columns["tap_on_time"])
    return pa.table({name: columns[name] for name in _ORDER})
