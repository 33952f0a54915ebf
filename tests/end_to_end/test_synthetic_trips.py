"""Synthetic trips of a folder: their sums are its estimates, and `verify` makes them again."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.errors import PlanError, UsageError
from tapveil.veil.release import release
from tests.conftest import write_csv
from tests.end_to_end.test_world import change_manifest, codes, estimates, world_plan, write_trips
from tests.golden.make import seeded
from tests.support.tampering import refresh

ENDS = {
    'tap_off_location = "to"\n': 'tap_off_location = "to"\ntap_off_time = "hour"\n',
    'name = "total"\ncolumns = []\n': 'name = "ends"\ncolumns = ["tap_off_time", "tap_off_location"]\n',
}
FILE = "trips/synthetic_trips"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trips")
    write_trips(folder)
    return release(world_plan(folder, **ENDS), folder / "out", in_ledger=False).path


@pytest.fixture
def copy(published: Path, tmp_path: Path) -> Path:
    shutil.copytree(published, tmp_path / "copy")
    return tmp_path / "copy"


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / f"{FILE}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_table_of_estimates_is_the_sum_of_the_rows(published: Path) -> None:
    trips, names = rows(published), sorted(path.stem for path in (published / "estimates").iterdir())
    assert names == ["ends", "joint", "od", "origins"]
    for name in names:
        counted = {
            tuple(value for key, value in row.items() if key not in ("count", "low", "high", "weight")): int(
                row["count"]
            )
            for row in estimates(published, name)
        }
        keys = [key for key in estimates(published, name)[0] if key not in ("count", "low", "high", "weight")]
        assert Counter(tuple(row[key] for key in keys) for row in trips) == counted


def test_a_thin_table_lists_some_cells_each_with_the_sum_of_its_rows(tmp_path: Path) -> None:
    """Also whole trips, which no measurement tells; rows have all trips, listed or not."""
    write_trips(tmp_path, trips=300)
    plan = world_plan(tmp_path, **ENDS, **{"epsilon = 8": "epsilon = 2"})
    with seeded("thin"):
        folder = release(plan, tmp_path / "out", in_ledger=False).path
    assert codes(folder) == set()
    trips, shares = rows(folder), dict[str, float]()
    for path in (folder / "estimates").iterdir():
        with path.open(encoding="utf-8", newline="") as file:
            table = csv.DictReader(file)
            keys = [key for key in table.fieldnames or () if key not in ("count", "low", "high", "weight")]
            listed = {tuple(row[key] for key in keys): int(row["count"]) for row in table}
        sums = Counter(tuple(row[key] for key in keys) for row in trips)
        assert listed == {cell: sums[cell] for cell in listed}
        shares[path.stem] = len(listed) / len(sums)
    assert 0 < shares["joint"] < 1
    assert shares["ends"] == 1


def test_a_row_has_both_ends_of_a_trip_in_both_files(published: Path) -> None:
    table = pq.read_table(published / f"{FILE}.parquet")
    assert table.column_names == [
        *("mode", "date", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"),
    ]
    assert [{key: str(value) for key, value in row.items()} for row in table.to_pylist()] == rows(published)


def test_each_file_says_what_it_is(published: Path) -> None:
    said = pq.read_metadata(published / f"{FILE}.parquet").metadata[b"description"].decode()
    assert said.startswith("Synthetic trips: ")
    package = json.loads((published / "datapackage.json").read_text())
    described = {each["path"]: each for each in package["resources"]}[f"{FILE}.csv"]
    assert described["description"] == said
    assert [each["path"] for each in described["alternates"]] == [f"{FILE}.parquet"]
    assert "`trips/`" in (published / "README.md").read_text()


def test_a_plan_may_leave_them_out(tmp_path: Path) -> None:
    write_trips(tmp_path)
    plan = world_plan(tmp_path, **{"[coarsen]": "[world]\ntrips = false\n[coarsen]"})
    folder = release(plan, tmp_path / "out", in_ledger=False)
    assert not (folder.path / "trips").exists()
    assert "`trips/`" not in (folder.path / "README.md").read_text()
    assert codes(folder.path) == set()


def test_many_trips_are_parquet_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapveil.published.synthetic_trips.MOST_IN_CSV", 100)
    write_trips(tmp_path)
    folder = release(world_plan(tmp_path), tmp_path / "out", in_ledger=False)
    assert [path.name for path in (folder.path / "trips").iterdir()] == ["synthetic_trips.parquet"]
    assert codes(folder.path) == set()


# --- what the world excludes ------------------------------------------------------------------------------------------


def test_no_row_is_in_an_hour_or_at_a_stop_that_the_world_excludes(tmp_path: Path) -> None:
    write_trips(tmp_path)
    hours = '[world.service]\nbus = "06:00-24:00"\ntrain = "07:00-18:00"\n[coarsen]'
    folder = release(world_plan(tmp_path, **{**ENDS, "[coarsen]": hours}), tmp_path / "out", in_ledger=False)
    assert codes(folder.path) == set()
    trips = rows(folder.path)
    for column in ("tap_on_time", "tap_off_time"):
        assert {row[column] for row in trips if row["mode"] == "bus"} == {"-1", "06:00", "12:00", "18:00"}
        assert {row[column] for row in trips if row["mode"] == "train"} == {"-1", "06:00", "12:00"}
    assert "Nowhere" not in {row["tap_on_location"] for row in trips}
    assert folder.manifest.as_json["service"] == {"bus": "06:00-24:00", "train": "07:00-18:00"}
    text = (folder.path / "README.md").read_text()
    assert "- Hours of service of mode `train`: 07:00 to 18:00. The tables have no other times.\n" in text
    assert set(folder.table("origins").cells["tap_on_time"]) == {"-1", "06:00", "12:00", "18:00"}
    assert len(folder.profile("tap_on_time", mode="bus", date="2025-03-03", tap_on_location="Ash")) == 3
    measured = json.loads((folder.path / "privacy.json").read_text())["tables"]
    assert {table["name"]: table["cells"] for table in measured}["origins"] == 3 * (4 * 4 + 3 * 3)


def test_hours_of_a_folder_cannot_be_changed(tmp_path: Path) -> None:
    write_trips(tmp_path)
    plan = world_plan(tmp_path, **{"[coarsen]": '[world]\nservice = "06:00-24:00"\n[coarsen]'})
    folder = release(plan, tmp_path / "out", in_ledger=False).path
    assert codes(folder) == set()
    change_manifest(folder, lambda manifest: manifest.update(service={"*": "06:00-18:00"}))
    assert "world-shape" in codes(folder)
    change_manifest(folder, lambda manifest: manifest.update(service={"*": "06:00-00:00"}))
    assert "hidden-data" in codes(folder)


@pytest.mark.parametrize(
    ("hours", "words"), [('{ferry = "06:00-24:00"}', "no mode `ferry`"), ('"24"', "must be hours")]
)
def test_hours_that_mean_nothing_are_refused(tmp_path: Path, hours: str, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        world_plan(tmp_path, **{"[coarsen]": f"[world]\nservice = {hours}\n[coarsen]"})


# --- durations --------------------------------------------------------------------------------------------------------

DURATIONS = {
    'tap_off_location = "to"\n': 'tap_off_location = "to"\ntap_off_time = "end"\n',
    "[coarsen]": '[world]\ndurations = ["00:00", "00:30", "02:00"]\n[coarsen]',
    "time_minutes = 360": "time_minutes = 60",
    'name = "total"\ncolumns = []\n': 'name = "lasted"\ncolumns = ["tap_off_location", "duration"]\n',
}
LASTS = {"Ash": 10, "Oak": 45, "Elm": 200, "Nowhere": 5}
"""Minutes that a trip to each place takes."""


def with_ends(folder: Path) -> None:
    """The same trips, each with a tap off; some without."""
    write_trips(folder)
    with (folder / "trips.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    for number, row in enumerate(found):
        minute = int(row["hour"][:2]) * 60 + 30 + LASTS[row["to"]]
        row["end"] = "" if number % 50 == 0 else f"{minute // 60 % 24:02d}:{minute % 60:02d}"
    write_csv(folder / "trips.csv", [tuple(row.values()) for row in found], tuple(found[0]))


@pytest.mark.parametrize("unit", ["trip", "card"])
def test_a_trip_ends_when_durations_say(unit: str, tmp_path: Path) -> None:
    with_ends(tmp_path)
    folder = release(world_plan(tmp_path, unit, **DURATIONS), tmp_path / "out", in_ledger=False)
    assert codes(folder.path) == set()
    assert folder.manifest.as_json["durations"] == ["00:00", "00:30", "02:00"]
    said = (
        "- `duration` is how long a trip took, in classes that begin at 00:00, 00:30, 02:00 hours; `-1` means that one"
    )
    assert said in (folder.path / "README.md").read_text()
    trips = rows(folder.path)
    assert list(trips[0]) == [
        *("mode", "date", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location", "duration"),
    ]
    counted = Counter((row["mode"], row["date"], row["tap_off_location"], row["duration"]) for row in trips)
    listed = {
        (row["mode"], row["date"], row["tap_off_location"], row["duration"]): int(row["count"])
        for row in estimates(folder.path, "lasted")
    }
    assert counted == listed
    known = [
        row for row in trips if "-1" not in (row["tap_on_time"], row["tap_off_time"]) and row["tap_on_time"] < "20"
    ]
    far = [row for row in known if row["duration"] == "02:00"]
    near = [row for row in known if row["duration"] == "00:00"]
    assert len(far) > 100 < len(near)
    assert all(int(row["tap_off_time"][:2]) - int(row["tap_on_time"][:2]) >= 2 for row in far)
    assert all(0 <= int(row["tap_off_time"][:2]) - int(row["tap_on_time"][:2]) <= 1 for row in near)


def test_durations_are_measured_as_they_are(tmp_path: Path) -> None:
    with_ends(tmp_path)
    folder = release(world_plan(tmp_path, **DURATIONS), tmp_path / "out", in_ledger=False)
    with (tmp_path / "trips.csv").open(encoding="utf-8", newline="") as file:
        exact = Counter(
            "-1"
            if not row["end"]
            else "00:00"
            if LASTS[row["to"]] < 30
            else "00:30"
            if LASTS[row["to"]] < 120
            else "02:00"
            for row in csv.DictReader(file)
        )
    found = Counter[str]()
    for row in folder.table("lasted").rows():
        found[row["duration"]] += row["count"]
    cells = len(folder.table("lasted")) / 4
    assert set(found) == set(exact)
    assert all(
        abs(found[each] - exact[each]) < 8 * float(folder.mechanism("lasted").scale) * cells**0.5 for each in exact
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tap_off_time": ""}, "durations follow from tap_on_time and tap_off_time"),
        ({"[world]": '["00:10", "00:30"]'}, "must begin with"),
        ({"kind": ""}, "not for columns of the files"),
    ],
)
def test_durations_that_do_not_follow_are_refused(tmp_path: Path, change: dict[str, str], words: str) -> None:
    plan = dict(DURATIONS)
    if "tap_off_time" in change:
        del plan['tap_off_location = "to"\n']
        plan['name = "total"\ncolumns = []\n'] = 'name = "total"\ncolumns = []\n'
    elif "kind" in change:
        plan['tap_off_location = "to"\n'] = 'tap_off_location = "to"\nlong = { column = "x", kind = "duration" }\n'
        del plan["[coarsen]"], plan['name = "total"\ncolumns = []\n']
    else:
        plan["[coarsen]"] = f"[world]\ndurations = {change['[world]']}\n[coarsen]"
    with pytest.raises(PlanError, match=words):
        world_plan(tmp_path, **plan)


@pytest.mark.parametrize("columns", ['["tap_off_time"]', '["duration"]'])
def test_a_second_time_that_no_trip_has_gives_no_estimates(tmp_path: Path, columns: str) -> None:
    """A release with such tables does not fail after it was paid for: it has measurements alone."""
    with_ends(tmp_path)
    plan = {**DURATIONS, 'columns = ["tap_on_location", "tap_off_location"]': 'columns = ["tap_on_location"]'}
    plan['name = "total"\ncolumns = []\n'] = f'name = "lasted"\ncolumns = {columns}\n'
    folder = release(world_plan(tmp_path, **plan), tmp_path / "out", in_ledger=False)
    assert codes(folder.path) == set()
    assert sorted(path.name for path in folder.path.iterdir() if path.is_dir()) == ["measurements"]


# --- reading ----------------------------------------------------------------------------------------------------------


def test_an_analyst_reads_them_some_at_a_time(published: Path) -> None:
    reader = tapveil.open(published).trips()
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all().equals(pq.read_table(published / f"{FILE}.parquet"))


def test_a_folder_without_the_file_gives_them_all_the_same(tmp_path: Path) -> None:
    write_trips(tmp_path)
    plan = world_plan(tmp_path, **ENDS, **{"[coarsen]": "[world]\ntrips = false\n[coarsen]"})
    folder = release(plan, tmp_path / "out", in_ledger=False)
    found = folder.trips().read_all()
    assert found.schema.field("date").type == pa.date32()
    assert len(found) == sum(row["count"] for row in folder.estimate(["tap_on_location"]).rows())


def test_as_tides_each_trip_is_a_pair_of_taps(published: Path) -> None:
    trips, taps = rows(published), tapveil.open(published).trips("tides").read_all().to_pylist()
    enter = [row for row in trips if (row["tap_on_time"], row["tap_on_location"]) != ("-1", "UNKNOWN")]
    timed = [row for row in enter if row["tap_on_time"] != "-1"]
    entered = [tap for tap in taps if tap["fare_action"] == "Enter"]
    assert [(tap["service_date"].isoformat(), tap["event_timestamp"].strftime("%H:%M")) for tap in entered] == [
        (row["date"], row["tap_on_time"]) for row in timed
    ]
    assert [tap["stop_id"] or "UNKNOWN" for tap in entered] == [row["tap_on_location"] for row in timed]
    both = Counter(tap["token_id"] for tap in taps)
    assert set(both.values()) <= {1, 2}
    assert all(name.startswith("synthetic-") for name in both)


SCHEMA = Path(__file__).parents[3] / "shared" / "data" / "tides" / "fare_transactions.schema.json"
ARROW = {
    "string": pa.string(),
    "date": pa.date32(),
    "datetime": pa.timestamp("s"),
    "number": pa.float64(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
}


@pytest.mark.skipif(not SCHEMA.is_file(), reason="the schema of TIDES is not here")
def test_taps_satisfy_the_schema_of_tides(published: Path) -> None:
    taps = tapveil.open(published).trips("tides").read_all()
    fields = {field["name"]: field for field in json.loads(SCHEMA.read_text())["fields"]}
    assert list(taps.column_names) == [name for name in fields if name in taps.column_names]
    for name, field in fields.items():
        limits = field.get("constraints", {})
        if limits.get("required"):
            assert taps.column(name).null_count == 0
        if name not in taps.column_names:
            continue
        values = [value for value in taps.column(name).to_pylist() if value is not None]
        assert taps.schema.field(name).type == ARROW[field["type"]]
        assert set(values) <= set(limits.get("enum", values))
        assert not limits.get("unique") or len(set(values)) == len(values)
        assert min(values, default=0) >= limits["minimum"] if "minimum" in limits else True


def test_what_is_not_there_is_said(published: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no shape `taps`"):
        tapveil.open(published).trips("taps")  # type: ignore[arg-type]
    write_trips(tmp_path)
    timeless = {'columns = ["tap_on_time", "tap_on_location"]': 'columns = ["tap_on_location"]'}
    folder = release(world_plan(tmp_path, **timeless), tmp_path / "out", in_ledger=False)
    assert folder.trips().schema.names == ["mode", "date", "tap_on_location", "tap_off_location"]
    with pytest.raises(UsageError, match="lack them"):
        folder.trips("tides")


# --- tampering --------------------------------------------------------------------------------------------------------


def rewrite(folder: Path, table: pa.Table, said: bytes | None = None) -> None:
    path = folder / f"{FILE}.parquet"
    note = pq.read_metadata(path).metadata[b"description"] if said is None else said
    with pq.ParquetWriter(path, table.schema, compression="zstd") as out:
        out.write_table(table)
        if note:
            out.add_key_value_metadata({"description": note.decode()})
    refresh(folder, rederive=False)


def test_a_file_that_is_written_again_as_it_was_verifies(copy: Path) -> None:
    rewrite(copy, pq.read_table(copy / f"{FILE}.parquet"))
    assert codes(copy) == set()


def test_a_trip_too_many_is_found(copy: Path) -> None:
    table = pq.read_table(copy / f"{FILE}.parquet")
    rewrite(copy, pa.concat_tables([table, table.slice(len(table) - 1)]).combine_chunks())
    assert codes(copy) == {"trips-differ"}


def test_two_trips_in_another_order_are_found(copy: Path) -> None:
    table = pq.read_table(copy / f"{FILE}.parquet")
    last = len(table) - 1
    assert table.slice(0, 1) != table.slice(last)
    rewrite(copy, table.take(pa.array([last, *range(1, last), 0])).combine_chunks())
    assert codes(copy) == {"trips-differ"}


@pytest.mark.parametrize("said", [b"", b"Real trips."])
def test_a_file_that_says_something_else_of_itself_is_found(copy: Path, said: bytes) -> None:
    rewrite(copy, pq.read_table(copy / f"{FILE}.parquet"), said)
    assert codes(copy) == {"hidden-data"}


@pytest.mark.parametrize(("old", "new"), [(b",06:00,", b",12:00,"), (b"\n", b"\r\n"), (b",Ash,", b',"Ash",')])
def test_another_csv_file_is_found(copy: Path, old: bytes, new: bytes) -> None:
    path = copy / f"{FILE}.csv"
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    refresh(copy, rederive=False)
    assert codes(copy) & {"trips-differ", "hidden-data"}


def test_files_that_are_missing_or_more_are_found(copy: Path) -> None:
    (copy / f"{FILE}.csv").rename(copy / "trips" / "real_trips.csv")
    assert {"file-missing", "file-unexpected"} <= codes(copy)
