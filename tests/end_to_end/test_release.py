"""The whole path, through the command line, as a publisher walks it."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import frictionless
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.progress import Silent
from tapveil.base.vocabulary import NUMBERS, READER
from tapveil.counting.counter import count
from tapveil.counting.reveal import exact_counts
from tapveil.demo.city import make_city
from tapveil.plan.model import Plan
from tapveil.published.describe.metadata import METADATA
from tapveil.verification.folder import verify_folder
from tests.conftest import free_plan, opal_plan, write_csv
from tests.property.test_counting import cells
from tests.support.commands import run

TABLES = ["on_time", "on_location", "off_time", "off_location", "on_time_location", "off_time_location"]
RESTS = [f"{end}_time_location.by.{end}_{what}" for end in ("on", "off") for what in ("time", "location")]
"""Which tables lie in which, each with what it leaves of the coarser one."""


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Port Vesper at its default size, released by the demo command, in a process of its own."""
    folder = tmp_path_factory.mktemp("demo") / "city"
    command = [sys.executable, "-m", "tapveil", "demo", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert str(folder / "published") in done.stdout
    (folder.parent / "said").write_text(done.stdout, encoding="utf-8")
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_demo_has_56_parts_and_6_tables(city: Path) -> None:
    counted = count(Plan.read(city / "plan.toml"), memory="1GB", scratch=None, progress=Silent())
    assert sorted(counted.tables) == sorted(TABLES)
    for table in counted.tables.values():
        codes = table.packing.unpack(table.words)
        assert len(set(zip(codes["mode"].tolist(), codes["date"].tolist(), strict=True))) == 56
    published = rows(city / "published" / "data" / "on_location.csv")
    assert len({(row["mode"], row["date"]) for row in published}) == 56


def test_the_demo_ends_with_the_recommended_release_beside_the_papers(city: Path) -> None:
    said = (city.parent / "said").read_text(encoding="utf-8")
    heading, protects, *errors = said[said.index("published      journeys") :].splitlines()[:5]
    assert heading.split() == ["published", "journeys"]
    assert "a trip, 8" in protects
    assert "a card's day, 2" in protects
    hourly = [int(number) for number in re.findall(r"(\d+) %", errors[1])]
    assert hourly[1] < hourly[0] / 2
    assert "not published" in errors[2]
    assert tapveil.open(city / "journeys").manifest.is_world
    assert run("verify", city / "journeys").returncode == 0


def test_the_manifest_states_the_papers_parameters(city: Path) -> None:
    manifest = json.loads((city / "published" / "privacy.json").read_text())
    assert (manifest["epsilon"], manifest["delta"]) == (8, 7.5e-7)
    assert manifest["exact"] == {"epsilon": "8", "delta": "3/4000000"}
    assert [table["scale"] for table in manifest["tables"]] == [2, 2, 2, 2, 1, 1]
    thresholds = [f"{table['threshold']:.10f}" for table in manifest["tables"]]
    assert thresholds == ["34.1761985604"] * 4 + ["17.5880992802"] * 2


def test_the_folder_is_whole(city: Path) -> None:
    folder = city / "published"
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    data = {f"data/{table}.{kind}" for table in TABLES for kind in ("csv", "parquet")}
    beside = {f"consistent/{name}.csv" for name in (*TABLES, *RESTS)}
    others = {"README.md", "SHA256SUMS", "areas.geojson", "datapackage.json", "explorer.html", "privacy.json"}
    others |= {READER, "rider.html"}
    assert names == data | beside | others | {*METADATA}
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert sums.keys() == names - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_the_data_package_is_valid(city: Path) -> None:
    descriptor = city / "published" / "datapackage.json"
    package = json.loads(descriptor.read_text())
    assert package["$schema"].endswith("/2.0/datapackage.json")
    copies = [other for each in package["resources"] for other in each.get("alternates", ())]
    assert len(copies) == len(TABLES)
    listed = [*package["resources"], *copies]
    assert len(listed) == 2 * len(TABLES) + len(TABLES) + len(RESTS)
    for resource in listed:
        file = city / "published" / resource["path"]
        assert resource["bytes"] == file.stat().st_size
        assert resource["hash"] == "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest()
    report = frictionless.validate(str(descriptor))
    assert report.valid, report.flatten(["type", "note"])[:5]


def test_counts_are_sorted_possible_and_alike_in_csv_and_parquet(city: Path) -> None:
    for name in TABLES:
        csv_rows = rows(city / "published" / "data" / f"{name}.csv")
        keys = [tuple(value for column, value in row.items() if column not in NUMBERS) for row in csv_rows]
        assert keys == sorted(set(keys))
        assert min(int(row["count"]) for row in csv_rows) >= (18 if name.endswith("time_location") else 34)
        parquet = pq.read_table(city / "published" / "data" / f"{name}.parquet").to_pylist()
        assert [{key: str(value) for key, value in row.items()} for row in parquet] == csv_rows


def test_odd_names_come_through(city: Path) -> None:
    places = {row["tap_on_location"] for row in rows(city / "published" / "data" / "on_location.csv")}
    assert {"東門", 'The "Folly"', "O'Connell St, North", "Vesper Quay, No. 3 Wharf", "UNKNOWN"} <= places
    times = {row["tap_off_time"] for row in rows(city / "published" / "data" / "off_time.csv")}
    assert {"-1", "00:15", "07:30"} <= times


def test_nothing_of_a_card_or_a_suppressed_place_is_in_the_folder(tmp_path: Path) -> None:
    """A place with one trip, its card, its file: none of their texts may be in any byte of the folder."""
    crowd = [("77000001", "2016-08-08", "train", "08:00", "Central", "08:20", "Town Hall")] * 500
    rare = [("99887766", "2016-08-08", "train", "03:33", "Secret Siding", "03:50", "Hidden Halt")]
    write_csv(tmp_path / "whose-export-0815.csv", crowd + rare)
    opal_plan(tmp_path, "whose-export-0815.csv", **{"# synthetic": "synthetic"})
    done = run("release", "plan.toml", "--no-ledger", "-o", "published", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    everything = b"".join(path.read_bytes() for path in (tmp_path / "published").rglob("*") if path.is_file())
    names = " ".join(str(path) for path in (tmp_path / "published").rglob("*"))
    for secret in ("99887766", "77000001", "Secret", "Hidden", "03:30", "whose-export"):
        assert secret.encode() not in everything, secret
        assert secret not in names + done.stdout + done.stderr
    assert b"Central" in everything


def test_a_release_with_hardly_any_noise_verifies_too(tmp_path: Path) -> None:
    """Accounting finds no ε for a card of 28 trips there, so what follows by composition is stated."""
    write_csv(tmp_path / "trips.csv", [("1", "2016-08-08", "ferry", "08:00", "Quay", "08:20", "Pier")] * 9)
    opal_plan(tmp_path)
    plan = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    (tmp_path / "plan.toml").write_text(re.sub(r"(?m)^epsilon = [12]$", "epsilon = 20", plan), encoding="utf-8")
    assert run("release", "plan.toml", "--no-ledger", "-o", "published", cwd=tmp_path).returncode == 0
    cards = json.loads((tmp_path / "published" / "privacy.json").read_text(encoding="utf-8"))["whole_cards"]
    assert [card["epsilon"] for card in cards][-2:] == [28 * 60, 40 * 60]
    assert verify_folder(tmp_path / "published").findings == []


def test_a_part_with_nothing_published_leaves_no_trace(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [("1", "2016-08-08", "gondola", "08:00", "Quay", "08:20", "Pier")] * 3)
    opal_plan(tmp_path)
    assert run("release", "plan.toml", "--no-ledger", "-o", "published", cwd=tmp_path).returncode == 0
    assert not any(b"gondola" in path.read_bytes() for path in (tmp_path / "published").rglob("*") if path.is_file())
    assert rows(tmp_path / "published" / "data" / "on_time.csv") == []


def test_two_releases_differ_but_not_by_much(city: Path, tmp_path: Path) -> None:
    plan = Plan.read(city / "plan.toml")
    one, two = (tapveil.release(plan, tmp_path / name, in_ledger=False) for name in ("one", "two"))
    first, second = (release.sheet("on_location") for release in (one, two))
    assert not first.equals(second)
    totals = [int(np.sum(table.column("count").to_numpy())) for table in (first, second)]
    assert abs(totals[0] - totals[1]) < 0.01 * totals[0]


def test_the_opal_layout_is_the_published_one(city: Path, tmp_path: Path) -> None:
    text = (city / "plan.toml").read_text().replace("# layout", "layout")
    release = tapveil.release(Plan.parse(text, base=city), tmp_path / "published", in_ledger=False)
    headers = {path.stem: path.read_text().splitlines()[0] for path in (release.path / "data").glob("*.csv")}
    assert headers == {
        "time": "mode,date,tap,time,count",
        "loc": "mode,date,tap,loc,count",
        "time-loc": "mode,date,tap,time,loc,count",
    }
    places = rows(release.path / "data" / "loc.csv")
    assert {row["tap"] for row in places} == {"on", "off"}
    assert all(row["date"].isdigit() and len(row["date"]) == 8 for row in places)
    assert [tuple(row.values())[:4] for row in places] == sorted(tuple(row.values())[:4] for row in places)
    assert frictionless.validate(str(release.path / "datapackage.json")).valid


def test_the_real_opal_file_has_the_header_that_we_write(shared_data: Path) -> None:
    real = (shared_data / "opal" / "loc_20160808-14.csv").read_text().splitlines()[0]
    assert real == "mode,date,tap,loc,count"


def test_synthetic_rows_are_the_counts_again(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [("1", "2016-08-08", "train", "08:00", "A", "08:20", "B, C")] * 90)
    release = tapveil.release(
        opal_plan(tmp_path, **{"# synthetic": "synthetic"}), tmp_path / "published", in_ledger=False
    )
    for name in TABLES:
        counts = rows(release.path / "data" / f"{name}.csv")
        copies = rows(release.path / "synthetic" / f"{name}.csv")
        keys = [{k: v for k, v in row.items() if k not in NUMBERS} for row in counts]
        expected = [key for key, row in zip(keys, counts, strict=True) for _ in range(int(row["count"]))]
        assert copies == expected
        assert pq.read_metadata(release.path / "synthetic" / f"{name}.parquet").num_rows == len(expected)
    assert frictionless.validate(str(release.path / "datapackage.json")).valid


def test_same_seed_same_city(tmp_path: Path) -> None:
    for name, seed in (("one", 5), ("two", 5), ("three", 6)):
        make_city(tmp_path / name, trips=3000, seed=seed)
    one, two, three = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*.*")
            if path.is_file()
        }
        for name in ("one", "two", "three")
    )
    assert one == two
    assert one != three


