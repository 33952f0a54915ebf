"""A known world, from the plan to the folder: every cell is published, verified and read; tampering shows."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.errors import BudgetError, FolderError, InputFileError, PlanError, UsageError
from tapveil.base.layouts import WorldLayout
from tapveil.inputs.public import PublicInputs
from tapveil.internal.comparison.compare import compare
from tapveil.internal.outlook import outlook, read_public_files
from tapveil.internal.plan_in_words import warnings
from tapveil.internal.report.model.findings import findings
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tapveil.plan.model import Plan, preset_text
from tapveil.published import estimated
from tapveil.published.estimates import NEWEST
from tapveil.published.manifest import Manifest
from tapveil.veil.preconditions import sound_statement
from tapveil.veil.release import release
from tapveil.verification.folder import verify_folder
from tests.conftest import start_ledger, write_csv
from tests.property.test_world import BOUNDS, PLACES, PLAN
from tests.support.tampering import refresh
from tests.unit.inputs.test_calendars import feed

KEYS = ("card", "mode", "day", "hour", "from", "to")


def world_plan(folder: Path, unit: str = "trip", **changes: str) -> Plan:
    text = PLAN.format(unit=unit, bounds=BOUNDS[unit], per_cell="")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    write_csv(folder / "places.csv", PLACES, ("name", "mode", "latitude", "longitude"))
    return Plan.parse(text, base=folder)


def write_trips(folder: Path, trips: int = 3_000) -> None:
    draw = np.random.default_rng(5)
    stops = np.array(["Ash", "Oak", "Elm", "Nowhere"])
    rows = [
        (str(draw.integers(500)), mode, f"2025-03-0{day}", f"{hour:02d}:30", *stops[draw.integers(4, size=2)])
        for mode, day, hour in zip(
            draw.choice(["bus", "train"], trips), draw.choice([3, 5], trips), draw.integers(24, size=trips), strict=True
        )
    ]
    write_csv(folder / "trips.csv", rows, KEYS)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_trips(folder)
    plan = world_plan(folder)
    start_ledger(plan, epsilon="20", delta="1e-5")
    release(plan, folder / "out")
    return folder / "out"


@pytest.fixture
def copy(published: Path, tmp_path: Path) -> Path:
    shutil.copytree(published, tmp_path / "copy")
    return tmp_path / "copy"


def codes(folder: Path) -> set[str]:
    return {finding.code for finding in verify_folder(folder).findings}


@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
def test_every_cell_is_published_and_the_folder_verifies(unit: str, tmp_path: Path) -> None:
    write_trips(tmp_path)
    folder = release(world_plan(tmp_path, unit), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    # Bus: Ash, Elm, Oak and all others; train: Ash, Elm and all others; three days, five times with none.
    assert {name: len(folder.table(name)) for name in folder.tables} == {
        "od": 3 * (4 * 4 + 3 * 3),
        "origins": 3 * 5 * (4 + 3),
        "total": 2 * 3,
    }
    assert sorted({path.parent.name for path in folder.path.rglob("*.parquet")}) == ["measurements", "trips"]


@pytest.mark.parametrize("unit", ["card-day", "card"])
def test_several_trips_of_a_card_in_a_cell_are_stated_accounted_for_and_verified(unit: str, tmp_path: Path) -> None:
    """The noise grows with the root of it; a manifest that states fewer than were counted has another ρ."""
    write_trips(tmp_path)
    one, two = (
        world_plan(tmp_path, unit, **{'name = "od"': f'name = "od"\nweight = 1{more}'})
        for more in ("", "\ntrips_per_cell = 2")
    )
    start_ledger(two, epsilon="20", delta="1e-5")
    folder = release(two, tmp_path / "out")
    assert verify_folder(folder.path).findings == []
    assert [table.trips_per_cell for table in folder.manifest.tables] == [2, None, None]
    scales = [float(plan.guarantee.mechanisms["origins"].scale) for plan in (one, two)]
    assert 1.05 < scales[1] / scales[0] < 1.25
    with Ledger.open(two.ledger_path) as book:
        spends = [entry for entry in book.entries if isinstance(entry, Spend)]
    assert [table.trips_per_cell for spend in spends for table in spend.tables] == [2, 1, 1]
    manifest = json.loads((folder.path / "privacy.json").read_text())
    del manifest["tables"][0]["trips_per_cell"]
    (folder.path / "privacy.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    refresh(folder.path)
    assert "figure-differs" in codes(folder.path)


def test_a_total_of_one_trip_of_each_card_is_said_to_be_too_low(tmp_path: Path) -> None:
    """It has little noise, so that estimates follow it, and not the tables that have all trips."""
    ways = (("08:30", "Ash", "Oak"), ("17:30", "Oak", "Ash"))
    rows = [(str(card), "bus", f"2025-03-0{day}", *way) for card in range(300) for day in (3, 4, 5) for way in ways]
    write_csv(tmp_path / "trips.csv", rows, KEYS)
    all_of_a_card = {"columns = []": "columns = []\ntrips_per_cell = 2"}
    plans = (world_plan(tmp_path, "card-day"), world_plan(tmp_path, "card-day", **all_of_a_card))
    one, every = (release(plan, tmp_path / name, in_ledger=False) for plan, name in zip(plans, "12", strict=True))
    estimated = [sum(row["count"] for row in folder.estimate([]).rows()) for folder in (one, every)]
    assert abs(estimated[1] - len(rows)) < 100
    assert estimated[0] < 0.9 * len(rows)
    warned = [" ".join(warnings(plan)) for plan in plans]
    assert ["in a cell of total, only one trip of a card-day is counted" in words for words in warned] == [True, False]
    counted = [" ".join(outlook(plan).notes) for plan in plans]
    assert ["`total` counts 50 % of the trips" in words for words in counted] == [True, False]


def test_tables_of_all_days_that_lack_trips_of_commuters_are_named(tmp_path: Path) -> None:
    """A card that makes the same trip each day counts once in a table of all days."""
    rows = [(str(card), "bus", f"2025-03-0{day}", "08:30", "Ash", "Oak") for card in range(50) for day in (3, 4, 5)]
    write_csv(tmp_path / "trips.csv", rows, KEYS)
    by_mode = {'partition = ["mode", "date"]': 'partition = ["mode"]'}
    notes = outlook(world_plan(tmp_path, "card", **by_mode)).notes
    assert [note.split(":")[0] for note in notes if "raise trips_per_cell" in note] == [
        f"`{name}` counts 33 % of the trips" for name in ("od", "origins", "total")
    ]


def test_a_day_on_which_nobody_travelled_is_there(published: Path) -> None:
    """Which days, places and times a folder has does not depend on the trips."""
    folder = tapveil.open(published)
    empty = folder.measurement(["tap_on_location", "tap_off_location"]).where(date="2025-03-04")
    assert len(empty) == 16 + 9
    assert {row["mode"] for row in empty.rows()} == {"bus", "train"}


def test_a_release_of_one_trip_verifies(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [("1", "bus", "2025-03-03", "08:00", "Ash", "Oak")], KEYS)
    folder = release(world_plan(tmp_path), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert len(folder.table("od")) == 75


def test_a_folder_without_modes_or_days_verifies(tmp_path: Path) -> None:
    write_trips(tmp_path)
    plan = world_plan(tmp_path, **{'partition = ["mode", "date"]': "partition = []"})
    folder = release(plan, tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert len(folder.table("total")) == 1
    assert len(folder.table("od")) == 4 * 4
    assert abs((folder.total().count or 0) - 3_000) < 8 * float(folder.mechanism("total").scale) + 1


def test_where_a_source_has_one_mode_it_is_named(tmp_path: Path) -> None:
    write_trips(tmp_path)
    one = {'modes = ["bus", "train"]\n': "", 'mode = "mode"\n': 'mode = { value = "bus" }\n'}
    folder = release(world_plan(tmp_path, **one), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert folder.manifest.covers.modes == ("bus",)


# --- reading ----------------------------------------------------------------------------------------------------------


def test_numbers_come_with_intervals_and_sums_without_bias(published: Path) -> None:
    folder = tapveil.open(published)
    cells = folder.measurement(["tap_off_location", "tap_on_location"])
    assert cells.columns == ["mode", "date", "tap_on_location", "tap_off_location", "count", "low", "high"]
    assert all(0 <= row["low"] <= row["high"] for row in cells.rows())
    whole = cells.sum().rows()[0]
    assert whole["low"] < whole["count"] < whole["high"]
    assert abs(whole["count"] - 3_000) < 8 * float(folder.mechanism("od").scale) * len(cells) ** 0.5
    assert folder.total(mode="bus", date="2025-03-03").count is not None


def test_a_measurement_that_was_not_made_is_refused(published: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no measured table has just the columns"):
        tapveil.open(published).measurement(["tap_off_location"])
    with pytest.raises(FolderError, match="no consistent version"):
        tapveil.open(published).table("od", "consistent")


def test_a_table_without_a_csv_file_is_read_and_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapveil.base.layouts.MOST_IN_CSV", 80)
    write_trips(tmp_path)
    folder = release(world_plan(tmp_path), tmp_path / "out", in_ledger=False)
    assert sorted(path.name for path in (folder.path / "measurements").glob("*.csv")) == ["od.csv", "total.csv"]
    assert verify_folder(folder.path).findings == []
    assert len(tapveil.open(folder.path).table("origins")) == 105
    assert WorldLayout().formats(folder.manifest.tables[1].cells) == ("parquet",)


def test_a_frame_has_what_the_file_has(published: Path) -> None:
    with (published / "measurements" / "od.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [{key: str(value) for key, value in row.items()} for row in tapveil.open(published).table("od").rows()]
    assert [{key: row[key] for key in rows[0]} for row in found] == rows


# --- estimates --------------------------------------------------------------------------------------------------------


def estimates(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "estimates" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_estimates_add_up_and_are_never_negative(published: Path) -> None:
    names = sorted(path.stem for path in (published / "estimates").iterdir())
    assert names == ["joint", "od", "origins", "total"]
    found = {name: estimates(published, name) for name in names}
    for part in ({"mode": "bus", "date": "2025-03-03"}, {"mode": "train", "date": "2025-03-05"}):
        sums = {sum(int(row["count"]) for row in rows if part.items() <= row.items()) for rows in found.values()}
        assert len(sums) == 1
    assert min(int(row["count"]) for rows in found.values() for row in rows) > 0
    assert all(int(row["low"]) <= int(row["count"]) <= int(row["high"]) for rows in found.values() for row in rows)
    assert {0 <= int(row["weight"]) <= 100 for rows in found.values() for row in rows} == {True}


def test_estimates_by_any_columns_are_those_of_the_files(published: Path) -> None:
    folder = tapveil.open(published)
    listed = {
        (row["mode"], row["date"], row["tap_on_location"], row["tap_off_location"]): int(row["count"])
        for row in estimates(published, "od")
    }
    every = folder.estimate(["date", "tap_on_location", "tap_off_location"])
    assert len(every) == 75
    found = {tuple(row[key] for key in every.keys): row["count"] for row in every.rows()}
    assert {cell: count for cell, count in found.items() if count} == listed
    assert sum(row["count"] for row in folder.estimate(["tap_off_location"]).rows()) == sum(listed.values())
    with pytest.raises(UsageError, match="no estimates by tap_off_time"):
        folder.estimate(["tap_off_time"])


@pytest.mark.parametrize("name", ["od", "joint"])
def test_an_estimate_that_does_not_follow_from_the_measurements_is_found(copy: Path, name: str) -> None:
    path = copy / "estimates" / f"{name}.csv"
    head, first, *rest = path.read_text().splitlines(keepends=True)
    fields = first.split(",")
    fields[-4] = str(int(fields[-4]) + 1)
    path.write_text("".join([head, ",".join(fields), *rest]))
    refresh(copy, rederive=False)
    assert codes(copy) == {"derived-differs"}


def test_estimates_that_are_missing_or_more_are_found(copy: Path) -> None:
    (copy / "estimates" / "joint.csv").rename(copy / "estimates" / "other.csv")
    assert {"file-missing", "file-unexpected"} <= codes(copy)


def test_a_folder_cannot_deny_its_estimates(copy: Path) -> None:
    shutil.rmtree(copy / "estimates")
    shutil.rmtree(copy / "trips")
    package = json.loads((copy / "datapackage.json").read_text())
    package["resources"] = [each for each in package["resources"] if each["path"].startswith("measurements/")]
    (copy / "datapackage.json").write_text(json.dumps(package))
    change_manifest(copy, lambda manifest: [manifest["versions"].pop(name) for name in ("estimates", "trips")])
    assert "manifest-version" in codes(copy)


def test_estimates_of_more_places_than_fit_are_not_made_to_be_compared(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimated, "MOST_AT_ONCE", 1)
    monkeypatch.setattr(estimated, "estimate", lambda *_: pytest.fail("they would fill memory"))
    assert "manifest-version" in codes(copy)


def test_holidays_are_stated_and_change_estimates_alone(tmp_path: Path) -> None:
    write_trips(tmp_path)
    text = "[world]\nholidays = [2025-03-05, 2025-03-04]\n[coarsen]"
    folder = release(world_plan(tmp_path, **{"[coarsen]": text}), tmp_path / "out", in_ledger=False)
    assert [day.isoformat() for day in folder.manifest.holidays or ()] == ["2025-03-04", "2025-03-05"]
    assert verify_folder(folder.path).findings == []
    assert "2025-03-04, 2025-03-05" in (folder.path / "README.md").read_text()


def test_holidays_come_from_a_public_list_and_from_the_timetable(tmp_path: Path) -> None:
    """A list has many years; of it, and of the timetable, the days of the release are stated."""
    write_trips(tmp_path)
    write_csv(tmp_path / "holidays.csv", [("2024-12-25", "x"), ("2025-03-05", "y")], ("date", "name"))
    feed(tmp_path, [("work", "20250304", 2), ("sun", "20250304", 1)])
    text = '[gtfs]\npath = "gtfs"\n[world]\nholiday_list = "holidays.csv"\ntimetable = true\n[coarsen]'
    folder = release(world_plan(tmp_path, **{"[coarsen]": text}), tmp_path / "out", in_ledger=False)
    assert [day.isoformat() for day in folder.manifest.holidays or ()] == ["2025-03-04", "2025-03-05"]
    assert {"gtfs", "holidays"} <= set(folder.manifest.public_files_sha256)
    assert verify_folder(folder.path).findings == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("timetable = true", "needs a section [gtfs]"),
        ('holiday_list = "none.csv"', "there is no list of holidays"),
        ('holiday_list = "soon.csv"', "soon.csv, line 2: `date` must be a day such as 2016-12-31, and is `soon`"),
    ],
)
def test_holidays_that_are_not_known_are_refused(tmp_path: Path, text: str, said: str) -> None:
    write_csv(tmp_path / "soon.csv", [("soon",)], ("date",))
    with pytest.raises((PlanError, InputFileError), match=re.escape(said)):
        _ = PublicInputs.of(world_plan(tmp_path, **{"[coarsen]": f"[world]\n{text}\n[coarsen]"})).holidays


def test_holidays_are_for_estimates_alone(tmp_path: Path) -> None:
    world = {
        'mechanism = "world"': 'mechanism = "gaussian"',
        "[coarsen]": "[world]\nholidays = [2025-03-04]\n[coarsen]",
    }
    with pytest.raises(PlanError, match="holidays"):
        world_plan(tmp_path, **world)


def test_a_large_table_of_estimates_is_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapveil.published.derived.MOST_IN_CSV", 80)
    write_trips(tmp_path)
    folder = release(world_plan(tmp_path), tmp_path / "out", in_ledger=False)
    names = sorted(path.name for path in (folder.path / "estimates").iterdir())
    assert names == ["joint.parquet", "od.csv", "origins.parquet", "total.csv"]
    assert verify_folder(folder.path).findings == []


def test_trips_with_both_times_have_estimates(tmp_path: Path) -> None:
    write_trips(tmp_path)
    ends = {
        'tap_off_location = "to"\n': 'tap_off_location = "to"\ntap_off_time = "hour"\n',
        'name = "total"\ncolumns = []\n': 'name = "ends"\ncolumns = ["tap_off_time", "tap_off_location"]\n',
    }
    folder = release(world_plan(tmp_path, **ends), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert {path.stem for path in (folder.path / "estimates").iterdir()} == {"od", "origins", "ends", "joint"}


# --- estimates where tables are not split by the date, of taps, and of many places ------------------------------------


def sums(folder: tapveil.Folder) -> set[int]:
    return {
        sum(row["count"] for row in folder.estimate(columns).rows())
        for columns in ([], ["tap_on_location"], ["tap_off_location"])
    }


@pytest.mark.parametrize("partition", ['["mode"]', "[]"])
def test_tables_of_all_days_together_have_estimates(partition: str, tmp_path: Path) -> None:
    write_trips(tmp_path)
    folder = release(
        world_plan(tmp_path, **{'partition = ["mode", "date"]': f"partition = {partition}"}),
        tmp_path / "out",
        in_ledger=False,
    )
    assert verify_folder(folder.path).findings == []
    assert folder.manifest.versions.estimates == NEWEST
    assert {path.stem for path in (folder.path / "estimates").iterdir()} == {"od", "origins", "total", "joint"}
    assert len(sums(folder)) == 1
    assert abs(sums(folder).pop() - 3_000) < 100
    assert "date" not in folder.estimate(["tap_on_location"]).columns


def test_a_folder_of_few_trips_in_much_noise_verifies_and_tells_totals(tmp_path: Path) -> None:
    """Tables of places may have no cell that can be told from nothing: their files have no rows then."""
    write_trips(tmp_path)
    lines = (tmp_path / "trips.csv").read_text().splitlines(keepends=True)
    (tmp_path / "trips.csv").write_text("".join(lines[:60]))
    folder = release(world_plan(tmp_path, **{"epsilon = 8": "epsilon = 0.1"}), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    listed = {name: sum(int(row["count"]) for row in estimates(folder.path, name)) for name in ("total", "od")}
    assert 0 <= listed["od"] <= listed["total"]
    assert listed["total"] == folder.trips().read_all().num_rows


def test_a_table_of_all_days_beside_tables_of_each_day(tmp_path: Path) -> None:
    """What people usually do is measured for the month, with several trips of a card; when, for each day."""
    write_trips(tmp_path)
    changes = {
        'partition = ["mode", "date"]': 'partition = ["mode"]',
        'name = "od"': 'name = "od"\ntrips_per_cell = 2',
        'columns = ["tap_on_time", "tap_on_location"]': 'columns = ["date", "tap_on_time", "tap_on_location"]',
        "columns = []": 'columns = ["date"]',
        'name = "total"': 'name = "days"',
    }
    folder = release(world_plan(tmp_path, "card", **changes), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert folder.manifest.versions.estimates == NEWEST
    whole = folder.estimate(["date", "tap_on_location", "tap_off_location"]).rows()
    assert {row["date"] for row in whole} == {f"2025-03-0{day}" for day in (3, 4, 5)}
    assert {sum(row["count"] for row in whole)} == sums(folder)


def test_taps_that_are_paired_have_estimates(tmp_path: Path) -> None:
    """Tables of one end count taps, and lack the trips without a tap there: these come from the table of both ends."""
    draw = np.random.default_rng(3)
    rows: list[tuple[str, ...]] = []
    for card in range(1_500):
        day, hour = 3 + card % 3, 6 + int(draw.integers(12))
        stops = draw.choice(["Ash", "Oak", "Elm"], 2)
        rows.append((str(card), "bus", f"2025-03-0{day}", f"{hour:02d}:10", stops[0], "on"))
        if card % 4:  # one in four forgets to tap off
            rows.append((str(card), "bus", f"2025-03-0{day}", f"{hour:02d}:40", stops[1], "off"))
    write_csv(tmp_path / "trips.csv", rows, ("card", "mode", "day", "hour", "stop", "kind"))
    changes = {
        'path = "trips.csv"\n': 'path = "trips.csv"\nshape = "taps"\n',
        'tap_on_time = "hour"\ntap_on_location = "from"\ntap_off_location = "to"\n': (
            'tap = "kind"\ntap_time = "hour"\ntap_location = "stop"\n[source.taps]\non = ["on"]\noff = ["off"]\n'
        ),
        'without_card = "own-unit"': 'without_card = "refuse"',
        'name = "total"\ncolumns = []': 'name = "ends"\ncolumns = ["tap_off_time", "tap_off_location"]',
        "epsilon = 8": "epsilon = 50",
    }
    folder = release(world_plan(tmp_path, "card", **changes), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert folder.manifest.versions.estimates == NEWEST
    by_end = {
        row["tap_off_location"]: row["count"]
        for row in folder.estimate(["tap_off_location"]).rows()
        if row["mode"] == "bus"
    }
    assert abs(sum(by_end.values()) - 1_500) < 60
    assert abs(by_end["UNKNOWN"] - 375) < 60
    assert folder.estimate(["date", "tap_on_time", "tap_on_location", "tap_off_location"]).rows()


def test_with_many_places_estimates_have_longer_bins_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trips(tmp_path)
    monkeypatch.setattr(estimated, "MOST_AT_ONCE", 50)
    folder = release(world_plan(tmp_path), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert (folder.manifest.versions.estimates, folder.manifest.estimated_minutes) == (NEWEST, 1440)
    assert {row["tap_on_time"] for row in folder.estimate(["tap_on_time"]).rows()} == {"-1", "00:00"}
    assert "bins of 1440 minutes" in (folder.path / "README.md").read_text()
    assert len(folder.measurement(["tap_on_time", "tap_on_location"])) == 3 * 5 * (4 + 3)
    monkeypatch.setattr(estimated, "MOST_AT_ONCE", 60)  # the same folder where bins of the plan would do
    assert "manifest-version" not in codes(folder.path)
    monkeypatch.setattr(estimated, "MOST_AT_ONCE", 80)
    assert "manifest-version" in codes(folder.path)


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (60, "estimates have longer time bins than the tables"),
        (20, "are too many for estimates: at most 3. Use larger"),
    ],
)
def test_check_says_where_places_are_too_many_for_estimates(
    most: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trips(tmp_path)
    monkeypatch.setattr(estimated, "MOST_AT_ONCE", most)
    assert any(words in note for note in outlook(world_plan(tmp_path)).notes)


@pytest.mark.parametrize(
    ("changes", "minutes"),
    [
        ({}, 1440),
        ({"[coarsen]": '[world]\nservice = "06:00-12:00"\n[coarsen]'}, None),
        ({'["mode", "date"]': '["mode"]'}, None),
    ],
)
def test_check_and_the_folder_agree_on_the_bins_of_estimates(
    changes: dict[str, str], minutes: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few hours of service, or all days as one, there are fewer whole trips."""
    write_trips(tmp_path)
    monkeypatch.setattr(estimated, "MOST_IN_ALL", 150)
    plan = world_plan(tmp_path, **changes)
    assert sound_statement(PublicInputs.of(plan), date(2025, 4, 1)).estimated_minutes == minutes
    notes = [note for note in outlook(plan).notes if "longer time bins" in note]
    assert len(notes) == (1 if minutes else 0)


