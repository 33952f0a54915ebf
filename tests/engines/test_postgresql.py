"""Counting in a PostgreSQL database: the same numbers as from files, and nothing left behind or let out."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import EngineError, PlanError, TapveilError, TripDataError
from tapveil.base.progress import Silent
from tapveil.counting import counter
from tapveil.counting.counter import count
from tapveil.counting.engines.duckdb.session import open_session
from tapveil.counting.engines.postgresql import dialect, session
from tapveil.counting.engines.postgresql.session import PostgreSQL
from tapveil.counting.exact import Counted
from tapveil.counting.reveal import exact_counts
from tapveil.counting.sql import steps
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan
from tapveil.trips.reasons import Reason
from tapveil.veil import crossing
from tapveil.veil.release import release
from tests.conftest import start_ledger
from tests.support.commands import Said, command
from tests.support.engines import CASES, TRIP, Case, assert_same
from tests.support.postgres import DATABASE, PASSWORD, USER, Server, running

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Cursor

FILES = {"path": "trips.parquet"}
BY_NAME = {case.name: case for case in CASES}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        prepare(started)
        yield started


@pytest.fixture
def connected(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The role of the holder's is in the environment."""
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return server


def in_table(name: str) -> dict[str, str]:
    return {"engine": "adbc", "table": f"transit.{name}"}


def from_file(case: Case, folder: Path) -> Counted:
    """As the built-in engine counts it, by the same steps."""
    pq.write_table(case.table, folder / "trips.parquet")
    plan = case.plan(folder, FILES)
    inputs = PublicInputs.of(plan)
    with open_session(plan, MEMORY, None) as database:
        return steps.count(plan, inputs.areas, inputs.wider, database, progress=Silent())


@pytest.mark.parametrize("case", [case for case in CASES if "nul" not in case.needs], ids=lambda case: case.name)
def test_a_database_counts_as_files_do(case: Case, connected: Server, tmp_path: Path) -> None:
    connected.load("trips", case.table)
    assert_same(count(case.plan(tmp_path, in_table("trips"))), from_file(case, tmp_path))


@pytest.mark.parametrize("case", [case for case in CASES if TRIP in case.text], ids=lambda case: case.name)
def test_rows_grouped_by_raw_values_count_as_files_do(
    case: Case, connected: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "FEW_GROUPS", 10**6)
    connected.load("trips", case.table)
    assert_same(count(case.plan(tmp_path, in_table("trips"))), from_file(case, tmp_path))


@pytest.mark.parametrize("name", ["cards", "taps, paired by card", "typed: instants", "typed: numbers"])
def test_cards_copies_and_other_taps_are_found(name: str, connected: Server, tmp_path: Path) -> None:
    case = BY_NAME[name]
    connected.load("trips", case.table)
    pq.write_table(case.table, tmp_path / "trips.parquet")
    plans = [case.plan(tmp_path, source) for source in (in_table("trips"), FILES)]
    texts = ["c1", "c2", "7", "nobody", "C1", "0", "7.5", ""]
    there, here = (counter.cards_among(texts, plan) for plan in plans)
    assert there == here != set()
    # Texts that begin alike are looked for apart from others.
    assert {text for text in texts if counter.cards_among([text], plans[0])} == there
    assert counter.copies(plans[0]) == counter.copies(plans[1])
    if plans[0].privacy.by_card:
        of_each = [counter.commonest_cards(plan) for plan in plans]
        assert of_each[0] == of_each[1]
        assert of_each[0].commonest
    if plans[0].source.taps:
        assert counter.other_taps(plans[0]) == counter.other_taps(plans[1]) > 0


# --- what PostgreSQL alone has ----------------------------------------------------------------------------------------

SETTINGS = {
    "timezone": "Asia/Kathmandu",
    "datestyle": "German",
    "intervalstyle": "sql_standard",
    "extra_float_digits": "-10",
    "bytea_output": "escape",
    "standard_conforming_strings": "off",
    "client_encoding": "LATIN1",
    "search_path": "transit, public",
    "enable_hashjoin": "off",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "default_transaction_isolation": "read committed",
}


