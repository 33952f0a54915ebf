"""Days: time zones, skipped and repeated hours, service days, and other ways to write a time."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapveil.base.errors import PlanError
from tapveil.inputs.values import read_date, read_time
from tapveil.plan.model import Plan
from tapveil.trips.reasons import Reason
from tapveil.veil.spend import spend_of
from tests.conftest import write_csv
from tests.property.test_counting import cells, exact

PLAN = """
[release]
name = "days"
title = "Days"
partition = ["date"]
[source]
path = "trips.{ending}"
{source}
[source.columns]
date = {date}
tap_on_time = {time}
[coarsen]
time_minutes = 15
{coarsen}
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "sbh"
[[table]]
name = "on"
columns = ["tap_on_time"]
epsilon = 1
delta = "1/8000000"
"""


def plan(
    folder: Path, source: str = "", *, date: str = '"at"', time: str = '"at"', coarsen: str = "", ending: str = "csv"
) -> Plan:
    return Plan.parse(PLAN.format(source=source, date=date, time=time, coarsen=coarsen, ending=ending), base=folder)


def counted(folder: Path, texts: list[str], source: str, **more: str) -> tuple[Counter[tuple[str, ...]], int]:
    write_csv(folder / "trips.csv", [[text] for text in texts], ["at"])
    found = exact(plan(folder, source, **more))
    return cells(found.tables["on"]), found.refusals.refused


SKIPPED = {
    "Australia/Sydney": "2016-10-02 02:30:00",
    "Europe/London": "2017-03-26 01:30:00",
    "America/New_York": "2017-03-12 02:30:00",
}
REPEATED = {
    "Australia/Sydney": ("2017-04-02T02:30:00+11:00", "2017-04-02T02:30:00+10:00"),
    "Europe/London": ("2016-10-30T01:30:00+01:00", "2016-10-30T01:30:00+00:00"),
    "America/New_York": ("2016-11-06T01:30:00-04:00", "2016-11-06T01:30:00-05:00"),
}


@pytest.mark.parametrize("zone", SKIPPED)
def test_an_hour_that_was_skipped_is_refused(zone: str, tmp_path: Path) -> None:
    found, refused = counted(tmp_path, [SKIPPED[zone], SKIPPED[zone][:11] + "04:30:00"], f'timezone = "{zone}"')
    assert (found.total(), refused) == (1, 1)
    found, refused = counted(tmp_path, [SKIPPED[zone]], "")
    assert (found.total(), refused) == (1, 0), "without a time zone nobody knows"


@pytest.mark.parametrize("zone", SKIPPED)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_so_is_one_of_a_typed_timestamp(zone: str, unit: str, tmp_path: Path) -> None:
    moments = [datetime.fromisoformat(SKIPPED[zone]), datetime.fromisoformat("2016-08-08 02:30:00"), None]
    pq.write_table(pa.table({"at": pa.array(moments, pa.timestamp(unit))}), tmp_path / "trips.parquet")
    found = exact(plan(tmp_path, f'timezone = "{zone}"', ending="parquet"))
    assert found.refusals.by_reason == {Reason("unreadable", "tap_on_time"): 1, Reason("missing", "date"): 1}
    assert cells(found.tables["on"]) == Counter({("2016-08-08", "02:30"): 1})


@pytest.mark.parametrize("zone", REPEATED)
def test_an_hour_that_was_repeated_falls_into_one_bin(zone: str, tmp_path: Path) -> None:
    found, refused = counted(tmp_path, list(REPEATED[zone]), f'timezone = "{zone}"')
    assert (list(found.values()), refused) == ([2], 0)


EXTREMES = [
    *(
        "0001-01-01 00:00:00",
        "9999-12-31 23:59:00",
        "2026-11-20 02:30:00",
        "2026-12-02 07:30:00",
        "2022-03-27 02:30:00",
    ),
    *("2016-10-02 02:30:00", "1960-06-01 12:00:00"),
]


ZONES = ["America/Vancouver", "Africa/Casablanca", "Europe/Chisinau", "Australia/Sydney"]


@pytest.mark.parametrize(
    ("zone", "instants"), [(None, False), *((zone, is_) for zone in ZONES for is_ in (False, True))]
)
def test_one_row_never_decides_how_others_are_read(zone: str | None, instants: bool, tmp_path: Path) -> None:
    """A file whose column is empty has another type, and all files are then read as text: with the same outcome."""
    kind = pa.timestamp("us", tz="UTC") if instants else pa.timestamp("us")
    beyond = [2**62, -(2**61), 253_402_300_800_000_000]
    moments = [datetime.fromisoformat(text) for text in EXTREMES]
    values = pa.concat_arrays([pa.array(moments, pa.timestamp("us")).cast(pa.int64()), pa.array(beyond, pa.int64())])
    days = pa.array(["2016-08-08"] * len(values))
    pq.write_table(pa.table({"at": values.cast(kind), "day": days}), tmp_path / "trips.parquet")
    source = f'timezone = "{zone}"' if zone else ""
    alone = exact(plan(tmp_path, source, date='"day"', ending="parquet"))
    pq.write_table(pa.table({"at": pa.nulls(1), "day": ["2016-08-08"]}), tmp_path / "b.parquet")
    text = PLAN.format(source=source, date='"day"', time='"at"', coarsen="", ending="parquet")
    text = text.replace('path = "trips.parquet"', 'path = ["trips.parquet", "b.parquet"]')
    both = exact(Plan.parse(text, base=tmp_path))
    assert cells(both.tables["on"]) - cells(alone.tables["on"]) == Counter({("2016-08-08", "-1"): 1})
    assert both.refusals.by_reason == alone.refusals.by_reason


NIGHT = ["2016-08-09 01:15:00", "2016-08-09 03:59:59", "2016-08-09 04:00:00"]


def test_a_service_day_runs_past_midnight(tmp_path: Path) -> None:
    found, _ = counted(tmp_path, NIGHT, 'day_starts = "04:00"')
    assert found == Counter({("2016-08-08", "01:15"): 1, ("2016-08-08", "03:45"): 1, ("2016-08-09", "04:00"): 1})
    found, _ = counted(tmp_path, NIGHT, 'day_starts = "04:00"', coarsen='after_midnight = "continued"')
    assert found == Counter({("2016-08-08", "25:15"): 1, ("2016-08-08", "27:45"): 1, ("2016-08-09", "04:00"): 1})


@pytest.mark.parametrize(
    ("dates", "clock", "day"),
    [
        ("calendar", "01:15", "2016-08-08"),
        ("calendar", "25:15", "2016-08-09"),
        ("calendar", "1515", "2016-08-09"),
        ("calendar", "28:15", "2016-08-10"),
        ("service", "01:15", "2016-08-09"),
        ("service", "25:15", "2016-08-09"),
    ],
)
def test_a_clock_beside_a_date(dates: str, clock: str, day: str, tmp_path: Path) -> None:
    """Calendar dates need the time to know the service day; dates of service days are what they are."""
    write_csv(tmp_path / "trips.csv", [["2016-08-09", clock]], ["day", "clock"])
    source = f'day_starts = "04:00"\ndates = "{dates}"'
    found = exact(plan(tmp_path, source, date='"day"', time='"clock"', coarsen='after_midnight = "continued"'))
    label = "04:15" if clock == "28:15" else "25:15"
    assert cells(found.tables["on"]) == Counter({(day, label): 1})


@pytest.mark.parametrize(
    ("written", "text", "expected"),
    [
        ("%d/%m/%Y %H:%M", "31/8/2016 7:31", ("2016-08-31", "07:30")),
        ("%m/%d/%Y %I:%M:%S %p", "8/31/2016 7:31:05 PM", ("2016-08-31", "19:30")),
        ("%d.%m.%y %H.%M", "31.08.16 07.31", ("2016-08-31", "07:30")),
    ],
)
def test_another_way_to_write_it(written: str, text: str, expected: tuple[str, str], tmp_path: Path) -> None:
    column = f'{{ column = "at", format = "{written}" }}'
    found, refused = counted(tmp_path, [text, "2016-08-31 07:31:00"], "", date=column, time=column)
    assert (found, refused) == (Counter({expected: 1}), 1), "one format, or none"


@pytest.mark.parametrize(
    ("source", "coarsen", "message"),
    [
        ('day_starts = "04:10"', "", "must be the start of a time bin of 15 minutes"),
        ('day_starts = "4"', "", "must be a clock time in quotes"),
        ('day_starts = "04:00"\ndates = "labels"', "", 'needs dates = "calendar" or "service"'),
        ("", 'after_midnight = "continued"', "needs [source] day_starts"),
        ('timezone = "Sydney"', "", "`Sydney` is not a time zone"),
    ],
)
def test_days_that_cannot_be(source: str, coarsen: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError) as error:
        plan(tmp_path, source, coarsen=coarsen)
    assert message in str(error.value)


@pytest.mark.parametrize("written", ["%Q", "day", "%Y-%m", ""])
def test_a_format_that_is_none(written: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError):
        plan(tmp_path, time=f'{{ column = "at", format = "{written}" }}')


DAYS = "first_day = 2016-08-08\nlast_day = 2016-08-08"


@pytest.mark.parametrize(
    "other",
    [
        {"time": '{ column = "at", missing = ["0"] }'},
        {"time": '{ column = "at", format = "%I:%M" }'},
        {"time": '{ value = "05:00" }'},
        {"date": '{ column = "at", missing = "0" }'},
        {"source": f'{DAYS}\nday_starts = "05:00"'},
        {"source": f'{DAYS}\nday_starts = "04:00"\ndates = "service"'},
        {"source": f'{DAYS}\nday_starts = "04:00"\ntimezone = "Europe/London"'},
        {"source": f'{DAYS}\nday_starts = "04:00"\nencoding = "windows-1252"'},
    ],
)
def test_days_are_the_same_only_if_read_in_the_same_way(other: dict[str, str], tmp_path: Path) -> None:
    """Else two releases of other days could both hold one trip, and the ledger would take them for apart."""
    usual = {"source": f'{DAYS}\nday_starts = "04:00"'}
    one, two = (spend_of(plan(tmp_path, **each), "0" * 32, date(2026, 1, 1)) for each in (usual, usual | other))
    assert one.days_by != two.days_by


@pytest.mark.parametrize(
    ("text", "written", "moment"),
    [
        ("11234", "%H%M%S", "01:12"),
        ("512", "%H%M%S", "00:05"),
        ("113412", "%H%M%S", "11:34"),
        ("20250401 11234", "%Y%m%d %H%M%S", "01:12"),
        ("1042025 1:05", "%d%m%Y %H:%M", "2025-04-01 01:05"),
        ("11225 23:05", "%d%m%y %H:%M", "2025-12-01 23:05"),
        ("1/4/2025 7:05", "%d/%m/%Y %H:%M", "2025-04-01 07:05"),
    ],
)
def test_a_number_that_lost_its_zeros_is_read_with_them(text: str, written: str, moment: str) -> None:
    *day, clock = moment.split()
    assert read_time(text, written=written) == 60 * int(clock[:2]) + int(clock[3:])
    assert not day or read_date(text, written=written) == day[0]


@pytest.mark.parametrize(("text", "minute"), [("7.30", 450), ("7.3", None), ("7.05", 425), ("18.0", None), ("7", None)])
def test_a_clock_that_was_taken_for_a_fraction_is_not_read(text: str, minute: int | None) -> None:
    assert read_time(text, written="%H.%M") == minute


def test_a_number_whose_missing_zeros_could_be_anywhere_is_not_read() -> None:
    assert read_date("2025111", written="%Y%m%d") is None
