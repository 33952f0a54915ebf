"""The audit passes the real thing and catches every planted fault, each on its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tapveil.base.errors import PlanError
from tapveil.cli.app import app
from tapveil.counting import ranks
from tapveil.counting.direct import card_counter, cards, counter
from tapveil.counting.direct.batches import Batches
from tapveil.counting.direct.card_counter import CardPass
from tapveil.counting.exact import ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.counting.sql import query
from tapveil.internal.audit.attack import audit
from tapveil.plan.model import Plan
from tapveil.privacy import calibration, mechanisms
from tapveil.privacy.mechanisms import StabilityHistogram, World
from tapveil.privacy.noise import NoiseTable, rounded_laplace
from tapveil.published import writer
from tapveil.published.derived import estimated_from
from tapveil.published.estimated import Estimated, Piece
from tapveil.veil import crossing
from tests.conftest import opal_text

Patch = pytest.MonkeyPatch
Counts = Mapping[str, npt.NDArray[np.int64]]
TOTAL = {
    "epsilon = 1\n": "weight = 1\n",
    "epsilon = 2\n": "weight = 2\n",
    'delta = "1/8000000"\n': "",
}


def plan_of(mechanism: str, unit: str = "trip", neighbours: str = "replace", bounds: str = "") -> Plan:
    card = {'mode = "mode"': 'card = "card_id"\nmode = "mode"'} if unit != "trip" else {}
    privacy = f'mechanism = "{mechanism}"\nepsilon = 8\ndelta = 7.5e-7\n{bounds}'
    changes = {
        **TOTAL,
        **card,
        'mechanism = "sbh"': privacy,
        'unit = "trip"': f'unit = "{unit}"',
        'neighbours = "replace"': f'neighbours = "{neighbours}"',
    }
    return Plan.parse(opal_text(**changes))


BY_DAY = 'trips_per_day = 2\nwithout_card = "refuse"'
BY_CARD = 'trips_per_card = 3\nwithout_card = "own-unit"'
OPAL = Plan.preset("opal")


def broken(plan: Plan = OPAL, trials: int = 20_000) -> list[str]:
    return [finding.check for finding in audit(plan, trials=trials) if finding.broken]


@pytest.fixture(scope="module", autouse=True)
def certified() -> None:
    """Noise is certified before a fault is planted in it, whichever test runs first: else its plan would be refused."""
    assert broken(trials=1_000) == []


def seeded(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(OPAL, id="opal"),
        pytest.param(plan_of("gaussian"), id="gaussian"),
        pytest.param(plan_of("sbh", "card-day", "add-remove", BY_DAY), id="sbh card-day"),
        pytest.param(plan_of("gaussian", "card", "add-remove", BY_CARD), id="gaussian card"),
        pytest.param(plan_of("laplace"), id="laplace", marks=pytest.mark.slow),
        pytest.param(plan_of("gaussian", neighbours="add-remove"), id="gaussian added", marks=pytest.mark.slow),
        pytest.param(plan_of("laplace", "card", "replace", BY_CARD), id="laplace card", marks=pytest.mark.slow),
    ],
)
def test_the_real_thing_passes(plan: Plan) -> None:
    assert broken(plan, trials=4_000) == []


def test_a_dictionary_passes() -> None:
    changes = {'mechanism = "sbh"': 'mechanism = "dictionary"', 'delta = "1/8000000"\n': 'cells = "cells.csv"\n'}
    assert broken(Plan.parse(opal_text(**changes)), trials=4_000) == []


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 5))])
def test_it_passes_with_any_seed(seed: int, monkeypatch: Patch) -> None:
    monkeypatch.setattr(os, "urandom", seeded(seed))
    assert broken(trials=4_000) == []


@pytest.mark.slow
@pytest.mark.parametrize("share", range(10))
def test_it_passes_a_hundred_times_of_a_hundred(share: int, monkeypatch: Patch) -> None:
    """In ten shares, so that every core has some."""
    failed = {}
    for seed in range(10 * share, 10 * share + 10):
        monkeypatch.setattr(os, "urandom", seeded(1000 + seed))
        failed[seed] = broken()
    assert {seed: checks for seed, checks in failed.items() if checks} == {}


# --- planted faults -------------------------------------------------------------------------------------------------


def rescaled(factor: Fraction) -> property:
    return property(lambda self: rounded_laplace(self.scale * factor, self._split))


def test_scale_halved(monkeypatch: Patch) -> None:
    monkeypatch.setattr(StabilityHistogram, "noise", rescaled(Fraction(1, 2)))
    found = broken(trials=8_000)
    assert any("moved: epsilon" in check for check in found)  # a breach of privacy, not only of the law
    assert any("share of cells of count" in check for check in found)


def test_scale_halved_and_stated_so(monkeypatch: Patch) -> None:
    """Not only the noise but the scale itself: what is stated and drawn agree, and both break the promise."""
    real = mechanisms.StabilityHistogram.scale.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(StabilityHistogram, "scale", property(lambda self: real(self) / 2))
    try:
        found = broken(trials=2_000)
    except PlanError as error:  # unless the noise was certified before the fault was planted, the plan is refused
        found = [str(error)]
    telling = ("delta at epsilon", "moved: epsilon", "the noise is too coarse for these parameters")
    assert any(words in check for check in found for words in telling)


def test_scale_a_tenth_too_small(monkeypatch: Patch) -> None:
    monkeypatch.setattr(StabilityHistogram, "noise", rescaled(Fraction(10, 11)))
    assert any("share of cells of count" in check for check in broken())


def test_threshold_absent(monkeypatch: Patch) -> None:
    monkeypatch.setattr(StabilityHistogram, "publish_step", property(lambda self: -(10**6)))
    assert any("alone in its cell" in check for check in broken(trials=2_000))


def test_missing_plus_one(monkeypatch: Patch) -> None:
    real = mechanisms._stability_threshold
    monkeypatch.setattr(mechanisms, "_stability_threshold", lambda scale, delta: real(scale, delta) - 1)
    assert any("share of cells of count 1 published" in check for check in broken(trials=8_000))


def test_round_before_threshold(monkeypatch: Patch) -> None:
    """A value whose cell the threshold cuts is then published whole, or not at all."""
    monkeypatch.setattr(StabilityHistogram, "publish_step", property(lambda self: 2 * self.smallest_published))
    assert any("share of cells of count" in check for check in broken(trials=4_000))


def test_rows_in_the_order_of_first_appearance(monkeypatch: Patch) -> None:
    real = crossing.draw

    def unsorted(*arguments: Any) -> Any:
        published = real(*arguments)
        order = np.argsort([hash(place) for place in published.cells.column("place").to_pylist()])
        return type(published)(published.name, published.fields, published.cells.take(pa.array(order)))

    monkeypatch.setattr(crossing, "draw", unsorted)
    assert "rows are sorted by key" in broken(trials=2_000)


def test_seed_reused_between_tables(monkeypatch: Patch) -> None:
    real: Any = crossing.draw

    def same_seed(*arguments: Any) -> Any:
        return real(*arguments[:-1], seeded(1))

    monkeypatch.setattr(crossing, "draw", same_seed)
    assert {"random bytes read from the system", "two releases of the same trips differ"} <= set(broken(trials=2_000))


def test_float_noise(monkeypatch: Patch) -> None:
    """Textbook inverse Laplace on doubles, rounded: nothing that statistics could see, but not the integers."""

    def sample(
        self: NoiseTable, size: int, random_bytes: Callable[[int], bytes], at_least: int | None = None
    ) -> npt.NDArray[np.int64]:
        words = np.frombuffer(random_bytes(8 * size), dtype=np.uint64)
        uniform = (words >> np.uint64(11)) * 2.0**-53 - 0.5
        edges = np.array(self._upper_edges, dtype=np.float64) * 2.0**-64 - 0.5
        return self.first + np.searchsorted(edges, uniform, side="right").astype(np.int64)

    monkeypatch.setattr(NoiseTable, "sample", sample)
    assert any("boundary values of the noise table" in check for check in broken(trials=2_000))


def test_a_trip_counted_in_two_parts(monkeypatch: Patch) -> None:
    class Twice(Batches):
        def __iter__(self) -> Iterator[pa.RecordBatch]:
            for batch in super().__iter__():
                index = batch.schema.get_field_index("part")
                other = ["west" if part == "east" else "east" for part in batch.column(index).to_pylist()]
                yield from (batch, batch.set_column(index, "part", pa.array(other)))

    monkeypatch.setattr(counter, "Batches", Twice)
    assert any("cells without a trip" in check for check in broken(trials=2_000))


# --- cards: each fault planted in both ways to count ------------------------------------------------------------------


@pytest.fixture(params=["direct", pytest.param("sql", marks=pytest.mark.slow)])
def route(request: pytest.FixtureRequest, monkeypatch: Patch) -> str:
    """Cards are counted straight from files, or by SQL."""
    if request.param == "sql":
        monkeypatch.setattr(card_counter, "suits", lambda *_: False)
    return str(request.param)


def plant(route: str, fault: tuple[str, str], monkeypatch: Patch) -> None:
    """No limit to the trips of a unit in a cell; in SQL, by other words."""
    real = query.units_sql
    if route == "sql":
        monkeypatch.setattr(query, "units_sql", lambda *given: real(*given).replace(*fault))
    else:
        monkeypatch.setattr(card_counter, "at_most", lambda times, units, cells: cells)


@pytest.mark.parametrize("unit", ["card-day", "card"])
def test_contribution_bound_not_applied(route: str, unit: str, monkeypatch: Patch) -> None:
    def unbounded(plan: Plan, *others: Any) -> str:
        none = {"trips_per_card": None, "trips_per_day": None}
        return real(plan.model_copy(update={"privacy": plan.privacy.model_copy(update=none)}), *others)

    real = query.bounded_sql
    if route == "sql":
        monkeypatch.setattr(query, "bounded_sql", unbounded)
    else:
        monkeypatch.setattr(card_counter, "least", lambda units, *_: np.ones(len(units), dtype=np.bool_))
    plan = plan_of("gaussian", unit, "add-remove", BY_DAY if unit == "card-day" else BY_CARD)
    assert any("cards with many trips" in check for check in broken(plan, trials=2_000))


def test_a_card_counted_twice_in_a_cell(route: str, monkeypatch: Patch) -> None:
    plant(route, ("least(row_count, 1)", "row_count"), monkeypatch)
    plan = plan_of("gaussian", "card", "add-remove", BY_CARD)
    assert any("cards with many trips" in check for check in broken(plan, trials=2_000))


def test_a_cap_over_days_not_applied(route: str, monkeypatch: Patch) -> None:
    """With both caps, the one per day hides the other where all trips are on one day."""
    real_sql, real_count = query.bounded_sql, CardPass._count

    def per_day_alone(plan: Plan) -> Plan:
        return plan.model_copy(update={"privacy": plan.privacy.model_copy(update={"trips_per_card": None})})

    def count(self: CardPass, *others: Any) -> int:
        self._plan = per_day_alone(self._plan)
        return real_count(self, *others)

    if route == "sql":
        monkeypatch.setattr(query, "bounded_sql", lambda plan, *others: real_sql(per_day_alone(plan), *others))
    else:
        monkeypatch.setattr(CardPass, "_count", count)
    plan = plan_of("gaussian", "card", "add-remove", f"{BY_CARD}\ntrips_per_day = 2")
    assert "cells changed by one card added" in broken(plan, trials=1_000)


@pytest.mark.usefixtures("route")
def test_ranks_that_depend_on_others(monkeypatch: Patch) -> None:
    """Ranks from codes: they move when anyone brings a new label."""
    monkeypatch.setattr(ranks, "numbers", lambda code: np.arange(len(code.labels)))
    plan = plan_of("gaussian", "card", "add-remove", BY_CARD)
    assert "cells changed by one card added" in broken(plan, trials=1_000)


def test_rows_without_a_card_counted_twice(route: str, monkeypatch: Patch) -> None:
    real_sql, real_add = query.units_sql, CardPass._add

    def twice_sql(*given: Any) -> str:
        sql = real_sql(*given)
        alone = "WHEN who LIKE ' %' THEN row_count"
        assert alone in sql
        return sql.replace(alone, f"{alone} * 2")

    def add_twice(self: CardPass, batch: pa.RecordBatch, column: pa.Array) -> None:
        real_add(self, batch, column)
        alone = pa.array(cards.read(column, self._plan.source.missing("card")).none)
        real_add(self, batch.filter(alone), column.filter(alone))

    if route == "sql":
        monkeypatch.setattr(query, "units_sql", twice_sql)
    else:
        monkeypatch.setattr(CardPass, "_add", add_twice)
    plan = plan_of("gaussian", "card", "add-remove", BY_CARD)
    assert "cells changed by one row without a card added" in broken(plan, trials=1_000)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_calibrated_noise_too_narrow_and_never_certified(mechanism: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr("tapveil.plan.rules.certified", lambda *_: True)
    monkeypatch.setattr(calibration._Design, "_fits", lambda *_: True)
    monkeypatch.setattr(calibration._Design, "_widths", lambda self: iter([self._basic / 9]))
    calibration.calibrate.cache_clear()
    try:
        plan = plan_of(mechanism, "card", "add-remove", BY_CARD)
        assert any("stated noise, all trips removed" in check for check in broken(plan, trials=1_000))
    finally:
        calibration.calibrate.cache_clear()


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command_prints_a_table_and_exits_0() -> None:
    result = CliRunner().invoke(app, ["audit", "--trials", "2000"])
    assert result.exit_code == 0
    assert "one trip moved: epsilon" in result.output
    assert "bounds hold" in result.output


def test_the_command_exits_1_when_a_bound_is_broken(monkeypatch: Patch) -> None:
    monkeypatch.setattr(StabilityHistogram, "publish_step", property(lambda self: -(10**6)))
    result = CliRunner().invoke(app, ["audit", "--trials", "2000", "--json"])
    assert result.exit_code == 1
    assert any(finding["broken"] for finding in json.loads(result.stdout))


# --- a known world ----------------------------------------------------------------------------------------------------


def world_of(unit: str = "trip", neighbours: str = "replace", bounds: str = "", per_cell: str = "") -> Plan:
    """As tests of the world have it; of the lists an audit has its own."""
    return Plan.parse(
        f"""
        [release]
        name = "world"
        title = "World"
        partition = ["date"]
        [source]
        path = "trips.csv"
        first_day = 2025-03-03
        last_day = 2025-03-04
        [source.columns]
        card = "card"
        date = "day"
        tap_on_location = "stop"
        [places]
        path = "places.csv"
        [privacy]
        unit = "{unit}"
        neighbours = "{neighbours}"
        mechanism = "world"
        epsilon = 4
        delta = 1e-6
        {bounds}
        [[table]]
        name = "stops"
        columns = ["tap_on_location"]
        {per_cell}
        """
    )


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(world_of(), id="trip"),
        pytest.param(world_of("card-day", "add-remove", BY_DAY), id="card-day"),
        pytest.param(world_of("card", "add-remove", BY_CARD), id="card"),
        pytest.param(world_of("card", "add-remove", BY_CARD, per_cell="trips_per_cell = 2"), id="trips per cell"),
    ],
)
def test_a_world_passes(plan: Plan) -> None:
    assert broken(plan, trials=1_000) == []


def test_noise_on_occurring_cells_only(monkeypatch: Patch) -> None:
    """Cells that nobody is in are published as they are: a cell with noise tells that somebody was there."""
    real = World.draw

    def draw(self: World, counts: npt.NDArray[np.int64], random_bytes: Any) -> Any:
        numbers, published = real(self, counts, random_bytes)
        return np.where(counts > 0, numbers, 0), published

    monkeypatch.setattr(World, "draw", draw)
    assert any("share of cells of count 0 published as" in check for check in broken(world_of(), trials=1_000))


def test_noise_of_a_world_a_tenth_too_narrow(monkeypatch: Patch) -> None:
    monkeypatch.setattr(World, "noise", property(lambda self: mechanisms._gaussian_table(self.sigma * Fraction(9, 10))))
    assert any("share of cells of count" in check for check in broken(world_of(), trials=8_000))


def test_a_list_taken_from_the_trips(monkeypatch: Patch) -> None:
    """Places that nobody used are then missing, and a place that is there tells that somebody was."""
    real: Any = crossing.draw

    def draw(exact: Any, plan: Plan, table: Any, world: pa.Table, random_bytes: Any) -> Any:
        return real(exact, plan, table, world.take(pa.array(exact.places_in(world)[0])), random_bytes)

    monkeypatch.setattr(crossing, "draw", draw)
    found = broken(world_of(), trials=2_000)
    assert any("share of cells of count 0 published" in check for check in found)
    assert any("a trip alone in its cell: delta" in check for check in found)


class Peeking(Estimated):
    """Estimates of one table see exact counts; those of all tables where none is named."""

    def __init__(self, found: Estimated, exact: Counts, of: str | None) -> None:
        super().__init__(found.domain, found.counts)
        self._from_exact, self._of = Estimated(found.domain, exact), of

    def pieces(self, columns: Sequence[str], *, zeros: bool = False) -> Iterator[Piece]:
        (name,) = {name for name, keys, _ in self.tables() if tuple(keys) == tuple(columns)}
        honest = self._of not in (None, name)
        return super().pieces(columns, zeros=zeros) if honest else self._from_exact.pieces(columns, zeros=zeros)


@pytest.mark.parametrize("table", [None, "pairs", "joint"])
def test_estimates_that_peek_at_counts(table: str | None, monkeypatch: Patch) -> None:
    """Made from exact counts, they say more than the measurements, though these are as they should be."""
    seen: dict[str, npt.NDArray[np.int64]] = {}
    real = crossing.draw

    def draw(exact: ExactTable, plan: Plan, table: Any, world: pa.Table, random_bytes: Any) -> Any:
        places, cells = exact.places_in(world)
        seen[table.name] = np.zeros(len(world), dtype=np.int64)
        seen[table.name][places] = exact_counts(exact)[cells]
        return real(exact, plan, table, world, random_bytes)

    def peeking(domain: Any, tables: Any) -> Any:
        found = estimated_from(domain, tables)
        return found and Peeking(found, seen, table)

    monkeypatch.setattr(crossing, "draw", draw)
    monkeypatch.setattr(writer, "estimated_from", peeking)
    assert broken(world_of(), trials=200) == ["estimates follow from the measurements alone"]


def test_a_card_over_its_bound_in_a_world(route: str, monkeypatch: Patch) -> None:
    plant(route, ("least(row_count, 1)", "row_count"), monkeypatch)
    plan = world_of("card", "add-remove", BY_CARD)
    assert any("cards with many trips" in check for check in broken(plan, trials=2_000))


def test_a_card_with_more_trips_in_a_cell_than_it_may_have(route: str, monkeypatch: Patch) -> None:
    plant(route, ("least(row_count, 2)", "row_count"), monkeypatch)
    plan = world_of("card", "add-remove", BY_CARD, per_cell="trips_per_cell = 2")
    assert any("in one place added" in check for check in broken(plan, trials=1_000))
