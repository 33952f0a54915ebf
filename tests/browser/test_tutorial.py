"""The tutorial in the studio, followed in a browser on the city that it is about: what it names is there."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tapveil.demo.city import make_city
from tests.browser.studio import STEPS, Mouse, Opened, week_of_the_city
from tests.support.commands import command
from tests.support.officer import new_key

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial-studio.md"
_NAMED = re.compile(r"\*\*(.+?)\*\*|\*(.+?)\*", re.DOTALL)
"""What is clicked, and what is said."""


def sections() -> dict[str, list[str]]:
    """What the tutorial names in each step."""
    parts = re.split(r"^## (\d)\. .+$", TUTORIAL.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = {int(number): text for number, text in zip(parts[::2], parts[1::2], strict=True)}
    return {
        step: [one or other for one, other in _NAMED.findall(re.sub(r"!\[.*?\]", "", found[at]))]
        for at, step in enumerate(STEPS, 1)
    }


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("’", "'"))


@pytest.mark.slow
def test_what_the_tutorial_names_is_on_the_page_where_it_says(browser: Browser, tmp_path: Path) -> None:
    project = tmp_path / "my-project"
    seen: dict[str, str] = defaultdict(str)
    project.mkdir()
    new_key(project, "agency")
    make_city(tmp_path / "city")
    with Opened.of(browser, project) as opened:
        for step, _ in week_of_the_city(Mouse(opened.page), tmp_path / "city", Path("agency")):
            seen[step] += opened.page.inner_text("#step") + "\n"
    named = sections()
    assert all(len(names) >= 2 for names in named.values())
    assert {
        step: [name for name in names if plain(name) not in plain(seen[step])] for step, names in named.items()
    } == {step: [] for step in STEPS}
    (project / "signers").write_text(f"agency {(project / 'agency.pub').read_text()}", encoding="utf-8")
    assert command(project, ["verify", "published", "--signers", "signers"]).code == 0
