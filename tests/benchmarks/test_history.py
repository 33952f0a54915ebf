"""The history of what releases cost: what was recorded is kept whole, and its page shows it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.history import Case, Run
from benchmarks.release import Cost

import tapveil
from benchmarks import history


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, and the tapveil that is measured in it."""
    package = tmp_path / "src" / "tapveil"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "all")
    monkeypatch.setattr(tapveil, "__file__", str(package / "__init__.py"))
    return package


RESULTS = {
    "5000000 parquet": {
        "scan": Cost(0.5, 9.0, 50.0),
        "group-bys": Cost(4.0, 9.0, 50.0),
        "tapveil": Cost(2.0, 1.0, 300.4),
    },
    "10000 csv": {"parsing": Cost(0.5, 9.0, 50.0), "tapveil": Cost(1.0, 1.0, 130.0)},
}


def test_a_run_holds_ratios_of_cpu_time_and_the_memory_of_a_release(source: Path) -> None:
    run = history.run_of(RESULTS, repeat=3, load=1.26)
    assert run.cases == (
        Case(5_000_000, "parquet", {"scan": 4.0, "group-bys": 0.5}, 300),
        Case(10_000, "csv", {"parsing": 2.0}, 130),
    )
    assert (run.repeat, run.load, run.version) == (3, 1.3, tapveil.__version__)
    assert len(run.commit) >= 7


def test_what_is_in_no_commit_is_not_recorded(source: Path) -> None:
    (source / "__init__.py").write_text("changed = True\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="in no commit"):
        history.run_of(RESULTS, repeat=3, load=0.0)


def a_run(commit: str, committed: str, ratio: float, trips: int = 5_000_000) -> Run:
    case = Case(trips, "parquet", {"scan": ratio}, 300.0)
    return Run("2026-01-01", commit, committed, "9.9", 2, 0.5, "3.11", 3, (case,))


def test_runs_are_kept_whole_and_read_in_the_order_of_their_commits(tmp_path: Path) -> None:
    later = a_run("bbbbbbb", "2026-01-02T03:00:00+00:00", 4.0)
    earlier = a_run("aaaaaaa", "2026-01-02T03:00:00+11:00", 8.0)
    for run in (later, earlier):
        history.record(run, tmp_path / "history.jsonl")
    assert history.read(tmp_path / "history.jsonl") == [earlier, later]
    assert len((tmp_path / "history.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_a_size_that_was_not_measured_is_left_open() -> None:
    runs = [a_run("aaaaaaa", "2026-01-02T03:00:00Z", 8.0), a_run("bbbbbbb", "2026-01-03T03:00:00Z", 4.0, 10_000)]
    rows = [line for line in history.page(runs).splitlines() if line.startswith("| ")][2:]
    assert [row.split(" | ")[5:7] for row in rows] == [["8.00 ×", "–"], ["–", "4.00 ×"]]
    words = [each.text for each in ElementTree.fromstring(history.svg(runs)).iter() if each.text]  # noqa: S314  our own
    assert {"aaaaaaa", "bbbbbbb", "10 thousand trips, Parquet, against a bare scan"} <= set(words)


def test_the_page_and_its_picture_are_those_of_the_history(tmp_path: Path) -> None:
    runs = history.read()
    assert runs
    history.write(runs, tmp_path)
    for name in ("benchmarks-history.md", "benchmarks-history.svg"):
        fresh, kept = (folder / name for folder in (tmp_path, history.DOCS))
        assert fresh.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8"), "run python -m benchmarks.history"
