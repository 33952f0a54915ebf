"""Requests: what is not exactly one that the page makes is refused."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http import HTTPStatus

import pytest

from tapveil.studio import request as requests
from tapveil.studio.request import LONGEST_BODY, LONGEST_HEAD, RefusedError, read_head, respond

Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def sent(ends: Ends, text: bytes) -> socket.socket:
    ours, theirs = ends
    theirs.sendall(text)
    return ours


HEAD = b"POST /api/plan HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Type: application/json\r\n"


def test_a_request_is_read_with_its_body(ends: Ends) -> None:
    found = read_head(sent(ends, HEAD + b'Content-Length: 12\r\n\r\n{"edits":[]}'))
    assert (found.method, found.path, found.headers["host"]) == ("POST", "/api/plan", "127.0.0.1:1")
    assert found.json() == {"edits": []}


@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET /\r\n\r\n",
        b"PUT / HTTP/1.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\n\r\n",
        b"GET http://elsewhere/ HTTP/1.1\r\n\r\n",
        b"CONNECT elsewhere:443 HTTP/1.1\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost\r\n\r\n",
        b"GET / HTTP/1.1\r\n: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"x" * LONGEST_HEAD + b"\r\n\r\n",
    ],
)
def test_what_is_no_such_request_is_refused(ends: Ends, text: bytes) -> None:
    with pytest.raises(RefusedError):
        read_head(sent(ends, text))


def test_a_head_that_never_ends_is_given_up(ends: Ends) -> None:
    with pytest.raises(RefusedError):
        read_head(sent(ends, b"x" * (LONGEST_HEAD + 5000)))


def test_a_head_that_comes_slowly_is_given_up(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "HEAD_SECONDS", 0.02)
    with pytest.raises(RefusedError):
        read_head(sent(ends, b"GET / HTTP/1.1\r\n"))


def test_a_body_that_never_comes_is_given_up(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "BODY_SECONDS", 0.02)
    found = read_head(sent(ends, HEAD + b"Content-Length: 5\r\n\r\n{"))
    with pytest.raises(RefusedError):
        found.json()


@pytest.mark.parametrize("body", [b"[]", b"{", b"1", b'{"a":', b"[" * 5000])
def test_a_call_gives_an_object(ends: Ends, body: bytes) -> None:
    found = read_head(sent(ends, HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body))
    with pytest.raises(RefusedError):
        found.json()


def test_a_call_of_another_type_is_refused(ends: Ends) -> None:
    text = b"POST /api/plan HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"
    with pytest.raises(RefusedError):
        read_head(sent(ends, text)).json()


def test_a_call_that_is_too_long_is_refused_unread(ends: Ends) -> None:
    found = read_head(sent(ends, HEAD + f"Content-Length: {LONGEST_BODY + 1}\r\n\r\n".encode()))
    with pytest.raises(RefusedError):
        found.body()


def test_an_upload_is_read_in_pieces_and_no_further(ends: Ends) -> None:
    found = read_head(sent(ends, HEAD + b"Content-Length: 6\r\n\r\nabcdefGET /"))
    assert b"".join(found.pieces()) == b"abcdef"


def test_an_answer_has_the_headers_of_every_answer(ends: Ends) -> None:
    ours, theirs = ends
    respond(ours, HTTPStatus.FORBIDDEN)
    text = theirs.recv(4096).decode()
    assert text.startswith("HTTP/1.1 403 Forbidden\r\n")
    assert text.endswith("Content-Length: 0\r\n\r\n")
    for header in ("Cache-Control: no-store", "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer"):
        assert header in text
    assert "Server:" not in text
