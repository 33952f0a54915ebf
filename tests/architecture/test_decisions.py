"""The pages of decisions: numbered, listed, with their reasons, and about files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tapveil"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
ROOMS = (ROOT, SOURCE, SOURCE / "published" / "describe")
"""From where a page may name a file."""


def test_decisions_are_numbered_and_listed() -> None:
    listed = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    for number, path in enumerate(DECISIONS, start=1):
        title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix(f"# {number}. ")
        assert path.name.startswith(f"{number:04d}-")
        assert f"| [{number}]({path.name}) | {title} |" in listed
    assert len(DECISIONS) == listed.count("](0")


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_its_reasons_and_names_files_that_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall("^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    for file in re.findall(r"`(\w+/[\w/.-]*)`", text):
        assert any((room / file).exists() for room in ROOMS), file
