"""Socrata ends up with one public file that holds the complete release, whatever fails on the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tapveil.base.errors import DeliveryError, UsageError
from tapveil.delivery.client import HIDDEN, Client
from tapveil.delivery.conversation import converse
from tapveil.delivery.notice import Notice
from tapveil.delivery.parcel import Parcel
from tapveil.delivery.request import Request, rehearsed
from tapveil.delivery.socrata import Socrata
from tests.support.portals.server import FAULTS, TOKEN, Fault
from tests.support.portals.socrata import BASIC, KEY, FakeSocrata

GOLDEN = Path(__file__).parents[2] / "golden" / "3"
REQUESTS = 7
"""Look, draft, source, upload, compare, look again, publish."""


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPVEIL_SOCRATA_KEY_ID", KEY)
    monkeypatch.setenv("TAPVEIL_SOCRATA_KEY_SECRET", TOKEN)


@pytest.fixture(scope="module")
def small() -> Parcel:
    whole = Parcel.of(GOLDEN / "gaussian")
    return replace(whole, files=tuple(sorted(whole.files, key=lambda file: file.size)[:3]))


def running(parcel: Parcel, faults: dict[int, Fault] | None = None, *, blind: bool = False) -> FakeSocrata:
    expected = {each.path: each.place.read_bytes() for each in parcel.files}
    return FakeSocrata(expected=expected, faults=faults or {}, blind=blind)


class CrashError(BaseException):
    """The process dies."""


def deliver(portal: FakeSocrata, parcel: Parcel, *, crash: bool = False) -> str:
    def wait(_: float) -> None:
        if crash:
            raise CrashError

    there, checked = Socrata(portal.address), set[str]()
    return converse(Client(portal.address, there.secret), lambda: there.push(parcel, checked), checked, wait)


def require_one_public(portal: FakeSocrata, address: str) -> None:
    assert [f"{portal.address}/d/{asset}" for asset in portal.public] == [address]
    assert not portal.broken


@pytest.mark.parametrize("blind", [False, True], ids=["drafts are found", "drafts are not found"])
@pytest.mark.parametrize("fault", [each for each in FAULTS if each != "silent"])
def test_a_fault_at_any_request_leaves_one_public_release(small: Parcel, fault: Fault, blind: bool) -> None:
    for at in range(REQUESTS):
        with running(small, {at: fault}, blind=blind).running() as portal:
            assert isinstance(portal, FakeSocrata)
            crash = at % 2 == blind
            try:
                address = deliver(portal, small, crash=crash)
            except CrashError:
                address = deliver(portal, small)
            require_one_public(portal, address)
            if not (blind and crash):
                assert len(portal.revisions) == 1, "a draft that is known, or that the search shows, is used again"
            before = len(portal.log)
            assert deliver(portal, small) == address
            assert {line.split()[0] for line in portal.log[before:]} == {"GET"}, "a second push changes nothing"


def test_a_dry_run_shows_what_a_first_push_sends(small: Parcel) -> None:
    with running(small).running() as portal:
        assert isinstance(portal, FakeSocrata)
        shown = list(rehearsed(Socrata(portal.address).push(small, set())))
        deliver(portal, small)
        assert [each.method for each in shown] == [line.split()[0] for line in portal.log]
        assert len(shown) == REQUESTS
        assert "  X-Socrata-Host: 127.0.0.1" in list(shown[0].lines("Authorization: (hidden)"))


def test_a_release_that_is_public_already_is_not_published_from_another_draft(small: Parcel) -> None:
    with running(small, blind=True).running() as portal:
        assert isinstance(portal, FakeSocrata)
        address = deliver(portal, small)
        portal.stale = 1
        assert deliver(portal, small) == address
        assert len(portal.revisions) == 2, "the search did not know the first one"
        require_one_public(portal, address)


def test_a_release_that_the_ledger_knows_needs_no_search(small: Parcel) -> None:
    with running(small, blind=True).running() as portal:
        assert isinstance(portal, FakeSocrata)
        address = deliver(portal, small)
        portal.stale = 9
        assert deliver(portal, replace(small, name=Socrata.found(address)[1])) == address
        assert len(portal.revisions) == 1


def test_a_portal_that_is_still_at_work_is_waited_for_and_a_withdrawal_is_marked(small: Parcel) -> None:
    with running(small).running() as portal:
        assert isinstance(portal, FakeSocrata)
        portal.slow = 3
        address = deliver(portal, small)
        require_one_public(portal, address)
        there, name = Socrata.found(address)
        notice, known = Notice(small.manifest, date(2025, 1, 1), "Mixed up."), replace(small, name=name)
        client = Client(portal.address, there.secret)
        for fault in (None, "drop after", None):
            portal.faults = {len(portal.log) + 3: fault} if fault else {}
            converse(client, lambda: there.withdraw(known, notice, hide=True), set(), lambda _: None)
        said = portal.views[name]["metadata"]["description"]
        assert said.startswith(notice.text)
        assert said.count("Withdrawn") == 1
        assert not portal.public
        assert len(portal.revisions[name]) == 2
        assert not portal.broken


def test_a_file_of_another_release_is_left_alone_and_approval_is_waited_for(small: Parcel) -> None:
    with running(small).running() as portal:
        assert isinstance(portal, FakeSocrata)
        portal.approval = True
        with pytest.raises(DeliveryError, match="waits for approval"):
            deliver(portal, small)
        assert not portal.public
        with pytest.raises(DeliveryError, match="that is not this release"):
            deliver(portal, replace(small, digest="0" * 64))
        portal.approval = False
        require_one_public(portal, deliver(portal, small))
        assert len(portal.revisions) == 1


def test_neither_half_of_a_key_nor_both_together_are_in_a_message(
    small: Parcel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(small).running() as portal:
        secret = Socrata(portal.address).secret
        for told in (TOKEN, BASIC, f"Basic {BASIC}"):
            assert secret.hidden_in(f"<{told}>") == f"<{HIDDEN}>"
        monkeypatch.setenv("TAPVEIL_SOCRATA_KEY_ID", "another")
        other = Socrata(portal.address).secret
        with pytest.raises(DeliveryError) as refused:
            Client(portal.address, other).send(Request("GET", f"{portal.address}/api/catalog/v1"))
        assert HIDDEN in str(refused.value)
        assert other.written not in str(refused.value)
    monkeypatch.delenv("TAPVEIL_SOCRATA_KEY_ID")
    with pytest.raises(UsageError, match="TAPVEIL_SOCRATA_KEY_ID is not set"):
        _ = Socrata("https://a.example").secret