@pytest.mark.parametrize("name", ["cards", "typed: instants", "typed: numbers", "typed: clocks"])
def test_no_setting_of_a_server_changes_a_count(name: str, connected: Server, tmp_path: Path) -> None:
    case = BY_NAME[name]
    connected.load("trips", case.table)
    connected.run(*(f"ALTER ROLE {USER} SET {setting} = {value!r}" for setting, value in SETTINGS.items()))
    connected.run(f"ALTER ROLE {USER} SET search_path = transit, public")
    try:
        found = count(case.plan(tmp_path, {"engine": "adbc", "table": "trips"}))
    finally:
        connected.run(f"ALTER ROLE {USER} RESET ALL")
    assert_same(found, from_file(case, tmp_path))


OF_THE_ROLE = {"nobody": (None, "64MB"), "a small one": ("8MB", "8MB"), "a large one": ("100MB", "100MB")}


@pytest.mark.parametrize("who", OF_THE_ROLE)
def test_memory_that_was_set_for_the_role_stays(who: str, connected: Server, tmp_path: Path) -> None:
    given, expected = OF_THE_ROLE[who]
    plan = plan_of("small", tmp_path)
    connected.run(f"ALTER ROLE {USER} SET work_mem = '{given}'" if given else f"ALTER ROLE {USER} RESET work_mem")
    try:
        with session.open_session(plan, MEMORY, None) as database:
            found = database.fetch("SELECT current_setting('work_mem') AS memory").to_pylist()
    finally:
        connected.run(f"ALTER ROLE {USER} RESET work_mem")
    assert found == [{"memory": expected}]


KINDS = {
    "card no": ["char(12)", 'text COLLATE transit."caseless"', "transit.citext", "transit.a_domain"],
    "mode": ["transit.a_mode", "varchar(9)"],
    "on_at": ['text COLLATE transit."caseless"', "char(40)", "transit.citext", "transit.a_domain"],
}


@pytest.mark.parametrize("round_", range(4))
def test_texts_of_every_type_are_compared_by_their_bytes(round_: int, connected: Server, tmp_path: Path) -> None:
    """Also where the database takes `Central` and `central` for the same."""
    case = BY_NAME["cards"]
    connected.load("texts", case.table)
    casts = {column: kinds[round_ % len(kinds)] for column, kinds in KINDS.items()}
    for column, kind in casts.items():
        plain = kind.partition(" COLLATE")[0]
        connected.run(f'ALTER TABLE transit.texts ALTER COLUMN "{column}" TYPE {kind} USING "{column}"::text::{plain}')
    assert_same(count(case.plan(tmp_path, in_table("texts"))), from_file(case, tmp_path))


