"""The intruder finds people where they were found in reality; in a release as planned no more often than its bound."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from tapveil.cli.app import app
from tapveil.demo.residents import residents
from tapveil.internal.intruder import figure
from tapveil.internal.intruder.attacks import intrude
from tapveil.internal.intruder.result import ATTACKS, METHODS, PLANNED, Findings, Result
from tapveil.plan.model import Plan, preset_text
from tapveil.privacy.mechanisms import Mechanism, StatedHistogram, World

TRIPS, PEOPLE, TRIALS = 8000, 50, 1200
BUSY = 120_000
"""So many trips that cells reach thresholds: where nothing is published, no fault can be seen."""


@pytest.fixture(scope="module")
def opal(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """The paper's plan, by the command; none of the files that it names is there."""
    folder = tmp_path_factory.mktemp("intruder")
    (folder / "plan.toml").write_text(preset_text("opal"), encoding="utf-8")
    sizes = {"--trips": TRIPS, "--trials": TRIALS, "--people": 2 * PEOPLE}
    options = [text for name, size in sizes.items() for text in (name, str(size))]
    options += ["-o", str(folder / "intruder.json"), "-q"]
    run = CliRunner().invoke(app, ["intruder", str(folder / "plan.toml"), *options])
    assert run.exit_code == 0, run.output
    assert "stays within its bounds" in run.output
    assert "no bound for home and work" in run.output
    return Findings.read(folder / "intruder.json")


def of(findings: Findings, attack: str, method: str) -> Result:
    return next(each for each in findings.results if (each.attack, each.method) == (attack, method))


def attacked(plan: Plan, drawn: dict[str, Mechanism] | None = None, trips: int = TRIPS) -> Findings:
    """With noise from a seed: the same at every run."""
    noise = np.random.default_rng(7).bytes
    made = residents(plan, trips=trips, seed=3)
    return intrude(plan, made, trials=TRIALS, people=PEOPLE, seed=3, drawn=drawn, random_bytes=noise)


def test_every_attack_meets_every_way_to_publish(opal: Findings) -> None:
    """Twice is a question of two publications, so of differencing alone; the paper's plan has destinations."""
    twice = METHODS[-1]
    met = {(each.attack, each.method) for each in opal.results}
    ways = [each for each in METHODS if each != "exact table"]
    assert met == {(a, m) for a in ATTACKS for m in ways if m != twice or a == "differencing"}
    assert all(each.low <= each.success <= each.high for each in opal.results)
    assert all((each.bound is None) == (each.method not in PLANNED) for each in opal.results)


@pytest.mark.parametrize("attack", ATTACKS)
def test_hashed_card_ids_fall(opal: Findings, attack: str) -> None:
    assert of(opal, attack, "hashed card ids").low > 0.85


def test_exact_tables_fall(opal: Findings) -> None:
    for attack, least in {"two taps": 0.8, "differencing": 0.95, "home and work": 0.85}.items():
        assert of(opal, attack, "exact origin-destination table").low > least, attack
    travelled = of(opal, "co-traveller", "exact origin-destination table")
    assert travelled.low > 5 * travelled.baseline


def test_masks_fall_to_differencing_and_to_a_habit(opal: Findings) -> None:
    assert of(opal, "differencing", "masked below 5").low > 0.9
    assert of(opal, "home and work", "masked below 5").low > 0.5


def test_the_release_as_planned_stays_within_its_bound(opal: Findings) -> None:
    assert not opal.exceeded
    for each in opal.results:
        if each.bound is not None:
            assert each.low <= each.bound
            assert each.promised is None or each.bound <= each.promised


def test_the_bounds_are_those_of_the_accountant(opal: Findings) -> None:
    """Of any one trip of the paper's release, added or removed: (1 + V) / 2 with V by exact accounting."""
    assert of(opal, "two taps", "as planned").bound == pytest.approx((1 + 0.55473748) / 2, abs=1e-6)
    assert of(opal, "differencing", "as planned").bound == pytest.approx((1 + 0.71594591) / 2, abs=1e-6)


def narrower(plan: Plan) -> dict[str, Mechanism]:
    """A fault: noise of 0.3 times the width that is stated."""
    found: dict[str, Mechanism] = {}
    for name, each in plan.guarantee.mechanisms.items():
        scale = each.scale * Fraction(3, 10)
        found[name] = (
            World(scale, each.per_cell, 4) if isinstance(each, World) else StatedHistogram(scale, each.threshold)
        )
    return found


