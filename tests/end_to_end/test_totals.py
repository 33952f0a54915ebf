"""Totals are published like any other number: what they say is proved, and where there are none, nothing is guessed."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tapveil
from tapveil.plan.model import Plan
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.describe.readme import readme
from tapveil.veil import statement
from tapveil.verification import manifest as manifests
from tapveil.verification.folder import verify_folder
from tests.conftest import TODAY, WITH_TOTAL, levelled_plan, opal_text, write_csv

GOLDEN = Path(__file__).parents[1] / "golden" / "1"
DAYS, BINS = 28, 96
COLUMNS = ("trip_date", "mode", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location")


def flat_city(folder: Path) -> dict[str, int]:
    """Demand that is flat just below the threshold: most bins of time are hidden, and each holds nearly as much as
    a bin that is published. No table but that of totals tells how many trips there are.
    """
    rows, trips = [], {}
    for day in range(DAYS):
        date, each = f"2025-02-{day + 1:02d}", 16 + day % 2
        trips[date] = BINS * each
        for number in range(BINS * each):
            clocks = [f"{minute // 4:02d}:{15 * (minute % 4):02d}" for minute in (number % BINS, (number + 2) % BINS)]
            places = [f"S{number * step % BINS:02d}" for step in (7, 11)]
            rows.append((date, "metro", clocks[0], places[0], clocks[1], places[1]))
    write_csv(folder / "trips.csv", rows, COLUMNS)
    return trips


GAUSSIAN = {
    'mechanism = "sbh" ': 'mechanism = "gaussian"\nepsilon = 8\ndelta = 7.5e-7\n#',
    'epsilon = 1\ndelta = "1/8000000"\n': "",
    'epsilon = 2\ndelta = "1/8000000"\n': "weight = 2\n",
}
TOTAL = '[[table]]\nname = "total"\ncolumns = []\nweight = "1/4"\n'


def released(folder: Path, more: str = "") -> Path:
    text = opal_text(**{"trips/*": "trips.csv"}, **GAUSSIAN)
    start, end = text.index("[coarsen.location.bus]"), text.index("# [places]")
    plan = Plan.parse(f"{text[:start]}{text[end:]}\n{more}", base=folder)
    return tapveil.release(plan, folder / "published", in_ledger=False).path


def intervals(path: Path) -> dict[str, tuple[int, int]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["date"]: (int(row["low"]), int(row["high"])) for row in csv.DictReader(file)}


def test_totals_hold_where_demand_is_flat_near_the_threshold(tmp_path: Path) -> None:
    """Fewer than 15 of 28 would be chance in one of 10^10 releases; of guessed totals, 6 to 10 of 28 held."""
    trips = flat_city(tmp_path)
    folder = released(tmp_path, TOTAL)
    for version in ("data", "consistent"):
        found = intervals(folder / version / "total.csv")
        assert found.keys() == trips.keys()
        held = [low <= trips[day] <= high for day, (low, high) in found.items()]
        assert sum(held) > DAYS / 2
        assert max(high - low for low, high in found.values()) < min(trips.values()) / 10, "and they say something"
    assert not verify_folder(folder).findings


def test_without_a_table_of_totals_nothing_is_guessed(tmp_path: Path) -> None:
    flat_city(tmp_path)
    folder = released(tmp_path)
    assert not [path for path in folder.rglob("*") if "total" in path.name]
    assert not verify_folder(folder).findings
    assert not tapveil.open(folder).has_totals
    assert "There is no table of totals" in (folder / "README.md").read_text(encoding="utf-8")


def coverage(mechanism: Mechanism, count: int) -> Fraction:
    """How likely the interval of a true count holds it, exactly: over all noise, whether it is published or not."""
    rule = interval(mechanism, MISS)
    low, high = count - rule.half_width, count + rule.half_width
    printed = mechanism.publish_tail(count, low) - mechanism.publish_tail(count, high + 1)
    hidden = 1 - mechanism.publish_probability(count) if count <= rule.absent else 0
    return printed + hidden


@pytest.mark.parametrize(
    "plan", [Plan.parse(opal_text(**WITH_TOTAL)), Plan.preset("od")], ids=["with the paper's tables", "pairs"]
)
def test_the_interval_of_a_total_holds_for_19_of_20_whatever_there_is(plan: Plan) -> None:
    """Exactly, for every number of trips from few to many; the flat city's are among them."""
    total = plan.guarantee.mechanisms["total"]
    counts = {*range(1, 4 * total.smallest_published), *(BINS * each for each in range(14, 18)), 10**6}
    assert min(coverage(total, count) for count in counts) >= 1 - MISS


CARD = 'mode = "mode"\ncard = "card_id"\n'
CARDS = 'unit = "card"\ntrips_per_card = 9\nwithout_card = "refuse"\n#'


def test_readmes_say_what_the_totals_are(tmp_path: Path) -> None:
    said = readme(statement.manifest(levelled_plan(tmp_path), TODAY, {}), signed=False)
    assert "The table `total` has one count for each mode and date: all trips, with an interval like any other." in said
    in_all = {'"mode", "date"': "", 'unit = "trip" ': CARDS, 'mode = "mode"\n': CARD}
    by_card = Plan.parse(opal_text(**WITH_TOTAL, **in_all))
    assert "The table `total` has one count: all cards" in readme(statement.manifest(by_card, TODAY, {}), signed=False)


# --- folders of others, and of earlier versions -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["paper", "laplace", "gaussian", "levels"])
def test_folders_of_version_1_keep_their_guessed_totals(name: str) -> None:
    """Byte for byte, as version 0.1.0 made them; the reader says them as it did."""
    assert not verify_folder(GOLDEN / name).findings
    opened = tapveil.open(GOLDEN / name)
    assert opened.manifest.versions.derived == 1
    assert len(opened.totals) == len((GOLDEN / name / "consistent" / "total.csv").read_text().splitlines()) - 1
    assert opened.total().count == sum(opened.totals.cells["count"].tolist())


def of_table(name: str, /, **changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        next(table for table in manifest["tables"] if table["name"] == name).update(changes)

    return change


def in_all(manifest: dict[str, Any]) -> None:
    manifest |= {"tables": manifest["tables"][-1:], "partition": [], "columns": {}, "wider": {}}


IMPOSSIBLE: dict[str, Callable[[dict[str, Any]], object]] = {
    "totals by another name": of_table("total", name="totals"),
    "another table by its name": of_table("both", name="total"),
    "totals at a level": of_table("total", level={"time_minutes": 60, "times": None, "location": None}),
    "two of them": lambda manifest: manifest["tables"].append({**manifest["tables"][-1], "name": "sum"}),
    "one number in all": in_all,
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_table_of_totals_that_no_release_has_is_found(name: str, tmp_path: Path) -> None:
    folder = tapveil.release(levelled_plan(tmp_path), tmp_path / "published", in_ledger=False).path
    manifest = json.loads((folder / "privacy.json").read_text(encoding="utf-8"))
    assert not manifests.read(manifest)[1]
    IMPOSSIBLE[name](manifest)
    assert [finding.code for finding in manifests.read(manifest)[1]] == ["manifest-shape"]
