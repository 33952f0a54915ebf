"""Other budgets, mechanisms and units of the same trips: forecasts that draws agree with, for the holder alone."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner

from tapveil.base.errors import TripDataError, UsageError
from tapveil.cli.app import app
from tapveil.counting.exact import ExactTable
from tapveil.counting.packing import Packing
from tapveil.counting.reveal import exact_counts
from tapveil.demo import city as demo_city
from tapveil.internal.comparison import compare as comparing
from tapveil.internal.comparison.compare import ALL, ONE, SEVERAL, Comparison, Point, compare
from tapveil.internal.comparison.forecast import ExactSizes, forecast, mean_distance, together
from tapveil.internal.comparison.plot import svg, write_plot
from tapveil.internal.comparison.screen import show
from tapveil.internal.confidential import NOTICE
from tapveil.internal.outlook import outlook
from tapveil.plan.model import Plan
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Laplace, Mechanism, StabilityHistogram
from tests.conftest import BUS, TRAIN, WITH_TOTAL, opal_plan, write_csv
from tests.end_to_end import test_taps as taps

MECHANISMS = {
    "sbh": StabilityHistogram(Fraction(1), Fraction(1, 1000)),
    "laplace": Laplace(Fraction(1, 3), 9),
    "gaussian": Gaussian(Fraction(7, 2), 8),
    "dictionary": Dictionary(Fraction(1, 2), 3),
}
ELSEWHERE = {
    "sbh": StabilityHistogram(Fraction(4, 5), Fraction(1, 1000)),
    "laplace": Laplace(Fraction(1, 4), 9),
    "gaussian": Gaussian(Fraction(9, 2), 8),
    "dictionary": Dictionary(Fraction(2, 5), 3),
}
"""The same with wider noise."""
DRAWS = 600
STOPS = 120


# --- forecasts ------------------------------------------------------------------------------------------------------


def exact_table() -> ExactTable:
    """Two modes; most stops are quiet and a few are busy, as in a city."""
    labels = {"mode": ("bus", "train"), "stop": tuple(f"s{number:03}" for number in range(STOPS))}
    packing = Packing(("mode", "stop"), (2, STOPS))
    words = np.arange(2 * STOPS, dtype=np.int64)
    counts = 1 + (60 / (1 + words % STOPS)).astype(np.int64) + 2 * (words // STOPS)
    return ExactTable("stops", packing, labels, (words,), counts)


def list_of_cells() -> pa.Table:
    """Every other stop, as many that do not occur, and a mode that nobody used."""
    stops = [f"s{number:03}" for number in range(0, STOPS, 2)] + [f"t{number:03}" for number in range(40)]
    cells = [(mode, stop) for mode in ("bus", "tram") for stop in stops]
    return pa.table({"mode": [mode for mode, _ in cells], "stop": [stop for _, stop in cells]})


def drawn(mechanism: Mechanism, rng: np.random.Generator) -> np.ndarray:
    """Means over many draws of: cells, trips, the sum of errors, the error of a total. And how uncertain they are."""
    exact = exact_table()
    modes, truth = exact.words[0] // STOPS, exact_counts(exact)
    totals = np.bincount(modes, truth)
    if mechanism.visits_empty_cells:
        cells = list_of_cells()
        places, ours = exact.places_in(cells)
        parts, counts = np.full(len(cells), 2), np.zeros(len(cells), dtype=np.int64)
        parts[: len(cells) // 2] = 0  # the first half is of buses
        counts[places] = truth[ours]
    else:
        parts, counts = modes, truth
    seen = []
    for _ in range(DRAWS):
        numbers, published = mechanism.draw(counts, rng.bytes)
        sums = np.bincount(parts[published], numbers[published], minlength=3)[:2]
        off = np.abs(numbers - counts)[published].sum()
        seen.append((published.sum(), counts[published].sum(), off, np.mean(np.abs(sums - totals) / totals)))
    return np.array([np.mean(seen, axis=0), np.std(seen, axis=0) / DRAWS**0.5])


def foreseen(mechanism: Mechanism) -> np.ndarray:
    dictionary = list_of_cells() if mechanism.visits_empty_cells else None
    found = forecast(ExactSizes.of(exact_table(), ["mode"], dictionary), mechanism)
    return np.array([found.cells, found.trips, found.distance, found.total_errors.mean()])


@pytest.mark.parametrize("name", MECHANISMS)
def test_forecasts_agree_with_draws(name: str) -> None:
    means, spread = drawn(MECHANISMS[name], np.random.default_rng(1))
    assert np.all(np.abs(foreseen(MECHANISMS[name]) - means) < 4 * spread)
    others = np.abs(foreseen(ELSEWHERE[name]) - means) / spread
    assert others.max() > 10, "this test could not tell another law"


def test_the_error_of_a_total_is_noise_or_what_is_missing() -> None:
    """Without bias the mean of |N(0, σ)|; with much of it, the bias."""
    found = mean_distance(np.array([0.0, -1000.0, 3.0]), np.array([4.0, 4.0, 0.0]))
    assert found == pytest.approx([2 * 0.7978845608, 1000, 3])


def test_nothing_to_publish_is_no_error_and_no_division_by_zero() -> None:
    empty = replace(exact_table(), words=(np.zeros(0, dtype=np.int64),), _exact_counts=np.zeros(0, dtype=np.int64))
    nothing = together([forecast(ExactSizes.of(empty, ["mode"]), MECHANISMS["gaussian"])])
    assert (nothing.cells, nothing.trips, nothing.trip_share) == (0, 0, 0)
    assert nothing.number_error is None
    assert nothing.total_error is None


def test_without_a_partition_all_is_one_part() -> None:
    sizes = ExactSizes.of(exact_table(), [], list_of_cells())
    assert sizes.totals.tolist() == [exact_counts(exact_table()).sum(), 0]
    assert len(list_of_cells()) == sizes.cells.sum()


def test_a_total_without_a_partition_is_one_cell() -> None:
    one = ExactTable("total", Packing((), ()), {}, (np.zeros(1, dtype=np.int64),), np.array([5000]))
    found = forecast(ExactSizes.of(one, []), MECHANISMS["gaussian"])
    assert (found.of_cells, found.of_trips) == (1, 5000)
    assert found.trips == pytest.approx(5000)


# --- comparisons ----------------------------------------------------------------------------------------------------

Plans = Callable[..., Plan]


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_city.make_city(tmp_path_factory.mktemp("city") / "demo", trips=20_000, seed=3)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two totals only: noise for cards takes seconds."""
    monkeypatch.setattr(comparing, "EPSILONS", (Fraction(4), Fraction(8)))


