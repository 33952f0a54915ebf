"""The holder's report: its numbers are those of plain code, it is its owner's alone, and hostile names are text."""

from __future__ import annotations

import json
import re
import stat
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from tapveil.base.atomic import OWNER_READS, write_new
from tapveil.base.errors import FolderError, PlanError, TripDataError, UsageError
from tapveil.base.numbers import percent, three_digits
from tapveil.base.progress import Silent, Stage
from tapveil.cli.app import app
from tapveil.counting.counter import count
from tapveil.demo import city as demo_city
from tapveil.inputs.public import PublicInputs
from tapveil.internal.comparison import compare as comparing
from tapveil.internal.comparison.compare import ALL, remade
from tapveil.internal.confidential import NOTICE, check_destination, write_internal
from tapveil.internal.outlook import Outlook, outlook, outlook_of
from tapveil.internal.report.model.accuracy import Errors
from tapveil.internal.report.model.advice import actions
from tapveil.internal.report.model.findings import Findings, findings
from tapveil.internal.report.model.same_trips import NEVER, as_many_missed
from tapveil.internal.report.model.suppression import MOST_COLUMNS, MOST_ROWS
from tapveil.internal.report.view.page import html
from tapveil.plan.model import Plan, preset_text
from tapveil.privacy.distribution import mean_error
from tapveil.veil.release import release
from tests.conftest import BUS, TRAIN, free_plan, levelled_plan, opal_plan, write_csv
from tests.end_to_end import test_taps as taps
from tests.support.commands import run

OPAL = {"on_time": "tap_on_time", "on_location": "tap_on_location", "off_time": "tap_off_time"}
CARD_DAY = ('unit = "trip"', 'unit = "card-day"\ntrips_per_day = 2\nwithout_card = "refuse"')
HOSTILE = '<script>alert("1")</script>\'"><img src=x onerror=alert(1)> & \u202eevil'


