"""Who loses detail: every area, mode and hour is in one group, and no share is stated where tables do not add up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapveil.internal.dossier.detail import NOTHING, Breakdown, Detail
from tapveil.published.folder import Folder

GOLDEN = Path(__file__).parents[3] / "golden"


def broken_down(name: str) -> dict[str, Breakdown]:
    return {each.by: each for each in Detail(Folder(GOLDEN / name)).breakdowns}


@pytest.mark.parametrize("name", ["3/levels", "3/paper", "3e/calendars", "3e/world-of-noise"])
def test_every_cell_and_area_is_in_one_group(name: str) -> None:
    folder, found = Folder(GOLDEN / name), broken_down(name)
    for each in found.values():
        assert sum(group.cells for group in each.groups) == len(folder.table(each.table))
    assert sum(group.places for group in found["area"].groups) == len(Detail(folder).places)


def test_hours_and_modes_of_which_nothing_is_published_are_shown_too() -> None:
    found = broken_down("3/paper")
    assert [group.label for group in found["hour"].groups][:24] == [f"{hour:02}:00" for hour in range(24)]
    assert {group.label for group in found["mode"].groups} >= Folder(GOLDEN / "3/paper").modes
    assert found["area"].groups[0].label == NOTHING
    assert found["area"].groups[0].shown == 0


@pytest.mark.parametrize("name", ["3/cards", "3/dictionary", "3e/calendars", "3e/world-of-noise"])
def test_no_share_is_stated_where_sums_of_tables_differ_by_more_than_noise(name: str) -> None:
    """Cards count once in each cell, so those of a finer table count more often; a list may leave cells out."""
    assert all(group.share is None for each in broken_down(name).values() for group in each.groups)


def test_what_is_lost_is_lost_where_less_is_published() -> None:
    """In the generated city too, the quietest areas keep the least."""
    areas = [each for each in broken_down("3/levels")["area"].groups if each.share is not None]
    assert areas[0].share is not None
    assert areas[-1].share is not None
    assert areas[0].share <= areas[-1].share
