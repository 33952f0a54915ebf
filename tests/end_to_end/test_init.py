"""`tapveil init`: an export in, a plan out that can be checked and released without being edited."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapveil.base.progress import Silent
from tapveil.inputs.gtfs import read_feed
from tapveil.internal.draft import draft
from tapveil.plan.model import Plan
from tests.conftest import write_csv
from tests.support import exports
from tests.support.commands import run
from tests.unit.inputs.test_timetable import FEED, write_feed

Make = Callable[[Path, int], Path]

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
    trips = make(tmp_path, 20_000)
    done = run("init", str(trips), "-o", "plan.toml", "--yes", "--look", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    assert "looks at the data" in done.stdout
    assert not VALUES.search(done.stdout + done.stderr), "no value of a trip is shown"
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    assert not VALUES.search(text), "nor written into the plan"
    plan = Plan.read(tmp_path / "plan.toml")
    assert columns.items() <= {ours: each.column for ours, each in plan.source.columns.items()}.items()
    assert text.count("# sure: ") >= len(columns)
    assert plan.privacy.unit == ("card-day" if plan.source.card else "trip")
    assert plan.source.first_day or not plan.source.calendar
    checked = run("check", "plan.toml", "--json", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    tables = json.loads(checked.stdout)["data"]["tables"]
    assert all(table["trip_share"] > 0.1 for table in tables), "no table would be empty"
    released = run("release", "plan.toml", "-o", "out", "--no-ledger", cwd=tmp_path)
    assert released.returncode == 0, released.stderr
    assert run("verify", "out", cwd=tmp_path).returncode == 0


def test_words_for_missing_are_proposed(tmp_path: Path) -> None:
    exports.oyster(tmp_path)
    run("init", "oyster.csv", "--yes", cwd=tmp_path)
    columns = Plan.read(tmp_path / "plan.toml").source.columns
    assert columns["tap_off_time"].missing == ("0",)
    assert columns["tap_off_location"].missing == ("Unfinished",)


def test_tides_with_stations_from_the_feed_beside_it(shared_data: Path, tmp_path: Path) -> None:
    exports.tides(tmp_path, shared_data / exports.SCHEMA)
    stops = FEED["stops.txt"] + "s1,Central,-33.8,151.2,1,0,\ns2,Quay,-33.8,151.2,1,0,\n"
    write_feed(tmp_path, stops=stops)
    done = run("init", "fare_transactions.csv", "--yes", cwd=tmp_path)
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


def test_stops_that_lost_the_zeros_of_the_timetable_are_said_to(tmp_path: Path) -> None:
    write_feed(tmp_path, stops=FEED["stops.txt"] + "0071,Central,-33.8,151.2,1,0,\n0072,Quay,-33.8,151.2,1,0,\n")
    rows = [f"{n % 90:010d},2024-03-01 08:{n % 60:02d},{71 + n % 2}" for n in range(400)]
    (tmp_path / "t.csv").write_text("\n".join(["card,start_time,start_stop", *rows]) + "\n", encoding="utf-8")
    done = run("init", "t.csv", "--yes", cwd=tmp_path)
    assert "are the stop_id of gtfs.zip without the zeros in front" in " ".join(done.stdout.split())
    assert Plan.read(tmp_path / "plan.toml").gtfs is None


def test_the_bike_share_month(shared_data: Path, tmp_path: Path) -> None:
    """A real month, without editing or asking; no column of it but times and stations comes out again."""
    shutil.copy(shared_data / "bikeshare" / "JC-201510-citibike-tripdata.csv", tmp_path / "bikes-201510.csv")
    assert run("init", "bikes-201510.csv", cwd=tmp_path).returncode == 0
    assert run("check", "plan.toml", cwd=tmp_path).returncode == 0
    assert run("ledger", "start", "plan.toml", "--epsilon", "8", "--delta", "1e-6", cwd=tmp_path).returncode == 0
    released = run("release", "plan.toml", "-o", "out", cwd=tmp_path)
    assert released.returncode == 0, released.stderr
    assert run("verify", "out", cwd=tmp_path).returncode == 0
    read = set(Plan.read(tmp_path / "plan.toml").columns.named.values())
    assert read == {"Start Time", "Stop Time", "Start Station Name", "End Station Name"}
    rows = (tmp_path / "out" / "data" / "on_time.csv").read_text().splitlines()
    assert len(rows) > 40
    assert Plan.read(tmp_path / "plan.toml").privacy.looked_at_trips is False, "the days are in the name of the file"


def test_two_periods_in_a_row_are_released_from_one_budget(shared_data: Path, tmp_path: Path) -> None:
    """The commands of the README, for the first and the second half of a real month: the days are in the names."""
    real = (shared_data / "bikeshare" / "JC-201510-citibike-tripdata.csv").read_text(encoding="utf-8").splitlines()
    halves: dict[str, list[str]] = {"trips_20151001_20151015.csv": [], "trips_20151016_20151031.csv": []}
    for line in real[1:]:
        late = int(line.split("2015-10-", 1)[1][:2]) > 15
        halves[list(halves)[late]].append(line)
    for number, (name, lines) in enumerate(halves.items()):
        assert len(lines) > 5000
        (tmp_path / name).write_text("\n".join([real[0], *lines]) + "\n", encoding="utf-8")
        plan = f"plan-{number}.toml"
        assert run("init", name, "-o", plan, cwd=tmp_path).returncode == 0
        assert run("check", plan, cwd=tmp_path).returncode == 0
        if number == 0:
            assert run("ledger", "start", plan, "--epsilon", "2", "--delta", "1e-6", cwd=tmp_path).returncode == 0
        released = run("release", plan, "-o", f"published-{number}", cwd=tmp_path)
        assert released.returncode == 0, released.stderr
        assert run("verify", f"published-{number}", cwd=tmp_path).returncode == 0


def test_the_cairns_timetable(shared_data: Path, tmp_path: Path) -> None:
    """Its dictionary, and a release of a city laid on its stops: pure ε, no threshold but the cut."""
    feed = shared_data / "gtfs" / "cairns_gtfs.zip"
    done = run("demo", "city", "--gtfs", str(feed), "--trips", "60000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Privacy cost: epsilon = 8, delta = 0" in done.stdout
    assert run("verify", "city/published", cwd=tmp_path).returncode == 0
    checked = run("check", "city/plan.toml", cwd=tmp_path)
    assert "of 49,129 listed cells are empty" in checked.stdout
    assert re.findall(r"([0-9,]+) trips are in cells that are not listed", checked.stdout) == ["0"] * 3
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
    done = run("init", "days", "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'path = "days/*.csv"' in (tmp_path / "plan.toml").read_text()
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
    assert "3  date cannot be read (first at a.csv:18, a.csv:172, b.csv:4)" in done.stdout
    assert "1  the line does not match the header (first at a.csv:203)" in done.stdout
    assert "2 rows are duplicates of another row in every column that is read, including the card" in done.stdout
    assert "Central" not in done.stdout
    at = json.loads(run("check", "plan.toml", "--json", cwd=tmp_path).stdout)["data"]["rows_refused_at"]
    assert at["date cannot be read"] == [["a.csv", 18], ["a.csv", 172], ["b.csv", 4]]


def init(folder: Path, header: str, rows: list[str]) -> tuple[str, str]:
    """What is said of a small export, and the plan."""
    (folder / "t.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    (folder / "plan.toml").unlink(missing_ok=True)
    done = run("init", "t.csv", "--yes", "--look", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "plan.toml").read_text(encoding="utf-8")


def test_taps_in_unknown_words_are_not_taken_for_trips(tmp_path: Path) -> None:
    rows = [f"{n % 90:04d},2024-03-0{1 + n % 7} 08:{n % 60:02d},{'BA'[n % 2]},Stop {n % 5}" for n in range(2000)]
    said, plan = init(tmp_path, "card_id,time,direction,stop", rows)
    assert "A row is one tap: `direction` has few different values" in said
    assert "Which values of `direction` mean a tap on? Its commonest values are A, B." in said
    assert 'on = ["?"]' in plan
    refused = run("check", "plan.toml", cwd=tmp_path)
    assert (refused.returncode, "plan.toml has 2 open questions" in refused.stderr) == (2, True)
    filled = plan.replace('on = ["?"]', 'on = ["B"]', 1).replace('off = ["?"]', 'off = ["A"]')
    (tmp_path / "plan.toml").write_text(filled, encoding="utf-8")
    assert run("check", "plan.toml", cwd=tmp_path).returncode == 0
    for words in (("Check-In", "Check-Out"), ("Tag On", "Tag Off"), ("Entrée", "Sortie"), ("进站", "出站")):
        said, _ = init(
            tmp_path,
            "card_id,time,direction,stop",
            [row.replace(",B,", f",{words[0]},").replace(",A,", f",{words[1]},") for row in rows],
        )
        assert f"On is {words[0]}; off is {words[1]}" in said


def test_an_export_of_which_little_is_known_is_described_in_a_sentence(tmp_path: Path) -> None:
    rows = [f"{n % 40:010d},{7 + n % 5} x {n % 60:02d},tram" for n in range(400)]
    said, _ = init(tmp_path, "card,time,mode", rows)
    assert "A row is a trip: no column says otherwise." in said


def test_service_days_are_seen(tmp_path: Path) -> None:
    rows = [
        f"2024-03-0{1 + n % 5},{'25:15' if n % 9 == 0 else f'{7 + n % 9:02d}:{n % 60:02d}'},Stop {n % 3}"
        for n in range(3000)
    ]
    for header in ("service_date,tap_on_time,tap_on_stop", "date,tap_on_time,tap_on_stop"):
        _, plan = init(tmp_path, header, rows)
        assert 'dates = "service"' in plan
        assert 'after_midnight = "continued"' in plan
        assert run("check", "plan.toml", cwd=tmp_path).returncode == 0
    by_day = [row.replace("25:15", "07:15") for row in rows]
    _, plan = init(tmp_path, "service_date,tap_on_time,tap_on_stop", by_day)
    assert 'dates = "service"' not in plan, "a name alone does not make it so"


def test_a_day_called_one_of_service_is_a_question_in_the_plan(tmp_path: Path) -> None:
    rows = [f"2024-03-0{1 + n % 5},{(5 + n % 20) % 24:02d}:{n % 60:02d},Stop {n % 3}" for n in range(3000)]
    (tmp_path / "t.csv").write_text("\n".join(["service_date,tap_on_time,tap_on_stop", *rows]) + "\n")
    assert run("init", "t.csv", cwd=tmp_path).returncode == 0
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    days = text.replace('first_day = "?"', "first_day = 2024-03-01").replace('last_day = "?"', "last_day = 2024-03-05")
    (tmp_path / "plan.toml").write_text(days, encoding="utf-8")
    assert (
        "dates: Are the dates of `service_date` those of service days?"
        in run("check", "plan.toml", cwd=tmp_path).stderr
    )
    for answer in ("service", "calendar"):
        (tmp_path / "plan.toml").write_text(days.replace('dates = "?"', f'dates = "{answer}"'), encoding="utf-8")
        assert run("check", "plan.toml", cwd=tmp_path).returncode == 0
    _, taken = init(tmp_path, "service_date,tap_on_time,tap_on_stop", rows)
    assert "# Taken with --yes, not asked: Are the dates of `service_date`" in taken
    assert Plan.parse(taken, base=tmp_path).source.dates == "service"


def test_a_word_for_no_card_is_proposed_as_missing(tmp_path: Path) -> None:
    rows = [
        f"{'PAPER' if n % 12 == 0 else f'{n % 400:08d}'},2024-03-0{1 + n % 5} {7 + n % 9:02d}:{n % 60:02d},Stop {n % 3}"
        for n in range(3000)
    ]
    said, _ = init(tmp_path, "card,tap_on_time,tap_on_stop", rows)
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.source.columns["card"].missing == ("PAPER",)
    assert plan.privacy.without_card == "own-unit"
    assert "`PAPER` is no card (assumed with --yes, not asked)" in " ".join(said.split())


def test_a_time_zone_is_never_guessed(tmp_path: Path) -> None:
    rows = [f"2024-03-0{1 + n % 5}T{7 + n % 9:02d}:{n % 60:02d}:00 +1000,Stop {n % 3}" for n in range(3000)]
    said, plan = init(tmp_path, "tap_on_time,tap_on_stop", rows)
    assert "In which time zone are the trips" in said
    assert "timezone: In which time zone" in run("check", "plan.toml", cwd=tmp_path).stderr
    filled = plan.replace('timezone = "?"', 'timezone = "Australia/Brisbane"')
    (tmp_path / "plan.toml").write_text(filled, encoding="utf-8")
    checked = run("check", "plan.toml", cwd=tmp_path)
    assert "Days: 5, from 2024-03-01 to 2024-03-05." in checked.stdout


def test_of_two_readings_days_that_are_close_together_are_likelier(tmp_path: Path) -> None:
    """The first week of March, month first; every day could be a month as well. What is not read is said."""
    rows = [f"03/{4 + n % 7:02d}/2024 {1 + n % 9}:{n % 60:02d} PM,Stop {n % 3},{n}" for n in range(3000)]
    said, plan = init(tmp_path, "start time,start station,odometer", rows)
    assert "%m/%d/%Y %I:%M %p" in plan
    assert "Not read: odometer." in said


def test_a_stop_at_which_somebody_boarded_is_no_time(tmp_path: Path) -> None:
    rows = [f"{n % 90:010d},2024-03-0{1 + n % 7} 0{5 + n % 5}:{n % 60:02d},Stop {n % 9}" for n in range(400)]
    _, plan = init(tmp_path, "card,boarded at,boarded at stop", rows)
    assert 'tap_on_time = "boarded at"' in plan
    assert 'tap_on_location = "boarded at stop"' in plan


@pytest.mark.parametrize("name", ["card_id|trip_date", "card mode", "customer day"])
def test_a_card_is_nothing_else(tmp_path: Path, name: str) -> None:
    """Whatever else its name says: a plan that publishes it would be refused."""
    rows = [[f"2016{1 + n % 12:02d}{1 + n % 28:02d}", "07:31", f"stop {n % 5}"] for n in range(300)]
    path = tmp_path / "trips.csv"
    path.write_text("\n".join([f"{name},tap_on_time,tap_on_location", *map(",".join, rows)]) + "\n")
    found = draft(str(path), tmp_path / "plan.toml", progress=Silent()).found
    assert [ours for ours, guess in found.columns.items() if guess.column == name] == ["card"]


def test_a_card_may_be_a_hash(tmp_path: Path) -> None:
    moments = [datetime(2024, 3, 1 + n % 3, 7 + n % 9) for n in range(2000)]
    hashes = [hashlib.sha256(str(n % 300).encode()).digest() for n in range(2000)]
    table = {"card_hash": pa.array(hashes, pa.binary()), "started_at": moments, "start_station": ["A", "B"] * 1000}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    assert run("init", "t.parquet", "--yes", cwd=tmp_path).returncode == 0
    assert Plan.read(tmp_path / "plan.toml").source.card == "card_hash"
    assert run("release", "plan.toml", "-o", "out", "--no-ledger", cwd=tmp_path).returncode == 0


def test_the_holder_hears_of_stops_and_words_that_nothing_knows(tmp_path: Path) -> None:
    """A feed of another city, a lookup with holes, a word for off that no row has."""
    rows = [f"{n:04d},2016-08-08 08:{n % 60:02d},Enter,{'abx'[n % 3]}" for n in range(900)]
    (tmp_path / "t.csv").write_text("\n".join(["card,at,what,stop", *rows]) + "\n")
    write_feed(tmp_path)
    plan = """
