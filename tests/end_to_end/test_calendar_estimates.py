"""Estimates and synthetic trips of months and kinds of day: they add up, follow the measurements, and are verified."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import tapveil
from tapveil.base.calendar import KINDS_OF_DAY, kind_of
from tapveil.base.errors import ReaderError
from tapveil.plan.model import Plan
from tapveil.veil.release import release
from tapveil.verification.folder import verify_folder
from tests.conftest import write_csv
from tests.property.test_world import PLACES, PLAN
from tests.support.tampering import refresh

DAYS = np.arange("2025-02-26", "2025-03-03", dtype="datetime64[D]")
"""Wednesday to Sunday: February has no weekend among them, March no weekday."""
TOTAL = '[[public.total]]\ntrips = 2500\nof = { mode = "bus", day_type = "weekend" }\nsource = "a report"\n'


def rows(trips: int = 6_000) -> list[tuple[str, ...]]:
    draw = np.random.default_rng(8)
    stops = np.array(["Ash", "Oak", "Elm"])
    chosen = zip(
        draw.choice(DAYS, trips), draw.integers(24, size=trips), draw.choice(["bus", "train"], trips), strict=True
    )
    return [
        (str(draw.integers(900)), str(mode), str(day), f"{hour:02d}:30", *draw.choice(stops, 2, p=[0.6, 0.3, 0.1]))
        for day, hour, mode in chosen
    ]


def plan_of(folder: Path, more: str = "", **changes: str) -> Plan:
    write_csv(folder / "places.csv", PLACES, ("name", "mode", "latitude", "longitude"))
    text = PLAN.format(unit="trip", bounds="", per_cell="")
    calendar = 'time_minutes = 360\n[coarsen.date]\nmonth = "month"\nday_type = "weekday-weekend"'
    basic = {
        "first_day = 2025-03-03": "first_day = 2025-02-26",
        "last_day = 2025-03-05": "last_day = 2025-03-02",
        'partition = ["mode", "date"]': 'partition = ["mode", "month", "day_type"]',
        "time_minutes = 360": calendar,
    }
    for old, new in {**basic, **changes}.items():
        assert old in text
        text = text.replace(old, new)
    return Plan.parse(text + more, base=folder)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calendar-estimates")
    write_csv(folder / "trips.csv", rows(), ("card", "mode", "day", "hour", "from", "to"))
    release(plan_of(folder, TOTAL), folder / "out", in_ledger=False)
    return folder / "out"


def test_the_folder_has_estimates_by_month_and_kind_of_day_and_verifies(published: Path) -> None:
    assert verify_folder(published).findings == []
    assert sorted(path.name for path in (published / "estimates").iterdir()) == [
        "joint.csv",
        "od.csv",
        "origins.csv",
        "total.csv",
    ]
    header = (published / "estimates" / "joint.csv").read_text().splitlines()[0]
    assert header.startswith("mode,month,day_type,tap_on_time,tap_on_location,tap_off_location,count")


def test_sums_of_synthetic_trips_are_the_estimates_of_every_table(published: Path) -> None:
    folder = tapveil.open(published)
    trips = folder.trips().read_all().to_pydict()
    for columns in (
        ["month", "day_type"],
        ["month", "day_type", "tap_on_location", "tap_off_location"],
        ["tap_on_time"],
    ):
        keys = ["mode", *columns]
        dealt = Counter(zip(*(trips[key] for key in keys), strict=True))
        rows = folder.estimate(columns).rows()
        assert {tuple(row[key] for key in keys): row["count"] for row in rows if row["count"]} == dealt


def test_estimates_are_near_the_truth_and_labels_that_no_day_has_together_have_none(published: Path) -> None:
    kinds = KINDS_OF_DAY["weekday-weekend"]
    truth = Counter((mode, day[:7], kind_of(date.fromisoformat(day), kinds)) for _, mode, day, *_ in rows())
    found = {
        (row["mode"], row["month"], row["day_type"]): row["count"]
        for row in tapveil.open(published).estimate(["month", "day_type"]).rows()
    }
    assert found["train", "2025-02", "weekend"] == found["train", "2025-03", "weekday"] == 0
    for cell in (("train", "2025-02", "weekday"), ("train", "2025-03", "weekend"), ("bus", "2025-02", "weekday")):
        assert abs(found[cell] - truth[cell]) < 0.1 * truth[cell]
    assert found["bus", "2025-03", "weekend"] == 2500, "an exact total of a kind of day"


def test_means_per_day_of_estimates_follow(published: Path) -> None:
    per_day = tapveil.open(published).estimate(["month", "day_type"]).per_day()
    days = {(row["month"], row["day_type"]): row["days"] for row in per_day.rows() if row["days"]}
    assert days == {("2025-02", "weekday"): 3, ("2025-03", "weekend"): 2}


def test_estimates_by_one_of_two_columns_of_the_day_are_refused_with_what_to_do(published: Path) -> None:
    with pytest.raises(ReaderError, match="by day_type and month together, or by neither"):
        tapveil.open(published).estimate(["month"])


def test_a_changed_estimate_and_estimates_that_are_left_out_are_found(published: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(published, tmp_path / "copy")
    text = (copy / "estimates" / "total.csv").read_text()
    (copy / "estimates" / "total.csv").write_text(text.replace(",2500,", ",2499,"))
    refresh(copy)
    assert "derived-differs" in {finding.code for finding in verify_folder(copy).findings}


def test_tables_by_other_columns_of_the_day_have_measurements_only(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", rows(500), ("card", "mode", "day", "hour", "from", "to"))
    changes = {
        'partition = ["mode", "month", "day_type"]': 'partition = ["mode"]',
        'columns = ["tap_on_location", ': 'columns = ["day_type", "tap_on_location", ',
        'columns = ["tap_on_time", "tap_on_location"]': 'columns = ["tap_on_time", "tap_on_location", "day_type"]',
    }
    months = '[[table]]\nname = "months"\ncolumns = ["month", "tap_on_location"]\n'
    folder = release(plan_of(tmp_path, months, **changes), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert not (folder.path / "estimates" / "months.csv").exists()
    by_kind = Counter[str]()
    for row in folder.estimate(["tap_on_time", "tap_on_location", "day_type"]).rows():
        by_kind[row["day_type"]] += row["count"]
    assert sum(by_kind.values()) == sum(row["count"] for row in folder.estimate([]).rows())
    assert abs(by_kind["weekday"] - 300) < 120
