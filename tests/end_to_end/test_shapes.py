"""Shapes from the plan to the file: an agency's header, its scripts, the published counts; and tampering shows."""

from __future__ import annotations

import csv
import json
import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import tapveil
from tapveil.base.errors import InputFileError, PlanError
from tapveil.base.shape import Shape
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan, preset_text
from tapveil.published.shaped import shaped_files
from tapveil.verification.folder import verify_folder
from tests.conftest import write_csv
from tests.property.test_world import PLACES
from tests.property.test_world import PLAN as WORLD
from tests.support.commands import command
from tests.support.tampering import codes, refresh, resum

NODE = "YEAR_MONTH,DAY_TYPE,TIME_PER_HOUR,PT_TYPE,PT_CODE,TOTAL_TAP_IN_VOLUME,TOTAL_TAP_OUT_VOLUME"
OD = "YEAR_MONTH,DAY_TYPE,TIME_PER_HOUR,PT_TYPE,ORIGIN_PT_CODE,DESTINATION_PT_CODE,TOTAL_TRIPS"
"""The headers of the agency's own files."""
PAIRS = """
[[table]]
name = "od"
columns = ["tap_on_time", "tap_on_location", "tap_off_location"]
"""
OWN = """
title = "Taps by hour"
[[file]]
name = "hours.txt"
delimiter = ";"
header = false
missing = "n/a"
tables = { on = ["tap_on_time", "tap_on_location"], off = ["tap_off_time", "tap_off_location"] }
keys = { time = ["tap_on_time", "tap_off_time"], place = ["tap_on_location", "tap_off_location"] }
column = [
  { name = "network", value = "Port Vesper" },
  { name = "period", key = "month" },
  { name = "kind", key = "day_type", words = { weekday = "DWV" } },
  { name = "mode", key = "mode" },
  { name = "hour", key = "time" },
  { name = "stop", key = "place" },
  { name = "on", count = "on" },
  { name = "on_low", low = "on" },
  { name = "on_high", high = "on" },
  { name = "off", count = "off" },
]
"""


def plan_text(shapes: str = '"lta"') -> str:
    text = preset_text("station-hour")
    assert '# shapes = ["lta"]' in text
    return text.replace('# shapes = ["lta"]', f"shapes = [{shapes}]") + PAIRS


def write_trips(folder: Path) -> None:
    draw = np.random.default_rng(6)
    rows = []
    for number in range(9_000):
        day = date(2016, 8, 1 + int(draw.integers(31)))
        hour, (start, end) = int(draw.choice([7, 8, 17])), draw.choice(["10009", "EW1", "A,B"], 2)
        off = ("", "") if number % 9 == 0 else (f"{hour + 1:02d}:10", end)
        rows.append((f"c{number}", "bus", day, f"{hour:02d}:05", start, *off))
    columns = [f"tap_{end}_{what}" for end in ("on", "off") for what in ("time", "location")]
    write_csv(folder / "trips/august.csv", rows, ("card_id", "mode", "trip_date", *columns))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    write_trips(folder)
    (folder / "own.toml").write_text(OWN)
    plan = Plan.parse(plan_text('"lta", "own.toml"'), base=folder)
    tapveil.release(plan, folder / "out", in_ledger=False)
    return folder / "out"


@pytest.fixture
def copy(published: Path, tmp_path: Path) -> Path:
    shutil.copytree(published, tmp_path / "copy")
    return tmp_path / "copy"


def test_files_have_the_headers_of_the_agency_and_the_folder_verifies(published: Path) -> None:
    assert verify_folder(published).findings == []
    assert (published / "shapes/lta/transport_node.csv").read_text().splitlines()[0] == NODE
    assert (published / "shapes/lta/origin_destination.csv").read_text().splitlines()[0] == OD
    assert json.loads((published / "privacy.json").read_text())["versions"]["shapes"] == 2


