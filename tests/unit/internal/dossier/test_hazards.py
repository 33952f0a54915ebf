"""Each hazard that is met names something that is there: a test, a page, a file of the folder."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tapveil.internal.dossier.case import Case
from tapveil.internal.dossier.hazards import MET, NOTE, YOURS, Hazard, hazards, states
from tapveil.internal.dossier.questions import catalogue
from tapveil.published.folder import Folder
from tapveil.published.manifest import Manifest

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests" / "golden"


def is_there(named: str) -> bool:
    """A test by its file and name, a page, or keys of a file that every folder has."""
    if named.startswith("tests/"):
        file, _, name = named.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        return name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    if named.startswith("docs/"):
        return (ROOT / named).is_file()
    file, _, keys = named.partition(": ")
    of_manifest = all(key in Manifest.model_fields for key in keys.split(", ")) if keys else True
    return (GOLDEN / "3" / "paper" / file).is_file() and of_manifest


@pytest.mark.parametrize("hazard", hazards(), ids=lambda each: each.number)
def test_what_a_hazard_names_is_there(hazard: Hazard) -> None:
    assert hazard.shown_by
    assert all(map(is_there, hazard.shown_by)), hazard.shown_by
    assert set(hazard.questions) <= set(catalogue())


def test_what_is_not_there_is_noticed() -> None:
    assert not is_there("tests/end_to_end/test_audit.py::test_that_nobody_wrote")
    assert not is_there("docs/no-such-page.md")
    assert not is_there("privacy.json: no_such_key")


def test_all_nineteen_are_there_in_their_order() -> None:
    assert [each.number for each in hazards()] == [str(number) for number in range(1, 20)]


@pytest.mark.parametrize("name", ["3/paper", "3/cards", "3/dictionary", "3e/world-of-noise"])
def test_what_is_met_or_noted_in_any_case_names_a_test(name: str) -> None:
    folder = Folder(GOLDEN / name)
    state = states(Case(folder.manifest, folder=folder))
    assert set(state) == {each.number for each in hazards()}
    for hazard in hazards():
        if state[hazard.number] in (MET, NOTE):
            assert any(each.startswith("tests/") for each in hazard.shown_by), hazard.title
        else:
            assert state[hazard.number] == YOURS
            assert hazard.questions, hazard.title


def test_states_follow_from_the_case() -> None:
    paper, cards, world = (
        states(Case(Folder(GOLDEN / name).manifest)) for name in ("3/paper", "3/cards", "3e/world-of-noise")
    )
    assert paper["1"] == YOURS, "a weak promise is not met"
    assert paper["4"] == YOURS, "a trip is not a person"
    assert cards["4"] == NOTE
    assert world["11"] == MET
    assert paper["11"] == NOTE
    assert paper["8"] == YOURS, "without an audit"