def without_noise(plan: Plan) -> dict[str, Mechanism]:
    """A fault: a threshold, and hardly any noise."""
    stated = plan.guarantee.mechanisms.items()
    return {name: StatedHistogram(Fraction(1, 50), each.threshold) for name, each in stated}


@pytest.mark.parametrize(
    ("preset", "fault"),
    [("opal", narrower), ("journeys", narrower), pytest.param("opal", without_noise, marks=pytest.mark.slow)],
)
def test_a_planted_fault_exceeds_the_bound(preset: str, fault: object) -> None:
    assert callable(fault)
    plan = Plan.preset(preset)
    exceeded = {each.attack for each in attacked(plan, fault(plan), BUSY).exceeded}
    assert {"two taps", "differencing"} <= exceeded


CARD = {
    'unit = "card-day"   ': 'unit = "card"   ',
    "trips_per_day = 4 ": "trips_per_card = 20 ",
    "trips_per_cell = 4 ": "trips_per_cell = 20 ",
}


@pytest.mark.parametrize(
    "mechanism", ["world", *(pytest.param(each, marks=pytest.mark.slow) for each in ("gaussian", "laplace"))]
)
def test_where_cards_are_protected_home_and_work_have_a_bound(mechanism: str) -> None:
    text = preset_text("journeys")
    for old, new in CARD.items():
        assert old in text
        text = text.replace(old, new)
    if mechanism != "world":
        text = text.replace('mechanism = "world"', f'mechanism = "{mechanism}"').replace("trips_per_cell", "# ")
        text = text.replace("[places]", "[places_]").replace("[world]", "[world_]")
    found = attacked(_without_sections(text))
    commuter = of(found, "home and work", "as planned")
    assert not found.exceeded
    assert commuter.bound is not None
    assert commuter.success <= commuter.high <= 2 * commuter.bound
    assert commuter.bound < 0.5


def _without_sections(text: str) -> Plan:
    """Without the sections whose names end in an underscore: they are for every cell alone."""
    sections, kept = text.split("\n["), []
    for number, section in enumerate(sections):
        if not section.split("]")[0].endswith("_"):
            kept.append(section if number == 0 else f"\n[{section}")
    return Plan.parse("".join(kept))


def test_the_same_seed_finds_the_same() -> None:
    """And the same noise, which only a test can have."""
    plan = Plan.preset("opal")
    made, again = (
        intrude(plan, residents(plan, trips=5000), people=40, trials=100, random_bytes=np.random.default_rng(1).bytes)
        for _ in range(2)
    )
    assert made == again


def test_the_picture_and_the_page_say_what_was_found(opal: Findings) -> None:
    drawn = ElementTree.fromstring(figure.picture(opal))  # noqa: S314  our own
    assert "hashed card ids" in drawn.attrib["aria-label"]
    page = figure.fragment(opal)
    assert ElementTree.fromstring(page).tag == "section"  # noqa: S314  our own
    assert page.count("<tr>") == 1 + len(opal.results)
    assert "no trip of yours was read" in page


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(preset_text("opal"), encoding="utf-8")
    (tmp_path / "intruder.json").write_text("mine", encoding="utf-8")
    run = CliRunner().invoke(app, ["intruder", str(tmp_path / "plan.toml"), "-o", str(tmp_path / "intruder.json")])
    assert run.exit_code != 0
    assert (tmp_path / "intruder.json").read_text(encoding="utf-8") == "mine"


def test_limits_over_several_seeds_cover_the_mean() -> None:
    """Other people, another city, other noise each time; limits by attempts would miss it in every second one."""
    plan, seeds = Plan.preset("journeys"), range(1, 9)
    found: dict[tuple[str, str], list[Result]] = {}
    for seed in seeds:
        noise = np.random.default_rng(seed).bytes
        made = residents(plan, trips=5000, seed=seed)
        for each in intrude(plan, made, trials=1000, people=60, seed=seed, random_bytes=noise).results:
            if each.method in PLANNED:
                found.setdefault((each.attack, each.method), []).append(each)
    assert {len(results) for results in found.values()} == {len(seeds)}
    means = {what: fmean(each.success for each in results) for what, results in found.items()}
    held = [each.low <= means[what] <= each.high for what, results in found.items() for each in results]
    assert sum(held) >= 0.9 * len(held)
    assert all(results[0].baseline < means[what] < (results[0].bound or 0) for what, results in found.items())
