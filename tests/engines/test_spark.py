"""Counting on Spark: the same numbers as from files, whatever the session is set to, and never a half-made release."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date, datetime
from datetime import time as clock_time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapveil import release
from tapveil.base.errors import EngineError, PlanError, TripDataError
from tapveil.counting import counter
from tapveil.counting.counter import count
from tapveil.counting.engines.spark import dialect, views
from tapveil.counting.engines.spark import session as spark_session
from tapveil.counting.exact import Counted
from tapveil.counting.reveal import exact_counts
from tapveil.counting.sql import scan
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tapveil.plan.model import Plan
from tapveil.published import writer
from tests.conftest import free_plan, start_ledger
from tests.support.commands import command
from tests.support.engines import CASES, Case, assert_same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Spark = pytest.importorskip("pyspark.sql").SparkSession
PySparkException = pytest.importorskip("pyspark.errors").PySparkException
ROOT = Path(__file__).parents[2]
FILES, ON_SPARK = {"path": "trips.parquet"}, {"path": "trips.parquet", "engine": "spark"}
BY_NAME = {case.name: case for case in CASES}
ODD = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "America/St_Johns",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.files.ignoreCorruptFiles": "true",
}
"""Settings that change what SQL means, or what is read."""


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    """One for all tests, in which a task may fail twice; what runs Python there is this very Python."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = Spark.builder.master("local[2,3]").config("spark.sql.shuffle.partitions", "2")
    for name, value in {"ui.enabled": "false", "ui.showConsoleProgress": "false", "log.level": "OFF"}.items():
        builder = builder.config(f"spark.{name}", value)
    try:
        started = builder.getOrCreate()
    except PySparkException:
        if os.environ.get("TAPVEIL_SPARK") == "required":
            raise
        pytest.skip("no Java")
    yield started
    started.stop()


def from_file(case: Case, folder: Path) -> Counted:
    pq.write_table(case.table, folder / "trips.parquet")
    return count(case.plan(folder, FILES))


def test_nothing_is_used_that_spark_connect_lacks() -> None:
    """It has no RDDs, no context, and no hold of Java: `make test-full` releases through it."""
    for module in (spark_session, views, dialect):
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        assert not re.search(r"\brdd\b|sparkContext|SparkContext|\._j[a-z]+\b|\._sc\b", source), module.__name__


# --- the same numbers -------------------------------------------------------------------------------------------------


