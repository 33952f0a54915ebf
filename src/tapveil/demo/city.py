"""A generated city, Port Vesper, with realistic, messy trips: four modes, two separate weeks.

Same seed, same city, byte for byte. Made in bulk, a day at a time, so tens of millions of trips take a minute and
little memory. Nobody lives there, so its seed and its exact counts may be known.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tapveil.base.defaults import DEMO_TRIPS, Format
from tapveil.base.errors import UsageError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.vocabulary import MINUTES_PER_DAY
from tapveil.demo.geography import write_map
from tapveil.plan.model import preset_text

MOST_TRIPS_AS_CSV = 5_000_000
WEEKS = (date(2025, 3, 3), date(2025, 7, 7))
BUDGET = ("16", "1.5e-6")
"""What may ever be published of the city: the paper's release twice over."""
TRIPS_PER_CARD = 18
BROKEN = 0.002
FEW_TRIPS = 500
"""A day with fewer trips has no broken rows: one of them could be more than a release puts up with."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Mode:
    """One way to travel: its share of trips, its stops, and how untidy its records are."""

    name: str
    share: float
    stops: tuple[str, ...]
    minutes: float
    no_tap_off: float


def make_city(
    folder: Path,
    *,
    trips: int = DEMO_TRIPS,
    seed: int = 1,
    file_format: Format | None = None,
    days: Sequence[date] | None = None,
    progress: Reporter | None = None,
) -> Path:
    """Write trips, stops and a plan into a new folder; the plan's path is returned."""
    if trips < 1:
        raise UsageError("--trips must be at least 1")
    chosen: Format = file_format or ("csv" if trips <= MOST_TRIPS_AS_CSV else "parquet")
    new_folder(folder)
    (folder / "trips").mkdir()
    modes = _modes(np.random.default_rng([seed, 0]))
    days = days or [monday + timedelta(days=day) for monday in WEEKS for day in range(7)]
    made = 0

    with (progress or Silent()).stage(Stage.BUILDING_CITY, lambda: made, total=trips, unit="trips"):
        _write_stops(folder / "stops.csv", modes[0].stops)
        postcodes = [str(_postcode(number)) for number in range(POSTCODES)]  # those of the busiest stops first
        write_map(folder / "places.geojson", {mode.name: mode.stops for mode in modes[1:]}, postcodes)
        for index, (day, size) in enumerate(zip(days, _trips_per_day(days, trips), strict=True)):
            table = _day(np.random.default_rng([seed, 1 + index]), modes, day, size, max(1, trips // TRIPS_PER_CARD))
            if chosen == "csv":
                pa_csv.write_csv(_texts(table), folder / "trips" / f"{day}.csv")
            else:
                pq.write_table(_typed(table), folder / "trips" / f"{day}.parquet")
            made += size
    if chosen == "csv" and trips >= FEW_TRIPS:  # a download tool left its own last words in the first file
        with (folder / "trips" / f"{days[0]}.csv").open("a", encoding="utf-8") as file:
            file.write("<Error><Code>SlowDown</Code></Error>\n")
    plan = folder / "plan.toml"
    plan.write_text(_plan_text(chosen, days), encoding="utf-8")
    return plan


def new_folder(folder: Path) -> None:
    """A folder that is there and empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists and is not empty; choose another folder, or remove it first")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be created: {error.strerror}") from None


def _plan_text(file_format: Format, days: Sequence[date]) -> str:
    text = preset_text("opal")
    for old, new in {
        'name = "opal"': 'name = "port-vesper"',
        'title = "Tap-on': 'title = "Port Vesper: tap-on',
        'path = "trips/*" ': f'path = "trips/*.{file_format}" ',
        "# first_day = 2016-08-08": f"first_day = {days[0]}",
        "# last_day = 2016-08-14": f"last_day = {days[-1]}",
        '# card = "card_id"': 'card = "card_id"',
        "# looked_at_trips = false             # state it: were bins, areas or tables chosen by looking at trips?": (
            "looked_at_trips = false               # the plan was there before the trips"
        ),
        "# [places]  ": "[places]    ",
        '# path = "places.csv"                 # with columns name, mode, latitude, longitude; or areas as GeoJSON': (
            'path = "places.geojson"               # stops as points, postcodes as areas'
        ),
    }.items():
        if old not in text:
            raise AssertionError(f"the opal preset has changed: {old}")
        text = text.replace(old, new)
    return text


BUS_STOPS, STATIONS, WHARVES, TRAM_STOPS, POSTCODES = 6000, 170, 36, 23, 180

_FIRST = (
    "Ash Bell Cope Dun East Fern Glen Hazel Iron Kings Lark Mill North Oak Penn Quarry Rose Stone Thorn West".split()
)
_LAST = "brook bury dale field ford gate ham haven hill hurst ley mere mouth port side stead ton vale wick wood".split()
_ODD_STATIONS = ("São Bento", "Žižkov Tunnel", "St. Mary's", "東門", "O'Connell St, North", 'The "Folly"')
_ODD_WHARVES = ("Vesper Quay, No. 3 Wharf", "Vesper Quay, No. 4 Wharf", 'Fisher\'s "Long" Pier', "Île aux Cygnes")
_ODD_TRAM_STOPS = ("Königsplatz", "Paddy's Market", "Convention, East & West")


def _modes(random: np.random.Generator) -> tuple[Mode, ...]:
    names = [first + last for first in _FIRST for last in _LAST]
    random.shuffle(names)
    stations = (*_ODD_STATIONS, *(f"{name} Station" for name in names))[:STATIONS]
    wharves = (*_ODD_WHARVES, *(f"{name} Wharf" for name in names[200:]))[:WHARVES]
    tram_stops = (*_ODD_TRAM_STOPS, *(f"{name} Light Rail" for name in names[300:]))[:TRAM_STOPS]
    bus_stops = tuple(f"{200000 + 7 * number}" for number in range(BUS_STOPS))
    return (
        Mode("bus", 0.42, bus_stops, 22, 0.06),
        Mode("train", 0.46, stations, 34, 0.01),
        Mode("ferry", 0.05, wharves, 25, 0.004),
        Mode("lightrail", 0.07, tram_stops, 14, 0.03),
    )


def _postcode(stop: int) -> int:
    return 2000 + 37 * stop % POSTCODES


def _write_stops(path: Path, bus_stops: tuple[str, ...]) -> None:
    """Where the bus stops lie; the newest twenty are not in the list yet."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["stop_id", "stop_name", "postcode"])
        for number, stop in enumerate(bus_stops[:-20]):
            street, road = _FIRST[number % len(_FIRST)], _LAST[number // len(_FIRST) % len(_LAST)].title()
            writer.writerow([stop, f"{street} St at {road} Rd, Stand {number % 4 + 1}", _postcode(number)])


def _trips_per_day(days: Sequence[date], trips: int) -> list[int]:
    """Weekends are quieter, and so is the second week; the parts add up to the whole."""
    usual = (1, 1, 1.02, 1.04, 1.05, 0.55, 0.42)
    weights = np.array([usual[day.weekday()] * (0.92 if day > WEEKS[1] else 1) for day in days])
    ends = np.round(np.cumsum(weights) / weights.sum() * trips).astype(int)
    return [int(size) for size in np.diff(ends, prepend=0)]


def _day(random: np.random.Generator, modes: tuple[Mode, ...], day: date, size: int, cards: int) -> dict[str, Any]:
    """One day's trips as columns of numbers and codes; `None` marks of absence come as masks."""
    mode = random.choice(len(modes), size, p=[each.share for each in modes])
    start = _start_minutes(random, day, size)
    ride = 3 + random.gamma(2.0, np.array([each.minutes for each in modes])[mode] / 2).astype(np.int64)
    return {
        "card": random.integers(0, cards, size),
        "day": day,
        "mode": mode,
        "modes": modes,
        "on": start,
        "off": np.minimum(start + ride, 2 * MINUTES_PER_DAY - 1),
        "from": _places(random, modes, mode),
        "to": _places(random, modes, mode),
        "no_on": random.random(size) < 0.004,
        "no_off": random.random(size) < np.array([each.no_tap_off for each in modes])[mode],
        "broken": np.where(random.random(size) < BROKEN, random.integers(1, 4, size), 0) * (size >= FEW_TRIPS),
    }


def _start_minutes(random: np.random.Generator, day: date, size: int) -> Ints:
    """Two peaks on a working day, one broad hump at the weekend, and some trips after midnight."""
    weekday = [(0.33, 490, 45), (0.33, 1050, 65), (0.25, 780, 150), (0.09, 1290, 100)]
    weekend = [(0.72, 810, 180), (0.28, 1230, 130)]
    humps = np.array(weekday if day.weekday() < 5 else weekend)
    which = random.choice(len(humps), size, p=humps[:, 0])
    minutes: npt.NDArray[np.float64] = random.normal(humps[which, 1], humps[which, 2])
    return np.clip(minutes, 240, MINUTES_PER_DAY + 180).astype(np.int64)


def _places(random: np.random.Generator, modes: tuple[Mode, ...], mode: Ints) -> Ints:
    """A stop for each trip, as its number among all stops: a few are busy, most are quiet."""
    places = np.empty(len(mode), dtype=np.int64)
    first = 0
    for index, each in enumerate(modes):
        rows = np.flatnonzero(mode == index)
        popularity = np.cumsum(1 / (4 + np.arange(len(each.stops))))
        places[rows] = first + np.searchsorted(popularity, random.random(len(rows)) * popularity[-1])
        first += len(each.stops)
    return places


def _common(trips: dict[str, Any]) -> dict[str, pa.Array]:
    stops = pa.array([stop for mode in trips["modes"] for stop in mode.stops])
    modes = pa.array([mode.name for mode in trips["modes"]])
    coded = pa.DictionaryArray.from_arrays
    return {
        "card_id": pa.array(3_085_000_000_000_000 + trips["card"] * 97),
        "mode": coded(pa.array(trips["mode"], mask=trips["broken"] == 1), modes),
        "tap_on_location": coded(pa.array(trips["from"], mask=trips["no_on"]), stops),
        "tap_off_location": coded(pa.array(trips["to"], mask=trips["no_off"]), stops),
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
