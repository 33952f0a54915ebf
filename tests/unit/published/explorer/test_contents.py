"""What the page of a known world holds: its estimates and its measurements, number by number, and what is too large."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.published.explorer import contents
from tapveil.published.explorer.page import taken_apart, unpacked
from tapveil.published.manifest import Manifest
from tapveil.verification.folder import verify_folder
from tapveil.verification.world import domain_of, measured_tables
from tests.support.journeys import journeys
from tests.support.tampering import redraw, resum

MOST = 2**26


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("journeys")
    return tapveil.release(journeys(path), path / "published", in_ledger=False).path


def columns(data: bytes, about: dict[str, Any], keys: int, start: int) -> Iterator[list[int]]:
    """The columns of a table, unpacked as the browser does it."""
    for index, width in enumerate(about["widths"]):
        planes = np.frombuffer(data, np.uint8, width * about["rows"], start).reshape(width, about["rows"])
        values = sum(planes[byte].astype(np.int64) << 8 * byte for byte in range(width))
        yield list(map(int, np.cumsum(values) % 256**width if index < keys else values))
        start += width * about["rows"]


def held(folder: Path) -> tuple[dict[str, Any], dict[str, list[list[int]]]]:
    """The words of a page, and the columns of its tables by their paths."""
    data = unpacked(taken_apart((folder / "explorer.html").read_text(encoding="utf-8"))[1], MOST)
    assert data is not None
    start = 4 + int.from_bytes(data[:4], "little")
    about, found = json.loads(data[4:start]), {}
    totals = {name: {**about[name], "columns": []} for name in ("total", "estimated_total") if about[name]}
    typical = {"typical": about["typical"]} if about["typical"] else {}
    for name, table in ({each["path"]: each for each in about["tables"]} | totals | typical).items():
        keys = len(table["columns"]) + (0 if name == "typical" else len(about["partition"]))
        found[name] = list(columns(data, table, keys, start))
        start += sum(table["widths"]) * table["rows"]
    assert start == len(data)
    return about, found


def named(about: dict[str, Any], path: str, codes: list[list[int]]) -> list[tuple[str, ...]]:
    """The keys of a table as texts."""
    table = next(each for each in about["tables"] if each["path"] == path)
    keys = [*about["partition"], *table["columns"]]
    lists = [about["labels"][table["lists"][key]] if key in table["lists"] else ["-1", *table["times"]] for key in keys]
    return list(
        zip(*([labels[code] for code in column] for labels, column in zip(lists, codes, strict=True)), strict=True)
    )


def test_estimates_come_first_and_every_number_is_that_of_the_file(folder: Path) -> None:
    about, found = held(folder)
    assert [each["path"] for each in about["tables"]][:3] == [
        "estimates/od.csv",
        "estimates/origin_time.csv",
        "estimates/joint.csv",
    ]
    for table in about["tables"][:3]:
        with (folder / table["path"]).open(encoding="utf-8", newline="") as file:
            rows = [tuple(row.values()) for row in csv.DictReader(file)]
        *codes, counts, lows, highs, weights = found[table["path"]]
        texts = named(about, table["path"], codes)
        numbers = zip(counts, lows, highs, weights, strict=True)
        assert sorted((*keys, *map(str, four)) for keys, four in zip(texts, numbers, strict=True)) == sorted(rows)


def test_measurements_are_there_as_they_are_also_below_zero(folder: Path) -> None:
    about, found = held(folder)
    manifest = Manifest.read(json.loads((folder / "privacy.json").read_text()))
    tables = measured_tables(folder, domain_of(folder, manifest))
    for name in ("od", "origin_time"):
        path = f"measurements/{name}.csv"
        table = next(each for each in about["tables"] if each["path"] == path)
        *codes, counts = found[path]
        texts, true = named(about, path, codes), tables[name].to_pydict()
        expected = zip(
            *([str(each) for each in true[key]] for key in true if key != "count"), true["count"], strict=True
        )
        assert sorted((*keys, count + table["from"]) for keys, count in zip(texts, counts, strict=True)) == sorted(
            expected
        )
        assert table["from"] < 0, "some are"


def test_the_meaning_of_epsilon_is_stated_with_its_verdict(folder: Path) -> None:
    about, _ = held(folder)
    meaning = about["meaning"]
    assert (meaning["wrong"], meaning["right"], meaning["verdict"]) == ("12", "88", "moderate")
    assert "12 of 100 such publications" in meaning["frequencies"]
    assert meaning["frequencies"] in " ".join((folder / "README.md").read_text(encoding="utf-8").split())


def test_a_person_and_a_year_are_those_of_the_manifest(folder: Path) -> None:
    about, _ = held(folder)
    people = json.loads((folder / "privacy.json").read_text())["people"]
    shown = about["people"]["rows"]
    assert [(each["week"], each["releases"], each["trips"]) for each in shown] == [
        (each["trips_per_week"], each["releases"], each["trips"]) for each in people
    ]
    assert [each["believed"] for each in shown] == [each["believed"] or [] for each in people]
    assert all(
        float(each["epsilon"]) >= one["epsilon"] for each, one in zip(shown, people, strict=True) if one["epsilon"]
    )
    assert any(str(each["releases"]) in about["people"]["said"][1] for each in people)


@pytest.mark.parametrize(("room", "times"), [(20_000, 12), (6_000, 5)])
def test_what_is_too_large_is_named_and_shown_by_kind_of_day(
    room: int, times: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole trips by day do not fit here; their sums by weekday, Saturday and Sunday or holiday do."""
    kept = (folder / "explorer.html").read_text(encoding="utf-8")
    monkeypatch.setattr(contents, "MOST_OF_A_WORLD", 12_000)
    monkeypatch.setattr(contents, "MOST_TYPICAL", room)
    redraw(folder)
    resum(folder)
    try:
        assert not verify_folder(folder).findings
        about, found = held(folder)
    finally:
        (folder / "explorer.html").write_text(kept, encoding="utf-8")
        resum(folder)
    assert about["left_out"] == ["estimates/joint.csv"]
    typical = about["typical"]
    assert (len(typical["times"]), typical["days"]) == (times, [6, 2, 3])
    mode, kind, time, origin, destination, sums = found["typical"]
    bins = [
        (-1, 0),
        *((int(each[:2]), int(until[:2])) for each, until in zip(typical["times"], typical["until"], strict=True)),
    ]
    expected: Counter[tuple[int, ...]] = Counter()
    with (folder / "estimates" / "joint.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            day = date.fromisoformat(row["date"])
            hour = -1 if row["tap_on_time"] == "-1" else int(row["tap_on_time"][:2])
            place = about["labels"]["*place"].index
            key = (
                about["labels"]["mode"].index(row["mode"]),
                2 if day == date(2025, 3, 10) else max(0, day.weekday() - 4),
                next(code for code, (start, end) in enumerate(bins) if start <= hour < end),
                place(row["tap_on_location"]),
                place(row["tap_off_location"]),
            )
            expected[key] += int(row["count"])
    assert dict(zip(zip(mode, kind, time, origin, destination, strict=True), sums, strict=True)) == expected


def test_nothing_is_left_out_silently_where_no_table_fits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = (folder / "explorer.html").read_text(encoding="utf-8")
    monkeypatch.setattr(contents, "MOST_OF_A_WORLD", 10)
    redraw(folder)
    about, _ = held(folder)
    (folder / "explorer.html").write_text(kept, encoding="utf-8")
    resum(folder)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")}
    assert about["tables"] == []
    assert {"estimates/od.csv", "estimates/joint.csv", "measurements/od.csv"} <= set(about["left_out"]) <= files
    assert pq.ParquetFile(folder / "measurements" / "od.parquet").metadata.num_rows > 10
