"""The page follows from the folder: made again by whoever checks it, and no other page passes for it."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

import tapveil
from tapveil.demo.city import make_city
from tapveil.plan.model import Plan
from tapveil.published.explorer import contents
from tapveil.verification.folder import verify_folder
from tests.conftest import WITH_TOTAL
from tests.support.tampering import redraw, resum

OPEN, CLOSE = '<script id="release" type="application/octet-stream">', "</script>"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explored")
    path = make_city(folder / "city", trips=30_000, days=[date(2025, 3, 3)])
    ((old, new),) = WITH_TOTAL.items()
    plan = Plan.parse(path.read_text(encoding="utf-8").replace(old, new), base=path.parent)
    return tapveil.release(plan, folder / "published", in_ledger=False).path


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    shutil.copytree(published, tmp_path / "folder")
    return tmp_path / "folder"


def codes(folder: Path) -> set[str]:
    return {finding.code for finding in verify_folder(folder).findings}


def data_of(text: str) -> str:
    return text.split(OPEN)[1].split(CLOSE)[0]


def packed(data: bytes, level: int = 6) -> str:
    return base64.b64encode(zlib.compress(data, level)).decode()


def another_count(text: str) -> str:
    """One number changed, and packed as it was."""
    data = bytearray(zlib.decompress(base64.b64decode(data_of(text))))
    data[-1] ^= 1
    return text.replace(data_of(text), packed(bytes(data)))


def loosely_packed(text: str) -> str:
    return text.replace(data_of(text), packed(zlib.decompress(base64.b64decode(data_of(text))), 0))


def with_more_behind(text: str) -> str:
    behind = base64.b64encode(base64.b64decode(data_of(text)) + b"more").decode()
    return text.replace(data_of(text), behind)


FORGED: dict[str, tuple[Callable[[str], str], str]] = {
    "another program": (lambda text: text.replace("SUPPRESSED = -(2 ** 52)", "SUPPRESSED = 0", 1), "page-program"),
    "another policy": (lambda text: text.replace("default-src 'none'", "default-src *", 1), "page-program"),
    "another title": (lambda text: text.replace("<h1>", "<h1>Not ", 1), "page-program"),
    "more at its end": (lambda text: text + "<!-- more -->", "page-program"),
    "a blank in its data": (lambda text: text.replace(OPEN, OPEN + " "), "page-differs"),
    "another number": (another_count, "page-differs"),
    "more behind its data": (with_more_behind, "page-differs"),
    "no data": (lambda text: text.replace(data_of(text), ""), "page-differs"),
    "data packed loosely": (loosely_packed, "hidden-data"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_another_page_is_found_out(forged: str, folder: Path) -> None:
    change, code = FORGED[forged]
    text = (folder / "explorer.html").read_text(encoding="utf-8")
    assert change(text) != text
    (folder / "explorer.html").write_text(change(text), encoding="utf-8")
    resum(folder)
    assert codes(folder) == {code}


def test_a_folder_without_its_page_is_found_out(folder: Path) -> None:
    (folder / "explorer.html").unlink()
    resum(folder)
    assert codes(folder) == {"file-missing"}


def test_the_page_is_the_same_whoever_makes_it(folder: Path) -> None:
    before = (folder / "explorer.html").read_bytes()
    redraw(folder)
    assert (folder / "explorer.html").read_bytes() == before
    assert codes(folder) == set()


def test_the_page_holds_what_the_folder_says_and_no_more(folder: Path) -> None:
    text = (folder / "explorer.html").read_text(encoding="utf-8")
    data = zlib.decompress(base64.b64decode(data_of(text)))
    size = int.from_bytes(data[:4], "little")
    about = json.loads(data[4 : 4 + size])
    rows = {table["name"]: len(tapveil.open(folder).table(table["name"])) for table in about["tables"]}
    assert {table["name"]: table["rows"] for table in about["tables"]} == rows
    assert "total" not in rows, "totals are said beside the tables"
    assert about["total"]["rows"] == len(tapveil.open(folder).totals)
    blocks = [block for table in [*about["tables"], about["total"]] for block in table.get("blocks", [table])]
    columns = sum(block["rows"] * sum(block["widths"]) for block in blocks)
    assert len(data) == 4 + size + columns


def test_tables_that_are_too_large_for_a_page_are_left_out_and_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {name: len(tapveil.open(folder).table(name)) for name in tapveil.open(folder).tables if name != "total"}
    monkeypatch.setattr(contents, "MOST_CELLS", sum(rows.values()) - 1)
    redraw(folder)
    resum(folder)
    assert codes(folder) == set()
    data = zlib.decompress(base64.b64decode(data_of((folder / "explorer.html").read_text(encoding="utf-8"))))
    about = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
    assert about["left_out"] == [f"data/{max(rows, key=lambda name: (rows[name], name))}.csv"]


def test_a_hostile_page_is_named_whatever_else_is_wrong(folder: Path) -> None:
    (folder / "explorer.html").write_text("<script>alert(1)</script>", encoding="utf-8")
    with (folder / "croissant.json").open("a", encoding="utf-8") as file:
        file.write(" ")
    resum(folder)
    assert codes(folder) == {"metadata-differs", "page-program"}
    (folder / "data" / "on_time.csv").unlink()
    assert "page-program" in codes(folder)
    (folder / "privacy.json").unlink()
    assert "page-program" in codes(folder)
