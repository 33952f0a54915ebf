"""Calendars from the plan to the reader: a folder says how many days a cell is of, means follow; tampering shows."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.errors import UsageError
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tapveil.plan.model import Plan, preset_text
from tapveil.published.manifest import json_text
from tapveil.verification.folder import verify_folder
from tests.conftest import start_ledger, write_csv
from tests.property.test_calendars import labels_of, plan_of
from tests.support.tampering import codes, refresh, resum

COUNTED = [f"2025-02-{n}" for n in (27, 28)] + [f"2025-03-0{n}" for n in range(1, 6)]


def rows() -> list[tuple[str, str, str, str]]:
    draw = np.random.default_rng(3)
    days = draw.choice(["2025-02-20", *COUNTED], 6_000)
    return [
        (str(n % 700), day, f"{draw.integers(24):02d}:00", draw.choice(["Ash", "Oak"])) for n, day in enumerate(days)
    ]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calendars")
    plan = plan_of(folder, rows())
    start_ledger(plan, epsilon="20", delta="1e-5")
    tapveil.release(plan, folder / "out")
    return folder / "out"


@pytest.fixture
def copy(published: Path, tmp_path: Path) -> Path:
    shutil.copytree(published, tmp_path / "copy")
    return tmp_path / "copy"


def test_the_folder_verifies_and_says_of_each_day_what_it_is(published: Path) -> None:
    assert verify_folder(published).findings == []
    header, *lines = (published / "calendar.csv").read_text().splitlines()
    assert header == "date,day_type,month,season"
    found = [(day, month, kind, season) for day, kind, month, season in (line.split(",") for line in lines)]
    assert found == [(day, *labels_of(day)) for day in COUNTED]
    stated = json.loads((published / "privacy.json").read_text())
    assert stated["calendars"]["day_type"]["days"] == {"saturday": 1, "sunday": 2, "weekday": 4}
    assert stated["calendars"]["day_type"]["holidays"] == ["2025-03-04"]
    assert stated["calendars"]["season"]["listed"]["term"] == ["2025-02-28/2025-03-05"]
    assert list(stated["public_files_sha256"]) == ["calendar of season"]


def test_the_ledger_records_the_days_as_they_are(published: Path) -> None:
    with Ledger.open(published.parent / "ledger.sqlite") as ledger:
        spend = next(each for each in ledger.entries if isinstance(each, Spend))
    assert (spend.first_day, spend.last_day) == (date(2025, 2, 27), date(2025, 3, 5))


def test_means_per_day_are_counts_and_intervals_over_the_days_of_the_cell(published: Path) -> None:
    table = tapveil.open(published).table("seasons")
    days = Counter(map(labels_of, COUNTED))
    means = table.per_day().rows()
    assert len(means) == len(days)
    for row, mean in zip(table.rows(), means, strict=True):
        number = days[row["month"], row["day_type"], row["season"]]
        assert mean["days"] == number
        assert [mean[each] for each in ("mean", "mean_low", "mean_high")] == [
            row[each] / number for each in ("count", "low", "high")
        ]


def test_sums_and_parts_have_the_days_that_are_left(published: Path) -> None:
    release = tapveil.open(published)
    march = release.table("stops").where(month="2025-03")
    assert {row["days"] for row in march.sum().per_day().rows()} == {5}
    assert {row["days"] for row in march.where(day_type="sunday").sum(by="tap_on_location").per_day().rows()} == {2}
    assert {row["day_type"]: row["days"] for row in march.sum(by="day_type").per_day().rows()} == {
        "saturday": 1,
        "sunday": 2,
        "weekday": 2,
    }
    for mean in release.table("total", "consistent").per_day().rows():
        assert abs(mean["mean"] - 6_000 / 8) < 60
    with pytest.raises(UsageError, match="only counts have means"):
        release.table("stops").per_day().per_day()
    with pytest.raises(UsageError, match="not added up"):
        march.minus(march).sum()
    frame = release.totals.per_day().to_polars()
    assert frame["mean"].dtype.is_float()


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "privacy.json").read_text())
    edit(manifest["calendars"])
    (folder / "privacy.json").write_text(json_text(manifest))


TAMPERED: dict[str, Callable[[dict[str, Any]], object]] = {
    "a number of days": lambda all: all["month"]["days"].update({"2025-03": 6}),
    "a label without days": lambda all: all["month"]["days"].update({"2025-04": 0}),
    "another period": lambda all: all["month"].update(period="quarter"),
    "a holiday that changes nothing": lambda all: all["day_type"].update(holidays=["2025-03-02", "2025-03-04"]),
    "a holiday on no day": lambda all: all["day_type"].update(holidays=["2025-03-04", "2025-03-09"]),
    "a day of the week in two kinds": lambda all: all["day_type"]["kinds"]["saturday"].append("sunday"),
    "kinds in another order": lambda all: all["day_type"].update(
        kinds=dict(reversed(all["day_type"]["kinds"].items()))
    ),
    "a span that is cut": lambda all: all["season"]["listed"].update(term=["2025-02-28", "2025-03-01/2025-03-05"]),
    "a day that is missing": lambda all: all["season"]["listed"].update(term=["2025-03-01/2025-03-05"]),
    "a span beyond the days": lambda all: all["season"]["listed"].update(term=["2025-02-28/2025-03-06"]),
    "a day that there is not": lambda all: all["season"]["listed"].update(term=["2025-02-28/2025-02-30"]),
    "two ways": lambda all: all["month"].update(kinds={"a": ["monday"]}),
    "no calendar of a column": lambda all: all.pop("season"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_calendar_that_does_not_follow_is_found(what: str, copy: Path) -> None:
    change(copy, TAMPERED[what])
    refresh(copy, rederive=False)
    resum(copy)
    assert "manifest-shape" in codes(verify_folder(copy))


def test_a_calendar_that_is_changed_or_missing_is_found(copy: Path) -> None:
    text = (copy / "calendar.csv").read_text()
    (copy / "calendar.csv").write_text(text.replace("2025-03-05,weekday", "2025-03-05,sunday"))
    resum(copy)
    assert codes(verify_folder(copy)) == {"calendar-differs"}
    (copy / "calendar.csv").unlink()
    resum(copy)
    assert "file-missing" in codes(verify_folder(copy))


def test_a_label_that_no_day_has_is_found(copy: Path) -> None:
    (copy / "data/total.csv").write_text((copy / "data/total.csv").read_text().replace("weekday", "workday"))
    rows = pq.read_table(copy / "data/total.parquet")
    kinds = pc.replace_substring(rows["day_type"], "weekday", "workday")
    pq.write_table(rows.set_column(1, "day_type", kinds), copy / "data/total.parquet", compression="zstd")
    refresh(copy)
    resum(copy)
    assert "value-impossible" in codes(verify_folder(copy))


@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
def test_every_cell_of_a_known_world_has_the_labels_of_the_calendar(unit: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, rows(), unit, world=True, per_cell=2 if unit != "trip" else 1)
    folder = tapveil.release(plan, tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert len(folder.table("total")) == 2 * 3  # months and kinds of day
    empty = [row for row in folder.table("total").per_day().rows() if not row["days"]]
    assert [(row["month"], row["day_type"]) for row in empty] == [("2025-02", "saturday"), ("2025-02", "sunday")]
    assert all(np.isnan(row["mean"]) for row in empty)


@pytest.mark.parametrize("mechanism", ["gaussian", "world"])
def test_the_preset_gives_the_hours_of_stations_by_kind_of_day(mechanism: str, tmp_path: Path) -> None:
    """With thresholds and with every cell, a month of card-days: means are those of the trips, within intervals."""
    draw = np.random.default_rng(4)
    stations, hours = ["Ash", "Oak", "Elm"], [7, 8, 17]
    trips, exact = [], Counter[tuple[str, str, str]]()
    for number in range(12_000):
        day = date(2016, 8, 1 + int(draw.integers(31)))
        hour, (start, end) = hours[draw.integers(3)], draw.choice(stations, 2)
        trips.append((f"c{number}", "bus", day, f"{hour:02d}:05", start, f"{hour:02d}:40", end))
        exact["weekend" if day.weekday() > 4 else "weekday", f"{hour:02d}:00", start] += 1
    columns = (
        "card_id",
        "mode",
        "trip_date",
        *(f"tap_{end}_{what}" for end in ("on", "off") for what in ("time", "location")),
    )
    write_csv(tmp_path / "trips/august.csv", trips, columns)
    write_csv(
        tmp_path / "places.csv", [(name, "*", 0, 0) for name in stations], ("name", "mode", "latitude", "longitude")
    )
    text = preset_text("station-hour")
    if mechanism == "world":
        for old, new in (("# [places]", "[places]"), ("# path =", "path ="), ('"gaussian"', '"world"')):
            assert old in text
            text = text.replace(old, new)
    folder = tapveil.release(Plan.parse(text, base=tmp_path), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    days = {"weekday": 23, "weekend": 8}
    means = {
        (row["day_type"], row["tap_on_time"], row["tap_on_location"]): row
        for row in folder.table("taps_on").where(mode="bus", month="2016-08").per_day().rows()
    }
    assert {row["day_type"]: row["days"] for row in means.values()} == days
    right = 0
    for cell, number in exact.items():
        mean = number / days[cell[0]]
        right += means[cell]["mean_low"] <= mean <= means[cell]["mean_high"]
        assert abs(means[cell]["mean"] - mean) < 0.2 * mean
    assert right >= len(exact) - 4
