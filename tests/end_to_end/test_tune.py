"""Tuning: the next release publishes more at the same promise, chosen from the published folder and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.errors import FolderError, PlanError
from tapveil.base.progress import Silent
from tapveil.counting import counter
from tapveil.counting.exact import Counted
from tapveil.counting.reveal import exact_counts
from tapveil.demo.city import make_city
from tapveil.internal.next_plan import next_plan
from tapveil.plan.model import Plan, Table
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.mechanisms import Dictionary, Mechanism
from tapveil.tuning.sizes import guess, histogram
from tapveil.tuning.tune import Tuned
from tests.architecture.test_house import GRAPH
from tests.conftest import WITH_TOTAL, opal_plan, write_csv
from tests.support.commands import command

FIRST_WEEK = ("2025-03-03", "2025-03-09")
SECOND_WEEK = ("2025-07-07", "2025-07-13")


def tune(folder: Path, *, keep_mechanism: bool = False) -> Tuned:
    found = tapveil.tune(folder, keep_mechanism=keep_mechanism)
    assert isinstance(found, Tuned)
    return found


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuned") / "city"
    make_city(folder, trips=400_000, file_format="parquet")
    return folder


def text_of_week(city: Path, week: tuple[str, str]) -> str:
    text = (city / "plan.toml").read_text(encoding="utf-8")
    for key, day in zip(("first_day", "last_day"), week, strict=True):
        text = re.sub(rf"(?m)^{key} = \S+", f"{key} = {day}", text)
    return text


def publish(text: str, city: Path, out: Path) -> Path:
    return tapveil.release(Plan.parse(text, base=city), out, in_ledger=False).path


@pytest.fixture(scope="module")
def week_one(city: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder as the public has it: elsewhere, with no trips, plan or ledger beside it."""
    return publish(text_of_week(city, FIRST_WEEK), city, tmp_path_factory.mktemp("public") / "week-one")


@pytest.fixture(scope="module")
def tuned(week_one: Path) -> Tuned:
    return tune(week_one)


@pytest.fixture
def folder(week_one: Path, tmp_path: Path) -> Path:
    """A copy to be tampered with."""
    shutil.copytree(week_one, tmp_path / "folder")
    return tmp_path / "folder"


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "privacy.json").read_text(encoding="utf-8"))
    change(manifest)
    (folder / "privacy.json").write_text(json.dumps(manifest), encoding="utf-8")


# --- nothing but the folder -------------------------------------------------------------------------------------------

WATCHED = """
import json, os, sys, zoneinfo
from pathlib import Path
from tapveil.tuning.tune import tune

opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event in ("open", "os.listdir", "os.scandir") else None)
tuned = tune(Path(sys.argv[1]))
if len(sys.argv) > 2:
    Path(sys.argv[2]).read_bytes()
names = sorted({os.fspath(each) for each in opened if not isinstance(each, int)})
places = (sys.prefix, sys.base_prefix, *sys.path, *zoneinfo.TZPATH)
libraries = sorted({os.path.realpath(path) for path in places if path})
print(json.dumps({"opened": names, "libraries": libraries, "tuned": tuned.as_json()}))
"""