@pytest.fixture(scope="module", autouse=True)
def _two_totals() -> Iterator[None]:
    """Noise takes its time: two totals are enough to compare."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(comparing, "EPSILONS", (Fraction(4), Fraction(8)))
        yield


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_city.make_city(tmp_path_factory.mktemp("city") / "demo", trips=20_000, seed=5)


@pytest.fixture(scope="module")
def released(city: Path) -> Path:
    return release(Plan.read(city), city.parent / "published", in_ledger=False).path


@pytest.fixture(scope="module")
def found(city: Path, released: Path) -> Findings:
    return findings(Plan.read(city), folder=released)


@pytest.fixture(scope="module")
def page(found: Findings) -> Reader:
    return Reader(html(found))


@pytest.fixture(scope="module")
def foreseen(city: Path) -> Findings:
    return findings(Plan.read(city))


class Reader(HTMLParser):
    """What a page holds: its elements, and its tables by their captions."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.tables: dict[str, list[list[str]]] = {}
        self.actions: list[str] = []
        self.words = ""
        self._caption: str | None = None
        self._rows: list[list[str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.words = re.sub(r"\s+", " ", self.words)  # as a browser shows it
        self.actions = [re.sub(r"\s+", " ", words) for words in self.actions]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open.append(tag)
        if tag == "table":
            self._caption, self._rows = "", []
        elif tag == "tr":
            self._rows.append([])
        elif tag == "li" and "ol" in self._open:
            self.actions.append("")
        elif tag in ("th", "td"):
            self._rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass
        if tag == "table":
            assert self._caption
            self.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.words += data
        if "ol" in self._open and "li" in self._open:
            self.actions[-1] += data
        if "caption" in self._open[-1:]:
            self._caption = data
        elif "th" in self._open or "td" in self._open:
            self._rows[-1][-1] += data

    def row(self, caption: str, *names: str) -> dict[str, str]:
        """The row that begins with these words, by its headings."""
        (rows,) = (rows for name, rows in self.tables.items() if name.startswith(caption))
        (row,) = (row for row in rows if tuple(row[: len(names)]) == names)
        return dict(zip(rows[0], row, strict=True))


# --- the numbers are those of plain code ------------------------------------------------------------------------------


def plainly_read(city: Path) -> tuple[pd.DataFrame, dict[str, int]]:
    """The trips of the city as pandas reads them, and what it could not read, by reason."""
    files = sorted((city.parent / "trips").glob("*.csv"))
    trips = pd.concat([pd.read_csv(file, dtype=str, keep_default_na=False) for file in files])
    garbage = trips.trip_date == ""
    no_day, no_mode = trips.trip_date == "30/02/2025", trips["mode"] == ""
    no_time = trips.tap_on_time == "2S:61"
    refused = {
        "the line does not match the header": int(garbage.sum()),
        "date cannot be read": int(no_day.sum()),
        "mode is missing": int((no_mode & ~garbage).sum()),
        "tap_on_time cannot be read": int(no_time.sum()),
    }
    return trips[~(garbage | no_day | no_mode | no_time)], refused


def plainly_counted(city: Path, name: str) -> pd.DataFrame:
    """A table of the opal plan, counted by DuckDB from what pandas read: its keys, and `true`."""
    trips, _ = plainly_read(city)  # noqa: RUF059  DuckDB sees it
    stops = pd.read_csv(city.parent / "stops.csv", dtype=str)  # noqa: F841  DuckDB sees it
    column = OPAL[name]
    place = (
        f"CASE WHEN mode = 'bus' THEN coalesce(postcode, 'UNKNOWN') WHEN {column} = '' THEN 'UNKNOWN' ELSE {column} END"
    )
    hour, minute = f"CAST(left({column}, 2) AS INT) % 24", f"CAST(right({column}, 2) AS INT) // 15 * 15"
    time = f"CASE WHEN {column} = '' THEN '-1' ELSE format('{{:02d}}:{{:02d}}', {hour}, {minute}) END"
    label = place if "location" in column else time
    counted = duckdb.sql(
        f"SELECT mode, trip_date AS date, {label} AS {column}, count(*) AS true FROM trips "
        f"LEFT JOIN stops ON stop_id = {column} GROUP BY ALL"
    )
    assert counted is not None
    return counted.df()


def held_against(city: Path, folder: Path, name: str, version: str = "data") -> pd.DataFrame:
    """Plain counts, beside what the folder has of them."""
    published = pd.read_csv(folder / version / f"{name}.csv", dtype={OPAL[name]: str})
    return plainly_counted(city, name).merge(published, on=["mode", "date", OPAL[name]], how="left")


def test_rows_are_accepted_and_refused_as_plain_code_has_it(city: Path, found: Findings, page: Reader) -> None:
    trips, refused = plainly_read(city)
    assert found.accepted == len(trips)
    assert f"{len(trips):,}trips accepted" in page.words
    assert {reason: number for reason, number in refused.items() if number} == found.outlook.refused
    for reason, number in found.outlook.refused.items():
        row = page.row("Refused rows", reason)
        assert row["rows"] == f"{number:,}"
        file, line = found.outlook.refused_at[reason][0]
        assert row["first at"].startswith(f"{file} {line:,}")


@pytest.mark.parametrize("name", OPAL)
def test_what_is_published_and_lost_is_what_plain_code_finds_in_the_folder(
    city: Path, released: Path, found: Findings, page: Reader, name: str
) -> None:
    cells = held_against(city, released, name)
    printed = cells["count"].notna()
    kept, trips = cells.true[printed].sum(), cells.true.sum()
    row = page.row("All tables", name)
    assert row["trips"] == f"{trips:,}"
    assert row["cells"] == f"{len(cells):,}"
    assert row["cells published"] == f"{printed.sum():,}"
    assert row["published"] == percent(kept / trips)
    lost = page.row("Trips in cells that are not published", name)
    assert lost["lost"] == f"{trips - kept:,}"
    parts = cells.assign(lost=cells.true.where(~printed, 0)).groupby(["mode", "date"])[["true", "lost"]].sum()
    worst = parts.lost.max()
    assert tuple(lost["part with the largest loss"].split(", ")) in set(parts.index[parts.lost == worst])
    places = found.tables[list(found.plan.tables).index(name)].suppression.places
    for group in places[0].worst if places else ():
        mode, place = group.label.split(" · ")
        here = cells[(cells["mode"] == mode) & (cells[OPAL[name]] == place)]
        assert (group.trips, group.lost) == (here.true.sum(), here.true[here["count"].isna()].sum())


@pytest.mark.parametrize("version", ["published", "consistent"])
@pytest.mark.parametrize("name", OPAL)
def test_errors_and_coverage_are_what_plain_code_finds_in_the_folder(
    city: Path, released: Path, found: Findings, page: Reader, name: str, version: str
) -> None:
    cells = held_against(city, released, name, {"published": "data"}.get(version, version))
    printed = cells[cells["count"].notna()]
    off = printed["count"] - printed.true
    row = page.row("Errors, measured", name, version)
    assert row["published counts"] == f"{len(printed):,}"
    assert row["mean error"] == three_digits(off.abs().mean())
    assert float(row["mean error with sign"].replace("−", "-")) == pytest.approx(off.mean(), abs=0.00501)
    assert row["90 % within"] == f"± {off.abs().sort_values().iloc[int(np.ceil(0.9 * len(off))) - 1]:.0f}"
    right = (printed.low <= printed.true) & (printed.true <= printed.high)
    assert row["published cells"] == percent(right.mean())
    totals = cells.groupby(["mode", "date"])[["true", "count"]].sum()
    assert row["error of a part’s total"] == percent(((totals["count"] - totals.true).abs() / totals.true).mean())
    if version == "published":
        absent = next(t.absent_95 for t in found.folder.manifest.tables if t.name == name)  # type: ignore[union-attr]
        hidden = cells.true[cells["count"].isna()]
        held = (right.sum() + (hidden <= absent).sum()) / len(cells)
        assert row["95 % intervals hold, all cells"] == percent(held)
        assert held >= 0.93, "promised is 0.95, and a mean over some hundred cells is close to it"


def test_hours_and_density_are_what_plain_code_counts(city: Path, found: Findings, page: Reader) -> None:
    cells, table = plainly_counted(city, "on_time"), found.tables[0]
    hours = cells.groupby(cells.tap_on_time.str[:2]).true.sum()
    assert {group.label: group.trips for group in table.suppression.hours if group.trips} == hours.to_dict()
    row = page.row("Share of trips in cells of at least", "on_time")
    for size in (2, 20, 100):
        assert row[f"≥ {size}"] == percent(cells.true[cells.true >= size].sum() / cells.true.sum())
    assert row["threshold"] == "34"
    curve = dict(table.density.points)
    for size, share in curve.items():
        assert share == pytest.approx(cells.true[cells.true >= size].sum() / cells.true.sum())


def test_expected_shares_are_those_of_check_and_of_draws(city: Path, foreseen: Findings, found: Findings) -> None:
    said = {table.name: table for table in outlook(Plan.read(city)).tables}
    page = Reader(html(foreseen))
    for table, real in zip(foreseen.tables, found.tables, strict=True):
        assert table.expected == pytest.approx(said[table.name].expected_trips, rel=1e-9)
        assert page.row("All tables", table.name)["published"] == percent(said[table.name].trip_share)
        expected, measured = table.accuracy.expected.errors, real.accuracy.published
        assert expected.numbers == pytest.approx(said[table.name].expected_cells, rel=1e-9)
        assert measured is not None
        if measured.errors.numbers > 100:
            spread = 3 * (expected.mean or 0) / measured.errors.numbers**0.5
            assert measured.errors.mean == pytest.approx(expected.mean, abs=2 * spread)


def test_the_plans_own_point_is_on_the_page(found: Findings, page: Reader) -> None:
    row = page.row("Share of what is counted", "sbh")
    assert row["ε = 8"] == f"{percent(found.comparison.own.worth[ALL].trip_share)} your plan"
    assert found.comparison.units == ("trip",)
    assert "your plan, ε = 8" in page.words
    assert "ε = 8" in page.words
    assert "δ = 7.5 · 10⁻⁷" in page.words


def counted_alone(plan: Plan) -> Outlook:
    """What `check` says, without its other looks at the trips."""
    counted = count(plan, memory="1GB", scratch=None, progress=Silent())
    return outlook_of(PublicInputs.of(plan), counted)


# --- every change can be written --------------------------------------------------------------------------------------


def toml(value: object) -> str:
    """A value in one line of TOML."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {toml(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value) if isinstance(value, str | bool) else str(value)


def made_by(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The levels of a table, by the names of the tables that they make."""
    return {"-".join(filter(None, [table["name"], level.get("name")])): level for level in table.get("levels", ())}


def written(text: str, how: str) -> str:
    """A plan with a change written into it, word for word as the report says it."""
    data = tomllib.loads(text)
    places = {f"[{name}]": part for name, part in data.items()}
    for table in data["table"]:
        made = made_by(table)
        places |= {table["name"]: table, " and ".join(made): table}
        places |= {f"entry of {name}": level for name, level in made.items()}
    words = re.sub("entry of `levels` that makes `", "`entry of ", how)
    words = re.sub("(?<=` and )`|`(?= and `)", "", words.replace("table of the levels ", ""))
    left_out = re.match("no table `([^`]*)`", words)
    data["table"] = [table for table in data["table"] if not left_out or table["name"] != left_out[1]]
    for table in data["table"] if "no epsilon and delta of their own" in words else ():
        del table["epsilon"], table["delta"]
    pieces = re.findall("`([^`]*)`", words)[bool(left_out) :]
    while pieces:
        upto = next(number for number, piece in enumerate(pieces) if piece in places)
        assert upto, how
        for piece in pieces[:upto]:
            places[pieces[upto]].update(tomllib.loads(piece))
        pieces = pieces[upto + 1 :]
    return "\n".join(f"{key} = {toml(value)}" for key, value in data.items())


def assert_all_can_be_written(found: Findings, text: str) -> set[str]:
    """Every change is accepted, those that are not ranked as well; one of each kind brings what is said of trips."""
    every = [*found.changes, *(change for table in found.tables for change in table.options.changes)]
    one_of_each = {change.kind: change for change in every}.values()
    for change in every:
        plan = Plan.parse(written(text, change.how), base=found.plan.base)
        assert plan.digest != found.plan.digest, change.how
        if change in one_of_each and found.plan.privacy.unit == "trip" and found.plan.release.layout != "opal":
            detailed = {table.name for table in plan.detailed}
            after = {each.name: each.expected_trips for each in counted_alone(plan).tables if each.name in detailed}
            brought = after[change.table] if change.table else sum(after.values())
            assert brought == pytest.approx(change.after, rel=1e-5), change.how
    return {change.what for change in every}


LEVELS = """
[[table]]
name = "on"
columns = ["tap_on_location"]
levels = [{ name = "fine" }, { name = "region", location = "region" }]
epsilon = 1
delta = 1e-6
[[table]]
name = "time"
columns = ["tap_on_time"]
levels = [{ name = "fine", weight = 3 }, { time_minutes = 60, name = "hours" }]
epsilon = 2
delta = 1e-6
[[table]]
name = "off"
columns = ["tap_off_time", "tap_off_location"]
level = { time_minutes = 30 }
epsilon = 1
delta = 1e-6
[[table]]
name = "end"
columns = ["tap_off_location"]
levels = [{ name = "only" }]
epsilon = 1
delta = 1e-6
"""
OD_REGIONS = {
    '# [coarsen.wider.region."*"] ': '[coarsen.wider.region."*"]',
    "# lookup": "lookup",
    '# from = "place"': 'from = "place"',
    '# to = "region"': 'to = "region"',
    "stop_id": "stop",
    '# { name = "region"': '{ name = "region"',
    "trips/*": "trips.csv",
}


def sparse_text(folder: Path, tables: str = "") -> str:
    """Some thousands of trips between sixty stops, all day, for the plan of the preset `od`, or for other tables."""
    places = [str(1000 + number) for number in range(60)]
    rows = [
        (
            "1",
            f"2025-03-0{3 + n % 2}",
            "train",
            f"{7 + n % 9:02}:{n * 7 % 60:02}",
            places[n * n % 59],
            "17:10",
            places[n % 60],
        )
        for n in range(3000)
    ]
    write_csv(folder / "trips.csv", rows)
    write_csv(folder / "stops.csv", [(place, place[:3]) for place in places], ("stop", "postcode"))
    write_csv(folder / "regions.csv", [(place, place[:2]) for place in places], ("place", "region"))
    text = preset_text("od")
    for old, new in OD_REGIONS.items():
        assert old in text, old
        text = text.replace(old, new)
    if tables:
        text = text[: text.index("[[table]]")].replace("epsilon = 8", "").replace("delta = 7.5e-7", "") + tables
        text = text.replace('tap_on_time = "', 'tap_off_time = "tap_off_time"\ntap_on_time = "').replace(
            '"gaussian"', '"sbh"'
        )
    return text


def test_a_change_that_is_advised_brings_what_is_said(city: Path, foreseen: Findings) -> None:
    assert_all_can_be_written(foreseen, city.read_text(encoding="utf-8"))
    assert {"bins", "parts", "mechanism", "tables"} <= {change.kind for change in foreseen.changes}
    assert list(foreseen.changes) == sorted(foreseen.changes, key=lambda change: -change.gain)
    assert 1 <= len(actions(foreseen)) <= 3


def test_changes_of_tables_with_levels_can_be_written_and_none_is_there_already(tmp_path: Path) -> None:
    text = sparse_text(tmp_path, LEVELS)
    found = findings(Plan.parse(text, base=tmp_path))
    said = assert_all_can_be_written(found, text)
    assert not [what for what in said if what.startswith("on-fine: region")], "on-region is that"
    assert {"end-only: region instead of single places", "time-fine: bins of 30 minutes instead of 15"} <= said
    assert any("level = { time_minutes = 30, location" in each.how for t in found.tables for each in t.options.changes)


def test_changes_of_the_preset_od_can_be_written(tmp_path: Path) -> None:
    text = sparse_text(tmp_path)
    assert assert_all_can_be_written(findings(Plan.parse(text, base=tmp_path)), text)


# --- other plans ------------------------------------------------------------------------------------------------------


def changed(city: Path, *changes: tuple[str, str]) -> Plan:
    return Plan.parse(changed_text(city, *changes), base=city.parent)


def changed_text(city: Path, *changes: tuple[str, str]) -> str:
    text = city.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def both_ways(plan: Plan, folder: Path) -> Findings:
    """A report of what is expected, and of a release: of both a page can be made."""
    assert NOTICE in html(findings(plan))
    return once_released(plan, folder)


def once_released(plan: Plan, folder: Path) -> Findings:
    published = release(plan, folder / "out", in_ledger=False).path
    found = findings(plan, folder=published)
    assert_is_sound(html(found))
    for table in found.tables:
        assert table.printed is not None
        assert abs(table.printed - table.expected_cells) < 6 * table.expected_cells**0.5 + 3
    return found


def assert_is_sound(page: str) -> None:
    read = Reader(page)
    allowed = (
        "html head meta title style body aside div header h1 p nav a main section h2 h3 span b ol ul li code figure"
    )
    allowed += " figcaption svg text path rect circle table caption thead tbody tr th td bdi footer"
    assert read.elements <= set(allowed.split())
    assert not {name for name in read.attributes if name.startswith("on") or name in ("style", "src")}
    assert "nan" not in re.sub(r"\w*nan\w+|\w+nan", "", page), "a number that is none"
    assert "Infinity" not in page


def test_cards_with_gaussian_noise(city: Path, tmp_path: Path) -> None:
    total = ('mechanism = "sbh"', 'mechanism = "gaussian"\nepsilon = 8\ndelta = "7.5e-7"')
    own = (("epsilon = 1\ndelta", "# delta"), ("epsilon = 2\ndelta", "# delta"))
    text = changed_text(city, CARD_DAY, total, *own)
    found = once_released(Plan.parse(text, base=city.parent), tmp_path)
    assert assert_all_can_be_written(found, text)
    page = Reader(html(found))
    assert found.comparison.units == ("card-day",)
    assert "For cards these are upper bounds" in page.words
    assert "cards" in page.row("All tables", "on_time")
    assert f"{found.outlook.left_out:,}trips beyond the bounds per card" in page.words
    assert all(table.accuracy.consistent is None for table in found.tables)
    assert not [change for change in found.changes if change.kind == "parts"]


CARD = """unit = "card"
trips_per_card = 2
without_card = "refuse"
epsilon = 4
delta = 1e-6"""
PLACES = 10


def plan_of_busy_cards(tmp_path: Path, most: int = 2, *, cards: int = 1000) -> Plan:
    """Every card has a trip at each of ten places, and the plan counts two of them, or so many."""
    rows = [(f"c{card}", f"P{place}") for card in range(cards) for place in range(PLACES)]
    write_csv(tmp_path / "trips.csv", rows, ("card_id", "place"))
    free_plan(tmp_path, "trips.csv", {"card": "card_id", "tap_on_location": "place"}, {"on": ["tap_on_location"]})
    text = (tmp_path / "plan.toml").read_text().replace('unit = "trip"', CARD.replace("= 2", f"= {most}"))
    text = text.replace('"sbh"', '"gaussian"').replace('epsilon = 1\ndelta = "1/8000000"', "weight = 1")
    return Plan.parse(text, base=tmp_path)


def test_what_the_bounds_of_a_card_leave_out_is_said_wherever_numbers_are_praised(tmp_path: Path) -> None:
    found = findings(plan_of_busy_cards(tmp_path))
    assert found.share > 0.999, "of what is counted, all is published"
    page = Reader(html(found))
    assert page.words.count("Before counting, 8,000 of 10,000 trips (80.0 %) are left out") == 2
    assert "8,000trips beyond the bounds per card, 80.0 %" in page.words
    assert "The mean error of a published count" in page.words
    assert "This does not include the 8,000 of 10,000 trips (80.0 %)" in page.words
    (words,) = page.actions
    assert "8,000 of 10,000 trips (80.0 %) are left out before counting" in words
    assert "Raise trips_per_card = 2 if" in words
    before, after = (plan_of_busy_cards(tmp_path, most).guarantee.mechanisms["on"] for most in (2, 4))
    off, least = (f"{three_digits(mean_error(each))}" for each in (after, before)), before.smallest_published
    assert "would be {} instead of {}".format(*off) in words, "what it costs"
    assert f"smallest published count {after.smallest_published} instead of {least}" in words


def test_bounds_that_leave_out_little_are_no_reason_to_change_them(tmp_path: Path) -> None:
    plan = plan_of_busy_cards(tmp_path, PLACES)
    with (tmp_path / "trips.csv").open("a") as file:
        file.write("c1,P1\n" * 40)
    (words,) = Reader(html(findings(plan))).actions
    assert words.startswith("No change is needed")
    assert "40 of 10,040 trips (0.4 %) are left out before that" in words


def test_of_paired_taps_the_share_left_out_is_a_lower_bound(tmp_path: Path) -> None:
    rows = [
        taps.tap(f"c{card}", f"{hour:02}:{minute}", action, stop)
        for card in range(30)
        for hour in range(8, 18)
        for minute, action, stop in (("00", "Enter", "A"), ("20", "Exit", "B"))
    ]
    write_csv(tmp_path / "taps.csv", rows, taps.HEADER)
    tables = {"on": ["tap_on_location"], "off": ["tap_off_location"], **taps.BOTH}
    for wanted, share in ((taps.BOTH, 0.8), (tables, 24 / 30)):
        found = findings(taps.plan(tmp_path, taps.DAY.replace("= 20", "= 2"), wanted))
        assert found.left_out is not None
        assert found.left_out.share == pytest.approx(share)
        assert "(at least 80.0 %) are left out" in Reader(html(found)).words


def test_tables_at_several_levels(tmp_path: Path) -> None:
    found = both_ways(levelled_plan(tmp_path), tmp_path)
    assert [table.name for table in found.tables][:3] == ["on_time", "on_time-hours", "on_time-peaks"]
    assert all(table.accuracy.consistent for table in found.tables)
    by_name = {table.name: table for table in found.tables}
    assert [group.label for group in by_name["on_time-peaks"].suppression.hours] == ["-1", "00:00", "06:00", "10:00"]
    assert list(by_name["on_time-hours"].options.widths) == [60, 120, 240, 1440]
    areas = {change.kind: change for table in found.tables for change in table.options.changes}["areas"]
    assert areas.how == '`location = "region"` in the entry of `levels` that makes `both-hours`'
    assert_all_can_be_written(found, (tmp_path / "plan.toml").read_text())


def test_a_folder_in_the_shape_of_the_opal_files(city: Path, tmp_path: Path) -> None:
    text = changed_text(city, ("# layout = ", "layout = "))
    found = once_released(Plan.parse(text, base=city.parent), tmp_path)
    assert assert_all_can_be_written(found, text)
    assert {change.kind for change in found.changes} <= {"bins", "areas", "mechanism", "tables"}
    assert all("[coarsen]" in change.how for change in found.changes if change.kind == "bins")


def plan_of_a_list(tmp_path: Path, rows: Sequence[Sequence[str]]) -> Plan:
    """Tap-on times of buses are listed, on three days; nothing is of trains."""
    write_csv(tmp_path / "trips.csv", rows)
    cells = [("bus", f"2016-08-{day:02}", f"{hour:02}:30") for day in (8, 9, 10) for hour in range(24)]
    write_csv(tmp_path / "cells.csv", cells, ("mode", "date", "tap_on_time"))
    text = opal_plan(tmp_path).base.joinpath("plan.toml").read_text()
    head, first, *_ = text.split("\n[[table]]\n")
    text = f"{head}\n[[table]]\n{first}".replace('mechanism = "sbh"', 'mechanism = "dictionary"')
    text = text.replace('delta = "1/8000000"', 'cells = "cells.csv"')
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    return Plan.read(tmp_path / "plan.toml")


def test_what_is_not_on_a_list_is_not_called_small(tmp_path: Path) -> None:
    plan = plan_of_a_list(tmp_path, [BUS] * 400 + [TRAIN] * 600)
    found = findings(plan, folder=release(plan, tmp_path / "out", in_ledger=False).path)
    (table,) = found.tables
    whole = table.suppression.whole
    assert (whole.lost, whole.unlisted, whole.small) == (600, 600, 0)
    page = Reader(html(found))
    assert "on_time loses most: 60.0 % of its trips are in cells that are not listed. The" in page.words
    assert "too small to be published" not in page.words
    assert "dense enough" not in page.words
    assert "Larger cells are not enough for on_time: 60.0 % of its trips" in page.words
    (words,) = page.actions
    assert words.startswith("Complete the lists of cells")
    assert "on_time (cells.csv) lacks the cells of 60.0 % of its trips" in words
    assert "not from the trips" in words, "a list that is made from trips is not public"
    row = page.row("Trips in cells that are not published", "on_time")
    assert (row["lost"], row["of these, not listed"], row["too small"]) == ("600", "600", "0")
    assert page.row("Share of trips in cells of at least", "on_time")["≥ 2"] == "40.0 %"


def test_of_a_list_what_is_too_small_is_called_so(tmp_path: Path) -> None:
    """Single trips all over the listed day, and one that is not listed: the list is not to blame."""
    singles = [(*BUS[:3], f"{hour:02}:31", *BUS[4:]) for hour in range(24)]
    found = findings(plan_of_a_list(tmp_path, [*singles, TRAIN]))
    whole = found.tables[0].suppression.whole
    assert whole.small > whole.unlisted == 1
    assert_all_can_be_written(found, (tmp_path / "plan.toml").read_text())
    assert "lists" not in {action.code for action in actions(found)}
    said = Reader(html(found)).words
    assert "in cells too small to be published, and 4.0 % of its trips are in cells that are not listed" in said


def test_a_list_of_cells(tmp_path: Path) -> None:
    """Only what is listed can be published, and noise alone is, too."""
    found = both_ways(plan_of_a_list(tmp_path, [BUS] * 40 + [TRAIN] * 30), tmp_path)
    (table,) = found.tables
    assert table.trips == 70
    assert table.kept == 40, "the bus is listed and busy; the train is not listed"
    assert table.accuracy.published is not None
    assert table.accuracy.published.held_in_all == pytest.approx(1, abs=0.2)
    assert table.printed > 1  # type: ignore[operator]
    assert table.options.widths == {}


@pytest.mark.parametrize(("copies", "falls"), [(1, True), (3, False)])
def test_more_epsilon_is_advised_where_it_publishes_more_alone(tmp_path: Path, copies: int, falls: bool) -> None:
    """Nothing below three is printed: of a cell with one trip wide noise prints more, of one with three less."""
    hours = [(*BUS[:3], f"{hour:02}:31", *BUS[4:]) for hour in range(24) for _ in range(copies)]
    plan = plan_of_a_list(tmp_path, hours)
    found = findings(remade(plan, privacy=plan.privacy.model_copy(update={"cut": 3})))
    first, last = (each.worth[ALL].trip_share for each in (found.curve[0], found.curve[-1]))
    assert (last < first) == falls
    page = Reader(html(found))
    said, (words,) = page.words, page.actions
    assert ("or a larger ε" in words) == ("A larger ε publishes more" in said) == (not falls)
    no_more = f"A larger ε than yours would publish no more ({percent(first)} at ε = 1, {percent(last)} at ε = 8)"
    assert (no_more in said) == ("A larger ε would make counts more accurate, but publish no more" in words) == falls


def test_nothing_refused_and_everything_suppressed(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [BUS, TRAIN])
    found = both_ways(opal_plan(tmp_path), tmp_path)
    page = Reader(html(found))
    assert "All 2 rows could be read" in page.words
    assert "Almost nothing is published" in page.words
    assert (found.share, found.refused, found.accepted) == (0, 0, 2)
    assert page.row("All tables", "on_time")["published"] == "0.0 %"
    assert page.row("Trips in cells that are not published", "on_time")["share lost"] == "100.0 %"


def test_a_release_that_would_stop_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [BUS] * 5 + [(*BUS[:3], "seven-ish", *BUS[4:])] * 5)
    opal_plan(tmp_path)
    done = CliRunner().invoke(app, ["report", str(tmp_path / "plan.toml"), "-o", str(tmp_path / "r.html")])
    assert done.exit_code == 1, done.output
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "A release would stop: more than 1 % of the rows cannot be read" in Reader(page).words
    assert "seven-ish" not in page, "no value of a refused row"


def test_more_modes_and_days_than_there_is_room_for(tmp_path: Path) -> None:
    rows = [
        (f"c{n}", f"2016-{1 + n // 28 % 6:02}-{1 + n % 28:02}", f"mode {n % 14:02}", "07:31", "A", "07:55", "B")
        for n in range(2000)
    ]
    write_csv(tmp_path / "trips.csv", rows)
    found = findings(opal_plan(tmp_path))
    strip = found.tables[0].suppression.parts
    assert strip is not None
    assert len(strip.rows) == MOST_ROWS
    assert len(strip.columns) <= MOST_COLUMNS
    assert strip.run == 3
    assert sum(group.trips for row in strip.groups for group in row if group) == 2000
    assert_is_sound(html(found))


def test_without_a_partition_there_is_no_strip(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [BUS] * 60 + [TRAIN] * 50)
    changes = {'partition = ["mode", "date"]': "partition = []", "[coarsen.location.bus]": '[coarsen.location."*"]'}
    found = findings(opal_plan(tmp_path, **changes))
    assert found.tables[0].suppression.parts is None
    assert_is_sound(html(found))


# --- for the holder alone ---------------------------------------------------------------------------------------------


def test_the_page_says_that_it_is_internal_loads_nothing_and_runs_nothing(found: Findings) -> None:
    page = html(found)
    assert_is_sound(page)
    assert page.count(NOTICE) >= 2
    assert Reader(page).words.index(NOTICE) < 200
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    policy = unescape(policy)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_nothing_of_it_shows_when_printed(found: Findings) -> None:
    secrets = [found, found.tables[0], found.tables[0].suppression, found.tables[0].accuracy, found.changes[0]]
    assert not any(re.search(r"\d\d\d", repr(each).split(" at 0x")[0]) for each in secrets)


def test_the_file_is_its_owners_alone_and_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_internal(path, "x", ".html")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="already exists"):
        write_internal(path, "y", ".html")
    with pytest.raises(UsageError, match="already exists"):  # also where it appears between looking and writing
        write_new(path, "y", OWNER_READS)
    assert path.read_text() == "x"
    (tmp_path / "link.html").symlink_to(tmp_path / "elsewhere.html")
    with pytest.raises(UsageError, match="already exists"):
        write_internal(tmp_path / "link.html", "y", ".html")
    with pytest.raises(UsageError, match=r"the folder of .* does not exist"):
        check_destination(tmp_path / "nowhere" / "report.html", ".html")
    with pytest.raises(UsageError, match=r"end in \.html"):
        check_destination(tmp_path / "report.txt", ".html")


