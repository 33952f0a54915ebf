"""Folders and series at an address: what is read is what they have on this machine, fetched when it is asked for."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import tapveil
from tapveil.base.errors import FolderError
from tapveil.published.remote import Remote, _file_system, matching
from tests.support.commands import run
from tests.support.weeks import FIRST, trips, week_folder

GOLDEN = Path(__file__).parents[2] / "golden"
KINDS = ["3/gaussian", "3/paper-layout", "3d/world-of-all-days", "3d/levels-of-card-days"]


class Server(http.server.ThreadingHTTPServer):
    """Serves a folder on this machine, and remembers what was asked for."""

    def __init__(self, root: Path) -> None:
        self.asked = list[str]()
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(root)))
        self.root, self.address = root, f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.SimpleHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        self.server.asked.append(self.path)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "site").mkdir()
    with Server(tmp_path / "site") as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["http", "file"])
def test_a_folder_at_an_address_is_read_as_on_this_machine(kind: str, scheme: str, server: Server) -> None:
    shutil.copytree(GOLDEN / kind, server.root / "a folder")
    base = server.address if scheme == "http" else server.root.as_uri()
    there, here = tapveil.open(f"{base}/a%20folder/"), tapveil.open(GOLDEN / kind)
    assert str(there) == str(here)
    for name in here.tables:
        assert there.table(name).rows() == here.table(name).rows()
    if here.has_totals:
        assert there.total() == here.total()
    if (GOLDEN / kind / "consistent").is_dir():
        assert there.table(name, "consistent").rows() == here.table(name, "consistent").rows()
    if (GOLDEN / kind / "areas.geojson").is_file():
        files = [each.convert("gpkg", server.root / f"out-{at}")[0] for at, each in enumerate((there, here))]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_a_file_is_fetched_when_it_is_asked_for_and_once(server: Server) -> None:
    shutil.copytree(GOLDEN / "3" / "gaussian", server.root / "published")
    release = tapveil.open(f"{server.address}/published")
    assert server.asked == ["/published/SHA256SUMS", "/published/privacy.json"]
    for _ in range(2):
        release.table("total").rows()
    assert len(server.asked) == len(set(server.asked))
    assert "/published/data/total.parquet" in server.asked
    assert not any(name.endswith((".csv", "explorer.html")) for name in server.asked)


def test_without_pyarrow_a_folder_of_the_web_is_read_from_its_csv_files(server: Server) -> None:
    shutil.copytree(GOLDEN / "3" / "gaussian", server.root / "published")
    code = f"""
