"""The steps of the studio that need more than a plan: presets, a map, the dossier, a schedule, a key and a portal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Budget, Delivered, Scheduled, Spend
from tapveil.plan.model import PRESETS, Plan, preset_text
from tests.conftest import write_csv
from tests.support.commands import command
from tests.support.portals.ckan import ORGANISATION, FakeCkan
from tests.support.portals.server import TOKEN
from tests.support.studio import Page, RefusedError, Studio, studio_of
from tests.unit.published.test_signature import make_key, needs_openssh

MONDAY = date(2025, 3, 3)
PLAN = f"""
[release]
name = "ferries"
title = "Harbour ferries"
licence = "CC-BY-4.0"
partition = []

[source]
path = "trips.csv"
first_day = {MONDAY}
last_day = {MONDAY + timedelta(days=6)}

[source.columns]
date = "day"
card = "card"
tap_on_location = "wharf"

[places]
path = "wharves.csv"

[privacy]
unit = "card"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 1
delta = 1e-8
trips_per_card = 3
without_card = "refuse"

[[table]]
name = "wharves"
columns = ["tap_on_location"]
"""
WHARVES = {"Quay": (-33.861, 151.211), "Manly": (-33.8, 151.284), "Mosman": (-33.848, 151.234)}
TRIPS = 3000
PASSPHRASE = "open, harbour"  # noqa: S105


def agency(folder: Path) -> None:
    """A week of trips, where the wharves are, and a plan; no ledger yet."""
    rows = [(MONDAY + timedelta(days=n % 7), f"C{n % 1000:04d}", [*WHARVES][n % 3]) for n in range(TRIPS)]
    write_csv(folder / "trips.csv", rows, ("day", "card", "wharf"))
    lines = [(name, name, lat, lon) for name, (lat, lon) in WHARVES.items()]
    write_csv(folder / "wharves.csv", lines, ("id", "name", "latitude", "longitude"))
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Page]]:
    """One studio for all who spend nothing."""
    folder = tmp_path_factory.mktemp("agency")
    agency(folder)
    with studio_of(folder) as studio:
        yield folder, Page.entered(studio)


def test_a_preset_is_the_text_that_the_package_has_and_another_plan_can_be_used(shared: tuple[Path, Page]) -> None:
    folder, page = shared
    offered = page.call("presets")["presets"]
    assert [each["name"] for each in offered] == [*PRESETS]
    assert all(each["text"] == preset_text(each["name"]) for each in offered)
    started = page.call("plan/start", preset="opal", plan="paper.toml")
    try:
        assert (folder / "paper.toml").read_text(encoding="utf-8") == preset_text("opal")
        assert started["model"]["tables"]
        with pytest.raises(RefusedError) as refused:
            page.call("plan/start", preset="opal", plan="plan.toml")
        assert refused.value.status == 409
        with pytest.raises(RefusedError):
            page.call("plan/start", preset="none", plan="other.toml")
    finally:
        assert page.call("plan/use", plan="plan.toml")["model"]["title"] == "Harbour ferries"
    assert page.call("project")["plans"] == ["paper.toml", "plan.toml"]
    assert (folder / "plan.toml").read_text(encoding="utf-8") == PLAN, "what was there is as it was"


def test_the_map_has_the_places_of_the_public_list_and_trips_where_they_are_counted(shared: tuple[Path, Page]) -> None:
    _, page = shared
    public = page.call("map")
    assert {each["name"]: (each["lat"], each["lon"]) for each in public["places"]} == WHARVES
    assert public["table"] == "wharves"
    assert "confidential" not in public
    assert not any("trips" in each for each in public["places"])
    page.done("count")
    try:
        exact = page.call("map", table="wharves")
        assert exact["confidential"].startswith("CONFIDENTIAL")
        assert sum(each["trips"] for each in exact["places"]) == TRIPS
        assert all(0 <= each["published"] <= 1 for each in exact["places"])
    finally:
        page.call("plan/use", plan="plan.toml")  # which lets the counts go
    assert not any("trips" in each for each in page.call("map")["places"])


def test_answers_of_the_dossier_are_kept_for_it_and_for_the_command(shared: tuple[Path, Page]) -> None:
    folder, page = shared
    first = page.call("dossier")
    assert first["open"] == first["asked"] > 1
    key = first["questions"][0]["key"]
    said = {"answer": "To plan ferries, says <b>the board</b>.", "by": "P. Officer"}
    for wrong in ({"key": "unknown", **said}, {"key": key, "answer": "Nobody says this."}):
        with pytest.raises(RefusedError):
            page.call("dossier/answer", **wrong)
    answered = page.call("dossier/answer", key=key, **said)
    assert answered["open"] == first["open"] - 1
    kept = folder / "plan.dossier.toml"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert [each["by"] for each in page.call("dossier")["questions"] if each["answer"]] == ["P. Officer"]
    assert page.call("dossier/write", output="dossier.html")["path"] == "dossier.html"
    written = folder / "dossier.html"
    assert written.stat().st_mode & 0o777 == 0o600
    assert "says &lt;b&gt;the board&lt;/b&gt;" in written.read_text(encoding="utf-8")
    by_command = command(folder, ["dossier", "plan.toml", "-o", "command.html"])
    assert by_command.code == 0, by_command.err
    assert "says &lt;b&gt;the board&lt;/b&gt;" in (folder / "command.html").read_text(encoding="utf-8")


def spends(book: Ledger) -> list[Spend]:
    return [entry for entry in book.entries if isinstance(entry, Spend)]


def refusal(page: Page, call: str, **given: object) -> str:
    """Why long work was refused, at once or in the middle."""
    try:
        found = page.finish(page.start(call, **given))
    except RefusedError as refused:
        return str(refused.error["message"])
    assert found["state"] == "failed", found
    return str(found["error"]["message"])


@needs_openssh
def test_a_week_of_a_schedule_is_signed_and_delivered(tmp_path: Path) -> None:
    agency(tmp_path)
    key = make_key(tmp_path, passphrase=PASSPHRASE)
    (tmp_path / "signers").write_text(f"harbour {key.with_suffix('.pub').read_text()}", encoding="utf-8")
    with FakeCkan().running() as ckan, studio_of(tmp_path, TAPVEIL_CKAN_TOKEN=TOKEN) as studio:
        assert isinstance(ckan, FakeCkan)
        page = Page.entered(studio)
        planned_and_kept(page, tmp_path)
        signed(page, tmp_path, key)
        delivered(page, tmp_path, ckan, studio)
        page.close()


def planned_and_kept(page: Page, folder: Path) -> None:
    """Each of four weeks may spend what fits; the ledger keeps it, and lets nobody spend more."""
    page.call("ledger/start", epsilon="2", delta="1e-6")
    with pytest.raises(RefusedError, match=r"reason|why"):
        page.call("ledger/budget", epsilon="4", delta="1e-6")
    page.call("ledger/budget", epsilon="4", delta="1e-6", reason="Four weeks.", by="The board")
    asked = {"epsilon": "4", "delta": "1e-6", "every": "week", "number": 4}
    planned = page.call("ledger/plan", **asked)
    assert Fraction(planned["epsilon"]) > Fraction(planned["divided"]), "composition, not division"
    assert {row["every"] for row in planned["rows"]} >= {"week", "two-weeks", "month"}
    by_command = command(
        folder, ["ledger", "plan", "plan.toml", "--every", "week", "--for", "4", "--epsilon", "4", "--delta", "1e-6"]
    )
    assert by_command.code == 0, by_command.err
    assert f"epsilon = {planned['epsilon']}," in " ".join(by_command.out.split())
    text = page.call("plan/edit", version=page.call("plan")["version"], edits=planned["edits"])
    assert text["model"]["epsilon"] == planned["epsilon"]
    page.call("ledger/keep", **asked)
    with Ledger.open(folder / "ledger.sqlite") as book:
        (kept,) = [entry for entry in book.entries if isinstance(entry, Scheduled)]
        assert [entry.reason for entry in book.entries if isinstance(entry, Budget)] == [None, "Four weeks."]
    assert (kept.releases, kept.days) == (4, 7)
    twice = [{"at": ["privacy", "epsilon"], "value": 2}]
    page.call("plan/edit", version=text["version"], edits=twice)
    assert page.call("ledger")["next"] == "refused"
    assert "schedule" in refusal(page, "release", output="published")
    page.call("plan/edit", version=page.call("plan")["version"], edits=planned["edits"])


def signed(page: Page, folder: Path, key: Path) -> None:
    """A wrong passphrase costs nothing; with the right one, everybody can see who published it."""
    for wrong in (None, "something else"):
        assert refusal(page, "release", output="published", sign=str(key), passphrase=wrong)
    with Ledger.open(folder / "ledger.sqlite") as book:
        assert not spends(book)
    page.done("release", output="published", sign=str(key), passphrase=PASSPHRASE)
    assert page.call("project")["published"][0]["signed"] is True
    assert page.done("verify", folder="published")["verified"]
    verified = command(folder, ["verify", "published", "--signers", "signers"])
    assert verified.code == 0, verified.out
    assert "signed by harbour" in verified.out


def delivered(page: Page, folder: Path, ckan: FakeCkan, studio: Studio) -> None:
    """Shown first, then sent, once, and recorded; the token stays in the environment."""
    there = {each["name"]: each for each in page.call("portals")["portals"]}
    assert there["ckan"]["credentials"] is True
    assert there["socrata"]["credentials"] is False
    to = {"folder": "published", "portal": "ckan", "to": ckan.address, "owner": ORGANISATION}
    shown = page.done("push", **to)
    assert not ckan.log, "it is a rehearsal until somebody says that it is meant"
    assert any("package_create" in each for each in shown["requests"])
    done = page.done("push", **to, dry_run=False)
    (package,) = ckan.packages.values()
    names = {each["name"] for each in package["resources"]}
    assert {"data/wharves.csv", "privacy.json", "SHA256SUMS", "SHA256SUMS.sig"} <= names
    with Ledger.open(folder / "ledger.sqlite") as book:
        (recorded,) = [entry for entry in book.entries if isinstance(entry, Delivered)]
    assert recorded.address == done["address"]
    asked = len(ckan.log)
    assert page.done("push", **to, dry_run=False)["address"] == done["address"]
    assert len(ckan.log) == asked + 1, "it looks, and that is all"
    assert len(ckan.packages) == 1
    heard = json.dumps([shown, done, there, page.events])
    assert TOKEN not in heard
    assert PASSPHRASE not in heard
    assert Plan.read(folder / "plan.toml").release.licence == "CC-BY-4.0"
    assert studio.process.poll() is None
