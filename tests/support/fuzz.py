"""Broken files, made up at random, each the same every time it is asked for by its number.

A case is a folder: an export in which something is wrong, the public lists beside it, and a plan that would fit if
nothing were. Every value of every trip carries a mark by which it is known again wherever it must not be.

`python -m tests.support.fuzz 1234 FOLDER` writes case 1234, to be looked at and tried with the command line.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import string
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Chance = random.Random
Files = dict[str, bytes]
Make = Callable[[Chance, "Export"], Files]

ROWS = 30
PRIVATE = re.compile(r"PRIVA|IVATE|2019-?04|/2019|13:3\d")
"""What only a trip can have said: its card, its place, its mode, its day, its minute."""
PRIVATE_NAMES = re.compile(r"PRIVA|IVATE")
"""The same where days, times and stops are in public lists as well, which may be quoted."""

CARDS = [f"PRIVATE-CARD-{letter}" for letter in "abcdef"] + ["PRIVATE-3085-0001"]
STATIONS = ["PRIVATE-STATION-Quay", "PRIVATE Station, No. 3", 'The "PRIVATE" Stop', "PRIVATE-Žižkov", "PRIVATE-東門"]
MODES = ["PRIVATE-ferry", "PRIVATE-train"]
PUBLIC_STOPS = ["A", "B", "C"]
"""Those of the timetable, where there is one: what is said of it may name them."""

TRIPS = ("card_id", "trip_date", "mode", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location")
TAPS = ("card_id", "trip_date", "mode", "action", "tap_time", "tap_location")


@dataclass(frozen=True)
class Export:
    """An export in which nothing is wrong yet."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def csv(self, delimiter: str = ",") -> bytes:
        return as_csv([self.header, *self.rows], delimiter)

    def parquet(self, **options: Any) -> bytes:
        columns = zip(*self.rows, strict=True)
        return as_parquet(pa.table([pa.array(column) for column in columns], names=list(self.header)), **options)


@dataclass(frozen=True)
class Case:
    """What is in a folder, by name; which of it are the trips, and which plan they are read by."""

    number: int
    family: str
    plan: str
    files: Files
    trips: str

    @property
    def private(self) -> re.Pattern[str]:
        """What may be said nowhere."""
        return PRIVATE_NAMES if self.family in BESIDE else PRIVATE

    def write(self, folder: Path) -> None:
        for name, data in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


def case(number: int) -> Case:
    """The case of a number: families in turn, and in each of them the plans."""
    chance = Chance(number)
    turn, place = divmod(number, len(FAMILIES))
    family, make = list(FAMILIES.items())[place]
    fitting = BESIDE.get(family, tuple(PLANS))
    plan = fitting[turn % len(fitting)]
    made = make(chance, export(chance, plan))
    return Case(number, family, plan, {**lists_of(plan), **made}, next(iter(made)))


def sound_case(plan: str) -> Case:
    """One in which nothing is wrong."""
    files = {**lists_of(plan), "trips/trips.csv": export(Chance(1), plan, CLOCKS["clock"], "%Y-%m-%d").csv()}
    return Case(-1, "sound", plan, files, "trips/trips.csv")


