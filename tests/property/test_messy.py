"""Random messy exports: every trip is counted exactly once in each table, as the plain-Python reference counts it."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapveil.counting.reveal import exact_counts
from tapveil.plan.model import Plan
from tests.property.test_counting import cells, exact
from tests.support.messy import Row, Tap, Telling, count_taps, count_trips

CASES = int(os.environ.get("TAPVEIL_CASES", "20"))
"""How many messy exports of each kind: `make test-full` asks for thousands."""

CHANGES = {
    "Australia/Sydney": (date(2016, 10, 2), date(2017, 4, 2)),
    "Europe/London": (date(2017, 3, 26), date(2016, 10, 30)),
    "America/New_York": (date(2016, 11, 6), date(2017, 3, 12)),
}
"""The days on which an hour is skipped or repeated."""
PLACES = st.sampled_from(["Central", 'The "Folly", No. 3', "Žižkov", "東門", " padded ", "-1", "", "NA", "3000"])
MODES = st.sampled_from(["bus", "train", " ferry ", "light,rail", "bus", "train", ""])
RARELY = st.sampled_from([False] * 9 + [True])


@st.composite
def tellings(draw: st.DrawFn) -> Telling:
    zone = draw(st.sampled_from([None, *CHANGES]))
    starts = draw(st.sampled_from([0, 180, 240]))
    continued = bool(starts) and draw(st.booleans())
    return Telling(zone, starts, draw(st.booleans()), continued, draw(st.sampled_from([5, 15, 60])))


@st.composite
def moments(draw: st.DrawFn, telling: Telling) -> datetime:
    """Mostly of the night in which the clocks change."""
    days = CHANGES.get(telling.zone or "", (date(2016, 8, 8),))
    day = draw(st.sampled_from(days)) + timedelta(days=draw(st.sampled_from([-1, 0, 0, 0, 1])))
    minute = draw(st.integers(0, 299) | st.integers(0, 1439))
    return datetime(day.year, day.month, day.day) + timedelta(minutes=minute, seconds=draw(st.sampled_from([0, 59])))


def written_time(draw: st.DrawFn, telling: Telling, at: datetime, day: date) -> str:
    """One of the ways in which an export writes a time."""
    if draw(RARELY):
        return draw(st.sampled_from(["", "-1", "NA", "soon", "0731", "25:61", "2016-10-02 25:00:00"]))
    ways = ["clock", "clock", "seconds", "minutes", "stamp"] + (["offset", "utc"] if telling.zone else [])
    way = draw(st.sampled_from(ways))
    past = 1440 * max(0, (at.date() - day).days) + 60 * at.hour + at.minute
    if way == "clock":
        return f"{past // 60:02d}:{past % 60:02d}"
    if way == "seconds":
        return f"{past // 60}:{past % 60:02d}:{at.second:02d}"
    if way == "minutes":
        return str(past)
    if way == "stamp":
        return at.isoformat(" ")
    aware = at.replace(tzinfo=ZoneInfo(str(telling.zone)), fold=draw(st.integers(0, 1)))
    return (aware.astimezone(ZoneInfo("UTC")) if way == "utc" else aware).isoformat("T")


def written_date(draw: st.DrawFn, day: date) -> str:
    if draw(RARELY):
        return draw(st.sampled_from(["", "2016-02-30", "08/08/2016", "soon"]))
    return draw(st.sampled_from([day.isoformat(), day.strftime("%Y%m%d"), f" {day} ", f"{day} 12:00:00"]))


@st.composite
def trips(draw: st.DrawFn, telling: Telling) -> Row:
    on = draw(moments(telling))
    off = on + timedelta(minutes=draw(st.integers(0, 200)))
    day = on.date() - timedelta(days=draw(st.sampled_from([0, 0, 0, 1])))
    times = [written_time(draw, telling, at, day) for at in (on, off)]
    return (written_date(draw, day), draw(MODES), times[0], draw(PLACES), times[1], draw(PLACES))


@st.composite
def taps(draw: st.DrawFn, telling: Telling) -> Tap:
    at = draw(moments(telling))
    day = at.date() - timedelta(days=draw(st.sampled_from([0, 0, 0, 1])))
    action = draw(st.sampled_from(["Enter", "Enter", "Exit", "Exit", " Exit ", "Purchase", ""]))
    card = draw(st.sampled_from(["c1", "c2", " c2", "c3", "c3", "c4", "NA", ""]))
    return (card, written_date(draw, day), draw(MODES), action, written_time(draw, telling, at, day), draw(PLACES))


def write(draw: st.DrawFn, folder: Path, header: list[str], rows: Sequence[tuple[str, ...]]) -> str:
    """The rows in several files, of any format and order of columns; what the plan must say of them."""
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "windows-1252"]))
    if encoding == "windows-1252" and any("東" in text for row in rows for text in row):
        encoding = "utf-8"
    (folder / "trips").mkdir()
    parts = draw(st.integers(1, 3))
    for part in range(parts):
        order = draw(st.permutations(range(len(header))))
        table = [[row[index] for index in order] for row in [tuple(header), *rows[part::parts]]]
        path = folder / "trips" / f"part {part}"
        if draw(st.booleans()) or len(table) == 1:
            mark, end = draw(st.sampled_from(",;\t|")), draw(st.sampled_from(["\n", "\r\n"]))
            lines = [mark.join('"' + text.replace('"', '""') + '"' for text in row) for row in table]
            path.with_suffix(".csv").write_bytes((end.join(lines) + end).encode(encoding))
        else:
            kind = draw(st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]))
            columns = zip(*table[1:], strict=True)
            arrays = [pa.array([text or None for text in column], pa.string()).cast(kind) for column in columns]
            pq.write_table(pa.table(arrays, names=table[0]), path.with_suffix(".parquet"))
    return 'encoding = "windows-1252"' if encoding == "windows-1252" else ""


TABLES = {
    "on": ["tap_on_time", "tap_on_location"],
    "off": ["tap_off_time", "tap_off_location"],
    "od": ["tap_on_location", "tap_off_location"],
}


def plan(
    folder: Path,
    telling: Telling,
    source: str,
    columns: dict[str, str],
    privacy: str,
    tables: dict[str, list[str]] = TABLES,
) -> Plan:
    missing = {ours: {"column": theirs, "missing": ["NA"]} for ours, theirs in columns.items()}
    lines = [
        '[release]\nname = "messy"\ntitle = "Messy"',
        '[source]\npath = "trips/*"',
        source,
        f'dates = "{"service" if telling.service else "calendar"}"',
        f'day_starts = "{telling.starts // 60:02d}:00"',
        *([f'timezone = "{telling.zone}"'] if telling.zone else []),
        "[source.columns]",
        *(f"{ours} = {{ column = {json.dumps(each['column'])}, missing = ['NA'] }}" for ours, each in missing.items()),
        f"[coarsen]\ntime_minutes = {telling.minutes}",
        f'after_midnight = "{"continued" if telling.continued else "wrapped"}"',
        privacy,
    ]
    for name, keys in tables.items():
        lines.append(f'[[table]]\nname = "{name}"\ncolumns = {json.dumps(keys)}\nepsilon = 1\ndelta = "1/8000000"')
    return Plan.parse("\n".join(lines), base=folder)


COLUMNS = ["date", "mode", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"]
TAP_COLUMNS = ["card", "date", "mode", "tap", "tap_time", "tap_location"]
SHARES = max(1, CASES // 1000)
"""Many cases are tried in shares that run side by side."""
IN_SHARES = pytest.mark.parametrize("share", range(SHARES))
THOROUGH = settings(max_examples=CASES // SHARES, suppress_health_check=list(HealthCheck))


@IN_SHARES
@THOROUGH
@given(telling=tellings(), data=st.data())
def test_messy_trips(share: int, telling: Telling, data: st.DataObject) -> None:
    rows = data.draw(st.lists(trips(telling), max_size=25))
    expected, refused = count_trips(telling, rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = data.draw(st.composite(lambda draw: write(draw, folder, COLUMNS, rows))())
        privacy = '[privacy]\nunit = "trip"\nneighbours = "replace"\nmechanism = "sbh"'
        counted = exact(plan(folder, telling, source, {each: each for each in COLUMNS}, privacy))
    assert {name: cells(table) for name, table in counted.tables.items()} == expected
    assert (counted.refusals.rows, counted.refusals.refused) == (len(rows), refused)
    accepted = len(rows) - refused
    assert all(exact_counts(table).sum() == accepted for table in counted.tables.values())


@IN_SHARES
@THOROUGH
@given(telling=tellings(), unit=st.sampled_from(["card", "card-day"]), data=st.data())
def test_messy_taps(share: int, telling: Telling, unit: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(taps(telling), max_size=25))
    within = data.draw(st.sampled_from([30, 180]))
    expected, refused = count_taps(telling, rows, within, unit == "card-day")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = data.draw(st.composite(lambda draw: write(draw, folder, TAP_COLUMNS, rows))())
        most = "trips_per_day" if unit == "card-day" else "trips_per_card"
        lines = [
            f'[source.taps]\non = "Enter"\noff = "Exit"\nwithin_minutes = {within}',
            f'[privacy]\nunit = "{unit}"\nneighbours = "replace"\nmechanism = "sbh"',
            f'{most} = 50\nwithout_card = "refuse"',
        ]
        source = f'{source}\nshape = "taps"'
        columns = {each: each for each in TAP_COLUMNS}
        counted = exact(plan(folder, telling, source, columns, "\n".join(lines)))
    assert {name: cells(table) for name, table in counted.tables.items()} == expected
    assert counted.refusals.refused == refused


UNITS = {
    "trip": "",
    "card-day": 'trips_per_day = 2\nwithout_card = "{}"',
    "card": 'trips_per_card = 2\nwithout_card = "{}"',
}


@IN_SHARES
@settings(THOROUGH, max_examples=max(20, CASES // SHARES // 3))
@given(telling=tellings(), unit=st.sampled_from(sorted(UNITS)), data=st.data())
def test_one_unit_of_taps_changes_no_more_than_is_accounted_for(
    share: int, telling: Telling, unit: str, data: st.DataObject
) -> None:
    """Take a trip's taps, a card's day, or a card away: at most so many cells of each table change, by one each."""
    rows = data.draw(st.lists(taps(telling), min_size=1, max_size=25))
    victim = data.draw(st.sampled_from(rows))
    named = victim[0].strip() not in ("", "NA")
    day = tap_day(telling, victim)
    if unit == "trip" or not named:
        others = [row for row in rows if row[0] == victim[0] and row[3].strip() == "Exit"]
        off = data.draw(st.sampled_from(others)) if others and victim[3].strip() == "Enter" else None
        gone = [victim, *([off] if off else [])]
    elif unit == "card":
        gone = [row for row in rows if row[0].strip() == victim[0].strip()]
    else:
        gone = [row for row in rows if row[0].strip() == victim[0].strip() and tap_day(telling, row) == day]
    left = list(rows)
    for row in gone:
        left.remove(row)
    # Of both ends only where taps without a card are refused: such a trip would be two cells.
    without = data.draw(st.sampled_from(["refuse", "own-unit"]))
    tables = {name: keys for name, keys in TABLES.items() if name != "od" or (unit != "trip" and without == "refuse")}
    before, after = (counted_taps(telling, unit, without, tables, each, data) for each in (rows, left))
    for name, table in before.items():
        changed = Counter(table)
        changed.subtract(after[name])
        assert sum(map(abs, changed.values())) <= (1 if unit == "trip" else 2)
        assert all(abs(change) <= 1 for change in changed.values())


def tap_day(telling: Telling, row: Tap) -> date | None:
    day = telling.read_date(row[1])
    minute = telling.time(row[4], day)
    return day if day is None or minute is None else telling.day(day, minute)


def counted_taps(
    telling: Telling, unit: str, without: str, tables: dict[str, list[str]], rows: list[Tap], data: st.DataObject
) -> dict[str, Counter[tuple[str, ...]]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = data.draw(st.composite(lambda draw: write(draw, folder, TAP_COLUMNS, rows))())
        privacy = (
            f'[privacy]\nunit = "{unit}"\nneighbours = "add-remove"\nmechanism = "sbh"\n{UNITS[unit].format(without)}'
        )
        lines = '[source.taps]\non = "Enter"\noff = "Exit"\n' + privacy
        columns = {each: each for each in TAP_COLUMNS}
        counted = exact(plan(folder, telling, f'{source}\nshape = "taps"', columns, lines, tables))
    return {name: cells(table) for name, table in counted.tables.items()}
