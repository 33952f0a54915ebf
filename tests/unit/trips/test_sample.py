"""Which files an export has: folders in folders, one that is damaged, names that tell them apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapveil.base.errors import TripDataError
from tapveil.trips.sample import samples, sheets_of_trips, trip_files, whole_files
from tests.support.workbook import write_workbook

ROWS = "card,tap_on_time\n1,07:31\n"


def put(path: Path, text: str = ROWS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_files_are_found_two_folders_deep_and_marks_of_other_programs_are_not(tmp_path: Path) -> None:
    for month in ("month=02", "month=03"):
        put(tmp_path / "lake" / "year=2025" / month / "part-0.csv")
    put(tmp_path / "lake" / "_SUCCESS")
    put(tmp_path / "lake" / "_temporary" / "part-1.csv")
    found = trip_files(str(tmp_path / "lake"))
    assert found.depth == 2
    assert list(found.names.values()) == ["month=02/part-0.csv", "month=03/part-0.csv"]


def test_files_nearest_to_the_top_are_meant_and_the_others_are_said(tmp_path: Path) -> None:
    put(tmp_path / "trips.csv")
    put(tmp_path / "old" / "trips.csv")
    found = trip_files(str(tmp_path))
    assert (found.files, found.depth, found.deeper) == ([tmp_path / "trips.csv"], 0, True)


def test_one_damaged_file_among_many_is_named_and_stops_nothing(tmp_path: Path) -> None:
    put(tmp_path / "a" / "t.parquet", "PAR1 and no more")
    put(tmp_path / "b" / "t.csv")
    shapes, damaged = whole_files(trip_files(str(tmp_path)), "utf-8")
    assert list(shapes) == [tmp_path / "b" / "t.csv"]
    assert damaged == ["t.parquet is not a complete Parquet file; copy it again"]
    assert [sample.name for sample in samples(shapes, "utf-8")] == ["card", "tap_on_time"]


def test_a_file_that_is_alone_must_be_whole(tmp_path: Path) -> None:
    put(tmp_path / "t.parquet", "PAR1 and no more")
    with pytest.raises(TripDataError, match="is not a complete Parquet file"):
        whole_files(trip_files(str(tmp_path / "t.parquet")), "utf-8")


def test_a_note_for_excel_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "t.csv", "\ufeffsep=;\r\ncard;tap_on_time\r\n1;07:31\r\n")
    shapes, _ = whole_files(trip_files(str(tmp_path / "t.csv")), "utf-8")
    assert {sample.name: sample.values for sample in samples(shapes, "utf-8")} == {
        "card": ["1"],
        "tap_on_time": ["07:31"],
    }


def test_sheets_with_columns_may_hold_the_trips(tmp_path: Path) -> None:
    rows = [["card", "time"], ["1", "07:31"]]
    path = write_workbook(tmp_path / "t.xlsx", {"Notes": [["a title"]], "Stops": rows, "Trips": [[*rows[0], "stop"]]})
    assert sheets_of_trips(trip_files(str(path))) == ["Trips", "Stops"]