def test_a_script_for_the_agencys_origins_and_destinations_makes_its_matrix(published: Path) -> None:
    """It reads whole hours, sums trips by pair for weekdays, and knows no tapveil."""
    matrix = Counter[tuple[str, str]]()
    with (published / "shapes/lta/origin_destination.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            year, month = row["YEAR_MONTH"].split("-")
            assert (int(year), int(month)) == (2016, 8)
            assert 0 <= int(row["TIME_PER_HOUR"]) <= 23
            assert row["DAY_TYPE"] in ("WEEKDAY", "WEEKENDS/HOLIDAY")
            assert row["PT_TYPE"] == "BUS"
            if row["DAY_TYPE"] == "WEEKDAY":
                matrix[row["ORIGIN_PT_CODE"], row["DESTINATION_PT_CODE"]] += int(row["TOTAL_TRIPS"])
    expected = Counter[tuple[str, str]]()
    for row in tapveil.open(published).table("od").where(day_type="weekday").rows():
        if row["tap_off_location"] != "UNKNOWN":
            expected[row["tap_on_location"], row["tap_off_location"]] += row["count"]
    assert matrix == expected
    assert ("A,B", "EW1") in matrix


def test_both_ends_are_in_one_row_with_the_published_counts_and_nothing_where_there_is_none(published: Path) -> None:
    release = tapveil.open(published)
    sides = {}
    for side in ("on", "off"):
        keys = ("month", "day_type", f"tap_{side}_time", "mode", f"tap_{side}_location")
        sides[side] = {tuple(row[key] for key in keys): row["count"] for row in release.table(f"taps_{side}").rows()}
    rows = {}
    with (published / "shapes/lta/transport_node.csv").open(newline="") as file:
        for month, kind, hour, mode, place, on, off in list(csv.reader(file))[1:]:
            label = {"WEEKDAY": "weekday", "WEEKENDS/HOLIDAY": "weekend"}[kind]
            rows[month, label, f"{int(hour):02d}:00", mode.lower(), place] = {"on": on, "off": off}
    known = {key for each in sides.values() for key in each if "-1" not in key and "UNKNOWN" not in key}
    assert set(rows) == known
    for side, counts in sides.items():
        assert {key: row[side] for key, row in rows.items()} == {key: str(counts.get(key, "")) for key in known}
    assert {row["on"] for row in rows.values()} >= {""}  # nobody taps on at 9, when some tap off


def test_a_shape_of_ones_own_has_its_delimiter_its_words_and_intervals(published: Path) -> None:
    lines = (published / "shapes/own/hours.txt").read_text().splitlines()
    assert lines[0].startswith("Port Vesper;2016-08;DWV;bus;")
    cells = {
        ("DWV" if row["day_type"] == "weekday" else "weekend", row["tap_on_time"], row["tap_on_location"]): row
        for row in tapveil.open(published).table("taps_on").rows()
    }
    for _, _, kind, _, hour, stop, *numbers in csv.reader(lines, delimiter=";"):
        row = cells.get((kind, hour, stop))
        shown = [str(row[name]) for name in ("count", "low", "high")] if row else ["n/a"] * 3
        assert numbers[:3] == shown
    assert any(";-1;UNKNOWN;" in line for line in lines)  # all cells: `complete` is not set


def test_the_data_dictionary_says_what_each_column_is_and_how_the_file_is_written(published: Path) -> None:
    package = json.loads((published / "datapackage.json").read_text())
    shaped = {each["path"]: each for each in package["resources"] if each["path"].startswith("shapes/")}
    assert set(shaped) == {
        "shapes/lta/transport_node.csv",
        "shapes/lta/origin_destination.csv",
        "shapes/own/hours.txt",
    }
    own = shaped["shapes/own/hours.txt"]
    assert own["dialect"] == {"header": False, "delimiter": ";"}
    assert own["schema"]["missingValues"] == ["n/a"]
    described = {field["name"]: field["description"] for field in own["schema"]["fields"]}
    assert "taps_on" in described["on"]
    assert "`time`" in described["hour"]


def test_a_number_a_word_or_a_file_that_does_not_follow_is_found(copy: Path) -> None:
    node = copy / "shapes/lta/transport_node.csv"
    text = node.read_text()
    node.write_text(text.replace("WEEKDAY", "weekday", 1))
    refresh(copy, rederive=False)
    resum(copy)
    assert "shape-differs" in codes(verify_folder(copy))
    node.unlink()
    resum(copy)
    assert "table-missing" in codes(verify_folder(copy))
    node.write_text(text)
    (copy / "shapes/lta/more.csv").write_text("a\n")
    resum(copy)
    assert "file-unexpected" in codes(verify_folder(copy))


@pytest.mark.parametrize(
    ("shapes", "more", "words"),
    [
        ('"ltaa"', "", "did you mean `lta`"),
        ('"lta"', 'name = "station-hour"|name = "station-hour"\nlayout = "opal"', "use the shape `opal`"),
    ],
)
def test_a_shape_that_there_is_not_or_that_has_no_tables_is_refused(shapes: str, more: str, words: str) -> None:
    text = plan_text(shapes)
    old, _, new = more.partition("|")
    with pytest.raises(PlanError, match=words):
        Plan.parse(text.replace(old, new) if old else text)


BY_MONTH = """
title = "By month"
[[file]]
name = "NAME"
tables = { od = ["tap_on_time", "tap_on_location", "tap_off_location"] }
MORE
column = [
  { name = "kind", key = "day_type" },
  { name = "mode", key = "mode" },
  { name = "hour", key = "tap_on_time" },
  { name = "from", key = "tap_on_location" },
  { name = "to", key = "tap_off_location" },
  COLUMN
]
"""
MONTH, ACROSS = '{ name = "month", key = "month" }', '{ name = "{month}", count = "od" }'


@pytest.mark.parametrize(
    ("name", "more", "column", "words"),
    [
        ("od-{month}.csv", 'across = "month"', ACROSS, "`month` is in a column or in the name"),
        ("od-{month}.csv", 'sum = ["month"]', '{ name = "n", count = "od" }', "`month` is in a column or in the name"),
        ("od-{days.first}.csv", "", f'{MONTH}, {{ name = "n", count = "od" }}', "`days` in its name"),
        ("od.csv", 'across = "days"', f'{MONTH}, {{ name = "{{days.first}}", count = "od" }}', "`across`: `days`"),
        ("od.csv", "", f'{MONTH}, {{ name = "n", share = "od", within = ["week"] }}', "a share within `week`"),
    ],
)
def test_a_shape_whose_rows_lack_a_key_that_it_splits_by_is_refused_before_anything_is_paid_for(
    published: Path, name: str, more: str, column: str, words: str
) -> None:
    text = BY_MONTH.replace("NAME", name).replace("MORE", more).replace("COLUMN", column)
    manifest = tapveil.open(published).manifest
    with pytest.raises(ValueError, match=re.escape(words)):
        shaped_files(manifest.model_copy(update={"shapes": {"own": Shape.model_validate(tomllib.loads(text))}}))


def test_two_columns_of_a_table_are_not_one_key(published: Path) -> None:
    keys = 'keys = { from = ["tap_on_location", "tap_off_location"] }'
    text = BY_MONTH.replace("NAME", "od.csv").replace("MORE", keys).replace('tap_on_location" }', 'from" }')
    text = text.replace('  { name = "to", key = "tap_off_location" },\n', "")
    shape = Shape.model_validate(tomllib.loads(text.replace("COLUMN", f'{MONTH}, {{ name = "n", count = "od" }}')))
    manifest = tapveil.open(published).manifest.model_copy(update={"shapes": {"own": shape}})
    with pytest.raises(ValueError, match="no file can be made"):
        shaped_files(manifest)


def test_a_shape_that_does_not_fit_is_refused_before_a_trip_is_read(tmp_path: Path) -> None:
    by_day = plan_text().replace('"month", "day_type"]', '"month", "date"]')
    with pytest.raises(PlanError, match=r"`lta`: transport_node\.csv has no column for `date`"):
        _ = PublicInputs.of(Plan.parse(by_day, base=tmp_path)).sha256
    plan = Plan.parse(plan_text('"own.toml"'), base=tmp_path)
    with pytest.raises(InputFileError, match=r"there is no shape .*own\.toml"):
        _ = PublicInputs.of(plan).shapes
    (tmp_path / "own.toml").write_text("title =")
    with pytest.raises(InputFileError, match="not valid TOML"):
        _ = PublicInputs.of(plan).shapes
    (tmp_path / "own.toml").write_text(OWN.replace('name = "hour"', 'nam = "hour"'))
    with pytest.raises(InputFileError, match=r"own\.toml: file\.0\.column\.4"):
        _ = PublicInputs.of(plan).shapes


ORIGINS = """
title = "Origins"
[[file]]
name = "origins.csv"
tables = { on = ["tap_on_time", "tap_on_location"] }
column = [
  { name = "mode", key = "mode" },
  { name = "time", key = "tap_on_time" },
  { name = "from", key = "tap_on_location" },
  { name = "trips", count = "on" },
]
"""


def without_estimates() -> str:
    """Every cell of origins over all days: there are no ends to estimate whole trips from."""
    text = WORLD.format(unit="trip", bounds="", per_cell="")
    pairs = '[[table]]\nname = "od"\ncolumns = ["tap_on_location", "tap_off_location"]\n'
    partition, shapes = 'partition = ["mode", "date"]', 'partition = ["mode"]\nshapes = ["origins.toml"]'
    assert pairs in text
    assert partition in text
    return text.replace(pairs, "").replace(partition, shapes)


def without_places() -> str:
    return re.sub(r"\[places\].*\n(path.*\n)?", "", preset_text("mta"))


def without_a_table() -> str:
    return preset_text("tides").replace('shapes = ["tides"]', 'shapes = ["queensland"]')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (without_estimates, "shapes: they are made from estimates, and there are none: tables have one end"),
        (without_places, "shapes: they need `title` of each place; name a list of places under [places]"),
        (without_a_table, "shapes: `queensland`: no file can be made"),
    ],
)
@pytest.mark.parametrize("only", [["--plan-only"], ["--json"]])
def test_check_says_what_a_release_would_refuse_about_shapes(
    text: Callable[[], str], words: str, only: list[str], tmp_path: Path
) -> None:
    """These are no trips: it is said before they are read."""
    for path in (tmp_path / "trips.csv", tmp_path / "trips/trips.csv"):
        write_csv(path, [], ("nothing",))
    write_csv(tmp_path / "places.csv", PLACES, ("name", "mode", "latitude", "longitude"))
    (tmp_path / "origins.toml").write_text(ORIGINS)
    (tmp_path / "plan.toml").write_text(text())
    with pytest.raises(PlanError) as refused:
        tapveil.release(Plan.read(tmp_path / "plan.toml"), tmp_path / "out", in_ledger=False)
    assert words in str(refused.value)
    said = command(tmp_path, ["check", "plan.toml", *only])
    assert (said.code, said.out) == (2, "")
    assert str(refused.value) in said.err