def test_the_preset_gives_a_folder_that_verifies(tmp_path: Path) -> None:
    text = preset_text("journeys").replace('"trips/*"', '"trips.csv"').replace("2016-08-", "2025-03-")
    text = text.replace("2025-03-08", "2025-03-03").replace("2025-03-14", "2025-03-05")
    for ours, theirs in (("card_id", "card"), ("trip_date", "day"), ("tap_on_time", "hour")):
        text = text.replace(f'= "{ours}"', f'= "{theirs}"')
    text = text.replace('tap_on_location = "tap_on_location"', 'tap_on_location = "from"')
    text = text.replace('tap_off_location = "tap_off_location"', 'tap_off_location = "to"')
    write_trips(tmp_path)
    world_plan(tmp_path)
    folder = release(Plan.parse(text, base=tmp_path), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert (folder.path / "estimates" / "joint.csv").is_file()


# --- the ledger -------------------------------------------------------------------------------------------------------


def test_what_is_spent_is_in_the_ledger_and_no_more_is_given(tmp_path: Path) -> None:
    write_trips(tmp_path)
    plan = world_plan(tmp_path)
    start_ledger(plan, epsilon="9", delta="1e-5")
    release(plan, tmp_path / "out")
    with pytest.raises(BudgetError):
        release(plan, tmp_path / "again", again=True)


# --- tampering --------------------------------------------------------------------------------------------------------


def rewrite(folder: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a table, in both its files, and make the checksums fit."""
    path = folder / "measurements" / f"{name}.parquet"
    table = change(pq.read_table(path))
    pq.write_table(table, path, compression="zstd")
    write_csv(
        path.with_suffix(".csv"), zip(*(each.to_pylist() for each in table.columns), strict=True), table.column_names
    )
    path.with_suffix(".csv").write_bytes(path.with_suffix(".csv").read_bytes().replace(b"\r\n", b"\n"))
    refresh(folder)


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "privacy.json").read_text())
    change(manifest)
    (folder / "privacy.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    refresh(folder)


def test_a_folder_that_is_written_again_as_it_was_verifies(copy: Path) -> None:
    rewrite(copy, "od", lambda table: table)
    assert codes(copy) == set()


def test_a_cell_that_is_missing_is_found(copy: Path) -> None:
    rewrite(copy, "od", lambda table: pa.concat_tables([table.slice(0, 10), table.slice(11)]))
    assert "world-differs" in codes(copy)


def test_a_last_cell_that_is_missing_is_found(copy: Path) -> None:
    rewrite(copy, "od", lambda table: table.slice(0, len(table) - 1))
    assert "world-differs" in codes(copy)


def test_a_cell_too_many_is_found(copy: Path) -> None:
    rewrite(copy, "od", lambda table: pa.concat_tables([table, table.slice(len(table) - 1)]))
    assert "world-differs" in codes(copy)


def test_two_cells_in_another_order_are_found(copy: Path) -> None:
    rewrite(copy, "od", lambda table: table.take(pa.array([1, 0, *range(2, len(table))])))
    assert "world-differs" in codes(copy)


def test_a_place_that_no_list_has_is_found(copy: Path) -> None:
    def renamed(table: pa.Table) -> pa.Table:
        names = ["Oaks" if name == "Oak" else name for name in table.column("tap_on_location").to_pylist()]
        return table.set_column(2, "tap_on_location", pa.array(names, pa.string()))

    rewrite(copy, "od", renamed)
    assert "world-differs" in codes(copy)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bus,Oak\n", ""),
        ("bus,Oak\n", "bus,Oak\nbus,Oaks\n"),
        ("bus,Oak\n", "bus,Oak\nbus,Oak\n"),
        ("bus,Elm\nbus,Oak\n", "bus,Oak\nbus,Elm\n"),
        ("train,UNKNOWN\n", ""),
        ("bus,Oak\n", 'bus,"Oak"\n'),
        ("train,Ash\n", "ferry,Ash\n"),
        ("mode,place\n", "mode,stop\n"),
    ],
)
def test_another_list_of_places_is_found(copy: Path, old: str, new: str) -> None:
    text = (copy / "world.csv").read_text()
    assert old in text
    (copy / "world.csv").write_text(text.replace(old, new))
    refresh(copy)
    assert {"world-shape", "world-differs"} & codes(copy)


def test_a_list_that_is_missing_is_found(copy: Path) -> None:
    (copy / "world.csv").unlink()
    refresh(copy)
    assert "file-missing" in codes(copy)


def test_negative_zero_is_no_number(copy: Path) -> None:
    path = copy / "measurements" / "od.csv"
    lines = path.read_text().splitlines()
    rewrite(copy, "od", lambda table: table.set_column(4, "count", pa.array([0] * len(table), pa.int64())))
    path.write_text(path.read_text().replace(",0\n", ",-0\n", 1))
    refresh(copy)
    assert len(lines) == 76
    assert "parquet-differs" in codes(copy)


def test_a_number_that_noise_cannot_give_is_found(copy: Path) -> None:
    def below(table: pa.Table) -> pa.Table:
        return table.set_column(4, "count", pa.array([-(10**6), *table.column("count").to_pylist()[1:]], pa.int64()))

    rewrite(copy, "od", below)
    assert "count-below-smallest" in codes(copy)


def test_tables_of_other_trips_are_found(copy: Path) -> None:
    def doubled(table: pa.Table) -> pa.Table:
        return table.set_column(4, "count", pa.array([2 * n for n in table.column("count").to_pylist()], pa.int64()))

    rewrite(copy, "od", doubled)
    assert "totals-differ" in codes(copy)


def test_narrower_noise_than_is_needed_is_found(copy: Path) -> None:
    def narrower(manifest: dict[str, Any]) -> None:
        for table in manifest["tables"]:
            table["scale"], table["scale_exact"] = 1, "1"

    change_manifest(copy, narrower)
    assert "epsilon-understated" in codes(copy)


@pytest.mark.parametrize("change", [{"cells": 74}, {"cells": 76}, {"threshold": 1, "threshold_exact": "1"}])
def test_another_number_of_cells_or_a_threshold_is_found(copy: Path, change: dict[str, Any]) -> None:
    change_manifest(copy, lambda manifest: manifest["tables"][0].update(change))
    assert {"world-shape", "mechanism-impossible"} & codes(copy)


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": "gaussian"},
        {"layout": "opal"},
        {"synthetic": True},
        {"covers": {"first_day": None, "last_day": None, "modes": ["bus", "train"]}},
        {"covers": {"first_day": "2025-03-03", "last_day": "2025-03-05", "modes": None}},
        {"covers": {"first_day": "2025-03-03", "last_day": "2025-03-04", "modes": ["bus", "train"]}},
    ],
)
def test_a_manifest_of_something_else_is_found(copy: Path, change: dict[str, Any]) -> None:
    change_manifest(copy, lambda manifest: manifest.update(change))
    assert {"manifest-shape", "world-shape", "words-differ"} & codes(copy)


def test_only_folders_of_every_cell_state_how_many_there_are(copy: Path) -> None:
    manifest = json.loads((copy / "privacy.json").read_text())
    del manifest["tables"][0]["cells"]
    with pytest.raises(ValueError, match="other fields than its mechanism"):
        Manifest.read(manifest)


# --- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("first_day = 2025-03-03\nlast_day = 2025-03-05\n", "", "measures every day"),
        ('modes = ["bus", "train"]\n', "", "needs the list of modes"),
        ('partition = ["mode", "date"]', 'partition = ["date", "mode"]', "needs `mode` as the first column"),
        ('partition = ["mode", "date"]', 'partition = ["mode", "date"]\nlayout = "opal"', "files of its own"),
        ('partition = ["mode", "date"]', 'partition = ["mode", "date"]\nsynthetic = true', "files of its own"),
        ('tap_on_location = "from"\n', 'tap_on_location = "from"\nfare = "fare"\n', "no public list for `fare`"),
        ("delta = 1e-6\n", "", "delta is missing"),
        ('name = "od"', 'name = "od"\ntrips_per_cell = 2', 'with unit = "card-day" or "card"'),
    ],
)
def test_a_plan_whose_cells_are_not_known_beforehand_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    changes = {old: new}
    if "fare" in new:
        changes['columns = ["tap_on_time", "tap_on_location"]'] = 'columns = ["tap_on_time", "fare"]'
    with pytest.raises(PlanError, match=words):
        world_plan(tmp_path, **changes)


def test_no_more_trips_of_a_card_count_in_a_cell_than_in_all(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="must be at most 3, the trips of a card that are counted"):
        world_plan(tmp_path, "card", **{'name = "od"': 'name = "od"\ntrips_per_cell = 4'})


def test_without_a_list_of_places_nothing_is_read(tmp_path: Path) -> None:
    plan = world_plan(tmp_path, **{'[places]\npath = "places.csv"\n': ""})
    with pytest.raises(PlanError, match="A list made from the trips is not public"):
        read_public_files(plan)


def test_a_world_that_is_too_large_is_refused_before_trips_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tapveil.inputs.world.MOST_CELLS", 100)
    with pytest.raises(PlanError, match="has 186 cells, and 100 are the most; most of them are in table origins"):
        read_public_files(world_plan(tmp_path))


def test_all_trips_are_expected_to_be_published(tmp_path: Path) -> None:
    write_trips(tmp_path)
    found = outlook(world_plan(tmp_path))
    assert {table.trip_share for table in found.tables} == {1.0}
    assert not any("listed cells are empty" in note for note in found.notes)


@pytest.mark.parametrize("ask", [compare, findings])
def test_what_is_about_suppression_does_not_apply(tmp_path: Path, ask: Callable[[Plan], object]) -> None:
    write_trips(tmp_path)
    with pytest.raises(UsageError, match="publishes every cell"):
        ask(world_plan(tmp_path))
