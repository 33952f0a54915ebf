"""What the server answers, and how long it lives, whatever goes wrong behind it."""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tapveil.studio.server import Server

PATIENCE = 60


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server("bikes")
    with made.open():
        yield made


def answer(server: Server, call: Callable[[dict[str, Any]], Any]) -> tuple[int, bytes]:
    """What the page gets for a call."""
    server.calls = {"asked": call}
    key, _ = server.door.new_page()
    connection = http.client.HTTPConnection(server.door.host, timeout=PATIENCE)
    headers = {"Host": server.door.host, "Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/asked", "{}", headers)
        got = connection.getresponse()
        return got.status, got.read()
    finally:
        connection.close()


def test_bytes_of_a_name_that_are_no_utf8_come_back_as_they_are(server: Server) -> None:
    name = os.fsdecode(b"ao\xfbt \xe2\x82\xac.csv")
    status, body = answer(server, lambda given: {"name": name})
    assert status == 200
    assert json.loads(body) == {"name": name}
    assert "€".encode() in body


@pytest.mark.parametrize("found", [{"it": object()}, {"it": b"bytes"}, {("a", "pair"): 1}])
def test_what_cannot_be_written_is_a_fault_and_no_refusal(server: Server, found: dict[Any, Any]) -> None:
    status, body = answer(server, lambda given: found)
    assert status == 500, "a refusal would end the page"
    assert json.loads(body)["error"]["kind"] == "Fault"


def test_whatever_lies_in_the_folder_the_studio_ends_with_its_browser(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(server.jobs, "end", ended.set)
    looked = threading.Event()

    def nested() -> list[str]:
        looked.set()
        raise RecursionError

    server.changes = nested
    assert looked.wait(PATIENCE)
    monkeypatch.setattr(type(server.door), "was_entered", True)
    monkeypatch.setattr(type(server.door), "gone_for", PATIENCE)
    assert ended.wait(PATIENCE)