ALWAYS = {
    *("trips, looked up by mode", "trips, at levels", "cards", "card-days, in a time zone", "taps, paired by card"),
    *("taps, each end by itself", "taps, and one total", "typed: timestamps", "typed: instants"),
}
"""Every unit and every way of counting; the others are run by `make test-full`."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case.name in ALWAYS else pytest.mark.slow, id=case.name) for case in CASES],
)
def test_spark_counts_what_the_built_in_engine_counts(case: Case, session: SparkSession, tmp_path: Path) -> None:
    """From files and from a table in turn, and in sessions set in turn in the usual way and in odd ones."""
    expected, number = from_file(case, tmp_path), CASES.index(case)
    source = ON_SPARK
    if number % 3 == 0 and "time" not in case.needs:
        session.read.parquet(str(tmp_path / "trips.parquet")).createOrReplaceTempView("trips")
        source = {"engine": "spark", "table": "trips"}
    before = {name: session.conf.get(name) for name in ODD}
    odd = ODD if number % 2 else {}
    for name, value in odd.items():
        session.conf.set(name, value)
    try:
        found = count(case.plan(tmp_path, source))
        assert {name: session.conf.get(name) for name in odd} == odd
    finally:
        for name in odd:
            session.conf.set(name, before[name])
    assert_same(found, expected)
    assert not [table for table in session.catalog.listTables() if table.name.startswith("tapveil")]


def labels_plan(folder: Path, columns: dict[str, str], **engine: str) -> Plan:
    """Every column as a table of its own."""
    free_plan(folder, "trips/*.parquet", columns, {name: [name] for name in columns})
    text = (folder / "plan.toml").read_text(encoding="utf-8").replace("[source]\n", "[source]\nmax_refused = 1\n")
    if engine:
        text = text.replace("[source]\n", '[source]\nengine = "spark"\n')
    return Plan.parse(text, base=folder)


def write_parts(folder: Path, **tables: pa.Table) -> None:
    (folder / "trips").mkdir(exist_ok=True)
    for name, table in tables.items():
        pq.write_table(table, folder / "trips" / f"{name}.parquet")


def test_every_type_of_parquet_is_read_as_the_built_in_engine_reads_it(session: SparkSession, tmp_path: Path) -> None:
    moment, clock = datetime(1969, 12, 31, 23, 59, 59, 1000), clock_time(7, 31, 5, 250000)
    columns = {
        "int8": pa.array([-1, 127, None], pa.int8()),
        "uint8": pa.array([255, 0, None], pa.uint8()),
        "uint16": pa.array([65535, 0, None], pa.uint16()),
        "uint32": pa.array([2**32 - 1, 0, None], pa.uint32()),
        "uint64": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "wide": pa.array([Decimal("1e-25"), Decimal("12345678.5"), Decimal(3)], pa.decimal128(38, 30)),
        "large": pa.array([Decimal(10) ** 30, Decimal(-7), None], pa.decimal128(38, 2)),
        "float": pa.array([0.1, float("inf"), 16777216.0], pa.float32()),
        "double": pa.array([-0.0, 1e15, 123456.789]),
        "flag": pa.array([True, False, None]),
        "nothing": pa.nulls(3),
        "fixed": pa.array([b"abcd", b"\xff\x00\x01\x02", None], pa.binary(4)),
        "listed": pa.array(["a", "b", None]).dictionary_encode(),
        "long": pa.array(["a\\b'", "%", "`"], pa.large_string()),
        "day": pa.array([date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31)]),
        "milli": pa.array([clock, None, clock_time(0)], pa.time32("ms")),
        "micro": pa.array([clock, None, clock_time(23, 59, 59, 999999)], pa.time64("us")),
        "nano_moment": pa.array([moment, None, datetime(2016, 8, 8)], pa.timestamp("ns")),
        'odd `name`, "so" it\'s': pa.array(["x", "y", "z"]),
    }
    write_parts(tmp_path, part=pa.table(columns))
    ours = {f"c{number}": name for number, name in enumerate(columns)}
    assert_same(count(labels_plan(tmp_path, ours, engine="spark")), count(labels_plan(tmp_path, ours)))


def test_files_of_different_types_are_each_read_as_themselves(session: SparkSession, tmp_path: Path) -> None:
    """Patterns in names, folders that look like columns, timestamps of old, a type that Spark does not read at all."""
    folder = tmp_path / "trips" / "stop=7"
    folder.mkdir(parents=True)
    moments = pa.array([datetime(2016, 8, 8, 7, 31)] * 2)
    for name, stops in {"a1": pa.array([123.0, 7.5]), "a[1]": pa.array(["0123", None]), "b*{c,d}": pa.nulls(2)}.items():
        table = pa.table({"at": moments, "stop": stops, "half": pa.array([1.5, 2.5], pa.float16())})
        pq.write_table(table, folder / f"{name}.parquet", use_deprecated_int96_timestamps=name == "a1")
    columns, tables = {"tap_on_time": "at", "place": "stop"}, {"t": ["tap_on_time", "place"]}
    files = free_plan(tmp_path, "trips/*/*", columns, tables)
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    on_spark = Plan.parse(text.replace("[source]\n", '[source]\nengine = "spark"\n'), base=tmp_path)
    assert_same(count(on_spark), count(files))


def test_cells_are_fetched_in_pieces(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = BY_NAME["trips, at levels"]
    expected = from_file(case, tmp_path)
    monkeypatch.setattr(spark_session, "CELLS_AT_ONCE", 300)
    monkeypatch.setattr(spark_session, "PART", 256)
    found = count(case.plan(tmp_path, ON_SPARK))
    assert_same(found, expected)
    assert not exact_counts(found.tables["on"]).flags.writeable


@pytest.mark.parametrize("most", [10**6, 0])
def test_groups_are_counted_here_or_on_the_cluster(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Few groups of raw values are fetched; many stay. Either way the trips are read once."""
    case = BY_NAME["typed: timestamps, of some days"]
    expected, made = from_file(case, tmp_path), list[str]()
    create = spark_session.Spark.create

    def noted(self: spark_session.Spark, name: str, sql: str) -> None:
        made.append(name)
        create(self, name, sql)

    monkeypatch.setattr(spark_session.Spark, "create", noted)
    monkeypatch.setattr(spark_session, "GROUPS_AT_ONCE", most)
    assert_same(count(case.plan(tmp_path, ON_SPARK)), expected)
    assert made == (["groups"] if most else ["groups", "counted"])


def test_cards_are_found_however_they_are_written(session: SparkSession, tmp_path: Path) -> None:
    case = BY_NAME["cards"]
    odd = ["123.0", " c1", "c2\u3000", "caf\xe9", "\xe9t\xe9", "a b", "~x~", "\x7fd", "!", "", " ", "\t7.0\n", None]
    cards = pa.array([*odd, *["plain"] * 20], pa.string())
    pq.write_table(case.table.slice(0, len(cards)).set_column(0, "card no", cards), tmp_path / "trips.parquet")
    files, on_spark = (case.plan(tmp_path, each) for each in (FILES, ON_SPARK))
    there = ["!", "123", "7", "\x7fd", "a b", "c1", "c2", "caf\xe9", "plain", "~x~", "\xe9t\xe9"]
    texts = [*there, "123.0", "c3", "plai", "x", "\u3000"]
    assert counter.cards_among(texts, on_spark) == counter.cards_among(texts, files) == set(there)


