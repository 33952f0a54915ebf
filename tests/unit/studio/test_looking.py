"""What a plan must say where numbers of its trips were shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tapveil.plan.model import Plan
from tapveil.studio.looking import Looking
from tests.support.example import PLAN

CHOICES: dict[str, Callable[[str], str]] = {
    "a table": lambda text: text + '\n[[table]]\nname = "both"\ncolumns = ["tap_on_time", "tap_on_location"]\n',
    "bins": lambda text: text.replace("time_minutes = 60", "time_minutes = 240"),
    "noise": lambda text: text.replace("epsilon = ", "epsilon = 1"),
}
OTHERS: dict[str, Callable[[str], str]] = {
    "a title": lambda text: text.replace('title = "', 'title = "Our '),
    "days": lambda text: text.replace("[source]\n", "[source]\nfirst_day = 2025-03-03\nlast_day = 2025-03-04\n"),
}


def changed(how: Callable[[str], str]) -> Plan:
    text = how(PLAN)
    assert text != PLAN
    return Plan.parse(text)


@pytest.fixture
def plan() -> Plan:
    return Plan.parse(PLAN)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_after_numbers_were_shown_must_be_stated(plan: Plan, choice: str) -> None:
    looking, other = Looking(), changed(CHOICES[choice])
    assert not looking.must_say("plan.toml", plan, other), "nothing was shown yet"
    looking.saw("plan.toml", plan, plan)
    assert looking.must_say("plan.toml", plan, other)
    assert looking.must_say("plan.toml", other, other), "also where the statement alone is removed"
    assert not looking.must_say("plan.toml", plan, plan), "the plan of before was chosen before"


@pytest.mark.parametrize("change", OTHERS)
def test_what_is_no_choice_need_not_be_stated(plan: Plan, change: str) -> None:
    looking = Looking()
    looking.saw("plan.toml", plan, plan)
    assert not looking.must_say("plan.toml", plan, changed(OTHERS[change]))


def test_a_plan_that_states_it_is_asked_no_more(plan: Plan) -> None:
    looking = Looking()
    looking.saw("plan.toml", plan, plan)
    stated = changed(lambda text: CHOICES["bins"](text).replace("[privacy]\n", "[privacy]\nlooked_at_trips = true\n"))
    denied = changed(lambda text: CHOICES["bins"](text).replace("[privacy]\n", "[privacy]\nlooked_at_trips = false\n"))
    assert not looking.must_say("plan.toml", plan, stated)
    assert looking.must_say("plan.toml", plan, denied)


def test_what_was_tried_before_it_was_written_is_no_choice_of_before(plan: Plan) -> None:
    looking, tried = Looking(), changed(CHOICES["bins"])
    looking.saw("plan.toml", tried, plan)
    assert looking.must_say("plan.toml", plan, tried)


def test_numbers_of_other_trips_say_nothing_of_these(plan: Plan) -> None:
    looking, others = Looking(), changed(lambda text: text.replace("trips.csv", "others.csv"))
    looking.saw("plan.toml", others, others)
    assert not looking.has_seen(plan)
    assert not looking.must_say("plan.toml", plan, changed(CHOICES["bins"]))


def test_another_plan_of_the_same_trips_must_say_it_where_it_changes(plan: Plan) -> None:
    looking, other = Looking(), changed(CHOICES["a table"])
    looking.saw("plan.toml", plan, plan)
    assert not looking.must_say("other.toml", other, other)
    assert looking.must_say("other.toml", other, plan)


def test_a_plan_that_was_chosen_by_looking_is_none_of_before_under_another_name(plan: Plan) -> None:
    looking = Looking()
    looking.saw("plan.toml", plan, plan)
    stated = changed(lambda text: CHOICES["bins"](text).replace("[privacy]\n", "[privacy]\nlooked_at_trips = true\n"))
    assert looking.must_say("other.toml", stated, changed(CHOICES["bins"]))


@pytest.mark.parametrize("path", ["./trips.csv", "*.csv", "link.csv", "sub/../trips.csv"])
def test_trips_are_the_same_under_another_name(tmp_path: Path, path: str) -> None:
    for name in ("trips.csv", "more.csv", "sub/others.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link.csv").symlink_to("trips.csv")

    def plan(text: str, path: str) -> Plan:
        return Plan.parse(text.replace("trips.csv", path), base=tmp_path)

    looking, chosen = Looking(), CHOICES["bins"](PLAN)
    looking.saw("plan.toml", plan(PLAN, "trips.csv"), plan(PLAN, "trips.csv"))
    renamed = plan(PLAN, path)
    assert looking.has_seen(renamed)
    assert not looking.must_say("plan.toml", renamed, renamed), "nothing was chosen"
    assert looking.must_say("plan.toml", plan(chosen, path), plan(chosen, path))
    assert not looking.has_seen(plan(PLAN, "sub/others.csv"))
