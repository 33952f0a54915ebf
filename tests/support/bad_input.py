"""Every kind of bad input that a data officer can meet when tapveil reads their files, and what is said of it.

Each case damages a small folder in which all was well, and runs one command in it.
`python -m tests.support.bad_input --write` writes what came of them to docs/bad-input.md, so that the page says what
the program says.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.internal.confidential import NOTICE
from tests.support.commands import Said, command
from tests.support.fuzz import AREAS, FEED, as_csv, zipped

PAGE = Path(__file__).parents[2] / "docs" / "bad-input.md"

Damage = Callable[[Path], object]
Row = tuple[str, ...]
Columns = tuple[str, ...]

TRIPS: Columns = ("card_id", "trip_date", "mode", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location")
TAPS: Columns = ("card_id", "trip_date", "mode", "action", "tap_time", "tap_location")
TRIP: Row = ("PRIVATE-CARD-1", "2019-04-02", "bus", "13:31", "A", "13:38", "B")
OTHER: Row = ("PRIVATE-CARD-2", "2019-04-03", "ferry", "13:34", "PRIVATE-STATION-Quay", "", "")
ON: Row = ("PRIVATE-CARD-1", "2019-04-02", "bus", "Enter", "13:31", "A")
OFF: Row = ("PRIVATE-CARD-1", "2019-04-02", "bus", "Exit", "13:38", "B")
PAIRS = 100
"""Of rows in each export: so that one row is half a per cent."""


@dataclass(frozen=True)
class Bad:
    """Something that is wrong, and the exit code of the command that meets it."""

    what: str
    code: int
    damage: Damage
    command: tuple[str, ...] = ("check", "plan.toml")


def telling(said: Said) -> str:
    """The error; where there is none, what the report of the holder says of rows, and what is to be looked into."""
    return said.err.strip() or "\n".join(_about_rows(said.out))


def _about_rows(report: str) -> Iterator[str]:
    _, _, after = report.partition(f"{NOTICE} Do not publish. ---\n")
    found = ("Days: ", "Modes: ")  # these are the holder's, and no fault
    yield from (line for line in after.partition("\n\n")[0].splitlines() if line and not line.startswith(found))
    about = re.compile(r"[\d,]+ rows (\([^)]*\) )?are|No row is|.*beside the trips")
    yield from filter(about.match, after.splitlines())


def pairs(one: Row, other: Row, number: int = PAIRS) -> list[Row]:
    """Both rows, again and again, each time of another card: copies would be remarked upon."""
    return [(f"{row[0]}{turn}", *row[1:]) for turn in range(number) for row in (one, other)]


# --- a folder in which all is well --------------------------------------------------------------------------------

_OF_TRIPS = """\
card = "card_id"
mode = "mode"
date = "trip_date"
tap_on_time = "tap_on_time"
tap_on_location = "tap_on_location"
tap_off_time = "tap_off_time"
tap_off_location = "tap_off_location"
"""
_OF_TAPS = """\
card = "card_id"
mode = "mode"
date = "trip_date"
tap = "action"
tap_time = "tap_time"
tap_location = "tap_location"
"""
_TAPS = '[source.taps]\non = ["Enter"]\noff = ["Exit"]\n\n'
_COARSEN = "[coarsen]\ntime_minutes = 60\n\n"
_LOOKUP = '[coarsen.location.bus]\nlookup = "stops.csv"\nfrom = "stop_id"\nto = "postcode"\n\n'
_GTFS = '[gtfs]\npath = "gtfs.zip"\n\n'
_POLYGONS = '[coarsen.location.bus]\npolygons = "suburbs.geojson"\nname = "name"\n\n'
_PRIVACY = '[privacy]\nunit = "trip"\nneighbours = "replace"\nmechanism = "sbh"\n'
_TABLE = '\n[[table]]\nname = "on"\ncolumns = ["tap_on_time", "tap_on_location"]\nepsilon = 1\ndelta = 1e-7\n'
_LISTED, _LISTED_TABLE = _PRIVACY.replace("sbh", "dictionary"), _TABLE.replace("delta = 1e-7", 'cells = "gtfs"')


def _plan(path: str, source: str, columns: str, *sections: str) -> str:
    head = '[release]\nname = "trips"\ntitle = "Trips"\n\n'
    trips = f'[source]\npath = "{path}"\n{source}\n[source.columns]\n{columns}\n'
    return "".join([head, trips, *sections])


PLANS = {
    "plan.toml": _plan("trips.csv", "", _OF_TRIPS, _COARSEN, _LOOKUP, _PRIVACY, _TABLE),
    "taps.toml": _plan("taps.csv", 'shape = "taps"\n', _OF_TAPS, _TAPS, _COARSEN, _PRIVACY, _TABLE),
    "areas.toml": _plan("trips.csv", "", _OF_TRIPS, _COARSEN, _POLYGONS, _GTFS, _PRIVACY, _TABLE),
    "listed.toml": _plan("trips.csv", "", _OF_TRIPS, _COARSEN, _GTFS, _LISTED, _LISTED_TABLE),
}


@cache
def sound() -> dict[str, bytes]:
    """A folder in which all is well, by the names of its files."""
    return {
        **{name: text.encode() for name, text in PLANS.items()},
        "trips.csv": as_csv([TRIPS, *pairs(TRIP, OTHER)]),
        "taps.csv": as_csv([TAPS, *pairs(ON, OFF)]),
        "stops.csv": b"stop_id,postcode\nA,2000\nB,2000\nC,2010\n",
        "gtfs.zip": zipped({name: text.encode() for name, text in FEED.items()}),
        "suburbs.geojson": json.dumps(AREAS).encode(),
    }


# --- damage -------------------------------------------------------------------------------------------------------


def edit(old: str, new: str, name: str = "plan.toml") -> Damage:
    """Other words in a file."""

    def damage(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text, (name, old)
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return damage


def write(data: bytes | str, name: str = "trips.csv") -> Damage:
    return lambda folder: (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def nothing(folder: Path) -> None:
    """All is well, but for the command."""


def gone(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def both(*damages: Damage) -> Damage:
    def damage(folder: Path) -> None:
        for each in damages:
            each(folder)

    return damage


def instead(name: str, data: bytes) -> Damage:
    """Trips in a file of another name."""
    return both(gone("trips.csv"), edit('path = "trips.csv"', f'path = "{name}"'), write(data, name))


def rows(*bad: Row, good: int = PAIRS, header: Sequence[str] = TRIPS) -> Damage:
    """Rows that are bad after those that are good."""
    return write(as_csv([header, *pairs(TRIP, OTHER, good), *bad]))


def every(**values: str) -> Damage:
    """Every trip with these values in it."""
    return rows(*[_with(TRIP, **values)] * PAIRS, good=0)


def some(*, times: int = 20, **values: str) -> Damage:
    """Some trips with these values in it."""
    return rows(*[_with(TRIP, **values)] * times)


def _with(row: Row, **values: str) -> Row:
    return tuple(values.get(name, text) for name, text in zip(TRIPS, row, strict=True))


def source(*lines: str, name: str = "plan.toml") -> Damage:
    """More lines under [source]."""
    return edit("\n[source.columns]", "\n".join(lines) + "\n\n[source.columns]", name)


def feed(**changes: str | None) -> Damage:
    """The timetable with some of its files changed, or left out."""
    files = {**FEED, **{f"{name}.txt": text for name, text in changes.items()}}
    return write(zipped({name: text.encode() for name, text in files.items() if text is not None}), "gtfs.zip")


def areas(**changes: object) -> Damage:
    """The areas with the first feature changed."""
    first, *others = json.loads(json.dumps(AREAS))["features"]
    return write(json.dumps({**AREAS, "features": [{**first, **changes}, *others]}), "suburbs.geojson")


def typed(**arrays: pa.Array) -> Damage:
    """Trips as Parquet, with columns of other types."""
    columns = dict(zip(TRIPS, map(pa.array, zip(*[TRIP] * PAIRS, strict=True)), strict=True))
    return instead("trips.parquet", _parquet({**columns, **arrays}))


def _parquet(columns: dict[str, pa.Array]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


@cache
def _good_parquet() -> bytes:
    columns = zip(*pairs(TRIP, OTHER, 2000), strict=True)
    return _parquet({name: pa.array(column) for name, column in zip(TRIPS, columns, strict=True)})


def _damaged(data: bytes) -> bytes:
    return data[:40] + b"\xff" * 160 + data[200:]


def _text() -> str:
    return sound()["trips.csv"].decode()


def _workbook() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(zipfile.ZipInfo("xl/workbook.xml"), "<workbook/>")
    return sink.getvalue()


def _hard_link(folder: Path) -> None:
    os.link(folder / "trips.csv", folder / "again.csv")
    edit('path = "trips.csv"', 'path = ["trips.csv", "again.csv"]')(folder)


def _in_metres(folder: Path) -> None:
    square = [[334_000.0, 6_250_000.0], [335_000.0, 6_250_000.0], [335_000.0, 6_251_000.0], [334_000.0, 6_250_000.0]]
    areas(geometry={"type": "Polygon", "coordinates": [square]})(folder)


def _latitude_first(folder: Path) -> None:
    square = [[-34.0, 151.0], [-34.0, 151.2], [-33.0, 151.2], [-34.0, 151.0]]
    areas(geometry={"type": "Polygon", "coordinates": [square]})(folder)


# --- the cases ----------------------------------------------------------------------------------------------------

TAPS_CHECK = ("check", "taps.toml")
AREAS_CHECK = ("check", "areas.toml")
LISTED_CHECK = ("check", "listed.toml")
INIT = ("init", "trips.csv", "-o", "new.toml")


def init_of(name: str) -> tuple[str, ...]:
    return ("init", name, "-o", "new.toml")


SECTIONS: dict[str, list[Bad]] = {
    "Files": [
        Bad("the file is not there", 3, gone("trips.csv")),
        Bad("a folder instead of a file", 3, both(edit('"trips.csv"', '"days"'), lambda d: (d / "days").mkdir())),
        Bad("a file by two names", 3, _hard_link),
        Bad("an empty file", 3, write("")),
        Bad("a header and nothing else", 1, rows(good=0)),
        Bad("an Excel workbook that is damaged", 3, instead("trips.xlsx", _workbook())),
        Bad("an Excel workbook that is called .csv", 3, write(_workbook())),
        Bad("a gzip file without .gz", 3, write(gzip.compress(b"x", mtime=0))),
        Bad("a file called .gz that is none", 3, instead("trips.csv.gz", b"card_id,mode\n")),
        Bad(
            "a gzip file that is cut off near its start",
            3,
            instead("trips.csv.gz", gzip.compress(sound()["trips.csv"], mtime=0)[:30]),
        ),
        Bad(
            "a gzip file that is cut off near its end",
            3,
            instead("trips.csv.gz", gzip.compress(sound()["trips.csv"] * 300, mtime=0)[:-40]),
        ),
        Bad("a Parquet file that is cut off", 3, instead("trips.parquet", _good_parquet()[:-5000])),
        Bad("a Parquet file that is damaged inside", 3, instead("trips.parquet", _damaged(_good_parquet()))),
        Bad("CSV that is called .parquet", 3, instead("trips.parquet", sound()["trips.csv"])),
        Bad("UTF-16", 3, write(_text().encode("utf-16"))),
        Bad("UTF-16 without its mark", 3, write(_text().encode("utf-16-le"))),
        Bad(
            "Windows-1252, and the plan does not say so",
            1,
            write(_text().replace("STATION", "Château").encode("cp1252")),
        ),
        Bad("line ends of an old Mac", 3, write(_text().replace("\n", "\r"))),
        Bad("an empty first line", 3, write("\n" + _text())),
        Bad("a title above the header", 3, write("Trips in April\n" + _text())),
    ],
    "Lines": [
        Bad("a quote in the header that is not closed", 3, write(_text().replace("mode", '"mode', 1))),
        Bad("a quote in a row that is not closed", 0, write(_text() + ",".join(TRIP).replace("bus", '"bus') + "\n")),
        Bad("texts in quotes that run over two lines", 1, every(tap_on_location="Central\nStation")),
        Bad(
            "rows with a comma too many",
            1,
            write(_text().replace(",A,", ",First St, A,")),
        ),
        Bad("rows that are there twice", 0, write(_text() + _text().partition("\n")[2])),
        Bad("the last words of a download tool", 0, write(_text() + "<Error><Code>SlowDown</Code></Error>\n")),
    ],
    "Columns": [
        Bad("no header", 3, write(_text().partition("\n")[2])),
        Bad("a column that is spelt otherwise in the plan", 3, edit('"tap_on_time"', '"tap_on_tiem"')),
        Bad("columns that are not there", 3, both(edit('"mode"', '"transport"'), edit('"trip_date"', '"Datum"'))),
        Bad("two columns of one name", 3, rows(header=(*TRIPS[:5], "mode", TRIPS[6]))),
        Bad("two columns whose names differ in case", 3, rows(header=(*TRIPS[:5], "MODE", TRIPS[6]))),
        Bad("a delimiter that is not the file's", 3, source('delimiter = ";"')),
        Bad("a delimiter of two characters", 2, source('delimiter = "||"')),
        Bad("dates where times should be (Parquet)", 3, typed(tap_on_time=pa.array([17988] * PAIRS, pa.date32()))),
        Bad(
            "times with a zone, and the plan has none (Parquet)",
            2,
            typed(tap_on_time=pa.array([1554211860] * PAIRS, pa.timestamp("ms", "UTC"))),
        ),
        Bad("lists in a column (Parquet)", 1, typed(tap_on_time=pa.array([["13:31"]] * PAIRS))),
    ],
    "Dates and times": [
        Bad("some dates in another format", 1, some(trip_date="02/04/2019")),
        Bad("one such date among many", 0, some(times=1, trip_date="02/04/2019")),
        Bad("every date with the month first", 1, every(trip_date="04/02/2019")),
        Bad(
            "dates with the month first, the plan says the day",
            1,
            both(
                edit('date = "trip_date"', 'date = { column = "trip_date", format = "%d/%m/%Y" }'),
                every(trip_date="04/30/2019"),
            ),
        ),
        Bad("30 February", 1, some(trip_date="2019-02-30")),
        Bad("no date", 1, some(trip_date="")),
        Bad("times such as 0731", 1, every(tap_on_time="0731")),
        Bad("times such as 1.31 pm", 1, every(tap_on_time="1.31 pm")),
        Bad("times beyond two days", 1, some(tap_on_time="48:10")),
        Bad("another word for no tap", 1, some(tap_on_time="NA")),
        Bad("times with an offset, and the plan has no time zone", 1, every(tap_on_time="2019-04-02T13:31:00+11:00")),
        Bad(
            "an hour that daylight saving skips",
            1,
            both(source('timezone = "Australia/Sydney"'), some(trip_date="2019-10-06", tap_on_time="02:30")),
        ),
        Bad("no mode", 1, some(mode="")),
        Bad("days that the plan does not cover", 1, source("first_day = 2018-01-01", "last_day = 2018-01-31")),
        Bad("an unknown time zone", 2, source('timezone = "Australia/Sidney"')),
        Bad("a day that starts within a bin", 2, source('day_starts = "04:30"')),
        Bad("a day that starts at no time", 2, source('day_starts = "4 am"')),
        Bad("a day that starts at 04:00 where days are names", 2, source('dates = "labels"', 'day_starts = "04:00"')),
        Bad(
            "hours after midnight continued, of a day that starts at midnight",
            2,
            edit("time_minutes = 60", 'time_minutes = 60\nafter_midnight = "continued"'),
        ),
        Bad(
            "a format that is none",
            2,
            edit('date = "trip_date"', 'date = { column = "trip_date", format = "DD/MM/YYYY" }'),
        ),
        Bad("a first day without a last", 2, source("first_day = 2019-04-02")),
    ],
    "Taps": [
        Bad("taps, and not which rows are on and off", 2, edit(_TAPS, "", "taps.toml"), TAPS_CHECK),
        Bad("which rows are on and off, of trips", 2, edit('shape = "taps"', "", "taps.toml"), TAPS_CHECK),
        Bad("no column that says on or off", 2, edit('tap = "action"\n', "", "taps.toml"), TAPS_CHECK),
        Bad("a word that means both", 2, edit('off = ["Exit"]', 'off = ["Enter"]', "taps.toml"), TAPS_CHECK),
        Bad(
            "a column for each end",
            2,
            edit("tap_time =", 'tap_on_time = "tap_time"\ntap_time =', "taps.toml"),
            TAPS_CHECK,
        ),
        Bad(
            "a table of both ends, to protect trips",
            2,
            edit('["tap_on_time", "tap_on_location"]', '["tap_on_location", "tap_off_location"]', "taps.toml"),
            TAPS_CHECK,
        ),
        Bad(
            "a table of both ends, and taps without a card",
            2,
            both(
                edit('["tap_on_time", "tap_on_location"]', '["tap_on_location", "tap_off_location"]', "taps.toml"),
                edit('unit = "trip"', 'unit = "card"\ntrips_per_card = 4\nwithout_card = "own-unit"', "taps.toml"),
            ),
            TAPS_CHECK,
        ),
        Bad(
            "taps that belong together by vehicle, and no column of vehicles",
            2,
            edit('off = ["Exit"]', 'off = ["Exit"]\nsame = "vehicle"', "taps.toml"),
            TAPS_CHECK,
        ),
        Bad(
            "words for on and off that no row has",
            1,
            edit(_TAPS, '[source.taps]\non = ["in"]\noff = ["out"]\n\n', "taps.toml"),
            TAPS_CHECK,
        ),
        Bad(
            "some rows that are neither on nor off",
            0,
            write(
                as_csv([TAPS, *pairs(ON, OFF), *[(f"PRIVATE-{n}", *ON[1:3], "Purchase", *ON[4:]) for n in range(20)]]),
                "taps.csv",
            ),
            TAPS_CHECK,
        ),
    ],
    "Cards": [
        Bad(
            "cards are protected, and there is no column of cards",
            2,
            both(edit('card = "card_id"\n', ""), edit('unit = "trip"', 'unit = "card"\ntrips_per_card = 4')),
        ),
        Bad(
            "days of a card are protected, and the plan has one date for all rows",
            2,
            both(
                edit('date = "trip_date"', 'date = { value = "2019-04-02" }'),
                edit('unit = "trip"', 'unit = "card-day"\ntrips_per_day = 4\nwithout_card = "refuse"'),
            ),
        ),
        Bad(
            "rows without a card",
            1,
            both(edit('unit = "trip"', 'unit = "card"\ntrips_per_card = 4\nwithout_card = "refuse"'), some(card_id="")),
        ),
    ],
    "Lists of stops": [
        Bad("the list is not there", 3, gone("stops.csv")),
        Bad("a column of it that is not there", 3, edit('to = "postcode"', 'to = "postcod"')),
        Bad("a stop with two postcodes", 3, write("stop_id,postcode\nA,2000\nA,2010\n", "stops.csv")),
        Bad("a list that is not UTF-8", 3, write("stop_id,postcode\nCaf\xe9,2000\n".encode("latin-1"), "stops.csv")),
    ],
    "Timetables": [
        Bad("the timetable is not there", 3, gone("gtfs.zip"), AREAS_CHECK),
        Bad("a zip file that is cut off", 3, write(sound()["gtfs.zip"][:700], "gtfs.zip"), AREAS_CHECK),
        Bad("a zip file of something else", 3, write(_workbook(), "gtfs.zip"), AREAS_CHECK),
        Bad("stops.txt without stop_id", 3, feed(stops="id,stop_name\nA,First St\n"), AREAS_CHECK),
        Bad("a stop that is there twice", 3, feed(stops="stop_id\nA\nA\n"), AREAS_CHECK),
        Bad("a stop in metres", 3, feed(stops="stop_id,stop_lat,stop_lon\nA,6250000,334000\n"), AREAS_CHECK),
        Bad("another city's timetable", 0, feed(stops="stop_id,stop_lat,stop_lon\nX,-33.8,151.1\n"), AREAS_CHECK),
        Bad('cells = "gtfs", without stop_times.txt', 3, feed(stop_times=None), LISTED_CHECK),
        Bad('cells = "gtfs", without a calendar', 3, feed(calendar=None, calendar_dates=None), LISTED_CHECK),
        Bad(
            'cells = "gtfs", of a stop time that is none',
            3,
            feed(stop_times=FEED["stop_times.txt"].replace("13:05:00", "1305")),
            LISTED_CHECK,
        ),
        Bad('cells = "gtfs", and no timetable', 2, edit(_GTFS, "", "listed.toml"), LISTED_CHECK),
        Bad(
            'cells = "gtfs", on days that the timetable does not cover',
            3,
            source("first_day = 2018-01-01", "last_day = 2018-01-31", name="listed.toml"),
            LISTED_CHECK,
        ),
        Bad("a list of cells that is not there", 3, edit('"gtfs"\n', '"cells.csv"\n', "listed.toml"), LISTED_CHECK),
        Bad(
            "a list of cells without one of the columns",
            3,
            both(edit('"gtfs"\n', '"cells.csv"\n', "listed.toml"), write("mode,date,tap_on_time\n", "cells.csv")),
            LISTED_CHECK,
        ),
    ],
    "Areas": [
        Bad("the file of areas is not there", 3, gone("suburbs.geojson"), AREAS_CHECK),
        Bad("a shapefile", 3, write(b"\x00\x00\x27\x0a\xff\xfe", "suburbs.geojson"), AREAS_CHECK),
        Bad("GeoJSON that is cut off", 3, write(sound()["suburbs.geojson"][:300], "suburbs.geojson"), AREAS_CHECK),
        Bad("polygons in metres", 3, _in_metres, AREAS_CHECK),
        Bad(
            "polygons in the coordinates of another system",
            3,
            write(
                json.dumps({**AREAS, "crs": {"type": "name", "properties": {"name": "EPSG:28356"}}}), "suburbs.geojson"
            ),
            AREAS_CHECK,
        ),
        Bad("the latitude before the longitude", 3, _latitude_first, AREAS_CHECK),
        Bad("points", 3, areas(geometry={"type": "Point", "coordinates": [151, -33]}), AREAS_CHECK),
        Bad("a property that is not there", 3, edit('name = "name"', 'name = "suburb"', "areas.toml"), AREAS_CHECK),
        Bad("areas, and no timetable that says where stops are", 2, edit(_GTFS, "", "areas.toml"), AREAS_CHECK),
    ],
    "tapveil init": [
        Bad("nothing at the path", 3, gone("trips.csv"), INIT),
        Bad("a folder without trips", 3, lambda d: (d / "days").mkdir(), init_of("days")),
        Bad("an empty file", 3, write(""), INIT),
        Bad("a header and nothing else", 3, rows(good=0), INIT),
        Bad("no header", 3, write(_text().partition("\n")[2]), INIT),
        Bad("no column that can be recognised", 3, write("a,b\n1,2\n" * 20), INIT),
        Bad("an Excel workbook that is damaged", 3, instead("trips.xlsx", _workbook()), init_of("trips.xlsx")),
        Bad("UTF-16", 3, write(_text().encode("utf-16")), INIT),
        Bad(
            "a Parquet file that is cut off",
            3,
            write(_good_parquet()[:-5000], "trips.parquet"),
            init_of("trips.parquet"),
        ),
        Bad(
            "a Parquet file that is damaged inside",
            3,
            write(_damaged(_good_parquet()), "trips.parquet"),
            init_of("trips.parquet"),
        ),
        Bad(
            "a gzip file that is damaged inside",
            3,
            write(_damaged(gzip.compress(sound()["trips.csv"], mtime=0)), "trips.csv.gz"),
            init_of("trips.csv.gz"),
        ),
        Bad("a plan that exists", 2, nothing, ("init", "trips.csv")),
        Bad("a folder for the plan that does not exist", 2, nothing, ("init", "trips.csv", "-o", "new/plan.toml")),
        Bad("a timetable that is not there", 3, nothing, (*INIT, "--gtfs", "feed.zip")),
    ],
    "Plans": [
        Bad("no plan", 2, gone("plan.toml")),
        Bad("a folder instead of a plan", 2, nothing, ("check", ".")),
        Bad("a path in the manner of Windows", 2, edit('"trips.csv"', '"C:\\data\\trips.csv"')),
        Bad("a key that there is not", 2, source('separator = ";"')),
        Bad("a column of a table that there is not", 2, edit('["tap_on_time"', '["tap_on_tim"')),
        Bad("a table of cards", 2, edit('["tap_on_time"', '["card"')),
    ],
}


# --- running them -------------------------------------------------------------------------------------------------


def run(bad: Bad) -> Said:
    """What the command says in a folder of its own; its path becomes the one that the page has."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for file, data in sound().items():
            (folder / file).write_bytes(data)
        bad.damage(folder)
        said = command(folder, bad.command)
        return Said(said.code, _without(folder, said.out), _without(folder, said.err))


