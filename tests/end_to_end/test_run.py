"""`tapveil run`, killed at any step and started again: one release, one spend and one push for each period."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tests.support.commands import command
from tests.support.portals.ckan import FakeCkan
from tests.support.portals.server import TOKEN
from tests.support.runs import agency

ROOT = Path(__file__).parents[2]


def played(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "tests.support.runs", str(folder), *map(str, arguments)]
    return subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)


def test_six_months_each_killed_once_are_six_releases_six_spends_six_pushes(tmp_path: Path) -> None:
    done = played(tmp_path, 10_000, 7)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "steps" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4))
def test_killed_at_every_step(tmp_path: Path, first: int) -> None:
    done = played(tmp_path, 4, first)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def ckan(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCkan]:
    monkeypatch.setenv("TAPVEIL_CKAN_TOKEN", TOKEN)
    with FakeCkan().running() as running:
        assert isinstance(running, FakeCkan)
        yield running


def test_what_is_due_is_said_by_the_exit_code(tmp_path: Path, ckan: FakeCkan, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = agency(tmp_path / "agency", ckan.address)
    said = command(folder, ["run", "routine.toml", "--today", "2025-01-31"])
    assert (said.code, said.out) == (0, ""), "January is not over"
    march = folder / "trips" / "2025-01.csv"
    march.rename(folder / "late.csv")
    said = command(folder, ["run", "routine.toml", "--today", "2025-02-01"])
    assert (said.code, said.out) == (75, "2025-01: waiting for its trips\n")
    (folder / "late.csv").rename(march)
    monkeypatch.delenv("TAPVEIL_CKAN_TOKEN")
    said = command(folder, ["run", "routine.toml", "--today", "2025-02-01"])
    assert said.code == 2
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        assert not [each for each in ledger.entries if isinstance(each, Spend)], "before anything is spent"
    said = command(folder, ["run", "routine.toml", "--today", "2025-02-01", "--no-push"])
    assert (said.code, said.out) == (0, "2025-01: published published/2025-01\n")
    assert not ckan.log
    monkeypatch.setenv("TAPVEIL_CKAN_TOKEN", TOKEN)
    ckan.faults = dict.fromkeys(range(1), "error before")
    said = command(folder, ["run", "routine.toml", "--today", "2025-02-01"])
    assert said.code == 0, said.err
    assert "2025-01: delivered http://127.0.0.1:" in said.out
    assert len(ckan.packages) == 1
