"""Bad input: each with its exit code, a message a data officer can act on, and nothing left behind."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapveil.demo.city import make_city
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tapveil.plan.model import Plan
from tests.conftest import BUS, OPAL_COLUMNS, STOPS, TRAIN, opal_text, start_ledger, with_mounts, write_csv
from tests.support.commands import run

SECRETS = ("308500001", "308500002", "Central", "07:31")
"""Values of trips: they may stand in no message."""


def trips(folder: Path) -> Path:
    return write_csv(folder / "trips.csv", [BUS, TRAIN] * 50)


def parquet(folder: Path) -> Path:
    columns = dict(zip(OPAL_COLUMNS, zip(*[BUS, TRAIN] * 5000, strict=True), strict=True))
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), folder / "trips.parquet")
    return folder / "trips.parquet"


Damage = Callable[[Path], object]


def edit(old: str, new: str) -> Damage:
    def damage(folder: Path) -> None:
        plan = folder / "plan.toml"
        assert old in plan.read_text()
        plan.write_text(plan.read_text().replace(old, new, 1))

    return damage


def rows(*bad: tuple[str, ...], good: int = 100) -> Damage:
    return lambda folder: write_csv(folder / "trips.csv", [TRAIN] * good + list(bad))


def cut(path: Path, keep: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])


def use(name: str, write: Damage) -> Damage:
    def damage(folder: Path) -> None:
        edit('path = "trips.csv"', f'path = "{name}"')(folder)
        (folder / "trips.csv").unlink()
        write(folder)

    return damage


def beside(write: Damage) -> Damage:
    """All files of a folder, and one more thing among them."""

    def damage(folder: Path) -> None:
        edit('path = "trips.csv"', 'path = "*.csv"')(folder)
        write(folder)

    return damage


def damaged_gzip(folder: Path) -> None:
    (folder / "trips.csv.gz").write_bytes(gzip.compress(trips(folder).read_bytes() * 500))
    (folder / "trips.csv").unlink()
    cut(folder / "trips.csv.gz", 0.7)


def damaged_page(folder: Path) -> None:
    path = parquet(folder)
    data = bytearray(path.read_bytes())
    data[40:400] = b"\xff" * 360
    path.write_bytes(bytes(data))


CASES: dict[str, tuple[int, Damage, str]] = {
    "missing file": (3, lambda d: (d / "trips.csv").unlink(), "no file matches trips.csv"),
    "empty file": (3, lambda d: (d / "trips.csv").write_text(""), "trips.csv is empty"),
    "header only": (3, rows(good=0), "a header but no trips"),
    "blank first line": (3, lambda d: (d / "trips.csv").write_text("\n1,2\n"), "it must be a header"),
    "missing column": (3, edit('"tap_on_time"  ', '"tap_on_tiem"  '), "no column `tap_on_tiem`"),
    "missing column, suggestion": (3, edit('"tap_on_time"  ', '"tap_on_tiem"  '), "did you mean `tap_on_time`?"),
    "no header": (
        3,
        lambda d: write_csv(d / "trips.csv", [TRAIN], header=BUS),
        "check that the first line of the file is a header in UTF-8",
    ),
    "two columns of one name": (
        3,
        lambda d: write_csv(d / "trips.csv", [(*TRAIN, "x")], header=(*OPAL_COLUMNS, "mode")),
        "2 columns named `mode`",
    ),
    "a directory called like a file": (3, beside(lambda d: (d / "more.csv").mkdir()), "more.csv, which matches"),
    "a link to nothing": (
        3,
        beside(lambda d: (d / "more.csv").symlink_to("nowhere")),
        "check whether it is a broken link",
    ),
    "a directory": (3, edit('path = "trips.csv"', 'path = "."'), "is a folder"),
    "truncated parquet": (3, use("trips.parquet", lambda d: cut(parquet(d), 0.5)), "not a complete Parquet file"),
    "damaged parquet": (3, use("trips.parquet", damaged_page), "could not be read to its end"),
    "not parquet": (
        3,
        use("t.parquet", lambda d: (d / "t.parquet").write_text("a,b\n")),
        "not a complete Parquet file",
    ),
    "not gzip": (3, use("t.csv.gz", lambda d: (d / "t.csv.gz").write_text("a,b\n")), "is not a gzip file"),
    "gzip without its name": (
        3,
        use("t.csv", lambda d: (d / "t.csv").write_bytes(gzip.compress(b"a,b\n"))),
        "add .gz to its name",
    ),
    "damaged gzip": (3, use("trips.csv.gz", damaged_gzip), "is a damaged gzip file"),
    "UTF-16": (3, lambda d: (d / "trips.csv").write_text("a,b\n", encoding="utf-16"), "is UTF-16; save it as UTF-8"),
    "a header with an open quote": (3, lambda d: (d / "trips.csv").write_text('mode,"x\nbus,y\n'), "an unclosed quote"),
    "every row unreadable": (3, rows(*[("x", "never", *TRAIN[2:])] * 20, good=0), "more than 1 % of the rows"),
    "two per cent unreadable": (3, rows(*[("x", "never", *TRAIN[2:])] * 3), "Main reasons: date cannot be read"),
    "zero epsilon": (2, edit("epsilon = 1\n", "epsilon = 0\n"), "`epsilon`: must be above 0"),
    "negative epsilon": (2, edit("epsilon = 1\n", "epsilon = -1\n"), "`epsilon`: must be above 0"),
    "delta of one": (2, edit('"1/8000000"', "1.0"), "`delta`: must be below 1"),
    "NaN": (2, edit("epsilon = 1\n", "epsilon = nan\n"), "is not a number"),
    "unknown table column": (2, edit('["tap_on_time"]', '["tap_on_tim"]'), "did you mean `tap_on_time`?"),
    "duplicate table names": (2, edit('name = "on_location"', 'name = "on_time"'), "is used twice"),
    "two postcodes for one stop": (
        3,
        lambda d: (d / "stops.csv").write_text(STOPS + "1001,First St,2099\n"),
        "stops.csv, line 5: stop `1001` has two different values of `postcode`",
    ),
    "missing lookup": (3, lambda d: (d / "stops.csv").unlink(), "there is no lookup stops.csv"),
    "lookup without its column": (3, edit('to = "postcode"', 'to = "postcod"'), "did you mean `postcode`?"),
    "lookup that is not text": (
        3,
        lambda d: (d / "stops.csv").write_bytes(b"\xff\xfe\x00"),
        "is not a CSV file in UTF-8",
    ),
    "missing plan": (2, lambda d: (d / "plan.toml").unlink(), "there is no plan plan.toml"),
    "output exists": (2, lambda d: (d / "published").mkdir(), "already exists"),
}


@pytest.mark.parametrize(("code", "damage", "message"), CASES.values(), ids=CASES.keys())
def test_bad_input(tmp_path: Path, code: int, damage: Damage, message: str) -> None:
    trips(tmp_path)
    (tmp_path / "stops.csv").write_text(STOPS)
    (tmp_path / "plan.toml").write_text(opal_text(**{"trips/*": "trips.csv"}))
    damage(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = run("release", "plan.toml", "--no-ledger", "-o", "published", cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert not any(secret in done.stderr + done.stdout for secret in SECRETS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["release", "plan.toml", "--no-ledger"],
        ["release", "plan.toml", "--no-ledger", "-o", "plan.toml/published"],
        ["release", "plan.toml", "--no-ledger", "--no-ledger", "-o", "published", "--memory", "lots"],
        ["releas", "plan.toml"],
        ["check"],
        ["demo", "city", "--trips", "0"],
        ["demo", "."],
    ],
)
def test_wrong_use_exits_with_2(tmp_path: Path, arguments: list[str]) -> None:
    trips(tmp_path)
    (tmp_path / "stops.csv").write_text(STOPS)
    (tmp_path / "plan.toml").write_text(opal_text(**{"trips/*": "trips.csv"}))
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr


def as_nobody(command: list[str], cwd: Path, script: str = "") -> subprocess.CompletedProcess[str]:
    """Run with a root that has no power over files (or as whoever we are, if not root)."""
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    return subprocess.run([*drop, *command], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(("target", "code"), [("trips.csv", 3), ("stops.csv", 3), ("plan.toml", 2), (".", 2)])
def test_no_permission(tmp_path: Path, target: str, code: int) -> None:
    trips(tmp_path)
    (tmp_path / "stops.csv").write_text(STOPS)
    (tmp_path / "plan.toml").write_text(opal_text(**{"trips/*": "trips.csv"}))
    work = (
        Path(tempfile.gettempdir()) / f"tapveil-permission-{os.getpid()}-{time.time_ns()}"
    )  # pytest's own is root's alone
    shutil.copytree(tmp_path, work)
    try:
        for path in (work, *work.iterdir()):
            path.chmod(0o777 if path.is_dir() else 0o644)
        (work / target).chmod(0o555 if target == "." else 0o000)
        command = [sys.executable, "-m", "tapveil", "release", "plan.toml", "--no-ledger", "-o", "published"]
        if as_nobody([sys.executable, "-c", "import tapveil"], work).returncode:
            pytest.skip("this Python cannot be run by another user")
        done = as_nobody(command, work)
        assert done.returncode == code, done.stderr
        assert "no permission" in done.stderr
        assert not (work / "published").exists()
    finally:
        shutil.rmtree(work)


def test_a_full_disk_leaves_no_folder_and_is_finished_when_there_is_room(tmp_path: Path) -> None:
    """A real file system of 256 kB, in a mount namespace of its own, that is then made larger.

    It seems to have room when the release begins: somebody else fills it.
    """
    plan = make_city(tmp_path / "city", trips=400_000, file_format="parquet")
    start_ledger(Plan.read(plan))
    (tmp_path / "disk").mkdir()
    release = f"{sys.executable} -m tapveil release city/plan.toml -o disk/published"
    has_room = "from tapveil.veil import preconditions as p; p.MOST_DISK = 0; from tapveil.__main__ import main; main()"
    script = f"""
        mount -t tmpfs -o size=256k tmpfs disk && {{
            {sys.executable} -c "{has_room}" release city/plan.toml -o disk/published; echo "code $?"; ls disk
            mount -o remount,size=64m disk
            {release} --resume >/dev/null; echo "code $?"; ls -A disk
            {sys.executable} -m tapveil verify disk/published >/dev/null; echo "code $?"
            {sys.executable} -m tapveil ledger verify disk/published --ledger city/ledger.sqlite
        }}"""
    done = with_mounts(script, tmp_path)
    expected = [
        "code 4",
        "code 0",
        "published",
        "code 0",
        "city/ledger.sqlite is intact, and records the release of disk/published.",
    ]
    assert done.stdout.splitlines() == expected, done.stdout + done.stderr
    assert "the disk is full" in done.stderr
    assert "--resume" in done.stderr


def test_a_disk_without_room_is_noticed_before_anything_is_spent(tmp_path: Path) -> None:
    plan = make_city(tmp_path / "city", trips=2_000, file_format="parquet")
    start_ledger(Plan.read(plan))
    (tmp_path / "disk").mkdir()
    release = f"{sys.executable} -m tapveil release city/plan.toml -o disk/published"
    done = with_mounts(
        f'mount -t tmpfs -o size=256k tmpfs disk && {{ {release}; echo "code $?"; ls -A disk; }}', tmp_path
    )
    assert done.stdout.splitlines() == ["code 4"], done.stdout + done.stderr
    assert "0 MB are free" in done.stderr
    assert "Nothing was spent" in done.stderr
    with Ledger.open(tmp_path / "city" / "ledger.sqlite") as ledger:
        assert not any(isinstance(entry, Spend) for entry in ledger.entries)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("counter.count", "Nothing was charged and nothing was published"),
        ("crossing.draw", "run the same command with --resume"),
        ("Unfinished.discard", "is published, complete"),
    ],
)
def test_an_interrupted_release_says_how_far_it_had_come(tmp_path: Path, where: str, words: str) -> None:
    make_city(tmp_path / "city", trips=2_000, file_format="parquet")
    module, name = where.split(".")
    owner = "workspace.Unfinished" if module == "Unfinished" else f"release.{module}"
    script = f"""
