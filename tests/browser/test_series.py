"""The page over all weeks, in a browser: lines, weeks, kinds of day, a place's history, breaks and gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import tapveil
from tests.support.weeks import FIRST, trips, week_folder
from tests.unit.published.series.test_reading import WEEK

HOSTILE = '"><img src=x onerror="window.hacked = 1"></script>{{data}}'


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("pages")
    folders = []
    for week in (0, 1, 2, 4, 5):
        truth = {"Central": trips(3000, week), "Quay": trips(800, 10 + week), HOSTILE: [25] * 7}
        changes: dict[str, Any] = {"rows": "taps"} if week == 5 else {}
        name = f"w{week}"
        folders.append(week_folder(home / name, truth, FIRST + week * WEEK, week, title=HOSTILE, **changes))
    return tapveil.open(folders).write(home / "series") / "series.html"


def opened(browser: Browser, path: Path, complaints: list[str], **options: str) -> Page:
    page = browser.new_page(color_scheme=options.get("scheme", "light"))  # type: ignore[arg-type]
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    return page


def test_it_shows_days_weeks_kinds_of_day_and_places(path: Path, browser: Browser) -> None:
    complaints: list[str] = []
    page = opened(browser, path, complaints)
    assert page.locator("#span").inner_text() == "5 releases, 35 days, 2025-03-03 to 2025-04-13"
    assert page.locator("#drawing polyline").count() == 3, "the gap and the break divide the line"
    assert page.locator("#drawing line.break").count() == 1
    notes = page.locator("#breaks").inner_text()
    assert "Gap: no release has 2025-03-24 to 2025-03-30" in notes
    assert "Break from 2025-04-07 on, table on_location: rows: trips → taps" in notes
    assert page.locator("#numbers tbody tr").count() == 35
    page.select_option("#by", "week")
    assert page.locator("#numbers tbody tr").count() == 5
    page.select_option("#by", "kind")
    assert page.locator("#drawing polyline").count() >= 1
    assert "dotted: Sundays" in page.locator("#found").inner_text()
    page.select_option("#by", "day")
    page.select_option("#line", label="train, Quay")
    assert page.locator("#found").inner_text().startswith("train, Quay: 35 of 35 numbers published")
    quay = tapveil.open(str(path.parent.parent / "w*")).table("on_location").where(tap_on_location="Quay", mode="train")
    first = page.locator("#numbers tbody tr").first.locator("td").all_text_contents()
    row = quay.rows()[0]
    assert first == [row["date"], f"{row['count']:,}", f"{row['low']:,}", f"{row['high']:,}"]
    page.select_option("#line", label=f"train, {HOSTILE}")
    assert page.evaluate("window.hacked") is None
    assert complaints == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(scheme: str, path: Path, browser: Browser) -> None:
    page = opened(browser, path, [], scheme=scheme)
    page.evaluate("document.querySelector('details').open = true")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.screenshot(path=path.parent / f"{scheme}.png", full_page=True)
    page.close()
