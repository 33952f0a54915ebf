"""The documentation follows the code: the reference is fresh, and every module has its place in "how it works"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel
from tools import models, reference

from tapveil.plan.model import Plan
from tapveil.published.manifest import Manifest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tapveil"
PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
PACKAGES = sorted({path.parent for path in SOURCE.rglob("*.py")} - {SOURCE})


@pytest.mark.parametrize("name", reference.ALL)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    written = (reference.PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert written == reference.ALL[name](), "run: make reference"


def test_no_section_of_a_plan_and_no_object_of_a_manifest_is_left_out() -> None:
    assert models.inside(Plan) == {model for *_, model in reference.PLAN}
    assert models.inside(Manifest) == {model for _, model in reference.MANIFEST}


def test_no_page_of_the_reference_is_left_behind() -> None:
    assert {path.stem for path in reference.PAGES.glob("*.md")} == set(reference.ALL)


def test_a_key_that_nobody_explained_is_found() -> None:
    class Part(BaseModel):
        known: int
        """What it is."""
        forgotten: int

    with pytest.raises(ValueError, match="forgotten has no docstring"):
        models.plan_table(Part)


def test_every_folder_of_the_source_is_named_in_how_it_works() -> None:
    named = {path.relative_to(SOURCE).as_posix() for path in PACKAGES}
    assert not {name for name in named if f"`{name}/`" not in PAGE}, "give them a place on docs/how-it-works.md"


def test_how_it_works_names_no_module_that_is_gone() -> None:
    known = {path.name for path in SOURCE.rglob("*.py")}
    known |= {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", PAGE)) - {"tests/unit/privacy/test_accountant.py"}
    assert len(named) > 10
    assert not named - known


def test_the_picture_of_the_house_names_files_that_are_there() -> None:
    picture = (ROOT / "docs" / "how-it-works.svg").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(\w+)(?:\.py|/)(?=[ ,:<])", picture))
    known = {path.stem for path in SOURCE.rglob("*.py")} | {path.name for path in PACKAGES}
    assert {"veil", "counting", "explorer"} <= named <= known