def test_what_is_quicker_in_a_search_is_not_put_where_it_would_be_compiled_many_times() -> None:
    """A method of more than 8,000 bytes is interpreted by Java: all trips of cards went through one."""
    plain = f"NOT regexp_matches(card, '{scan.ODD_LETTER}')"
    stripped = f"CASE WHEN {plain} THEN card ELSE trim(card) END AS card"
    whole = dialect.translated(f"SELECT {stripped} FROM trips WHERE {plain}")
    assert whole.count("RLIKE") == 1
    assert "RLIKE" not in whole.partition(" WHERE ")[2]


def test_other_questions_have_the_same_answers(session: SparkSession, tmp_path: Path) -> None:
    case = BY_NAME["taps, paired by card"]
    from_file(case, tmp_path)
    files, on_spark = (case.plan(tmp_path, each) for each in (FILES, ON_SPARK))
    assert counter.other_taps(on_spark) == counter.other_taps(files) > 0
    assert counter.copies(on_spark) == counter.copies(files) > 0
    assert counter.commonest_cards(on_spark) == counter.commonest_cards(files)
    texts = ["c1", " c2", "Central", "c99"]
    assert counter.cards_among(texts, on_spark) == counter.cards_among(texts, files) == {"c1"}


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([0.1 + 0.2]), "Spark writes values of the column `stop` differently"),
        (pa.array([1e-7]), "Spark writes values of the column `stop` differently"),
        (pa.array([4_000_000], pa.int32()).cast(pa.date32()), "Spark writes values of the column `stop` differently"),
        (pa.array([1.5], pa.float16()), "`stop` holds halffloat"),
        (pa.array([["a"]]), "`stop` holds list"),
    ],
)
def test_what_engines_would_write_differently_is_refused(
    session: SparkSession, tmp_path: Path, column: pa.Array, said: str
) -> None:
    write_parts(tmp_path, part=pa.table({"stop": column}))
    with pytest.raises(TripDataError, match=re.escape(said)):
        count(labels_plan(tmp_path, {"place": "stop"}, engine="spark"))


def test_what_spark_cannot_read_is_said(session: SparkSession, tmp_path: Path) -> None:
    plan = labels_plan(tmp_path, {"place": "stop"}, engine="spark")
    write_parts(tmp_path, part=pa.table({"halt": ["a"]}))
    with pytest.raises(TripDataError, match=r"part.parquet has no column `stop`"):
        count(plan)
    write_parts(tmp_path, part=pa.table({"stop": ["a"]}), _hidden=pa.table({"stop": ["a"]}))
    with pytest.raises(TripDataError, match=r"Spark ignores _hidden.parquet; rename it"):
        count(plan)
    (tmp_path / "trips" / "_hidden.parquet").unlink()
    (tmp_path / "trips" / "more.parquet").write_text("stop\nA\n", encoding="utf-8")
    with pytest.raises(TripDataError, match="not a complete Parquet file"):
        count(plan)
    (tmp_path / "trips.csv").write_text("stop\nA\n", encoding="utf-8")
    of_source = {"path": ["trips.csv"]}
    with pytest.raises(PlanError, match=r"trips.csv is CSV, but engine = \"spark\" only reads Parquet"):
        count(plan.model_copy(update={"source": plan.source.model_copy(update=of_source)}))
    for table, said in (("nowhere", "Spark has no table or view `nowhere`"), ("halts", "halts has no column `stop`")):
        session.createDataFrame([("a",)], "halt string").createOrReplaceTempView("halts")
        of_table = {"path": (), "table": table}
        with pytest.raises(TripDataError, match=said):
            count(plan.model_copy(update={"source": plan.source.model_copy(update=of_table)}))


def test_without_pyspark_or_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan = labels_plan(tmp_path, {"place": "stop"}, engine="spark")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyspark.sql", None)
        with pytest.raises(EngineError, match=r"pip install 'tapveil\[spark\]'"):
            count(plan)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        patch.delenv("JAVA_HOME", raising=False)
        with pytest.raises(EngineError, match="Spark needs Java 17 or newer"):
            spark_session._require_java()


# --- releases ---------------------------------------------------------------------------------------------------------

PLAN = """
[release]
name = "spark"
title = "Spark"
[source]
engine = "spark"
table = "trips"
[source.columns]
card = "card_id"
mode = "mode"
date = "trip_date"
tap_on_time = "tap_on_time"
tap_on_location = "tap_on_location"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "laplace"
epsilon = 4
delta = 1e-6
[[table]]
name = "on_time"
columns = ["tap_on_time"]
[[table]]
name = "on_location"
columns = ["tap_on_location"]
"""