def changed(plan_path: Path, *changes: tuple[str, str]) -> Plan:
    text = plan_path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return Plan.parse(text, base=plan_path.parent)


@pytest.fixture(scope="module")
def compared(city: Path) -> Comparison:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(comparing, "EPSILONS", (Fraction(1, 2), Fraction(4), Fraction(8)))
        return compare(Plan.read(city))


def at(found: Comparison, unit: str, mechanism: str, epsilon: int | Fraction) -> Point:
    return next(p for p in found.points if (p.unit, p.mechanism, p.epsilon) == (unit, mechanism, epsilon))


def test_the_plans_own_point_is_what_check_says(city: Path, compared: Comparison) -> None:
    said, own = outlook(Plan.read(city)), compared.own
    assert (own.unit, own.mechanism, own.epsilon) == ("trip", "sbh", 8)
    assert [point for point in compared.points if point.own] == [own]
    assert not compared.own_differs
    for group, names in ((ALL, ""), (ONE, "on_time on_location off_time off_location"), (SEVERAL, "_time_location")):
        tables = [table for table in said.tables if not names or table.name in names.split() or names in table.name]
        worth = own.worth[group]
        assert worth.cells == pytest.approx(sum(table.expected_cells for table in tables), rel=1e-9)
        assert worth.trips == pytest.approx(sum(table.expected_trips for table in tables), rel=1e-9)
        assert worth.of_cells == sum(table.cells for table in tables)
        assert worth.of_trips == sum(table.trips for table in tables)


def test_totals_are_not_counted_among_what_may_be_lost(city: Path, few: None, compared: Comparison) -> None:
    """They publish all trips: with them every share would look larger than the tables are."""
    found = compare(changed(city, *WITH_TOTAL.items()))
    for group in (ALL, ONE, SEVERAL):
        assert found.own.worth[group] == compared.own.worth[group], (
            "with budgets of their own, the others are as before"
        )
    assert not found.refusals("trip")


def test_a_card_gives_three_units_and_every_mechanism_that_needs_no_list(compared: Comparison) -> None:
    assert compared.units == ("trip", "card-day", "card")
    assert {point.mechanism for point in compared.points} == {"sbh", "laplace", "gaussian"}
    assert len(compared.points) == 3 * 3 * 3
    assert compared.bounds == {"trip": (None, None), "card-day": (4, None), "card": (4, 28)}
    assert compared.kept["trip"] == 1 > compared.kept["card-day"] >= compared.kept["card"] > 0.9


