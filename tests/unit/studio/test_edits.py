"""Edits of a plan keep what they do not concern."""

from __future__ import annotations

import tomllib

import pytest

from tapveil.base.errors import PlanError, UsageError
from tapveil.studio.edits import edited, read_edits
from tests.support.example import PLAN

COMMENTED = PLAN.replace("epsilon = 1\n", "epsilon = 1     # decided on Monday\n") + "# the end\n"


def test_another_value_keeps_its_comment_and_all_else() -> None:
    new = edited(COMMENTED, [{"at": ["privacy", "epsilon"], "value": 0.5}])
    assert new == COMMENTED.replace("epsilon = 1 ", "epsilon = 0.5 ")


def test_the_same_value_changes_no_byte() -> None:
    edits = read_edits([{"at": ["privacy", "delta"], "value": 1e-6}, {"at": ["release", "name"], "value": "harbour"}])
    assert edited(COMMENTED, edits) == COMMENTED


def test_a_key_or_section_that_is_new_is_added_and_removed_again() -> None:
    new = edited(COMMENTED, [{"at": ["coarsen", "location"], "value": {"*": {"h3": 7}}}])
    assert tomllib.loads(new)["coarsen"] == {"time_minutes": 60, "location": {"*": {"h3": 7}}}
    gone = edited(new, [{"at": ["coarsen", "location"], "value": None}])
    assert tomllib.loads(gone) == tomllib.loads(COMMENTED)
    assert edited(COMMENTED, [{"at": ["gtfs", "path"], "value": None}]) == COMMENTED


def test_tables_are_named() -> None:
    more = edited(COMMENTED, [{"at": ["table", "od"], "value": {"columns": ["a", "b"], "weight": 2}}])
    assert tomllib.loads(more)["table"][-1] == {"name": "od", "columns": ["a", "b"], "weight": 2}
    weighed = edited(more, [{"at": ["table", "on_time", "weight"], "value": 3}])
    assert tomllib.loads(weighed)["table"][0]["weight"] == 3
    fewer = edited(weighed, [{"at": ["table", "on_time"], "value": None}])
    assert [each["name"] for each in tomllib.loads(fewer)["table"]] == ["on_location", "total", "od"]
    assert "# the end" in fewer


@pytest.mark.parametrize(
    "given", [{"value": 1}, [{"at": []}], [{"at": [1]}], [{"at": "privacy"}], ["x"], [{"at": ["a", None]}]]
)
def test_what_is_no_edit_is_refused(given: object) -> None:
    with pytest.raises(UsageError):
        read_edits(given)


def test_places_that_a_plan_has_not_are_refused() -> None:
    for at in (["table", "missing", "weight"], ["release", "name", "deeper"], ["table", "on_time", "level", "x"]):
        with pytest.raises(UsageError):
            edited(COMMENTED, [{"at": at, "value": 1}])


def test_a_text_that_is_no_toml_says_so() -> None:
    with pytest.raises(PlanError, match="not valid TOML"):
        edited("[a", [{"at": ["a", "b"], "value": 1}])
