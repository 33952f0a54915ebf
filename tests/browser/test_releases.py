"""Releases of every shape: the page opens each of them, and shows its numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import tapveil
from tapveil.demo.city import make_city
from tapveil.internal.report.model.findings import findings
from tapveil.internal.report.view.page import html
from tapveil.plan.model import Plan, preset_text
from tapveil.published.explorer.page import page_files
from tests.browser.conftest import Opener
from tests.conftest import free_plan, write_csv

COLUMNS = ("mode", "date", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location", "card")
EVERYTHING = """(name) => {
  const found = [], view = tapveil.view, table = tapveil.release.tables.find((each) => each.name === name);
  for (const own of table.everyPart) {
    const part = { ...view.part, ...own };
    tapveil.set({ table, part, place: null, time: null, vs: null, find: "" });
    found.push(tapveil.cards.at(-1).csv());
  }
  return found;
}"""
"""All numbers of a table, part by part, as they would be downloaded."""


def trips(folder: Path, rows: int = 4_000, places: int = 6) -> None:
    """Made-up trips by rule: enough of them in few cells."""
    made = []
    for number in range(rows):
        on, off = number % places, (number * 7 + number // places) % places
        hour = 6 + number % 5
        made.append(
            ("bus", f"2025-03-0{3 + number % 2}", f"{hour:02d}:10", f"P{on}", f"{hour:02d}:40", f"P{off}", number // 2)
        )
    write_csv(folder / "trips.csv", made, COLUMNS)


def free(tables: Mapping[str, list[str]], partition: tuple[str, ...] = ("mode", "date")) -> Callable[[Path], Plan]:
    def made(folder: Path) -> Plan:
        trips(folder)
        used = {*partition, *(column for columns in tables.values() for column in columns)}
        columns = {name: name for name in COLUMNS if name in used}
        return free_plan(folder, "trips.csv", columns, dict(tables), partition)

    return made


def demo(change: Mapping[str, str], size: int = 60_000) -> Callable[[Path], Plan]:
    def made(folder: Path) -> Plan:
        path = make_city(folder / "city", trips=size, days=[date(2025, 3, 3), date(2025, 3, 4)])
        text = path.read_text(encoding="utf-8")
        for old, new in change.items():
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        return Plan.read(path)

    return made


def from_to(folder: Path) -> Plan:
    """Pairs of places by parts of the day and over the whole of it, as the preset `od` has them."""
    trips(folder)
    tables = preset_text("od")[preset_text("od").index("[[table]]") :]
    columns = "\n".join(f'{name} = "{name}"' for name in COLUMNS[:-1])
    (folder / "plan.toml").write_text(
        '[release]\nname = "od"\ntitle = "From where to where"\n'
        f'[source]\npath = "trips.csv"\n[source.columns]\n{columns}\n'
        '[privacy]\nunit = "trip"\nneighbours = "replace"\nmechanism = "gaussian"\nepsilon = 20\ndelta = "1e-6"\n'
        f"{tables}",
        encoding="utf-8",
    )
    return Plan.read(folder / "plan.toml")


LEVELS = {
    'name = "on_time_location"\ncolumns = ["tap_on_time", "tap_on_location"]\nepsilon = 2': (
        'name = "on_time_location"\ncolumns = ["tap_on_time", "tap_on_location"]\n'
        'levels = [{ name = "fine" }, { name = "hour", time_minutes = 60 }, '
        '{ name = "part", times = ["06:00", "19:00"] }]\n'
        "epsilon = 2"
    )
}
SHAPES: dict[str, Callable[[Path], Plan]] = {
    "opal layout": demo({'# layout = "opal"': 'layout = "opal"'}),
    "one time table": free({"only": ["tap_on_time"]}),
    "one place table": free({"only": ["tap_on_location"]}),
    "no day": free({"both": ["tap_on_time", "tap_on_location"]}, ("mode",)),
    "no partition": free({"both": ["tap_on_time", "tap_on_location"], "place": ["tap_off_location"]}, ()),
    "modes as a table": free({"modes": ["mode"], "days": ["date"]}, ()),
    "totals alone": free({"total": []}, ("mode", "date")),
    "one total": free({"place": ["tap_off_location"], "total": []}, ()),
    "from where to where": from_to,
    "everything suppressed": demo({}, size=300),
    "all but totals suppressed": demo(
        {
            "# In total: ": '[[table]]\nname = "total"\ncolumns = []\nepsilon = 8\ndelta = "1/8000000"\n\n# In total: ',
        },
        size=300,
    ),
    "card-days": demo({'unit = "trip"': 'unit = "card-day"\ntrips_per_day = 2\nwithout_card = "refuse"'}),
    "several levels": demo(LEVELS),
    "gaussian": demo(
        {
            'mechanism = "sbh"': 'mechanism = "gaussian"\nepsilon = 8\ndelta = "7.5e-7"',
            "\nepsilon = 1\n": "\n",
            "\nepsilon = 2\n": "\n",
            'delta = "1/8000000"': "",
        }
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_page_shows_every_number_of_a_release(shape: str, tmp_path: Path, look: Opener) -> None:
    plan = SHAPES[shape](tmp_path)
    folder = tapveil.release(plan, tmp_path / "published", in_ledger=False).path
    looked, opened = look(folder), tapveil.open(folder)
    for name in (table.name for table in plan.detailed):
        rows = [row for text in looked.run(EVERYTHING, name) for row in csv.DictReader(io.StringIO(text, newline=""))]
        shown = sorted(tuple(row.values()) for row in rows)
        cells = opened.table(name).to_arrow().to_pylist()
        assert shown == sorted(tuple(str(value) for value in cell.values()) for cell in cells)
    if shape == "all but totals suppressed":
        assert len(opened.totals.cells) > 0
        assert "Every count that this page could draw was too small" in looked.page.inner_text("#trouble")
    elif "total" in plan.tables and len(plan.table) > 1:
        totals = looked.run(
            "[...tapveil.release.total.found.values()].map((each) => [each.count, each.low, each.high])"
        )
        numbers = [opened.totals.cells[name].tolist() for name in ("count", "low", "high")]
        assert sorted(map(tuple, totals)) == sorted(zip(*numbers, strict=True))
        assert "trips in total" in looked.page.inner_text("#summary")
    if shape == "everything suppressed":
        assert "Nothing was published" in looked.page.inner_text("#trouble")


# --- what a page must not say -----------------------------------------------------------------------------------------


def regions(folder: Path) -> Plan:
    """Places and the regions that they lie in; a region and a place may have the same name."""
    trips(folder)
    write_csv(folder / "regions.csv", [(f"P{n}", "North" if n < 3 else "P5") for n in range(6)], ("place", "region"))
    columns = "\n".join(f'{name} = "{name}"' for name in COLUMNS[:-1])
    levels = 'levels = [{ name = "fine" }, { name = "wide", location = "region" }]'
    (folder / "plan.toml").write_text(
        '[release]\nname = "wide"\ntitle = "Places and regions"\n'
        f'[source]\npath = "trips.csv"\n[source.columns]\n{columns}\n[coarsen]\ntime_minutes = 60\n'
        '[coarsen.wider.region."*"]\nlookup = "regions.csv"\nfrom = "place"\nto = "region"\n'
        '[privacy]\nunit = "trip"\nneighbours = "replace"\nmechanism = "gaussian"\nepsilon = 20\ndelta = "1e-6"\n'
        '[[table]]\nname = "on_location"\ncolumns = ["tap_on_location"]\n'
        f'[[table]]\nname = "on_time_location"\ncolumns = ["tap_on_time", "tap_on_location"]\n{levels}\n',
        encoding="utf-8",
    )
    return Plan.read(folder / "plan.toml")


def test_wider_areas_are_not_taken_for_places(tmp_path: Path, look: Opener) -> None:
    folder = tapveil.release(regions(tmp_path), tmp_path / "published", in_ledger=False).path
    wide = next(name for name in tapveil.open(folder).tables if name.startswith("on_time_location") and "wide" in name)
    looked = look(folder, f"#table={wide}&place=North")
    assert "not published: 0 to" not in looked.page.inner_text("#summary"), "no table has North over the whole day"
    looked = look(folder, f"#table={wide}&place=P1")
    assert "other areas" in looked.page.inner_text("#summary") or "select a time" in looked.page.inner_text("#summary")
    rows = csv.DictReader(io.StringIO(looked.run("tapveil.cards.at(-1).csv()"), newline=""))
    assert {row["tap_on_location"] for row in rows} == {"North", "P5"}, "no row is made up for a place of another table"


def test_a_cell_that_is_on_no_list_is_not_called_small(tmp_path: Path, look: Opener) -> None:
    trips(tmp_path)
    days = ("2025-03-03", "2025-03-04")
    write_csv(
        tmp_path / "cells.csv", [("bus", day, f"P{n}") for day in days for n in range(5)], COLUMNS[:2] + COLUMNS[3:4]
    )
    plan = free_plan(
        tmp_path, "trips.csv", {name: name for name in COLUMNS[:4]}, {"on": ["tap_on_location"]}, ("mode", "date")
    )
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    listed = text.replace('"sbh"', '"dictionary"').replace('delta = "1/8000000"', 'cells = "cells.csv"')
    (tmp_path / "plan.toml").write_text(listed, encoding="utf-8")
    plan = Plan.read(tmp_path / "plan.toml")
    folder = tapveil.release(plan, tmp_path / "published", in_ledger=False).path
    looked = look(folder)
    assert "in the cells of a public list" in looked.page.inner_text("#lead")
    assert "if it is on the list; otherwise not counted" in looked.page.inner_text("#noise")


def test_bins_of_other_lengths_are_read_by_the_minute(tmp_path: Path, look: Opener) -> None:
    trips(tmp_path)
    columns = {name: name for name in COLUMNS[:-1]}
    tables = {"on": ["tap_on_time"], "off": ["tap_off_time"]}
    free_plan(tmp_path, "trips.csv", columns, tables, ("mode", "date"))
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    wide = text.replace('columns = ["tap_off_time"]', 'columns = ["tap_off_time"]\nlevel = { time_minutes = 60 }')
    (tmp_path / "plan.toml").write_text(wide, encoding="utf-8")
    folder = tapveil.release(Plan.read(tmp_path / "plan.toml"), tmp_path / "published", in_ledger=False).path
    looked = look(folder, "#table=on&date=2025-03-03")
    looked.page.locator("#profile").scroll_into_view_if_needed()
    x, y = looked.run(
        "(() => { const p = tapveil.cards[1], box = p.plot.getBoundingClientRect();"
        "const { first, last, left, width, right } = p.x;"
        "return [box.left + left + ((605 - first) / (last - first)) * (width - left - right), box.top + 100]; })()"
    )
    looked.page.mouse.move(x, y)
    off = {
        row["tap_off_time"]: row["count"]
        for row in tapveil.open(folder).table("off").to_arrow().to_pylist()
        if str(row["date"]) == "2025-03-03"
    }
    said = looked.page.inner_text("#tip")
    assert "10:00 to 11:00" in said
    assert f"{off['10:00']:,} trips" in said


def test_all_days_together_are_not_called_a_day(tmp_path: Path, look: Opener) -> None:
    plan = free({"place": ["tap_on_location"]}, ("mode",))(tmp_path)
    folder = tapveil.release(plan, tmp_path / "published", in_ledger=False).path
    page = look(folder, "#place=P1").page
    assert "all days together" in page.inner_text("#summary")
    assert "whole day" not in page.inner_text("main")


def test_a_column_called_place_is_not_the_places(tmp_path: Path, look: Opener) -> None:
    rows = [(f"2025-03-0{3 + n % 2}", f"P{n % 3}", "Northside" if n % 2 else "Southside") for n in range(900)]
    write_csv(tmp_path / "trips.csv", rows, ("date", "stop", "place"))
    columns = {"date": "date", "tap_on_location": "stop", "place": "place"}
    plan = free_plan(tmp_path, "trips.csv", columns, {"on": ["tap_on_location"]}, ("place", "date"))
    folder = tapveil.release(plan, tmp_path / "published", in_ledger=False).path
    looked = look(folder)
    assert looked.run("tapveil.release.places") == ["P0", "P1", "P2"]
    looked.page.select_option("#pick-place", "1")
    again = look(folder, "#" + looked.run("location.href").split("#")[1])
    assert again.page.inner_text("main") == looked.page.inner_text("main")
    assert again.run("tapveil.view.place") is None


def test_bounds_on_cards_are_said(tmp_path: Path, look: Opener) -> None:
    folder = tapveil.release(SHAPES["card-days"](tmp_path), tmp_path / "published", in_ledger=False).path
    assert "at most 2 trips a day of each card" in look(folder).page.inner_text("#lead")


def test_seventy_thousand_places_are_drawn(tmp_path: Path, look: Opener) -> None:
    """As many as no list of arguments of a function can hold."""
    import benchmarks.page as made

    shape = made.made_up(50_000)
    names = [f"Place {number}" for number in range(70_000)]
    count = len(names)
    one = {"mode": ["bus"] * count, "date": ["2025-03-03"] * count}
    for side in ("on", "off"):
        shape[f"{side}_location"] = pa.table({**one, f"tap_{side}_location": names, "count": [40] * count})
    text = page_files(made.manifest_of_bins(), {"description": "", "resources": []}, shape, [], None)["explorer.html"]
    (tmp_path / "explorer.html").write_text(text, encoding="utf-8")
    looked = look(tmp_path, "#table=on_location&mode=bus")
    assert looked.run("tapveil.cards[0].rows.length") == count


# --- real trips -------------------------------------------------------------------------------------------------------

BIKES = """
[release]
name = "bikes"
title = "Jersey City bike share, October 2015"
partition = []
[source]
path = "trips.csv"
[source.columns]
date = "Start Time"
tap_on_time = "Start Time"
tap_on_location = "Start Station Name"
tap_off_time = "Stop Time"
tap_off_location = "End Station Name"
[coarsen]
time_minutes = 60
[places]
path = "places.csv"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 8
delta = "7.5e-7"
"""


def test_the_page_and_the_report_of_a_month_of_real_trips(tmp_path: Path, shared_data: Path, look: Opener) -> None:
    source = shared_data / "bikeshare" / "JC-201510-citibike-tripdata.csv"
    (tmp_path / "trips.csv").symlink_to(source)
    with source.open(encoding="utf-8", newline="") as file:
        stations = {
            row["Start Station Name"]: (row["Start Station Latitude"], row["Start Station Longitude"])
            for row in csv.DictReader(file)
        }
    write_csv(
        tmp_path / "places.csv", [(name, *where) for name, where in stations.items()], ("name", "latitude", "longitude")
    )
    tables = {
        f"{side}_{kind}": [f"tap_{side}_{each}" for each in kind.split("_")]
        for side in ("on", "off")
        for kind in ("time", "location", "time_location")
    }
    text = BIKES + "".join(f'[[table]]\nname = "{name}"\ncolumns = {keys}\n' for name, keys in tables.items())
    (tmp_path / "plan.toml").write_text(text.replace("'", '"'), encoding="utf-8")
    plan = Plan.read(tmp_path / "plan.toml")
    folder = tapveil.release(plan, tmp_path / "published", in_ledger=False).path
    looked = look(folder)
    assert looked.page.is_visible("#map")
    for name in tables:
        shown = [row for each in looked.run(EVERYTHING, name) for row in csv.DictReader(io.StringIO(each, newline=""))]
        assert len(shown) == len(tapveil.open(folder).table(name)) > 10
    report = html(findings(plan, folder=folder))
    assert "CONFIDENTIAL: exact data" in report