def test_more_is_published_at_a_larger_epsilon_and_less_of_a_larger_unit(compared: Comparison) -> None:
    def cells(unit: str, mechanism: str, epsilon: int) -> float:
        return at(compared, unit, mechanism, epsilon).worth[ALL].cells

    for mechanism in ("sbh", "laplace", "gaussian"):
        assert cells("trip", mechanism, 8) > cells("trip", mechanism, 4)
        assert cells("trip", mechanism, 8) > cells("card-day", mechanism, 8) > cells("card", mechanism, 8)
    assert cells("trip", "gaussian", 8) > cells("trip", "laplace", 8) > cells("trip", "sbh", 8)


def test_what_cannot_be_made_is_there_with_its_reason(compared: Comparison) -> None:
    assert all((point.impossible is None) == bool(point.worth) for point in compared.points)
    wide = at(compared, "card", "sbh", Fraction(1, 2))
    assert wide.worth == {}
    assert "takes too long" in (wide.impossible or "")
    assert compared.refusals("card") == {(wide.impossible, (Fraction(1, 2),)): ["sbh"]}
    assert compared.never("card") == set()


def test_a_share_too_small_for_a_table_is_not_possible(city: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "EPSILONS", (Fraction(1, 20),))
    plan = changed(city, ('card = "card_id"', "# no card"))
    point = at(compare(plan), "trip", "laplace", Fraction(1, 20))
    assert "epsilon must be at least 1/100 for a table" in (point.impossible or "")


@pytest.mark.usefixtures("few")
def test_a_plan_without_a_card_has_no_units_of_cards(city: Path) -> None:
    found = compare(changed(city, ('card = "card_id"', "# no card")))
    assert found.units == ("trip",)
    assert parsed(svg(found)) is not None


@pytest.mark.usefixtures("few")
def test_a_plans_own_bounds_and_neighbours_are_kept(city: Path) -> None:
    bounds = 'unit = "card-day"\ntrips_per_day = 2\nwithout_card = "refuse"'
    plan = changed(city, ('unit = "trip"', bounds), ('neighbours = "replace"', 'neighbours = "add-remove"'))
    found = compare(plan)
    assert found.bounds == {"trip": (None, None), "card-day": (2, None), "card": (2, 28)}
    assert found.neighbours == "add-remove"
    assert found.own.unit == "card-day"
    assert found.own.worth[ALL].cells == pytest.approx(sum(t.expected_cells for t in outlook(plan).tables), rel=1e-9)


@pytest.mark.usefixtures("few")
def test_budgets_of_their_own_are_shown_beside_one_total(city: Path) -> None:
    """Six tables, each calibrated alone, waste what one total shares: the plan is not on the line."""
    plan = changed(city, ('mechanism = "sbh"', 'mechanism = "gaussian"'), ('card = "card_id"', "# no card"))
    found = compare(plan)
    shared, own = (p for p in found.points if (p.mechanism, p.epsilon) == ("gaussian", 8))
    assert (shared.own, own.own) == (False, True)
    assert shared.worth[ALL].cells > own.worth[ALL].cells
    assert found.own_differs
    assert "Your plan gives each table a budget of its own" in shown(found)


@pytest.mark.usefixtures("few")
def test_paired_taps_have_no_unit_of_single_trips(tmp_path: Path) -> None:
    rows = [
        taps.tap(f"c{card}", clock, action, stop)
        for card in range(60)
        for clock, action, stop in (("08:00", "Enter", "A"), ("08:20", "Exit", "B"))
    ]
    write_csv(tmp_path / "taps.csv", rows, taps.HEADER)
    found = compare(taps.plan(tmp_path, taps.DAY))
    assert found.units == ("card-day", "card")
    assert found.kept == {}
    assert found.groups == (ALL,)
    assert found.own.worth[ALL].of_trips == 60


LISTED = (
    ('mechanism = "sbh"', 'mechanism = "dictionary"'),
    ('delta = "1/8000000"', 'cells = "cells.csv"'),
)


@pytest.mark.usefixtures("few")
def test_a_list_of_cells_allows_a_dictionary_and_a_plan_without_delta_nothing_else(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [BUS] * 40 + [TRAIN] * 30)
    cells = [("bus", f"2016-08-{day:02}", f"{hour}:30") for day in (8, 9, 10) for hour in range(24)]
    write_csv(tmp_path / "cells.csv", cells, ("mode", "date", "tap_on_time"))
    text = opal_plan(tmp_path).base.joinpath("plan.toml").read_text()
    head, first, *_ = text.split("\n[[table]]\n")
    text = f"{head}\n[[table]]\n{first}"
    for old, new in LISTED:
        text = text.replace(old, new)
    plan = Plan.parse(text, base=tmp_path)
    found = compare(plan)
    assert found.own.mechanism == "dictionary"
    assert found.own.worth[ALL].cells == pytest.approx(outlook(plan).tables[0].expected_cells, rel=1e-9)
    assert found.own.worth[ALL].total_error is not None
    assert at(found, "trip", "gaussian", 8).impossible == "it needs a delta, and the plan has none"
    assert found.never("trip") == {"sbh", "laplace", "gaussian"}
    assert "Not possible: sbh, laplace, gaussian at any epsilon: it needs a delta" in shown(found)
    assert parsed(svg(found)) is not None


