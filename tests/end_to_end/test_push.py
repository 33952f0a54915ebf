"""From a signed release to a portal, on the command line: verified, delivered once, recorded, withdrawn."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapveil.ledger.accounts import accounts
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Delivered, Entry, Withdrawn
from tapveil.plan.model import Plan
from tapveil.published.folder import Folder
from tapveil.published.signature import read_key
from tapveil.veil.release import release
from tests.conftest import start_ledger, write_csv
from tests.support.commands import Said, command
from tests.support.portals.ckan import ORGANISATION, FakeCkan
from tests.support.portals.server import TOKEN
from tests.unit.published.test_signature import make_key, needs_openssh

PLAN = """
[release]
name = "ferries"
title = "Harbour ferries"
licence = "CC-BY-4.0"
[source]
path = "trips.csv"
first_day = 2016-08-01
last_day = 2016-08-31
[source.columns]
mode = "mode"
date = "trip_date"
tap_on_location = "tap_on_location"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 4
delta = 1e-6
[[table]]
name = "on"
columns = ["tap_on_location"]
"""
CORRECTED = "corrected"
pytestmark = needs_openssh


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed release with its ledger."""
    folder = tmp_path_factory.mktemp("agency")
    rows = [(f"2016-08-0{1 + n % 9}", "ferry", f"wharf {n % 3}") for n in range(3000)]
    write_csv(folder / "trips.csv", rows, ("trip_date", "mode", "tap_on_location"))
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    plan = Plan.read(folder / "plan.toml")
    start_ledger(plan, "20", "1e-5")
    release(plan, folder / "published", key=read_key(make_key(folder)))
    return folder


@pytest.fixture
def agency(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAPVEIL_CKAN_TOKEN", TOKEN)
    shutil.copytree(source, tmp_path / "agency")
    return tmp_path / "agency"


@pytest.fixture
def ckan() -> Iterator[FakeCkan]:
    with FakeCkan().running() as running:
        assert isinstance(running, FakeCkan)
        yield running


def push(agency: Path, ckan: FakeCkan, *more: str) -> Said:
    said = command(agency, ["push", "ckan", "published", "--to", ckan.address, "--owner", ORGANISATION, *more])
    assert TOKEN not in said.out + said.err
    return said


def entries(agency: Path) -> list[Entry]:
    with Ledger.open(agency / "ledger.sqlite") as ledger:
        assert not list(ledger.findings())
        return ledger.entries


def test_a_push_is_verified_delivered_once_and_recorded(agency: Path, ckan: FakeCkan) -> None:
    said = push(agency, ckan)
    assert said.code == 0, said.err
    (package,) = ckan.packages.values()
    files = {path.relative_to(agency / "published").as_posix() for path in (agency / "published").rglob("*.*")}
    assert {each["name"] for each in package["resources"]} == files | {"SHA256SUMS"}
    (recorded,) = [each for each in entries(agency) if isinstance(each, Delivered)]
    assert f"Delivered: {recorded.address}" in said.out
    assert TOKEN not in (agency / "ledger.sqlite").read_bytes().decode("latin-1")
    asked, known = len(ckan.log), entries(agency)
    assert push(agency, ckan).code == 0
    assert len(ckan.log) == asked + 1, "it looks, and that is all"
    assert push(agency, ckan, "--name", "another-name").code == 0
    assert len(ckan.packages) == 1, "it is there already, under its name"
    assert entries(agency) == known


def test_a_crash_before_the_ledger_knows_is_made_good(agency: Path, ckan: FakeCkan) -> None:
    saved = [path.read_bytes() for path in sorted(agency.glob("ledger.sqlite*"))]
    names = sorted(agency.glob("ledger.sqlite*"))
    push(agency, ckan)
    for path in agency.glob("ledger.sqlite*"):
        path.unlink()
    for path, data in zip(names, saved, strict=True):
        path.write_bytes(data)
    assert not [each for each in entries(agency) if isinstance(each, Delivered)]
    assert push(agency, ckan).code == 0
    assert len([each for each in entries(agency) if isinstance(each, Delivered)]) == 1
    assert len(ckan.packages) == 1


def test_a_dry_run_sends_nothing_and_shows_no_credentials(agency: Path, ckan: FakeCkan) -> None:
    said = push(agency, ckan, "--dry-run")
    assert said.code == 0
    assert not ckan.log
    assert "package_create" in said.out
    assert "upload: data/on.csv (" in said.out
    assert "Authorization: (from TAPVEIL_CKAN_TOKEN)" in said.out
    assert not [each for each in entries(agency) if isinstance(each, Delivered)]


def test_what_is_not_signed_or_not_verified_is_refused(agency: Path, ckan: FakeCkan) -> None:
    table = agency / "published" / "data" / "on.csv"
    honest = table.read_bytes()
    table.write_bytes(honest + b"x")
    said = push(agency, ckan)
    assert (said.code, ckan.log) == (2, [])
    assert "is not verified: data/on.csv: was changed" in said.err
    table.write_bytes(honest)
    (agency / "published" / "SHA256SUMS.sig").unlink()
    said = push(agency, ckan)
    assert (said.code, ckan.log) == (2, [])


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("http://data.example.org", "is not encrypted"),
        ("https://me:secret@data.example.org", "no user name, password"),
        ("ftp://data.example.org", "must look like https://"),
        ("https://", "must look like https://"),
    ],
)
def test_credentials_go_nowhere_unsafe(agency: Path, ckan: FakeCkan, to: str, words: str) -> None:
    said = push(agency, ckan, "--to", to)
    assert said.code == 2
    assert words in said.err
    assert "secret@" not in said.err


