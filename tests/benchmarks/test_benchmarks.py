"""The benchmark against others: its page says what was measured, and its figures are those of all processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.compare.contenders import BASE, CONTENDERS, OURS, plan_text
from benchmarks.compare.page import markdown, ratios, write_pages
from benchmarks.compare.picture import svg
from benchmarks.compare.results import Machine, Results, Run
from benchmarks.peers.job import DELTA_TOTAL, EPSILON_TOTAL, TABLES

from tapveil.plan.model import Plan

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OTHER, SKIPPED = "OpenDP", "Tumult"


@pytest.fixture
def results() -> Results:
    """Three runs of two contenders at two sizes, and two contenders that did not finish."""
    runs = [
        Run(name, trips, cpu_seconds=seconds * trips / 1000, wall_seconds=1.0, peak_mb=100.0, cells=7)
        for trips in (1000, 100_000)
        for name, several in {BASE: (1, 2, 9), OURS: (5, 3, 4)}.items()
        for seconds in several
    ]
    runs += [Run(OTHER, 1000, 20.0, 20.0, 300.0, 7), Run(OTHER, 100_000, reason="it needs more than 600 s")]
    runs += [Run(SKIPPED, 1000, reason="it needs java, which is not installed")]
    machine = Machine("A processor", 2, 23.4, "Linux")
    return Results("2025-01-01", machine, 600, 16, {OURS: {"python": "3.11"}}, {1000: 9, 100_000: 99}, runs)


def rows(table: str) -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "|" in line]
    return {first.strip("*"): rest for first, *rest in cells}


def test_a_ratio_is_of_medians_at_the_same_size(results: Results) -> None:
    assert results.ratio(OURS, 1000) == 2
    assert results.ratio(OTHER, 1000) == 10
    assert results.ratio(BASE, 100_000) == 1
    assert rows(ratios(results)) == {
        "trips": ["1,000", "100,000"],
        "---": ["--:", "--:"],
        BASE: ["1.00", "1.00"],
        OURS: ["2.00", "2.00"],
        OTHER: ["10.0", "–"],
        SKIPPED: ["–", "–"],
    }


def test_who_did_not_finish_is_shown_with_the_reason(results: Results) -> None:
    page = markdown(results)
    assert f"- {OTHER}, 100,000 trips: it needs more than 600 s." in page
    assert f"- {SKIPPED}, 1,000 trips: it needs java, which is not installed." in page
    assert f"- {OURS}" not in page


def test_the_page_says_what_was_promised_and_where_it_was_measured(results: Results) -> None:
    page = markdown(results)
    for contender in CONTENDERS:
        assert (contender.guarantee in page and contender.remark in page) or contender.name not in results.contenders
    assert "A processor, 2 cores, 23.4 GB" in page
    assert "CPU time per trip, µs" in page
    assert rows(page.split("per trip")[1].split("**Wall")[0])[OURS] == ["4,000", "4,000"]


def test_the_picture_has_a_line_with_a_name_for_all_who_finished_somewhere(results: Results) -> None:
    words = [each.text for each in ElementTree.fromstring(svg(results)).iter() if each.text]  # noqa: S314  our own
    assert {BASE, OURS, OTHER} <= set(words)
    assert SKIPPED not in words


def test_a_picture_can_be_drawn_of_nothing(results: Results) -> None:
    results.runs = [run for run in results.runs if run.reason]
    ElementTree.fromstring(svg(results))  # noqa: S314  our own


def test_results_are_kept_whole(results: Results, tmp_path: Path) -> None:
    results.write(tmp_path / "benchmarks.json")
    assert Results.read(tmp_path / "benchmarks.json") == results


def test_the_published_page_and_picture_are_those_of_the_published_results(tmp_path: Path) -> None:
    write_pages(Results.read(DOCS / "benchmarks.json"), tmp_path)
    for name in ("benchmarks.md", "pictures/benchmarks.svg"):
        assert (tmp_path / name).read_text() == (DOCS / name).read_text(), "run python -m benchmarks.compare --page"


@pytest.mark.parametrize("card", [False, True])
def test_our_plan_spends_what_the_peers_spend(card: bool) -> None:
    plan = Plan.parse(plan_text(Path("trips.parquet"), card))
    assert list(plan.tables) == list(TABLES)
    assert (plan.privacy.unit, plan.privacy.neighbours) == ("trip", "add-remove")
    assert float(plan.guarantee.loss.epsilon) == pytest.approx(EPSILON_TOTAL)
    assert float(plan.guarantee.loss.delta) == pytest.approx(DELTA_TOTAL)
    assert DELTA_TOTAL < 1e-6


@pytest.mark.parametrize("contender", [each for each in CONTENDERS if each.module], ids=lambda each: each.name)
def test_every_contender_has_its_program_and_pinned_requirements(contender: object) -> None:
    module, environment = getattr(contender, "module", ""), getattr(contender, "environment", "")
    peers = ROOT / "benchmarks" / "peers"
    assert (peers / f"{module}.py").exists()
    if environment:
        pins = (peers / "requirements" / f"{environment}.txt").read_text().splitlines()
        assert pins
        assert all("==" in pin for pin in pins)


BUSY = "import time\nwhile time.process_time() < 0.4: pass"
BUSY_AND_STILL_THERE = f"{BUSY}\ntime.sleep(1)"  # so that somebody sees it
LEAVES_A_BUSY_CHILD = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BUSY!r}])"
MEASURE = """
import sys
from pathlib import Path
from benchmarks.compare.process import Limits, StoppedError, run
try:
    limits = Limits(float(sys.argv[3]), megabytes=4096)
    print(run([sys.executable, "-c", sys.argv[1]], Path(), Path(sys.argv[2]), limits).cpu_seconds)
except StoppedError as stopped:
    print(stopped)
"""


def measured(program: str, log: Path, seconds: float = 60) -> str:
    """In a process of its own: it waits for all its children."""
    command = [sys.executable, "-c", MEASURE, program, str(log), str(seconds)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def test_the_time_of_a_child_that_is_left_alone_is_counted(tmp_path: Path) -> None:
    assert float(measured(LEAVES_A_BUSY_CHILD, tmp_path / "log")) >= 0.4


def test_the_time_of_a_child_whose_parent_ignores_its_end_is_counted(tmp_path: Path) -> None:
    program = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" + (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BUSY_AND_STILL_THERE!r}]).wait()"
    )
    assert float(measured(program, tmp_path / "log")) >= 0.2  # what was last seen of it


def test_a_run_beyond_its_limit_is_stopped_with_the_reason(tmp_path: Path) -> None:
    assert measured("import time; time.sleep(60)", tmp_path / "log", 1) == "it needs more than 1 s"


def test_a_program_that_fails_is_told_from_one_that_finished(tmp_path: Path) -> None:
    assert measured("raise SystemExit(3)", tmp_path / "log") == "it ended with code 3"