def test_trips_that_no_release_would_take_are_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [BUS] * 5 + [(*BUS[:3], "late", *BUS[4:])] * 5)
    with pytest.raises(TripDataError, match="cannot be read"):
        compare(opal_plan(tmp_path))


def parsed(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314  our own text


# --- for the holder -------------------------------------------------------------------------------------------------


def shown(found: Comparison) -> str:
    screen = StringIO()
    show(Console(file=screen, width=300, highlight=False, markup=False, soft_wrap=True), found)
    return screen.getvalue()


def test_the_table_says_that_it_is_internal_and_marks_the_plan(compared: Comparison) -> None:
    lines = shown(compared).splitlines()
    assert lines[0].startswith(NOTICE)
    (marked,) = (line.split() for line in lines if line.startswith("* "))
    assert marked[:3] == ["*", "sbh", "8"]
    assert marked[3] == f"{compared.own.worth[ALL].cells:,.0f}"
    assert any(line.startswith("Not possible: sbh at epsilon 0.5: ") for line in lines)


def test_the_numbers_are_json_and_say_that_they_are_internal(compared: Comparison) -> None:
    said = json.loads(json.dumps(compared.as_json(), allow_nan=False))
    assert said["notice"] == NOTICE
    assert [unit["unit"] for unit in said["units"]] == ["trip", "card-day", "card"]
    (own,) = (point for point in said["points"] if point["is_the_plan"])
    assert own["tables"]["all tables"]["cells"] == compared.own.worth[ALL].cells
    assert all(bool(point["not_possible"]) != bool(point["tables"]) for point in said["points"])


def test_the_picture_is_whole_and_says_that_it_is_internal(compared: Comparison) -> None:
    named = replace(compared, title='Trips & "taps" <2025>')
    root = parsed(svg(named))
    texts = [element.text or "" for element in root.iter() if element.tag.endswith("text")]
    assert NOTICE in texts
    assert 'Choosing ε: Trips & "taps" <2025>' in texts
    assert {"sbh", "laplace", "gaussian", "any one trip", "total ε", "your plan"} <= set(texts)
    assert texts.count("your plan, ε = 8") == 3
    rings = [element for element in root.iter() if element.tag.endswith("circle")]
    assert len(rings) == 1 + 3 * 2  # in the legend, and at each measure of both sorts of tables


def test_every_mark_lies_in_the_picture(compared: Comparison) -> None:
    root = parsed(svg(compared))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        x, y = (float(element.attrib.get(name, 1)) for name in ("x", "y"))
        assert 0 <= x < width, element.text
        assert 0 <= y < height, element.text


def test_the_picture_is_its_owners_alone_and_overwrites_nothing(compared: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "compare.svg"
    write_plot(path, compared)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text(encoding="utf-8") == svg(compared)
    with pytest.raises(UsageError, match="already exists"):
        write_plot(path, compared)
    with pytest.raises(UsageError, match=r"the folder of .* does not exist"):
        write_plot(tmp_path / "nowhere" / "compare.svg", compared)
    (tmp_path / "link.svg").symlink_to(tmp_path / "elsewhere.svg")
    with pytest.raises(UsageError, match="already exists"):
        write_plot(tmp_path / "link.svg", compared)


def test_the_picture_is_never_written_into_a_published_folder(city: Path, compared: Comparison, tmp_path: Path) -> None:
    (tmp_path / "published" / "data").mkdir(parents=True)
    (tmp_path / "published" / "privacy.json").write_text("{}")
    (tmp_path / "aside").symlink_to(tmp_path / "published" / "data")
    for folder in ("published", "published/data", "aside"):
        path = tmp_path / folder / "p.svg"
        done = CliRunner().invoke(app, ["check", str(city), "--compare", "--plot", str(path)])
        assert isinstance(done.exception, UsageError)
        assert "is inside the published folder published; the picture is confidential" in str(done.exception)
        with pytest.raises(UsageError, match="is inside the published folder"):  # it may have been published meanwhile
            write_plot(path, compared)
        assert not path.exists()


def test_nothing_of_it_shows_when_printed(compared: Comparison) -> None:
    for secret in (compared, compared.own, compared.own.worth[ALL]):
        assert "cells=" not in repr(secret)