@pytest.fixture
def holder(tmp_path: Path) -> Path:
    """A plan, its trips, and a ledger whose budget holds the release once."""
    chance, number = random.Random(1), 3000
    table = pa.table(
        {
            "card_id": [f"3085{card:08}" for card in range(number)],
            "mode": chance.choices(["bus", "train"], k=number),
            "trip_date": ["2016-08-08"] * number,
            "tap_on_time": [f"{chance.randrange(6, 22):02d}:00" for _ in range(number)],
            "tap_on_location": chance.choices(["Ash", "Oak", "Elm"], k=number),
        }
    )
    pq.write_table(table, tmp_path / "trips.parquet")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    start_ledger(Plan.read(tmp_path / "plan.toml"), "4", "1e-6")
    return tmp_path


def spends(folder: Path) -> int:
    """How often the ledger was paid from."""
    with Ledger.open(Plan.read(folder / "plan.toml").ledger_path) as ledger:
        return sum(isinstance(entry, Spend) for entry in ledger.entries)


def trips_view(session: SparkSession, folder: Path, fail: str = "") -> None:
    """The trips as a table; with `fail`, one whose tasks fail `once`, each, or `always`, and quote a card."""
    trips = session.read.parquet(str(folder / "trips.parquet")).repartition(2)

    def failing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        for batch in batches:
            yield batch
            if fail == "always" or TaskContext.get().attemptNumber() == 0:
                raise ValueError("card 308500001717")

    (trips.mapInArrow(failing, trips.schema) if fail else trips).createOrReplaceTempView("trips")


def test_a_task_that_fails_is_run_again_and_the_release_is_paid_once(session: SparkSession, holder: Path) -> None:
    plan = Plan.read(holder / "plan.toml")
    trips_view(session, holder)
    expected = count(plan)
    trips_view(session, holder, fail="once")
    assert_same(count(plan), expected)
    release(plan, holder / "out")
    assert spends(holder) == 1
    assert command(holder, ["verify", "out"]).code == 0


def test_a_job_that_fails_is_told_without_a_row_of_it(session: SparkSession, holder: Path) -> None:
    plan = Plan.read(holder / "plan.toml")
    trips_view(session, holder, fail="always")
    with pytest.raises(EngineError, match="Spark could not count the trips") as failed:
        release(plan, holder / "out")
    assert "3085" not in str(failed.value)
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__
    assert nothing_happened(holder)
    trips_view(session, holder)
    release(plan, holder / "out")


def test_check_and_resume_work_on_spark(session: SparkSession, holder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trips_view(session, holder)
    said = command(holder, ["check", "plan.toml"])
    assert said.code == 0, said
    plan = Plan.read(holder / "plan.toml")

    def cut_short(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(writer, "write", cut_short)
        with pytest.raises(KeyboardInterrupt):
            release(plan, holder / "out")
    release(plan, holder / "out", resume=True)
    assert spends(holder) == 1


def nothing_happened(folder: Path) -> bool:
    return not spends(folder) and not (folder / "out").exists() and not list(folder.glob(".*out*"))


def start(folder: Path, what: str) -> subprocess.Popen[str]:
    job = [sys.executable, "-m", "tests.support.sparkjobs", str(folder), what]
    return subprocess.Popen(job, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_driver_that_is_killed_while_it_counts_has_paid_nothing(session: SparkSession, holder: Path) -> None:
    with start(holder, "killed") as job:
        deadline = time.monotonic() + 120
        while not (holder / "begun").exists() and time.monotonic() < deadline and job.poll() is None:
            time.sleep(0.2)
        assert (holder / "begun").exists(), job.communicate()
        job.send_signal(signal.SIGKILL)
    assert nothing_happened(holder)
    trips_view(session, holder)
    release(Plan.read(holder / "plan.toml"), holder / "out")


@pytest.mark.slow
def test_a_release_starts_one_session_and_stops_it(holder: Path) -> None:
    with start(holder, "alone") as job:
        said, noise = job.communicate(timeout=180)
    assert said.split() == ["1", "started,", "none", "left"], noise
    assert spends(holder) == 1


@pytest.mark.slow
@pytest.mark.parametrize("what", ["stopped", "connect"])
def test_in_a_session_of_another_process(holder: Path, what: str) -> None:
    """One that is stopped while it counts: nothing is paid. One of Spark Connect: it is released."""
    if what == "connect":
        pytest.importorskip("grpc")
    with start(holder, what) as job:
        said, noise = job.communicate(timeout=180)
    if what == "stopped":
        assert said.startswith("EngineError: Spark could not count the trips"), noise
        assert nothing_happened(holder)
    else:
        assert "pyspark.sql.connect" in said, noise
        assert "privacy.json" in said
        assert spends(holder) == 1
