"""The server: on the loopback address alone, for one browser, as long as that is there."""

from __future__ import annotations

import json
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

from tapveil.studio import faults
from tapveil.studio.door import COMING_BACK, Door
from tapveil.studio.jobs import Jobs
from tapveil.studio.page import page, shown_policy
from tapveil.studio.request import RefusedError, Request, read_head, respond

HOST = "127.0.0.1"
MOST_CONNECTIONS = 64
MAKING_ROOM = 2.0
"""Seconds in which a connection that was dropped for another must be gone."""
ALIVE = 5.0
"""Seconds between two signs of life in the stream of events."""
LOOK = 0.1
TO_ENTER = 600.0
"""Seconds in which somebody must come in."""
LONGEST_TOKEN = 200

Event = Mapping[str, Any]
Call = Callable[[dict[str, Any]], Mapping[str, Any]]
Upload = Callable[[Request], Mapping[str, Any]]


class Server:
    """Answers the page. Its long work is done by `jobs.run`, in the main thread."""

    def __init__(self, folder: str) -> None:
        self._socket = socket.create_server((HOST, 0), backlog=MOST_CONNECTIONS)
        self.door, self.jobs = Door(self._socket.getsockname()[1]), Jobs(self.tell)
        self._folder = folder
        self.calls: Mapping[str, Call] = {}
        self.upload: Upload | None = None
        self.on_entered: Callable[[], None] = lambda: None
        self.changes: Callable[[], list[str]] = list
        """Which files have changed since it was asked last."""
        self._streams: list[queue.Queue[Event]] = []
        self._lock, self._looking = threading.Lock(), threading.Lock()
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._unproven: dict[socket.socket, None] = {}
        """Connections that have shown no key yet, the oldest first."""
        self._closed = threading.Event()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Serve as long as this context."""
        threads = [threading.Thread(target=work, daemon=True) for work in (self._accept, self._watch)]
        try:
            for thread in threads:
                thread.start()
            yield
        finally:
            self._closed.set()
            self._socket.close()

    def tell(self, event: Event) -> None:
        """Tell the page."""
        with self._lock:
            for stream in self._streams:
                stream.put(event)

    # --- life ---------------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """End when the browser has gone, though never in the middle of a release; say what changes on the disk."""
        started = time.monotonic()
        while not self._closed.wait(1.0):
            self._look()
            if not self.door.was_entered:
                gone = time.monotonic() - started > TO_ENTER
            else:
                gone = self.door.gone_for > COMING_BACK
            if gone:
                self.jobs.end()

    def _look(self) -> None:
        # Whatever lies in the folder, such as a plan nested too deep to be read, the studio ends with its browser.
        with self._looking, suppress(Exception):
            if changed := self.changes():
                self.tell({"event": "changed", "what": changed})

    # --- connections --------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            if self._room.acquire(blocking=False) or self._makes_room():
                with self._lock:
                    self._unproven[connection] = None
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
            else:
                connection.close()

    def _makes_room(self) -> bool:
        """Drop the oldest connection that has shown no key: whoever opens many locks nobody out."""
        with self._lock, suppress(OSError):
            for oldest in [*self._unproven][:1]:
                oldest.shutdown(socket.SHUT_RDWR)
        return self._room.acquire(timeout=MAKING_ROOM)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):
                try:
                    self._answer(read_head(connection))
                except OSError:
                    raise
                except Exception:  # whatever it was, nobody learns of it
                    respond(connection, HTTPStatus.FORBIDDEN)
                # What is left unread would make the system reset the connection before the answer is read.
                connection.shutdown(socket.SHUT_WR)
        finally:
            self._knows(connection)
            self._room.release()

    def _knows(self, connection: socket.socket) -> None:
        """It has shown that it comes from the page."""
        with self._lock:
            self._unproven.pop(connection, None)

    def _answer(self, request: Request) -> None:
        door, path = self.door, request.path
        if not door.admits(request.method, path, request.headers):
            raise RefusedError
        if path == "/enter":
            name, _, given = request.body().decode("ascii", "replace").partition("=")
            if name != "token" or len(given) > LONGEST_TOKEN or not door.enter(given):
                raise RefusedError
            self._knows(request.connection)
            self.on_entered()
            self._send_page(request)
        elif path.startswith("/resume/"):
            came_back = door.come_back(path.removeprefix("/resume/"))
            if not came_back:
                if token := door.new_resume():
                    self.tell({"event": "resume", "token": token})
                raise RefusedError
            self._knows(request.connection)
            self._send_page(request)
        elif path.startswith("/show/"):
            name, _, beside = path.removeprefix("/show/").partition("/")
            if beside:
                self._send_part(request, name, beside)
            else:
                self._send_shown(request, name)
        elif not door.has_key(request.headers):
            raise RefusedError
        else:
            self._knows(request.connection)
            self._answer_call(request, path.removeprefix("/api/"))

    def _send_page(self, request: Request) -> None:
        html, policy = page(*self.door.new_page(), self._folder)
        more = {"Content-Security-Policy": policy, "X-Frame-Options": "DENY"}
        body = html.encode("utf-8", "replace")  # the name of the folder may be no UTF-8
        respond(request.connection, HTTPStatus.OK, body, "text/html; charset=utf-8", more)

    def _send_shown(self, request: Request, name: str) -> None:
        document = self.door.shown(name)
        if document is None:
            raise RefusedError
        self._knows(request.connection)
        near = f"http://{self.door.host}/show/{name}/explorer/" if document.folder else ""
        more = {"Content-Security-Policy": shown_policy(near)}
        respond(request.connection, HTTPStatus.OK, document.body, document.kind, more)

    def _send_part(self, request: Request, name: str, beside: str) -> None:
        path = self.door.beside(name, beside)
        try:
            body = path.read_bytes() if path else None
        except OSError:
            body = None
        if body is None:
            raise RefusedError
        self._knows(request.connection)
        more = {"Cross-Origin-Resource-Policy": "cross-origin"}  # the frame that asks has an origin of its own
        respond(request.connection, HTTPStatus.OK, body, "text/javascript; charset=utf-8", more)

    def _answer_call(self, request: Request, name: str) -> None:
        if name == "events":
            self._stream(request.connection)
            return
        call = self.calls.get(name)
        if call is None and not (name == "upload" and self.upload):
            raise RefusedError
        status = HTTPStatus.OK
        try:
            body = _json(self.upload(request) if call is None and self.upload else call(request.json()) if call else {})
        except RefusedError:
            raise
        except Exception as error:
            status, body = faults.status_of(error), _json({"error": faults.as_json(error)})
        respond(request.connection, status, body)

    def _stream(self, connection: socket.socket) -> None:
        """The events, until the page closes its end: that it lives is seen by this."""
        mine: queue.Queue[Event] = queue.Queue()
        with self._lock:
            self._streams.append(mine)
        self.door.stream(+1)
        try:
            respond(connection, HTTPStatus.OK, None, "application/x-ndjson")
            self._look()  # before the page reads anything: what changes after that is told
            mine.put({"event": "hello", "jobs": [job.as_json for job in self.jobs.all]})
            spoken = time.monotonic()
            while not self._closed.is_set():
                if select.select([connection], [], [], 0)[0] and not connection.recv(1):
                    return
                with suppress(queue.Empty):
                    event = mine.get(timeout=LOOK)
                    connection.sendall(_line(event))
                    spoken = time.monotonic()
                if time.monotonic() - spoken > ALIVE:
                    connection.sendall(_line({"event": "alive"}))
                    spoken = time.monotonic()
        finally:
            with self._lock:
                self._streams.remove(mine)
            self.door.stream(-1)


def _line(event: Event) -> bytes:
    return _json(event) + b"\n"


def _json(found: Mapping[str, Any]) -> bytes:
    """JSON; bytes of a file name that are no UTF-8, as Python has them (PEP 383), become escapes of JSON."""
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