def test_it_is_never_written_into_a_published_folder(released: Path, city: Path, tmp_path: Path) -> None:
    (tmp_path / "aside").symlink_to(released / "data")
    for path in (released / "r.html", released / "data" / "r.html", tmp_path / "aside" / "r.html"):
        with pytest.raises(UsageError, match="is inside the published folder"):
            check_destination(path, ".html")
    done = run("report", city, "-o", released / "r.html")
    assert done.returncode == 2
    assert "is inside the published folder published" in done.stderr
    assert not (released / "r.html").exists()


def test_a_folder_of_another_plan_is_refused(city: Path, released: Path, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="is the release `port-vesper`, and the plan makes `other`"):
        findings(changed(city, ('name = "port-vesper"', 'name = "other"')), folder=released)
    with pytest.raises(PlanError, match="made by another version of this plan"):
        findings(changed(city, ("time_minutes = 15 ", "time_minutes = 30 ")), folder=released)
    with pytest.raises(FolderError, match="is not a published folder"):
        findings(Plan.read(city), folder=tmp_path)


def test_a_folder_of_other_lists_or_other_trips_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [BUS] * 80 + [TRAIN] * 80)
    plan = opal_plan(tmp_path)
    folder = release(plan, tmp_path / "out", in_ledger=False).path
    write_csv(tmp_path / "trips.csv", [BUS] * 80)
    with pytest.raises(TripDataError, match="cells of on_time that these trips do not have"):
        findings(plan, folder=folder)
    with (tmp_path / "stops.csv").open("a") as file:
        file.write("1004,Fourth St,2020\n")
    with pytest.raises(PlanError, match="a public file that the plan names has changed"):
        findings(plan, folder=folder)