ODD = {
    "timestamp": ["'infinity'", "'-infinity'", "'0044-03-15 08:00 BC'", "'12345-01-01 08:00'"],
    "timestamptz": ["'infinity'", "'-infinity'", "'0044-03-15 08:00 BC'", "'12345-01-01 08:00'"],
    "timetz": ["'07:31+10'"],
    "interval": ["'3 days'", "'-1 hour'"],
    "float8": ["'Infinity'", "'-Infinity'", "1e300", "7.25", "-2"],
    "numeric": ["'Infinity'", "1e400", "7.25", "9223372036854775808", "9223372036854775807.5", "1e-400"],
    "bool": ["true"],
    "json": ["""'{"at": "07:31"}'"""],
    "uuid": ["'00000000-0000-0000-0000-000000000451'"],
    "inet": ["'10.0.0.1'"],
    "int4[]": ["'{451}'"],
    "money": ["451"],
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_time_refuses_its_row(kind: str, connected: Server, tmp_path: Path) -> None:
    connected.run("DROP TABLE IF EXISTS transit.odd", f"CREATE TABLE transit.odd (at {kind}, stop text)")
    connected.run(*(f"INSERT INTO transit.odd VALUES ({each}, 'Oak')" for each in [*ODD[kind], "NULL"]))
    connected.run(f"GRANT SELECT ON transit.odd TO {USER}")
    zone = 'timezone = "Australia/Sydney"\n' if kind == "timestamptz" else ""
    counted = count(odd_plan(tmp_path, "tap_on_time", zone))
    assert dict(counted.refusals.by_reason) == {Reason("unreadable", "tap_on_time"): len(ODD[kind])}
    assert counted.refusals.rows == len(ODD[kind]) + 1


def odd_plan(folder: Path, column: str, more: str = "") -> Plan:
    return Plan.parse(
        f'[release]\nname = "odd"\ntitle = "Odd"\npartition = []\n[source]\n{more}engine = "adbc"\n'
        f'table = "transit.odd"\nmax_refused = 1\n[source.columns]\n{column} = "at"\nplace = "stop"\n'
        '[privacy]\nunit = "trip"\nneighbours = "replace"\nmechanism = "sbh"\n'
        f'[[table]]\nname = "one"\ncolumns = ["{column}", "place"]\nepsilon = 1\ndelta = "1/8000000"',
        base=folder,
    )


DATES = ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'12345-01-01'"]


def test_days_that_no_calendar_of_ours_has_refuse_their_rows(connected: Server, tmp_path: Path) -> None:
    connected.run("DROP TABLE IF EXISTS transit.odd", "CREATE TABLE transit.odd (at date, stop text)")
    connected.run(*(f"INSERT INTO transit.odd VALUES ({each}, 'Oak')" for each in [*DATES, "'2016-08-08'", "NULL"]))
    connected.run(f"GRANT SELECT ON transit.odd TO {USER}")
    counted = count(odd_plan(tmp_path, "date"))
    assert dict(counted.refusals.by_reason) == {Reason("unreadable", "date"): 4, Reason("missing", "date"): 1}
    assert exact_counts(counted.tables["one"]).tolist() == [1]


def test_numbers_are_spelled_as_files_have_them(connected: Server, tmp_path: Path) -> None:
    draw = random.Random(7)
    values = [draw.gauss(0, 1) * 10 ** draw.randrange(-12, 13) for _ in range(300)]
    values += [0.0, -0.0, 7.0, 2.0**53, 2.0**62, 2.0**63, -(2.0**63), 1e300, 1e-300, float("inf"), float("nan")]
    table = pa.table({"at": pa.array(values), "stop": pa.array([f"s{index % 3}" for index in range(len(values))])})
    connected.load("odd", table)
    pq.write_table(table, tmp_path / "trips.parquet")
    there = odd_plan(tmp_path, "fare")
    here = there.model_copy(update={"source": there.source.model_copy(update={"engine": "duckdb", "table": None})})
    here = here.model_copy(update={"source": here.source.model_copy(update={"path": ("trips.parquet",)})})
    assert_same(count(there), count(here))


def test_rows_that_arrive_meanwhile_change_nothing(
    connected: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = BY_NAME["cards"]
    connected.load("trips", case.table)
    create = PostgreSQL.create

    def and_more_arrive(self: PostgreSQL, name: str, sql: str) -> None:
        create(self, name, sql)
        connected.run("INSERT INTO transit.trips SELECT * FROM transit.trips LIMIT 50")
        connected.run("""INSERT INTO transit.trips ("card no", on_at) VALUES ('new', 'New')""")

    monkeypatch.setattr(PostgreSQL, "create", and_more_arrive)
    assert_same(count(case.plan(tmp_path, in_table("trips"))), from_file(case, tmp_path))


# --- what is left, and what is said -----------------------------------------------------------------------------------

TRIPS = """
[release]
name = "vesper"
title = "Port Vesper"
partition = ["date"]
[source]
engine = "adbc"
table = "{table}"
[source.columns]
card = "card"
date = "day"
tap_on_time = "at"
tap_on_location = "stop"
[privacy]
unit = "card-day"
trips_per_day = 3
without_card = "refuse"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 4
delta = 1e-6
[ledger]
path = "ledger"
data_set = "vesper"
[[table]]
name = "on"
columns = ["tap_on_time", "tap_on_location"]
"""


def prepare(server: Server) -> None:
    """A few stops and hours, in a table and in others like it that cannot be read; and types to be met in tables."""
    draw = random.Random(1)
    rows = [(f"card{draw.randrange(900)}", draw.choice("789"), draw.choice("ABC")) for _ in range(4000)]
    files = {
        "card": [card for card, _, _ in rows],
        "day": ["2025-03-03"] * len(rows),
        "at": [f"0{hour}:00" for _, hour, _ in rows],
        "stop": [f"Stop {stop}" for _, _, stop in rows],
        "name": ["Ada"] * len(rows),
    }
    server.load("small", pa.table(files))
    server.run(
        "CREATE VIEW transit.slow AS SELECT card, day, at, stop || pg_sleep(0.05)::text AS stop FROM transit.small",
        "CREATE VIEW transit.broken AS SELECT card, day, at, stop || 1 / (length(stop) - 6) AS stop FROM transit.small",
        "CREATE VIEW transit.instants AS SELECT card, day, now() AS at, stop FROM transit.small",
        "CREATE TABLE transit.some_columns AS SELECT * FROM transit.small",
        "CREATE TABLE transit.kept_back AS SELECT * FROM transit.small",
        "CREATE TABLE transit.by_policy AS SELECT * FROM transit.small",
        "ALTER TABLE transit.by_policy ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY part ON transit.by_policy USING (stop = 'Stop A')",
        f"GRANT SELECT ON transit.slow, transit.broken, transit.instants, transit.by_policy TO {USER}",
        f"GRANT SELECT (card, day, at, stop) ON transit.some_columns TO {USER}",
        "CREATE SCHEMA hidden",
        "CREATE TABLE hidden.small AS SELECT * FROM transit.small",
        "CREATE EXTENSION citext SCHEMA transit",
        "CREATE COLLATION transit.caseless (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
        "CREATE DOMAIN transit.a_domain AS varchar(60) COLLATE transit.caseless",
        "CREATE TYPE transit.a_mode AS ENUM ('bus', 'train', 'ferry', ' bus ', 'Bus', '', 'tram')",
    )


def plan_of(table: str, folder: Path) -> Plan:
    (folder / "plan.toml").write_text(TRIPS.format(table=f"transit.{table}"), encoding="utf-8")
    return Plan.read(folder / "plan.toml")


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}


def assert_no_canary(folder: Path, said: Said) -> None:
    """Password, host, user and database all have the word in them."""
    assert "canary" not in said.out + said.err
    for path in folder.rglob("*"):
        assert "canary" not in path.name
        assert path.is_dir() or b"canary" not in path.read_bytes(), path


RELATIONS = """
SELECT nspname || '.' || relname AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname NOT LIKE 'pg_toast%' ORDER BY 1
"""


def test_a_release_leaves_a_folder_here_and_nothing_there(connected: Server, tmp_path: Path) -> None:
    plan = plan_of("small", tmp_path)
    start_ledger(plan)
    before = connected.run(RELATIONS)
    for arguments in (["check", "plan.toml"], ["release", "--all-days", "plan.toml", "-o", "published"]):
        said = command(tmp_path, arguments)
        assert said.code == 0, said.err
        assert_no_canary(tmp_path, said)
    assert "Stop A" in (tmp_path / "published" / "data" / "on.csv").read_text(encoding="utf-8")
    assert connected.run(RELATIONS) == before
    assert connected.run("SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'tapveil'") == [{"n": 0}]


def test_a_release_that_was_cut_short_goes_on_with_the_same_rows(
    connected: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of("small", tmp_path)
    start_ledger(plan)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(crossing, "draw", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release(plan, tmp_path / "published")
    connected.run("INSERT INTO transit.small SELECT 'one more', day, at, stop FROM transit.small LIMIT 1")
    try:
        with pytest.raises(TripDataError, match="their counts differ"):
            release(plan, tmp_path / "published", resume=True)
    finally:
        connected.run("DELETE FROM transit.small WHERE card = 'one more'")
    release(plan, tmp_path / "published", resume=True)
    assert (tmp_path / "published" / "data" / "on.csv").exists()


@pytest.mark.parametrize("way", ["URI", "service"])
def test_a_connection_may_be_named_by_a_uri_or_a_service(
    way: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_of("small", tmp_path)
    host = server.folder
    (host / "services").write_text(
        f"[trips]\nhost={host}\nuser={USER}\ndbname={DATABASE}\npassword={PASSWORD}\n", encoding="utf-8"
    )
    if way == "URI":
        monkeypatch.setenv("TAPVEIL_DATABASE", f"postgresql://{USER}:{PASSWORD}@/{DATABASE}?host={host}")
    else:
        monkeypatch.setenv("PGSERVICE", "trips")
        monkeypatch.setenv("PGSERVICEFILE", str(host / "services"))
    said = command(tmp_path, ["check", "plan.toml", "--json"])
    assert said.code == 0, said.err
    assert_no_canary(tmp_path, said)


REFUSED = {
    "wrong password": ("small", {"PGPASSWORD": "canary-wrong"}, 4, "wrong user or password"),
    "no server": ("small", {"PGHOST": "/canary-nowhere"}, 4, "no server is listening"),
    "no such host": ("small", {"PGHOST": "canary.invalid"}, 4, "unknown host"),
    "no such database": ("small", {"PGDATABASE": "canary_nowhere"}, 4, "unknown database"),
    "a URI that is none": ("small", {"TAPVEIL_DATABASE": "canary://x:y@z"}, 4, "cannot connect"),
    "no such table": ("nothing", {}, 3, "finds no table or view `transit.nothing`"),
    "no SELECT": ("kept_back", {}, 3, "cannot read all of `transit.kept_back`"),
    "some rows only": ("by_policy", {}, 3, "without a row-level policy"),
    "a view that fails": ("broken", {}, 3, "SQLSTATE 22012"),
    "too slow": ("slow", {"PGOPTIONS": "-c statement_timeout=300ms"}, 4, "statement_timeout"),
    "read-only": ("small", {"PGOPTIONS": "-c default_transaction_read_only=on"}, 4, "read-only"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_failure_is_told_in_our_own_words_and_spends_nothing(
    why: str, connected: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, environment, code, words = REFUSED[why]
    start_ledger(plan_of(table, tmp_path))
    before = files_in(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    said = command(tmp_path, ["release", "--all-days", "plan.toml", "-o", "published"])
    assert (said.code, words in said.err) == (code, True), said.err
    assert_nothing_happened(tmp_path, said, before)


def assert_nothing_happened(folder: Path, said: Said, before: dict[str, bytes]) -> None:
    assert_no_canary(folder, said)
    assert "Ada" not in said.err
    assert "Traceback" not in said.err
    assert files_in(folder) == before


@pytest.mark.parametrize("way", ["the session is ended", "the server is killed"])
def test_a_lost_connection_spends_nothing(way: str, connected: Server, tmp_path: Path) -> None:
    start_ledger(plan_of("slow", tmp_path))
    before = files_in(tmp_path)
    active = "FROM pg_stat_activity WHERE application_name = 'tapveil' AND state = 'active'"
    active += " AND clock_timestamp() - query_start > interval '300 ms'"  # the query that reads the slow view

    def end_it() -> None:
        deadline = time.monotonic() + 120
        while not connected.run(f"SELECT pid {active}") and time.monotonic() < deadline:
            time.sleep(0.1)
        if way == "the server is killed":
            connected.stop()
        else:
            connected.run(f"SELECT pg_terminate_backend(pid) {active}")

    thread = threading.Thread(target=end_it)
    thread.start()
    said = command(tmp_path, ["release", "--all-days", "plan.toml", "-o", "published"])
    thread.join()
    if way == "the server is killed":
        connected.start()
    assert (said.code, "connection to the database was lost" in said.err) == (4, True), said.err
    assert_nothing_happened(tmp_path, said, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_waits_can_interrupt(number: signal.Signals, connected: Server, tmp_path: Path) -> None:
    plan_of("slow", tmp_path)
    command = [sys.executable, "-m", "tapveil", "release", "plan.toml", "--no-ledger", "-o", "published"]
    ours = "FROM pg_stat_activity WHERE application_name = 'tapveil'"
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        at_work = f"SELECT pid {ours} AND state = 'active' AND clock_timestamp() - query_start > interval '300 ms'"
        while not connected.run(at_work):  # the query that reads the slow view
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(number)
        said = process.communicate(timeout=120)[1]
    assert (process.returncode, "Interrupted" in said) == (130, True), said
    assert connected.run(f"SELECT pid {ours}") == []
    assert not (tmp_path / "published").exists()


# --- rights -----------------------------------------------------------------------------------------------------------


def test_what_a_role_needs(connected: Server, tmp_path: Path) -> None:
    """SELECT on the columns that the plan names is enough; without TEMP or USAGE it says so."""
    plan = plan_of("some_columns", tmp_path)
    assert count(plan).refusals.rows == 4000
    with pytest.raises(TripDataError, match=r"hidden\.small"):
        count(Plan.parse(TRIPS.format(table="hidden.small"), base=tmp_path))
    connected.run(f"REVOKE TEMP ON DATABASE {DATABASE} FROM {USER}")
    try:
        with pytest.raises(TripDataError, match="TEMP"):
            count(plan)
    finally:
        connected.run(f"GRANT TEMP ON DATABASE {DATABASE} TO {USER}")


def test_columns_are_asked_of_the_database(connected: Server, tmp_path: Path) -> None:
    text = TRIPS.format(table="transit.small")
    with pytest.raises(TripDataError, match=r"transit\.small has no column `stopp`.*did you mean `stop`"):
        count(Plan.parse(text.replace('"stop"', '"stopp"'), base=tmp_path))
    with pytest.raises(PlanError, match="timezone"):
        count(plan_of("instants", tmp_path))


def test_a_database_of_another_encoding_is_refused(
    connected: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of("small", tmp_path)
    options = "TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'"
    connected.run("DROP DATABASE IF EXISTS canary_latin", f"CREATE DATABASE canary_latin {options}")
    monkeypatch.setenv("PGDATABASE", "canary_latin")
    with pytest.raises(TripDataError, match="finds no table or view"):
        count(plan)
    latin = plan.model_copy(update={"source": plan.source.model_copy(update={"table": "pg_catalog.pg_class"})})
    named = {ours: each.model_copy(update={"column": "relname"}) for ours, each in plan.source.columns.items()}
    latin = latin.model_copy(update={"source": latin.source.model_copy(update={"columns": named})})
    with pytest.raises(EngineError, match="the encoding of the database"):
        count(latin)


def test_without_the_driver_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(EngineError, match=r"pip install 'tapveil\[adbc\]'"):
        count(odd_plan(tmp_path, "fare"))


STATES = {
    "53100": (EngineError, "disk"),
    "53200": (EngineError, "memory"),
    "53400": (EngineError, "limit"),
    "57P01": (EngineError, "lost"),
    "08006": (EngineError, "lost"),
    "": (EngineError, "lost"),
    "22P02": (TripDataError, "22P02"),
    "XX000": (EngineError, "XX000"),
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_its_words(state: str) -> None:
    kind, words = STATES[state]
    error: TapveilError = session._in_our_words(state, "transit.trips")
    assert type(error) is kind
    assert words in str(error)


def test_what_postgresql_cannot_hold_is_refused(connected: Server, tmp_path: Path) -> None:
    text = TRIPS.format(table="transit.small").replace(
        'card = "card"', 'card = { column = "card", missing = ["\\u0000"] }'
    )
    with pytest.raises(EngineError, match="NUL"):
        count(Plan.parse(text, base=tmp_path))


def test_small_tables_are_written_into_the_query(connected: Server) -> None:
    """Whatever is in them, it is a value there and nothing else."""
    texts = ["O'Hare", "back\\slash", '"quoted"', "$1 %s :a {}", "-- ; /* */", "東門", "", None]
    days = [date(2025, 1, 1), date(1, 1, 1), date(9999, 12, 31), None, None, None, None, None]
    table = pa.table({"raw_value": texts, "day": pa.array(days, pa.date32()), "code": pa.array(range(8), pa.int64())})
    listed = dialect.in_a_query("code_a", table)
    assert listed
    sql = dialect.translated("SELECT raw_value, day, code FROM code_a ORDER BY code", {"code_a": listed})
    assert connected.run(sql) == table.to_pylist()


def test_cards_are_read_by_several_workers(connected: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value of a row is computed once, and not by a single process: joins are below what brings rows together."""
    asked = list[str]()

    def noted(self: PostgreSQL, into: str, sql: str, columns: Collection[str]) -> Counter[Reason]:
        asked.append(self._translated(sql))
        return read(self, into, sql, columns)

    read = PostgreSQL.read
    monkeypatch.setattr(PostgreSQL, "read", noted)
    plan = plan_of("small", tmp_path)
    inputs = PublicInputs.of(plan)
    with session.open_session(plan, MEMORY, None) as database:
        steps.count(plan, inputs.areas, inputs.wider, database, progress=Silent())
        free = ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size")
        for setting, value in {**dict.fromkeys(free, "0"), "enable_sort": "on"}.items():
            database._session.execute(f"SET {setting} = {value}")
        lines = database._session.do(lambda cursor: explained(cursor, asked[0]))
    together = next(index for index, line in enumerate(lines) if "Gather" in line)
    assert not any("Join" in line for line in lines[:together])
    assert any("Parallel Seq Scan" in line for line in lines[together:])


def explained(cursor: Cursor, sql: str) -> list[str]:
    """The plan of a query; it cannot be copied out, as results are."""
    cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
    cursor.execute(f"EXPLAIN (COSTS OFF) {sql}")
    return [str(line) for (line,) in cursor.fetchall()]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"code": pa.array([], pa.int64())}),
        pa.table({"code": pa.array(range(10_000), pa.int64())}),
        pa.table({"raw_value": pa.array([1.5])}),
        pa.table({"raw_value": pa.array([10**7], pa.int32()).cast(pa.date32())}),
    ],
    ids=["no rows", "many rows", "another type", "a day that Python does not have"],
)
def test_other_tables_are_uploaded(table: pa.Table) -> None:
    assert dialect.in_a_query("code_a", table) is None
