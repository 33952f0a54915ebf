"""data.gouv.fr ends up with one complete release that is visible, whatever fails on the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tapveil.base.errors import DeliveryError
from tapveil.delivery.client import Client, Secret
from tapveil.delivery.conversation import converse
from tapveil.delivery.datagouv import Datagouv
from tapveil.delivery.notice import Notice
from tapveil.delivery.parcel import Parcel
from tapveil.delivery.request import rehearsed
from tests.support.portals.datagouv import ORGANISATION, FakeDatagouv
from tests.support.portals.server import FAULTS, TOKEN, Fault

GOLDEN = Path(__file__).parents[2] / "golden" / "3"
REQUESTS = 2 + 2 * 3 + 1
"""Look, create, upload and describe each of three files, make public."""


@pytest.fixture(scope="module")
def small() -> Parcel:
    whole = Parcel.of(GOLDEN / "gaussian")
    return replace(whole, files=whole.files[1:4])


def running(parcel: Parcel, faults: dict[int, Fault] | None = None) -> FakeDatagouv:
    return FakeDatagouv(expected={each.path: each.place.read_bytes() for each in parcel.files}, faults=faults or {})


class CrashError(BaseException):
    """The process dies."""


def deliver(portal: FakeDatagouv, parcel: Parcel, *, crash: bool = False) -> str:
    def wait(_: float) -> None:
        if crash:
            raise CrashError

    there, checked = Datagouv(portal.address, ORGANISATION), set[str]()
    client = Client(portal.address, Secret(TOKEN, "X-API-KEY"))
    return converse(client, lambda: there.push(parcel, checked), checked, wait)


def require_one_visible(portal: FakeDatagouv) -> dict[str, object]:
    (visible,) = [each for each in portal.datasets.values() if not each["private"]]
    assert not portal.broken
    return visible


@pytest.mark.parametrize("crash", [False, True], ids=["tried again", "started again"])
@pytest.mark.parametrize("fault", [each for each in FAULTS if each != "silent"])
def test_a_fault_at_any_request_leaves_one_complete_release(small: Parcel, fault: Fault, crash: bool) -> None:
    for at in range(REQUESTS):
        with running(small, {at: fault}).running() as portal:
            assert isinstance(portal, FakeDatagouv)
            try:
                deliver(portal, small, crash=crash)
            except CrashError:
                deliver(portal, small)
            require_one_visible(portal)
            assert len(portal.datasets) == 1
            before = len(portal.log)
            deliver(portal, small)
            assert portal.log[before:] == ["GET /api/1/datasets/"], "a second push looks, and that is all"


def test_a_dry_run_shows_what_a_first_push_sends(small: Parcel) -> None:
    with running(small).running() as portal:
        assert isinstance(portal, FakeDatagouv)
        shown = [each.method for each in rehearsed(Datagouv(portal.address, ORGANISATION).push(small, set()))]
        deliver(portal, small)
        assert shown == [line.split()[0] for line in portal.log]
        assert len(shown) == REQUESTS


def test_columns_are_described_and_a_withdrawal_is_marked(small: Parcel) -> None:
    with running(small).running() as portal:
        assert isinstance(portal, FakeDatagouv)
        there, name = Datagouv.found(deliver(portal, small))
        visible = require_one_visible(portal)
        assert any("- `count`: " in each["description"] for each in visible["resources"])  # type: ignore[attr-defined]
        notice = Notice(small.manifest, date(2025, 1, 1), "Mixed up.")
        client = Client(portal.address, Secret(TOKEN, "X-API-KEY"))
        known = replace(small, name=name)
        for _ in range(2):
            converse(client, lambda: there.withdraw(known, notice, hide=True), set(), lambda _: None)
        assert visible["private"]
        assert str(visible["description"]).startswith(notice.text)
        assert str(visible["description"]).count("Withdrawn") == 1


def test_a_data_set_of_another_release_is_left_alone(small: Parcel) -> None:
    with running(small).running() as portal:
        assert isinstance(portal, FakeDatagouv)
        deliver(portal, small)
        with pytest.raises(DeliveryError, match="that is not this release"):
            deliver(portal, replace(small, digest="0" * 64))
        require_one_visible(portal)
