"""The page for riders: the figures of the manifest, in every language, for any title; and it asks nobody."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import tapveil
from tapveil.base.vocabulary import RIDER
from tapveil.plan.model import Plan
from tapveil.privacy.meaning import Meaning
from tapveil.published.folder import Folder
from tapveil.published.manifest import Manifest, TotalClaim
from tapveil.published.rider.page import RIDER_VERSION, languages, rider_page
from tapveil.verification.folder import verify_folder
from tests.conftest import write_csv
from tests.support.tampering import resum

CARDS = """
[release]
name = "riders"
title = "Boardings by quay"
partition = ["date"]
[source]
path = "trips.csv"
first_day = 2025-03-03
last_day = 2025-03-09
[source.columns]
card = "card"
date = "date"
tap_on_location = "stop"
[privacy]
unit = "card"
trips_per_card = 3
without_card = "refuse"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 1
delta = 1e-6
[[table]]
name = "stops"
columns = ["tap_on_location"]
"""
GOLDEN = Path(__file__).parents[3] / "golden"
LANGUAGES = list(languages(RIDER_VERSION))


@cache
def manifest() -> Manifest:
    return Folder(GOLDEN / "3e" / "calendars").manifest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of cards, for a week."""
    work = tmp_path_factory.mktemp("rider")
    rows = [(f"card-{n % 300}", f"2025-03-0{3 + n % 7}", f"Quay {n % 3}") for n in range(3000)]
    write_csv(work / "trips.csv", rows, ("card", "date", "stop"))
    tapveil.release(Plan.parse(CARDS, base=work), work / "published", in_ledger=False)
    return work / "published"


def keys(table: dict[str, object], path: str = "") -> set[str]:
    return {
        each
        for key, value in table.items()
        for each in (keys(value, f"{path}{key}.") if isinstance(value, dict) else {f"{path}{key}"})
    }


def test_there_are_english_french_and_german_and_each_says_the_same_things() -> None:
    texts = languages(RIDER_VERSION)
    assert LANGUAGES == ["en", "fr", "de"]
    for language in texts.values():
        assert keys(language) == keys(texts["en"])
        assert len(language["not"]) == len(texts["en"]["not"])
        for key, value in language.items():
            if isinstance(value, str):
                slots = re.findall(r"\{\w+\}", value)
                assert sorted(slots) == sorted(re.findall(r"\{\w+\}", texts["en"][key])), key


FROZEN = {
    1: "2502a26186d3c3585cdc862d0359ce0b713537ab91cba18bd456d9cf5b8683a8",
    2: "9ef529eb6250285633045fa50573caead91024005e143cec84a1654c369f2768",
}


@pytest.mark.parametrize("version", FROZEN)
def test_a_version_is_frozen(version: int) -> None:
    """A folder outlives the program: another text, style or script is another version."""
    source = Path(tapveil.__file__).parent / "published" / "rider" / str(version)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(source.iterdir()))).hexdigest()
    assert digest == FROZEN[version]


def test_rounded_figures_are_not_called_a_limit() -> None:
    """98.2 of 100 is shown as 98: "at most 98" would promise more than was proved. Version 1 said so."""
    for language in languages(RIDER_VERSION).values():
        assert not re.search(r"at most|au plus|höchstens", language["frequencies"] + language["if_so"])


def test_the_figures_are_those_of_the_manifest() -> None:
    page = rider_page(manifest(), RIDER_VERSION)
    data = json.loads(page.partition('<script id="facts" type="application/json">')[2].partition("</script>")[0])
    stated = [(row.trips_per_week, row.releases, row.verdict) for row in manifest().people or ()]
    assert [(row["trips"], row["releases"], row["verdict"]) for row in data["people"]] == stated
    assert data["unit"]["verdict"] in ("strong", "moderate", "weak")
    assert f"{data['unit']['right']} of 100" in unescape(page)


def test_given_exact_totals_the_figures_are_those_of_trips_exchanged_for_others() -> None:
    total = TotalClaim(trips=5, of={}, first_day=None, last_day=None, source="A report", calibrated=False)
    page = rider_page(manifest().model_copy(update={"totals": (total,)}), RIDER_VERSION)
    data = json.loads(page.partition('<script id="facts" type="application/json">')[2].partition("</script>")[0])
    loss = {each.neighbours: each.exact.loss for each in manifest().guarantees}["replace"]
    assert (data["unit"]["wrong"], data["unit"]["right"]) == Meaning(loss.epsilon, loss.delta).of_100
    assert data["given"] is True
    assert languages(RIDER_VERSION)["en"]["given"] in unescape(page)


