"""A written series follows from its folders, byte by byte, and whoever changes either is found out."""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.errors import FolderError, UsageError
from tapveil.verification.series import verify_series
from tests.support.commands import run
from tests.support.weeks import FIRST, days_of
from tests.unit.published.series.test_reading import weeks


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    home = tmp_path_factory.mktemp("series")
    folders = weeks(home / "published", 3, rows="taps")
    return tapveil.open(folders).write(home / "series"), folders


def test_the_answers_of_a_dossier_next_to_its_folder_are_no_folder(written: tuple[Path, list[Path]]) -> None:
    answers = written[1][0].parent / "w1.dossier.toml"
    answers.write_text("")
    done = run("series", *sorted(answers.parent.iterdir()))
    answers.unlink()
    assert (done.returncode, "a series of 3 releases" in done.stdout) == (0, True), done.stderr


def test_a_series_is_verified_against_its_folders(written: tuple[Path, list[Path]], tmp_path: Path) -> None:
    out, folders = written
    checked = verify_series(out, tapveil.open(folders))
    assert checked.ok, checked.findings
    assert checked.summary == "the series follows from 3 folders"
    assert not verify_series(out, tapveil.open(folders[:2])).ok, "a folder less"
    with pytest.raises(UsageError, match="already exists"):
        tapveil.open(folders).write(out)


@pytest.mark.parametrize("name", ["series.json", "series.html", "total/year=2025/part-0.parquet", "SHA256SUMS", "more"])
def test_a_changed_file_is_found(name: str, written: tuple[Path, list[Path]], tmp_path: Path) -> None:
    out, folders = written
    shutil.copytree(out, tmp_path / "copy")
    changed = tmp_path / "copy" / name
    if name.endswith(".parquet"):
        table = pq.read_table(changed)
        pq.write_table(table.slice(1), changed)
    else:
        changed.write_bytes((changed.read_bytes() if changed.exists() else b"") + b" ")
    assert name in {each.place for each in verify_series(tmp_path / "copy", tapveil.open(folders)).findings}


@pytest.mark.parametrize("name", ["more", "series.html", "releases/w01/privacy.json", "SHA256SUMS"])
def test_a_file_larger_than_any_memory_is_found(name: str, written: tuple[Path, list[Path]], tmp_path: Path) -> None:
    out, folders = written
    shutil.copytree(out, tmp_path / "copy")
    with (tmp_path / "copy" / name).open("wb") as file:
        file.truncate(2**40)
    assert ("too-large", name) in {
        (each.code, each.place) for each in verify_series(tmp_path / "copy", tapveil.open(folders)).findings
    }


@pytest.mark.parametrize("name", ["series.json", "releases/w01/privacy.json"])
def test_what_is_larger_than_any_memory_is_not_read(
    name: str, written: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    shutil.copytree(written[0], tmp_path / "copy")
    with (tmp_path / "copy" / name).open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(FolderError, match=r"damaged"):
        tapveil.open(tmp_path / "copy")


@pytest.mark.parametrize(
    "edit",
    [('"name": "w01"', '"name": "../w01"'), ('"days": [', '"days": [7,'), ('"days": [', '"days": ["someday",')],
    ids=str,
)
def test_a_series_that_somebody_edited_is_damaged(
    edit: tuple[str, str], written: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    contents = shutil.copytree(written[0], tmp_path / "copy") / "series.json"
    text = contents.read_text(encoding="utf-8")
    assert edit[0] in text
    contents.write_text(text.replace(*edit), encoding="utf-8")
    with pytest.raises(FolderError, match="damaged"):
        tapveil.open(tmp_path / "copy")


@pytest.mark.parametrize("label", ["nobody", " + ", "w01 + nobody"])
def test_a_number_of_no_release_is_damaged(label: str, written: tuple[Path, list[Path]], tmp_path: Path) -> None:
    part = shutil.copytree(written[0], tmp_path / "copy") / "total" / "year=2025" / "part-0.parquet"
    table = pq.read_table(part)
    place = table.column_names.index("release")
    pq.write_table(table.set_column(place, "release", pa.array([label] * len(table))), part)
    with pytest.raises(FolderError, match="damaged"):
        tapveil.open(tmp_path / "copy").table("total")


def test_a_changed_folder_is_found(written: tuple[Path, list[Path]], tmp_path: Path) -> None:
    out, folders = written
    copies = [shutil.copytree(folder, tmp_path / folder.name) for folder in folders]
    table = copies[1] / "data" / "total.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("2025-03-10,", "2025-03-10,1"), encoding="utf-8")
    places = {each.place for each in verify_series(out, tapveil.open(copies)).findings}
    assert places == {"w01/data/total.csv", "series.html", "total/year=2025/part-0.parquet"}


def test_the_parquet_files_are_what_the_series_reads(written: tuple[Path, list[Path]]) -> None:
    out, folders = written
    query = f"SELECT * FROM read_parquet('{out}/on_location/*/*.parquet', hive_partitioning = true) ORDER BY ALL"
    found = duckdb.sql(query)
    assert found is not None
    rows = tapveil.open(folders).table("on_location").rows()
    assert found.columns == ["mode", "date", "tap_on_location", "count", "low", "high", "release", "definition", "year"]
    assert [(row[0], str(row[1]), *row[2:8]) for row in found.fetchall()] == sorted(tuple(row.values()) for row in rows)


def test_the_page_has_the_numbers_and_asks_nobody(written: tuple[Path, list[Path]]) -> None:
    out, folders = written
    text = (out / "series.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    packed = re.search(r'type="application/octet-stream">([^<]*)<', text)
    assert packed
    data = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    assert data["days"] == days_of(FIRST, 21)
    totals = tapveil.open(folders).totals
    line = next(each for each in data["lines"] if each["kind"] == "total")
    assert line["count"] == totals.cells["count"].tolist()
    assert [c - b for c, b in zip(line["count"], line["below"], strict=True)] == totals.cells["low"].tolist()
    assert {"Quay", "Central"} <= {each["names"][-1] for each in data["lines"] if each["kind"] == "place"}


def test_the_command_shows_writes_and_checks_a_series(written: tuple[Path, list[Path]], tmp_path: Path) -> None:
    _, folders = written
    names = [str(folder) for folder in folders]
    shown = run("series", *names, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "a series of 3 releases, 2025-03-03 to 2025-03-23" in shown.stdout
    assert "total, from 2025-03-17 on: rows BREAK: trips -> taps" in shown.stdout
    assert run("series", *names, "-o", "out", cwd=tmp_path).returncode == 0
    assert run("series", *names, "--verify", "out", cwd=tmp_path).returncode == 0
    (tmp_path / "out" / "series.html").write_text("another", encoding="utf-8")
    found = run("series", *names, "--verify", "out", cwd=tmp_path)
    assert found.returncode == 1
    assert (
        "page-program: series.html: is not a page that tapveil writes for such a series; do not open it" in found.stdout
    )
