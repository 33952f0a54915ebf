from __future__ import annotations

from tapveil import Plan
from tests.conftest import opal_text

CARDS = {
    'unit = "trip"': 'unit = "card"\nwithout_card = "refuse"\ntrips_per_card = 4',
    'mode = "mode"\n': 'mode = "mode"\ncard = "card_id"\n',
}


def test_columns_that_no_table_needs_are_not_read() -> None:
    text = opal_text(**{'mode = "mode"\n': 'mode = "mode"\ncard = "card_id"\nage = "age_group"\n'})
    plan = Plan.parse(text)
    assert "card_id" not in plan.columns.read.values()
    assert "age_group" not in plan.columns.read.values()


def test_the_card_is_read_where_it_is_the_unit_and_needed_wherever_it_is_named() -> None:
    named = Plan.parse(opal_text(**{'mode = "mode"\n': CARDS['mode = "mode"\n']})).columns
    assert ("card" in named.read, named.named["card"]) == (False, "card_id")
    read = Plan.parse(opal_text(**CARDS)).columns
    assert read.read["card"] == read.named["card"] == "card_id"


def test_a_table_is_about_the_ends_whose_columns_it_has() -> None:
    plan = Plan.parse(opal_text(**{'["tap_on_time", "tap_on_location"]': '["tap_on_time", "tap_off_location"]'}))
    ends = {table.name: plan.columns.ends(table) for table in plan.table}
    assert (ends["on_time"], ends["off_time"], ends["on_time_location"]) == ("on", "off", "both")
    assert not plan.columns.pairs_taps, "a row is a trip, and has both ends"
    assert plan.columns.sides == {}