def watched(empty: Path, *arguments: Path) -> tuple[set[str], dict[str, Any]]:
    """What tuning opens that is no library, from a folder where no relative name means anything; and what it finds."""
    command = [sys.executable, "-c", WATCHED, *map(str, arguments)]
    done = subprocess.run(command, cwd=empty, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    of_libraries = tuple(f"{path}/" for path in told["libraries"])
    return {name for name in told["opened"] if not str(Path(name)).startswith(of_libraries)}, told["tuned"]


def inside(folder: Path) -> set[str]:
    """The folder, and what lies in it: opened step by step, each from the one before."""
    return {str(folder), "privacy.json", "data", *(path.name for path in (folder / "data").glob("*.parquet"))}


def test_nothing_but_the_folder_is_opened(city: Path, week_one: Path, tuned: Tuned, tmp_path: Path) -> None:
    moved, empty = tmp_path / "folder", tmp_path / "empty"
    empty.mkdir()
    shutil.copytree(week_one, moved)
    hidden = city.rename(city.with_name("hidden"))  # trips, stops, plan and ledger are gone meanwhile
    try:
        opened, found = watched(empty, moved)
    finally:
        hidden.rename(city)
    assert opened == inside(moved)
    assert found == tuned.as_json()  # and the same comes of it as where they are there


def test_another_file_would_be_seen(city: Path, week_one: Path, tmp_path: Path) -> None:
    opened, _ = watched(tmp_path, week_one, city / "plan.toml")
    assert opened - inside(week_one) == {str(city / "plan.toml")}


def test_tuning_cannot_reach_the_trips() -> None:
    """Nor can the one who writes the next plan: of the secret side it knows the plan alone."""
    for name in ("tapveil.tuning.tune", "tapveil.internal.next_plan"):
        reached, found = set[str](), {name}
        while found:
            reached |= found
            found = set().union(*(GRAPH[each] for each in found)) - reached
        assert "tapveil.privacy.mechanisms" in reached
        assert not {each for each in reached if each.split(".")[1] in ("inputs", "trips", "counting", "veil")}


# --- the next release -------------------------------------------------------------------------------------------------


def counted(city: Path, week: tuple[str, str]) -> Counted:
    plan = Plan.parse(text_of_week(city, week), base=city)
    return counter.count(plan, memory="1GB", scratch=None, progress=Silent())


def true_share(exact: Counted, name: str, mechanism: Mechanism) -> float:
    """The trips in cells that a mechanism publishes, of all: expected over the noise, from the exact counts."""
    sizes, cells = np.unique(exact_counts(exact.tables[name]), return_counts=True)
    chances = [float(mechanism.publish_probability(int(size))) for size in sizes]
    return float(sizes * cells @ chances / (sizes @ cells))


def published_trips(folder: Path) -> dict[str, int]:
    files = (folder / "data").glob("*.parquet")
    return {path.stem: sum(pq.read_table(path, columns=["count"])["count"].to_pylist()) for path in files}


def test_the_second_week_publishes_more_at_the_same_promise(city: Path, tuned: Tuned, tmp_path: Path) -> None:
    old_text = text_of_week(city, SECOND_WEEK)
    new_text = next_plan(old_text, tuned)
    old, new = Plan.parse(old_text, base=city), Plan.parse(new_text, base=city)
    assert new.guarantee.loss == old.guarantee.loss
    assert new.privacy.mechanism == tuned.mechanism == "gaussian"
    exact = counted(city, SECOND_WEEK)
    before = {name: true_share(exact, name, mechanism) for name, mechanism in old.guarantee.mechanisms.items()}
    after = {name: true_share(exact, name, mechanism) for name, mechanism in new.guarantee.mechanisms.items()}
    assert all(after[name] > before[name] - 0.005 for name in before)
    assert np.mean([*after.values()]) > np.mean([*before.values()]) + 0.05
    sums_before = published_trips(publish(old_text, city, tmp_path / "old"))
    sums_after = published_trips(publish(new_text, city, tmp_path / "new"))
    trips = sum(int(exact_counts(table).sum()) for table in exact.tables.values())
    assert sum(sums_after.values()) > sum(sums_before.values()) + trips / 20


def test_the_guesses_are_near_the_truth(city: Path, tuned: Tuned) -> None:
    exact = counted(city, FIRST_WEEK)
    present = Plan.parse(text_of_week(city, FIRST_WEEK), base=city).guarantee.mechanisms
    following = Plan.parse(next_plan(text_of_week(city, FIRST_WEEK), tuned), base=city).guarantee.mechanisms
    for table in tuned.tables:
        assert table.before.share == pytest.approx(true_share(exact, table.name, present[table.name]), abs=0.1)
        assert table.after.share == pytest.approx(true_share(exact, table.name, following[table.name]), abs=0.1)


def test_no_table_is_expected_to_lose_and_no_error_more_than_doubles(tuned: Tuned) -> None:
    assert tuned.improves
    for table in tuned.tables:
        assert table.after.share >= table.before.share - 1e-9
        assert table.after.error <= 2 * table.before.error


def test_tuning_again_comes_to_rest(city: Path, tuned: Tuned, tmp_path: Path) -> None:
    text = next_plan(text_of_week(city, FIRST_WEEK), tuned)
    again = tune(publish(text, city, tmp_path / "again"))
    assert again.after < again.before + 0.02
    assert Plan.parse(next_plan(text, again)).guarantee.loss == tuned.loss


def test_a_mechanism_may_be_kept(week_one: Path) -> None:
    kept = tune(week_one, keep_mechanism=True)
    assert kept.mechanism == "sbh"
    assert not kept.improves  # of six tables at their thresholds, none can gain without another's loss
    assert "keep the plan" in "\n".join(kept.lines())


def test_it_says_so_in_words_and_for_programs(tuned: Tuned) -> None:
    words = "\n".join(tuned.lines())
    assert "`gaussian` instead of `sbh`" in words
    assert "epsilon = 8, delta = 7.5e-7, for any one trip" in words
    told = json.loads(json.dumps(tuned.as_json()))
    assert told["mechanism"] == {"before": "sbh", "after": "gaussian"}
    for table in told["tables"]:
        assert table["name"] in words
        assert 0 <= table["expected_share"]["before"] <= table["expected_share"]["after"] <= 1
        assert isinstance(table["weight"], int)


def test_the_opal_layout_says_the_same(city: Path, tuned: Tuned, tmp_path: Path) -> None:
    text = text_of_week(city, FIRST_WEEK).replace("# layout", "layout")
    found = tune(publish(text, city, tmp_path / "opal"))
    assert found.mechanism == tuned.mechanism
    for one, two in zip(found.tables, tuned.tables, strict=True):  # other noise, the same trips
        assert one.before.share == pytest.approx(two.before.share, abs=0.15)


# --- other folders ----------------------------------------------------------------------------------------------------


def test_cards_are_tuned_at_their_bounds(city: Path, tmp_path: Path) -> None:
    card = 'unit = "card"\nwithout_card = "refuse"\ntrips_per_day = 4\ntrips_per_card = 8'
    text = re.sub(r'(?m)^unit = "trip".*$', card, text_of_week(city, FIRST_WEEK))
    text = text.replace('neighbours = "replace"', 'neighbours = "add-remove"')
    found = tune(publish(text, city, tmp_path / "cards"))
    plan = Plan.parse(next_plan(text, found))
    assert found.improves
    assert (plan.privacy.unit, plan.guarantee.exposure.cells, plan.guarantee.loss) == ("card", 8, found.loss)
    with pytest.raises(PlanError, match="bounds"):
        next_plan(text.replace("trips_per_card = 8", "trips_per_card = 9"), found)


LISTED = """
[release]
name = "listed"
title = "Listed"
partition = []
[source]
path = "trips.csv"
[source.columns]
tap_on_time = "hour"
tap_on_location = "stop"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "dictionary"   # all cells are listed
[[table]]
name = "times"
columns = ["tap_on_time"]
epsilon = 1.5
cells = "times.csv"
[[table]]
name = "both"
columns = ["tap_on_time", "tap_on_location"]
epsilon = 0.5   # too little
cells = "both.csv"
"""


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    random = np.random.default_rng(1)
    hours = [f"{hour:02d}:00" for hour in range(6, 22)]
    taken = [(hour, f"s{int(stop)}") for hour in hours for stop in 60 * random.random(400) ** 2]
    write_csv(tmp_path / "trips.csv", taken, ("hour", "stop"))
    write_csv(tmp_path / "times.csv", [(hour,) for hour in hours], ("tap_on_time",))
    every = [(hour, f"s{stop}") for hour in hours for stop in range(200)]
    write_csv(tmp_path / "both.csv", every, ("tap_on_time", "tap_on_location"))
    return tmp_path


def test_of_a_dictionary_only_the_weights_are_tuned(listed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", Random(1).randbytes)  # else, now and then, what was drawn tells too little
    found = tune(publish(LISTED, listed, listed / "out"))
    assert found.mechanism == "dictionary"
    text = next_plan(LISTED, found)
    plan = Plan.parse(text)
    assert plan.guarantee.loss == Plan.parse(LISTED).guarantee.loss
    times, both = (plan.tables[name].weight or Fraction(0) for name in ("times", "both"))
    assert both / times > Fraction(1, 3)  # the fine table needs it more
    assert "# was: epsilon = 0.5   # too little\nweight = " in text


def test_empty_cells_of_a_dictionary_are_told_from_small_ones() -> None:
    (mechanism,) = calibrate(
        "dictionary", (Fraction(1),), Fraction(1), Fraction(0), Plan.preset("opal").guarantee.exposure
    )
    assert isinstance(mechanism, Dictionary)
    noise = np.random.default_rng(2)
    true = np.concatenate([np.zeros(50_000, np.int64), noise.poisson(12, 3_000)])
    scale = 1 - np.exp(-0.5)
    noisy = true + noise.geometric(scale, len(true)) - noise.geometric(scale, len(true))
    law = guess(histogram(noisy[noisy >= 1]), mechanism)
    assert law.trips == pytest.approx(true.sum(), rel=0.1)
    assert law.published_trips(mechanism) == pytest.approx(true[noisy >= 1].sum(), rel=0.05)


def test_where_a_table_is_empty_the_weights_stay(tmp_path: Path) -> None:
    """Nothing is known of it: it must not lose to tables that are."""
    times = [f"{7 + number // 60:02d}:{number % 60:02d}" for number in range(300)]
    rows = [("1", "2016-08-08", "train", times[n % 300], f"s{n}", times[n % 300], f"t{n % 60}") for n in range(6000)]
    write_csv(tmp_path / "trips.csv", rows)
    opal_plan(tmp_path)
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    found = tune(publish(text, tmp_path, tmp_path / "out"))
    assert not found.tables[1].known  # every stop once
    assert found.improves
    new = Plan.parse(next_plan(text, found))
    assert [table.weight for table in new.table] == [1, 1, 1, 1, 2, 2]
    assert all(table.after.smallest <= table.before.smallest for table in found.tables)
    assert "unknown" in "\n".join(found.lines())
    assert found.as_json()["tables"][1]["expected_share"] == {"before": None, "after": None}


@pytest.mark.parametrize("trips", [1, 600])
def test_a_folder_that_says_nothing_is_refused(tmp_path: Path, trips: int) -> None:
    rows = [("1", "2016-08-08", "train", "07:31", f"s{n % 20}", "07:55", f"s{n % 20}") for n in range(trips)]
    write_csv(tmp_path / "trips.csv", [("1", *row[1:]) for row in rows])
    opal_plan(tmp_path)
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8").replace("epsilon = ", "epsilon = 0.")
    with pytest.raises(FolderError, match="too little was published"):
        tune(publish(text, tmp_path, tmp_path / "out"))


# --- what is no folder, or none to be trusted -------------------------------------------------------------------------


def test_what_is_no_published_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for name, words in {"file": "no folder", "nowhere": "no folder", "empty": "privacy.json cannot be read"}.items():
        with pytest.raises(FolderError, match=words):
            tune(tmp_path / name)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"manifest_version": 2}', '{"manifest_version": 1}', "[" * 100_000, "\0"]
)
def test_a_damaged_manifest_is_refused(folder: Path, text: str) -> None:
    (folder / "privacy.json").write_text(text)
    with pytest.raises(FolderError, match=r"privacy\.json"):
        tune(folder)


