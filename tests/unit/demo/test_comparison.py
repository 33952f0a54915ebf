"""The two releases of the generated city beside its exact counts."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

import tapveil
from tapveil.base.progress import Silent
from tapveil.demo.city import JOURNEYS, make_city
from tapveil.demo.comparison import comparison
from tapveil.plan.model import Plan

MONDAY = date(2025, 3, 3)
TIMED = ("mode", "date", "tap_on_time", "tap_on_location")
TRAVELLED = ("mode", "date", "tap_on_location", "tap_off_location")

Cells = Mapping[tuple[str, ...], int]


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared") / "city"
    plan = make_city(folder, trips=3000, days=[MONDAY], file_format="csv")
    for name, path in (("published", plan), ("journeys", folder / JOURNEYS)):
        tapveil.release(Plan.read(path), folder / name, in_ledger=False)
    return folder


def exact(city: Path, columns: tuple[str, ...]) -> Cells:
    """Counted by hand, from the rows that are not broken."""
    postcodes = {row["stop_id"]: row["postcode"] for row in read(city / "stops.csv")}
    found: Counter[tuple[str, ...]] = Counter()
    for row in read(city / "trips" / f"{MONDAY}.csv"):
        if row["trip_date"] == str(MONDAY) and row["mode"] and row["tap_on_time"] != "2S:61":
            hour = int(row["tap_on_time"].partition(":")[0] or -1)
            cell = {"mode": row["mode"], "date": row["trip_date"]}
            cell["tap_on_time"] = "-1" if hour < 0 else f"{hour % 24:02d}:00"
            for end in ("tap_on_location", "tap_off_location"):
                cell[end] = (postcodes.get(row[end], "") if row["mode"] == "bus" else row[end]) or "UNKNOWN"
            found[tuple(cell[column] for column in columns)] += 1
    return found


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def put(city: Path, name: str, columns: tuple[str, ...], cells: Cells) -> None:
    with (city / "journeys" / "estimates" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "count", "low", "high", "weight"])
        writer.writerows([*cell, number, 0, 9, 100] for cell, number in cells.items())


@pytest.mark.parametrize(("times", "expected"), [(1, "0 %"), (0, "100 %"), (3, "200 %")])
def test_errors_are_those_beside_trips_that_are_counted_by_hand(city: Path, times: int, expected: str) -> None:
    for name, columns in (("origin_time", TIMED), ("od", TRAVELLED)):
        put(city, name, columns, {cell: times * number for cell, number in exact(city, columns).items()})
    plans = [Plan.read(city / name) for name in ("plan.toml", JOURNEYS)]
    folders = [tapveil.open(city / name) for name in ("published", "journeys")]
    heading, protects, *errors = comparison(plans, folders, memory="1GB", progress=Silent()).lines(left=True)
    assert heading.split() == ["published", "journeys"]
    assert protects.endswith("a card's day, 2")
    assert [line.endswith(f"  {expected}") for line in errors] == [True, True, True], errors
    assert "  100 %  " in errors[1], "no cell of the paper's plan has 18 trips in a quarter of an hour"
