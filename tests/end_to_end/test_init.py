"""`tapveil init`: an export in, a plan out that can be checked and released without being edited."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tapveil.plan import Plan
from tests import exports
from tests.conftest import write_csv
from tests.end_to_end.test_release import run
from tests.unit.test_timetable import FEED, write_feed

Make = Callable[[Path], Path]

KNOWN: dict[str, tuple[Make, dict[str, str], str]] = {
    "opal": (
        exports.opal,
        {"card": "card_id", "date": "trip_date", "mode": "mode", "tap_on_time": "tap_on_time"},
        "It looks like Opal.",
    ),
    "oyster": (
        exports.oyster,
        {"mode": "SubSystem", "date": "daytype", "tap_off_time": "ExTime", "tap_off_location": "EndStation"},
        "It looks like Oyster.",
    ),
    "bikes": (
        exports.bikes,
        {"date": "started_at", "tap_off_time": "ended_at", "tap_on_location": "start_station_name"},
        "It looks like bike share.",
    ),
    "european": (exports.european, {"tap_on_time": "Entry Time", "tap_off_location": "Exit Station"}, "%d.%m.%Y %H:%M"),
    "taps": (exports.taps, {"card": "card_no", "tap": "tap_type", "tap_on_time": "tap_time"}, "A row is one tap"),
}
VALUES = re.compile(r"Central|Redfern|Folly|Mary's|Königsplatz|人民广场|徐家汇|3085\d+|\b\d\d:\d\d:\d\d\b|PAYG")


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_export_needs_no_editing(name: str, tmp_path: Path) -> None:
    make, columns, says = KNOWN[name]
    trips = make(tmp_path)
    done = run("init", str(trips), "-o", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    assert "looks at the data" in done.stdout
    assert not VALUES.search(done.stdout + done.stderr), "no value of a trip is shown"
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    assert not VALUES.search(text), "nor written into the plan"
    plan = Plan.read(tmp_path / "plan.toml")
    assert columns.items() <= {ours: each.column for ours, each in plan.source.columns.items()}.items()
    assert text.count("# sure: ") + text.count("# likely: ") + text.count("# a guess: ") >= len(columns)
    checked = run("check", "plan.toml", "--json", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    tables = json.loads(checked.stdout)["data"]["tables"]
    assert all(table["trip_share"] > 0.1 for table in tables), "no table would be empty"
    released = run("release", "plan.toml", "-o", "out", "--no-ledger", cwd=tmp_path)
    assert released.returncode == 0, released.stderr
    assert run("verify", "out", cwd=tmp_path).returncode == 0


def test_words_for_missing_are_proposed(tmp_path: Path) -> None:
    exports.oyster(tmp_path)
    run("init", "oyster.csv", cwd=tmp_path)
    columns = Plan.read(tmp_path / "plan.toml").source.columns
    assert columns["tap_off_time"].missing == ("0",)
    assert columns["tap_off_location"].missing == ("Unfinished",)


def test_tides_with_stations_from_the_feed_beside_it(shared_data: Path, tmp_path: Path) -> None:
    exports.tides(tmp_path, shared_data / exports.SCHEMA)
    stops = FEED["stops.txt"] + "s1,Central,-33.8,151.2,1,0,\ns2,Quay,-33.8,151.2,1,0,\n"
    write_feed(tmp_path, stops=stops)
    done = run("init", "fare_transactions.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "It looks like TIDES fare_transactions." in done.stdout
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.gtfs
    assert (plan.gtfs.path, plan.gtfs.match, plan.source.timezone) == ("gtfs.zip", "stop_id", "Australia/Sydney")
    assert plan.source.taps
    assert set(plan.source.taps.on) == {"Enter", "Transfer entrance"}
    assert plan.source.missing("tap_on_location") == {"NA", "NaN"}
    assert plan.coarsen.location["*"].gtfs == "station_name"
    assert run("check", "plan.toml", cwd=tmp_path).returncode == 0


def test_the_bike_share_month(shared_data: Path, tmp_path: Path) -> None:
    """A real month, without editing; no column of it but times and stations comes out again."""
    shutil.copy(shared_data / "bikeshare" / "JC-201510-citibike-tripdata.csv", tmp_path / "bikes.csv")
    assert run("init", "bikes.csv", cwd=tmp_path).returncode == 0
    assert run("check", "plan.toml", cwd=tmp_path).returncode == 0
    assert run("ledger", "start", "plan.toml", "--epsilon", "8", "--delta", "1e-6", cwd=tmp_path).returncode == 0
    released = run("release", "plan.toml", "-o", "out", cwd=tmp_path)
    assert released.returncode == 0, released.stderr
    assert run("verify", "out", cwd=tmp_path).returncode == 0
    read = set(Plan.read(tmp_path / "plan.toml").named_columns.values())
    assert read == {"Start Time", "Stop Time", "Start Station Name", "End Station Name"}
    rows = (tmp_path / "out" / "data" / "on_time.csv").read_text().splitlines()
    assert len(rows) > 500


def test_the_cairns_timetable(shared_data: Path, tmp_path: Path) -> None:
    """Its dictionary, and a release of a city laid on its stops: pure ε, no threshold but the cut."""
    feed = shared_data / "gtfs" / "cairns_gtfs.zip"
    done = run("demo", "city", "--gtfs", str(feed), "--trips", "60000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Spent: epsilon = 8, delta = 0" in done.stdout
    assert run("verify", "city/published", cwd=tmp_path).returncode == 0
    checked = run("check", "city/plan.toml", cwd=tmp_path)
    assert "on_time_location: of 49,129 listed cells" in checked.stdout
    assert re.findall(r"noise alone; ([0-9,]+) trips are in cells that are not listed", checked.stdout) == ["0"] * 3
    manifest = json.loads((tmp_path / "city" / "published" / "privacy.json").read_text())
    assert (manifest["mechanism"], manifest["delta"], manifest["places"]) == ("dictionary", 0, "areas.geojson")


@pytest.mark.parametrize(
    ("prepare", "arguments", "code", "message"),
    [
        (lambda d: None, ("nothing.csv",), 3, "there are no trips at nothing.csv"),
        (lambda d: (d / "t.csv").write_text(""), ("t.csv",), 3, "t.csv is empty"),
        (lambda d: (d / "t.csv").write_text("a,b\n"), ("t.csv",), 3, "a header but no trips"),
        (lambda d: (d / "t.csv").write_text("a,b\n1,2\n"), ("t.csv",), 3, "no column was recognised"),
        *(
            (lambda d, line=line: (d / "t.csv").write_text(f"{line}\n{line}\n"), ("t.csv",), 3, "seems to be a trip")
            for line in (
                "9,07:31,Some Wharf",
                "card-98765432140891,bus,Mr Miller time start 15:42:00,Stop 0",
                "bus,08/08/2016 08:17 AM,Stop at Wharf 0",
                "Monday,Stop at Wharf,Exit terminal",
            )
        ),
        (lambda d: (d / "t.csv").write_text("a,b\n1,2\n", encoding="utf-16"), ("t.csv",), 3, "is UTF-16"),
        (lambda d: (d / "plan.toml").write_text("mine"), ("t.csv",), 2, "plan.toml already exists"),
        (lambda d: None, ("t.csv", "-o", "no/plan.toml"), 2, "there is no folder no"),
        (lambda d: exports.opal(d, 100), ("opal.csv", "--gtfs", "none.zip"), 3, "none.zip"),
    ],
)
def test_what_cannot_be_drafted(
    prepare: Callable[[Path], object], arguments: tuple[str, ...], code: int, message: str, tmp_path: Path
) -> None:
    prepare(tmp_path)
    before = sorted(tmp_path.iterdir())
    done = run("init", *arguments, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert sorted(tmp_path.iterdir()) == before, "nothing is left behind"


def test_a_folder_of_daily_files(tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    first = exports.opal(tmp_path).read_text().splitlines()
    header = first[0].split(",")
    for number in range(2):
        rows = [line.split(",") for line in first[1 + number : 2001 : 2] if line.count(",") == 6]
        order = list(reversed(range(7))) if number else list(range(7))
        write_csv(
            tmp_path / "days" / f"{number}.csv",
            [[row[index] for index in order] for row in rows],
            [header[index] for index in order],
        )
    done = run("init", "days", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'path = "days/*"' in (tmp_path / "plan.toml").read_text()
    assert run("check", "plan.toml", cwd=tmp_path).returncode == 0


def test_the_holder_sees_where_refused_rows_stand(tmp_path: Path) -> None:
    """Mixed date formats: file and line, no value; copies of rows are counted."""
    header = ["card", "date", "tap_on_time", "tap_on_location"]
    rows = [[str(n), "2016-08-08", f"{n % 24:02d}:00", "Central"] for n in range(300)]
    rows[16][1], rows[170][1], rows[201] = "08/08/2016", "8.8.16", ["only", "two"]
    write_csv(tmp_path / "a.csv", rows, header)
    write_csv(tmp_path / "b.csv", [*rows[:2], ["x", "8/8/2016", "07:00", "Central"]], header)
    plan = """
[release]
name = "where"
title = "Where"
partition = ["date"]
[source]
path = ["a.csv", "b.csv"]
max_refused = "5 %"
[source.columns]
card = "card"
date = "date"
tap_on_time = "tap_on_time"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "sbh"
[[table]]
name = "on"
columns = ["tap_on_time"]
epsilon = 1
delta = 1e-7
"""
    (tmp_path / "plan.toml").write_text(plan)
    done = run("check", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3  date cannot be read (first at, file and line or row: a.csv 18; a.csv 172; b.csv 4)" in done.stdout
    assert "1  line does not have the fields of the header (first at, file and line or row: a.csv 203)" in done.stdout
    assert "2 rows are copies of another row, card and all" in done.stdout
    assert "Central" not in done.stdout
    at = json.loads(run("check", "plan.toml", "--json", cwd=tmp_path).stdout)["data"]["rows_refused_at"]
    assert at["date cannot be read"] == [["a.csv", 18], ["a.csv", 172], ["b.csv", 4]]
