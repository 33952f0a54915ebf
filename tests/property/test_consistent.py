"""What is computed from published tables: numbers that add up, whole and no further off; and each trip once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tapveil.plan.model import Plan
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.consistent import Consistent, _project, consistent
from tapveil.published.derived import derived
from tapveil.published.lattice import Edge, Lattice, chains, lattice
from tapveil.published.manifest import Manifest
from tapveil.veil import statement

PLAN = """
[release]
name = "made-up"
title = "Made up"
partition = {partition}
[source]
path = "trips.csv"
[source.columns]
card = "card"
mode = "mode"
date = "date"
tap_on_time = "on"
tap_on_location = "from"
tap_off_location = "to"
[coarsen]
time_minutes = 360
[coarsen.wider.area."*"]
lookup = "areas.csv"
from = "place"
to = "area"
[privacy]
unit = "{unit}"
neighbours = "replace"
mechanism = "{mechanism}"
epsilon = 24
delta = 1e-5
[[table]]
name = "t"
columns = ["tap_on_time"]
levels = [{{}}, {{ name = "half", time_minutes = 720 }}, {{ name = "whole", time_minutes = 1440 }}]
[[table]]
name = "l"
columns = ["tap_on_location"]
levels = [{{}}, {{ name = "area", location = "area" }}]
[[table]]
name = "tl"
columns = ["tap_on_time", "tap_on_location"]
levels = [
  {{}},
  {{ name = "half", time_minutes = 720 }},
  {{ name = "area", time_minutes = 1440, location = "area" }},
]
[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]
[[table]]
name = "d"
columns = ["tap_off_location"]
[[table]]
name = "total"
columns = []
weight = "1/4"
"""
PLACES = {"a1": "A", "a2": "A", "b1": "B", "b2": "B"}
TIMES = ("-1", "00:00", "06:00", "12:00", "18:00")
Key = tuple[str, ...]
Trip = tuple[str, str, str, str]
"""Mode, time, from, to."""


@lru_cache
def stated(mechanism: str, by_mode: bool, unit: str = "trip") -> tuple[Manifest, dict[str, Mechanism]]:
    """What a folder says of itself; with one more level, whose bins cross those of another, as no plan has it."""
    bound = "" if unit == "trip" else '"\ntrips_per_card = 2\nwithout_card = "refuse'
    text = PLAN.format(partition='["mode"]' if by_mode else "[]", unit=unit + bound, mechanism=mechanism)
    plan = Plan.parse(text)
    manifest = statement.manifest(plan, date(2025, 3, 3), {}).as_json
    half = next(table for table in manifest["tables"] if table["name"] == "tl-half")
    crossing = {"name": "tl-morning", "level": {"time_minutes": None, "times": ["06:00"], "location": None}}
    manifest |= {"tables": [*manifest["tables"], {**half, **crossing}]}
    return Manifest.read(manifest), {**plan.guarantee.mechanisms, "tl-morning": plan.guarantee.mechanisms["tl-half"]}


def coarser(time: str, level: str) -> str:
    """The start of the bin that a bin lies in."""
    if time == "-1" or level == "":
        return time
    return {"half": "12:00" if time >= "12:00" else "00:00", "morning": min(time, "06:00")}.get(level, "00:00")


def cell(table: str, trip: Trip, by_mode: bool) -> Key:
    """Where a trip is, in each of the tables: by hand."""
    mode, time, start, end = trip
    kind, _, level = table.partition("-")
    place = PLACES[start] if level == "area" else start
    own = {"t": (coarser(time, level),), "l": (place,), "tl": (coarser(time, level), place)}
    return (*([mode] if by_mode else []), *{**own, "od": (start, end), "d": (end,), "total": ()}[kind])


@dataclass(frozen=True)
class Made:
    """Published tables that were made up, and the trips behind them."""

    manifest: Manifest
    made: dict[str, Mechanism]
    truth: dict[str, dict[Key, int]]
    published: dict[str, dict[Key, int]]
    trips: Counter[Trip]
    by_mode: bool

    @property
    def tables(self) -> dict[str, pa.Table]:
        return {name: self.table(name, cells) for name, cells in self.published.items()}

    def table(self, name: str, cells: dict[Key, int]) -> pa.Table:
        claim = next(each for each in self.manifest.tables if each.name == name)
        names = (*self.manifest.partition, *claim.columns)
        keys = sorted(cells)
        columns = {each: pa.array([key[index] for key in keys], pa.string()) for index, each in enumerate(names)}
        return pa.table({**columns, "count": pa.array([cells[key] for key in keys], pa.int64())})

    @property
    def wider(self) -> dict[str, dict[tuple[str, str], str]]:
        modes = ("bus", "train") if self.by_mode else ("*",)
        return {"area": {(mode, place): area for mode in modes for place, area in PLACES.items()}}

    @property
    def lattice(self) -> Lattice:
        return lattice(self.manifest, self.made, self.tables, self.wider)


@st.composite
def releases(draw: st.DrawFn, mechanism: str | None = None, unit: str = "trip", *, exact: bool = False) -> Made:
    """Trips, counted in some of the tables; of their cells some, with some noise, none below the smallest."""
    by_mode = draw(st.booleans())
    manifest, made = stated(mechanism or draw(st.sampled_from(["sbh", "gaussian"])), by_mode, unit)
    names = draw(st.sets(st.sampled_from([each.name for each in manifest.tables]), min_size=1))
    manifest = manifest.model_copy(update={"tables": tuple(each for each in manifest.tables if each.name in names)})
    chance = random.Random(draw(st.integers(0, 10**6)))
    places = list(PLACES)[: draw(st.integers(1, 4))]
    trips: Counter[Trip] = Counter()
    for _ in range(draw(st.integers(0, 60))):
        trip = (chance.choice(["bus", "train"]), chance.choice(TIMES), chance.choice(places), chance.choice(places))
        trips[trip] += chance.choice([1, 10, 40, 300] if not exact else [40, 300])
    far, hidden = (0, 0.0) if exact else draw(st.tuples(st.sampled_from([0, 3, 30]), st.sampled_from([0, 0.2, 0.7])))
    truth: dict[str, dict[Key, int]] = {}
    published: dict[str, dict[Key, int]] = {}
    for each in manifest.tables:
        counted: Counter[Key] = Counter()
        for trip, number in trips.items():
            counted[cell(each.name, trip, by_mode)] += number
        shown = [key for key in sorted(counted) if chance.random() >= hidden]
        truth[each.name] = {key: counted[key] for key in shown}
        least = made[each.name].smallest_published
        published[each.name] = {key: max(least, counted[key] + chance.randint(-far, far)) for key in shown}
    return Made(manifest, made, truth, published, trips, by_mode)


QUICK = settings(max_examples=150)


def chunked(table: pa.Table, size: int) -> pa.Table:
    parts = [table.slice(start, size).combine_chunks() for start in range(0, len(table), size)]
    return pa.concat_tables(parts) if parts else table


@QUICK
@given(made=releases(), size=st.integers(1, 5))
def test_numbers_are_whole_and_add_up(made: Made, size: int) -> None:
    whole = made.lattice
    found = consistent(whole)
    assert set(found.numbers) == set(made.published)
    for name, numbers in found.numbers.items():
        assert numbers.dtype == np.int64
        assert len(numbers) == len(made.published[name])
        assert (numbers >= 1).all()
    check_sums(found)
    in_pieces = {name: chunked(table, size) for name, table in made.tables.items()}
    again = consistent(lattice(made.manifest, made.made, in_pieces, made.wider))
    for name, numbers in found.numbers.items():
        assert (again.numbers[name] == numbers).all(), "however the rows are cut"


@QUICK
@given(made=releases())
def test_intervals_hold_what_the_published_ones_do(made: Made) -> None:
    """They are the proved ones, or wider: totals like all others."""
    sheets = {sheet.path: sheet.cells for sheet in derived(made.manifest, made.made, made.tables, made.wider)}
    for name, table in made.tables.items():
        rule, ours = interval(made.made[name], MISS), sheets[f"consistent/{name}.csv"]
        numbers = table.column("count").to_numpy()
        assert (ours.column("low").to_numpy() <= rule.low(numbers)).all()
        assert (ours.column("high").to_numpy() >= rule.high(numbers)).all()
    assert ("consistent/total.csv" in sheets) == ("total" in made.published), "published, and never guessed"


def guessing(made: Made) -> Made:
    """As version 1 has it: without a table of totals."""
    published = {name: cells for name, cells in made.published.items() if name != "total"}
    tables = tuple(each for each in made.manifest.tables if each.name in published)
    versions = made.manifest.versions.model_copy(update={"derived": 1})
    return replace(
        made, manifest=made.manifest.model_copy(update={"tables": tables, "versions": versions}), published=published
    )


@QUICK
@given(made=releases())
def test_in_version_1_totals_are_guessed_so_that_they_add_up(made: Made) -> None:
    assume(set(made.published) != {"total"})
    found = consistent(guessing(made).lattice)
    assert found.guessed is not None
    assert found.numbers.keys() - made.published.keys() <= {"total"}
    assert (found.guessed.low <= found.numbers["total"]).all()
    assert (found.numbers["total"] <= found.guessed.high).all()
    check_sums(found)


def check_sums(found: Consistent) -> None:
    for edge in found.lattice.edges:
        rest = found.rest(edge)
        assert (rest >= 0).all(), (edge.fine.name, edge.coarse.name)
        assert (rest[edge.complete] == 0).all(), (edge.fine.name, edge.coarse.name)
        listed = sums_by_hand(edge, found.numbers[edge.fine.name])
        assert (listed + rest == found.numbers[edge.coarse.name]).all()


def sums_by_hand(edge: Edge, numbers: Iterable[int]) -> np.ndarray:
    found = np.zeros(len(edge.coarse), dtype=np.int64)
    for parent, number in zip(edge.parents, numbers, strict=True):
        if parent >= 0:
            found[parent] += number
    return found


@QUICK
@given(made=releases())
def test_every_cell_lies_where_its_trips_are(made: Made) -> None:
    """The lattice, read from the folder, against the trips themselves."""
    whole = made.lattice
    for edge in whole.edges:
        fine, coarse = (list(made.published[node.name]) for node in (edge.fine, edge.coarse))
        for trip in made.trips:
            own, above = (cell(node.name, trip, made.by_mode) for node in (edge.fine, edge.coarse))
            if own in fine:
                parent = edge.parents[sorted(fine).index(own)]
                assert parent == (sorted(coarse).index(above) if above in coarse else -1)


@QUICK
@given(made=releases(mechanism="sbh"))
def test_no_release_is_further_from_the_truth_than_it_was(made: Made) -> None:
    """Weighted by the noise, before they are whole: whatever the noise was, as the truth meets every condition."""
    whole = made.lattice
    variance = {node.name: node.variance for node in whole.nodes}
    before = {node.name: node.numbers.astype(np.float64) for node in whole.nodes}
    after = {name: numbers.copy() for name, numbers in before.items()}
    _project(whole, after, variance)
    truth = {name: np.array([cells[key] for key in sorted(cells)], float) for name, cells in made.truth.items()}

    def distance(numbers: dict[str, np.ndarray]) -> float:
        return float(sum(((numbers[name] - truth[name]) ** 2).sum() / variance[name] for name in truth))

    assert distance(after) <= distance(before) * 1.001 + 0.01
    for edge in whole.edges:
        left = after[edge.coarse.name] - edge.add_up(after[edge.fine.name])
        assert (left >= -1).all()
        assert (np.abs(left[edge.complete]) <= 1).all()


@QUICK
@given(made=releases(mechanism="sbh", exact=True))
def test_what_adds_up_already_stays_as_it_is(made: Made) -> None:
    """Without noise, and with nothing hidden, every number is left alone."""
    assume(made.truth == made.published)  # a cell below the smallest is none that could have been published
    found = consistent(made.lattice)
    for node in found.lattice.nodes:
        assert found.numbers[node.name].tolist() == node.numbers.tolist()


@pytest.mark.parametrize("mechanism", ["sbh", "gaussian"])
@pytest.mark.parametrize("by_mode", [True, False])
def test_tables_with_nothing_in_them(mechanism: str, by_mode: bool) -> None:
    manifest, made = stated(mechanism, by_mode)
    nothing: dict[str, dict[Key, int]] = {each.name: {} for each in manifest.tables}
    empty = Made(manifest, made, nothing, nothing, Counter(), by_mode)
    assert all(len(sheet.cells) == 0 for sheet in derived(manifest, made, empty.tables, empty.wider))
    found = consistent(guessing(empty).lattice)
    assert len(found.numbers["total"]) == (0 if by_mode else 1)


def test_a_part_whose_total_is_not_published_is_left_as_it_is() -> None:
    manifest, made = stated("sbh", True)
    published: dict[str, dict[Key, int]] = {each.name: {} for each in manifest.tables}
    published["l"] = {("bus", "a1"): 90, ("train", "b2"): 70}
    published["total"] = {("bus",): 60}
    some = Made(manifest, made, published, published, Counter(), True)
    sheets = {sheet.path: sheet.cells.to_pylist() for sheet in derived(manifest, made, some.tables, some.wider)}
    (total,) = sheets["consistent/total.csv"]
    assert total["count"] == next(row["count"] for row in sheets["consistent/l.csv"] if row["mode"] == "bus")
    assert 60 < total["count"] < 90
    assert next(row["count"] for row in sheets["consistent/l.csv"] if row["mode"] == "train") == 70


def test_in_version_1_a_part_in_one_table_only_has_a_total_too() -> None:
    manifest, made = stated("sbh", True)
    published: dict[str, dict[Key, int]] = {each.name: {} for each in manifest.tables}
    published["l"] = {("bus", "a1"): 90}
    published["d"] = {("bus", "a1"): 95, ("train", "b2"): 70}
    some = guessing(Made(manifest, made, published, published, Counter(), True))
    sheets = {sheet.path: sheet.cells.to_pylist() for sheet in derived(some.manifest, made, some.tables, some.wider)}
    totals = {row["mode"]: row for row in sheets["consistent/total.csv"]}
    assert totals["train"]["low"] <= 70 <= totals["train"]["count"] <= totals["train"]["high"]
    assert totals["bus"]["count"] >= 93
    (bus,) = (row for row in sheets["consistent/d.by.total.csv"] if row["mode"] == "bus")
    assert bus["listed"] + bus["other"] == bus["total"] == totals["bus"]["count"]


def test_cells_of_one_trip_at_least_do_not_break_what_is_complete() -> None:
    """Cells that would come out below one are raised to it; what all of their bins add up to follows, up and down."""
    manifest, made = stated("sbh", False)
    published: dict[str, dict[Key, int]] = {
        "t": {("00:00",): 48, ("06:00",): 372, ("12:00",): 285, ("18:00",): 19},
        "t-half": {("00:00",): 394, ("12:00",): 328},
        "t-whole": {("00:00",): 750},
        "l": {("a1",): 20, ("a2",): 371, ("b1",): 13, ("b2",): 341},
        "l-area": {("A",): 388, ("B",): 317},
        "tl": {
            **{("06:00", "a1"): 32, ("06:00", "a2"): 25, ("06:00", "b1"): 25, ("06:00", "b2"): 284},
            **{("12:00", "a2"): 270, ("12:00", "b1"): 25, ("12:00", "b2"): 25},
            **{("18:00", "b1"): 25, ("18:00", "b2"): 25, ("00:00", "a2"): 59},
        },
        "tl-half": {
            **{("00:00", "a1"): 67, ("00:00", "a2"): 35, ("00:00", "b1"): 27, ("00:00", "b2"): 303},
            **{("12:00", "a2"): 328, ("12:00", "b1"): 25, ("12:00", "b2"): 25},
        },
    }
    manifest = manifest.model_copy(update={"tables": tuple(each for each in manifest.tables if each.name in published)})
    whole = Made(manifest, made, published, published, Counter(), False).lattice
    found = consistent(whole)
    assert found.numbers["tl"].min() == 1, "the case is still the one that it was"
    for edge in whole.edges:
        assert (found.rest(edge) >= 0).all()
        assert (found.rest(edge)[edge.complete] == 0).all(), (edge.fine.name, edge.coarse.name)


# --- the finest -------------------------------------------------------------------------------------------------------


ENDS = {"-1": "-1", "00:00": "06:00", "06:00": "12:00", "12:00": "18:00", "18:00": "24:00"}


NOTHING: dict[str, dict[Key, int]] = {each.name: {} for each in stated("sbh", True)[0].tables}


@QUICK
@given(made=st.one_of(releases(), releases(unit="card")))
@example(made=Made(*stated("sbh", True), NOTHING, NOTHING, Counter(), True))
def test_the_finest_has_every_trip_that_shows_once(made: Made) -> None:
    whole = made.lattice
    sheets = {
        sheet.name: sheet
        for sheet in derived(made.manifest, made.made, made.tables, made.wider)
        if sheet.folder == "finest"
    }
    assert set(sheets) == {chain[0].name for chain in chains(whole)}
    numbers = consistent(whole).numbers if made.manifest.unit == "trip" else {}
    for chain in chains(whole):
        sheet = sheets[chain[0].name]
        rows = sheet.cells.to_pylist()
        keys = [tuple(row[key] for key in sheet.keys) for row in rows]
        assert keys == sorted(set(keys)), "each once, and in order"
        coarsest = chain[-1].name
        check_fine_cells(made, chain[0].name, rows)
        if not numbers:
            check_every_cell_of_cards(made, [node.name for node in chain], rows)
            continue
        inside: Counter[Key] = Counter()
        for row in rows:
            inside[cell_above(coarsest, row, made.by_mode)] += row["count"]
        for key, number in zip(sorted(made.published[coarsest]), numbers[coarsest].tolist(), strict=True):
            if no_parent_missing(made, [node.name for node in chain], key):
                assert inside[key] == number, "what finer cells leave is there as a rest"


def check_every_cell_of_cards(made: Made, chain: list[str], rows: list[dict[str, str]]) -> None:
    """Cells of cards leave no rest: each is there once, and said to be around finer ones where there are any."""
    for number, name in enumerate(chain):
        own = [row for row in rows if row["table"] == name]
        assert len(own) == len(made.published[name])
        keys = (*made.manifest.partition, *next(each.columns for each in made.manifest.tables if each.name == name))
        for row in own:
            key = tuple(row[each] for each in keys)
            finer = any(
                cell(name, trip, made.by_mode) == key and cell(fine, trip, made.by_mode) in made.published[fine]
                for trip in made.trips
                for fine in chain[:number]
            )
            assert row["row"] == ("around" if finer else "cell")


def check_fine_cells(made: Made, finest: str, rows: list[dict[str, object]]) -> None:
    """Every cell of the finest table is there as itself."""
    found = {}
    for row in rows:
        if row["row"] == "cell" and row["table"] == finest:
            values = [str(value) for key, value in row.items() if key not in ("table", "row", "count", "low", "high")]
            found[tuple(values)] = row
    for key in made.published[finest]:
        part, own = key[: len(made.manifest.partition)], key[len(made.manifest.partition) :]
        spelt = [*part]
        for value in own:
            spelt += [value, ends(finest, value)] if value in TIMES else [value]
        assert tuple(spelt) in found, (finest, key)


def ends(table: str, time: str) -> str:
    level = table.partition("-")[2]
    within = [each for each in TIMES if coarser(each, level) == time]
    return ENDS[within[-1]]


def cell_above(coarsest: str, row: dict[str, str], by_mode: bool) -> Key:
    """The cell of the coarsest level that a row lies in."""
    place = row.get("tap_on_location", "a1")
    start = place if place in PLACES else {"A": "a1", "B": "b1"}[place]
    trip = (row.get("mode", ""), row.get("tap_on_time", "-1"), start, "a1")
    return cell(coarsest, trip, by_mode)


def no_parent_missing(made: Made, chain: list[str], key: Key) -> bool:
    for trip in made.trips:
        if cell(chain[-1], trip, made.by_mode) == key:
            shown = [cell(name, trip, made.by_mode) in made.published[name] for name in chain]
            if shown != sorted(shown):
                return False
    return True


# --- hostile ones -----------------------------------------------------------------------------------------------------


def test_tables_that_are_each_in_the_other_are_put_in_an_order() -> None:
    """A day is a day, however a level spells it; and columns may stand in any order."""
    manifest, made = stated("sbh", False)
    t, tl = (next(each for each in manifest.tables if each.name == name) for name in ("t-whole", "tl"))
    assert t.level is not None
    spelt = t.model_copy(
        update={"name": "t-spelt", "level": t.level.model_copy(update={"time_minutes": None, "times": (0,)})}
    )
    turned = tl.model_copy(update={"name": "turned", "columns": tl.columns[::-1]})
    manifest = manifest.model_copy(update={"tables": (t, spelt, tl, turned)})
    made = made | {"t-spelt": made["t-whole"], "turned": made["tl"]}
    published: dict[str, dict[Key, int]] = {
        "t-whole": {("00:00",): 90},
        "t-spelt": {("00:00",): 110},
        "tl": {("00:00", "a1"): 50},
        "turned": {("a1", "00:00"): 56},
    }
    found = Made(manifest, made, published, published, Counter(), False)
    numbers = consistent(found.lattice).numbers
    assert numbers["t-whole"].tolist() == numbers["t-spelt"].tolist() == [100]
    assert derived(manifest, made, found.tables, found.wider)


def test_many_ways_from_a_table_to_another_are_not_walked_one_by_one() -> None:
    """Layers of two tables, each of which lies in both of the next: 2^30 ways from the first to the last."""
    manifest, made = stated("sbh", False)
    t = next(each for each in manifest.tables if each.name == "t-whole")
    assert t.level is not None
    claims = []
    for layer in range(31):
        later = {100 + 10 * other + side for other in range(layer + 1, 31) for side in (0, 1)}
        for side in (0, 1):
            times = tuple(sorted({0, 100 + 10 * layer + side, *later}))
            level = t.level.model_copy(update={"time_minutes": None, "times": times})
            claims.append(t.model_copy(update={"name": f"t-{layer}-{side}", "level": level}))
    manifest = manifest.model_copy(update={"tables": tuple(claims)})
    made = {claim.name: made["t-whole"] for claim in claims}
    nothing: dict[str, dict[Key, int]] = {claim.name: {} for claim in claims}
    made_up = Made(manifest, made, nothing, nothing, Counter(), False)
    whole = made_up.lattice
    assert len(whole.inside(whole.nodes[-1])) == 60
    assert len(whole.edges) == 30 * 4
    assert derived(manifest, made, made_up.tables, made_up.wider)
