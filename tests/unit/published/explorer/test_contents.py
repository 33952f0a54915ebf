"""What the page of a known world holds: its estimates and its measurements, number by number, and what is too large."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks.page import a_year, manifest_of_bins

import tapveil
from tapveil.published.explorer import contents
from tapveil.published.explorer.page import page_files, taken_apart, unpacked
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
    (block,) = about.get("blocks", [about])
    for index, width in enumerate(block["widths"]):
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
        start += sum((table["blocks"][0] if "blocks" in table else table)["widths"]) * table["rows"]
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


@pytest.mark.parametrize("times", [12, 5])
def test_what_is_too_large_is_named_and_shown_by_kind_of_day(
    times: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole trips by day do not fit here; their sums by weekday, Saturday and Sunday or holiday do."""
    kept = (folder / "explorer.html").read_text(encoding="utf-8")
    monkeypatch.setattr(contents, "MOST_OF_A_WORLD", 12_000)
    try:
        redraw(folder)
        if times == 5:  # where hours do not fit either, by one cell: how many there are depends on the noise
            monkeypatch.setattr(contents, "MOST_TYPICAL", held(folder)[0]["typical"]["rows"] - 1)
            redraw(folder)
        resum(folder)
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


# --- files next to the page -------------------------------------------------------------------------------------------


@pytest.fixture
def split(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, as if its tables were too large for a page."""
    monkeypatch.setattr(contents, "IN_PAGE_OF_A_WORLD", 1_000)
    monkeypatch.setattr(contents, "IN_A_FILE", 1_500)
    copied = tmp_path / "published"
    shutil.copytree(folder, copied)
    redraw(copied)
    resum(copied)
    return copied


def found_in(folder: Path) -> list[tuple[str, str]]:
    resum(folder)
    return [(each.code, each.place) for each in verify_folder(folder).findings]


def test_large_tables_are_in_files_which_verify_makes_again(split: Path) -> None:
    assert found_in(split) == []
    names = sorted(path.name for path in (split / "explorer").iterdir())
    assert names == [f"part-{number:04}.js" for number in range(1, len(names) + 1)]
    assert len(names) > 4
    data = unpacked(taken_apart((split / "explorer.html").read_text(encoding="utf-8"))[1], MOST)
    assert data is not None
    about = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
    blocks = [block for table in about["tables"] for block in table["blocks"]]
    assert sorted(block["file"] for block in blocks if block["file"]) == [*range(1, len(names) + 1)]
    for table in about["tables"]:
        assert sum(block["rows"] for block in table["blocks"]) == table["rows"]
        assert all(block["rows"] <= 1_500 for block in table["blocks"] if block["file"])
    policy = (split / "explorer.html").read_text(encoding="utf-8").split('Content-Security-Policy" content="')[1]
    assert "'self' file:" in policy.split('"')[0]


def test_a_folder_with_such_files_verifies_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "IN_PAGE_OF_A_WORLD", 1_000)
    written = tapveil.release(journeys(tmp_path), tmp_path / "published", in_ledger=False).path
    assert (written / "explorer" / "part-0001.js").is_file()
    assert verify_folder(written).findings == []


def test_a_page_alone_may_load_nothing(folder: Path) -> None:
    text = (folder / "explorer.html").read_text(encoding="utf-8")
    assert "file:" not in text.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert not (folder / "explorer").exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda text: text.replace('");', '");alert(1);'), "page-program"),
        (lambda text: text.replace("tapveilPart(2,", "tapveilPart(3,"), "page-program"),
        (lambda text: "/* */" + text, "page-program"),
        (lambda text: text.replace("tapveilPart(2", "tapveilPart(02"), "page-program"),
        (lambda text: text[:40] + ("A" if text[40] != "A" else "B") + text[41:], "page-differs"),
    ],
)
def test_a_file_that_does_or_says_anything_else_is_found(change: Callable[[str], str], code: str, split: Path) -> None:
    path = split / "explorer" / "part-0002.js"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert found_in(split) == [(code, "explorer/part-0002.js")]


def test_files_that_are_missing_or_too_many_are_found(split: Path, folder: Path) -> None:
    one, two = (split / "explorer" / f"part-000{number}.js" for number in (1, 2))
    extra = split / "explorer" / "part-0099.js"
    extra.write_text(two.read_text(encoding="utf-8").replace("(2,", "(99,"), encoding="utf-8")
    one.unlink()
    assert sorted(found_in(split)) == [
        ("file-missing", "explorer/part-0001.js"),
        ("file-unexpected", "explorer/part-0099.js"),
    ]


def test_rows_of_a_file_are_whole_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "IN_A_FILE", 10)
    assert list(contents._filled(np.array([4, 4, 4, 25, 3, 3]))) == [(0, 8), (8, 12), (12, 37), (37, 43)]


def test_a_year_of_500_places_by_the_hour_is_below_12_mb_and_read_in_parts_by_day() -> None:
    """Half of it, the taps on: 4.6 million cells, each published."""
    tables = a_year(["on"])
    manifest = manifest_of_bins(60)
    manifest = manifest.model_copy(update={"tables": tuple(each for each in manifest.tables if each.name in tables)})
    texts = page_files(manifest, {"description": "Made up.", "resources": []}, tables, [], None)
    assert sum(map(len, tables.values())) == 364 * (500 * 24 + 500 + 24)
    page = texts.pop("explorer.html")
    assert len(page) + sum(map(len, texts.values())) < 6e6
    assert len(page) < 1e6, "what is drawn first"
    data = unpacked(taken_apart(page)[1], MOST)
    assert data is not None
    about = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
    large = next(each for each in about["tables"] if each["name"] == "on_time_location")
    assert [each["file"] for each in large["blocks"]] == list(range(1, len(texts) + 1)), "no other table is in a file"
    assert large["spans"]["rows"] == 364
    assert max(each["rows"] for each in large["blocks"]) <= 10 * 500 * 24, "a day is in a file of ten days at most"
    assert max(map(len, texts.values())) < 250_000
