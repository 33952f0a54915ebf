"""Bins of time and where they lie; a table at several levels, and what each gets of the budget."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tapveil.base.time_bins import TimeBins
from tapveil.base.types import Hours
from tapveil.base.vocabulary import MISSING
from tapveil.plan.model import Level, Plan
from tests.conftest import opal_text

BINS = st.sampled_from([15, 30, 60, 120, 240, 360, 720, 1440])
FIRST = st.sampled_from([0, 180, 240])
CLOCKS = st.sets(st.integers(0, 95).map(lambda quarter: 15 * quarter), min_size=1, max_size=6).map(sorted)


@given(minutes=BINS, first=FIRST)
def test_a_day_has_each_minute_in_one_bin(minutes: int, first: int) -> None:
    times = TimeBins.every(minutes, first)
    assert len(times.labels) == 1 + 1440 // minutes
    assert list(times.labels) == sorted(times.labels), "in the order of the alphabet"
    for minute in range(first, first + 1440):
        assert times.starts[times.code(minute) - 1] == minute - (minute - first) % minutes


def test_a_day_that_starts_at_four_goes_on_after_midnight() -> None:
    day = TimeBins.parts((60, 360, 1140), first=240)
    assert day.labels == ("-1", "04:00", "06:00", "19:00", "25:00")
    assert day.ends == {"04:00": "06:00", "06:00": "19:00", "19:00": "25:00", "25:00": "28:00"}
    assert TimeBins.parts((240, 1140), first=240).labels == ("-1", "04:00", "19:00"), "the start of the day once"
    assert TimeBins.parts((1140,)).labels == ("-1", "00:00", "19:00"), "a first part runs from the start of the day"
    assert TimeBins.every(720, 240).labels == ("-1", "04:00", "16:00")


@given(minutes=BINS, clocks=CLOCKS, first=FIRST)
def test_parts_are_made_of_bins_or_cut_through_them(minutes: int, clocks: list[int], first: int) -> None:
    fine, coarse = TimeBins.every(minutes, first), TimeBins.parts(clocks, first)
    in_both = {coarse.labels[coarse.code(minute)] for minute in fine.starts}
    cut = any(len({coarse.code(minute) for minute in range(start, start + minutes)}) > 1 for start in fine.starts)
    assert fine.nests_in(coarse) == (not cut)
    within = fine.within(coarse)
    assert within.keys() == set(fine.labels)
    assert within.pop(MISSING) == MISSING
    assert set(within.values()) == in_both <= set(coarse.labels)
    if not cut:  # every coarser bin is made of finer ones, and ends where the last of them does
        assert in_both == set(coarse.labels) - {MISSING}
        last = {area: label for label, area in within.items()}
        assert {area: fine.ends[label] for area, label in last.items()} == coarse.ends


def test_as_many_bins_as_there_are_minutes_are_placed_at_once() -> None:
    """A stranger's folder may ask for it, for every pair of 64 tables."""
    within = TimeBins.every(1).within(TimeBins.every(1))
    assert len(within) == 1441
    assert all(fine == coarse for fine, coarse in within.items())


# --- levels of a table ------------------------------------------------------------------------------------------------


LEVELS = """levels = [
  {{ {first} }},
  {{ name = "hours", time_minutes = 60{weight} }},
  {{ name = "peaks", times = ["06:00", "10:00"] }},
]
"""


def with_levels(first: str = "", weight: str = "", **changes: str) -> Plan:
    table = 'columns = ["tap_on_time"]\n'
    return Plan.parse(opal_text(**{table: table + LEVELS.format(first=first, weight=weight)}, **changes))


