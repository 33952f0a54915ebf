"""Several days at once, in a browser: means, periods compared, the line of days; the numbers are the reader's."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import pytest

import tapveil
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import variance
from tapveil.published.variation import change
from tests.browser.conftest import Looked, Opener
from tests.browser.test_page import SUPPRESSED, go, shown_rows
from tests.browser.test_world import CARD, view
from tests.conftest import free_plan, write_csv
from tests.unit.published.test_variation import mostly_noise, weeks_of

DAYS = [f"2025-03-{day:02d}" for day in range(3, 17)]
COLUMNS = ("mode", "date", "tap_on_location", "tap_off_location")
MEASURED = {"numbers": "measurements", "table": "origin_time", "mode": "metro"}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two weeks of pairs of places, some of which are too small to be published, on some days or on all."""
    folder = tmp_path_factory.mktemp("pairs")
    rows = []
    for at, day in enumerate(DAYS):
        for a in range(5):
            for b in range(5):
                number = max(0, 150 - 31 * (a + b)) + 7 * (at % 7) + (40 if at > 6 and a == 0 else 0)
                rows += [("bus", day, f"P{a}", f"P{b}")] * number
    write_csv(folder / "trips.csv", rows, COLUMNS)
    tables = {"od": [*COLUMNS[2:]], "on": ["tap_on_location"], "total": []}
    free_plan(folder, "trips.csv", {name: name for name in COLUMNS}, tables, ["mode", "date"])
    return tapveil.release(Plan.read(folder / "plan.toml"), folder / "published", in_ledger=False).path


def same(shown: str, number: Any) -> bool:
    """Whether the page has a number of the reader, or both have none."""
    if shown == "" or number is None or number != number:
        return shown == "" and (number is None or number != number)
    return float(shown) == pytest.approx(float(number), rel=1e-6, abs=1e-6)


def flows(looked: Looked) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(looked.run(f"{CARD}.csv()"), newline="")))


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (("2025-03-13", "2025-03-16"), ("2025-03-06", "2025-03-09")),
        (("2025-03-12", "2025-03-12"), ("2025-03-06", "2025-03-11")),
    ],
)
def test_two_periods_differ_as_the_reader_says(
    now: tuple[str, str], then: tuple[str, str], world: Path, look: Opener
) -> None:
    """Both intervals, that of the noise and that of days like these, are the reader's, number by number."""
    periods = ["..".join(days) if days[0] != days[1] else days[0] for days in (now, then)]
    looked = look(world, view(date=periods[0], compare=periods[1], **MEASURED))
    table = tapveil.open(world).table("origin_time").where(mode="metro")
    changes = table.between(*now).minus(table.between(*then)).rows()
    expected = {(row["tap_on_time"], row["tap_on_location"]): row for row in changes}
    names = {
        "change": "mean",
        "noise_low": "noise_low",
        "noise_high": "noise_high",
        "days_low": "low",
        "days_high": "high",
    }
    rows = shown_rows(looked)
    assert len(rows) == len(expected)
    for row in rows:
        true = expected[row["tap_on_time"], row["tap_on_location"]]
        assert [name for name, own in names.items() if not same(row[name], true[own])] == []
    chance = f"{len(rows):,} comparisons: by chance alone, at most {math.ceil(len(rows) / 2) / 10:,g} of them look real"
    assert chance in looked.page.inner_text("#numbers-note")


