"""Exact totals that are public anyway: declared, stated, recorded, met by estimates; tampering shows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tapveil
from tapveil.base.errors import InputFileError, PlanError
from tapveil.cli.app import app
from tapveil.inputs.public import PublicInputs
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tapveil.plan.model import Plan
from tapveil.veil.release import release
from tapveil.verification.folder import verify_folder
from tests.conftest import start_ledger, write_csv
from tests.end_to_end.test_world import write_trips
from tests.property.test_world import BOUNDS, PLACES, PLAN
from tests.support.tampering import refresh

TOTALS = """
[[public.total]]
trips = 4000
of = { mode = "bus" }
source = "Annual report 2025, page 7"
[[public.total]]
trips = 1200
of = { mode = "bus", tap_on_location = "Ash" }
source = "Annual report 2025, page 8"
[[public.total]]
trips = 500
of = { mode = "train" }
first_day = 2025-03-04
last_day = 2025-03-05
source = "https://example.org/patronage"
[[public.total]]
trips = 9000
source = "The minister, in a speech"
calibrate = false
"""


def plan_with(folder: Path, totals: str = TOTALS, unit: str = "trip") -> Plan:
    write_csv(folder / "places.csv", PLACES, ("name", "mode", "latitude", "longitude"))
    return Plan.parse(PLAN.format(unit=unit, bounds=BOUNDS[unit], per_cell="") + totals, base=folder)


def total(trips: int, of: str = "", more: str = "") -> str:
    return f'[[public.total]]\ntrips = {trips}\nof = {{ {of} }}\nsource = "a report"\n{more}\n'


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("totals")
    write_trips(folder)
    plan = plan_with(folder)
    start_ledger(plan, epsilon="20", delta="1e-5")
    release(plan, folder / "out")
    return folder / "out"


def test_estimates_and_synthetic_trips_add_up_to_the_totals_and_the_folder_verifies(published: Path) -> None:
    folder = tapveil.open(published)
    assert verify_folder(published).findings == []
    assert folder.manifest.versions.totals == 1

    def sum_of(**where: str) -> int:
        rows = folder.estimate(["date", "tap_on_location", "tap_off_location"]).rows()
        return sum(row["count"] for row in rows if all(row[key] in label for key, label in where.items()))

    assert sum_of(mode="bus") == 4000
    assert sum_of(mode="bus", tap_on_location="Ash") == 1200
    assert sum_of(mode="train", date="2025-03-04 2025-03-05") == 500
    trips = folder.trips().read_all().to_pydict()
    assert trips["mode"].count("bus") == 4000
    assert sum(pair == ("bus", "Ash") for pair in zip(trips["mode"], trips["tap_on_location"], strict=True)) == 1200


def test_the_promise_is_stated_given_the_totals_everywhere(published: Path) -> None:
    stated = json.loads((published / "privacy.json").read_text())
    assert [each["trips"] for each in stated["totals"]] == [4000, 1200, 500, 9000]
    assert [each["calibrated"] for each in stated["totals"]] == [True, True, True, False]
    readme = (published / "README.md").read_text()
    assert "Exact totals that are public anyway" in readme
    assert '4,000 trips, "mode" "bus", on all days of this folder. Source: "Annual report 2025, page 7".' in readme
    assert "given exact totals" in (published / "datapackage.json").read_text()
    assert "given these totals" in (published / "dp-registry.yaml").read_text()


def test_the_ledger_records_totals_as_publications_without_noise_and_they_cost_no_epsilon(published: Path) -> None:
    with Ledger.open(published.parent / "ledger.sqlite") as book:
        (spend,) = [entry for entry in book.entries if isinstance(entry, Spend)]
    assert [each.trips for each in spend.totals] == [4000, 1200, 500, 9000]
    plain = Plan.parse(PLAN.format(unit="trip", bounds="", per_cell=""), base=published.parent)
    assert plain.guarantee.loss == plan_with(published.parent).guarantee.loss
    assert [table.scale for table in spend.tables] == [each.scale for each in plain.guarantee.mechanisms.values()]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('"trips": 4000', '"trips": 4001', "derived-differs"),
        ('"calibrated": true', '"calibrated": false', "derived-differs"),
        ('"tap_on_location": "Ash"', '"tap_on_location": "Nowhere"', "totals-differ"),
        ('"trips": 1200', '"trips": 5000', "totals-differ"),
        ('"first_day": null,\n      "last_day": null,\n      "source": "Ann', '"source": "Ann', "manifest-shape"),
    ],
)
def test_other_totals_than_estimates_were_made_for_are_found(
    published: Path, tmp_path: Path, old: str, new: str, code: str
) -> None:
    copy = shutil.copytree(published, tmp_path / "copy")
    text = (copy / "privacy.json").read_text()
    assert old in text
    (copy / "privacy.json").write_text(text.replace(old, new, 1))
    refresh(copy)
    assert code in {finding.code for finding in verify_folder(copy).findings}


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        (total(1), "is of all modes"),
        (total(1, 'mode = "ferry"'), "mode `ferry`"),
        (total(1, 'mode = "bus", tap_on_location = "Nowhere"'), "not on the list of places"),
        (total(1, 'mode = "bus", tap_on_time = "06:00"'), "limited by tap_on_time"),
        (total(1, 'mode = "bus"', "first_day = 2025-03-01\nlast_day = 2025-03-31"), "days that the release does not"),
        (total(1, 'mode = "bus"') * 2, "are of the same trips"),
        (total(5, 'mode = "bus"') + total(6, 'mode = "bus", tap_on_location = "Ash"'), "less than the totals within"),
        (
            total(9, 'mode = "bus", tap_on_location = "Ash"') + total(9, 'mode = "bus", tap_off_location = "Ash"'),
            "neither has all of the other's",
        ),
        (
            "".join(total(1, f'mode = "bus", tap_on_location = "{x}"') for x in ("Ash", "Elm", "Oak", "UNKNOWN"))
            + total(5, 'mode = "bus"'),
            "more than the totals that it consists of",
        ),
    ],
)
def test_totals_that_estimates_cannot_meet_are_refused_unless_they_are_only_stated(
    tmp_path: Path, totals: str, words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        _ = PublicInputs.of(plan_with(tmp_path, totals)).totals
    only_stated = totals.replace('source = "a report"', 'source = "a report"\ncalibrate = false')
    assert PublicInputs.of(plan_with(tmp_path, only_stated)).totals


def test_totals_may_come_from_a_public_list(tmp_path: Path) -> None:
    rows = [("bus", "Ash", "1,200", "report"), ("train", "", "500", "report")]
    write_csv(tmp_path / "totals.csv", rows, ("mode", "tap_on_location", "trips", "source"))
    plan = plan_with(tmp_path, '[public]\ntotals = "totals.csv"\n')
    found = PublicInputs.of(plan)
    assert [(each.trips, each.of) for each in found.totals] == [
        (1200, {"mode": "bus", "tap_on_location": "Ash"}),
        (500, {"mode": "train"}),
    ]
    assert "totals" in found.sha256
    write_csv(tmp_path / "totals.csv", [("many", "report")], ("trips", "source"))
    with pytest.raises(InputFileError, match="line 2: `trips` must be a whole number"):
        _ = PublicInputs.of(plan).totals


DIFFERENCES = (
    total(4000, 'mode = "bus"')
    + total(3990, 'mode = "bus"', "first_day = 2025-03-03\nlast_day = 2025-03-04")
    + total(7, 'mode = "train", tap_on_location = "Ash"', "first_day = 2025-03-04\nlast_day = 2025-03-04")
    + total(500, 'mode = "train"')
    + total(150, 'mode = "train", tap_on_location = "Ash"')
    + total(300, 'mode = "train", tap_on_location = "Elm"')
)


def test_check_warns_of_what_totals_tell_by_subtraction_and_compares_none_with_the_trips(tmp_path: Path) -> None:
    plan_with(tmp_path)
    text = PLAN.format(unit="trip", bounds="", per_cell="") + DIFFERENCES
    text = text.replace('columns = ["tap_on_time", "tap_on_location"]', 'columns = ["tap_on_location"]')
    (tmp_path / "plan.toml").write_text(text)
    run = CliRunner().invoke(app, ["check", str(tmp_path / "plan.toml"), "--plan-only"])
    said = " ".join(run.output.split())
    assert run.exit_code == 0, run.output
    assert "The guarantee holds given that they are known" in said
    for words in (
        "differ by one day, 2025-03-05",
        "differ by 10 trips: fewer than 100",
        "7 trips (mode train, tap_on_location Ash, 2025-03-04 to 2025-03-04) is of fewer than 100 trips",
        "is a cell of table origins, or a part of one",
        "exact totals of every tap_on_location but UNKNOWN tell that of UNKNOWN, too",
    ):
        assert words in said, words


def test_totals_of_plans_with_thresholds_are_stated(tmp_path: Path) -> None:
    write_trips(tmp_path, 300)
    plan_with(tmp_path)
    text = PLAN.format(unit="trip", bounds="", per_cell="").replace('"world"', '"gaussian"') + TOTALS
    folder = release(Plan.parse(text, base=tmp_path), tmp_path / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert not any(each.calibrated for each in folder.manifest.totals or ())