def test_a_folder_of_other_trips_with_the_same_cells_is_refused(tmp_path: Path) -> None:
    """Few cells are enough: no noise is as far off as half of all trips."""
    write_csv(tmp_path / "trips.csv", [BUS] * 800 + [TRAIN] * 800)
    plan = opal_plan(tmp_path)
    folder = release(plan, tmp_path / "out", in_ledger=False).path
    assert findings(plan, folder=folder).folder, "these very trips"
    write_csv(tmp_path / "trips.csv", [BUS] * 1600 + [TRAIN] * 1600)
    with pytest.raises(PlanError, match="cannot have been made from these trips: the counts of on_time differ"):
        findings(plan, folder=folder)


def test_a_folder_that_lacks_a_large_cell_of_these_trips_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [BUS] * 800)
    plan = opal_plan(tmp_path)
    folder = release(plan, tmp_path / "out", in_ledger=False).path
    write_csv(tmp_path / "trips.csv", [BUS] * 800 + [TRAIN] * 800)
    with pytest.raises(PlanError, match="cannot have been made from these trips"):
        findings(plan, folder=folder)


def test_intervals_that_miss_a_little_too_often_are_chance_and_far_too_often_are_not() -> None:
    rng = np.random.default_rng(5)
    for cells in (20, 300, 5000):
        missed = rng.binomial(cells, 0.05, 20_000)
        assert min(as_many_missed(int(each), cells) for each in np.unique(missed)) > 1e-7 > NEVER
        assert as_many_missed(cells, cells) < NEVER or cells < 10
    assert as_many_missed(500, 5000) < NEVER