@pytest.mark.parametrize("with_history", [False, True])
def test_changes_of_numbers_that_are_mostly_noise_are_the_readers(
    with_history: bool, world: Path, look: Opener
) -> None:
    whole = mostly_noise()
    before, after = weeks_of(whole, 6, 7), weeks_of(whole, 7, 8)
    found = change(after, before, whole if with_history else None)
    script = """([days, rows, past]) => rows.map(([counts, noise]) => {
      const of = (from, to) => ({
        days: days.slice(from, to).map((day) => new Date(day)), counts: counts.slice(from, to),
        missing: counts.slice(from, to).map(() => 0), noise: noise.slice(from, to), gaussian: false,
      });
      const { value, noise: own, days: both } = changeOf(of(49, 56), of(42, 49), past ? of(0, 56) : null);
      return [value, ...own, ...both];
    })"""
    rows = list(zip(whole.counts.tolist(), whole.noise.tolist(), strict=True))
    shown = look(world, view()).run(script, [[day.isoformat() for day in whole.days], rows, with_history])
    numbers = zip(found.value, found.noise_low, found.noise_high, found.low, found.high, strict=True)
    assert [own == pytest.approx(row, abs=1e-6) for own, row in zip(shown, numbers, strict=True)] == [True] * len(rows)


def test_means_of_days_are_the_readers_and_leave_room_for_what_is_not_listed(city: Path, look: Opener) -> None:
    looked = look(city, "#table=on_time_location&mode=train&date=weekday")
    table = tapveil.open(city).table("on_time_location").where(mode="train", date=["2025-03-03", "2025-03-04"])
    means = {(row["tap_on_time"], row["tap_on_location"]): row for row in table.mean(over="date").rows()}
    rows, partial = shown_rows(looked), 0
    for row in rows:
        true = means[row["tap_on_time"], row["tap_on_location"]]
        assert same(row["low"], max(0, true["noise_low"]))
        assert same(row["high"], true["noise_high"])
        partial += row["days_listed"] < row["days"]
        if row["days_listed"] == row["days"]:
            assert same(row["mean_count"], true["mean"])
    assert partial > 0, "some cells are listed on one of the days alone"
    looked.run("tapveil.set({ by: { id: 'count', down: false } })")
    assert " listed" in looked.page.inner_text("#numbers-table")
    assert "with a corner: some days are not published" in looked.page.inner_text("#heat-note")
    total = tapveil.open(city).totals.where(mode="train", date=["2025-03-03", "2025-03-04"])
    mean = (sum(row["count"] for row in total.rows()) + 1) // 2  # a half is rounded up, as the page's script does
    assert f"about {mean:,} trips a day in total" in looked.page.inner_text("#summary")


def test_days_weeks_kinds_and_ranges_can_be_chosen(world: Path, look: Opener) -> None:
    looked = look(world, view(mode="metro"))
    groups = looked.run("[...document.querySelectorAll('#pick-date optgroup')].map((group) => group.label)")
    assert groups == ["Days", "All days", "Kinds of day", "Weeks"]
    looked.page.select_option("#pick-date", label="Mean of 3 Sundays and holidays")
    assert "date=sunday" in looked.run("location.href")
    looked.page.select_option("#pick-compare", label="Mean of 7 days, 10 – 16 Mar 2025")
    assert "compare=2025-03-10..2025-03-16" in looked.run("location.href")
    again = look(world, "#" + looked.run("location.href").split("#")[1])
    assert again.page.inner_text("main") == looked.page.inner_text("main")
    for name in ("2025-13", "2025-03-16..2025-03-06", "weekday sunday", "2024-01"):
        assert looked.run("(name) => tapveil.release.periods.code(name)", name) == -1


def test_the_line_of_days_shows_a_place_and_chooses_days(city: Path, look: Opener) -> None:
    looked = look(city, "#mode=train&table=on_location&place=S%C3%A3o+Bento")
    counts = {
        row["date"]: row["count"]
        for row in tapveil.open(city).table("on_location").where(mode="train", tap_on_location="São Bento").rows()
    }
    assert looked.run("tapveil.cards[4].points.all.map(({ count }) => count)") == [
        counts.get(day, SUPPRESSED) for day in ("2025-03-03", "2025-03-04", "2025-03-08")
    ]
    looked.page.focus("#days-plot")
    looked.page.keyboard.press("ArrowRight")
    assert f"{counts['2025-03-04']:,} trips" in looked.page.inner_text("#said")
    looked.page.keyboard.press("Shift+ArrowRight")
    looked.page.keyboard.press("Enter")
    assert "date=2025-03-04..2025-03-08" in looked.run("location.href")
    assert looked.run("document.activeElement.id") == "days-plot"
    looked.page.locator("#days-plot").scroll_into_view_if_needed()
    box = looked.page.locator("#days-plot").bounding_box()
    assert box
    looked.page.mouse.click(box["x"] + box["width"] - 30, box["y"] + box["height"] / 2)
    assert "date=2025-03-08&" in looked.run("location.href")
    go(looked, mode="train", date="2025-03-03", table="on_location")
    totals = tapveil.open(city).totals.where(mode="train").rows()
    assert looked.run("tapveil.cards[4].points.all.map(({ count }) => count)") == [row["count"] for row in totals]