def test_a_token_with_a_line_break_is_refused_and_not_shown(
    agency: Path, ckan: FakeCkan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAPVEIL_CKAN_TOKEN", "half-of\nit")
    said = push(agency, ckan)
    assert said.code == 2
    assert "half-of" not in said.err
    assert "TAPVEIL_CKAN_TOKEN has blanks" in said.err


def test_a_withdrawn_release_is_marked_everywhere_and_its_cost_stays(agency: Path, ckan: FakeCkan) -> None:
    push(agency, ckan)
    spent = [account.epsilon for account in accounts(entries(agency))]
    asked = ["withdraw", "published", "--reason", "Wharves were mixed up.", "--by", "A. Officer"]
    said = command(agency, [*asked, "--dry-run"])
    assert said.code == 0, said.err
    assert "package_patch" in said.out
    assert not [each for each in entries(agency) if isinstance(each, Withdrawn)]
    said = command(agency, [*asked, "--notice", "notice.md"])
    assert said.code == 0, said.err
    release_id = Folder(agency / "published").manifest.release_id
    notice = (agency / "notice.md").read_text(encoding="utf-8")
    assert notice.startswith(f"**Withdrawn: release {release_id}.**")
    (package,) = ckan.packages.values()
    assert package["notes"].startswith(notice)
    assert not package["private"]
    assert [account.epsilon for account in accounts(entries(agency))] == spent
    assert command(agency, [*asked, "--hide"]).code == 0
    assert package["private"]
    assert package["notes"].count("Withdrawn") == 1
    assert len([each for each in entries(agency) if isinstance(each, Withdrawn)]) == 1
    assert "withdrawn" in command(agency, ["ledger"]).out
    said = push(agency, ckan)
    assert (said.code, "was withdrawn" in said.err) == (5, True)


def test_credentials_for_one_portal_are_not_sent_to_another_by_a_withdrawal(agency: Path, ckan: FakeCkan) -> None:
    asked = ["withdraw", "published", "--reason", "Wharves were mixed up.", "--by", "A. Officer"]
    with FakeCkan().running() as other:
        assert isinstance(other, FakeCkan)
        push(agency, ckan)
        push(agency, other)
        before = len(ckan.log), len(other.log)
        said = command(agency, asked)
        assert (said.code, "withdraw it at each with --to" in said.err) == (2, True)
        assert (len(ckan.log), len(other.log)) == before
        assert not [each for each in entries(agency) if isinstance(each, Withdrawn)]
        assert command(agency, [*asked, "--to", other.address]).code == 0
        assert len(ckan.log) == before[0]
        (package,) = other.packages.values()
        assert package["notes"].startswith("**Withdrawn")


def test_a_correction_names_a_withdrawn_release_and_costs_again(agency: Path, ckan: FakeCkan) -> None:
    first = Folder(agency / "published").manifest.release_id
    text = PLAN.replace('title = "Harbour ferries"', f'title = "Harbour ferries"\ncorrects = "{first}"')
    (agency / "plan.toml").write_text(text, encoding="utf-8")
    again = ["release", "plan.toml", "-o", CORRECTED, "--again", "-q"]
    said = command(agency, again)
    assert (said.code, "is not withdrawn" in said.err) == (5, True)
    command(agency, ["withdraw", "published", "--reason", "Wharves were mixed up.", "--by", "A. Officer"])
    said = command(agency, again[:4])
    assert (said.code, "add --again" in said.err) == (5, True)
    assert command(agency, again).code == 0
    assert Folder(agency / CORRECTED).manifest.corrects == first
    assert f"It corrects the release {first}" in (agency / CORRECTED / "README.md").read_text(encoding="utf-8")
    said = command(agency, ["verify", CORRECTED])
    assert said.code == 0
    assert f"corrects the release {first}" in said.out
