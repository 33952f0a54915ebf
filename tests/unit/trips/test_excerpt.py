"""An excerpt of the trips has all rows of some cards, is bounded, and draws cards by their names alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.internal import outlook
from tapveil.trips import excerpt as excerpts
from tapveil.trips.excerpt import Excerpt

TYPES = {
    "text": lambda n: f"3085-{n:07}",
    "large text": lambda n: f"{n:x}",
    "integer": lambda n: n,
    "float": float,
    "bytes": lambda n: bytes([n % 256, n // 256 % 256, n // 65536]),
}
ARROW = {
    "text": pa.string(),
    "large text": pa.large_string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "bytes": pa.binary(3),
}


def seen(kind: str, cards: int = 8000, each: int = 3, most: int = 1000) -> tuple[Excerpt, pa.Table]:
    """An excerpt of trips of cards of a type, and the rows that it kept."""
    found = Excerpt(["card", "place"], "card", most=most)
    for turn in range(each):
        names = pa.array([None if n % 100 == 0 else TYPES[kind](n) for n in range(cards)], ARROW[kind])
        places = pa.array(["a", "b"] * (cards // 2)).dictionary_encode()
        found.see(pa.record_batch({"other": pa.array([turn] * cards), "place": places, "card": names}))
    with found.files(None) as paths:
        return found, pa.concat_tables([pq.read_table(path) for path in paths])


@pytest.mark.parametrize("kind", TYPES)
def test_it_has_all_rows_of_a_card_or_none_and_no_more_than_it_may(kind: str) -> None:
    found, rows = seen(kind)
    assert rows.column_names == ["card", "place"]
    assert found.one_in in (16, 32, 64)
    assert 300 <= len(rows) <= 1000
    rows_of = Counter(rows.column("card").drop_null().to_pylist())
    assert set(rows_of.values()) == {3}


def test_a_card_is_drawn_whatever_stands_beside_it() -> None:
    """Cards of one length are looked at in another way than cards of several."""
    alone, among = Excerpt(["card"], "card", most=200), Excerpt(["card"], "card", most=200)
    cards = [f"{n:010}" for n in range(1000)]
    alone.see(pa.record_batch({"card": pa.array(cards)}))
    among.see(pa.record_batch({"card": pa.array([*cards, "short", None, ""])}))
    drawn = []
    for each in (alone, among):
        with each.files(None) as paths:
            drawn.append(set(pq.read_table(paths[0]).column("card").to_pylist()) - {"short", None, ""})
    assert alone.one_in == among.one_in
    assert drawn[0] == drawn[1] != set()


@pytest.mark.parametrize("kind", [*TYPES, "eight letters"])
def test_rows_that_it_sees_stay_as_they_are(kind: str) -> None:
    name = TYPES.get(kind, lambda n: f"{n:08}")
    cards = pa.array([name(n) for n in range(500)], ARROW.get(kind, pa.string()))
    before = cards.to_pylist()
    Excerpt(["card"], "card", most=100).see(pa.record_batch({"card": cards}))
    assert cards.to_pylist() == before


def test_few_rows_are_all_kept_and_no_file_is_made_of_them(tmp_path: Path) -> None:
    found = Excerpt(["card"], "card")
    found.see(pa.record_batch({"card": pa.array(["a", "b"])}))
    with found.files(tmp_path) as paths:
        assert found.one_in == 1
        assert not paths
        assert not list(tmp_path.iterdir())


def test_where_there_is_no_card_rows_are_drawn() -> None:
    found = Excerpt(["place"], None, most=500)
    for _ in range(20):
        found.see(pa.record_batch({"place": pa.array(map(str, range(1000)))}))
    with found.files(None) as paths:
        assert 200 <= len(pq.read_table(paths[0])) <= 500


def test_nothing_is_left_of_it_on_the_disk(tmp_path: Path) -> None:
    found = Excerpt(["card"], "card", most=10)
    found.see(pa.record_batch({"card": pa.array(map(str, range(1000)))}))
    with found.files(tmp_path) as paths:
        assert all(path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0 for path in paths)
    assert not list(tmp_path.iterdir())


PLAN = """
[release]
name = "many"
title = "Many"
partition = ["date"]
[source]
path = "trips.{ending}"
[source.columns]
card = "card"
date = "day"
tap_on_time = "start"
tap_off_time = "end"
tap_on_location = "from"
tap_off_location = "to"
[privacy]
unit = "{unit}"
{bounds}
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
[[table]]
name = "times"
columns = ["tap_on_time", "tap_off_time"]
"""
BOUNDS = 'trips_per_day = 4\nwithout_card = "refuse"'


@pytest.mark.parametrize("unit", ["trip", "card-day"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_check_finds_in_an_excerpt_what_it_finds_in_all_trips(
    unit: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies, times the wrong way round and a ferry, by both routes; counts are exact all the same."""
    lines = ["card,day,start,end,from,to"]
    places = "ABCDEFGH"
    for n in range(24_000):
        one, two = places[n % 8], places[(n % 8 + 1 + n // 8 % 7) % 8]
        one, two = ("P", "Q")[:: 1 - 2 * (n % 2)] if n % 10 == 0 else (one, two)
        line = f"{n % 4000:06},2025-03-03,2025-03-03 08:{n // 4000:02},2025-03-03 07:{n // 4000:02},{one},{two}"
        lines += [line] * (1 + (n // 7 % 10 == 3))
    (tmp_path / "trips.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = list(zip(*(line.split(",") for line in lines), strict=True))
    pq.write_table(pa.table({name: values for name, *values in columns}), tmp_path / "trips.parquet")
    text = PLAN.format(unit=unit, ending=ending, bounds=BOUNDS if unit == "card-day" else "")
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = tapveil.Plan.read(tmp_path / "plan.toml")
    whole = outlook.outlook(plan)
    monkeypatch.setattr(excerpts.Excerpt.__init__, "__defaults__", (3000,))
    monkeypatch.setattr("tapveil.counting.sql.steps.MOST", 3000)
    some = outlook.outlook(plan)
    assert whole.tables == some.tables
    assert "2,401 rows (9 % of all rows) are duplicates" in "\n".join(whole.notes)
    assert re.search(r"about [0-9,]+ rows \(([789]|1[01]) % of all rows\) are duplicates", "\n".join(some.notes))
    for said in ("100 % of trips end before they begin", "lead only to each other: P, Q."):
        assert said in "\n".join(whole.notes)
        assert said in "\n".join(some.notes)


def test_check_reads_no_column_that_the_plan_names_and_does_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No table is split by the mode: an excerpt has none."""
    rows = [f"{n % 400:06},2025-03-03,08:{n % 60:02},08:59,{'AB'[n % 2]},{'CD'[n % 2]},bus" for n in range(9000)]
    (tmp_path / "trips.csv").write_text("\n".join(["card,day,start,end,from,to,kind", *rows]) + "\n", encoding="utf-8")
    text = PLAN.format(unit="trip", ending="csv", bounds="").replace(
        "[source.columns]", '[source.columns]\nmode = "kind"'
    )
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(excerpts.Excerpt.__init__, "__defaults__", (3000,))
    notes = "\n".join(outlook.outlook(tapveil.Plan.read(tmp_path / "plan.toml")).notes)
    assert "are duplicates of another row in every column that is read" in notes


@pytest.mark.parametrize("name", ["", None])
def test_rows_without_a_card_are_bounded_like_others(name: str | None) -> None:
    """They are nobody's: each is drawn by itself."""
    found = Excerpt(["card"], "card", most=1000)
    for _ in range(4):
        found.see(pa.record_batch({"card": pa.array([name] * 1500, pa.string())}))
    rows = sum(batch.num_rows for batch in found.batches)
    assert 100 < rows <= 1000


def test_one_card_that_has_all_rows_ends_the_drawing() -> None:
    found = Excerpt(["card"], "card", most=10)
    found.see(pa.record_batch({"card": pa.array(["3085-0000001"] * 1000)}))
    assert found.one_in <= excerpts.FEWEST


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.date64(), pa.date32(), pa.time32("s"), pa.duration("ns")])
def test_cards_of_odd_types_are_seen_whatever_they_hold(kind: pa.DataType) -> None:
    found = Excerpt(["card"], "card")
    most, wide = 2 ** (kind.bit_width - 2), pa.int32() if kind.bit_width == 32 else pa.int64()
    found.see(pa.record_batch({"card": pa.array([0, most, -most], wide).view(kind)}))
    assert sum(batch.num_rows for batch in found.batches) == 3
