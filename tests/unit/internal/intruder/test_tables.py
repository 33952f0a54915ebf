"""What people of the test add to the tables, by the program's own counter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tapveil.demo.population import without
from tapveil.demo.residents import residents
from tapveil.internal.intruder.attacks import intrude
from tapveil.internal.intruder.result import METHODS
from tapveil.internal.intruder.tables import PAIRS, Counter, Counts, has_destinations
from tapveil.plan.model import Plan, preset_text
from tests.support.dossiers import WEEKLY

ALL = "all"


def counted(plan: Plan, folder: Path, *, bounded: bool, whole: bool = False) -> dict[str, Counts]:
    """Fifty people against all others; `whole` counts these fifty among the others as well."""
    here, usual = residents(plan, trips=4000)
    cards = here.regulars()[:50]
    theirs = here.take(np.isin(here.card, cards))
    base = here if whole else without(here, cards)
    return Counter(plan, folder, bounded).tables({ALL: theirs}, {ALL: np.searchsorted(cards, theirs.card)}, base, usual)


def test_with_what_people_add_the_others_make_the_whole_city(tmp_path: Path) -> None:
    plan = Plan.preset("opal")
    others, everybody = (counted(plan, tmp_path, bounded=False, whole=whole) for whole in (False, True))
    assert {*others} == {*plan.tables, PAIRS}
    for name, counts in others.items():
        total = counts.base.copy()
        for cells, by in counts.added[ALL].values():
            total[cells] += by
        again = [everybody[name].cells[key] for key in counts.cells]
        assert total.tolist() == everybody[name].base[again].tolist()


def test_a_card_adds_no_more_than_the_plan_counts(tmp_path: Path) -> None:
    plan = Plan.preset("station-hour")
    bounded, every = counted(plan, tmp_path, bounded=True), counted(plan, tmp_path, bounded=False)
    days = 28
    for name, counts in bounded.items():
        sums = {person: int(by.sum()) for person, (_, by) in counts.added[ALL].items()}
        assert max(sums.values()) <= 4 * days
        assert all(sums[person] <= by.sum() for person, (_, by) in every[name].added[ALL].items())
    assert sum(int(by.sum()) for _, by in bounded["total"].added[ALL].values()) < sum(
        int(by.sum()) for _, by in every["total"].added[ALL].values()
    )


PLANS = {
    "one mode": {
        'mode = "mode"\n': 'mode = { value = "bike" }\n',
        "[coarsen.location.bus] ": "[coarsen.location.bike] ",
    },
    "labels for days": {"[source]\n": '[source]\ndates = "labels"\n'},
    "a late start": {"[source]\n": '[source]\nday_starts = "04:00"\n'},
}


@pytest.mark.parametrize("name", PLANS)
def test_generated_trips_fit_the_plan(tmp_path: Path, name: str) -> None:
    text = preset_text("opal")
    for old, new in PLANS[name].items():
        assert old in text
        text = text.replace(old, new)
    found = counted(Plan.parse(text), tmp_path, bounded=True)
    assert all(len(counts.added[ALL]) == 50 for counts in found.values())


def test_generated_trips_fit_levels_and_wider_areas(tmp_path: Path) -> None:
    text = preset_text("od")
    text = text.replace("  # { name", "  { name")
    for key in ('[coarsen.wider.region."*"]', 'lookup = "regions.csv"', 'from = "place"', 'to = "region"'):
        text = text.replace(f"# {key}", key)
    plan = Plan.parse(text)
    assert "od-region" in plan.tables
    found = counted(plan, tmp_path, bounded=True)
    assert len(found["od-region"].cells) < len(found["od-day"].cells) <= len(found["od"].cells)


def test_generated_trips_have_the_listed_labels(tmp_path: Path) -> None:
    text = preset_text("journeys").replace('mode = "mode"\n', 'mode = "mode"\nfare = "fare_class"\n')
    fares = '[[table]]\nname = "fares"\ncolumns = ["tap_on_location", "fare"]\nweight = 1\n'
    plan = Plan.parse(f'{text}\n{fares}\n[world.lists]\nfare = ["adult", "child"]\n')
    found = counted(plan, tmp_path, bounded=True)["fares"]
    assert {label for cell in found.cells for label in cell} >= {"adult", "child"}


TAPS = """
[release]
name = "taps"
title = "Taps"
[source]
path = "taps.csv"
shape = "taps"
[source.columns]
card = "card"
mode = "mode"
date = "day"
tap = "kind"
tap_time = "time"
tap_location = "stop"
[source.taps]
on = ["on"]
off = ["off"]
[privacy]
unit = "card"
neighbours = "add-remove"
mechanism = "laplace"
epsilon = 4
delta = 1e-6
trips_per_card = 5
without_card = "refuse"
[[table]]
name = "places"
columns = ["tap_on_location", "tap_off_location"]
"""


def test_where_rows_are_taps_generated_trips_are_whole(tmp_path: Path) -> None:
    found = counted(Plan.parse(TAPS), tmp_path, bounded=True)["places"]
    assert max(int(by.sum()) for _, by in found.added[ALL].values()) == 5


def test_a_table_of_boardings_is_not_called_one_of_origins_and_destinations() -> None:
    weekly = Plan.parse(WEEKLY.format(number=1, first="2025-01-06", last="2025-01-12"))
    assert has_destinations(Plan.preset("opal"))
    assert not has_destinations(weekly)
    made = intrude(weekly, residents(weekly, trips=5000), people=40, trials=50)
    assert {each.method for each in made.results} == {*METHODS} - {"exact origin-destination table"}
