"""Releases of every shape: the page opens each of them, and shows its numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

import pytest

import tapveil
from tapveil.demo import make_city
from tapveil.plan import Plan, preset_text
from tests.browser.conftest import Opener
from tests.conftest import free_plan, write_csv

COLUMNS = ("mode", "date", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location", "card")
EVERYTHING = """(name) => {
  const found = [], view = tapveil.view, table = tapveil.release.tables.find((each) => each.name === name);
  table.indexParts();
  for (const key of table.parts.keys()) {
    const codes = key === "" ? [] : key.split(",").map(Number);
    const part = { ...view.part, ...Object.fromEntries(table.chosen.map((column, i) => [column, codes[i]])) };
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
    "from where to where": from_to,
    "everything suppressed": demo({}, size=300),
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
    for name in (table.name for table in plan.table):
        rows = [row for text in looked.run(EVERYTHING, name) for row in csv.DictReader(io.StringIO(text, newline=""))]
        shown = sorted(tuple(row.values()) for row in rows)
        cells = opened.table(name).to_arrow().to_pylist()
        assert shown == sorted(tuple(str(value) for value in cell.values()) for cell in cells)
    if shape == "everything suppressed":
        assert "Nothing was published" in looked.page.inner_text("#trouble")
