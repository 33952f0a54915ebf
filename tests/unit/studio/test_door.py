"""Who may speak to the studio."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tapveil.studio import door as doors
from tapveil.studio.door import COMING_BACK, SHOWN, Document, Door


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def door(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Door:
    monkeypatch.setattr(doors, "GOODBYE", 0.01)
    return Door(4711, clock)


def entered(door: Door) -> tuple[str, str]:
    assert door.entry
    assert door.enter(door.entry)
    secrets = door.new_page()
    door.stream(+1)
    return secrets


def key(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


OURS = {"host": "127.0.0.1:4711", "origin": "http://127.0.0.1:4711", "sec-fetch-site": "same-origin"}
FRAMED = {"host": "127.0.0.1:4711", "sec-fetch-site": "cross-site"}
FROM_A_FILE = {**OURS, "origin": "null", "sec-fetch-site": "cross-site"}


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/enter", FROM_A_FILE),
        ("POST", "/api/project", OURS),
        ("POST", "/api/project", {"host": "127.0.0.1:4711"}),
        ("GET", "/resume/x", {**OURS, "sec-fetch-site": "none"}),
        ("GET", "/show/x/", OURS),
        ("GET", "/show/x/explorer/part-0001.js", {**FRAMED, "origin": "null"}),
    ],
)
def test_what_the_page_sends_is_admitted(door: Door, method: str, path: str, headers: dict[str, str]) -> None:
    assert door.admits(method, path, headers)


@pytest.mark.parametrize(
    ("method", "path", "changes"),
    [
        ("POST", "/api/project", {"host": "localhost:4711"}),
        ("POST", "/api/project", {"host": "127.0.0.1"}),
        ("POST", "/api/project", {"host": "127.0.0.1:4712"}),
        ("POST", "/api/project", {"host": "rebound.example.org:4711"}),
        ("POST", "/api/project", {"host": "[::1]:4711"}),
        ("POST", "/api/project", {"host": ""}),
        ("POST", "/api/project", {"origin": "https://attacker.example.org"}),
        ("POST", "/api/project", {"origin": "http://127.0.0.1:4712"}),
        ("POST", "/api/project", {"origin": "null"}),
        ("POST", "/api/project", {"sec-fetch-site": "cross-site"}),
        ("POST", "/api/project", {"sec-fetch-site": "same-site"}),
        ("POST", "/api/project", {"sec-fetch-site": "none"}),
        ("POST", "/enter", {"origin": "https://attacker.example.org"}),
        ("GET", "/enter", {}),
        ("GET", "/api/project", {}),
        ("GET", "/resume/x", {"sec-fetch-site": "cross-site"}),
        ("GET", "/show/x", {"sec-fetch-site": "cross-site"}),
        ("GET", "/show/x", {"sec-fetch-site": "none"}),
        ("GET", "/show/x/explorer/part-0001.js", {"sec-fetch-site": "same-site"}),
        ("GET", "/show/x/explorer/part-0001.js", {"sec-fetch-site": "cross-site", "origin": "https://example.org"}),
        ("GET", "/show/x/privacy.json", {"sec-fetch-site": "cross-site"}),
        ("GET", "/show/x/explorer/../privacy.json", {"sec-fetch-site": "cross-site"}),
        ("POST", "/resume/x", {}),
        ("GET", "/", {}),
        ("GET", "/static/main.js", {}),
        ("GET", "/favicon.ico", {}),
    ],
)
def test_what_comes_from_elsewhere_is_not(door: Door, method: str, path: str, changes: dict[str, str]) -> None:
    assert not door.admits(method, path, {**OURS, **changes})


def test_the_entry_token_is_good_once(door: Door) -> None:
    token = door.entry
    assert token
    assert not door.enter("")
    assert not door.enter(token[:-1])
    assert door.enter(token)
    assert not door.enter(token)


def test_only_the_page_that_is_there_has_the_key(door: Door) -> None:
    assert not door.has_key(key(""))
    first, _ = entered(door)
    assert door.has_key(key(first))
    assert not door.has_key({"authorization": first})
    assert not door.has_key(key(first + "x"))
    assert not door.has_key({})
    door.new_page()
    assert not door.has_key(key(first))


def test_a_copied_address_gets_nothing_while_the_page_lives_and_is_void_then(door: Door) -> None:
    _, resume = entered(door)
    assert not door.come_back(resume)
    door.goodbye()
    assert not door.come_back(resume)
    fresh = door.new_resume()
    assert fresh
    assert door.come_back(fresh)


def test_a_page_that_said_goodbye_comes_back_once_and_soon(door: Door, clock: Clock) -> None:
    _, resume = entered(door)
    assert not door.come_back("")
    door.goodbye()
    clock.now += COMING_BACK - 1
    assert door.come_back(resume)
    assert not door.come_back(resume)


def test_after_a_while_nobody_comes_back(door: Door, clock: Clock) -> None:
    _, resume = entered(door)
    door.stream(-1)
    clock.now += COMING_BACK + 1
    assert door.gone_for > COMING_BACK
    assert not door.come_back(resume)


def test_a_reload_that_overtakes_its_goodbye_waits_for_it(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "GOODBYE", 60.0)
    _, resume = entered(door)
    threading.Timer(0.05, door.goodbye).start()
    assert door.come_back(resume)


def test_a_page_is_gone_when_its_last_stream_is(door: Door, clock: Clock) -> None:
    entered(door)
    door.stream(+1)
    door.stream(-1)
    clock.now += 5
    assert door.gone_for == 0
    door.stream(-1)
    clock.now += 5
    assert door.gone_for == 5


def test_a_page_that_was_sent_and_never_lived_is_gone(door: Door, clock: Clock) -> None:
    assert not door.was_entered
    door.new_page()
    clock.now += COMING_BACK + 1
    assert door.was_entered
    assert door.gone_for > COMING_BACK


def test_a_document_is_shown_once_and_soon(door: Door, clock: Clock) -> None:
    document = Document("text/html", b"x")
    name = door.show(document).removeprefix("/show/").removesuffix("/")
    assert door.shown("other") is None
    assert door.shown(name) is document
    assert door.shown(name) is None
    late = door.show(document).removeprefix("/show/").removesuffix("/")
    clock.now += SHOWN + 1
    assert door.shown(late) is None


def test_only_who_was_shown_a_folder_gets_the_files_next_to_its_page(door: Door, tmp_path: Path) -> None:
    names = [door.show(Document("text/html", b"x", folder)).split("/")[2] for folder in (tmp_path, None)]
    part = "explorer/part-0001.js"
    assert door.beside(names[0], part) is None, "not before the page"
    for name in names:
        assert door.shown(name)
    assert door.beside(names[0], part) == tmp_path / part
    assert door.beside(names[0], part) == tmp_path / part, "whenever a reader asks for it"
    assert door.beside(names[1], part) is None
    for path in ("privacy.json", "explorer/../privacy.json", "explorer/part-0001.js/", "explorer/part-1.js", ""):
        assert door.beside(names[0], path) is None
    assert door.beside("", part) is None