def test_csv_and_parquet_cities_are_the_same_city(tmp_path: Path) -> None:
    """But for rows that are broken: a text can garble a time, a typed file only its date."""
    counts: list[dict[tuple[str, ...], int]] = []
    for kind in ("csv", "parquet"):
        plan = Plan.read(make_city(tmp_path / kind, trips=20_000, file_format=kind))
        counted = count(plan, memory="1GB", scratch=None, progress=Silent())
        counts.append(dict(cells(counted.tables["on_time_location"])))
        assert 0 < counted.refusals.refused < 0.01 * counted.refusals.rows
    assert counts[0] == counts[1]


def test_real_bike_trips_are_released_without_who_made_them(tmp_path: Path, shared_data: Path) -> None:
    source = shared_data / "bikeshare" / "JC-201510-citibike-tripdata.csv"
    plan = f"""
[release]
name = "bikes"
title = "Bike trips by day"
[source]
path = "{source}"
[source.columns]
mode = {{ value = "bike" }}
date = "Start Time"
tap_on_time = "Start Time"
tap_on_location = "Start Station Name"
tap_off_time = "Stop Time"
tap_off_location = "End Station Name"
[coarsen]
time_minutes = 60
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "sbh"
[[table]]
name = "on_location"
columns = ["tap_on_location"]
epsilon = 2
delta = "1/8000000"
[[table]]
name = "on_time"
columns = ["tap_on_time"]
epsilon = 2
delta = "1/8000000"
[[table]]
name = "trips"
columns = ["tap_on_location", "tap_off_location"]
epsilon = 4
delta = "1/8000000"
"""
    (tmp_path / "plan.toml").write_text(plan)
    checked = run("check", "plan.toml", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert "19,264 rows read, 0 refused" in checked.stdout
    done = run("release", "plan.toml", "--no-ledger", "-o", "published", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    places = rows(tmp_path / "published" / "data" / "on_location.csv")
    assert {row["mode"] for row in places} == {"bike"}
    assert "Grove St PATH" in {row["tap_on_location"] for row in places}
    everything = b"".join(path.read_bytes() for path in (tmp_path / "published").rglob("*") if path.is_file())
    words = everything + (done.stdout + done.stderr + checked.stdout).encode()
    for secret in (b"Birth", b"Gender", b"Bike ID", b"User Type", b"Subscriber", b"Customer", b"24470"):
        assert secret not in words
    years = {row["Birth Year"] for row in rows(source)} - {""}
    values = {
        value
        for name in ("on_location", "on_time", "trips")
        for row in rows(tmp_path / "published" / "data" / f"{name}.csv")
        for key, value in row.items()
        if key not in NUMBERS
    }
    assert not years & values


def test_a_domain_of_a_million_million_points(tmp_path: Path) -> None:
    """Four free columns of 1 000 values, a million rows: the cost follows the rows, not the domain."""
    random = np.random.default_rng(1)
    columns = {name: pa.array(np.char.mod("v%03d", random.zipf(1.3, 1_000_000) % 1000)) for name in "abcd"}
    pq.write_table(pa.table(columns), tmp_path / "trips.parquet")
    plan = free_plan(tmp_path, "trips.parquet", {name: name for name in "abcd"}, {"all": list("abcd")})
    release = tapveil.release(plan, tmp_path / "published", in_ledger=False)
    published = release.sheet("all")
    assert 100 < published.num_rows < 1_000_000
    assert published.column_names == ["a", "b", "c", "d", "count", "low", "high"]


def test_check_says_what_would_survive(tmp_path: Path) -> None:
    crowd = [("1", "2016-08-08", "train", "08:00", "Central", "08:20", "Town Hall")] * 100
    scattered = [
        ("1", "2016-08-08", "train", f"{hour:02d}:{minute:02d}", f"S{minute}", "", "")
        for hour in range(24)
        for minute in range(60)
    ]
    broken = [("1", "never", "train", "08:00", "Central", "08:20", "Town Hall")] * 2
    write_csv(tmp_path / "trips.csv", crowd + scattered + broken)
    opal_plan(tmp_path)
    done = run("check", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "CONFIDENTIAL: exact data, not protected by differential privacy." in done.stdout
    assert "tap_on_time × tap_on_location would publish 6 % of trips: use wider bins or larger areas" in done.stdout
    assert "2  date cannot be read" in done.stdout
    data: dict[str, Any] = json.loads(run("check", "plan.toml", "--json", cwd=tmp_path).stdout)
    assert data["data"]["notice"] == "CONFIDENTIAL: exact data, not protected by differential privacy."
    tables = {table["name"]: table for table in data["data"]["tables"]}
    assert tables["on_time"]["trips"] == len(crowd) + len(scattered)
    assert tables["on_time_location"]["expected_cells"] == pytest.approx(1, abs=0.01)
    # 1 440 single trips in cells of their own, one cell of 100
    assert tables["on_time_location"]["density"]["50"] == pytest.approx(1 / tables["on_time_location"]["cells"])
    only = json.loads(run("check", "plan.toml", "--json", "--plan-only", cwd=tmp_path).stdout)
    assert only["data"] is None
    assert only["cost"]["epsilon"] == 8


def test_the_preset_can_be_written_out_and_read_back(tmp_path: Path) -> None:
    assert run("plan", "opal", "-o", "mine.toml", cwd=tmp_path).returncode == 0
    assert Plan.read(tmp_path / "mine.toml").digest == Plan.preset("opal").digest
    assert Plan.parse(run("plan", "opal").stdout).digest == Plan.preset("opal").digest
    assert run("plan", "opal", "-o", "mine.toml", cwd=tmp_path).returncode == 2
    assert run("plan", "opl").returncode == 2


def test_counting_spills_within_its_memory(tmp_path: Path) -> None:
    """Six million cells in 200 MB: it takes the disk, and leaves nothing there."""
    random = np.random.default_rng(2)
    columns = {name: pa.array(random.integers(0, 6000, 8_000_000)) for name in "ab"}
    pq.write_table(pa.table(columns), tmp_path / "trips.parquet")
    plan = free_plan(tmp_path, "trips.parquet", {name: name for name in "ab"}, {"all": list("ab")})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    counted = count(plan, memory="200MB", scratch=scratch, progress=Silent())
    assert int(exact_counts(counted.tables["all"]).sum()) == 8_000_000
    assert list(scratch.iterdir()) == []


def test_a_screen_that_fails_is_not_a_release_that_failed(tmp_path: Path) -> None:
    """The folder is there: exit 0, or somebody would run it again and spend twice."""
    work = tmp_path / "plans [x] [/z]"
    write_csv(work / "trips.csv", [("1", "2016-08-08", "train", "08:00", "A", "08:20", "B")] * 90)
    opal_plan(work)
    shown = run("release", work / "plan.toml", "--no-ledger", "-o", work / "first", cwd=tmp_path)
    assert shown.returncode == 0
    assert str(work / "first") in shown.stdout
    command = [
        sys.executable,
        "-m",
        "tapveil",
        "release",
        str(work / "plan.toml"),
        "--no-ledger",
        "-o",
        str(work / "second"),
    ]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0
    assert "published" in done.stderr
    assert (work / "second" / "SHA256SUMS").exists()


def test_the_hour_does_not_show(city: Path) -> None:
    paths = [city / "published", *(city / "published").rglob("*")]
    assert {path.stat().st_mtime_ns % (86_400 * 10**9) for path in paths} == {0}


def test_check_notices_lookups_that_do_nothing(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [("1", "2016-08-08", "bus", "08:00", "1001", "08:20", "")] * 90)
    opal_plan(tmp_path, **{"[coarsen.location.bus]": "[coarsen.location.Bus]"})
    done = run("check", "plan.toml", cwd=tmp_path)
    assert "No trip has mode `Bus`, so [coarsen.location.Bus] has no effect: did you mean `bus`?" in done.stdout
    assert "tap_off_location is UNKNOWN for 100 % of trips" in done.stdout


@pytest.mark.parametrize(
    ("other", "said"), [("bus", False), ("tram", False), ("Bus", True), ("b\N{FULLWIDTH LATIN SMALL LETTER U}s", True)]
)
def test_check_notices_names_that_only_look_alike(other: str, said: bool, tmp_path: Path) -> None:
    modes = ["bus", other] * 45
    write_csv(tmp_path / "trips.csv", [("1", "2016-08-08", mode, "08:00", "1001", "08:20", "") for mode in modes])
    opal_plan(tmp_path)
    done = run("check", "plan.toml", cwd=tmp_path)
    assert ("mode: a name is written in several ways" in done.stdout) == said
    assert (f"`bus` and `{other}`" in done.stdout or f"`{other}` and `bus`" in done.stdout) == said


@pytest.mark.parametrize(("last", "said"), [("2016-08-09", False), ("2016-08-31", True)])
def test_check_notices_days_before_or_after_all_trips(last: str, said: bool, tmp_path: Path) -> None:
    days = ("2016-08-08", "2016-08-09")
    write_csv(tmp_path / "trips.csv", [(day, day, "bus", "08:00", "1001", "08:20", "") for day in days for _ in "ab"])
    opal_plan(tmp_path, **{"# first_day": "first_day", "# last_day = 2016-08-14": f"last_day = {last}"})
    done = run("check", "plan.toml", cwd=tmp_path)
    notice = f"No trip is before 2016-08-08 or after 2016-08-09, and the plan is of 2016-08-08 to {last}"
    assert (notice in done.stdout) == said


def test_check_warns_of_a_promise_that_is_none(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [("1", "2016-08-08", "bus", "08:00", "1001", "08:20", "")] * 90)
    opal_plan(tmp_path, **{"epsilon = 2": "epsilon = 30", '"1/8000000"': "0.01"})
    done = run("check", "plan.toml", "--plan-only", cwd=tmp_path)
    assert "Warning: a total epsilon above 10 gives little protection" in done.stdout
    assert "Warning: delta =" in done.stdout


@pytest.mark.parametrize("trips", [1, 501])
def test_a_tiny_city_is_released_too(tmp_path: Path, trips: int) -> None:
    assert run("demo", tmp_path / "city", "--trips", trips).returncode == 0


def test_a_terminal_without_our_letters_is_no_reason_to_stop(city: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "tapveil", "check", "--plan-only", str(city / "plan.toml")]
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0
