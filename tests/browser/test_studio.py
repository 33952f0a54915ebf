"""The studio in a real browser, with its real server: from an export to a verified folder without touching a file."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import tapveil
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tapveil.plan.model import Plan
from tests.browser.studio import STEPS, Keys, Mouse, Opened, drawn, go
from tests.support.commands import command
from tests.support.corpus import CHINESE, CORPUS, write
from tests.support.exports import bike_month
from tests.support.officer import Office, new_key
from tests.support.studio import PATIENCE

SHARED = Path(__file__).parents[3] / "shared" / "data"
BIKES = SHARED / "bikeshare" / "JC-201510-citibike-tripdata.csv"
NAMMA = SHARED / "namma" / "stationpair-hourly.parquet"
AXE = {"resultTypes": ["violations"], "iframes": False}
BEYOND = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
CUT = """() => [...document.querySelectorAll('#content svg.plot text')].filter((text) => {
  const box = text.getBBox(), whole = text.ownerSVGElement.viewBox.baseVal;
  return box.x < -1 || box.x + box.width > whole.width + 1;
}).map((text) => text.textContent)"""
SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 1000)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(browser: Browser, project: Path) -> Iterator[Opened]:
    """A studio for an empty folder, and its page; whatever a test does, the page asks nobody else for anything."""
    with Opened.of(browser, project) as found:
        yield found


def taps(folder: Path) -> Path:
    """An export of taps in Chinese."""
    return CORPUS["Chinese, gzip"].make(folder)


def understood(page: Page) -> str:
    """What is said of files that were chosen."""
    page.wait_for_selector("#understood")
    drawn(page, "data")
    return page.inner_text("#understood")


def answer_all(hand: Mouse) -> None:
    """Take what is proposed until nothing is asked any more, and write the plan."""
    page = hand.page
    while page.locator("#take-proposed").count():
        hand.press("take-proposed")
        page.wait_for_function("() => !studio.busy")
    hand.press("next")
    drawn(page, "publish")


def from_export_to_plan(page: Page, export: Path) -> None:
    """Choose a file, answer, and write the plan."""
    hand = Mouse(page)
    hand.give(export)
    understood(page)
    answer_all(hand)


def from_plan_to_folder(hand: Mouse, keys: Path | None = None) -> None:
    """Declare the budget, check, publish and verify; with keys, an officer approves it and the agency signs it."""
    page = hand.page
    hand.go("budget")
    if keys:
        hand.write("budget-approval", str(keys / "officer.pub"))
    hand.press("ledger-start")
    page.wait_for_selector("#accounts")
    drawn(page, "budget")
    hand.go("check")
    hand.press("check-run")
    page.wait_for_selector("#found")
    drawn(page, "check")
    if keys:
        hand.write("approve-key", str(keys / "officer"))
        hand.write("approve-by", "A. Officer")
        hand.press("approve-save")
        page.wait_for_selector("#approval .remark.good")
        drawn(page, "check")
    hand.go("release")
    if keys:
        hand.write("sign", str(keys / "agency"))
    hand.press("publish")
    page.wait_for_selector("#folder-published .remark.good")


def verified(project: Path) -> bool:
    return not tapveil.verify(project / "published").findings


# --- the whole way ----------------------------------------------------------------------------------------------------


def from_bikes_to_a_signed_release(hand: Mouse, export: Path, project: Path, keys: Path) -> None:
    """The whole way of a bike-share month, with an officer and a key; then anybody checks both."""
    page = hand.page
    for name in ("officer", "agency"):
        new_key(keys, name)
    hand.give(export)
    understood(page)
    answer_all(hand)
    hand.choose("bins", "120")
    drawn(page, "publish")
    hand.press("remove-off_time_location")
    drawn(page, "publish")
    from_plan_to_folder(hand, keys)
    plan = Plan.read(project / "plan.toml")
    assert plan.coarsen.time_minutes == 120
    assert "off_time_location" not in plan.tables
    assert not plan.privacy.looked_at_trips, "no number of the trips was on the screen when it was decided"
    assert "signed" in page.inner_text("#folder-published .note")
    assert page.frame_locator("#shown-published iframe").locator("h1").inner_text() == plan.release.title
    (keys / "signers").write_text(f"agency {(keys / 'agency.pub').read_text()}", encoding="utf-8")
    signed = command(project, ["verify", "published", "--signers", str(keys / "signers")])
    assert (signed.code, signed.err) == (0, "")
    assert "signed by agency" in signed.out
    approved = command(project, ["ledger", "verify", "published", "--approval", str(keys / "officer.pub")])
    assert approved.code == 0, approved.err
    with Ledger.open(plan.ledger_path) as book:
        (spend,) = [entry for entry in book.entries if isinstance(entry, Spend)]
    assert spend.approval
    hand.go("check")
    assert "no second release of them has room" in page.inner_text("#run"), "as the ledger is now"
    hand.go("release")
    assert "no second release of them has room" in page.inner_text("#ready")
    hand.go("budget")
    assert re.search(r"1 release so far: 2015-10-01 to 2015-10-31, epsilon [12][.\d]*\.", label(page, "#line svg"))


def label(page: Page, wanted: str) -> str:
    return page.locator(wanted).first.get_attribute("aria-label") or ""


def test_a_bike_share_export_becomes_a_signed_release_that_an_officer_approved(
    opened: Opened, project: Path, tmp_path: Path
) -> None:
    from_bikes_to_a_signed_release(Mouse(opened.page), bike_month(tmp_path), project, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not BIKES.exists(), reason=f"needs {BIKES}")
def test_a_real_bike_share_month_becomes_a_signed_release_by_the_keyboard_alone(
    opened: Opened, project: Path, tmp_path: Path
) -> None:
    from_bikes_to_a_signed_release(Keys(opened.page), BIKES, project, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not NAMMA.exists(), reason=f"needs {NAMMA}")
def test_exact_counts_of_twelve_million_trips_become_a_verified_folder(opened: Opened, project: Path) -> None:
    shutil.copy(NAMMA, project)
    hand = Mouse(opened.page)
    hand.page.reload()
    hand.page.locator("#trips-0").check()
    assert "A row is a number of trips" in understood(hand.page)
    answer_all(hand)
    from_plan_to_folder(hand)
    assert verified(project)


def test_taps_in_chinese_become_a_verified_folder_by_the_keyboard_alone(
    opened: Opened, project: Path, tmp_path: Path
) -> None:
    export, hand = taps(tmp_path), Keys(opened.page)
    page = hand.page
    hand.give(export)
    assert "On is 进站; off is 出站." in understood(page)
    answer_all(hand)
    hand.go("check")
    hand.press("check-run")
    page.wait_for_selector("#found")
    drawn(page, "check")
    assert "Most likely nothing at all would be published" in page.inner_text("#found")
    assert "“Time of start × place of start” would publish" in page.inner_text("#found"), "not by names of columns"
    hand.go("publish")
    for few in ("on_time_location", "off_time_location", "off_time", "off_location", "total"):
        hand.press(f"remove-{few}")
        drawn(page, "publish")
    hand.reach("split-date")
    page.keyboard.press("Space")
    drawn(page, "publish")
    hand.go("promise")
    hand.reach("epsilon")
    before = Plan.read(project / "plan.toml").privacy.epsilon
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => !studio.busy")
    after = Plan.read(project / "plan.toml").privacy.epsilon
    assert before is not None
    assert after is not None
    assert after > before
    assert page.evaluate("() => document.activeElement.id") == "epsilon", "the slider keeps the focus"
    from_plan_to_folder(hand)
    drawn(page, "release")
    assert verified(project)
    cells = tapveil.open(project / "published").table("on_location").to_arrow()
    places = set(cells.column("tap_on_location").to_pylist())
    assert places <= set(CHINESE)
    assert len(places) > len(CHINESE) / 2, "of two weeks together there are enough trips for a place"


# --- what is shown ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Opened, Path, str]]:
    """A studio with a plan for taps, and the plan as it was written."""
    folder = tmp_path_factory.mktemp("shared") / "project"
    folder.mkdir()
    with Opened.of(browser, folder) as found:
        from_export_to_plan(found.page, taps(tmp_path_factory.mktemp("export")))
        yield found, folder / "plan.toml", (folder / "plan.toml").read_text(encoding="utf-8")


@pytest.fixture
def planned(shared: tuple[Opened, Path, str]) -> tuple[Page, Path]:
    """The page of that studio, loaded again with the plan as it was written; and the plan."""
    found, path, text = shared
    path.write_text(text, encoding="utf-8")
    found.page.evaluate("() => { location.hash = 'publish'; }")
    drawn(found.page, "publish")
    found.reload()
    drawn(found.page, "publish")
    return found.page, path


def test_numbers_of_trips_are_marked_and_the_plan_says_that_they_were_seen(planned: tuple[Page, Path]) -> None:
    page, path = planned
    assert page.locator("#content .secret").count() == 0, "nothing comes from trips before somebody asks for it"
    page.get_by_label("What would be published of your trips").check()
    page.wait_for_function("() => !studio.counting && !studio.busy")
    tables = len(Plan.read(path).tables)
    assert page.locator("#content .secret .confidential").count() == tables
    assert page.locator("#content .secret").first.inner_text().startswith("CONFIDENTIAL")
    page.get_by_label("4 hours", exact=True).check()
    drawn(page, "publish")
    assert Plan.read(path).privacy.looked_at_trips is True


def test_the_drawer_has_the_plan_as_it_is_on_the_disk(planned: tuple[Page, Path]) -> None:
    page, path = planned
    page.keyboard.press("Alt+p")
    page.locator("#plan-text").click()
    page.get_by_label("3 hours", exact=True).check()
    drawn(page, "publish")
    shown = page.locator(".toml .row").evaluate_all("(rows) => rows.map((row) => row.lastChild.textContent)")
    assert "\n".join(shown).replace("\n \n", "\n\n").split() == path.read_text("utf-8").split()
    assert "time_minutes = 180" in page.locator(".toml .fresh").first.inner_text()
    page.keyboard.press("Alt+p")
    assert page.locator("#drawer").is_hidden()


def test_a_plan_that_somebody_edits_meanwhile_is_shown_as_it_is_now(planned: tuple[Page, Path]) -> None:
    page, path = planned
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("time_minutes = 60", "time_minutes = 240"), encoding="utf-8")
    page.wait_for_function("() => document.querySelector('#content input[name=bins]:checked')?.value === '240'")
    path.write_text(text.replace("time_minutes = 60", "time_minutes = 7"), encoding="utf-8")
    page.wait_for_selector("#content .remark.stop")
    path.write_text(text, encoding="utf-8")
    page.wait_for_function("() => document.querySelector('#content input[name=bins]:checked')?.value === '60'")


def test_what_was_typed_stays_until_it_is_saved(planned: tuple[Page, Path]) -> None:
    page, _ = planned
    page.locator("#about-title").fill("<b>地铁</b>")
    go(page, "promise")
    page.go_back()
    drawn(page, "publish")
    assert page.locator("#about-title").input_value() == "<b>地铁</b>"
    page.locator("#about-save").click()
    drawn(page, "publish")
    page.go_forward()
    drawn(page, "promise")
    go(page, "budget")
    page.locator("#budget-epsilon").fill("much")
    page.locator("#ledger-start").click()
    page.wait_for_selector("#trouble:not([hidden])")
    assert page.locator("#budget-epsilon").input_value() == "much", "a mistake takes nothing away"


@pytest.mark.slow
def test_the_accuracy_is_said_and_the_epsilon_is_had(planned: tuple[Page, Path]) -> None:
    page, path = planned
    start, table, *_ = path.read_text(encoding="utf-8").split("[[table]]")
    path.write_text(f"{start}[[table]]{table}", encoding="utf-8")  # noise of one table is found sooner
    page.wait_for_function("() => studio.project.model?.tables.length === 1")
    go(page, "promise")
    page.locator("#need-least").fill("2000")
    page.locator("#need-ask").click()
    page.wait_for_selector("#need-use", timeout=10 * PATIENCE * 1000)
    said = page.inner_text("#need-answer b").removeprefix("ε = ")
    page.locator("#need-use").click()
    drawn(page, "promise")
    assert float(Plan.read(path).privacy.epsilon or 0) == float(said)


def test_a_second_person_signs_what_they_see_and_changes_are_shown(browser: Browser, project: Path) -> None:
    Office(project)
    with Opened.of(browser, project) as found:
        page = found.page
        go(page, "check")
        assert "begun by" in page.inner_text("#approval"), "the terms are shown before they are signed"
        page.locator("#approve-key").fill(str(project / "officer"))
        page.locator("#approve-by").fill("A. Officer")
        page.locator("#approve-save").click()
        page.wait_for_selector("#approval .remark.good")
        assert "Approved by A. Officer" in page.inner_text("#approval")
        go(page, "promise")
        page.locator("#epsilon").press("ArrowLeft")
        page.wait_for_function("() => !studio.busy")
        go(page, "check")
        assert page.locator("#approval .remark.good").count() == 0, "another plan is not approved"
        assert "epsilon" in page.inner_text("#approval .changes")


def test_a_list_of_places_that_is_dropped_with_the_trips_is_not_among_them(opened: Opened, tmp_path: Path) -> None:
    places, files = (("A", 1, 2), ("B", 3, 4)), [tmp_path / "stops.csv"]
    write(files[0], "name,latitude,longitude", places)
    for day in ("03", "04"):
        trips = [(f"c{n}", f"2025-03-{day}", f"{7 + n % 9:02}:15", "AB"[n % 2], "B") for n in range(90)]
        files.append(tmp_path / f"trips-2025-03-{day}.csv")
        write(files[-1], "card_id,trip_date,tap_on_time,tap_on_location,tap_off_location", trips)
    page = opened.page
    page.locator("#upload").set_input_files(files)
    assert "It covers 2025-03-03 to 2025-03-04, by the names of the files." in understood(page)
    assert page.locator("[id='beside-data/stops.csv']").is_checked()
    assert "Is stops.csv a public list" in page.inner_text("#content")


def test_names_in_files_are_text_and_never_markup(opened: Opened, tmp_path: Path) -> None:
    path, names = (
        tmp_path / "trips.csv",
        ("<img src=x onerror=window.hacked=1>", "</script><script>window.hacked=1", "Ä & B"),
    )
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["card_id", "mode", "trip_date", "tap_on_time", "tap_on_location", "<b>note</b>"])
        for row in range(600):
            out.writerow(
                [f"c{row % 90}", "bus", "2025-03-03", f"{7 + row % 9:02d}:{row % 60:02d}", names[row % 3], "x"]
            )
    page = opened.page
    page.locator("#upload").set_input_files(path)
    page.wait_for_selector("#understood")
    drawn(page, "data")
    assert names[0][:9] in page.locator("#columns").inner_text(), "as much of it as there is room for"
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("#content img").count() == 0


def test_a_studio_that_has_ended_says_so_and_what_to_do(opened: Opened) -> None:
    opened.studio.end()
    opened.page.wait_for_selector("#trouble:not([hidden])")
    assert "start it again: tapveil studio" in opened.page.inner_text("#trouble")
    opened.complaints.clear()  # the browser says that nobody answers


# --- for everybody ----------------------------------------------------------------------------------------------------


def looks(page: Page, size: str, scheme: Literal["light", "dark"]) -> None:
    """Every step in one size and one scheme: nothing that axe knows is wrong, and nothing is beyond the window."""
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no colour on its way to another
    page.wait_for_function("(scheme) => document.documentElement.dataset.theme === scheme", arg=scheme)
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
    page.wait_for_function("() => !studio.busy")  # it was drawn again in this width
    for step in STEPS:
        go(page, step)
        wrong = Axe().run(page, options=AXE).response["violations"]
        assert [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in wrong] == [], step
        assert page.evaluate(BEYOND) <= 0, f"{step} is wider than the window"
        assert page.evaluate(CUT) == [], f"words of a picture in {step} are cut off"


@pytest.mark.parametrize(("size", "scheme"), [("desk", "light"), ("phone", "dark")])
def test_every_step_is_for_everybody(planned: tuple[Page, Path], size: str, scheme: Literal["light", "dark"]) -> None:
    looks(planned[0], size, scheme)


@pytest.mark.slow
def test_every_step_is_for_everybody_in_every_size_after_a_release(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    from_export_to_plan(page, taps(tmp_path))
    page.get_by_label("What would be published of your trips").check()
    page.wait_for_function("() => !studio.counting && !studio.busy")
    from_plan_to_folder(Mouse(page))
    page.keyboard.press("Alt+p")
    for size in SIZES:
        looks(page, size, "light")
        looks(page, size, "dark")
