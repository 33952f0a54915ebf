"""The page over all weeks, in a browser: lines, weeks, kinds of day, a place's years, two periods, breaks and gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize

import tapveil
from tapveil.published.series import page as page_of_series
from tapveil.verification.series import verify_series
from tests.browser.test_page import SIZES
from tests.support.weeks import FIRST, trips, week_folder
from tests.unit.published.series.test_reading import WEEK

HOSTILE = '"><img src=x onerror="window.hacked = 1"></script>{{data}}'
WEEKS = [week for week in range(105) if week != 30]
"""104 weekly folders, with a gap."""
BREAK = 53
"""The week from which on taps are counted instead of trips."""
SMALL = 25
"""Trips a day of a place that is published on some days alone."""


def monday(week: int) -> str:
    return (FIRST + week * WEEK).isoformat()


def sunday(week: int) -> str:
    return date.fromordinal((FIRST + (week + 1) * WEEK).toordinal() - 1).isoformat()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("pages")
    for week in WEEKS:
        truth = {"Central": trips(3000, week), "Quay": trips(800 + 90 * (week == 104), 10 + week), HOSTILE: [SMALL] * 7}
        changes: dict[str, Any] = {"rows": "taps"} if week >= BREAK else {}
        week_folder(home / f"w{week:03d}", truth, FIRST + week * WEEK, week, title=HOSTILE, **changes)
    return tapveil.open(str(home / "w*")).write(home / "series") / "series.html"


@pytest.fixture(scope="module")
def series(path: Path) -> tapveil.Series:
    opened: tapveil.Series = tapveil.open(str(path.parent.parent / "w*"))
    return opened


def opened(browser: Browser, path: Path, complaints: list[str], **options: Any) -> Page:
    page = browser.new_page(**options)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    return page


@pytest.fixture
def page(path: Path, browser: Browser) -> Iterator[Page]:
    """The page, which asks nobody for anything, complains of nothing, and runs no name."""
    complaints: list[str] = []
    page = opened(browser, path, complaints)
    yield page
    assert page.evaluate("window.hacked") is None
    assert complaints == []
    page.close()


def test_it_shows_days_weeks_kinds_of_day_and_years_of_places(page: Page, series: tapveil.Series) -> None:
    assert page.locator("#span").inner_text() == f"104 releases, 728 days, 2025-03-03 to {sunday(104)}"
    assert page.input_value("#by") == "week"
    for by, rows in (("day", 728), ("week", 104), ("kind", 78), ("year", 104)):
        page.select_option("#by", by)
        assert page.locator("#numbers tbody tr").count() == rows
        assert page.locator("#drawing polyline").count() >= 3, "the gap and the break divide the line"
        assert page.locator("#drawing line.break").count() == (0 if by == "year" else 1)
        assert f"before and after {monday(BREAK)} do not count the same things" in page.inner_text("#found")
    assert "Solid: 2027; dashed: 2026; dotted: 2025." in page.inner_text("#found")
    notes = page.locator("#breaks").inner_text()
    assert f"Gap: no release has {monday(30)} to {sunday(30)}" in notes
    assert f"Break from {monday(BREAK)} on, table on_location: rows: trips → taps" in notes
    page.select_option("#by", "day")
    page.select_option("#line", label="train, Quay")
    assert page.inner_text("#found").startswith("train, Quay: 728 of 728 numbers published.")
    quay = series.table("on_location").where(tap_on_location="Quay", mode="train")
    first = page.locator("#numbers tbody tr").first.locator("td").all_text_contents()
    row = quay.rows()[0]
    assert first == [row["date"], f"{row['count']:,}", f"{row['low']:,}", f"{row['high']:,}"]
    page.focus("#drawing")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#point") == f"{row['date']}: {row['count']:,} ({row['low']:,} to {row['high']:,})"
    page.select_option("#by", "week")
    mean = quay.between(monday(0), sunday(0)).mean(over="date").rows()[0]
    shown = page.evaluate("lines(drawnLine, 'week')[0].points[0]")
    assert (shown["count"], shown["low"], shown["high"]) == pytest.approx(
        (mean["mean"], mean["noise_low"], mean["noise_high"])
    )
    page.select_option("#line", label=f"train, {HOSTILE}")
    assert page.inner_text("#found").startswith(f"train, {HOSTILE}: ")


def shown_changes(page: Page, *, adjusted: bool = False) -> dict[str, dict[str, Any]]:
    """What the page computes for every place."""
    return dict(
        page.evaluate(
            """(miss) => series.lines.filter(({ kind }) => kind === "place").map((line) => {
              const { value, noise, days, real } = compared(line, periodsChosen(), miss), known = days ?? [NaN, NaN];
              const ends = { noise_low: noise[0], noise_high: noise[1], low: known[0], high: known[1] };
              return [line.names[1], { mean: value, ...ends, real }];
            })""",
            0.05 / 3 if adjusted else 0.05,
        )
    )


@pytest.mark.parametrize(("after", "before"), [(104, 103), (40, 39), (10, 3)])
def test_week_against_week_by_place_is_what_the_reader_says(
    after: int, before: int, page: Page, series: tapveil.Series
) -> None:
    for side, week in (("after", after), ("before", before)):
        page.select_option(f"#{side}", f"{monday(week)}..{sunday(week)}")
    table = series.table("on_location")
    changes = table.between(monday(after), sunday(after)).minus(table.between(monday(before), sunday(before)))
    for adjusted in (False, True):
        rows = (changes.adjusted() if adjusted else changes).rows()
        found = shown_changes(page, adjusted=adjusted)
        for row in rows:
            shown = found[row["tap_on_location"]]
            for name in ("mean", "noise_low", "noise_high", "low", "high"):
                same = (
                    math.isnan(shown[name]) if math.isnan(row[name]) else shown[name] == pytest.approx(row[name], 1e-4)
                )
                assert same, (adjusted, row, shown)
            assert shown["real"] == bool(row["real"])


def test_changes_are_named_with_both_intervals_and_comparisons_are_counted(page: Page) -> None:
    assert page.input_value("#after") == f"{monday(104)}..{sunday(104)}", "at first, the last two weeks"
    page.select_option("#line", label="train, Quay")
    said = page.inner_text("#change")
    assert said.startswith(f"train, Quay, week of {monday(104)} against week of {monday(103)}: ")
    assert " more a day (+" in said
    assert "Noise alone: " in said
    assert "Noise and days: " in said
    assert said.endswith("So the change is real.")
    page.locator("#places summary").click()
    page.wait_for_selector("#changes tbody tr")
    assert (
        "3 comparisons, of which 1 looks real. By chance alone, at most 0.2 of them look real on average."
        in page.inner_text("#compared")
    )
    page.select_option("#sort", "sure")
    first = page.locator("#changes tbody tr").first.locator("td").all_text_contents()
    assert (first[0], first[-1]) == ("train, Quay", "real")
    page.check("#adjust")
    page.wait_for_function("() => document.getElementById('compared').textContent.includes('Bonferroni')")
    page.select_option("#after", label="2025-11")
    page.select_option("#before", "other")
    page.fill("#before-first", "2025-09-01")
    page.fill("#before-last", "2025-09-20")
    page.dispatch_event("#before-last", "change")
    assert "2025-11 against 2025-09-01 to 2025-09-20: " in page.inner_text("#change")
    page.fill("#before-last", "2025-11-03")
    page.dispatch_event("#before-last", "change")
    assert page.inner_text("#change") == "The two periods have days in common: choose others."


def test_days_of_two_definitions_are_never_compared(page: Page) -> None:
    page.locator("#places summary").click()
    page.select_option("#before", f"{monday(BREAK - 1)}..{sunday(BREAK - 1)}")
    why = (
        "Not compared: these days do not count the same things. "
        f"Break of definition from {monday(BREAK)} on, rows: trips → taps."
    )
    assert page.inner_text("#change") == why
    assert page.inner_text("#compared") == why
    assert page.locator("#changes tbody tr").count() == 0
    page.select_option("#before", f"{monday(40)}..{sunday(40)}")
    page.select_option("#after", "2026-03-01..2026-03-31")
    assert page.inner_text("#change") == why, "nor within a period"
    page.select_option("#by", "kind")
    assert page.get_by_text("2026-03, weekday, from").count() == 2, "a month is divided"


OVERLAP = """
() => {
  const boxes = [...document.querySelectorAll("#drawing text")].map((each) => each.getBoundingClientRect());
  return boxes.some((a, at) => boxes.slice(at + 1).some(
    (b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
  ));
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_in_any_size(scheme: Any, path: Path, browser: Browser) -> None:
    page = opened(browser, path, [], color_scheme=scheme)
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.wait_for_selector("#changes tbody tr")
    for name, (width, height) in SIZES.items():
        page.set_viewport_size(ViewportSize(width=width, height=height))
        page.wait_for_function(
            "(most) => document.querySelector('#drawing svg').viewBox.baseVal.width <= most", arg=width
        )
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        for by in ("year", "day"):
            page.select_option("#by", by)
            assert not page.evaluate(OVERLAP), (name, by)
    page.close()


def test_places_of_a_large_series_are_in_files_that_are_read_when_chosen(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_of_series, "MOST_IN_PAGE", 14)
    truth = {f"Place {number}": [100 + 50 * number + day for day in range(7)] for number in range(5)}
    series = tapveil.open([week_folder(tmp_path / "w0", truth, FIRST, 0)])
    path = series.write(tmp_path / "series")
    names = ["part-0001.js", "part-0002.js", "part-0003.js"]
    assert sorted(each.name for each in (path / "series.files").iterdir()) == names
    assert not verify_series(path, series).findings
    complaints: list[str] = []
    page = opened(browser, path / "series.html", complaints)
    assert page.locator("#span").inner_text() == "1 release, 7 days, 2025-03-03 to 2025-03-09"
    page.fill("#find", "place 3")
    page.wait_for_function("() => document.getElementById('found').textContent.startsWith('train, Place 3')")
    rows = series.table("on_location").where(tap_on_location="Place 3").rows()
    shown = page.locator("#numbers tbody tr td:nth-child(2)").all_text_contents()
    assert shown == [f"{row['count']:,}" for row in rows]
    assert complaints == []
    part = path / "series.files" / "part-0001.js"
    part.write_text(part.read_text(encoding="utf-8") + "alert(1)", encoding="utf-8")
    assert [(each.code, each.place) for each in verify_series(path, series).findings if each.place != "SHA256SUMS"] == [
        ("page-program", "series.files/part-0001.js")
    ]
    part.unlink()
    page.fill("#find", "Place 0")
    page.wait_for_function("() => document.getElementById('found').textContent.includes('cannot read series.files')")
    page.close()
