"""Other columns of a known world, such as a fare class: a public list, one entry for all others; what it multiplies."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tapveil.base.errors import PlanError
from tapveil.counting import counter
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.public import PublicInputs
from tapveil.internal.outlook import outlook
from tapveil.plan.model import Plan
from tapveil.veil.release import release
from tapveil.verification.folder import verify_folder
from tests.conftest import write_csv
from tests.property.test_world import BOUNDS, PLACES, PLAN
from tests.support.tampering import refresh

LISTS = '[world.lists]\nfare = ["adult", "child"]\n'
FARES = '[[table]]\nname = "fares"\ncolumns = ["tap_on_location", "fare"]\n'
ROWS = [
    (f"{card}", "bus", f"2025-03-0{3 + card % 3}", "08:00", "Ash", "Oak", fare)
    for card in range(600)
    for fare in (("adult", " child "), ("senior", "dog"), ("", "adult"))[card % 3]
]


def plan_with(folder: Path, unit: str = "trip", more: str = FARES + LISTS, **changes: str) -> Plan:
    write_csv(folder / "places.csv", PLACES, ("name", "mode", "latitude", "longitude"))
    write_csv(folder / "trips.csv", ROWS, ("card", "mode", "day", "hour", "from", "to", "fare"))
    text = PLAN.format(unit=unit, bounds=BOUNDS[unit], per_cell="") + more
    for old, new in {'tap_off_location = "to"': 'tap_off_location = "to"\nfare = "fare"', **changes}.items():
        assert old in text
        text = text.replace(old, new)
    return Plan.parse(text, base=folder)


def test_every_label_of_the_list_is_measured_and_the_folder_verifies(tmp_path: Path) -> None:
    folder = release(plan_with(tmp_path), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert len(folder.table("fares")) == 3 * 3 * (4 + 3)
    assert {row["fare"] for row in folder.table("fares").rows()} == {"adult", "child", "UNKNOWN"}
    assert "`fare` is one of a public list of 2" in (folder.path / "README.md").read_text()
    measured = Counter[str]()
    for row in folder.measurement(["tap_on_location", "fare"]).rows():
        measured[row["fare"]] += row["count"]
    for fare, trips in {"adult": 400, "child": 200, "UNKNOWN": 600}.items():
        assert abs(measured[fare] - trips) < 8 * 21**0.5 * float(folder.mechanism("fares").scale) + 1
    # Estimates are made from the tables of trips alone, and there are none of fares.
    assert (folder.path / "estimates" / "od.csv").exists()
    assert not (folder.path / "estimates" / "fares.csv").exists()


@pytest.mark.parametrize("unit", ["card-day", "card"])
def test_a_card_with_two_labels_that_are_not_listed_counts_once_there(tmp_path: Path, unit: str) -> None:
    plan = plan_with(tmp_path, unit)
    exact = counter.count(plan, inputs=PublicInputs.of(plan)).tables["fares"]
    counts = Counter[str]()
    codes = exact.packing.unpack(exact.words)["fare"]
    for code, number in zip(codes.tolist(), exact_counts(exact).tolist(), strict=True):
        counts[exact.labels["fare"][code]] += number
    assert counts == {"adult": 400, "child": 200, "UNKNOWN": 400}


def test_a_folder_with_another_list_is_found(tmp_path: Path) -> None:
    folder = release(plan_with(tmp_path), tmp_path / "out", in_ledger=False).path
    text = (folder / "privacy.json").read_text()
    for old, new, code in (
        ('"child"', '"childs"', "world-differs"),
        ('"adult",', '"adult",\n      "b",', "world-shape"),
    ):
        assert old in text
        (folder / "privacy.json").write_text(text.replace(old, new))
        refresh(folder)
        assert code in {finding.code for finding in verify_folder(folder).findings}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (FARES, r"give all its labels under \[world.lists\]"),
        (LISTS, "not a column of labels that a table has"),
        (FARES + LISTS.replace("child", "UNKNOWN"), "UNKNOWN, which stands for all others"),
        (FARES + LISTS.replace("child", "adult"), "each label once"),
    ],
)
def test_lists_that_do_not_fit_are_refused(tmp_path: Path, more: str, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plan_with(tmp_path, more=more)


@pytest.mark.parametrize("mechanism", ["world", "gaussian"])
def test_check_says_what_a_column_multiplies(tmp_path: Path, mechanism: str) -> None:
    lists = LISTS if mechanism == "world" else ""
    plan = plan_with(tmp_path, more=FARES + lists, **{'mechanism = "world"': f'mechanism = "{mechanism}"'})
    (said,) = [note for note in outlook(plan).notes if "multiplies" in note]
    times = 3 if mechanism == "world" else 5
    assert f"fare multiplies the cells of fares by up to {times}, to " in said
    assert "of a mean cell; without fare it would be" in said
