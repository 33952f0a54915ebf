"""Cards are counted straight from their files, or by SQL: by either route the same units in the same cells."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapveil.counting import counter
from tapveil.counting.direct import card_counter, md5, shares
from tapveil.counting.direct import counter as direct
from tapveil.counting.direct.batches import NeedsEngineError
from tapveil.counting.exact import Counted
from tapveil.plan.model import Plan
from tests.conftest import WITH_TOTAL, opal_plan, write_csv
from tests.end_to_end import test_taps
from tests.property.test_routes import assert_same, both_routes, by_sql, write
from tests.property.test_units import TOTAL, plan_text

BOUNDS = [
    ("card", "trips_per_card = 1"),
    ("card", "trips_per_card = 3"),
    ("card", "trips_per_card = 4\ntrips_per_day = 2"),
    ("card-day", "trips_per_day = 1"),
    ("card-day", "trips_per_day = 3"),
]
CARDS = [
    "1",
    "2",
    " 2",
    "2.0",
    "02",
    "\u30003",
    "3",
    "-1.0",
    "4.00",
    "x" * 55,
    "x" * 56,
    "x" * 55 + " ",
    "",
    "none",
    "é",
]
DAYS = ["2025-03-03", "2025-03-04", "2025-03-05", "soon", ""]
HOURS = ["07:00", "07:05", "08:00", "9:00", "late", ""]
STOPS = ["Ash", "Oak", "Elm", "A/B", "B", ""]
ROW = st.tuples(*(st.sampled_from(each) for each in (CARDS, DAYS, HOURS, STOPS)))


def assert_both(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Count by both routes, and make sure that there were two."""
    straight = list[Counted]()
    count = card_counter.CardPass.count

    def spied(self: card_counter.CardPass) -> Counted:
        straight.append(count(self))
        return straight[-1]

    monkeypatch.setattr(card_counter.CardPass, "count", spied)
    ours, theirs = both_routes(plan)
    assert len(straight) == max(1, len(plan.columns.sides))
    assert_same(ours, theirs)
    assert ours.left_out == theirs.left_out
    return ours


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(ROW, min_size=1, max_size=60),
    bounds=st.sampled_from(BOUNDS),
    own=st.booleans(),
    at_once=st.integers(1, 40),
)
def test_messy_cards_count_the_same_by_either_route(
    rows: list[tuple[str, ...]], bounds: tuple[str, str], own: bool, at_once: int
) -> None:
    """However few rows are put aside, read or counted at a time."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "AT_ONCE", at_once)
        patch.setattr(shares, "ROWS_OF_A_BLOCK", 2 * at_once)
        patch.setattr(card_counter, "ROWS_AT_ONCE", at_once)
        write_csv(Path(name) / "trips.csv", rows, ("card", "day", "hour", "stop"))
        text = plan_text(*bounds, "own-unit" if own else "refuse") + TOTAL
        text = text.replace('card = "card"', 'card = { column = "card", missing = ["none", "4"] }')
        assert_both(Plan.parse(text, base=Path(name)), patch)


def some(values: list[object], rows: int, seed: int) -> list[object]:
    return random.Random(seed).choices(values, k=rows)


NUMBERS = [*range(1, 90), 2**62, -7, None]
KINDS: dict[str, Callable[[int], pa.Array]] = {
    "text": lambda rows: pa.array([n and f" {n}" for n in some(NUMBERS, rows, 3)], pa.string()),
    "long text": lambda rows: pa.array([n and f"{n}.0" for n in some(NUMBERS, rows, 3)], pa.large_string()),
    "listed": lambda rows: pa.array([n and f"{n}" for n in some(NUMBERS, rows, 3)]).dictionary_encode(),
    "integer": lambda rows: pa.array(some(NUMBERS, rows, 3), pa.int64()),
    "small": lambda rows: pa.array(some([*range(200), None], rows, 3), pa.uint8()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounds", BOUNDS[2:4])
def test_cards_of_every_type_count_the_same_by_either_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, bounds: tuple[str, str]
) -> None:
    rows = 3000
    table = {
        "card": KINDS[kind](rows),
        "day": pa.array(some(list(DAYS[:3]), rows, 4)),
        "hour": pa.array(some(list(range(400, 800)), rows, 5), pa.int32()),
        "stop": pa.array(some([*STOPS, None], rows, 6), pa.string()),
    }
    pq.write_table(pa.table(table), tmp_path / "trips.parquet", row_group_size=700)
    text = plan_text(*bounds, "own-unit").replace("trips.csv", "trips.parquet")
    counted = assert_both(Plan.parse(text, base=tmp_path), monkeypatch)
    assert counted.left_out


def test_tables_at_other_levels_count_a_card_once_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A card that is in several fine cells is once in the coarse cell of all of them."""
    rows = [(str(n % 40), DAYS[n % 3], f"{n % 24:02d}:{n % 60:02d}", STOPS[n % 5]) for n in range(2000)]
    write_csv(tmp_path / "trips.csv", rows, ("card", "day", "hour", "stop"))
    level = '[[table]]\nname = "coarse"\ncolumns = ["tap_on_time"]\nlevel = { time_minutes = 180 }\n'
    assert_both(Plan.parse(plan_text("card", "trips_per_card = 9") + level, base=tmp_path), monkeypatch)


