"""Each hazard that is met names something that is there: a test, a page, a file of the folder."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path

import pytest

from tapveil.internal.dossier.case import Case, read_case
from tapveil.internal.dossier.document import Dossier
from tapveil.internal.dossier.hazards import MET, NOTE, YOURS, Hazard, hazards, states
from tapveil.internal.dossier.questions import catalogue
from tapveil.ledger.book import Ledger
from tapveil.plan.model import Plan
from tapveil.privacy.accountant import delta
from tapveil.published.folder import Folder
from tapveil.published.manifest import Manifest, TotalClaim
from tapveil.veil.spend import spend_of
from tests.conftest import TODAY, start_ledger
from tests.support.dossiers import year_of_weeks

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests" / "golden"


def is_there(named: str) -> bool:
    """A test by its file and name, a page, or keys of a file that every folder has."""
    if named.startswith("tests/"):
        file, _, name = named.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        return name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    if named.startswith("docs/"):
        return (ROOT / named).is_file()
    file, _, keys = named.partition(": ")
    of_manifest = all(key in Manifest.model_fields for key in keys.split(", ")) if keys else True
    return (GOLDEN / "3" / "paper" / file).is_file() and of_manifest


@pytest.mark.parametrize("hazard", hazards(), ids=lambda each: each.number)
def test_what_a_hazard_names_is_there(hazard: Hazard) -> None:
    assert hazard.shown_by
    assert all(map(is_there, hazard.shown_by)), hazard.shown_by
    assert set(hazard.questions) <= set(catalogue())


def test_what_is_not_there_is_noticed() -> None:
    assert not is_there("tests/end_to_end/test_audit.py::test_that_nobody_wrote")
    assert not is_there("docs/no-such-page.md")
    assert not is_there("privacy.json: no_such_key")


def test_all_nineteen_are_there_in_their_order() -> None:
    assert [each.number for each in hazards()] == [str(number) for number in range(1, 20)]


@pytest.mark.parametrize("name", ["3/paper", "3/cards", "3/dictionary", "3e/world-of-noise"])
def test_what_is_met_or_noted_in_any_case_names_a_test(name: str) -> None:
    folder = Folder(GOLDEN / name)
    state = states(Case(folder.manifest, folder=folder))
    assert set(state) == {each.number for each in hazards()}
    for hazard in hazards():
        if state[hazard.number] in (MET, NOTE):
            assert any(each.startswith("tests/") for each in hazard.shown_by), hazard.title
        else:
            assert state[hazard.number] == YOURS
            assert hazard.questions, hazard.title


def test_states_follow_from_the_case() -> None:
    paper, cards, world = (
        states(Case(Folder(GOLDEN / name).manifest)) for name in ("3/paper", "3/cards", "3e/world-of-noise")
    )
    assert paper["1"] == YOURS, "a weak promise is not met"
    assert paper["4"] == YOURS, "a trip is not a person"
    assert cards["4"] == NOTE
    assert world["11"] == NOTE, "bounds on a card drop trips, and nobody says how many"
    assert paper["12"] == MET
    assert paper["11"] == NOTE
    assert paper["8"] == YOURS, "without an audit"
    assert paper["15"] == NOTE, "without a ledger nobody knows whether noise was drawn again"


FEW_CARDS = """
[release]
name = "cards"
title = "Cards"
partition = ["date"]
[source]
path = "trips.csv"
first_day = 2025-01-06
last_day = 2025-01-12
[source.columns]
card = "card"
date = "date"
tap_on_location = "stop"
[privacy]
unit = "card"
trips_per_card = 4
without_card = "refuse"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = "{epsilon}"
delta = "1e-7"
looked_at_trips = false
[[table]]
name = "stops"
columns = ["tap_on_location"]
"""


def of_cards(folder: Path, epsilon: str, spent: str | None) -> Case:
    """A plan for cards, and its ledger, in which another release may have spent before."""
    plans = [Plan.parse(FEW_CARDS.format(epsilon=each), base=folder) for each in (epsilon, spent or epsilon)]
    start_ledger(plans[0], "9", "1e-5")
    with Ledger.open(plans[0].ledger_path) as book:
        if spent:
            book.spend(spend_of(plans[1], "5" * 32, TODAY))
    (folder / "plan.toml").write_text(FEW_CARDS.format(epsilon=epsilon), encoding="utf-8")
    return read_case(folder / "plan.toml", today=TODAY)


@pytest.mark.parametrize(
    ("epsilon", "spent", "state"), [("0.5", None, MET), ("0.5", "1.5", NOTE), ("0.9", None, MET), ("2", None, YOURS)]
)
def test_a_small_epsilon_is_met_for_cards_and_all_releases_together_alone(
    epsilon: str, spent: str | None, state: str, tmp_path: Path
) -> None:
    case = of_cards(tmp_path, epsilon, spent)
    assert states(case)["1"] == state
    without = Case(case.manifest, case.plan, on=TODAY)
    assert states(without)["1"] == (NOTE if state == MET else state), "who has no ledger does not know what was spent"


def test_a_small_epsilon_for_less_than_a_person_has_a_note(tmp_path: Path) -> None:
    case = year_of_weeks(tmp_path)
    assert case.together is not None
    assert case.together <= 1
    assert states(case)["1"] == NOTE
    assert states(case)["15"] == MET


def test_that_nobody_releases_again_is_met_where_the_ledger_has_this_release(tmp_path: Path) -> None:
    """Or would have it: of a plan. A ledger without this folder says nothing about it."""
    folder, entries = Folder(GOLDEN / "3" / "paper"), year_of_weeks(tmp_path).entries
    (tmp_path / "cards").mkdir()
    planned = of_cards(tmp_path / "cards", "0.5", None)
    assert states(planned)["15"] == MET
    for given, words in ((entries, "the one that was given does not have this release"), (None, "was not given")):
        case = Case(folder.manifest, folder=folder, entries=given, on=TODAY)
        assert states(case)["15"] == NOTE
        assert f"is recorded in a ledger, {'and ' if given else 'which '}{words}" in Dossier(case).markdown


def test_given_exact_totals_the_state_is_that_of_what_is_exchanged() -> None:
    manifest = Folder(GOLDEN / "3" / "paper").manifest
    loss = {each.neighbours: each.exact.loss for each in manifest.guarantees}
    claim = TotalClaim(trips=12345, of={"mode": "bus"}, source="Annual report", calibrated=False)
    added = manifest.model_copy(update={"neighbours": "add-remove"})
    assert Case(added).loss == loss["add-remove"]
    assert Case(added.model_copy(update={"totals": (claim,)})).loss == loss["replace"] != loss["add-remove"]


# --- what hazards name, where no other test shows it ------------------------------------------------------------------

EVERY = (
    "3/paper",
    "3/cards",
    "3/dictionary",
    "3/gaussian",
    "3d/world-of-hours",
    "3e/world-of-noise",
    "3f/calendar-totals",
)


@pytest.mark.parametrize("name", EVERY)
def test_the_curve_and_both_notions_are_what_the_accountant_says(name: str) -> None:
    """Hazard 5: every published point, in its notion, is a bound, and a close one."""
    case = Case(Folder(GOLDEN / name).manifest)
    cells = [each.cells for each in case.mechanisms.values()]
    manifest = case.manifest
    assert {each.neighbours for each in manifest.guarantees} == {"replace", "add-remove"}
    curve = [(manifest.curve.neighbours, each.epsilon, each.delta) for each in manifest.curve.points]
    assert curve
    promised = [(each.neighbours, each.epsilon, each.delta_accounted) for each in manifest.guarantees]
    for neighbours, epsilon, stated in [*curve, *promised]:
        exact = delta(cells, float(epsilon), case.exposure(neighbours))
        off = 1e-14  # where noise is pure, the accountant's floats are not quite 0
        assert exact * (1 - 1e-4) - off <= float(stated) <= exact * (1 + 1e-3) + off


@pytest.mark.parametrize("name", ["3e/world-of-noise", "3f/calendar-totals", "3f/world-of-noise"])
def test_noise_on_every_cell_has_no_bias_and_keeps_its_error_bound(name: str) -> None:
    """Hazard 11, exactly: from the integers that are drawn from."""
    manifest = Folder(GOLDEN / name).manifest
    for table in manifest.tables:
        law = manifest.mechanism_of(table).distribution(7)
        assert sum(law.values()) == 1
        assert sum(value * chance for value, chance in law.items()) == 7
        beyond = sum(chance for value, chance in law.items() if abs(value - 7) > table.error_95)
        assert 0 < beyond <= Fraction(1, 20)