import sys
sys.modules["pyarrow"] = None
import tapveil
print(len(tapveil.open("{server.address}/published").table("total")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(tapveil.open(GOLDEN / "3" / "gaussian").totals)
    assert "/published/data/total.csv" in server.asked


def test_what_cannot_be_fetched_or_was_changed_is_said(server: Server, tmp_path: Path) -> None:
    copy = shutil.copytree(GOLDEN / "3" / "gaussian", server.root / "published")
    release = tapveil.open(f"{server.address}/published")
    for path in (copy / "data").iterdir():
        path.write_bytes(path.read_bytes()[:-9] + b"something")
    with pytest.raises(FolderError, match=r"published/data/\w+\.parquet is not what its SHA256SUMS says"):
        release.table("total")
    shutil.rmtree(copy / "data")
    with pytest.raises(FolderError, match=r"cannot be fetched: 404"):
        release.table("total")
    with pytest.raises(FolderError, match=r"nothing/SHA256SUMS cannot be fetched: 404"):
        tapveil.open(f"{server.address}/nothing")
    (server.root / "page").mkdir()
    (server.root / "page" / "SHA256SUMS").write_text("<html>not here</html>")
    with pytest.raises(FolderError, match="has no SHA256SUMS of a published folder"):
        tapveil.open(f"{server.address}/page")
    with pytest.raises(FolderError, match="give a list of the addresses of folders"):
        tapveil.open(f"{server.address}/*")
    with pytest.raises(FolderError, match="cannot be opened"):
        tapveil.open("gopher://data.example/published")
    with pytest.raises(FolderError, match="cannot be fetched"):
        tapveil.open("http://127.0.0.1:9/published?key=secret")
    with pytest.raises(FolderError) as error:
        tapveil.open("http://127.0.0.1:9/published?key=secret")
    assert "secret" not in str(error.value)
    done = run("series", "http://127.0.0.1:9/published", cwd=tmp_path)
    assert (done.returncode, "cannot be fetched" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "address",
    [
        "http://secret:secret@127.0.0.1:9/published?key=secret",
        "http://secret@127.0.0.1:9/publ*?key=secret",
        "http://secret@127.0.0.1:9/published/one.csv?key=secret",
        "gs://secret:secret@bucket/published",
        "gs://secret:secret@bucket/publ*",
        "gopher://secret:secret@data.example/published?key=secret",
    ],
)
def test_what_opens_an_address_is_in_no_message(address: str) -> None:
    with pytest.raises(FolderError) as error:
        tapveil.open(address)
    assert "secret" not in str(error.value)


def test_options_of_an_address_reach_its_file_system(tmp_path: Path) -> None:
    """An S3 that is not Amazon's is named by one."""
    options = "region=eu-west-1&endpoint_override=127.0.0.1:9&scheme=http"
    system, path = _file_system(Remote(f"s3://id:secret@bucket/published?{options}#part").whole)
    assert (system.type_name, system.region, path) == ("s3", "eu-west-1", "bucket/published")
    shutil.copytree(GOLDEN / "3" / "gaussian", tmp_path / "published")
    assert matching(f"{tmp_path.as_uri()}/publ*?a=b") == [f"{tmp_path.as_uri()}/published?a=b"]


def test_a_server_does_not_fill_the_disk(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copytree(GOLDEN / "3" / "gaussian", server.root / "published")
    largest = max(copy.rglob("*"), key=lambda path: path.stat().st_size)
    monkeypatch.setattr("tapveil.published.remote.LARGEST_FILE", largest.stat().st_size - 1)
    source = Remote(f"{server.address}/published")
    with pytest.raises(FolderError, match="larger than any file"):
        source.file(largest.relative_to(copy).as_posix())
    assert source.file("privacy.json").is_file()


def test_nothing_outside_of_the_copies_is_ever_written(server: Server, tmp_path: Path) -> None:
    (server.root / "published").mkdir()
    (server.root / "escaped").write_text("x")
    (server.root / "published" / "SHA256SUMS").write_text(f"{'0' * 64}  ../escaped\n")
    with pytest.raises(FolderError, match=r"it has no privacy\.json"):
        tapveil.open(f"{server.address}/published")
    source = Remote(f"{server.address}/published")
    source.file("../escaped")
    assert not (source.place.parent / "escaped").exists()


def test_a_series_at_an_address_is_that_of_its_folders(server: Server, tmp_path: Path) -> None:
    """As a list of folders, as a pattern where files can be listed, and as it was written."""
    names = [f"w{week}" for week in range(3)]
    for week, name in enumerate(names):
        truth = {"Central": trips(3000, week), "Quay": trips(900, 9 + week), "Halt": [30] * 7}
        week_folder(server.root / "weeks" / name, truth, FIRST + timedelta(days=6 * week), week)
    here = tapveil.open([server.root / "weeks" / name for name in names])
    here.write(server.root / "series")
    ways = {
        "a list": [f"{server.address}/weeks/{name}" for name in names],
        "a pattern": f"{(server.root / 'weeks').as_uri()}/w*",
        "a written series of the web": f"{server.address}/series",
        "a written series": str(server.root / "series"),
        "a file of it": f"{server.address}/series/total/year=2025/part-0.parquet",
        "all files of a table": f"{server.address}/series/on_location/*/*.parquet",
        "all files of all tables": f"{(server.root / 'series').as_uri()}/*/*/*.parquet",
        "files on this machine": f"{server.root}/series/on_location/*/*.parquet",
        "files of several folders": f"{server.root}/weeks/*/data/total.csv",
    }
    quay = {"mode": "train", "tap_on_location": "Quay"}
    for path in ways.values():
        series = tapveil.open(path)
        assert isinstance(series, tapveil.Series)
        assert str(series) == str(here)
        assert (series.days, series.overlaps, series.names) == (here.days, here.overlaps, here.names)
        for name in here.tables:
            ours, theirs = series.table(name), here.table(name)
            assert ours.rows() == theirs.rows()
            assert ours.noise is not None
            assert theirs.noise is not None
            assert ours.noise.tolist() == pytest.approx(theirs.noise.tolist())
            assert ours.sum(by="date").rows() == theirs.sum(by="date").rows()
        weeks = [each.table("on_location").where(**quay) for each in (series, here)]
        ours, theirs = (
            each.between("2025-03-14", "2025-03-20").minus(each.between("2025-03-03", "2025-03-09")) for each in weeks
        )
        assert ours.rows() == theirs.rows()
        assert str(weeks[0].trend()) == str(weeks[1].trend())
        with pytest.raises(tapveil.ReaderError, match="there is no place `Kway`"):
            series.table("on_location").where(tap_on_location="Kway")
    done = run("series", f"{server.address}/series", cwd=tmp_path)
    assert done.stdout.split() == str(here).split()
    with pytest.raises(tapveil.ReaderError, match="written already"):
        tapveil.open(ways["a written series"]).write(tmp_path / "again")
    (part,) = (server.root / "series" / "total").rglob("*.parquet")
    part.write_bytes(b"PAR1")
    with pytest.raises(FolderError, match="is damaged"):
        tapveil.open(ways["a written series"]).table("total")
    (server.root / "series" / "series.json").write_text("{}")
    with pytest.raises(FolderError, match=r"series\.json is damaged"):
        tapveil.open(ways["a written series"])


def test_a_file_that_is_in_no_folder_is_refused_by_its_name(server: Server, tmp_path: Path) -> None:
    copy = shutil.copytree(GOLDEN / "3" / "gaussian", server.root / "published")
    for base in (server.address, server.root.as_uri(), str(server.root)):
        assert tapveil.open(f"{base}/published/data/total.parquet").total() == tapveil.open(copy).total()
        for name in ("published/data/totl.parquet", "elsewhere/*.parquet", "one.csv"):
            with pytest.raises(FolderError, match=rf"{name.replace('*', '.')} is no file of .*name the folder itself"):
                tapveil.open(f"{base}/{name}")
    with pytest.raises(FolderError) as error:
        tapveil.open(f"{server.address}/one.parquet?key=secret")
    assert "secret" not in str(error.value)
    assert tapveil.open(copy / "data" / "total.csv").path == copy