import os, signal, sys
from tapveil.veil import release, workspace
setattr({owner}, "{name}", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT))
sys.argv = ["tapveil", "release", "city/plan.toml", "--no-ledger", "-o", "published"]
from tapveil.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert words in done.stderr


@pytest.fixture(scope="module")
def larger_city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("larger") / "city"
    make_city(folder, trips=1_000_000, file_format="csv")
    return folder


def wait_until_it_listens(pid: int) -> None:
    """Until Python itself is up and our handlers are set: before that there is no program to interrupt."""
    for _ in range(20_000):
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
        if caught and int(caught[1], 16) >> (signal.SIGHUP - 1) & 1:
            return
        time.sleep(0.01)
    raise AssertionError("the command never started to listen")


@pytest.mark.parametrize(
    ("seconds", "number"),
    [
        *((seconds, signal.SIGINT) for seconds in (0.0, 0.4, 1.6)),
        *((seconds, signal.SIGTERM) for seconds in (0.1, 0.7, 2.2)),
        *((seconds, signal.SIGHUP) for seconds in (0.2, 1.1, 3.0)),
    ],
)
def test_interrupted_at_any_time_nothing_is_left_or_it_can_be_finished(
    larger_city: Path, tmp_path: Path, seconds: float, number: int
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [
        sys.executable,
        "-m",
        "tapveil",
        "release",
        "--no-ledger",
        str(larger_city / "plan.toml"),
        "-o",
        str(tmp_path / "published"),
    ]
    process = subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(scratch)}, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    wait_until_it_listens(process.pid)
    time.sleep(seconds)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=300)
    assert "Traceback" not in stderr
    assert sorted(scratch.iterdir()) == []
    if (tmp_path / "published").exists():  # it was done before we were
        assert (tmp_path / "published" / "SHA256SUMS").exists()
        return
    assert process.returncode == 130, stderr
    assert "Interrupted." in stderr
    assert not re.search(r"\d{3}", stderr.replace("130", ""))
    left = {path.name for path in tmp_path.iterdir()} - {"scratch"}
    if left:  # noise was being drawn, and may have been: it can only be finished
        assert left == {".published.unfinished"}
        assert "--resume" in stderr
        assert subprocess.run([*command, "--resume"], capture_output=True).returncode == 0
        assert not (tmp_path / ".published.unfinished").exists()
