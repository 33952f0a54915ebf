"""The page of a known world: estimates first, measurements one click away, and flows as a map, a matrix and a list."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

import tapveil
from tapveil.base.svg import ON_PAPER
from tapveil.published.describe.frequencies import Halves, Panel, picture
from tapveil.published.explorer import contents
from tests.browser.conftest import Looked, Opener
from tests.browser.test_page import SIZES, TEXTS, go, look_with_axe, number, shown_rows
from tests.support.journeys import PLACES, journeys
from tests.support.tampering import redraw

CARD = "tapveil.cards.at(-2)"
PAIRS = (
    f"{CARD}.found.all.map((pair) => [...[pair.from, pair.to].map((code) => {CARD}.found.labels[code]), pair.count])"
)
"""All flows that are shown: from, to, how many."""
WHERE = f"""(name) => {{
  const map = {CARD}.map, place = map.places.find((each) => each.name === name);
  const box = map.canvas.getBoundingClientRect(), [x, y] = map.to(place.middle);
  return [box.left + x, box.top + y];
}}"""
CELL = f"""([from, to]) => {{
  const matrix = {CARD}.matrix, place = (name) => matrix.codes.indexOf(matrix.pairs.labels.indexOf(name));
  const box = matrix.canvas.getBoundingClientRect(), middle = (name) => (place(name) + 0.5) * matrix.cell;
  return [box.left + matrix.left + middle(to), box.top + matrix.top + middle(from)];
}}"""
DAY = {"mode": "metro", "date": "2025-03-07"}
Flow = tuple[str, str, float]


@pytest.fixture(scope="module")
def large(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same, as if whole trips by day were too many for a page."""
    folder = tmp_path_factory.mktemp("large") / "published"
    shutil.copytree(world, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "MOST_OF_A_WORLD", 12_000)
        redraw(folder)
        yield folder