# --- flows of a folder with thresholds --------------------------------------------------------------------------------


def test_flows_with_thresholds_say_what_they_leave_out(pairs: Path, look: Opener) -> None:
    looked = look(pairs, view(date="2025-03-03", flows="list"))
    opened = tapveil.open(pairs)
    listed = opened.table("od").where(date="2025-03-03").rows()
    assert sorted((row["origin"], row["destination"], int(row["count"])) for row in flows(looked)) == sorted(
        (row["tap_on_location"], row["tap_off_location"], row["count"]) for row in listed
    )
    (total,) = opened.totals.where(date="2025-03-03").rows()
    other = total["count"] - sum(row["count"] for row in listed)
    note = looked.page.inner_text("#flows-note")
    assert f") of about {total['count']:,} are in flows that are not listed." in note
    limits = note.split(f"The other {other:,} (")[1].split(")")[0].split(" to ")
    low, high = (int(text.replace(",", "")) for text in limits)
    assert low <= other <= high
    go(looked, date="2025-03-03", flows="list", place="P0")
    whole = opened.table("on").where(date="2025-03-03", tap_on_location="P0").rows()[0]["count"]
    assert f"of about {whole:,}" in looked.page.inner_text("#flows-ranking")


def test_flows_of_two_weeks_are_compared_where_every_day_is_published(pairs: Path, look: Opener) -> None:
    weeks = ("2025-03-10..2025-03-16", "2025-03-03..2025-03-09")
    looked = look(pairs, view(date=weeks[0], compare=weeks[1], flows="list", show="difference"))
    table = tapveil.open(pairs).table("od")
    changes = table.between(*weeks[0].split("..")).minus(table.between(*weeks[1].split(".."))).rows()
    expected = {(row["tap_on_location"], row["tap_off_location"]): row for row in changes if row["mean"] == row["mean"]}
    rows = flows(looked)
    assert {(row["origin"], row["destination"]) for row in rows} == set(expected)
    names = {
        "change": "mean",
        "noise_low": "noise_low",
        "noise_high": "noise_high",
        "days_low": "low",
        "days_high": "high",
    }
    for row in rows:
        true = expected[row["origin"], row["destination"]]
        assert [name for name, own in names.items() if not same(row[name], true[own])] == []
    assert f"Left out: {25 - len(rows)} flows" in looked.page.inner_text("#flows-note")
    assert "Grew most" in looked.page.inner_text("#flows-ranking")
    go(looked, date=weeks[0], compare=weeks[1], flows="matrix", show="difference")
    assert looked.run(f"{CARD}.matrix.scale instanceof Difference")
    assert "more" not in looked.page.inner_text("#flows-legend") or "change in trips" in looked.page.inner_text(
        "#flows-legend"
    )


