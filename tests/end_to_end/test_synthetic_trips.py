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

from tapveil.veil.release import release
from tests.end_to_end.test_world import codes, estimates, world_plan, write_trips
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
