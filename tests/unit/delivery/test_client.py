"""Credentials go to the portal alone, and into no message."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from tapveil.base.errors import DeliveryError, UsageError
from tapveil.delivery.client import BLOCK, HIDDEN, Client, Secret, sound_address
from tapveil.delivery.request import PassingError, Request
from tests.support.portals.server import TOKEN, Asked, FakePortal, Moved, RefusedError

SECRET = Secret(TOKEN, "Authorization", lambda token: f"Apikey {token}")


@dataclass
class Talker(FakePortal):
    """Answers what it is told to, and keeps what it was asked."""

    says: Any = None
    asked: list[Asked] = field(default_factory=list)

    def answer(self, asked: Asked) -> object:
        self.asked.append(asked)
        if isinstance(self.says, RefusedError):
            raise self.says
        return self.says


def test_a_file_that_lies_elsewhere_is_fetched_without_credentials() -> None:
    with Talker(says=b"abc").running() as elsewhere, Talker(says=Moved(f"{elsewhere.address}/f")).running() as portal:
        assert isinstance(portal, Talker)
        assert isinstance(elsewhere, Talker)
        answer = Client(portal.address, SECRET).send(Request("GET", f"{portal.address}/f", digests=True))
        assert answer.data == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        assert portal.asked[0].headers["Authorization"] == f"Apikey {TOKEN}"
        assert "Authorization" not in elsewhere.asked[0].headers


def test_what_is_sent_is_never_redirected() -> None:
    with Talker().running() as elsewhere, Talker(says=Moved(f"{elsewhere.address}/f")).running() as portal:
        assert isinstance(elsewhere, Talker)
        with pytest.raises(DeliveryError, match="redirects POST requests"):
            Client(portal.address, SECRET).send(Request("POST", f"{portal.address}/f", json={"a": 1}))
        assert not elsewhere.asked


def test_a_redirect_to_an_address_without_encryption_is_refused() -> None:
    with Talker(says=Moved("http://data.example.org/f")).running() as portal:
        client, request = Client(portal.address, SECRET), Request("GET", f"{portal.address}/f", digests=True)
        with pytest.raises(DeliveryError, match="not https"):
            client.send(request)


@pytest.mark.parametrize("to", ["file://localhost/etc/hostname", "ftp://127.0.0.1/f", "data:,f"])
def test_a_redirect_to_a_file_of_this_machine_is_refused(to: str) -> None:
    with Talker(says=Moved(to)).running() as portal, pytest.raises(DeliveryError, match="not https"):
        Client(portal.address, SECRET).send(Request("GET", f"{portal.address}/f", digests=True))


def test_a_portal_elsewhere_sends_nobody_to_services_of_this_machine() -> None:
    client = Client("https://data.example.org", SECRET)
    assert not client._may_fetch(urlsplit("http://127.0.0.1:8080/stop"))
    assert client._may_fetch(urlsplit("https://store.example.org/f"))


@pytest.mark.parametrize("to", ["https://[", "https://data.example.org:port/f"])
def test_an_address_that_is_none_is_a_failure_of_the_portal(to: str) -> None:
    with Talker(says=Moved(to)).running() as portal, pytest.raises(PassingError):
        Client(portal.address, SECRET).send(Request("GET", f"{portal.address}/f", digests=True))


def test_of_a_file_that_is_too_long_no_more_is_read_than_shows_it() -> None:
    whole = b"a" * (3 * BLOCK)
    with Talker(says=whole).running() as portal:
        answer = Client(portal.address, SECRET).send(Request("GET", f"{portal.address}/f", digests=True, largest=5))
    assert answer.data == hashlib.sha256(whole[:BLOCK]).hexdigest()


def test_a_portal_that_repeats_the_credentials_does_not_make_us_show_them() -> None:
    said = RefusedError(403, {"error": f"no right for {TOKEN}, as in Apikey {TOKEN}"})
    with Talker(says=said).running() as portal, pytest.raises(DeliveryError) as refused:
        Client(portal.address, SECRET).send(Request("GET", f"{portal.address}/f"))
    assert HIDDEN in str(refused.value)
    assert TOKEN not in str(refused.value)
    assert TOKEN not in repr(SECRET)


@pytest.mark.parametrize(("status", "error"), [(500, PassingError), (503, PassingError), (429, DeliveryError)])
def test_errors_of_the_server_may_pass_and_refusals_do_not(status: int, error: type[Exception]) -> None:
    with Talker(says=RefusedError(status, {})).running() as portal, pytest.raises(error):
        Client(portal.address, SECRET).send(Request("GET", f"{portal.address}/f"))


def test_a_page_instead_of_an_answer_may_pass() -> None:
    with Talker(says=b"<html>").running() as portal, pytest.raises(PassingError, match="is not of its API"):
        Client(portal.address, SECRET).send(Request("GET", f"{portal.address}/f"))


@pytest.mark.parametrize(
    "address",
    ["http://data.example.org", "https://a:b@c.example", "file:///etc", "https://c.example/?key=1", "https://["],
)
def test_an_unsafe_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        sound_address(address)
    assert sound_address("https://data.example.org/ckan/") == "https://data.example.org/ckan"
    assert sound_address("http://[::1]:5000") == "http://[::1]:5000"