[release]
name = "who"
title = "Who"
partition = ["date"]
[source]
path = "t.csv"
shape = "taps"
[source.taps]
on = "Enter"
off = "Leave"
[source.columns]
card = "card"
date = "at"
tap = "what"
tap_time = "at"
tap_location = "stop"
[coarsen.location."*"]
gtfs = "stop_name"
[gtfs]
path = "gtfs.zip"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 8
delta = 1e-6
[[table]]
name = "on"
columns = ["tap_on_location"]
[[table]]
name = "off"
columns = ["tap_off_location"]
"""
    (tmp_path / "plan.toml").write_text(plan)
    said = run("check", "plan.toml", cwd=tmp_path).stdout
    assert "tap_on_location: 2 stops, with 67 % of trips, are not in the public lists, and are UNKNOWN" in said
    assert "No row is a tap off according to [source.taps], so nothing is counted in off" in said
    (tmp_path / "plan.toml").write_text(plan.replace('on = "Enter"', 'on = "Entry"'))
    assert "no row is a tap on or a tap off" in run("check", "plan.toml", cwd=tmp_path).stdout


def test_areas_are_proposed_for_which_tables_are_not_empty(shared_data: Path, tmp_path: Path) -> None:
    """Few trips at many stops: stations would be empty, hexagons are not."""
    shutil.copy(shared_data / "gtfs" / "cairns_gtfs.zip", tmp_path / "gtfs.zip")
    stops = sorted(read_feed(tmp_path / "gtfs.zip").stops)
    rows = [f"{n:05d},2014-06-0{2 + n % 3} 08:{n % 60:02d},{stops[7 * n % len(stops)]}" for n in range(6000)]
    said, plan = init(tmp_path, "card_id,tap_on_time,tap_on_stop", rows)
    assert "h3 = " in plan
    assert "and areas were chosen by counting" in said
    tables = json.loads(run("check", "plan.toml", "--json", cwd=tmp_path).stdout)["data"]["tables"]
    assert all(table["trip_share"] > 0.4 for table in tables if table["name"] == "on_location")