def as_csv(rows: Sequence[Sequence[str]], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def as_parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


# --- exports in which nothing is wrong ----------------------------------------------------------------------------

CLOCKS: dict[str, Callable[[datetime], str]] = {
    "clock": lambda at: at.strftime("%H:%M"),
    "seconds": lambda at: at.strftime("%H:%M:%S"),
    "minutes": lambda at: str(60 * at.hour + at.minute),
    "stamp": lambda at: at.isoformat(" "),
    "offset": lambda at: f"{at.isoformat()}+10:00",
    "month first": lambda at: at.strftime("%m/%d/%Y %H:%M"),
}
DATES = ("%Y-%m-%d", "%Y%m%d", "%d/%m/%Y", "%Y-%m-%d %H:%M:%S")


def export(chance: Chance, plan: str, clock: Callable[[datetime], str] | None = None, day: str = "") -> Export:
    """Trips, or taps where the plan is for those; dates and times in one of the ways in which exports write them."""
    clock = clock or CLOCKS[chance.choice(["clock"] * 6 + [*CLOCKS])]
    day = "%d/%m/%Y" if "%d/%m/%Y" in PLANS[plan] else day or chance.choice([DATES[0]] * 6 + [*DATES])
    places = PUBLIC_STOPS if "gtfs" in PLANS[plan] else STATIONS
    modes = ["bus", *MODES] if "gtfs" in PLANS[plan] else MODES
    rows: list[tuple[str, ...]] = []
    for _ in range(ROWS):
        on = datetime(2019, 4, 2, 13, 30) + timedelta(days=chance.randrange(2), seconds=chance.randrange(600))
        off = on + timedelta(seconds=chance.randrange(200))
        card, mode, start, end = (chance.choice(some) for some in (CARDS, modes, places, places))
        common = (card, on.strftime(day), mode)
        if "taps" in PLANS[plan]:
            rows += [(*common, "Enter", clock(on), start), (*common, "Exit", clock(off), end)]
        else:
            rows.append((*common, clock(on), start, clock(off), end))
    return Export(TAPS, rows[:ROWS]) if "taps" in PLANS[plan] else Export(TRIPS, rows)


FEED = {
    "agency.txt": "agency_name,agency_timezone\nBuses,Australia/Sydney\n",
    "stops.txt": "stop_id,stop_name,stop_lat,stop_lon,parent_station,zone_id\n"
    "A,First St,-33.8,151.1,,1\nB,Second St,-33.9,151.2,A,1\nC,Third St,-33.7,151.3,,2\n",
    "routes.txt": "route_id,route_short_name,route_type\nR,10,3\nQ,11,4\n",
    "trips.txt": "route_id,service_id,trip_id\nR,S,T\nQ,S,U\n",
    "stop_times.txt": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\nT,13:00:00,13:01:00,A,1\n"
    "T,13:05:00,13:06:00,B,2\nT,13:10:00,13:11:00,C,3\nU,24:10:00,24:11:00,A,1\nU,,,B,2\nU,25:10:00,25:11:00,C,3\n",
    "calendar.txt": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
    "S,1,1,1,1,1,0,0,20190401,20190405\n",
    "calendar_dates.txt": "service_id,date,exception_type\nS,20190406,1\nS,20190405,2\n",
    "frequencies.txt": "trip_id,start_time,end_time,headway_secs\nT,13:00:00,14:00:00,600\n",
}
LOOKUP = "stop_id,postcode\nA,2000\nB,2000\nC,2010\n"
CELLS = "mode,date,tap_on_time,tap_on_location\nbus,2019-04-02,13:30,A\nbus,2019-04-03,13:45,B\n"
AREAS = {
    "type": "FeatureCollection",
    "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}},
    "features": [
        {
            "type": "Feature",
            "properties": {"name": name, "code": code},
            "geometry": {"type": kind, "coordinates": shape},
        }
        for name, code, kind, shape in (
            ("West", 1, "Polygon", [[[151.0, -34.0], [151.2, -34.0], [151.2, -33.0], [151.0, -33.0], [151.0, -34.0]]]),
            ("East", 2.0, "MultiPolygon", [[[[151.2, -34.0], [152.0, -34.0], [151.2, -33.0], [151.2, -34.0]]]]),
        )
    ],
}


@cache
def good_lists() -> Files:
    """What is public, beside the trips."""
    return {
        "trips/gtfs.zip": zipped({name: text.encode() for name, text in FEED.items()}),
        "lookup.csv": LOOKUP.encode(),
        "cells.csv": CELLS.encode(),
        "areas.geojson": json.dumps(AREAS).encode(),
    }


def lists_of(plan: str) -> Files:
    """Those that a plan names."""
    return {name: data for name, data in good_lists().items() if name in PLANS[plan]}


def zipped(members: Files, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, packing)
    return sink.getvalue()


# --- damage -------------------------------------------------------------------------------------------------------

BITS = [bytes([byte]) for byte in b"\0\r\n\",;\t|\xff\xe9\x80\x1a\x1b\x1c\x1d\x1e\x1f\x7f\\/'`{}[]:.-+09eE %#="]
BITS += [b"\r\n", b'""', b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80"]
BITS += [b"\xf0\x9f\x9a\x8b", b"\xcc\x81", b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"\n\n\n", b"\r\r", b"\0\0\0\0"]
ODD_TEXTS = (
    *("", " ", "-1", "-1.0", "NA", "NaN", "inf", "1e400", "9" * 30, "9" * 400, "-9", "0x1F", "1_000", "²", "½", "٣"),
    *(
        "١٣:٣٠",
        "１３:３０",
        "２０１９-０４-０２",
        "24:00",
        "47:59",
        "48:00",
        "99:99",
        "00:60",
        "7:5",
        "13:30:61",
        "1330",
    ),
    *("0133", "2019-02-30", "0000-00-00", "0001-01-01", "9999-12-31", "99991231", "00010101", "2019-04-31"),
    *("2019-04-07 02:30:00", "2019-10-06 02:30:00", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"),
    *("2019-04-02T13:31:41.123456789+10:00", "2019-W14-2T13:31", "20190402T133141Z", "2019-04-02 24:00:00"),
    *("2019-04-02 13:31 PM", "2019-04-02T13:31:41+25:00", "2019-04-02T13:31:41+10:00:30", "true", "None", "\\N"),
    *(
        "\x1f",
        "\x1f0",
        "0\x1f",
        "2019-04-02\x1fx",
        "2019-04-02\x1f9",
        "13:31\x1f9",
        "a\x1fb",
        "\x1f9",
        "\x1fx13:30",
        "\0",
        "a\0b",
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
    ),
    *("\u202e", "'", "`", '"', '""', "{}", "%d", "%s", "{0}", "[red]", "; DROP TABLE trips", "=1+1", "é", "e\u0301"),
    *("🚋", "A" * 600, "a,b", "a;b", "a\tb", "a|b", "\ud7ff", "Enter", "Exit", "1e5", "3000.0", "1.5", "-0", "+5"),
)


def damaged(chance: Chance, data: bytes, most: int = 12) -> bytes:
    """Some bytes changed, put in, taken out or moved; or the end cut off."""
    for _ in range(chance.randint(1, most)):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice([1, 1, 2, 4, 30]))
        data = chance.choice(
            [
                data[:at] + chance.choice(BITS) + data[to:],
                data[:at] + chance.choice(BITS) + data[at:],
                data[:at] + chance.randbytes(to - at) + data[to:],
                data[:at] + data[to:],
                data[:at] + data[at:to] * 2 + data[to:],
                data[: max(0, at - 1)] + bytes([data[at - 1] ^ (1 << chance.randrange(8))]) + data[at:] if at else data,
                data[:at] if chance.random() < 0.2 else data,
            ]
        )
    return data


def overwritten(chance: Chance, data: bytes, start: int, end: int) -> bytes:
    """Some bytes changed. Where every other byte keeps its place, more of a file is believed."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4, 10])):
        changed[chance.randrange(start, end)] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    return bytes(changed)


def cut(chance: Chance, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def named(chance: Chance, data: bytes, *endings: str) -> Files:
    """Trips under a name that fits them; now and then under one that does not."""
    every = (".csv", ".txt", ".gz", ".csv.gz", ".parquet", ".pq", ".CSV", "")
    return {f"trips/trips{chance.choice(endings if chance.random() < 0.85 else every)}": data}


def odd_column(chance: Chance, rows: int) -> pa.Array:
    """A column of any type, with values that are plausible, at the ends of what it holds, or any."""
    kind = chance.choice(FIXED_TYPES + OTHER_TYPES)
    if not isinstance(kind, pa.DataType):
        return kind(chance, rows)
    width, like = kind.bit_width // 8, chance.randrange(5)
    ends = [b"\0" * width, b"\xff" * width, b"\xff" * (width - 1) + b"\x7f", b"\0" * (width - 1) + b"\x80"]

    def value() -> bytes:
        if like < 3:
            return chance.choice(PLAUSIBLE).to_bytes(32, "little")[:width]
        return chance.choice([*ends, chance.choice(PLAUSIBLE).to_bytes(32, "little")[:width], chance.randbytes(width)])

    known = pa.py_buffer(chance.randbytes(rows // 8 + 1)) if chance.random() < 0.3 else None
    return pa.Array.from_buffers(kind, rows, [known, pa.py_buffer(b"".join(value() for _ in range(rows)))])


PLAUSIBLE = (
    0,
    1,
    811,
    1330,
    17988,
    48660,
    48660000,
    48660000000,
    20190402,
    1554211860,
    1554211860000,
    1554211860000000,
)
FIXED_TYPES: list[Any] = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(), pa.decimal128(5, 2), pa.decimal128(38, 0)),
    *(pa.decimal128(38, 38), pa.decimal256(76, 10), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(
        pa.timestamp(unit, zone)
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC", "Australia/Sydney", "+10:00")
    ),
    *(pa.duration("s"), pa.duration("ns"), pa.binary(8), pa.binary(16)),
]


def _list_of(kind: pa.DataType, *values: Any) -> Callable[[Chance, int], pa.Array]:
    return lambda chance, rows: pa.array([chance.choice([*values, None]) for _ in range(rows)], kind)


def _not_utf8(chance: Chance, rows: int) -> pa.Array:
    """Texts that are none, in a column that says that they are."""
    odd = [b"PRIVATE-\xe9", b"\xed\xa0\x80", b"\xff", b"\0", b"PRIVATE"]
    return pa.array([chance.choice(odd) for _ in range(rows)], pa.binary()).view(pa.string())


def _coded(chance: Chance, rows: int) -> pa.Array:
    index = chance.choice([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8()])
    values = chance.choice([pa.array(ODD_TEXTS[:40]), pa.array(range(20)), pa.array([datetime(2019, 4, 2, 13, 31)])])
    codes = pa.array([chance.choice([None, chance.randrange(len(values))]) for _ in range(rows)], index)
    return pa.DictionaryArray.from_arrays(codes, values)


OTHER_TYPES: list[Any] = [
    *(_list_of(kind, *STATIONS, *ODD_TEXTS) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *(_list_of(kind, b"PRIVATE", b"\xff\0", b"13:31") for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    _list_of(pa.bool_(), True, False),
    _list_of(pa.null()),
    _list_of(pa.list_(pa.string()), ["PRIVATE"], [], [None]),
    _list_of(pa.list_(pa.int32(), 2), [1, 2]),
    _list_of(pa.struct([("a", pa.string()), ("b", pa.timestamp("us"))]), {"a": "PRIVATE", "b": None}),
    _list_of(pa.map_(pa.string(), pa.int64()), [("PRIVATE", 1)], []),
    _not_utf8,
    _coded,
    _coded,
]


# --- families: exports --------------------------------------------------------------------------------------------


def random_bytes(chance: Chance, good: Export) -> Files:
    start = chance.choice([b"", b"", b"PAR1", b"\x1f\x8b\x08", b"PK\x03\x04", b"\xef\xbb\xbf", b"\xff\xfe", b"mode,"])
    printable = string.printable.encode()
    some = chance.randbytes(chance.randrange(1500))
    some = bytes(printable[byte % len(printable)] for byte in some) if chance.random() < 0.4 else some
    return named(chance, start + some + chance.choice([b"", b"PAR1"]), ".csv", ".gz", ".parquet")


def cut_csv(chance: Chance, good: Export) -> Files:
    return named(chance, cut(chance, good.csv()), ".csv")


def changed_csv(chance: Chance, good: Export) -> Files:
    return named(chance, damaged(chance, good.csv(), 40), ".csv")


def changed_start(chance: Chance, good: Export) -> Files:
    """Damage where the header is, so that trips get into it, or stand in its place."""
    header, _, rest = good.csv().partition(b"\n")
    lost = chance.choice([b"", b",", b" ", b"\r", b'"', b"\0", b"\n\n"])  # in the place of the first line end
    end = chance.randrange(80)
    data = chance.choice([rest, header + lost + rest, damaged(chance, header + b"\n" + rest[:end], 4) + rest[end:]])
    return named(chance, data, ".csv")


def spelt_csv(chance: Chance, good: Export) -> Files:
    """Delimiters, quotes, line ends, marks and encodings as programs write them, and as none should."""
    mark = chance.choice(",,,;\t|:~ ")
    ends = chance.choice(
        [["\n"], ["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r", "\n\r", "\n\n", "\0\n", "\u2028", "\x85"]]
    )
    tidy = chance.choice([4, 50, 1000])

    def field(text: str) -> str:
        doubled = text.replace('"', '""')
        ways = [
            text,
            f'"{doubled}"',
            f"'{text}'",
            f' "{doubled}"',
            f'"{text}',
            f'{text}"',
            f'"{doubled}"x',
            f"{text}\n",
        ]
        return chance.choice([ways[1]] * tidy + ways)

    lines = [mark.join(map(field, row)) + chance.choice(ends) for row in [good.header, *good.rows]]
    text = chance.choice(["", "", "\ufeff", "\ufeff\ufeff", "sep=;\n", "\n", "# made by\n"]) + "".join(lines)
    codecs = [
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-32",
        "cp1252",
        "latin-1",
        "cp037",
        "utf-7",
        "gb18030",
        "shift-jis",
    ]
    return named(chance, text.encode(chance.choice(["utf-8"] * 25 + codecs), errors="replace"), ".csv", ".txt")


def odd_cells(chance: Chance, good: Export) -> Files:
    """Values that are nearly a time, a day, a number or a text."""
    share = chance.choice([0.02, 0.2, 0.9])
    rows = [tuple(chance.choice(ODD_TEXTS) if chance.random() < share else text for text in row) for row in good.rows]
    odd = Export(good.header, rows)
    return named(chance, odd.csv(), ".csv") if chance.random() < 0.7 else named(chance, odd.parquet(), ".parquet")


def odd_header(chance: Chance, good: Export) -> Files:
    """Names that are there twice, or are empty, very long, of another script, or hard to write down."""
    pool = [text for text in ODD_TEXTS if not PRIVATE.search(text)] + ["station", "Time", "日付 date"]
    pool += [*good.header, *map(str.upper, good.header), "count"]
    header = list(good.header)
    for _ in range(chance.randint(1, 4)):
        way, at = chance.randrange(6), chance.randrange(len(header))
        if way == 0:
            header[at] = chance.choice(pool)
        elif way == 1:
            header.insert(at, chance.choice(pool))
        elif way == 2 and len(header) > 1:
            del header[at]
        elif way == 3:
            header[at] = chance.choice([" {} ", '"{}"', "{}\n", "{}\0", "\ufeff{}", "{}\r", "{}\x1f"]).format(
                header[at]
            )
        elif way == 4:
            header[at] += "x" * chance.choice([300, 600, 140_000, 2_000_000])
        else:
            header += [f"more {number}" for number in range(chance.choice([1, 2000]))]
    rows = [(*row, *[""] * len(header))[: len(header)] for row in good.rows]
    return named(chance, as_csv([header, *rows]), ".csv")


def hardly_any(chance: Chance, good: Export) -> Files:
    """Files with next to nothing in them."""
    header = good.csv().partition(b"\n")[0]
    texts = [b"", b"\n", b"\r\n", b"\0", b" ", b'"', b"," * 500, b"\xef\xbb\xbf", b"\xef\xbb\xbf" + header, header]
    texts += [header + rest for rest in (b"\n", b"\r", b"\n\n \n", b"\n" + b"," * 6, b"\n\0", b"\n\xff")]
    others = [b"PAR1", b"PAR1PAR1", b"\x1f\x8b", gzip.compress(b"", mtime=0), gzip.compress(header, mtime=0)]
    empty = pa.table({name: pa.array([], pa.string()) for name in good.header})
    others += [as_parquet(pa.table({})), as_parquet(empty), Export(good.header, good.rows[:1]).parquet()]
    data = chance.choice(texts + others)
    return named(chance, data, ".csv", ".csv.gz", ".parquet")


def broken_gzip(chance: Chance, good: Export) -> Files:
    data = gzip.compress(good.csv() * chance.choice([1, 1, 40]), mtime=0)
    data = chance.choice([cut(chance, data), damaged(chance, data, 3), data + chance.randbytes(40), data + data])
    return named(chance, data, ".csv.gz")


def broken_parquet(chance: Chance, good: Export) -> Files:
    packing = chance.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
    data = good.parquet(compression=packing, use_dictionary=chance.random() < 0.5, row_group_size=10)
    if chance.random() < 0.3:
        return named(chance, cut(chance, data), ".parquet")
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    start, end = chance.choice([(4, footer), (4, footer), (footer, len(data) - 8), (0, len(data))])
    changed = overwritten(chance, data, start, end) if chance.random() < 0.9 else damaged(chance, data, 4)
    return named(chance, changed, ".parquet")


def odd_types(chance: Chance, good: Export) -> Files:
    """Parquet as it may well be, but with types that nobody expects under these names."""
    columns = list(zip(*good.rows, strict=True))
    odd = chance.choice([1, 2, len(columns)])
    chosen = set(chance.sample(range(len(columns)), odd))
    arrays = [odd_column(chance, ROWS) if place in chosen else pa.array(each) for place, each in enumerate(columns)]
    options = {
        "compression": chance.choice(["none", "snappy"]),
        "version": chance.choice(["1.0", "2.4", "2.6"]),
        "use_dictionary": chance.random() < 0.5,
        "data_page_version": chance.choice(["1.0", "2.0"]),
        "row_group_size": chance.choice([7, 100]),
        "store_schema": chance.random() < 0.7,
    }
    try:
        data = as_parquet(pa.table(arrays, names=list(good.header)), **options)
    except (pa.ArrowException, OSError):  # Arrow has more types than Parquet
        data = good.parquet()
    return named(chance, data, ".parquet")


def two_files(chance: Chance, good: Export) -> Files:
    """A file in which nothing is wrong, and another one."""
    other = chance.choice([changed_csv, odd_cells, odd_types, broken_parquet, broken_gzip, hardly_any, odd_header])
    sound = {"trips/two.parquet": good.parquet()} if chance.random() < 0.5 else {"trips/two.csv": good.csv()}
    return {**sound, **other(chance, good)} if chance.random() < 0.5 else {**other(chance, good), **sound}


# --- families: what lies beside them ------------------------------------------------------------------------------


def broken_zip(chance: Chance, good: Export) -> Files:
    packing = chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    data = zipped({name: text.encode() for name, text in FEED.items()}, packing)
    data = chance.choice([cut(chance, data), damaged(chance, data, 2), *[overwritten(chance, data, 0, len(data))] * 3])
    return {"trips/trips.csv": good.csv(), "trips/gtfs.zip": data}


def odd_feed(chance: Chance, good: Export) -> Files:
    """A zip file that is whole, of files that are not."""
    members = {name: text.encode() for name, text in FEED.items()}
    for name in chance.sample(sorted(members), chance.choice([1, 1, 3])):
        members[name] = _odd_list(chance, members[name])
        if chance.random() < 0.1:
            del members[name]
    inside = chance.choice(["", "", "", "feed/", "../", "/"])
    feed = zipped({inside + name: data for name, data in members.items()})
    return {"trips/trips.csv": good.csv(), "trips/gtfs.zip": feed}


def _odd_list(chance: Chance, data: bytes) -> bytes:
    """A small CSV file with odd values, or with damage."""
    if chance.random() < 0.4:
        return damaged(chance, data, 4)
    rows = list(csv.reader(io.StringIO(data.decode())))
    for _ in range(chance.randint(1, 3)):
        row = chance.choice(rows[1:] if chance.random() < 0.8 else rows)
        place = chance.randrange(len(row))
        fitting = next((texts for word, texts in ODD_OF.items() if word in rows[0][place]), ODD_TEXTS)
        row[place] = chance.choice(fitting if chance.random() < 0.7 else ODD_TEXTS)
    return as_csv(rows)


ODD_OF = {
    "date": ("00010101", "00010102", "99991231", "99991230", "20190431", "20190407", "18991231", "2019-04-02", ""),
    "time": ("999:59:59", "24:00:00", "00:00:00", "13:30", "-1:00:00", "13:60:00", "099:00:00", ""),
    "_secs": ("0", "1", "999999999", "86400", "-1"),
    "_lat": ("90", "-90", "91", "nan", "inf", "1e-400", ""),
    "_lon": ("180", "-180", "6250000", "nan", "-0", ""),
    "_id": ("A", "B", "S", "T", "U", "R", "", " "),
    "_type": ("0", "1", "4", "99", "999999999", "1700", ""),
    "_sequence": ("0", "1", "999999999", "-1", ""),
}
"""What is nearly right, by words in the name of a column."""


def odd_lookup(chance: Chance, good: Export) -> Files:
    name, text = chance.choice([("lookup.csv", LOOKUP), ("cells.csv", CELLS)])
    data = _odd_list(chance, text.encode())
    return {"trips/trips.csv": good.csv(), name: data if chance.random() < 0.9 else b"x" * 200_000}


def odd_areas(chance: Chance, good: Export) -> Files:
    """GeoJSON that is damaged, or that is JSON with anything in it."""
    areas = json.dumps(AREAS)
    if chance.random() < 0.4:
        return {"trips/trips.csv": good.csv(), "areas.geojson": damaged(chance, areas.encode(), 4)}
    data = json.loads(areas)
    for _ in range(chance.choice([1, 1, 2])):
        _replace_one(chance, data)
    return {"trips/trips.csv": good.csv(), "areas.geojson": json.dumps(data).encode()}


def _replace_one(chance: Chance, node: Any) -> None:
    """Something in a tree of JSON, put in the place of something else."""
    odd: list[Any] = [
        None,
        True,
        0,
        -1,
        1e308,
        float("nan"),
        float("inf"),
        10**400,
        "",
        "x",
        "\ud800",
        [],
        {},
        [[]],
        [1],
        [1, 2, 3],
    ]
    odd += ["Polygon", "Point", "GeometryCollection", {"type": "Feature"}, [[0, 0], [1, 1], [0, 0]], [[[0, 0]] * 4]]
    while isinstance(node, dict | list) and node:
        key = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
        if chance.random() < 0.03 or not isinstance(node[key], dict | list) or not node[key]:
            node[key] = chance.choice(odd)
            return
        node = node[key]


FAMILIES: dict[str, Make] = {
    "random bytes": random_bytes,
    "cut csv": cut_csv,
    "changed csv": changed_csv,
    "changed start": changed_start,
    "spelt csv": spelt_csv,
    "odd cells": odd_cells,
    "odd header": odd_header,
    "hardly any": hardly_any,
    "broken gzip": broken_gzip,
    "broken parquet": broken_parquet,
    "odd types": odd_types,
    "two files": two_files,
    "broken zip": broken_zip,
    "odd feed": odd_feed,
    "odd lookup": odd_lookup,
    "odd areas": odd_areas,
}
BESIDE = {
    "broken zip": ("places", "timetable"),
    "odd feed": ("timetable", "places"),
    "odd lookup": ("looked up", "listed"),
    "odd areas": ("areas",),
}
"""Families in which the trips are sound, and the plans that read what is not."""


# --- plans --------------------------------------------------------------------------------------------------------

_OF_TRIPS = """
card = "card_id"
mode = "mode"
date = "trip_date"
tap_on_time = "tap_on_time"
tap_on_location = "tap_on_location"
tap_off_time = "tap_off_time"
tap_off_location = "tap_off_location"
"""
_OF_TAPS = """
card = "card_id"
mode = "mode"
date = "trip_date"
tap = "action"
tap_time = "tap_time"
tap_location = "tap_location"
[source.taps]
on = ["Enter"]
off = ["Exit"]
"""
_OTHERWISE = _OF_TRIPS.replace('"trip_date"', '{ column = "trip_date", format = "%d/%m/%Y" }').replace(
    '"tap_off_time"', '{ column = "tap_off_time", missing = ["NA", "0"] }'
)
_TRIP = 'unit = "trip"\nneighbours = "replace"\nmechanism = "sbh"'
_CARD = 'unit = "card"\nneighbours = "add-remove"\nmechanism = "sbh"\ntrips_per_card = 4\nwithout_card = "refuse"'
_CARD_DAY = 'unit = "card-day"\nneighbours = "replace"\nmechanism = "sbh"\ntrips_per_day = 3\nwithout_card = "own-unit"'
_CARD_DAY_ONLY = _CARD_DAY.replace("own-unit", "refuse")
_LISTED = 'unit = "trip"\nneighbours = "replace"\nmechanism = "dictionary"'
_ON_OFF = (("tap_on_time", "tap_on_location"), ("tap_off_time",))
_BOTH = (("tap_on_location", "tap_off_location"),)
_ON = (("tap_on_time", "tap_on_location"),)


def _plan(
    *source: str,
    columns: str = _OF_TRIPS,
    more: str = "",
    privacy: str = _TRIP,
    tables: Sequence[Sequence[str]] = _ON_OFF,
    cells: str = "",
) -> str:
    lines = ['[release]\nname = "fuzz"\ntitle = "Fuzz"', '[source]\npath = "trips/t*"', *source]
    lines += [f"[source.columns]{columns}", more, f"[privacy]\n{privacy}"]
    budget = f'cells = "{cells}"' if cells else 'delta = "1/8000000"'
    for number, keys in enumerate(tables):
        lines.append(f'[[table]]\nname = "t{number}"\ncolumns = {json.dumps(keys)}\nepsilon = 1\n{budget}')
    return "\n".join(lines)


_ZONED = 'timezone = "Australia/Sydney"\nday_starts = "04:00"'
_GTFS = '[gtfs]\npath = "trips/gtfs.zip"\n'
PLANS = {
    "trips": _plan(),
    "taps": _plan('shape = "taps"', columns=_OF_TAPS),
    "zoned": _plan(_ZONED, more='[coarsen]\ntime_minutes = 30\nafter_midnight = "continued"'),
    "card": _plan(privacy=_CARD, tables=_BOTH),
    "paired taps": _plan('shape = "taps"', columns=_OF_TAPS, privacy=_CARD_DAY_ONLY, tables=(*_BOTH, *_ON)),
    "otherwise": _plan('encoding = "windows-1252"\nmax_refused = "100 %"', columns=_OTHERWISE, tables=_BOTH),
    "service days": _plan('dates = "service"', _ZONED, "max_refused = 1", privacy=_CARD_DAY),
    "labels": _plan('dates = "labels"\nmax_refused = 1', tables=_BOTH),
    "zoned taps": _plan('shape = "taps"', _ZONED, "max_refused = 1", columns=_OF_TAPS, privacy=_CARD, tables=_ON),
    "some days": _plan("first_day = 2019-04-02\nlast_day = 2019-04-02", 'modes = ["PRIVATE-ferry"]', "max_refused = 1"),
    "looked up": _plan(more='[coarsen.location."*"]\nlookup = "lookup.csv"\nfrom = "stop_id"\nto = "postcode"'),
    "listed": _plan(privacy=_LISTED, tables=_ON, cells="cells.csv"),
    "areas": _plan(more=f'[coarsen.location."*"]\npolygons = "areas.geojson"\nname = "name"\n{_GTFS}', tables=_ON),
    "places": _plan(more=f'[coarsen.location.bus]\ngtfs = "station_name"\n{_GTFS}', tables=_BOTH),
    "timetable": _plan(_ZONED, more=_GTFS, privacy=_LISTED, tables=_ON, cells="gtfs"),
}
"""Plans that would fit, by what is particular about them."""


def main(number: str, folder: str) -> None:
    made = case(int(number))
    made.write(Path(folder))
    (Path(folder) / "plan.toml").write_text(PLANS[made.plan], encoding="utf-8")
    print(f"case {number}: {made.family}, plan `{made.plan}`, trips in {Path(folder) / made.trips}")


if __name__ == "__main__":
    main(*sys.argv[1:])