class Named:
    """Keeps the names of the stages that it was told of."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    def stage(self, stage: Stage, *_: object, **__: object) -> AbstractContextManager[None]:
        self.stages.append(stage)
        return nullcontext()


def test_no_stage_tells_whether_a_row_was_refused(tmp_path: Path) -> None:
    """A log may be read by others: what is in it must not depend on a single row."""
    seen = []
    for name, rows in (("whole", [BUS] * 300), ("one refused", [BUS] * 300 + [(*BUS[:3], "late", *BUS[4:])])):
        (tmp_path / name).mkdir()
        write_csv(tmp_path / name / "trips.csv", rows)
        plan, told = opal_plan(tmp_path / name), Named()
        looked = outlook(plan, progress=told)
        assert len(looked.refused_at) == len(looked.refused) == (name != "whole")
        findings(plan, progress=told)
        seen.append(told.stages)
    assert seen[0] == seen[1]
    assert seen[0].count(Stage.LOOKING_AT_TRIPS) == 2, "somebody at the screen sees that something is going on"


WIDTHS = """[...document.querySelectorAll('%s')].map(each => each.getBoundingClientRect().width)"""
HEADINGS = """[...document.querySelectorAll('thead th')].map(each => each.getClientRects()[0].height)"""


def test_on_a_phone_and_a_tablet_plots_are_readable_and_the_page_does_not_scroll_sideways(
    found: Findings, tmp_path: Path, browser: Browser
) -> None:
    page = tmp_path / "report.html"
    page.write_text(html(found), encoding="utf-8")
    screen = browser.new_page()
    screen.goto(page.as_uri())
    for width in (390, 820):
        screen.set_viewport_size({"width": width, "height": 844})
        assert screen.evaluate("document.documentElement.scrollWidth") == width
        plots, boxes, panels = (screen.evaluate(WIDTHS % which) for which in (".plot svg", ".plot", ".panels svg"))
        assert len(plots) == 5, "plots across the page"
        assert min(plots) >= 560
        assert max(boxes) < width
        assert min(panels) > 0.9 * width, "one below the other, each with all the room"
        assert max(screen.evaluate(HEADINGS)) < 110, "no heading is a column of single words"
    screen.close()


def test_hostile_names_are_text(tmp_path: Path) -> None:
    name = 'trips"<b onload=x>&.csv'
    rows = [
        (f"c{n}", "2016-08-08", HOSTILE if n % 2 else "train", "07:31", HOSTILE, "late", HOSTILE) for n in range(40)
    ]
    write_csv(tmp_path / name, [*rows[:20], *([TRAIN] * 3000), *rows[20:]])
    plan = opal_plan(tmp_path, "*.csv", **{'title = "Tap-on': f"title = '''{HOSTILE}''' #"})
    (tmp_path / "stops.csv").rename(tmp_path / "stops.txt")
    plan = Plan.parse((tmp_path / "plan.toml").read_text().replace("stops.csv", "stops.txt"), base=tmp_path)
    page = html(findings(plan))
    assert_is_sound(page)
    words = Reader(page).words
    assert HOSTILE in words
    assert name in words
    assert "alert(1)>" not in page


def test_the_command_writes_the_report(city: Path, released: Path, tmp_path: Path) -> None:
    wanted = ["report", str(city), "--release", str(released), "-o", str(tmp_path / "report.html")]
    done = CliRunner().invoke(app, wanted)
    assert done.exit_code == 0, done.output
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o600
    assert f"{NOTICE} Do not publish it" in done.output
    assert not re.search(r"\d,\d\d\d", done.output), "no number of the trips in what may be a log"
    again = run("report", city, "-o", tmp_path / "report.html")
    assert again.returncode == 2
    assert "already exists" in again.stderr


def test_quantiles_and_means_of_errors_are_those_of_numpy() -> None:
    off = np.array([-7, -1, 0, 0, 0, 2, 2, 3, 30])
    errors = Errors.measured(off)
    assert errors.bias == pytest.approx(off.mean())
    assert errors.mean == pytest.approx(np.abs(off).mean())
    assert [errors.within(share) for share in (0.5, 0.9, 1.0)] == [2, 30, 30]
    assert Errors.measured(off[:0]).mean is None
