"""A routine to start from: any plan with gaps, and a file that waits until the trips are said to be complete."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from tapveil.base.span import Every, Span
from tapveil.internal.routine_draft import first_period, with_gaps
from tapveil.plan.model import PRESETS, Plan, preset_text
from tests.end_to_end.test_shapes import write_trips
from tests.support.commands import command


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_a_plan_with_gaps_that_keeps_its_comments(preset: str) -> None:
    text = preset_text(preset)
    written = with_gaps(text, first_period(Plan.parse(text), "month", date(2025, 3, 17)))
    for span in (Span("month", date(2024, 2, 1)), Span("quarter", date(2024, 10, 1))):
        plan = Plan.parse(span.filled(written, "plan"))
        assert (plan.source.first_day, plan.source.last_day) == (span.first_day, span.last_day)
        assert plan.release.title == f"{Plan.preset(preset).release.title}, {span.name}"
        assert plan.table == Plan.preset(preset).table
    assert re.findall("#.*", written) == re.findall("#.*", text)


@pytest.mark.parametrize(
    ("every", "first"),
    [("day", "2025-03-19"), ("week", "2025-03-17"), ("month", "2025-03-01"), ("quarter", "2025-01-01")],
)
def test_the_first_period_is_that_of_the_first_day(every: Every, first: str) -> None:
    days = {"first_day": date(2025, 3, 19), "last_day": date(2025, 3, 20)}
    tides = Plan.preset("tides")
    plan = tides.model_copy(update={"source": tides.source.model_copy(update=days)})
    assert first_period(plan, every, date(2030, 1, 1)).first_day == date.fromisoformat(first)
    assert first_period(Plan.preset("opal"), "year", date(2030, 5, 1)).first_day == date(2030, 1, 1)


def test_files_that_are_named_by_the_period_are_those_of_each() -> None:
    text = preset_text("lta").replace('path = "trips/*"', 'path = "trips/2016-08*.csv"')
    assert 'path = "trips/{period}*.csv"' in with_gaps(text, Span("month", date(2016, 8, 1)))


def test_what_is_written_runs_and_waits_until_the_trips_are_complete(tmp_path: Path) -> None:
    write_trips(tmp_path)
    (tmp_path / "own.toml").write_text(preset_text("station-hour"), encoding="utf-8")
    said = command(tmp_path, ["plan", "own.toml", "--every", "month", "-o", "month.toml"])
    assert said.code == 0, said.err
    run = ["run", "routine.toml", "--today", "2016-09-01"]
    said = command(tmp_path, run)
    assert (said.code, said.out) == (75, "2016-08: waiting for its trips\n")
    (tmp_path / "2016-08.complete").touch()
    budget = ["--epsilon", "20", "--delta", "1e-5"]
    assert command(tmp_path, ["ledger", "start", "month-2016-08.toml", *budget]).code == 0
    said = command(tmp_path, run)
    assert (said.code, said.out) == (0, "2016-08: published published/2016-08\n"), said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--every", "fortnight", "-o", "p.toml"], "--every must be one of day, week, month, quarter, year"),
        (["--every", "month"], "name the plan with -o"),
        (["--every", "month", "-o", "there/p.toml"], "there/routine.toml already exists"),
    ],
)
def test_nothing_is_written_where_something_is_wrong(arguments: list[str], words: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/routine.toml").touch()
    said = command(tmp_path, ["plan", "lta", *arguments])
    assert said.code == 2
    assert words in said.err
    assert [path.name for path in tmp_path.rglob("*.toml")] == ["routine.toml"]


def test_a_plan_of_ones_own_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/own.toml").write_text(preset_text("lta"), encoding="utf-8")
    said = command(tmp_path, ["plan", "there/own.toml", "--every", "month", "-o", "month.toml"])
    assert (said.code, "next to there/own.toml" in said.err) == (2, True)
