"""Periods, gaps and what is due."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from tapveil.base.errors import FolderError, PlanError
from tapveil.base.span import Every, Span
from tapveil.internal.routine import Routine, Run, read_routine

ROUTINE = '[run]\nplan = "month.toml"\nevery = "month"\nfirst_day = 2025-01-01\n'


@pytest.mark.parametrize(
    ("every", "first", "last", "name"),
    [
        ("day", date(2024, 2, 28), date(2024, 2, 28), "2024-02-28"),
        ("week", date(2024, 12, 30), date(2025, 1, 5), "2025-W01"),
        ("month", date(2024, 2, 1), date(2024, 2, 29), "2024-02"),
        ("month", date(2024, 12, 1), date(2024, 12, 31), "2024-12"),
        ("quarter", date(2024, 10, 1), date(2024, 12, 31), "2024-Q4"),
        ("year", date(2024, 1, 1), date(2024, 12, 31), "2024"),
    ],
)
def test_a_period_has_its_days_and_its_name(every: Every, first: date, last: date, name: str) -> None:
    span = Span(every, first)
    assert (span.last_day, span.name, span.begins_there) == (last, name, True)
    assert span.next.first_day == last + timedelta(days=1)
    assert span.next.begins_there
    assert every == "day" or not Span(every, first + timedelta(days=1)).begins_there


def test_gaps_are_filled_and_inline_tables_are_left_alone() -> None:
    span = Span("month", date(2025, 3, 1))
    text = 'path = "{year}/{month_number}/*.csv"\nfirst_day = {first_day}\nlevels = [{}, { name = "h" }]'
    filled = 'path = "2025/03/*.csv"\nfirst_day = 2025-03-01\nlevels = [{}, { name = "h" }]'
    assert span.filled(text, "plan") == filled
    with pytest.raises(PlanError, match=r"month.toml: nothing stands for \{mont\}: did you mean `month`"):
        span.filled("{mont}", "month.toml")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("2025-01-01", "2025-01-02"), "no month begins on 2025-01-02"),
        (('"month"\n', '"fortnight"\n'), "every"),
        (("[run]\n", '[run]\nfolder = "published"\n'), "every period needs its own"),
        (("[run]\n", "[run]\ntoken = 1\n"), "token"),
    ],
)
def test_a_wrong_routine_says_where(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    (tmp_path / "routine.toml").write_text(ROUTINE.replace(*change), encoding="utf-8")
    with pytest.raises(PlanError, match=words):
        read_routine(tmp_path / "routine.toml")


def test_a_period_is_due_when_it_is_over_and_some_days_have_passed(tmp_path: Path) -> None:
    routine = Routine(plan="p.toml", every="month", first_day=date(2025, 1, 1), after=2)
    run = Run(tmp_path / "routine.toml", routine, lambda _: None)
    assert [span.name for span in run.due(date(2025, 2, 2))] == []
    assert [span.name for span in run.due(date(2025, 2, 3))] == ["2025-01"]
    assert [span.name for span in run.due(date(2025, 4, 30))] == ["2025-01", "2025-02", "2025-03"]


def test_a_plan_that_does_not_cover_the_period_is_refused(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "src/tapveil/plan/presets/opal.toml").read_text(encoding="utf-8")
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    routine = Routine(plan="p.toml", every="month", first_day=date(2025, 1, 1))
    run = Run(tmp_path / "routine.toml", routine, lambda _: None)
    with pytest.raises(PlanError, match="must cover 2025-01-01 to 2025-01-31"):
        run.bring(Span("month", date(2025, 1, 1)), print)


def test_a_folder_of_another_period_is_not_taken_for_that_of_this_one(tmp_path: Path) -> None:
    """December and January have different years; February would never have been released."""
    (tmp_path / "published").mkdir()
    (tmp_path / "published/2025").symlink_to(Path(__file__).parents[2] / "golden/3/gaussian")
    routine = Routine(plan="p.toml", every="month", first_day=date(2024, 12, 1), folder="published/{year}")
    run = Run(tmp_path / "routine.toml", routine, lambda _: None)
    with pytest.raises(FolderError, match="is of 2025-03-03 to 2025-03-04, and not of 2025-02"):
        run.bring(Span("month", date(2025, 2, 1)), print, newest=False)
