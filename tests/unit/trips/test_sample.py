"""Which files an export has: folders in folders, one that is damaged, names that tell them apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapveil.base.errors import TripDataError
from tapveil.trips.sample import (
    encoding_of,
    header_encoding,
    other_scripts,
    samples,
    sheets_of_trips,
    trip_files,
    whole_files,
)
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


@pytest.mark.parametrize(
    ("encoding", "header", "row"),
    [
        ("shift-jis", "カード番号,乗車時刻,乗車駅", "1,07:31,渋谷"),
        ("big5", "日期,時段,進站,出站,人次", "2025-03-03,7,台北車站,西門,12"),
        ("gb18030", "卡号,进站时间,站点", "1,07:31,西直门"),
        ("euc-kr", "카드번호,승차시간,역", "1,07:31,서울역"),
        ("windows-1251", "Карта,Время,Станция", "1,07:31,Москва"),
        ("windows-1253", "Κάρτα,Ώρα,Σταθμός", "1,07:31,Πειραιάς"),
    ],
)
def test_other_scripts_are_proposed_or_refused_and_not_read_as_something_else(
    tmp_path: Path, encoding: str, header: str, row: str
) -> None:
    """Under mangled names, the column of cards was taken for a place."""
    for name, lines in {"named.csv": [header, "1,07:31,A"], "rows.csv": ["card,time,place", *[row] * 9]}.items():
        path = tmp_path / name
        path.write_bytes("\n".join(lines).encode(encoding))
        assert encoding_of([path]) is None
        if encoding == "windows-1253":
            with pytest.raises(TripDataError, match="neither UTF-8 nor in any other encoding"):
                other_scripts([path], 10)
        else:
            found, read = other_scripts([path], 10)
            assert found[0] == encoding
            assert read == ([] if lines[0].isascii() else header.split(","))
    assert header_encoding([tmp_path / "named.csv"]) is None


@pytest.mark.parametrize("row", ["Königsplatz", "ÉTOILE", "São João – Ñuñoa", "St. Mary’s", "N° 5 «Dôme»", "CRÉÉE"])
def test_western_names_are_windows_1252(tmp_path: Path, row: str) -> None:
    (tmp_path / "t.csv").write_bytes("\n".join(["Straße,größe", *[row] * 9]).encode("cp1252"))
    assert encoding_of([tmp_path / "t.csv"]) == header_encoding([tmp_path / "t.csv"]) == "windows-1252"
