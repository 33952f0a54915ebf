"""Requests and responses: as much of HTTP as one page on this machine needs, with a limit on everything.

A connection is one request. What is not exactly a request that the page makes gets an empty refusal.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

LONGEST_HEAD = 16 * 1024
LONGEST_BODY = 4 * 1024 * 1024
"""Of a call; uploads are streamed, and have no limit but the disk."""
HEAD_SECONDS, BODY_SECONDS, PIECE_SECONDS = 5.0, 20.0, 30.0
"""For the whole head, for the whole body of a call, and for each piece of an upload or of an answer."""
PIECE = 256 * 1024
LONGEST_NUMBER = 15
"""Digits of the length of a body."""

ALWAYS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Connection": "close",
}
"""Headers of every answer."""


class RefusedError(Exception):
    """Not a request that the page makes: refused without a word."""


@dataclass(frozen=True)
class Request:
    """The head of a request, and the connection that its body is read from."""

    method: str
    path: str
    headers: Mapping[str, str]
    length: int
    connection: socket.socket = field(repr=False)
    begun: bytes = field(repr=False, default=b"")
    """The part of the body that came together with the head."""

    def body(self) -> bytes:
        """All of it, of a call."""
        if self.length > LONGEST_BODY:
            raise RefusedError
        end, found = time.monotonic() + BODY_SECONDS, bytearray(self.begun)
        while len(found) < self.length:
            found += _receive(self.connection, end)
        return bytes(found[: self.length])

    def pieces(self) -> Iterator[bytes]:
        """The body of an upload, piece by piece."""
        left = self.length - len(self.begun)
        yield self.begun[: self.length]
        while left > 0:
            piece = _receive(self.connection, time.monotonic() + PIECE_SECONDS, min(PIECE, left))
            left -= len(piece)
            yield piece

    def json(self) -> dict[str, Any]:
        """The object that a call gives."""
        if self.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise RefusedError
        try:
            given = json.loads(self.body() or b"{}")
        except (ValueError, RecursionError):
            raise RefusedError from None
        if not isinstance(given, dict):
            raise RefusedError
        return given


def read_head(connection: socket.socket) -> Request:
    """Read the head of a request: all of it within a few seconds, of a few kilobytes, each header once."""
    end, found = time.monotonic() + HEAD_SECONDS, b""
    while b"\r\n\r\n" not in found:
        if len(found) > LONGEST_HEAD:
            raise RefusedError
        found += _receive(connection, end)
    head, _, begun = found.partition(b"\r\n\r\n")
    try:
        first, *lines = head.decode("ascii").split("\r\n")
        method, path, version = first.split(" ")
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or name != name.strip() or not name or name.lower() in headers:
                raise RefusedError
            headers[name.lower()] = value.strip()
        length = headers.get("content-length", "0")
        sound = len(head) <= LONGEST_HEAD and version == "HTTP/1.1" and path.startswith("/")
        sound = sound and length.isdecimal() and len(length) <= LONGEST_NUMBER
    except ValueError:
        raise RefusedError from None
    if not sound or "transfer-encoding" in headers or method not in ("GET", "POST"):
        raise RefusedError
    return Request(method, path, headers, int(length), connection, begun)


def _receive(connection: socket.socket, end: float, most: int = PIECE) -> bytes:
    left = end - time.monotonic()
    if left <= 0:
        raise RefusedError
    connection.settimeout(left)
    try:
        piece = connection.recv(most)
    except OSError:
        raise RefusedError from None
    if not piece:
        raise RefusedError
    return piece


def respond(
    connection: socket.socket,
    status: HTTPStatus,
    body: bytes | None = b"",
    kind: str = "application/json",
    more: Mapping[str, str] | None = None,
) -> None:
    """Send an answer; with `None` for a body, one that goes on until the connection is closed."""
    headers = {**ALWAYS, **(more or {})}
    if body != b"":
        headers["Content-Type"] = kind
    if body is not None:
        headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.settimeout(PIECE_SECONDS)
    connection.sendall(f"HTTP/1.1 {status.value} {status.phrase}\r\n{head}\r\n".encode("ascii") + (body or b""))