def test_no_title_can_end_the_script_or_fill_a_slot() -> None:
    title = '</script><script>window.hacked = 1</script> {{script}} {wrong} "\\'
    page = rider_page(manifest().model_copy(update={"title": title}), RIDER_VERSION)
    assert page.count("<script") == 2
    data = json.loads(page.partition('<script id="facts" type="application/json">')[2].partition("</script>")[0])
    assert data["title"] == title


def test_verify_makes_it_again_and_earlier_folders_have_none(folder: Path, tmp_path: Path) -> None:
    assert verify_folder(folder).findings == []
    assert not (GOLDEN / "3e" / "calendars" / RIDER).exists()
    copy = shutil.copytree(folder, tmp_path / "copy")
    page = copy / RIDER
    page.write_text(page.read_text(encoding="utf-8").replace("suspicious", "trusting"), encoding="utf-8")
    resum(copy)
    assert {each.code for each in verify_folder(copy).findings} == {"rider-differs"}
    page.unlink()
    resum(copy)
    assert {each.code for each in verify_folder(copy).findings} == {"file-missing"}


# --- in a browser -----------------------------------------------------------------------------------------------------


def look(browser: Browser, folder: Path, locale: str, **options: Any) -> tuple[Page, list[str]]:
    context = browser.new_context(locale=locale, viewport={"width": 390, "height": 800}, **options)
    page, complaints = context.new_page(), list[str]()
    page.on("request", lambda request: complaints.append(request.url) if RIDER not in request.url else None)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((folder / RIDER).as_uri())
    return page, complaints


@pytest.mark.parametrize(("locale", "language"), [("en-GB", "en"), ("fr-CA", "fr"), ("de-CH", "de"), ("ja-JP", "en")])
def test_it_speaks_the_readers_language_and_is_accessible(
    locale: str, language: str, folder: Path, browser: Browser
) -> None:
    page, complaints = look(browser, folder, locale)
    said = languages(RIDER_VERSION)[language]
    assert page.inner_text("h1") == said["heading"]
    assert page.get_attribute("html", "lang") == language
    page.context.close()
    assert complaints == []
    open_page, _ = look(browser, folder, locale, bypass_csp=True)
    violations = Axe().run(open_page).response["violations"]
    assert violations == [], [(each["id"], each["nodes"][0]["html"][:120]) for each in violations]
    assert open_page.evaluate("document.documentElement.scrollWidth") <= 390
    open_page.context.close()


def test_the_slider_shows_the_figures_for_at_least_as_many_trips(folder: Path, browser: Browser) -> None:
    page, complaints = look(browser, folder, "en-GB")
    people = Folder(folder).manifest.people or ()
    for trips, stated in ((1, 2), (2, 2), (3, 5), (10, 10), (11, 20), (20, 20)):
        page.fill("#trips", str(trips))
        assert page.inner_text("#shown") == str(trips)
        assert f"up to {stated} trips" in page.inner_text("#up-to")
        shown = page.inner_text("#results")
        for row in (each for each in people if each.trips_per_week == stated):
            assert languages(RIDER_VERSION)["en"]["verdict"][row.verdict] in shown
            assert row.verdict == "none" or f"{row.believed[1]} of 100" in shown  # type: ignore[index]
    page.select_option("#languages", "de")
    assert page.inner_text("h1") == languages(RIDER_VERSION)["de"]["heading"]
    assert complaints == []
    page.context.close()


def test_without_scripts_it_still_says_the_promise_of_one_unit(folder: Path, browser: Browser) -> None:
    page, _ = look(browser, folder, "en-GB", java_script_enabled=False)
    assert "of 100 such publications" in page.inner_text("main")
    assert page.is_hidden("#trips")
    page.context.close()


def test_the_page_of_charts_and_the_readme_link_to_it(folder: Path, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto((folder / "explorer.html").as_uri())
    page.wait_for_selector("#files a")
    assert page.locator(f'#files a[href="{RIDER}"]').count() == 1
    context.close()
    assert f"`{RIDER}`" in (folder / "README.md").read_text(encoding="utf-8")
