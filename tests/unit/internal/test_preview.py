"""Counts that are held: what they say of other plans is what counting anew would say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapveil.internal.outlook import outlook
from tapveil.internal.preview import Held
from tapveil.plan.model import Plan, Table
from tests.support.example import PLAN, prepare


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("held")
    prepare(folder)
    return folder


@pytest.fixture(scope="module")
def held(folder: Path) -> Held:
    text = PLAN.replace("time_minutes = 60", "time_minutes = 30")
    more = (Table(name="both", columns=("tap_on_time", "tap_on_location")),)
    return Held.count(Plan.parse(text, base=folder), more)


CHOICES = {
    "as it is": {},
    "another epsilon": {"epsilon = 1\n": "epsilon = 3\n"},
    "longer bins": {"time_minutes = 60": "time_minutes = 240"},
    "days together": {'title = "Harbour ferries"': 'title = "x"\npartition = ["mode"]'},
    "no parts": {'title = "Harbour ferries"': 'title = "x"\npartition = []', "time_minutes = 60": "time_minutes = 120"},
    "another table": {
        '[[table]]\nname = "total"': '[[table]]\nname = "x"\ncolumns = ["tap_on_time", '
        '"tap_on_location"]\n\n[[table]]\nname = "total"'
    },
    "other noise": {'"gaussian"': '"laplace"'},
}


@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_is_answered_as_if_it_were_counted(choice: str, folder: Path, held: Held) -> None:
    text = PLAN
    for old, new in CHOICES[choice].items():
        assert old in text
        text = text.replace(old, new)
    plan = Plan.parse(text, base=folder)
    assert held.knows(plan)
    for expected in outlook(plan).tables:
        noise = plan.guarantee.mechanisms[expected.name]
        found = held.table(plan, expected.name, noise)
        assert (found.cells, found.trips) == (expected.cells, expected.trips)
        assert found.expected_cells == pytest.approx(expected.expected_cells)
        assert found.expected_trips == pytest.approx(expected.expected_trips)
        assert found.advice == expected.advice
        assert 0 <= found.within <= 1
        for column in plan.columns.of(plan.tables[expected.name]):
            bars = held.bars(plan, expected.name, noise, column)
            assert sum(bar.trips for bar in bars) == expected.trips
            assert sum(bar.trips * bar.share for bar in bars) == pytest.approx(expected.expected_trips)


def test_longer_bins_have_their_own_labels(folder: Path, held: Held) -> None:
    plan = Plan.parse(PLAN.replace("time_minutes = 60", "time_minutes = 240"), base=folder)
    bars = held.bars(plan, "on_time", plan.guarantee.mechanisms["on_time"], "tap_on_time")
    assert [bar.label for bar in bars] == ["04:00", "08:00", "12:00", "16:00"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("time_minutes = 60", "time_minutes = 20"),
        ('tap_on_location = "wharf"', 'tap_on_location = "mode"'),
        ('path = "trips.csv"', 'path = "trips.csv"\nfirst_day = 2025-03-03\nlast_day = 2025-03-03'),
        ('columns = ["tap_on_time"]', 'columns = ["tap_on_time"]\nlevel = { time_minutes = 120 }'),
    ],
)
def test_what_the_counts_do_not_tell_must_be_counted(old: str, new: str, folder: Path, held: Held) -> None:
    assert not held.knows(Plan.parse(PLAN.replace(old, new), base=folder))


def test_counts_that_are_held_print_nothing(held: Held) -> None:
    assert repr(held) == "Held(secret)"
    plan = held.plan
    assert "4000" not in repr(held.table(plan, "total", plan.guarantee.mechanisms["total"]))
