"""What a folder says in words: no more than is so."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import tapveil
from tapveil.base.errors import TripDataError
from tapveil.cli import summary
from tapveil.cli.summary import closing_lines
from tapveil.ledger.book import Ledger
from tapveil.ledger.witness import folder_of
from tapveil.plan.model import Plan
from tapveil.published import signature
from tapveil.published.describe.metadata import METADATA, REGISTRY
from tapveil.published.describe.readme import readme
from tapveil.veil import statement
from tapveil.verification.folder import verify_folder
from tests.conftest import TODAY, free_plan, start_ledger, write_csv
from tests.property.test_units import listed_plan
from tests.support.tampering import resum
from tests.unit.published.test_signature import make_key, needs_openssh

GOLDEN = Path(__file__).parents[1] / "golden"
BEYOND = "Cells that are not on the list were not counted"


def words_of(plan: Plan, folder: Path) -> tuple[str, dict[str, str]]:
    """The README of a release, and what its data dictionary says of each number."""
    published = tapveil.release(plan, folder / "out", in_ledger=False).path
    assert not verify_folder(published).findings
    package = json.loads((published / "datapackage.json").read_text(encoding="utf-8"))
    fields = next(each for each in package["resources"] if each["path"].startswith("data/"))["schema"]["fields"]
    return (published / "README.md").read_text(encoding="utf-8"), {each["name"]: each["description"] for each in fields}


def test_of_what_is_not_on_a_list_nothing_is_said(tmp_path: Path) -> None:
    """300 trips are in a cell that is not on the list: `absent_95` is not about it."""
    page, fields = words_of(listed_plan(tmp_path), tmp_path)
    assert f"for at least 19 of 20 cells. {BEYOND}." in page
    assert "| missing cell of the list: at most |" in page
    assert "If it is not on the list, it was not counted, and may have any count." in page
    assert "not listed" not in page
    assert f"{BEYOND}. Never below 1." in fields["count"]
    assert "for at least 19 of 20 cells of the list, published or not" in fields["low"]
    for portal in METADATA:
        told = " ".join((tmp_path / "out" / portal).read_text(encoding="utf-8").split())
        assert "not listed" not in told
        assert BEYOND in told or portal == REGISTRY, "the registry has a word of its own for the list"


def test_without_a_list_every_cell_is_counted() -> None:
    page = readme(statement.manifest(Plan.preset("opal"), TODAY, {}), signed=False)
    assert "| missing cell: at most |" in page
    assert "the list" not in page


# --- what is changed afterwards ---------------------------------------------------------------------------------------


def small_plan(folder: Path) -> Plan:
    write_csv(folder / "trips.csv", [("07:05", "s1")] * 300, ("hour", "stop"))
    return free_plan(folder, "trips.csv", {"tap_on_location": "stop"}, {"on": ["tap_on_location"]})


def edit(published: Path) -> None:
    """A sentence more in the README, and checksums that fit it."""
    path = published / "README.md"
    path.write_text(path.read_text(encoding="utf-8") + "\nThese are exact numbers.\n", encoding="utf-8")
    resum(published)


def test_words_that_are_edited_are_found_by_the_folder_and_by_the_ledger(tmp_path: Path) -> None:
    plan = small_plan(tmp_path)
    start_ledger(plan)
    published = tapveil.release(plan, tmp_path / "out")
    edit(published.path)
    assert [each.code for each in verify_folder(published.path).findings] == ["readme-differs"]
    with Ledger.open(plan.ledger_path) as book:
        assert [each.code for each in book.findings([folder_of(published)])] == ["folder-differs"]


def test_words_of_an_older_format_that_are_edited_are_not_found_in_the_folder(tmp_path: Path) -> None:
    """Its README cannot be made again: docs/verify.md says so."""
    shutil.copytree(GOLDEN / "2" / "paper", tmp_path / "out")
    edit(tmp_path / "out")
    assert not verify_folder(tmp_path / "out").findings


@needs_openssh
def test_words_that_are_edited_are_found_by_a_signature(tmp_path: Path) -> None:
    key = signature.read_key(make_key(tmp_path))
    published = tapveil.release(small_plan(tmp_path), tmp_path / "out", in_ledger=False, key=key).path
    edit(published)
    assert [each.code for each in verify_folder(published).findings] == ["signature-invalid", "readme-differs"]


def test_the_closing_words_tell_that_a_release_stopped_once_it_was_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So they are for the holder, like the ledger."""
    plan = small_plan(tmp_path)
    start_ledger(plan)
    with monkeypatch.context() as stopping:
        stopping.setattr("tapveil.veil.release.refuse_leaks", stop)
        with pytest.raises(TripDataError):
            tapveil.release(plan, tmp_path / "first")
    published = tapveil.release(plan, tmp_path / "second", again=True)
    said = " ".join(closing_lines(plan, published, tmp_path / "plan.toml"))
    left = re.search(r"remaining: epsilon ([0-9.]+)", said)
    assert left
    assert float(left[1]) < 8 - 1.5, "two releases of epsilon 1, and there is one folder"
    assert "not to be published" in str(summary.__doc__)


def stop(*_: object, **__: object) -> None:
    raise TripDataError("as the leak guard does")