@pytest.fixture(scope="session")
def unplaced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same city without coordinates."""
    folder = tmp_path_factory.mktemp("unplaced")
    areas = "\n".join(
        f'[coarsen.location.{mode}]\nlookup = "places.csv"\nfrom = "name"\nto = "name"' for mode in ("metro", "tram")
    )
    plan = journeys(folder, {'[places]\npath = "places.csv"\n': "", "[world]\n": f"{areas}\n[world]\n"})
    return tapveil.release(plan, folder / "published", in_ledger=False).path


def estimates(folder: Path, name: str, **chosen: str) -> list[dict[str, str]]:
    with (folder / "estimates" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[key] == value for key, value in chosen.items())]


def flows(looked: Looked) -> list[Flow]:
    return sorted((origin, destination, round(count, 9)) for origin, destination, count in looked.run(PAIRS))


def summed(rows: list[dict[str, str]], days: int = 1) -> list[Flow]:
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        found[row["tap_on_location"], row["tap_off_location"]] += int(row["count"])
    return sorted((*pair, round(count / days, 9)) for pair, count in found.items() if count)


def view(**words: str) -> str:
    return "#" + "&".join(f"{key}={value}" for key, value in words.items())


# --- estimates and measurements ---------------------------------------------------------------------------------------


def test_estimates_are_shown_first_with_their_intervals_and_weights(world: Path, look: Opener) -> None:
    looked = look(world, view(table="od", **DAY))
    assert looked.run("tapveil.release.source") == "estimates"
    key = lambda row: tuple(row.values())  # noqa: E731
    assert sorted(shown_rows(looked), key=key) == sorted(estimates(world, "od", **DAY), key=key)
    assert "measured on real trips, and is not proved" in looked.page.inner_text("#numbers-note")


def test_measurements_are_one_click_away_and_stay_below_zero_in_text(world: Path, look: Opener) -> None:
    looked = look(world, view(table="od", **DAY))
    looked.page.click("#numbers-measurements")
    assert "numbers=measurements" in looked.run("location.href")
    assert looked.run("document.activeElement.id") == "numbers-measurements"
    measured = {
        (row["tap_on_location"], row["tap_off_location"]): int(row["count"])
        for row in csv.DictReader((world / "measurements" / "od.csv").read_text(encoding="utf-8").splitlines())
        if all(row[key] == value for key, value in DAY.items())
    }
    shown = {(row["tap_on_location"], row["tap_off_location"]): int(row["count"]) for row in shown_rows(looked)}
    assert shown == measured
    assert min(shown.values()) < 0
    looked.run("tapveil.set({ by: { id: 'count', down: false } })")
    assert looked.run(TEXTS)[0][2] == number(str(min(shown.values())))
    looked.page.click("#numbers-estimates")
    assert "numbers=" not in looked.run("location.href")


def test_a_link_to_measurements_opens_them(world: Path, look: Opener) -> None:
    looked = look(world, view(numbers="measurements", table="origin_time", **DAY))
    assert looked.run("[tapveil.release.source, tapveil.view.table.estimate]") == ["measurements", False]


def test_the_total_is_that_of_the_numbers_shown(world: Path, look: Opener) -> None:
    looked = look(world, view(**DAY))
    (row,) = estimates(world, "total", **DAY)
    assert f"about {number(row['count'])} trips in total" in looked.page.inner_text("#summary")


def test_a_cell_that_is_not_listed_is_estimated_as_zero(world: Path, look: Opener) -> None:
    listed = {row["tap_on_location"] for row in estimates(world, "origin_time", tap_on_time="22:00", **DAY)}
    looked = look(world, view(table="origin_time", **DAY))
    place = next(name for name in looked.run("tapveil.release.places") if name not in listed)
    go(looked, place=place, time="22:00", table="origin_time", **DAY)
    assert looked.page.inner_text("#answer") == "about 0 trips"


def test_sums_of_estimates_are_shown_for_places_alone(world: Path, look: Opener) -> None:
    """No table of the plan has places alone; estimates add up, so the map has them."""
    looked = look(world, view(place="Ash+North", **DAY))
    rows = estimates(world, "od", tap_on_location="Ash North", **DAY)
    assert looked.page.inner_text("#answer") == f"about {number(str(sum(int(row['count']) for row in rows)))} trips"
    assert not looked.page.is_hidden("#map")


def test_the_heat_map_is_ordered_by_what_is_shown(world: Path, look: Opener) -> None:
    looked = look(world, view(table="origin_time", time="08:00", sort="shown", **DAY))
    rows = looked.run("tapveil.cards[0].rows.map((code) => tapveil.release.places[code])")
    counts = {
        row["tap_on_location"]: int(row["count"]) for row in estimates(world, "origin_time", tap_on_time="08:00", **DAY)
    }
    found = [counts.get(place, 0) for place in rows]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 5


def test_the_promise_is_said_in_frequencies_with_its_verdict(world: Path, look: Opener) -> None:
    text = look(world).page.inner_text("#meaning")
    assert "12 of 100 such publications" in text
    assert "This is a moderate promise." in text


def test_the_picture_of_the_promise_is_that_of_the_command_and_the_dossier(world: Path, look: Opener) -> None:
    """It is drawn by two programs, dot for dot alike; also where a chance is small, which is not none."""
    looked = look(world)
    for numbers in (("12", "88"), ("0.03", "99.97"), ("0", "100")):
        looked.run("([wrong, right]) => Object.assign(tapveil.release.meaning, { wrong, right })", list(numbers))
        looked.run("tapveil.meaning()")
        panel = Panel("Promised: the worst case", numbers, Halves("If you did not", "If you did"), "")
        drawn = picture([panel], "A moderate promise", "", "", ON_PAPER)
        paths = looked.run("[...document.querySelectorAll('#meaning path')].map((each) => each.getAttribute('d'))")
        assert list(filter(None, paths)) == re.findall('<path d="([^"]*)"', drawn)
        words = looked.run(
            "[...document.querySelectorAll('#meaning text')]"
            ".map((each) => [each.textContent, ...['x', 'y'].map((name) => +each.getAttribute(name))])"
        )
        found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)</text>', drawn)
        assert words == [[text, float(x), float(y)] for x, y, text in found]


# --- flows ------------------------------------------------------------------------------------------------------------


def test_flows_of_a_day_are_those_of_the_file(world: Path, look: Opener) -> None:
    looked = look(world, view(**DAY))
    assert flows(looked) == summed(estimates(world, "od", **DAY))
    assert looked.run(f"{CARD}.way") == "map"


def test_flows_of_a_kind_of_day_are_means_with_holidays_as_sundays(world: Path, look: Opener) -> None:
    looked = look(world, view(days="sunday", **DAY))
    sundays = ("2025-03-09", "2025-03-10", "2025-03-16")
    rows = [row for row in estimates(world, "od", mode="metro") if row["date"] in sundays]
    assert flows(looked) == summed(rows, days=3)
    assert "mean of 3 sundays and holidays" in looked.page.inner_text("#flows-note").lower()
    assert "date=sunday" in looked.run("location.href"), "a link of an earlier page is understood"
    looked.page.select_option("#pick-date", label="Mean of all 11 days")
    assert flows(looked) == summed(estimates(world, "od", mode="metro"), days=11)


def test_flows_of_a_time_are_those_of_the_file(world: Path, look: Opener) -> None:
    looked = look(world, view(time="08:00", **DAY))
    assert flows(looked) == summed(estimates(world, "joint", tap_on_time="08:00", **DAY))


def test_flows_of_a_time_are_means_of_a_kind_of_day_where_days_are_too_many(large: Path, look: Opener) -> None:
    looked = look(large, view(time="08:00", **DAY))
    weekdays = [
        row
        for row in estimates(large, "joint", tap_on_time="08:00", mode="metro")
        if date.fromisoformat(row["date"]).weekday() < 5 and row["date"] != "2025-03-10"
    ]
    assert flows(looked) == summed(weekdays, days=6)
    assert "means over a kind of day" in looked.page.inner_text("#flows-note")
    assert "estimates/joint.csv" in looked.page.inner_text("#colophon")


@pytest.mark.parametrize(("degrees", "outside"), [(0.06, []), (0.3, ["Yew West"])])
def test_no_flow_runs_off_the_map_unless_a_place_is_far_off(
    degrees: float, outside: list[str], world: Path, look: Opener
) -> None:
    moved = f"""(degrees) => {{
      const map = {CARD}.map, far = map.places.find((place) => place.name === 'Yew West');
      Object.assign(far, {{ middle: [8 + degrees, 50 + degrees], points: [[8 + degrees, 50 + degrees]] }});
      const one = map.lines.find((line) => line.from === far);
      map.lines = [...map.lines.filter((line) => line.from !== far && line.to !== far), one];
      map.mode = null;
      map.frame();
      map.paint();
      const {{ width, height }} = map.canvas.getBoundingClientRect();
      const off = map.places.filter((place) => map.to(place.middle).some((x, i) => x < 0 || x > [width, height][i]));
      return off.map((place) => place.name);
    }}"""
    assert look(world, view(**DAY)).run(moved, degrees) == outside


def test_a_click_on_the_map_shows_the_catchment_of_a_place(world: Path, look: Opener) -> None:
    looked = look(world, view(**DAY))
    looked.page.locator("#flows").scroll_into_view_if_needed()
    looked.page.mouse.click(*looked.run(WHERE, "Elm North"))
    assert "place=Elm+North" in looked.run("location.href")
    ends = looked.run(f"{CARD}.map.lines.map((line) => [line.from.name, line.to.name])")
    assert ends
    assert all("Elm North" in pair for pair in ends)
    largest = max(
        (
            row
            for row in estimates(world, "od", tap_on_location="Elm North", **DAY)
            if row["tap_off_location"] != "UNKNOWN"
        ),
        key=lambda row: int(row["count"]),
    )
    first = looked.page.inner_text("#flows-ranking ol:first-of-type li:first-child").split("\n")
    limits = " to ".join(number(largest[end]) for end in ("low", "high"))
    assert (first[0], *first[-2:]) == (largest["tap_off_location"], number(largest["count"]), limits)
    assert "In small print: the 95 % interval, measured, not proved." in looked.page.inner_text("#flows-ranking")


def test_the_keys_move_on_the_flow_map_and_read_out_both_directions(world: Path, look: Opener) -> None:
    looked = look(world, view(**DAY))
    looked.page.focus("#flows-canvas")
    looked.page.keyboard.press("ArrowRight")
    start = looked.run(f"{CARD}.map.focus.name")
    looked.page.keyboard.press("ArrowUp")
    looked.page.keyboard.press("ArrowUp")
    name = looked.run(f"{CARD}.map.focus.name")
    assert name != start
    assert all(word in looked.page.inner_text("#said") for word in (name, "from here", "to here"))
    looked.page.keyboard.press("Enter")
    assert looked.run("tapveil.view.place") == name
    looked.page.keyboard.press("Escape")
    assert looked.run("tapveil.view.place") is None


def test_the_matrix_says_every_pair(world: Path, look: Opener) -> None:
    looked = look(world, view(flows="matrix", order="volume", **DAY))
    looked.page.locator("#matrix-canvas").scroll_into_view_if_needed()
    row = max(estimates(world, "od", **DAY), key=lambda row: int(row["count"]))
    ends = [row["tap_on_location"], row["tap_off_location"]]
    looked.page.mouse.move(*looked.run(CELL, ends))
    tip = looked.page.inner_text("#tip")
    assert f"{ends[0]} → {ends[1]}" in tip
    assert f"about {number(row['count'])} trips, between {number(row['low'])} and {number(row['high'])}" in tip
    looked.page.focus("#matrix-canvas")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        looked.page.keyboard.press(key)
    assert looked.run(f"{CARD}.matrix.focus") == [1, 1]
    assert " → " in looked.page.inner_text("#said")


def test_the_matrix_is_ordered_by_area_volume_or_name(world: Path, look: Opener) -> None:
    looked = look(world, view(flows="matrix", order="name", **DAY))
    names = f"{CARD}.matrix.codes.map((code) => {CARD}.found.labels[code])"
    assert looked.run(names) == sorted(looked.run(names))
    go(looked, flows="matrix", order="volume", **DAY)
    volumes = looked.run(f"{CARD}.matrix.codes.map((code) => {CARD}.found.volume.get(code))")
    assert volumes == sorted(volumes, reverse=True)
    go(looked, flows="matrix", order="area", **DAY)
    order = [name for name in looked.run(names) if name != "UNKNOWN"]
    spots = {name: (n // 4, n % 4) for n, name in enumerate(PLACES)}
    steps = [sum(abs(a - b) for a, b in zip(spots[x], spots[y], strict=True)) for x, y in pairwise(order)]
    assert set(steps) == {1}, "each place next to the one before"


def test_names_that_would_look_alike_keep_their_ends(world: Path, look: Opener) -> None:
    names = ["Vesper Quay, No. 3 Wharf", "Vesper Quay, No. 4 Wharf", "Glenmere Wharf", "Oak"]
    found = look(world).run("(names) => cutApart(document.createElement('canvas').getContext('2d'), names, 60)", names)
    assert all(text.startswith("…") and text.endswith(f" {n} Wharf") for n, text in zip("34", found[:2], strict=True))
    assert found[2:] == [found[2].strip("…") + "…", "Oak"]


def test_the_list_has_all_flows_as_text_to_read_and_to_take_away(world: Path, look: Opener) -> None:
    looked = look(world, view(flows="list", **DAY))
    rows = list(csv.DictReader(io.StringIO(looked.run(f"{CARD}.csv()"), newline="")))
    found = sorted((row["origin"], row["destination"], row["count"], row["low"], row["high"]) for row in rows)
    true = [
        tuple(row[key] for key in ("tap_on_location", "tap_off_location", "count", "low", "high"))
        for row in estimates(world, "od", **DAY)
    ]
    assert found == sorted(true)
    cells = looked.run("[...document.querySelectorAll('#flows-table tbody tr')].map((row) => row.cells[2].textContent)")
    assert cells == [number(str(count)) for count in sorted((int(row[2]) for row in true), reverse=True)[:20]]


def test_without_coordinates_there_is_a_matrix_and_no_map(unplaced: Path, look: Opener) -> None:
    looked = look(unplaced, view(**DAY))
    assert looked.run(f"{CARD}.way") == "matrix"
    assert looked.page.is_hidden("#flows-canvas")
    assert looked.page.is_hidden("#flows-as-map") or not looked.page.query_selector("#flows-as-map")


# --- for everyone -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_in_any_size(scheme: str, world: Path, look: Opener) -> None:
    compared = {"numbers": "measurements", "date": "weekday", "compare": "sunday", "show": "difference"}
    views = [DAY, DAY | {"flows": "matrix", "place": "Elm North"}, DAY | {"flows": "list", **compared}]
    look_with_axe(look(world, scheme=scheme, bypass_csp=True), views)


@pytest.mark.parametrize("size", SIZES)
def test_it_fits_every_screen(size: str, world: Path, unplaced: Path, look: Opener) -> None:
    width, height = SIZES[size]
    for folder, words in ((world, {"place": "Ash+North"}), (world, {"flows": "matrix"}), (unplaced, {"flows": "list"})):
        page = look(folder, view(**DAY, **words), width=width, height=height).page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