def test_the_budget_of_a_table_is_shared_over_its_levels() -> None:
    plan = with_levels(weight=", weight = 2")
    first, hours, peaks, other = plan.table[:4]
    assert [each.name for each in plan.table[:4]] == ["on_time", "on_time-hours", "on_time-peaks", "on_location"]
    assert [each.epsilon for each in (first, hours, peaks)] == [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
    assert sum(each.delta or 0 for each in (first, hours, peaks)) == other.delta == Fraction(1, 8_000_000)
    assert plan.guarantee.loss == Plan.preset("opal").guarantee.loss, "levels cost no more than the table did"
    assert (first.level, hours.level) == (Level(), Level(time_minutes=60))
    assert peaks.level == Level(times=("06:00", "10:00"))  # type: ignore[arg-type]
    assert peaks.weight is None


def test_a_weight_is_shared_over_levels_too() -> None:
    total = {
        'mechanism = "sbh"': 'mechanism = "gaussian"\nepsilon = 8\ndelta = "3/4000000"',
        'delta = "1/8000000"\n': "",
        "epsilon = 1\n": "",
        "epsilon = 2\n": "weight = 2\n",
    }
    plan = with_levels("weight = 2", **total)
    assert [each.weight for each in plan.table[:3]] == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    assert plan.guarantee.loss.epsilon == 8
    once = Plan.parse(opal_text(**total))
    # all that a table had is what its levels have: the others get what they got
    assert plan.guarantee.mechanisms["on_location"].scale == pytest.approx(
        once.guarantee.mechanisms["on_location"].scale, rel=0.05
    )
    assert plan.guarantee.mechanisms["on_time"].scale < plan.guarantee.mechanisms["on_time-hours"].scale


def test_two_ways_to_cut_a_day_are_two_levels() -> None:
    """Both are parts of the day, and not the same parts."""
    table = 'columns = ["tap_on_time"]\n'
    levels = 'levels = [{ times = ["06:00", "12:00"] }, { name = "halves", times = ["12:00"] }]\n'
    plan = Plan.parse(opal_text(**{table: table + levels}))
    assert [each.level.in_words for each in plan.table[:2]] == ["parts of the day"] * 2


def test_the_digest_knows_levels() -> None:
    assert with_levels().digest != with_levels(weight=", weight = 2").digest != Plan.preset("opal").digest


@pytest.mark.parametrize("name", ["opal", "od"])
def test_a_preset_is_a_plan(name: str) -> None:
    plan = Plan.preset(name)
    assert plan.guarantee.loss.epsilon == 8
    assert plan.guarantee.loss.delta == Fraction(3, 4_000_000)


def test_the_plan_for_origins_and_destinations_has_two_levels_and_what_they_are_held_against() -> None:
    plan = Plan.preset("od")
    assert [table.name for table in plan.table][:4] == ["od", "od-day", "origin", "destination"]
    assert plan.tables["od"].level.times == (360, 600, 900, 1140)
    assert plan.tables["od-day"].level == Level(time_minutes=1440)
    assert [table.weight for table in plan.table[:4]] == [2, 2, 1, 1]


@pytest.mark.parametrize(
    ("hours", "listed"),
    [
        ("05:00-24:00", ["04:00", "08:00", "12:00", "16:00", "20:00"]),
        ("08:00-12:00", ["08:00"]),
        ("11:59-12:01", ["08:00", "12:00"]),
        ("22:00-01:30", ["00:00", "20:00"]),
        ("22:00-25:30", ["00:00", "20:00"]),
        ("00:00-24:00", ["00:00", "04:00", "08:00", "12:00", "16:00", "20:00"]),
    ],
)
@pytest.mark.parametrize("first", [0, 240])
def test_the_bins_of_some_hours_are_those_that_lie_in_them_at_least_in_part(
    hours: str, listed: list[str], first: int
) -> None:
    span = TypeAdapter(Hours).validate_python(hours)
    found = TimeBins.every(240, first).within_hours(span)
    assert sorted(found[1:]) == sorted("24:00" if first and label == "00:00" else label for label in listed)
    assert TimeBins.every(240, first).within_hours(None) == TimeBins.every(240, first).labels


@pytest.mark.parametrize("written", ["05:00", "5:00-24:00", "05:00-05:00x", "24:00-25:00", "05:00-29:01", "a-b", 5])
def test_hours_that_are_no_part_of_a_day_are_refused(written: object) -> None:
    with pytest.raises(ValidationError, match="must be"):
        TypeAdapter(Hours).validate_python(written)
