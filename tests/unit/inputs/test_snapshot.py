"""Public files are read once: what is parsed, and what is hashed, are the bytes of the first look."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tapveil.base.errors import EngineError, TripDataError
from tapveil.inputs import snapshot
from tapveil.inputs.gtfs import read_feed
from tapveil.inputs.snapshot import ON_DISK, Snapshot
from tests.support.fuzz import FEED, zipped

WHOLE = bytes(range(256)) * 40


@pytest.fixture(params=["in memory", "on the scratch disk"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "in memory":
        monkeypatch.setattr(snapshot, "SMALL", 1)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_feed(folder: Path) -> Path:
    folder.mkdir()
    for name, text in FEED.items():
        (folder / name).write_text(text)
    (folder / "not read").mkdir()
    (folder / "shapes.txt").write_text("shape_id\n1\n")
    return folder


@pytest.mark.usefixtures("small")
def test_a_file_stays_what_it_was(tmp_path: Path) -> None:
    path, files = tmp_path / "list.csv", Snapshot()
    path.write_bytes(WHOLE)
    assert files.open(path).read() == WHOLE
    path.write_bytes(b"another")
    assert files.open(path).read() == WHOLE
    path.unlink()
    assert (files.open(path).read(), files.sha256(path)) == (WHOLE, sha256(WHOLE))


@pytest.mark.usefixtures("small")
def test_each_who_reads_has_a_place_of_their_own(tmp_path: Path) -> None:
    path, files = tmp_path / "list.csv", Snapshot()
    path.write_bytes(WHOLE)
    with files.open(path) as one, files.open(path) as other:
        assert one.read(300) == WHOLE[:300]
        assert other.read(5) == WHOLE[:5]
        assert one.seek(-7, os.SEEK_END) == len(WHOLE) - 7
        assert one.seek(2, os.SEEK_CUR) == len(WHOLE) - 5
        assert (one.read(), one.read()) == (WHOLE[-5:], b"")
        assert other.read(3) == WHOLE[5:8]


@pytest.mark.usefixtures("small")
def test_a_folder_is_hashed_by_the_names_sizes_and_bytes_of_its_files(tmp_path: Path) -> None:
    """As folders were that are published already; a file that was read before it was exchanged, as it was then."""
    folder, files = write_feed(tmp_path / "feed"), Snapshot()
    texts = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    expected = sha256(b"".join(f"{name}\0{len(text)}\0".encode() + text for name, text in sorted(texts.items())))
    assert Snapshot().sha256(folder) == expected
    files.names(folder)
    files.open(folder / "stops.txt")
    (folder / "stops.txt").write_text("stop_id\nnew\n")
    (folder / "late.txt").write_text("nobody looked at this")
    assert files.sha256(folder) == expected


def test_what_was_hashed_and_not_kept_may_not_change_before_it_is_read(tmp_path: Path) -> None:
    folder, files = write_feed(tmp_path / "feed"), Snapshot()
    files.sha256(folder)
    assert files.open(folder / "trips.txt").read().decode() == FEED["trips.txt"]
    (folder / "stops.txt").write_text("stop_id\nnew\n")
    with pytest.raises(TripDataError, match=r"stops\.txt changed while it was in use"):
        files.open(folder / "stops.txt")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("how", ["zip", "folder"])
def test_a_timetable_is_read_to_its_end_from_the_first_look(how: str, tmp_path: Path) -> None:
    """Of a folder, each file from the first look at that file."""
    path = tmp_path / "feed.zip" if how == "zip" else write_feed(tmp_path / "feed")
    if how == "zip":
        path.write_bytes(zipped({name: text.encode() for name, text in FEED.items()}))
    expected, files = read_feed(path).lines(), Snapshot()
    feed, before = read_feed(path, files), files.sha256(path)
    assert feed.lines() == expected
    for each in [path] if how == "zip" else [path / name for name in FEED]:
        each.write_bytes(b"something else")
    again = read_feed(path, files)
    assert (again.stops, again.lines()) == (feed.stops, expected)
    assert files.sha256(path) == before


def test_faults_are_those_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for files in (ON_DISK, Snapshot()):
        with pytest.raises(FileNotFoundError):
            files.open(tmp_path / "none.csv")
        with pytest.raises(IsADirectoryError):
            files.open(tmp_path)
    monkeypatch.setattr(snapshot, "SMALL", 1)
    (tmp_path / "list.csv").write_bytes(WHOLE)
    with pytest.raises(EngineError, match=r"list\.csv cannot be stored on the scratch disk"):
        Snapshot(tmp_path / "no such folder").open(tmp_path / "list.csv")
