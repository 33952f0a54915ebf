"""Four dossiers, each whole: every figure is computed again, and each is a document that can be printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tapveil.internal.dossier.case import Case
from tapveil.internal.dossier.document import Dossier
from tapveil.internal.dossier.hazards import MET, NOTE, YOURS
from tests.support.dossiers import CASES, WEEKS, bike_month
from tests.unit.internal.dossier.test_document import A4_WIDE, PARTS
from tests.unit.internal.dossier.test_figures import KNOWN, check_every_figure, loose, number, shown

A4_HIGH = 1009
"""Pixels between the margins of a printed page."""
STATES = {
    "paper": {"1": YOURS, "4": YOURS, "11": NOTE, "13": YOURS},
    "card-day": {"1": YOURS, "2": MET, "4": YOURS, "11": NOTE, "12": YOURS},
    "year-of-weeks": {"1": NOTE, "2": NOTE, "4": YOURS, "13": NOTE},
    "bike-month": {"1": YOURS, "2": NOTE, "12": MET, "13": YOURS},
}


@pytest.fixture(scope="module", params=STATES)
def four(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Dossier]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "bike-month":
        return request.param, Dossier(bike_month(folder, request.getfixturevalue("shared_data")))
    return request.param, Dossier(CASES[request.param](folder))


def test_every_figure_is_what_the_accountant_says_and_there_is_no_other_number(four: tuple[str, Dossier]) -> None:
    _, dossier = four
    opened = {r"questions\.open": lambda _, text: number(text) == len(dossier.asked)}
    assert len(check_every_figure(dossier, KNOWN | opened)) > 8
    assert not list(loose(shown(dossier)))


def test_what_is_met_follows_from_the_case(four: tuple[str, Dossier]) -> None:
    from tapveil.internal.dossier.hazards import states

    name, dossier = four
    found = states(dossier.case)
    assert {key: found[key] for key in STATES[name]} == STATES[name]


def test_a_year_of_weeks_names_every_release_and_the_one_that_did_not_appear(tmp_path: Path) -> None:
    case: Case = CASES["year-of-weeks"](tmp_path)
    text = Dossier(case).markdown
    assert len(re.findall(r"release week-\d+", text)) == WEEKS
    assert f"Releases among them: {WEEKS}; of these, charged and never published: 1." in text
    assert text.count("not finished |") == 1


def test_the_word_is_said_in_each_notion_and_a_card_that_counts_several_times_is_said_to(
    four: tuple[str, Dossier],
) -> None:
    """A promise that is strong against one thing is not said to be strong against everything."""
    name, dossier = four
    word = {
        "paper": "**weak**",
        "card-day": "**moderate**",
        "year-of-weeks": "**moderate** (which it was) and **strong** (whether it was there)",
        "bike-month": "**weak** (which it was) and **moderate** (whether it was there)",
    }[name]
    assert f"| Promise in a word | {word}, for " in dossier.markdown
    assert f"As a word, the promise is {word}." in dossier.markdown
    assert ("; in table total, up to 4 trips of each in one cell." in dossier.markdown) == (name == "card-day")


def test_what_a_figure_is_of_is_said_next_to_it(four: tuple[str, Dossier]) -> None:
    """ρ in its notion; how ε was computed where trips share a cell (claim 19); no ε where none can be stated."""
    name, dossier = four
    text = dossier.markdown
    notion = {
        "card-day": "all trips of any one card on any one day added or removed",
        "year-of-weeks": "all trips of any one card on any one day added or removed",
        "bike-month": "any one trip replaced by any other",
    }
    assert ("As specified, it keeps ρ" in text) == (name in notion)
    assert name not in notion or f"of zero-concentrated differential privacy for {notion[name]}" in text
    assert ("computed from continuous Gaussian noise that is slightly narrower" in text) == (name == "card-day")
    assert ("**no meaningful promise**: no ε can be stated" in text) == (name in ("paper", "bike-month"))
    assert "ε none" not in text
    assert ("Part 5 has the ε of all releases together." in text) == (name == "year-of-weeks")


def test_it_prints_on_a4_with_the_promise_on_one_page(
    four: tuple[str, Dossier], browser: Browser, tmp_path: Path
) -> None:
    name, dossier = four
    (tmp_path / "dossier.html").write_text(dossier.html, encoding="utf-8")
    context = browser.new_context(viewport={"width": A4_WIDE, "height": 1000}, bypass_csp=True)
    page = context.new_page()
    page.goto((tmp_path / "dossier.html").as_uri())
    assert page.locator("h1").all_inner_texts()[1:] == [f"{place}. {part}" for place, part in enumerate(PARTS, 1)]
    violations = Axe().run(page).response["violations"]
    assert violations == [], [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in violations]
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= A4_WIDE
    high = page.evaluate("document.querySelector('#promise').parentNode.offsetHeight")
    assert high <= A4_HIGH, name
    context.close()
