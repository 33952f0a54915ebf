"""A plan made by looking: one odd row decides nothing, `--no-look` reads none, and the folder says which it was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.progress import Silent
from tapveil.cli.summary import LINES, closing_lines
from tapveil.demo.city import make_city
from tapveil.internal.draft import Look, draft, take_proposal
from tapveil.plan.model import PRESETS, Plan, preset_text
from tapveil.trips.sample import Found, encoding_of, header_encoding, samples, whole_files
from tapveil.verification.folder import verify_folder
from tests.conftest import opal_plan, write_csv
from tests.support import exports
from tests.support.commands import run
from tests.unit.inputs.test_timetable import write_feed

GOLDEN = Path(__file__).parents[1] / "golden"


def drafted(trips: Path, *, look: Look = "trips") -> str:
    return draft(str(trips), trips.parent / "plan.toml", look=look, answer=take_proposal, progress=Silent()).text


def with_days(text: str) -> str:
    """A plan whose days nobody knows, answered."""
    return re.sub(r'(first_day|last_day) = "\?"', r"\1 = 2016-08-08", text)


# --- one odd row ------------------------------------------------------------------------------------------------------

USUAL = "3085000001,20160808,train,08:00,Central,08:30,Redfern"


def everywhere(value: str) -> bytes:
    return ",".join([value] * 7).encode()


ODD_LINES: dict[str, bytes] = {
    "a Latin-1 byte": USUAL.encode().replace(b"Redfern", b"Zo\xeb Bay"),
    "a letter in UTF-8": USUAL.replace("Redfern", "Königsplatz").encode(),
    "empty fields": everywhere(""),
    "a line that is cut off": USUAL.encode()[:20],
    "a quote that is not closed": b'"' + USUAL.encode(),
    "a time with seconds": USUAL.replace("08:00", "08:00:59").encode(),
    "a time with an offset": USUAL.replace("08:00", "2016-08-08T08:00:59+10:00").encode(),
    "a time after midnight": USUAL.replace("08:00", "26:15").encode(),
    "a date in another order": USUAL.replace("20160808", "25/12/2016").encode(),
    "negative numbers": everywhere("-5"),
    "words for missing": everywhere("NULL"),
    "a foreign mode": USUAL.replace("train", "Hovercraft").encode(),
    "a word for tap on": everywhere("Check-in"),
    "a very long value": USUAL.encode().replace(b"Central", b"C" * 2_000_000),
    "the header once more": exports.OPAL.encode(),
    "a byte of nothing": everywhere("\x00"),
}


@pytest.fixture(scope="module")
def usual_plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    return drafted(exports.opal(tmp_path_factory.mktemp("usual"), 1500))


@pytest.mark.parametrize("name", ODD_LINES)
def test_one_odd_row_does_not_change_the_plan(name: str, usual_plan: str, tmp_path: Path) -> None:
    trips = exports.opal(tmp_path, 1500)
    lines = trips.read_bytes().splitlines(keepends=True)
    trips.write_bytes(b"".join([*lines[:40], ODD_LINES[name] + b"\n", *lines[40:]]))
    assert drafted(trips) == usual_plan


def test_nor_in_parquet(tmp_path: Path) -> None:
    trips = exports.taps(tmp_path, 1000)
    usual, table = drafted(trips), pq.read_table(trips)
    odd = {"card_no": "NULL", "line_mode": "", "tap_type": "Check-in", "tap_time": None, "station": "-5"}
    pq.write_table(pa.concat_tables([table, pa.Table.from_pylist([odd], table.schema)]), trips)
    assert drafted(trips) == usual


def test_one_text_that_is_none_does_not_hide_its_column(tmp_path: Path) -> None:
    """Parquet may hold bytes that are not UTF-8 where it says that there are texts."""
    ends, data = pa.py_buffer(np.array([0, 3, 6, 9, 12], np.int32)), pa.py_buffer(b"OneTwoSixZo\xeb")
    texts = pa.Array.from_buffers(pa.string(), 4, [None, ends, data])
    pq.write_table(pa.table({"stop": texts}), tmp_path / "t.parquet")
    (stops,) = samples(whole_files(Found([tmp_path / "t.parquet"]), "utf-8")[0], "utf-8")
    assert stops.filled[:3] == ["One", "Two", "Six"]


def test_one_row_does_not_turn_days_and_months_round(tmp_path: Path) -> None:
    """The first week of March, month first, and a row that could be read day first only."""
    header, plans = ["start time", "start station"], []
    rows = [[f"03/{4 + n % 7:02d}/2024 {1 + n % 9}:{n % 60:02d} PM", f"Stop {n % 3}"] for n in range(1500)]
    for more in ([], [["25/12/2024 1:00 PM", "Stop 1"]]):
        plans.append(drafted(write_csv(tmp_path / "t.csv", [*rows, *more], header)))
    assert plans[0] == plans[1]
    assert "%m/%d/%Y %I:%M %p" in plans[1]


def test_one_byte_does_not_change_the_encoding_nor_add_tables(tmp_path: Path) -> None:
    """As it was: places in UTF-8, read as Windows-1252, made rows that are refused, and then no table was left out."""
    make_city(tmp_path / "city", trips=20_000, file_format="csv")
    first = min((tmp_path / "city" / "trips").glob("*.csv"))
    usual, plans = first.read_bytes(), []
    for name in (b"Zoe Bay", b"Zo\xeb Bay"):
        row = b'"1","%s","ferry","03:01","%s","03:20","%s"\n' % (first.stem.encode(), name, name)
        first.write_bytes(usual + row)
        plans.append(drafted(first.parent))
    assert plans[0] == plans[1]
    assert "windows-1252" not in plans[0]


@pytest.mark.parametrize(
    ("header", "lines", "expected"),
    [
        ("a,b", ["Königsplatz,1"] * 300, "windows-1252"),
        ("a,b", ["Königsplatz,1"] * 30 + ["plain,1"] * 3000, "windows-1252"),
        ("a,b", ["Königsplatz,1"] * 4 + ["plain,1"] * 3000, "utf-8"),
        ("Straße,b", ["plain,1"] * 300, "windows-1252"),
        ("a,b", ["plain,1"] * 300, "utf-8"),
    ],
)
def test_most_lines_decide_the_encoding(header: str, lines: list[str], expected: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join([header, *lines]).encode("cp1252"))
    assert encoding_of([path]) == expected
    assert header_encoding([path]) == ("utf-8" if header.isascii() else "windows-1252")
    mixed = b"\n".join([b"a,b", *[line.encode() for line in lines * 2], *[line.encode("cp1252") for line in lines]])
    path.write_bytes(mixed)
    assert encoding_of([path]) == "utf-8", "two thirds of them are"


# --- no look ----------------------------------------------------------------------------------------------------------

WORLDS: dict[str, bytes] = {
    "no trip": b"",
    "one line": USUAL.encode() + b"\n",
    "Latin-1": USUAL.encode().replace(b"Central", b"Zo\xeb") * 30 + b"\n",
    "other dates": b"".join(b"1,%02d/12/2016,bus,8:00 PM,A,9:00 PM,B\n" % (1 + n % 28) for n in range(300)),
    "taps": b"1,20160808,Check-in,08:00,A,,\n" * 300,
    "no text at all": bytes(range(1, 256)) * 30,
    "an open quote": b'"' + USUAL.encode() * 3,
}


def test_without_a_look_the_plan_and_the_screen_are_the_same_for_any_rows(tmp_path: Path) -> None:
    said, plans = set(), set()
    for name, rows in WORLDS.items():
        folder = tmp_path / name
        (folder / "trips").mkdir(parents=True)
        for day in ("1.csv", "2.csv"):
            (folder / "trips" / day).write_bytes(exports.OPAL.encode() + b"\n" + rows)
        done = run("init", "trips", "--no-look", cwd=folder)
        said.add((done.returncode, done.stdout, done.stderr))
        plans.add((folder / "plan.toml").read_bytes())
    ((code, out, _),) = said
    (plan,) = plans
    assert code == 0
    assert "No row of the trips was read" in out
    assert b"\nlooked_at_trips = false\n" in plan
    assert b'\nfirst_day = "?"\n' in plan, "which no name of a file says"


def test_without_a_look_types_decide(tmp_path: Path) -> None:
    """Parquet says what is a time; what it says of rows is not asked for."""
    trips = exports.taps(tmp_path, 500)
    table, plans = pq.read_table(trips), set()
    for rows in (table, table.slice(3, 1), table.slice(0, 0)):
        pq.write_table(rows, trips)
        plans.add(drafted(trips, look="nothing"))
    (text,) = plans
    assert text.count(' = "tap_time"  # likely: its name and its type say so') >= 1
    assert '\non = ["?"]\n' in text, "which nobody looked for"


HEADERS: dict[str, tuple[Callable[[Path, int], Path], set[str]]] = {
    "opal": (exports.opal, {"card", "mode", "date", "tap_on_time", "tap_off_location"}),
    "oyster": (exports.oyster, {"mode", "date", "tap_on_time", "tap_off_time", "tap_on_location", "tap_off_location"}),
    "bikes": (exports.bikes, {"date", "tap_on_time", "tap_off_time", "tap_on_location", "tap_off_location"}),
    "european": (exports.european, {"mode", "tap_on_time", "tap_off_time", "tap_on_location", "tap_off_location"}),
}


@pytest.mark.parametrize("name", HEADERS)
def test_without_a_look_names_of_columns_are_recognised(name: str, tmp_path: Path) -> None:
    make, columns = HEADERS[name]
    text = drafted(make(tmp_path, 10), look="nothing")
    plan = Plan.parse(with_days(text))
    assert columns <= set(plan.source.columns)
    assert plan.privacy.looked_at_trips is False
    assert "sure:" not in text, "names alone are not sure"
    assert plan.source.dates == ("labels" if name == "oyster" else "calendar")


def test_without_a_look_a_timetable_is_taken_for_granted(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", [], ["card", "tap_on_datetime", "tap_on_stop_name"])
    write_feed(tmp_path)
    plan = Plan.parse(with_days(drafted(tmp_path / "t.csv", look="nothing")))
    assert plan.gtfs
    assert (plan.gtfs.path, plan.gtfs.match, plan.source.timezone) == ("gtfs.zip", "stop_name", "Australia/Sydney")
    assert plan.coarsen.location["*"].gtfs == "station_name"
    assert "date" in plan.source.columns


def test_without_a_look_a_header_that_is_a_trip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{USUAL}\n")
    done = run("init", "t.csv", "--no-look", cwd=tmp_path)
    assert (done.returncode, "seems to be a trip" in done.stderr) == (3, True)
    assert "Redfern" not in done.stdout + done.stderr


# --- what is said of it -----------------------------------------------------------------------------------------------

SAID = {
    True: "The plan was made by looking at the trips; epsilon does not account for that.",
    False: "The plan was made without looking at the trips, as its author states.",
    None: "The plan does not state whether it was made by looking at the trips.",
}


def test_what_is_read_to_know_the_columns_chooses_no_bin_and_no_table(tmp_path: Path) -> None:
    """Few trips or many, at any hour: the same plan, but for the days, which are asked for."""
    plans = set()
    for rows in (300, 3000):
        trips = exports.opal(tmp_path, rows)
        plans.add(drafted(trips, look="columns").replace("-09", "-08"))
    (text,) = plans
    assert "took from the trips: first_day and last_day." in text, "as --yes took them"
    assert "\nlooked_at_trips = true\n" in text
    trips.rename(tmp_path / "opal_20160808_20160809.csv")
    named = drafted(tmp_path / "opal_20160808_20160809.csv", look="columns")
    assert "by the names of the files" in named
    assert "\nlooked_at_trips = false\n" in named


@pytest.mark.parametrize("look", [True, False])
def test_a_drafted_plan_says_whether_it_looked_and_so_does_all_that_comes_of_it(look: bool, tmp_path: Path) -> None:
    exports.opal(tmp_path)
    assert run("init", "opal.csv", "--yes", "--look" if look else "--no-look", cwd=tmp_path).returncode == 0
    text = with_days((tmp_path / "plan.toml").read_text(encoding="utf-8"))
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    assert Plan.parse(text).privacy.looked_at_trips is look
    assert ("took from the trips: first_day and last_day and bins, areas, and which tables" in text) is look
    assert ("this looked at the trips" in text) is look
    checked = run("check", "plan.toml", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert SAID[look] in checked.stdout
    assert ("set looked_at_trips = true" in checked.stdout) is not look
    released = run("release", "plan.toml", "-o", "out", "--no-ledger", cwd=tmp_path)
    assert f"\n{SAID[look]}\n" in released.stdout, released.stderr
    assert json.loads((tmp_path / "out" / "privacy.json").read_text())["looked_at_trips"] is look
    assert SAID[look] in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"Note: t{SAID[look][1:]}\n" in run("verify", "out", cwd=tmp_path).stdout


def test_a_plan_that_does_not_say_is_not_taken_for_one_that_did_not_look(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [["1", "2016-08-08", "train", "08:00", "A", "08:30", "B"]] * 50)
    plan = opal_plan(tmp_path)
    published = tapveil.release(plan, tmp_path / "out", in_ledger=False)
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"{SAID[None]} If it was, epsilon does not account for that." in readme
    lines = list(closing_lines(plan, published, tmp_path / "plan.toml", in_ledger=False))
    assert SAID[None] in lines
    assert "State it in the plan: looked_at_trips = true or false, under [privacy]." in lines
    assert len(lines) <= LINES
    assert f"t{SAID[None][1:-1]}" in verify_folder(tmp_path / "out").notes
    checked = run("check", "plan.toml", "--plan-only", cwd=tmp_path)
    assert f"{SAID[None]} State it: looked_at_trips under [privacy]." in checked.stdout


def test_of_folders_that_could_not_say_it_nothing_is_said() -> None:
    notes = verify_folder(GOLDEN / "1" / "paper").notes
    assert not {f"t{said[1:-1]}" for said in SAID.values()} & set(notes)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_leave_it_to_who_uses_them(name: str) -> None:
    text = preset_text(name)
    assert "\n# looked_at_trips = false " in text
    assert Plan.parse(text).privacy.looked_at_trips is None