def set_total(manifest: dict[str, Any], epsilon: str, delta: str = "1/1000000") -> None:
    manifest["exact"] = {"epsilon": epsilon, "delta": delta}


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "no tables": lambda m: m.update(tables=[]),
    "a name that leads out": lambda m: m["tables"][0].update(name="../../trips"),
    "two tables of one name": lambda m: m["tables"][0].update(name=m["tables"][1]["name"]),
    "noise without end": lambda m: m["tables"][0].update(scale_exact="1e300"),
    "no noise": lambda m: m["tables"][0].update(scale_exact="1/1000000"),
    "negative noise": lambda m: m["tables"][0].update(scale_exact="-1"),
    "another mechanism": lambda m: m.update(mechanism="trust"),
    "gaussian thresholds that are no integers": lambda m: m.update(mechanism="gaussian"),
    "an epsilon beyond floats": lambda m: set_total(m, "1e900"),
    "a negative epsilon": lambda m: set_total(m, "-8"),
    "an epsilon that is not kept": lambda m: set_total(m, "1"),
    "no delta": lambda m: set_total(m, "8", "0"),
    "a share of nothing": lambda m: m["tables"][0].update(exact={"epsilon": "0", "delta": "0"}),
    "a weight below nothing": lambda m: [m["tables"][0].pop("exact"), m["tables"][0].update(weight=-1)],
    "more cells than stated": lambda m: m["bounds"].update(cells_per_table=10_000),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_hostile_manifests_are_refused(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    change_manifest(folder, change)
    with pytest.raises(FolderError):
        tune(folder)


COUNTS: dict[str, pa.Array] = {
    "negative": pa.array([-5, 100]),
    "below the smallest": pa.array([1]),
    "more than there are people": pa.array([10**12]),
    "missing": pa.array([None, 100], pa.int64()),
    "text": pa.array(["100"]),
    "not whole": pa.array([100.5]),
}


@pytest.mark.parametrize("column", COUNTS.values(), ids=COUNTS)
def test_hostile_counts_are_refused(folder: Path, column: pa.Array) -> None:
    pq.write_table(pa.table({"count": column}), folder / "data" / "on_time.parquet")
    with pytest.raises(FolderError, match=r"on_time\.parquet"):
        tune(folder)


def test_files_that_are_none_are_refused(folder: Path, tmp_path: Path) -> None:
    table = folder / "data" / "on_time.parquet"
    away = table.rename(tmp_path / "elsewhere.parquet")
    with pytest.raises(FolderError, match=r"on_time\.parquet cannot be read"):
        tune(folder)
    table.symlink_to(away)  # what a link leads to is not part of the folder
    with pytest.raises(FolderError, match=r"on_time\.parquet cannot be read"):
        tune(folder)
    table.unlink()
    table.write_bytes(b"PAR1 and no more")
    with pytest.raises(FolderError, match=r"on_time\.parquet"):
        tune(folder)
    pq.write_table(pa.table({"number": [100]}), table)
    with pytest.raises(FolderError, match=r"on_time\.parquet"):
        tune(folder)


def test_more_columns_beside_the_count_do_no_harm(folder: Path, tuned: Tuned) -> None:
    for path in (folder / "data").glob("*.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.append_column("remark", pa.array(["?"] * len(table))), path)
    assert tune(folder).as_json() == tuned.as_json()


def test_totals_keep_their_share_and_count_for_nothing(city: Path, tmp_path: Path) -> None:
    """They hide nothing, so nothing is gained by more of the budget, and they say how many trips there are."""
    text = text_of_week(city, FIRST_WEEK)
    for old, new in WITH_TOTAL.items():
        text = text.replace(old, new)
    found = tune(publish(text, city, tmp_path / "with totals"))
    *others, total = found.tables
    assert total.name == "total"
    assert total.after.error <= 2 * total.before.error
    assert found.before == pytest.approx(sum(table.before.share for table in others) / len(others))
    assert found.improves
    one_column = [table.weight for table in others if "time_location" not in table.name]
    assert total.weight <= max(one_column)
    assert Plan.parse(next_plan(text, found)).tables["total"].weight == total.weight


# --- the text of the next plan ----------------------------------------------------------------------------------------


def comments(text: str) -> list[str]:
    return [line[line.index("#") :].strip() for line in text.splitlines() if "#" in line]


def test_every_comment_is_kept(city: Path, tuned: Tuned) -> None:
    text = text_of_week(city, SECOND_WEEK).replace("epsilon = 2\n", "epsilon = 2  # twice as much\n")
    new = next_plan(text, tuned)
    assert all(comment in new for comment in comments(text))
    assert '# was: mechanism = "sbh"' in new
    assert new.count("\nweight = ") == 6
    assert "1/8000000" not in new
    assert "epsilon = 8\ndelta = 7.5e-7\n" in new
    untouched, _, _ = text.partition("\n[privacy]")
    assert new.startswith(untouched)


def test_a_plan_that_has_a_total_keeps_it(city: Path, tuned: Tuned) -> None:
    text = text_of_week(city, SECOND_WEEK).replace('delta = "1/8000000"\n', "")
    text = text.replace("epsilon = 1\n", "").replace("epsilon = 2\n", "weight = 2  # fine\n")
    text = text.replace("\n[[table]]", "\n# and the tables\n[[table]]", 1)
    text = text.replace("\n[privacy]\n", '\n[privacy]\nepsilon = "16/2"   # as ever\ndelta = 7.5e-7\n')
    new = next_plan(text, tuned)
    assert 'epsilon = "16/2"   # as ever\ndelta = 7.5e-7\n' in new
    assert {table.name: table.weight for table in Plan.parse(new).table} == {t.name: t.weight for t in tuned.tables}


LEVELS = {
    "as a list": 'epsilon = 1\ndelta = "1/8000000"\nlevels = [{}, { name = "hour", time_minutes = 60, weight = 3 }]\n',
    "over lines": (
        'epsilon = 1\ndelta = "1/8000000"\nlevels = [\n  { },   # fine\n'
        '  { weight = "1/3", name = "hour", time_minutes = 60 },   # coarse\n]\n'
    ),
    "as sections": (
        'epsilon = 1\ndelta = "1/8000000"\n[[table.levels]]\n# fine\n[[table.levels]]   # coarse\n'
        'name = "hour"\ntime_minutes = 60\nweight = 3   # more\n'
    ),
}


@pytest.mark.skipif("levels" not in Table.model_fields, reason="tables have no levels")
@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
def test_levels_of_a_table_have_weights_of_their_own(city: Path, tuned: Tuned, levels: str) -> None:
    own = 'columns = ["tap_on_time"]\nepsilon = 1\ndelta = "1/8000000"\n'
    text = text_of_week(city, SECOND_WEEK)
    assert own in text
    text = text.replace(own, 'columns = ["tap_on_time"]\n' + levels)
    first = tuned.tables[0]
    tables = (first, replace(first, name="on_time-hour", weight=Fraction(7)), *tuned.tables[1:])
    claims = (tuned.folder.tables[0], tuned.folder.tables[0].model_copy(update={"name": "on_time-hour"}))
    manifest = tuned.folder.model_copy(update={"tables": (*claims, *tuned.folder.tables[1:])})
    new = next_plan(text, replace(tuned, folder=manifest, tables=tables))
    plan = Plan.parse(new)
    assert (plan.tables["on_time"].weight, plan.tables["on_time-hour"].weight) == (first.weight, 7)
    assert plan.guarantee.loss == tuned.loss
    assert all(comment in new for comment in comments(text))


CHANGES = {
    "another name": ('name = "on_time"', 'name = "on_times"', "different tables"),
    "other columns": (
        'columns = ["tap_on_time"]',
        'columns = ["tap_on_time", "tap_off_location"]',
        "different tables",
    ),
    "other neighbours": ('neighbours = "replace"', 'neighbours = "add-remove"', "neighbours"),
    "another total": ("epsilon = 2\n", "epsilon = 3\n", "the plan has epsilon = 10"),
    "another delta": ("1/8000000", "1/9000000", "the same epsilon and delta as the folder"),
    "another partition": ('partition = ["mode", "date"]', 'partition = ["mode"]', "partition"),
    "other bins": ("time_minutes = 15", "time_minutes = 30", "time bins"),
}


@pytest.mark.parametrize(("old", "new", "words"), CHANGES.values(), ids=CHANGES)
def test_a_plan_of_something_else_is_refused(city: Path, tuned: Tuned, old: str, new: str, words: str) -> None:
    text = text_of_week(city, SECOND_WEEK)
    assert old in text
    with pytest.raises(PlanError, match=words):
        next_plan(text.replace(old, new), tuned)


def test_a_plan_that_is_spelt_in_another_way_is_left_to_its_owner(city: Path, tuned: Tuned) -> None:
    text = text_of_week(city, SECOND_WEEK)
    start, end = text.index("\n[privacy]"), text.index("\n[[table]]")
    inline = 'privacy = { unit = "trip", neighbours = "replace", mechanism = "sbh" }\n'
    with pytest.raises(
        PlanError, match=r'by hand: under \[privacy\] mechanism = "gaussian", epsilon = 8, delta = 7\.5e-7'
    ):
        next_plan(inline + text[:start] + text[end:], tuned)


@pytest.mark.parametrize(
    ("plan", "folder", "expected"),
    [
        (True, None, True),
        (False, None, False),
        (None, None, None),
        (None, True, True),
        (None, False, False),
        (True, False, True),
        (False, True, True),
    ],
)
@pytest.mark.parametrize("improves", [True, False])
def test_that_trips_were_looked_at_is_not_forgotten(
    city: Path, tuned: Tuned, plan: bool | None, folder: bool | None, expected: bool | None, improves: bool
) -> None:
    """By whoever made the plan, or the folder: it has the same bins and tables."""
    stated = "" if plan is None else f"looked_at_trips = {str(plan).lower()}  # so it was\n"
    text = re.sub(r"(?m)^looked_at_trips = .*\n", stated, text_of_week(city, SECOND_WEEK))
    manifest = tuned.folder.model_copy(update={"looked_at_trips": folder})
    tables = tuned.tables if improves else tuple(replace(each, after=each.before) for each in tuned.tables)
    new = next_plan(text, replace(tuned, folder=manifest, tables=tables))
    assert Plan.parse(new).privacy.looked_at_trips is expected
    assert new.count("# so it was") == stated.count("#"), "comments are kept"


def test_a_plan_that_cannot_be_bettered_stays_as_it_is(city: Path, week_one: Path) -> None:
    """But for a note of what it was chosen from: to keep a plan is a choice by what was published, too."""
    text = text_of_week(city, SECOND_WEEK)
    tuned = tune(week_one, keep_mechanism=True)
    kept = next_plan(text, tuned).splitlines()
    noted = [line for line in kept if line not in text.splitlines()]
    assert [line for line in kept if line not in noted] == text.splitlines()
    assert noted == [f'chosen_from = "{tuned.folder.release_id}"  # the ledger must know: see docs/ledger.md']


def test_it_is_said_that_the_ledger_adds_up_a_plan_that_was_kept(city: Path, week_one: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(text_of_week(city, SECOND_WEEK), encoding="utf-8")
    asked = ["--from", str(week_one), "--plan", "plan.toml", "-o", "next.toml", "--keep-mechanism", "-q"]
    said = command(tmp_path, ["tune", *asked])
    assert "keep the plan" in said.out
    assert said.err.startswith("Wrote next.toml: the same noise, with chosen_from.")
    assert "the ledger adds its releases to those before it" in said.err
    assert "chosen_from" in (tmp_path / "next.toml").read_text(encoding="utf-8")
