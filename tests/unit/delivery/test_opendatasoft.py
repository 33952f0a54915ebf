"""Opendatasoft ends up with each table once, complete, and opened to everyone together."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tapveil.delivery.client import Client, Secret
from tapveil.delivery.conversation import converse
from tapveil.delivery.notice import Notice
from tapveil.delivery.opendatasoft import Opendatasoft, _identity, _tables
from tapveil.delivery.parcel import Parcel
from tapveil.delivery.request import rehearsed
from tests.support.portals.opendatasoft import FakeOpendatasoft
from tests.support.portals.server import FAULTS, TOKEN, Fault

GOLDEN = Path(__file__).parents[2] / "golden" / "3"
SECRET = Secret(TOKEN, "Authorization", lambda key: f"Apikey {key}")


@pytest.fixture(scope="module")
def small() -> Parcel:
    whole = Parcel.of(GOLDEN / "gaussian")
    return replace(whole, files=tuple(_tables(whole)[:2]))


def running(parcel: Parcel, faults: dict[int, Fault] | None = None) -> FakeOpendatasoft:
    expected = {_identity(parcel, each): each.place.read_bytes() for each in parcel.files}
    return FakeOpendatasoft(expected=expected, faults=faults or {})


class CrashError(BaseException):
    """The process dies."""


def deliver(portal: FakeOpendatasoft, parcel: Parcel, *, crash: bool = False) -> str:
    def wait(_: float) -> None:
        if crash:
            raise CrashError

    there, checked = Opendatasoft(portal.address), set[str]()
    return converse(Client(portal.address, SECRET), lambda: there.push(parcel, checked), checked, wait)


def require_all_visible(portal: FakeOpendatasoft) -> None:
    assert sorted(each["dataset_id"] for each in portal.datasets.values()) == sorted(portal.expected)
    assert all(each["is_published"] and not each["is_restricted"] for each in portal.datasets.values())
    assert not portal.broken


def test_a_dry_run_shows_what_a_first_push_sends(small: Parcel) -> None:
    with running(small).running() as portal:
        assert isinstance(portal, FakeOpendatasoft)
        shown = [each.method for each in rehearsed(Opendatasoft(portal.address).push(small, set()))]
        deliver(portal, small)
        assert shown == [line.split()[0] for line in portal.log]
        require_all_visible(portal)


@pytest.mark.parametrize("fault", [each for each in FAULTS if each != "silent"])
def test_a_fault_at_any_request_leaves_every_table_once(small: Parcel, fault: Fault) -> None:
    requests = len(list(rehearsed(Opendatasoft("https://a.example").push(small, set()))))
    for at in range(requests):
        with running(small, {at: fault}).running() as portal:
            assert isinstance(portal, FakeOpendatasoft)
            try:
                deliver(portal, small, crash=at % 2 == 1)
            except CrashError:
                deliver(portal, small)
            require_all_visible(portal)


def test_a_portal_that_is_still_at_work_is_waited_for_and_a_withdrawal_is_marked(small: Parcel) -> None:
    with running(small).running() as portal:
        assert isinstance(portal, FakeOpendatasoft)
        portal.busy = 3
        there, name = Opendatasoft.found(deliver(portal, small))
        require_all_visible(portal)
        notice, client = Notice(small.manifest, date(2025, 1, 1), "Mixed up."), Client(portal.address, SECRET)
        known = replace(small, name=name)
        for _ in range(2):
            converse(client, lambda: there.withdraw(known, notice, hide=True), set(), lambda _: None)
        for dataset in portal.datasets.values():
            said = dataset["metadata"]["default"]["description"]["value"]
            assert said.startswith(notice.text)
            assert said.count("Withdrawn") == 1
            assert "- `count`: " in said
            assert dataset["is_restricted"]


def test_a_table_and_a_file_of_a_shape_of_the_same_name_are_two_data_sets(small: Parcel) -> None:
    first = small.files[0]
    name = first.place.name
    assert _identity(small, first) != _identity(small, replace(first, path=f"shapes/lta/{name}"))
