"""The page in a real browser: it asks nobody for anything, every control works, and its numbers are the folder's."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

import tapveil
from tests.browser.conftest import HOSTILE, Looked, Opener

Rows = list[dict[str, str]]
SUPPRESSED = -(2**52)
"""What the page takes for the count of a cell that is not published."""
SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 1000)}


TEXTS = """[...document.querySelectorAll('#numbers-table tbody tr')]
  .map((row) => [...row.cells].map((cell) => cell.textContent))"""
"""What the table of numbers says, cell by cell."""
DIFFERENCES = """(() => {
  const heat = tapveil.cards[0];
  for (const row of heat.rows) for (const column of heat.across) {
    const one = heat.cells.at(row, column), two = heat.otherCells.at(row, column);
    if (heat.value(row, column) !== (one < 0 || two < 0 ? null : one - two)) return [one, two];
  }
  return 'right';
})()"""
WHERE = """(name) => {
  const map = tapveil.cards[2], place = map.places.find((each) => each.name === name);
  const box = map.canvas.getBoundingClientRect(), [x, y] = map.to(place.middle);
  return [box.left + x, box.top + y];
}"""
"""Where a place is drawn on the map."""
FOCUSED = """(() => {
  const heat = tapveil.cards[0], { row, column } = heat.focus;
  return [tapveil.release.places[heat.rows[row]], tapveil.view.table.times[heat.across[column] - 1]];
})()"""
"""The cell that the keys have come to."""
GO = "(view) => { location.hash = new URLSearchParams(view); }"
THERE = """(view) => Object.entries(view).every(([key, value]) =>
  new URLSearchParams(location.hash.slice(1)).get(key) === value && tapveil.view.hash === location.hash)"""


def go(looked: Looked, **view: str) -> None:
    """Follow a link to another view of the same page."""
    looked.run(GO, view)
    looked.page.wait_for_function(THERE, arg=view)


def look_with_axe(looked: Looked, views: Iterable[Mapping[str, str]]) -> None:
    """No view has a violation, in any size: one page shows them all."""
    for words in views:
        go(looked, **words)
        for size, (width, height) in SIZES.items():
            looked.page.set_viewport_size(ViewportSize(width=width, height=height))
            looked.run("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
            found: Any = Axe().run(looked.page).response["violations"]
            said = [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found]
            assert said == [], (size, words)


def table(folder: Path, name: str) -> Rows:
    with (folder / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(text: str) -> str:
    return f"{int(text):,}"


def signed(change: float) -> str:
    return f"{change:+,}" if change > 0 else f"{change:,}"


def shown_rows(looked: Looked) -> Rows:
    """What would be downloaded now."""
    return list(csv.DictReader(io.StringIO(looked.run("tapveil.cards.at(-1).csv()"), newline="")))


# --- from the disk, alone -------------------------------------------------------------------------------------------


def test_it_loads_from_the_disk_without_a_request_or_a_complaint(city: Path, look: Opener) -> None:
    looked = look(city, offline=True)
    assert looked.page.title() == "Port Vesper: tap-on and tap-off counts by mode and day"
    assert looked.requests == [(city / "explorer.html").as_uri()]
    assert looked.complaints == []


def test_its_policy_forbids_every_request_even_to_itself(city: Path, look: Opener) -> None:
    looked = look(city)
    asked = "fetch('https://example.org/').then(() => 'went', (error) => error.name)"
    assert looked.run(asked) == "TypeError"
    looked.run(
        "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }))"
    )
    assert looked.run("window.ran") is None
    looked.complaints.clear()  # the browser says that it refused
    looked.requests[:] = [url for url in looked.requests if not url.startswith("https://example.org")]


def test_without_scripts_it_says_where_the_numbers_are(city: Path, look: Opener) -> None:
    looked = look(city, java_script_enabled=False)
    assert "JavaScript, which is switched off" in looked.page.inner_text("body")


# --- its numbers ------------------------------------------------------------------------------------------------------


def test_every_number_is_the_one_in_the_csv_file(city: Path, look: Opener) -> None:
    looked, checked = look(city), 0
    tables = json.loads((city / "privacy.json").read_text(encoding="utf-8"))["tables"]
    for name in (each for each in tables if each["columns"]):  # the totals are said in the summary
        rows = table(city, name["name"])
        for mode, day in sorted({(row["mode"], row["date"]) for row in rows}):
            go(looked, table=name["name"], mode=mode, date=day)
            expected = [row for row in rows if (row["mode"], row["date"]) == (mode, day)]
            key = lambda row: tuple(row.values())  # noqa: E731
            assert sorted(shown_rows(looked), key=key) == sorted(expected, key=key)
            checked += len(expected)
    assert checked > 4_000


def test_the_table_on_the_page_says_the_same(city: Path, look: Opener) -> None:
    looked = look(city, "#table=on_location&mode=train&date=2025-03-03")
    rows = sorted(
        (row for row in table(city, "on_location") if row["mode"] == "train" and row["date"] == "2025-03-03"),
        key=lambda row: -int(row["count"]),
    )
    texts = looked.run(TEXTS)
    assert len(texts) == 20
    by_place = {row["tap_on_location"]: row for row in rows}
    for place, count, between in texts:
        row = by_place[place]
        assert (count, between) == (number(row["count"]), f"{number(row['low'])} to {number(row['high'])}")
    assert [row[1] for row in texts] == [number(row["count"]) for row in rows[:20]]


def test_the_total_is_the_published_one(city: Path, look: Opener) -> None:
    looked = look(city, "#mode=train&date=2025-03-04")
    with (city / "data" / "total.csv").open(encoding="utf-8", newline="") as file:
        total = next(row for row in csv.DictReader(file) if (row["mode"], row["date"]) == ("train", "2025-03-04"))
    expected = f"about {number(total['count'])} trips in total ({number(total['low'])} to {number(total['high'])})"
    assert expected in looked.page.inner_text("#summary")


# --- what is suppressed -----------------------------------------------------------------------------------------------


def cell(looked: Looked, *, published: bool) -> dict[str, Any]:
    """A cell of the heat map that is in sight: where it is drawn, and what it holds."""
    found = looked.run(
        """(published) => {
          const heat = tapveil.cards[0], box = heat.canvas.getBoundingClientRect();
          for (let row = 0; row < 12; row++) for (let column = 0; column < heat.across.length; column++) {
            const count = heat.cells.at(heat.rows[row], heat.across[column]);
            if ((count >= 0) !== published) continue;
            const x = heat.left + (column + 0.4) * heat.cell, y = heat.top + (row + 0.5) * heat.row;
            const dots = devicePixelRatio, width = Math.max(4, Math.floor((heat.cell - 2) * dots));
            const [left, top] = [heat.left + column * heat.cell + 1, heat.top + row * heat.row + 1];
            const copy = document.createElement("canvas"), pen = copy.getContext("2d", { willReadFrequently: true });
            [copy.width, copy.height] = [width, 16 * dots];
            pen.drawImage(heat.canvas, -left * dots, -top * dots);
            const pixels = pen.getImageData(0, 0, width, 16 * dots).data;
            const colours = new Set();
            for (let i = 0; i < pixels.length; i += 4) colours.add(pixels.slice(i, i + 3).join());
            return { x: box.left + x, y: box.top + y, count, colours: colours.size };
          }
        }""",
        published,
    )
    assert isinstance(found, dict)
    return found


def test_a_suppressed_cell_is_hatched_and_named_and_never_zero(city: Path, look: Opener) -> None:
    looked = look(city, "#table=on_time_location&mode=train&date=2025-03-03")
    absent = next(
        each["absent_95"]
        for each in json.loads((city / "privacy.json").read_text())["tables"]
        if each["name"] == "on_time_location"
    )
    looked.page.locator("#heat").scroll_into_view_if_needed()
    hidden, shown = cell(looked, published=False), cell(looked, published=True)
    assert (hidden["colours"] > 4, shown["colours"]) == (True, 1), "hatching has many shades, a number has one"
    looked.page.mouse.move(hidden["x"], hidden["y"])
    assert looked.page.inner_text("#tip").endswith(f"not published: 0 to {absent} trips")
    looked.page.mouse.move(shown["x"], shown["y"])
    assert f"{shown['count']} trips, between" in looked.page.inner_text("#tip")
    assert f"not published: 0 to {absent}" in looked.page.inner_text("#heat-legend")


def test_of_one_place_every_time_is_listed_also_where_nothing_is_published(city: Path, look: Opener) -> None:
    looked = look(city, "#table=on_time_location&mode=train&date=2025-03-03&place=St.+Mary%27s")
    rows, published = (
        shown_rows(looked),
        [
            row
            for row in table(city, "on_time_location")
            if row["mode"] == "train"
            and row["date"] == "2025-03-03"
            and row["tap_on_location"] == "St. Mary's"
            and row["tap_on_time"] != "-1"
        ],
    )
    assert len([row for row in rows if row["tap_on_time"] != "-1"]) == 96
    assert [row for row in rows if row["count"] and row["tap_on_time"] != "-1"] == published
    assert {(row["low"], row["high"]) for row in rows if not row["count"]} == {("0", "20")}
    assert "not published" in looked.page.inner_text("#numbers-table")
    assert looked.run("document.querySelectorAll('#profile-plot rect[fill=\"url(#hatch)\"]').length") > 10


# --- every control ----------------------------------------------------------------------------------------------------


def test_every_selector_changes_the_view_and_the_address(city: Path, look: Opener) -> None:
    page = look(city).page
    for selector, value, word in (
        ("#pick-table", "5", "table=off_time_location"),
        ("#pick-mode", "0", "mode=bus"),
        ("#pick-date", "1", "date=2025-03-04"),
        ("#pick-compare", "2", "compare=2025-03-08"),
        ("#pick-time", "17:15", "time=17%3A15"),
    ):
        before = page.inner_text("main")
        page.select_option(selector, value)
        assert word in page.url
        assert page.inner_text("main") != before, selector
        assert page.evaluate("document.activeElement.id") == selector[1:], "the focus stays where it was"


def test_a_shared_address_opens_the_same_view(city: Path, look: Opener) -> None:
    view = (
        "#table=off_time_location&mode=train&date=2025-03-04&compare=2025-03-08&place=S%C3%A3o+Bento&time=08%3A15"
        "&sort=name&show=difference&theme=dark"
    )
    one = look(city, view)
    assert one.run("location.href").endswith(view)
    two = look(city, "#" + one.run("location.href").split("#")[1], scheme="dark")
    assert two.page.inner_text("main") == one.page.inner_text("main")
    assert one.run("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize(
    "view", ["#nonsense", "#table=no&mode=%3Cscript%3E&date=1&place=x&time=99:99&compare=", "#%", "#find=" + "x" * 5000]
)
def test_a_nonsense_address_shows_the_first_view(view: str, city: Path, look: Opener) -> None:
    looked = look(city, view)
    assert looked.run("tapveil.view.table.name") == "on_time_location"


def test_two_days_are_compared_where_both_are_published(city: Path, look: Opener) -> None:
    looked = look(city, "#table=on_location&mode=train&date=2025-03-04&compare=2025-03-03")
    counts = {
        (row["date"], row["tap_on_location"]): int(row["count"])
        for row in table(city, "on_location")
        if row["mode"] == "train"
    }
    looked.page.click("[data-sort=change]")
    rows = looked.run(TEXTS)
    changes = []
    for place, now, _, then, change, noise, _ in rows:
        one, two = counts.get(("2025-03-04", place)), counts.get(("2025-03-03", place))
        assert (now, then) == tuple(f"{each:,}" if each else "not published" for each in (one, two))
        if one and two:
            found = tapveil.open(city).table("on_location").where(mode="train", tap_on_location=place)
            (exact,) = found.where(date="2025-03-04").minus(found.where(date="2025-03-03")).rows()
            assert change == signed(one - two)
            assert noise == f"{signed(exact['noise_low'])} to {signed(exact['noise_high'])}"
            changes.append(one - two)
    assert changes == sorted(changes, reverse=True)
    looked.page.select_option("#pick-table", "4")
    looked.page.get_by_role("button", name="Show difference").click()
    assert "show=difference" in looked.run("location.href")
    value = looked.run(DIFFERENCES)
    assert value == "right"
    looked.page.select_option("#pick-compare", "")
    assert "difference" not in looked.run("location.href")


def test_rows_are_searched_without_regard_to_case_and_accents(city: Path, look: Opener) -> None:
    page = look(city, "#mode=train").page
    page.fill("#find", "sao BEN")
    assert page.evaluate("tapveil.cards[0].rows.map((code) => tapveil.release.places[code])") == ["São Bento"]
    assert "1 row match" in page.inner_text("#heat-note") or "1 row" in page.inner_text("#heat-note")
    page.fill("#find", "no such place at all")
    assert page.evaluate("tapveil.cards[0].rows.length") == 0
    assert "Nothing is published here" in page.inner_text("#numbers-table")
    page.click("#clear")
    assert page.evaluate("tapveil.cards[0].rows.length") > 100


def test_rows_are_sorted_as_asked(city: Path, look: Opener) -> None:
    page = look(city, "#mode=train").page
    page.select_option("#heat-tools select", "name")
    names = page.evaluate("tapveil.cards[0].rows.map((code) => tapveil.release.places[code])")
    first = [letter for name in names if (letter := unicodedata.normalize("NFD", name)[0].lower()).isascii()]
    assert first == sorted(first), "Žižkov is among the Z, São Bento among the S"
    page.select_option("#heat-tools select", "busiest")
    counts = page.evaluate("tapveil.cards[0].rows.map((code) => tapveil.cards[0].wholeCells.at(code))")
    assert counts == sorted(counts, reverse=True)
    page.click("[data-sort=tap_on_time]")
    assert page.get_attribute("th:has([data-sort=tap_on_time])", "aria-sort") == "ascending"
    page.click("[data-sort=tap_on_time]")
    assert page.get_attribute("th:has([data-sort=tap_on_time])", "aria-sort") == "descending"
    page.click("#page-on")
    assert "Page 2 of" in page.inner_text("#numbers-pages")
    page.click("#page-back")
    assert "Page 1 of" in page.inner_text("#numbers-pages")


def test_what_is_shown_can_be_downloaded(city: Path, look: Opener, tmp_path: Path) -> None:
    looked = look(city, "#table=off_location&mode=ferry&date=2025-03-03")
    with looked.page.expect_download() as waiting:
        looked.page.get_by_role("button", name="Download").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name == "port-vesper-off_location.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [row for row in table(city, "off_location") if row["mode"] == "ferry" and row["date"] == "2025-03-03"]
    assert sorted(map(str, rows)) == sorted(map(str, expected))


def test_a_click_in_the_heat_map_picks_place_and_time(city: Path, look: Opener) -> None:
    looked = look(city, "#mode=train&table=on_time_location&date=2025-03-03")
    looked.page.locator("#heat").scroll_into_view_if_needed()
    shown = cell(looked, published=True)
    looked.page.mouse.click(shown["x"], shown["y"])
    assert f"{shown['count']} trips" in looked.page.inner_text("#answer")
    assert "place=" in looked.run("location.href")
    assert "time=" in looked.run("location.href")


def test_the_map_shows_picks_and_moves(city: Path, look: Opener) -> None:
    looked = look(city, "#mode=train&table=on_time_location&date=2025-03-03")
    page = looked.page
    assert page.is_visible("#map")
    page.locator("#map").scroll_into_view_if_needed()
    spot = looked.run(WHERE, "São Bento")
    page.mouse.click(*spot)
    assert "São Bento" in page.inner_text("#summary")
    count = next(
        row["count"]
        for row in table(city, "on_location")
        if (row["mode"], row["date"], row["tap_on_location"]) == ("train", "2025-03-03", "São Bento")
    )
    assert f"{number(count)} trips" in page.inner_text("#answer")
    for name in ("Zoom in", "Zoom out", "Show all"):
        before = looked.run("tapveil.cards[2].canvas.toDataURL()")
        page.get_by_role("button", name=name).click()
        if name != "Show all":
            assert looked.run("tapveil.cards[2].canvas.toDataURL()") != before, name
    page.select_option("#pick-mode", "0")
    assert looked.run("tapveil.cards[2].places.every((place) => place.rings.length === 1)"), "postcodes are areas"


def test_tap_on_stands_against_tap_off(city: Path, look: Opener) -> None:
    looked = look(city, "#mode=train&date=2025-03-03")
    points = looked.run("tapveil.cards[3].points.map((point) => [tapveil.release.places[point.code], ...point.counts])")
    sides = [
        {
            row[f"tap_{side}_location"]: int(row["count"])
            for row in table(city, f"{side}_location")
            if (row["mode"], row["date"]) == ("train", "2025-03-03")
        }
        for side in ("on", "off")
    ]
    assert {name: (on, off) for name, on, off in points} == {
        name: (sides[0].get(name, SUPPRESSED), sides[1].get(name, SUPPRESSED)) for name in {*sides[0], *sides[1]}
    }


def test_light_and_dark_follow_the_reader_and_the_button(city: Path, look: Opener) -> None:
    looked = look(city, scheme="dark")
    assert looked.run("document.documentElement.dataset.theme") == "dark"
    looked.page.click("#theme")
    assert looked.run("document.documentElement.dataset.theme") == "light"
    assert "theme=light" in looked.run("location.href")


def test_the_files_of_the_folder_are_linked_and_there(city: Path, look: Opener) -> None:
    links = look(city).run(
        "[...document.querySelectorAll('#files a')].map((link) => decodeURIComponent(link.getAttribute('href')))"
    )
    assert {"README.md", "privacy.json", "data/on_time.csv", "data/total.csv"} <= set(links)
    assert [link for link in links if not (city / link).is_file()] == []


def test_the_promise_and_the_noise_are_stated(city: Path, look: Opener) -> None:
    page = look(city).page
    assert page.locator("#promise-words p").count() == 3
    words = page.inner_text("#promise")
    assert "epsilon = 9, delta = 8.75e-7" in words
    assert "± 3" in words
    assert "± 6" in words


# --- without a mouse, without eyes ------------------------------------------------------------------------------------


def press(page: Page, key: str, times: int = 1) -> None:
    for _ in range(times):
        page.keyboard.press(key)


def test_keys_alone_lead_to_a_number(city: Path, look: Opener) -> None:
    page = look(city, "#mode=train&table=on_time_location&date=2025-03-03").page
    press(page, "Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the controls"
    press(page, "Enter")
    for _ in range(12):
        press(page, "Tab")
        if page.evaluate("document.activeElement.id") == "find":
            break
    page.keyboard.type("folly")
    press(page, "Enter")
    count = next(
        row
        for row in table(city, "on_location")
        if (row["mode"], row["date"], row["tap_on_location"]) == ("train", "2025-03-03", 'The "Folly"')
    )
    expected = f"{number(count['count'])} trips, between {number(count['low'])} and {number(count['high'])}"
    assert page.inner_text("#answer") == expected
    assert expected in page.inner_text("#said"), "and it is said aloud"


def test_arrow_keys_walk_the_heat_map_and_say_each_number(city: Path, look: Opener) -> None:
    looked = look(city, "#mode=train&table=on_time_location&date=2025-03-03&sort=name")
    page = looked.page
    page.focus("#heat-canvas")
    press(page, "ArrowDown", 3)
    press(page, "ArrowRight", 33)
    said = page.inner_text("#said")
    focus = looked.run("tapveil.cards[0].focus")
    place, time = looked.run(FOCUSED)
    assert focus["column"] > 30
    row = next(
        (
            row
            for row in table(city, "on_time_location")
            if (row["mode"], row["date"], row["tap_on_location"], row["tap_on_time"])
            == ("train", "2025-03-03", place, time)
        ),
        None,
    )
    assert (f"{row['count']} trips" if row else "not published: 0 to 20 trips") in said
    press(page, "Enter")
    assert place in page.inner_text("#summary")
    press(page, "Escape")
    assert "Select a place" in page.inner_text("#summary")
    press(page, "End")
    press(page, "PageDown", 20)
    assert looked.run("tapveil.cards[0].focus.row === tapveil.cards[0].rows.length - 1")
    page.focus("#map-canvas")
    press(page, "ArrowDown", 2)
    assert "trips" in page.inner_text("#said")
    press(page, "Enter")
    assert page.locator("#answer").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_in_any_size(scheme: str, city: Path, look: Opener) -> None:
    compared = {"mode": "train", "compare": "2025-03-08", "show": "difference", "place": "São Bento", "time": "08:15"}
    look_with_axe(look(city, scheme=scheme, bypass_csp=True), ({}, compared, {"table": "on_location"}))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_every_screen(size: str, scheme: str, city: Path, hostile: Path, look: Opener) -> None:
    width, height = SIZES[size]
    long = "#" + urlencode({"mode": "train & 'tram'", "place": "Ä" * 300})
    for folder, view in ((city, "#mode=train&place=S%C3%A3o+Bento"), (hostile, ""), (hostile, long)):
        page = look(folder, view, width=width, height=height, scheme=scheme).page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert len(page.screenshot(full_page=True)) > 50_000


def test_on_paper_it_is_light_and_fits(city: Path, look: Opener) -> None:
    looked = look(city, "#mode=train&place=S%C3%A3o+Bento", scheme="dark")
    widths = "[...document.querySelectorAll('main canvas')].map((canvas) => canvas.offsetWidth)"
    before = looked.run(widths)
    looked.run("window.dispatchEvent(new Event('beforeprint'))")
    assert looked.run("document.documentElement.dataset.theme") == "light"
    assert max(looked.run(widths)) <= 700
    looked.run("window.dispatchEvent(new Event('afterprint'))")
    assert looked.run("document.documentElement.dataset.theme") == "dark"
    assert looked.run(widths) == before
    assert looked.page.pdf(format="A4")[:5] == b"%PDF-"


def test_what_was_picked_is_in_sight(city: Path, look: Opener) -> None:
    looked = look(city, "#mode=train&table=on_time_location&date=2025-03-03&time=08%3A15")
    name = looked.run("tapveil.release.places[tapveil.cards[0].rows[110]]")
    looked.page.fill("#find", name)
    looked.page.press("#find", "Enter")
    heat = looked.run("(({ scroll, row, height, top }) => [scroll.scrollTop, row, height - top])(tapveil.cards[0])")
    assert 110 * heat[1] - heat[2] < heat[0] <= 110 * heat[1]
    assert "08:15 to 08:30" in looked.page.inner_text("tr.marked")


# --- names that are not what they seem --------------------------------------------------------------------------------


def test_hostile_names_are_text(hostile: Path, look: Opener) -> None:
    looked = look(hostile)
    assert set(HOSTILE) == set(looked.run("tapveil.release.places"))
    for name in ("place", "both", "time"):
        for mode in ("<b>bus</b>", "train & 'tram'"):
            go(looked, table=name, mode=mode, compare="2025-03-04")
            assert looked.run("window.hacked") is None
            assert (
                looked.run(
                    "document.querySelectorAll('main img, main script, main b b, main svg svg, header script').length"
                )
                == 0
            )
    assert "</title></script><script>" in looked.page.inner_text("h1")
    assert looked.page.title().startswith("</title></script><script>")
    go(looked, table="place", mode="<b>bus</b>")
    assert "<script>window.hacked = 1</script>" in looked.page.inner_text("#numbers-table")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_can_be_found_picked_and_shared(name: str, hostile: Path, look: Opener) -> None:
    rows = [row for row in table(hostile, "place") if row["tap_on_location"] == name and row["date"] == "2025-03-03"]
    looked = look(hostile)
    go(looked, table="both", mode=rows[0]["mode"], date="2025-03-03")
    looked.page.fill("#find", name[:200])
    looked.page.press("#find", "Enter")
    assert f"{rows[0]['count']} trips" in looked.page.inner_text("#answer")
    again = look(hostile, "#" + looked.run("location.href").split("#")[1])
    assert again.page.inner_text("#summary") == looked.page.inner_text("#summary")
    assert again.run("window.hacked") is None


def test_what_is_downloaded_of_hostile_names_reads_back(hostile: Path, look: Opener) -> None:
    looked = look(hostile, "#table=place")
    mode = looked.run("tapveil.release.labels.mode[tapveil.view.part.mode]")
    expected = [row for row in table(hostile, "place") if (row["mode"], row["date"]) == (mode, "2025-03-03")]
    assert sorted(map(str, shown_rows(looked))) == sorted(map(str, expected))