def _without(folder: Path, text: str) -> str:
    return text.replace(f"{folder}/", "").replace(str(folder), "/your/folder")


# --- the page -----------------------------------------------------------------------------------------------------

INTRODUCTION = """\
<!-- Written by `python -m tests.support.bad_input --write`. Change it there. -->

# Bad input

The message for every mistake in a file or plan, word for word.
This page is written by running each case (`python -m tests.support.bad_input --write`), and a test runs them again.
No message contains a value of a trip.

The command is `tapveil check`, except for the section on `tapveil init`.

| exit code | meaning |
|---|---|
| 0 | a release would not stop; `check` reports what was left out |
| 1 | the trips were read, but a release would stop, because too many rows cannot be read |
| 2 | the plan or the command is wrong: fix it |
| 3 | the files are wrong: fix them; nothing was counted |

Output about rows, below the line "CONFIDENTIAL", is confidential.
`tapveil release` stops for the same reasons, with the same messages, before anything is spent or written; its exit
code is then 2 or 3 ([commands](commands.md)).
"""


def page() -> str:
    return "\n".join([INTRODUCTION, *(table(section, [run(bad) for bad in SECTIONS[section]]) for section in SECTIONS)])


def table(section: str, said: Sequence[Said]) -> str:
    """A section of the page."""
    lines = [f"## {section}", "| what is wrong | exit | message |", "|---|---|---|"]
    for bad, each in zip(SECTIONS[section], said, strict=True):
        lines.append(f"| {bad.what} | {each.code} | {_cell(telling(each))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Words as they are, in a cell of a table."""
    return "<br>".join(_code(line.strip()) for line in text.splitlines() if line.strip())


def _code(text: str) -> str:
    """As code: it is fenced by more backticks than it has."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
