"""What the portals of tests share: a server on the loopback interface, with faults at chosen requests.

A fault is one of: the connection drops before or after the work is done, an error 500 before or after it, half of an
upload is stored, no answer for a long time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

Fault = Literal["drop before", "drop after", "error before", "error after", "half", "silent"]
FAULTS: tuple[Fault, ...] = ("drop before", "drop after", "error before", "error after", "half", "silent")
TOKEN = "a-token-nobody-may-see"  # noqa: S105


@dataclass(frozen=True)
class Asked:
    """A request as a portal sees it."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    json: Any
    form: dict[str, str]
    file: tuple[str, bytes] | None
    """The field of a file, and its contents; a whole body has no field."""


class RefusedError(Exception):
    """The portal's answer is an error."""

    def __init__(self, status: int, data: object) -> None:
        super().__init__(status)
        self.status, self.data = status, data


@dataclass
class FakePortal:
    """A portal in memory. `answer` does the work; what it raises is a refusal."""

    faults: dict[int, Fault] = field(default_factory=dict)
    """By the number of the request."""
    log: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """Promises that were broken on the way, such as a release that was visible and incomplete."""
    address: str = ""
    patience: threading.Event = field(default_factory=threading.Event)

    def answer(self, asked: Asked) -> object:
        raise NotImplementedError

    def look(self) -> None:
        """After each request: is what is visible complete?"""

    @contextmanager
    def running(self) -> Iterator[FakePortal]:
        portal, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                asked = _asked(self)
                with lock:
                    fault = portal.faults.get(len(portal.log))
                    portal.log.append(f"{asked.method} {asked.path}")
                    if fault == "drop before":
                        return
                    if fault == "error before":
                        return self.reply(500, {"error": "on purpose"})
                    if fault == "half" and asked.file:
                        name, whole = asked.file
                        asked = Asked(**{**vars(asked), "file": (name, whole[: len(whole) // 2])})
                    try:
                        status, data = 200, portal.answer(asked)
                    except RefusedError as refused:
                        status, data = refused.status, refused.data
                    portal.look()
                if fault == "silent":
                    portal.patience.wait(60)
                elif fault == "error after":
                    self.reply(503, {"error": "on purpose"})
                elif fault != "drop after":
                    self.reply(status, data)

            def reply(self, status: int, data: object) -> None:
                moved = isinstance(data, Moved)
                body = data if isinstance(data, bytes) else b"" if moved else json.dumps(data).encode()
                self.send_response(302 if isinstance(data, Moved) else status)
                if isinstance(data, Moved):
                    self.send_header("Location", data.to)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.patience.set()
            server.shutdown()
            server.server_close()
            thread.join()


@dataclass(frozen=True)
class Moved:
    """An answer that sends the client elsewhere."""

    to: str


def _asked(handler: BaseHTTPRequestHandler) -> Asked:
    split = urlsplit(handler.path)
    body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    form: dict[str, str] = {}
    kind, data, file = handler.headers.get("Content-Type") or "", None, None
    if kind == "application/json":
        data = json.loads(body)
    elif kind.startswith("multipart/form-data"):
        form, file = _parts(body, kind.split("boundary=")[1])
    elif body:
        file = ("", body)
    query = {name: values[-1] for name, values in parse_qs(split.query).items()}
    return Asked(handler.command, split.path, query, handler.headers, data, form, file)  # type: ignore[arg-type]


def _parts(body: bytes, boundary: str) -> tuple[dict[str, str], tuple[str, bytes] | None]:
    form: dict[str, str] = {}
    file = None
    first, *parts, last = body.split(f"--{boundary}".encode())
    assert (first, last) == (b"", b"--\r\n"), "a body of several parts that does not end"
    for part in parts:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = head.decode().split('name="')[1].split('"')[0]
        if b"filename=" in head:
            file = (name, content.removesuffix(b"\r\n"))
        else:
            form[name] = content.removesuffix(b"\r\n").decode()
    return form, file
