"""Exports as agencies make them: small, made up, each in the manner of one that is in circulation."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

STATIONS = ("Central", "Town Hall", "Circular Quay, No. 3 Wharf", 'The "Folly"', "Redfern", "St. Mary's")
CHINESE = ("人民广场", "徐家汇", "陆家嘴", "虹桥火车站")
OPAL = "card_id,trip_date,mode,tap_on_time,tap_on_location,tap_off_time,tap_off_location"
SCHEMA = "tides/fare_transactions.schema.json"


def moments(seed: int, rows: int) -> Iterator[tuple[random.Random, datetime, datetime]]:
    """When made-up trips began and ended: mostly at the peaks of two working days."""
    chance = random.Random(seed)
    for _ in range(rows):
        day = datetime(2016, 8, 8) + timedelta(days=chance.randrange(2))
        start = day + timedelta(minutes=chance.choice([480, 490, 1050, 1060]) + chance.randrange(-45, 45))
        yield chance, start, start + timedelta(minutes=5 + chance.randrange(50))


def write(path: Path, rows: Sequence[Sequence[object]], *, encoding: str = "utf-8", delimiter: str = ",") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def opal(folder: Path, rows: int = 3000) -> Path:
    lines: list[Sequence[object]] = [OPAL.split(",")]
    for chance, on, off in moments(1, rows):
        done = chance.random() > 0.05
        lines.append(
            (
                3_085_000_000 + chance.randrange(800),
                on.strftime("%Y%m%d"),
                chance.choice(["train", "ferry"]),
                on.strftime("%H:%M"),
                chance.choice(STATIONS),
                off.strftime("%H:%M") if done else "-1",
                chance.choice(STATIONS) if done else "UNKNOWN",
            )
        )
    path = write(folder / "opal.csv", lines)
    with path.open("a", encoding="utf-8") as file:
        file.write("<Error><Code>SlowDown</Code>\n</Error>\n")
    return path


def oyster(folder: Path, rows: int = 3000) -> Path:
    """Minutes after midnight, beyond 1440; an exit time of 0 means none, and so does `Unfinished`; days are names."""
    header = "downo,daytype,SubSystem,StartStn,EndStation,EntTime,EntTimeHHMM,ExTime,EXTimeHHMM,FinalProduct"
    lines: list[Sequence[object]] = [header.split(",")]
    for chance, on, off in moments(2, rows):
        late = 1440 if chance.random() < 0.02 else 0
        done, start = chance.random() > 0.05, 60 * on.hour + on.minute
        end = 60 * off.hour + off.minute + late if done else 0
        lines.append(
            (
                on.weekday() + 2,
                on.strftime("%a"),
                chance.choice(["LUL", "NR", "TRAM"]),
                chance.choice(STATIONS),
                chance.choice(STATIONS) if done else "Unfinished",
                start,
                on.strftime("%H:%M"),
                end,
                f"{end // 60 % 24:02d}:{end % 60:02d}",
                "PAYG",
            )
        )
    return write(folder / "oyster.csv", lines)


def bikes(folder: Path, rows: int = 3000) -> Path:
    header = "ride_id,rideable_type,started_at,ended_at,start_station_name,start_station_id,end_station_name,"
    lines: list[Sequence[object]] = [(header + "end_station_id,start_lat,start_lng,birth_year,gender").split(",")]
    for number, (chance, on, off) in enumerate(moments(3, rows)):
        one, two = chance.randrange(len(STATIONS)), chance.randrange(len(STATIONS))
        times = [moment.strftime("%m/%d/%Y %H:%M:%S") for moment in (on + timedelta(days=9), off + timedelta(days=9))]
        places = [STATIONS[one], 31000 + one, STATIONS[two], 31000 + two]
        lines.append((f"{number:016X}", "classic", *times, *places, "40.7", "-74.0", 1960 + chance.randrange(40), 1))
    return write(folder / "bikes.csv", lines)


def bike_month(folder: Path, rows: int = 3000) -> Path:
    """A month of a bike share as it was in 2015: names and coordinates of docks, and who rode, in part."""
    header = (
        "Trip Duration,Start Time,Stop Time,Start Station ID,Start Station Name,Start Station Latitude,"
        "Start Station Longitude,End Station ID,End Station Name,End Station Latitude,End Station Longitude,"
        "Bike ID,User Type,Birth Year,Gender"
    )
    docks = [(3180 + n, name, 40.71 + n / 130, -74.07 + n / 170) for n, name in enumerate(STATIONS)]
    lines: list[Sequence[object]] = [header.split(",")]
    for n, (chance, on, off) in enumerate(moments(7, rows)):
        ride = timedelta(days=(date(2015, 10, 1) - on.date()).days + n % 31, seconds=n % 60)
        start, end = on + ride, off + ride
        rider = ("Subscriber", 1950 + n % 45, 1 + n % 2) if chance.random() < 0.88 else ("Customer", "", 0)
        places = [*chance.choice(docks), *chance.choice(docks)]
        lines.append((int((end - start).total_seconds()), start, end, *places, 24000 + n % 300, *rider))
    return write(folder / "JC-201510-tripdata.csv", lines)


def european(folder: Path, rows: int = 3000) -> Path:
    """Semicolons, Windows-1252, days before months."""
    lines: list[Sequence[object]] = [("Karte Nr.", "Mode", "Entry Time", "Entry Station", "Exit Time", "Exit Station")]
    for chance, on, off in moments(4, rows):
        times = [(moment + timedelta(days=9)).strftime("%d.%m.%Y %H:%M") for moment in (on, off)]
        places = [chance.choice(["Königsplatz", "Café Central", "Straße 7; Nord"]) for _ in range(2)]
        lines.append((chance.randrange(500), "U-Bahn", times[0], places[0], times[1], places[1]))
    return write(folder / "fahrten.csv", lines, encoding="windows-1252", delimiter=";")


def taps(folder: Path, rows: int = 3000) -> Path:
    """One row per tap, in any script, as Parquet; buses tap on only."""
    columns: dict[str, list[Any]] = {name: [] for name in ("card_no", "line_mode", "tap_type", "tap_time", "station")}
    for chance, on, off in moments(5, rows):
        card, mode = f"{chance.randrange(600):08d}", chance.choice(["metro", "bus"])
        for action, moment in (("entry", on), ("exit", off)):
            if mode == "metro" or action == "entry":
                values = (card, mode, action, moment, chance.choice(CHINESE))
                for name, value in zip(columns, values, strict=True):
                    columns[name].append(value)
    types = {"tap_time": pa.timestamp("ms"), "station": pa.dictionary(pa.int16(), pa.string())}
    arrays = {name: pa.array(values, types.get(name)) for name, values in columns.items()}
    pq.write_table(pa.table(arrays), folder / "taps.parquet")
    return folder / "taps.parquet"


def tides(folder: Path, schema: Path, rows: int = 3000) -> Path:
    """Fare transactions by the published schema: every action, every mark of a missing value."""
    described = json.loads(schema.read_text(encoding="utf-8"))
    names = [each["name"] for each in described["fields"]]
    actions = next(each for each in described["fields"] if each["name"] == "fare_action")["constraints"]["enum"]
    missing = described["missingValues"]
    lines: list[Sequence[object]] = [names]
    for number, (chance, on, _) in enumerate(moments(6, rows)):
        late = chance.random() < 0.03
        moment = on.replace(hour=0) + timedelta(days=1) if late else on
        row: dict[str, object] = dict.fromkeys(names, chance.choice(missing))
        row |= {
            "transaction_id": f"T{number:06d}",
            "service_date": on.date().isoformat(),
            "event_timestamp": f"{moment.isoformat()}{chance.choice(['', '', '+10:00'])}",
            "amount": "2.50",
            "fare_action": chance.choice([*actions, "Enter", "Enter", "Enter", "Exit", "Exit"]),
            "stop_id": chance.choice(["s1", "s2", "p1", "p2", *missing]),
            "num_riders": chance.choice([1, 1, 2, 40, ""]),
            "fare_capped": "false",
            "token_id": chance.choice([f"tok{chance.randrange(300):05d}", *missing]),
        }
        lines.append([row[name] for name in names])
    return write(folder / "fare_transactions.csv", lines)