def test_the_flow_map_draws_no_change_that_noise_explains(world: Path, look: Opener) -> None:
    """Trips of this city have the same chances every day: nearly all that looks changed is noise."""
    looked = look(
        world, view(numbers="measurements", mode="metro", date="saturday", compare="weekday", show="difference")
    )
    limit, changes, lines = looked.run(f"[{CARD}.found.limit, {CARD}.found.all.length, {CARD}.map.lines.length]")
    mechanism = tapveil.open(world).manifest.mechanisms["od"]
    deviation = math.sqrt(variance(mechanism) * (1 / 2 + 1 / 6))
    assert limit == pytest.approx(deviation * math.sqrt(2 * math.log(changes / 0.05)), rel=1e-5)
    drawn = looked.run(f"{CARD}.map.lines.map(({{ pair }}) => pair.count)")
    assert all(abs(change) > limit for change in drawn)
    assert lines < changes / 50
    assert "may be noise alone, and are not drawn" in looked.page.inner_text("#flows-note")


@pytest.mark.parametrize("time", [{}, {"time": "08:00"}])
def test_changes_of_flows_are_those_of_measurements_also_where_estimates_are_shown(
    time: dict[str, str], world: Path, look: Opener
) -> None:
    """What noise explains is known of measurements alone: of estimates, any would be drawn as if it were real."""
    compared = {"mode": "metro", "date": "saturday", "compare": "weekday", "show": "difference"}
    looked = look(world, view(**compared, **time))
    changes = f"[{CARD}.found.limit, ...{CARD}.found.all.map(({{ from, to, count }}) => [from, to, count])]"
    lines = f"{CARD}.map.lines.length"
    shown, drawn, note = looked.run(changes), looked.run(lines), looked.page.inner_text("#flows-note")
    assert looked.run("tapveil.release.source") == "estimates"
    assert "These are changes of the measurements" in note
    assert ("Times are not measured by pair here" in note) == bool(time)
    assert "see the measurements" in looked.page.inner_text("#heat-note")
    assert "see the measurements" in looked.page.inner_text("#numbers-note")
    go(looked, numbers="measurements", **compared)
    assert (looked.run(changes), looked.run(lines)) == (shown, drawn)
    assert "These are changes of the measurements" not in looked.page.inner_text("#flows-note")


def test_no_change_of_estimates_is_drawn_where_the_page_has_no_measurements(world: Path, look: Opener) -> None:
    looked = look(world, view(mode="metro", date="saturday", compare="weekday"))
    assert looked.run(f"{CARD}.map.lines.length") > 50
    looked.run("tapveil.release.sets.measurements.length = 0")
    looked.run("tapveil.set({ difference: true })")
    assert looked.run(f"{CARD}.map.lines.length") == 0
    assert "No change is drawn. How much of a change of estimates is noise" in looked.page.inner_text("#flows-note")
    assert looked.page.inner_text("#flows-ranking") == ""
    looked.run("tapveil.set({ flows: 'list' })")
    assert looked.run(f"{CARD}.rows.length") > 100, "the list has all"


def test_sums_over_all_times_of_a_pair_have_the_noise_of_each_of_them(world: Path, look: Opener) -> None:
    looked = look(world, view(numbers="measurements", mode="metro", date="saturday", compare="weekday"))
    limit = f"""(each) => {{
      const [now, then] = [2, 6].map((number) => ({{ number, each, table: {CARD}.found.table }}));
      now.table.clocks = Array(9).fill('00:00');
      return {CARD}.pairs.limit(now, then, 100);
    }}"""
    assert looked.run(limit, False) == pytest.approx(3 * looked.run(limit, True))


def test_places_that_trips_link_stand_together_without_a_map(pairs: Path, look: Opener) -> None:
    looked = look(pairs, view(date="all", flows="matrix"))
    assert looked.run(f"{CARD}.ordered") == "linked"
    order = """() => {
      const labels = ['a', 'b', 'c', 'd', 'e', 'f'], ends = [[0, 3], [3, 1], [1, 5], [5, 2], [2, 4]];
      const all = ends.map(([from, to]) => ({ from, to, count: 100 }));
      return linkedOrder([0, 1, 2, 3, 4, 5], { all }).join('');
    }"""
    assert looked.run(order) in ("031524", "425130"), "the places of a line in their order, from one end or the other"
