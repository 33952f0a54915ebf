"""The same messy trips for every engine: each case is a table and a plan, and all engines must count it alike.

    for case in CASES:
        pq.write_table(case.table, folder / "trips.parquet")
        expected = count(case.plan(folder, {"path": "trips.parquet"}))
        found = count(case.plan(folder, {"engine": "spark", "table": "trips"}))
        assert_same(found, expected)

`case.needs` names what not every engine has: a text with the character NUL (`nul`), the type TIME (`time`).
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tapveil.counting.digest import counts_hmac
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.plan.model import Plan

ROWS = 1500
"""Of each case; small, so that an engine takes seconds for all of them."""


@dataclass(frozen=True)
class Case:
    """Trips, and a plan that counts them."""

    name: str
    table: pa.Table
    text: str
    """The plan, but for where its trips are."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Lists beside the plan."""
    needs: frozenset[str] = frozenset()

    def plan(self, folder: Path, source: Mapping[str, str | Sequence[str]]) -> Plan:
        """The plan, in a folder, over the trips that these keys of [source] name."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        where = "\n".join(f"{key} = {json.dumps(value)}" for key, value in source.items())
        (folder / "plan.toml").write_text(self.text.replace("[source]\n", f"[source]\n{where}\n", 1), encoding="utf-8")
        return Plan.read(folder / "plan.toml")


def assert_same(found: Counted, expected: Counted) -> None:
    """The same cells with the same counts, the same refusals, as many left out."""
    assert found.refusals.rows == expected.refusals.rows
    assert dict(found.refusals.by_reason) == dict(expected.refusals.by_reason)
    assert found.refusals.elsewhere == expected.refusals.elsewhere
    assert list(found.tables) == list(expected.tables)
    for name, table in expected.tables.items():
        assert _cells(found.tables[name]) == _cells(table), name
    assert found.left_out == expected.left_out
    assert counts_hmac(found.tables, bytes(32)) == counts_hmac(expected.tables, bytes(32))


def _cells(table: ExactTable) -> Counter[tuple[str, ...]]:
    codes = table.packing.unpack(table.words)
    columns = [[table.labels[name][code] for code in codes[name]] for name in table.packing.columns]
    keys = list(zip(*columns, strict=True)) if columns else [()] * len(exact_counts(table))
    assert len(keys) == len(set(keys)), "a cell was counted in two rows"
    return Counter(dict(zip(keys, exact_counts(table).tolist(), strict=True)))


# --- plans ------------------------------------------------------------------------------------------------------------


def _plan(source: str, columns: Mapping[str, Any], privacy: str, tables: Mapping[str, str], more: str = "") -> str:
    listed = "\n".join(f"{ours} = {_toml(theirs)}" for ours, theirs in columns.items())
    privacy = privacy if "neighbours" in privacy else f'{privacy}\nneighbours = "replace"'
    lines = [
        '[release]\nname = "case"\ntitle = "Case"',
        "partition = []" if "date" not in columns else "",
        f"[source]\nmax_refused = 1\n{source}\n[source.columns]\n{listed}\n{more}\n[privacy]\n{privacy}",
        'mechanism = "gaussian"\nepsilon = 8\ndelta = 1e-6',
        *(f'[[table]]\nname = "{name}"\n{says}' for name, says in tables.items()),
    ]
    return "\n".join(lines)


def _toml(theirs: Any) -> str:
    if isinstance(theirs, str):
        return json.dumps(theirs, ensure_ascii=False)
    return "{ " + ", ".join(f"{key} = {json.dumps(each, ensure_ascii=False)}" for key, each in theirs.items()) + " }"


TRIP = 'unit = "trip"'
CARD = 'unit = "card"\ntrips_per_card = 3\nwithout_card = "own-unit"\nneighbours = "add-remove"'
CARD_AND_DAY = 'unit = "card"\ntrips_per_card = 4\ntrips_per_day = 2\nwithout_card = "refuse"'
CARD_DAY = 'unit = "card-day"\ntrips_per_day = 2\nwithout_card = "own-unit"'

TRIP_TABLES = {
    "on": 'columns = ["tap_on_time", "tap_on_location"]',
    "off": 'columns = ["tap_off_location"]',
    "od": 'columns = ["tap_on_location", "tap_off_location"]',
    "total": "columns = []",
}
TRIP_COLUMNS = {
    "card": {"column": "card no", "missing": ["NA"]},
    "mode": "mode",
    "date": "day",
    "tap_on_time": {"column": "on", "missing": ["NA"]},
    "tap_on_location": {"column": "on_at", "missing": ["n/a", "Ohne Halt"]},
    "tap_off_time": "off",
    "tap_off_location": "off_at",
}
TAP_COLUMNS = {
    "card": "card no",
    "mode": "mode",
    "date": "day",
    "tap": "tap",
    "tap_time": "at",
    "tap_location": "stop",
    "vehicle": "vehicle",
}
TAPS = '[source.taps]\non = ["Enter", "Begin"]\noff = ["Exit"]\nwithin_minutes = 90'
STOPS = "stop,postcode\n1001,2000\n1002,2000\n1003,2010\nŽižkov,CZ\n東門,TW\n"
RAIL = "stop,line\n1001,North\nCentral,North\nŽižkov,South\n"
REGIONS = "place,region\nCentral,South\n1001,South\n1002,West\n東門,北\n"
LOOKED_UP = """
[coarsen]
time_minutes = 30
[coarsen.location."*"]
lookup = "stops.csv"
from = "stop"
to = "postcode"
[coarsen.location.train]
lookup = "rail.csv"
from = "stop"
to = "line"
"""
WIDER = """
[coarsen]
time_minutes = 15
[coarsen.wider.region."*"]
lookup = "regions.csv"
from = "place"
to = "region"
"""
LEVELS = {
    "on": 'columns = ["tap_on_time", "tap_on_location"]\nlevels = [{}, { name = "hours", time_minutes = 60 }, '
    '{ name = "region", times = ["06:00", "10:00"], location = "region" }]',
    "off": 'columns = ["tap_off_location"]\nlevel = { location = "region" }',
    "total": "columns = []",
}


# --- rows -------------------------------------------------------------------------------------------------------------

PLACES = ["1001", "1002", "1003", "Central", "Žižkov", "東門", "e\u0301", "é", " Central ", "\u3000Central\u00a0", "-1"]
ODD_PLACES = ["", "n/a", 'The "Folly", No. 3', "a\\b", "o'clock", "%_", "\t1001\n", "\u200bCentral", "😀", "central"]
CARDS = [f"c{number}" for number in range(60)] + [" c1", "c1 ", "7", "7.0", " 7.0\t", "007", "7.00", "Č", "C1", "c-1.0"]
CARDS += ["%.0", "c%", "8.0", "c 1", "c\n1", "c1\u3000", "cČ", "\x7f", "!", "~"]
NO_CARDS = ["", " ", "NA", " NA ", None]
MODES = ["bus", "train", "ferry", " bus ", "Bus", "", "tram"]


def _some(draw: random.Random, usual: Sequence[Any], odd: Sequence[Any]) -> Any:
    """Mostly what is usual."""
    return draw.choice(odd) if draw.random() < 0.06 else draw.choice(usual)


def _clock(draw: random.Random, minute: int) -> str:
    written = [f"{minute // 60:02d}:{minute % 60:02d}", f"{minute // 60}:{minute % 60:02d}:59", str(minute)]
    return str(_some(draw, written, ["", "-1", "-1.0", "NA", "soon", "25:61", "0731", f" {written[0]} ", "47:59"]))


def _day(draw: random.Random, day: date) -> str:
    written = [str(day), day.strftime("%Y%m%d"), f"{day} 12:00:00", f" {day}"]
    return str(_some(draw, written, ["", "2016-13-01", "soon", "08/08/2016", "2016-08-08T23:30:00+10:00"]))


def trip_texts(seed: int, clock: Callable[[random.Random, int], str] = _clock, first: date = date(2016, 9, 30)) -> Any:
    """Trips, every value a text."""
    draw, rows = random.Random(seed), []
    for _ in range(ROWS):
        minute, day = draw.choice([draw.randrange(1440), draw.randrange(300)]), first + timedelta(draw.randrange(5))
        card, mode = _some(draw, CARDS, NO_CARDS), _some(draw, MODES[:3], MODES)
        places = [_some(draw, PLACES, [*ODD_PLACES, None]) for _ in range(2)]
        written = _day(draw, day)
        times = [clock(draw, each % 1500) for each in (minute, minute + draw.randrange(90))]
        rows.append((card, written, mode, times[0], places[0], times[1], places[1]))
    rows += rows[:200]  # an export that was made twice
    return _texts(rows, ["card no", "day", "mode", "on", "on_at", "off", "off_at"])


def _texts(rows: Sequence[Sequence[str | None]], names: Sequence[str]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)})


def _zoned_clock(draw: random.Random, minute: int) -> str:
    """Around the night of 2 October 2016, when clocks in Sydney skipped an hour."""
    at = datetime(2016, 10, 1) + timedelta(days=draw.randrange(3), minutes=minute)
    ways = [at.isoformat(" "), f"{at.isoformat()}+10:00", f"{at.isoformat()}Z", f"{minute // 60:02d}:{minute % 60:02d}"]
    return draw.choice([*ways, _clock(draw, minute)])


def _formatted_clock(draw: random.Random, minute: int) -> str:
    return _some(draw, [f"{(datetime(2016, 1, 1) + timedelta(minutes=minute)):%I.%M %p}"], ["07:31", "", "NA", "x"])


def tap_texts(seed: int) -> pa.Table:
    """Taps, every value a text: many of few cards, so that they pair, miss each other, and fall together."""
    draw, rows = random.Random(seed), []
    for _ in range(ROWS):
        day, minute = date(2016, 8, 8) + timedelta(draw.randrange(4)), draw.randrange(360, 700)
        tap = _some(draw, ["Enter", "Exit", "Begin", " Exit "], ["Purchase", "", None, "enter", "Exit\u00a0"])
        card, mode = _some(draw, CARDS[:25], NO_CARDS), _some(draw, ["bus", "train"], MODES)
        vehicle = draw.choice(["v1", "v2", " v1", None])
        rows.append((card, _day(draw, day), mode, tap, _clock(draw, minute), _some(draw, PLACES, ODD_PLACES), vehicle))
    rows += rows[:100]
    return _texts(rows, ["card no", "day", "mode", "tap", "at", "stop", "vehicle"])


def typed(seed: int, columns: Mapping[str, tuple[pa.DataType, Sequence[Any]]]) -> pa.Table:
    """Rows of typed values, each column from its own list of them."""
    draw = random.Random(seed)
    return pa.table(
        {
            name: pa.array([draw.choice(values) for _ in range(ROWS)], kind) if values else pa.nulls(ROWS, kind)
            for name, (kind, values) in columns.items()
        }
    )


_MOMENTS = [datetime(2016, 8, 8, 6) + timedelta(minutes=37 * number, seconds=number % 60) for number in range(150)]
_OLD_MOMENTS = [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1582, 10, 4, 23), datetime(1500, 2, 28, 1, 2, 3)]
_INSTANTS = [moment.replace(tzinfo=UTC, microsecond=number) for number, moment in enumerate(_MOMENTS)]
_DAYS = [date(2016, 8, 8) + timedelta(days=number) for number in range(4)]
_OLD_DAYS = [date(1582, 10, 4), date(1582, 10, 15), date(1500, 2, 28), date(1, 1, 1), date(1900, 2, 28)]
_PLACES = PLACES + ODD_PLACES

TYPED_TABLES = {
    "on": 'columns = ["tap_on_time", "tap_on_location"]',
    "off": 'columns = ["tap_off_time"]',
    "fare": 'columns = ["fare"]',
}
TYPED_COLUMNS = {
    "card": "card no",
    "mode": {"value": "bus"},
    "date": "day",
    "tap_on_time": "on",
    "tap_on_location": "on_at",
    "tap_off_time": "off",
    "fare": "fare",
}


def _timestamps() -> pa.Table:
    return typed(
        11,
        {
            "card no": (pa.int64(), [*range(40), -7, 2**62, None]),
            "day": (pa.date32(), [*_DAYS * 3, *_OLD_DAYS, None]),
            "on": (pa.timestamp("us"), [*_MOMENTS, *_OLD_MOMENTS, None]),
            "on_at": (pa.float64(), [1001.0, 1002.0, 2.5, -0.0, -1.0, float("nan"), None]),
            "off": (pa.timestamp("ms"), [*_MOMENTS[:40], None]),
            "fare": (pa.decimal128(12, 3), [Decimal(each) for each in ("2.500", "3.000", "-0.001", "0")] + [None]),
        },
    )


def _numbers() -> pa.Table:
    return typed(
        12,
        {
            "card no": (pa.float64(), [*map(float, range(30)), 7.5, 2.0**53, 2.0**53 + 2, float("nan"), None]),
            "day": (pa.int32(), [20160808, 20160809, 20160810, 20161301, -1, None]),
            "on": (pa.int16(), [*range(0, 1440, 7), -1, -2, 1500, 2879, 2880, None]),
            "on_at": (pa.int64(), [1001, 1002, 2**62, -5, None]),
            "off": (pa.float64(), [451.0, 452.0, 451.5, -1.0, None]),
            "fare": (pa.float32(), [2.5, 3.0, 0.25, None]),
        },
    )


def _instants() -> pa.Table:
    return typed(
        13,
        {
            "card no": (pa.binary(), [b"c1", b"c2", b" c3 ", b"caf\xe9", b"\xff\x00\x01", b"", None]),
            "day": (pa.timestamp("us", tz="UTC"), [*_INSTANTS, None]),
            "on": (pa.timestamp("us", tz="UTC"), [*_INSTANTS, None]),
            "on_at": (pa.binary(), [b"Central", "東門".encode(), b"\xfe\xed", None]),
            "off": (pa.timestamp("us"), [*_MOMENTS, None]),
            "fare": (pa.string(), ["2.50", "2.5", " 2.5", "", None]),
        },
    )


def _clocks() -> pa.Table:
    clocks = [time(number % 24, number % 60, 59, 999999) for number in range(0, 1000, 7)]
    return typed(
        14,
        {
            "card no": (pa.string(), CARDS),
            "day": (pa.timestamp("us"), [*_MOMENTS, None]),
            "on": (pa.time64("us"), [*clocks, None]),
            "on_at": (pa.string(), _PLACES),
            "off": (pa.time64("us"), [*clocks, None]),
            "fare": (pa.bool_(), [True, False, None]),
        },
    )


def _with_nul() -> pa.Table:
    table = trip_texts(15)
    places = ["A\0B" if number % 9 == 0 else each for number, each in enumerate(table.column("on_at").to_pylist())]
    cards = ["\0" if number % 31 == 0 else each for number, each in enumerate(table.column("card no").to_pylist())]
    table = table.set_column(table.column_names.index("on_at"), "on_at", pa.array(places, pa.string()))
    return table.set_column(0, "card no", pa.array(cards, pa.string()))


_LOOKUPS = {"stops.csv": STOPS, "rail.csv": RAIL}
_ONE_END = {"on": 'columns = ["tap_on_time", "tap_on_location"]'}
_BOTH_ENDS = {**_ONE_END, "off": 'columns = ["tap_off_location"]'}
_TOTALS = {"off": 'columns = ["tap_off_location"]', "total": "columns = []"}
"""Of taps: the total counts those where trips begin, and is by itself among them."""
_ZONE = 'timezone = "Australia/Sydney"\nday_starts = "04:00"'
_CONTINUED = '[coarsen]\ntime_minutes = 60\nafter_midnight = "continued"'
_COVERED = 'first_day = 2016-10-01\nlast_day = 2016-10-02\nmodes = ["bus", "train"]'
_BY_VEHICLE = f'{TAPS}\nsame = "vehicle"'
_FORMATTED = {
    **TRIP_COLUMNS,
    "tap_on_time": {"column": "on", "format": "%I.%M %p", "missing": ["NA"]},
    "day_again": {"column": "day", "kind": "label"},
}
_FREE = {"mode": "mode", "place": {"column": "on_at", "missing": ["n/a"]}, "remark": "off", "kind": {"value": "é 'x'"}}
_FREE_TABLES = {"one": 'columns = ["mode", "place", "kind"]', "two": 'columns = ["remark"]', "total": "columns = []"}
_TAPS_IN_ALL = {name: theirs for name, theirs in TAP_COLUMNS.items() if name != "date"}


def _counts() -> pa.Table:
    """Rows that are numbers of trips: hours as numbers, and numbers that are none."""
    draw = random.Random(31)
    hours = [draw.choice([*range(24), 24, None]) for _ in range(ROWS)]
    numbers = [
        _some(draw, ["0", "1", "2", "17", " 5 ", "3.0"], ["", "-4", "2.5", "1,200", "999999", "x", None]) for _ in hours
    ]
    return pa.table(
        {
            "day": pa.array([draw.choice(["2016-09-30", "2016-10-01", "20161002", ""]) for _ in hours], pa.string()),
            "hour": pa.array(hours, pa.int32()),
            "from": pa.array([draw.choice(PLACES) for _ in hours], pa.string()),
            "to": pa.array([draw.choice(PLACES) for _ in hours], pa.string()),
            "trips": pa.array(numbers, pa.string()),
        }
    )


_COUNTS = {
    "mode": {"value": "metro"},
    "date": "day",
    "tap_on_time": {"column": "hour", "format": "%H"},
    "tap_on_location": "from",
    "tap_off_location": "to",
    "count": "trips",
}
_COUNT_TABLES = {
    "on": 'columns = ["tap_on_time", "tap_on_location"]',
    "od": 'columns = ["tap_on_location", "tap_off_location"]',
    "total": "columns = []",
}

CASES: list[Case] = [
    Case("trips, looked up by mode", trip_texts(1), _plan("", TRIP_COLUMNS, TRIP, TRIP_TABLES, LOOKED_UP), _LOOKUPS),
    Case("trips, any labels", trip_texts(2), _plan("", _FREE, TRIP, _FREE_TABLES)),
    Case(
        "trips, in a time zone",
        trip_texts(3, _zoned_clock),
        _plan(_ZONE, TRIP_COLUMNS, TRIP, TRIP_TABLES, _CONTINUED),
    ),
    Case("trips, days as labels", trip_texts(4), _plan('dates = "labels"', TRIP_COLUMNS, TRIP, TRIP_TABLES)),
    Case(
        "trips, of some days and modes",
        trip_texts(5, _formatted_clock),
        _plan(_COVERED, _FORMATTED, TRIP, {**TRIP_TABLES, "again": 'columns = ["day_again"]'}),
    ),
    Case("trips, at levels", trip_texts(6), _plan("", TRIP_COLUMNS, TRIP, LEVELS, WIDER), {"regions.csv": REGIONS}),
    Case("cards", trip_texts(7), _plan("", TRIP_COLUMNS, CARD, TRIP_TABLES)),
    Case(
        "cards and days, at levels",
        trip_texts(8),
        _plan(_COVERED, TRIP_COLUMNS, CARD_AND_DAY, LEVELS, WIDER),
        {"regions.csv": REGIONS},
    ),
    Case(
        "card-days, looked up by mode",
        trip_texts(9),
        _plan("", TRIP_COLUMNS, CARD_DAY, TRIP_TABLES, LOOKED_UP),
        _LOOKUPS,
    ),
    Case(
        "card-days, in a time zone",
        trip_texts(10, _zoned_clock),
        _plan(f'{_ZONE}\ndates = "service"', TRIP_COLUMNS, CARD_DAY, TRIP_TABLES),
    ),
    Case("taps, paired by card", tap_texts(21), _plan('shape = "taps"', TAP_COLUMNS, CARD_AND_DAY, TRIP_TABLES, TAPS)),
    Case(
        "taps, paired by card-day and vehicle",
        tap_texts(22),
        _plan('shape = "taps"', TAP_COLUMNS, CARD_DAY.replace("own-unit", "refuse"), TRIP_TABLES, _BY_VEHICLE),
    ),
    Case("taps, each end by itself", tap_texts(23), _plan('shape = "taps"', TAP_COLUMNS, TRIP, _BOTH_ENDS, TAPS)),
    Case(
        "taps, each end of a card-day", tap_texts(25), _plan('shape = "taps"', TAP_COLUMNS, CARD_DAY, _BOTH_ENDS, TAPS)
    ),
    Case("taps, and totals", tap_texts(25), _plan('shape = "taps"', TAP_COLUMNS, TRIP, _TOTALS, TAPS)),
    Case("taps, and one total", tap_texts(26), _plan('shape = "taps"', _TAPS_IN_ALL, TRIP, _TOTALS, TAPS)),
    Case("cards of taps, and one total", tap_texts(27), _plan('shape = "taps"', _TAPS_IN_ALL, CARD, _TOTALS, TAPS)),
    Case("taps on, by card", tap_texts(24), _plan('shape = "taps"', TAP_COLUMNS, CARD, _ONE_END, TAPS)),
    Case("typed: timestamps", _timestamps(), _plan("", TYPED_COLUMNS, CARD, TYPED_TABLES)),
    Case("typed: timestamps, of trips", _timestamps(), _plan("", TYPED_COLUMNS, TRIP, TYPED_TABLES)),
    Case(
        "typed: timestamps, of some days",
        _timestamps(),
        _plan("first_day = 2016-08-09\nlast_day = 2016-08-10", TYPED_COLUMNS, TRIP, TYPED_TABLES),
    ),
    Case("typed: numbers", _numbers(), _plan("", TYPED_COLUMNS, CARD_DAY, TYPED_TABLES)),
    Case("typed: instants", _instants(), _plan(_ZONE, TYPED_COLUMNS, CARD, TYPED_TABLES)),
    Case("typed: clocks", _clocks(), _plan("", TYPED_COLUMNS, CARD_DAY, TYPED_TABLES), needs=frozenset({"time"})),
    Case(
        "numbers of trips",
        _counts(),
        _plan('shape = "counts"', _COUNTS, TRIP, _COUNT_TABLES, "[source.counts]\nmost = 12"),
    ),
    Case("texts with NUL", _with_nul(), _plan("", TRIP_COLUMNS, CARD, TRIP_TABLES), needs=frozenset({"nul"})),
]
