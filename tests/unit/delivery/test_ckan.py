"""CKAN ends up with exactly one complete release, whatever fails on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tapveil.base.errors import DeliveryError, UsageError
from tapveil.delivery.ckan import Ckan
from tapveil.delivery.client import Client, Secret
from tapveil.delivery.conversation import converse
from tapveil.delivery.parcel import Parcel
from tapveil.delivery.request import rehearsed
from tests.support.portals.ckan import ORGANISATION, FakeCkan
from tests.support.portals.server import FAULTS, TOKEN, Fault

GOLDEN = Path(__file__).parents[2] / "golden" / "3"
SECRET = Secret(TOKEN, "Authorization")


@pytest.fixture(scope="module")
def small() -> Parcel:
    """Three files of a release: as many as there are kinds of moments between them."""
    whole = Parcel.of(GOLDEN / "gaussian")
    return replace(whole, files=whole.files[1:4])


@pytest.fixture
def portal(small: Parcel) -> Iterator[FakeCkan]:
    with FakeCkan(expected={each.path: each.place.read_bytes() for each in small.files}).running() as running:
        assert isinstance(running, FakeCkan)
        yield running


class CrashError(BaseException):
    """The process dies: nothing of it can react."""


def deliver(portal: FakeCkan, parcel: Parcel, *, crash: bool = False, seconds: float = 30) -> str:
    def wait(_: float) -> None:
        if crash:
            raise CrashError

    checked: set[str] = set()
    there, client = Ckan(portal.address, ORGANISATION), Client(portal.address, SECRET, seconds=seconds)
    return converse(client, lambda: there.push(parcel, checked), checked, wait)


def require_one_whole_release(portal: FakeCkan, parcel: Parcel) -> None:
    (package,) = portal.packages.values()
    assert not package["private"]
    assert sorted(each["name"] for each in package["resources"]) == sorted(each.path for each in parcel.files)
    assert {each["name"]: portal.files[each["id"]] for each in package["resources"]} == portal.expected
    assert not portal.broken


def test_a_release_becomes_public_when_it_is_complete(portal: FakeCkan, small: Parcel) -> None:
    address = deliver(portal, small)
    require_one_whole_release(portal, small)
    assert address == f"{portal.address}/dataset/{small.name}"
    assert portal.log[-1] == "POST /api/3/action/package_patch"


def test_a_second_push_changes_nothing(portal: FakeCkan, small: Parcel) -> None:
    deliver(portal, small)
    before = len(portal.log)
    deliver(portal, small)
    assert portal.log[before:] == ["GET /api/3/action/package_show"]
    require_one_whole_release(portal, small)


REQUESTS = 3 + 2 * 3
"""Look, create, upload and fetch each of three files, make public."""


@pytest.mark.parametrize("crash", [False, True], ids=["tried again", "started again"])
@pytest.mark.parametrize("fault", [each for each in FAULTS if each != "silent"])
def test_a_fault_at_any_request_leaves_one_complete_release(small: Parcel, fault: Fault, crash: bool) -> None:
    expected = {each.path: each.place.read_bytes() for each in small.files}
    for at in range(REQUESTS):
        with FakeCkan(expected=expected, faults={at: fault}).running() as portal:
            assert isinstance(portal, FakeCkan)
            try:
                deliver(portal, small, crash=crash)
            except CrashError:
                deliver(portal, small)
            require_one_whole_release(portal, small)


def test_two_faults_in_a_row_leave_one_complete_release(small: Parcel) -> None:
    expected = {each.path: each.place.read_bytes() for each in small.files}
    for at in range(REQUESTS):
        with FakeCkan(
            expected=expected, faults={at: "drop after", at + 1: "half", at + 2: "error after"}
        ).running() as p:
            assert isinstance(p, FakeCkan)
            deliver(p, small)
            require_one_whole_release(p, small)


def test_a_portal_that_does_not_answer_is_asked_again(portal: FakeCkan, small: Parcel) -> None:
    portal.faults = {3: "silent"}
    deliver(portal, small, seconds=1)
    require_one_whole_release(portal, small)


def test_a_portal_that_always_fails_is_given_up_and_shows_nothing(portal: FakeCkan, small: Parcel) -> None:
    portal.faults = dict.fromkeys(range(2, 100), "half")
    with pytest.raises(DeliveryError, match="arrived incomplete, 7 times in a row"):
        deliver(portal, small)
    assert all(package["private"] for package in portal.packages.values())


def test_a_refusal_is_final_and_hides_the_token(portal: FakeCkan, small: Parcel) -> None:
    there = Ckan(portal.address, "nobody")
    with pytest.raises(DeliveryError, match="Organization does not exist") as refused:
        converse(Client(portal.address, SECRET), lambda: there.push(small, set()), set(), lambda _: None)
    assert len(portal.log) == 2
    assert TOKEN not in str(refused.value)


def test_a_data_set_of_another_release_is_left_alone(portal: FakeCkan, small: Parcel) -> None:
    deliver(portal, small)
    before = dict(portal.packages)
    with pytest.raises(DeliveryError, match="that is not this release"):
        deliver(portal, replace(small, digest="0" * 64))
    assert portal.packages == before


def test_a_file_that_is_gone_from_a_public_release_is_brought_back(portal: FakeCkan, small: Parcel) -> None:
    deliver(portal, small)
    portal.packages["p1"]["resources"].pop()
    deliver(portal, small)
    portal.broken.clear()  # it was visible and incomplete: somebody had removed a file
    require_one_whole_release(portal, small)


def test_a_file_that_was_changed_after_it_was_verified_is_not_delivered(portal: FakeCkan, small: Parcel) -> None:
    changed = replace(small, files=(replace(small.files[0], sha256="0" * 64), *small.files[1:]))
    with pytest.raises(DeliveryError, match="was changed while it was delivered"):
        deliver(portal, changed)
    assert all(not package["resources"] for package in portal.packages.values())


def test_columns_are_described(portal: FakeCkan) -> None:
    whole = Parcel.of(GOLDEN / "gaussian")
    portal.expected = {each.path: each.place.read_bytes() for each in whole.files}
    deliver(portal, whole)
    require_one_whole_release(portal, whole)
    described = {each["name"]: each["description"] for each in portal.packages["p1"]["resources"]}
    assert "- `count`: " in described["data/on_time.csv"]
    assert "- `count`: " in described["data/on_time.parquet"]


def test_a_dry_run_shows_what_a_first_push_sends(portal: FakeCkan, small: Parcel) -> None:
    imagined = list(rehearsed(Ckan(portal.address, ORGANISATION).push(small, set())))
    deliver(portal, small)
    shown = [f"{each.method} {each.address.removeprefix(portal.address)}".split("?")[0] for each in imagined]
    sent = [line for line in portal.log if "/resource/" not in line]
    assert [line for line in shown if "/resource/" not in line] == sent
    assert len(shown) == len(portal.log)


def test_an_organisation_is_required(portal: FakeCkan, small: Parcel) -> None:
    with pytest.raises(UsageError, match="--owner"):
        list(rehearsed(Ckan(portal.address).push(small, set())))