def test_what_does_not_fit_into_memory_is_counted_by_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(str(n % 40), DAYS[n % 3], f"{n % 24:02d}:{n % 60:02d}", STOPS[n % 5]) for n in range(2000)]
    write_csv(tmp_path / "trips.csv", rows, ("card", "day", "hour", "stop"))
    plan = Plan.parse(plan_text("card", "trips_per_card = 9"), base=tmp_path)
    expected = by_sql(plan)

    def full(self: card_counter.CardPass) -> Counted:
        raise NeedsEngineError

    monkeypatch.setattr(card_counter.CardPass, "count", full)
    assert_same(counter.count(plan), expected)


def test_two_cards_that_share_bits_are_two_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One half of the MD5 is sorted: where two cards have it in common, the other half distinguishes them."""
    rows = [(str(n % 40), DAYS[n % 3], f"{n % 24:02d}:{n % 60:02d}", STOPS[n % 5]) for n in range(2000)]
    write_csv(tmp_path / "trips.csv", rows, ("card", "day", "hour", "stop"))
    digests = md5.digests

    def halved(texts: pa.Array) -> tuple[object, object]:
        first, second = digests(texts)
        return first, second % 3

    monkeypatch.setattr(md5, "digests", halved)
    assert_both(Plan.parse(plan_text("card", "trips_per_card = 9"), base=tmp_path), monkeypatch)


def test_stops_that_each_mode_looks_up_count_the_same_by_either_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 3000
    write(tmp_path / "trips.parquet", "date", "stampms", rows)
    table = pq.read_table(tmp_path / "trips.parquet").append_column("card_id", KINDS["text"](rows))
    pq.write_table(table, tmp_path / "trips.parquet", row_group_size=700)
    unit = 'unit = "card"\ntrips_per_card = 12\ntrips_per_day = 5\nwithout_card = "own-unit"'
    changes = {
        'unit = "trip"  ': unit + " #",
        'neighbours = "replace"': 'neighbours = "add-remove"',
        "# card =": "card =",
        **WITH_TOTAL,
    }
    assert_both(opal_plan(tmp_path, "trips.parquet", **changes), monkeypatch)


TAPS = {
    "card": ["1", "2", " 2", "3", "x" * 60, ""],
    "at": [
        *(f"2016-08-{day:02d} {hour:02d}:{minute}:00" for day in (8, 9) for hour in (6, 7) for minute in ("00", "25"))
    ],
    "mode": ["train", "bus", " bus", ""],
    "action": ["Enter", "Exit", "Exit ", "Transfer entrance", "Charge", ""],
    "stop": ["A", "B", "C", ""],
    "vehicle": ["v1", "v2", ""],
}
TABLES = {
    "od": ["tap_on_location", "tap_off_location"],
    "on": ["tap_on_location"],
    "off": ["tap_off_time"],
    "across": ["tap_on_time", "tap_off_location"],
}


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(st.tuples(*(st.sampled_from(each) for each in TAPS.values())), min_size=1, max_size=60),
    unit=st.sampled_from([test_taps.CARD, test_taps.DAY]),
    most=st.integers(1, 5),
    tables=st.sets(st.sampled_from(sorted(TABLES)), min_size=1),
    same=st.sampled_from(["", 'same = "card"', 'same = "vehicle"', "within_minutes = 20"]),
    typed=st.sampled_from([None, "s", "us"]),
)
def test_taps_make_the_same_trips_by_either_route(
    rows: list[tuple[str, ...]], unit: str, most: int, tables: set[str], same: str, typed: str | None
) -> None:
    """Many of one second and end, so that labels decide; times are texts, or timestamps, of which some are missing."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        wanted = {each: TABLES[each] for each in sorted(tables)}
        unit = unit.replace("= 20", f"= {most}")
        plan = test_taps.plan(Path(name), unit, wanted, source="max_refused = 1", taps=same)
        write_csv(Path(name) / "taps.csv", [*rows, ("4", "soon", "bus", "Exit", "A", "v1")], test_taps.HEADER)
        if typed:
            columns = dict(zip(test_taps.HEADER, map(list, zip(*rows, strict=True)), strict=True))
            at = [None if card == "1" else datetime.fromisoformat(at) for card, at, *_ in rows]
            table = pa.table({**columns, "at": pa.array(at, pa.timestamp(typed))})
            pq.write_table(table, Path(name) / "taps.parquet")
            plan = plan.model_copy(update={"source": plan.source.model_copy(update={"path": ("taps.parquet",)})})
        assert_both(plan, patch)
