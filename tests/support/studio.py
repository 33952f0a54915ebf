"""A studio in a process of its own, and a client that speaks to it as the page does, or as somebody else would."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Seconds: for a machine that has much else to do."""


class RefusedError(Exception):
    """The answer was an error: its status and its body."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status} {body[:500]!r}")
        self.status, self.body = status, body

    @property
    def error(self) -> dict[str, Any]:
        return dict(json.loads(self.body)["error"])


def program(moment: Sequence[str] = ()) -> list[str]:
    """tapveil; with a moment, it is killed there, or waits, as `tests.support.moment` has it."""
    return [sys.executable, "-m", *(("tests.support.moment", *moment) if moment else ("tapveil",))]


def environment_of(moment: Sequence[str] = ()) -> dict[str, str]:
    """What that program needs of its environment."""
    own = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return {**os.environ, **({"PYTHONPATH": os.pathsep.join([*own, str(ROOT)])} if moment else {})}


class Studio:
    """A process of `tapveil studio --no-browser`."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        moment: Sequence[str] = (),
    ) -> None:
        command = [*program(moment), "studio", str(folder), "--no-browser", *options]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**environment_of(moment), **(environment or {})},
            cwd=folder,
        )
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        found = re.search(r": (/\S*enter\.html)", said)
        assert found, said
        self.entry = Path(found[1])
        text = self.entry.read_text()
        where, token = re.search(r'action="http://([^/]+)/enter"', text), re.search(r'value="([^"]+)"', text)
        assert where
        assert token
        self.host, self.token = where[1], token[1]
        self.port = int(self.host.partition(":")[2])

    def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """One request, with the headers that are given and no others."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            sent = {"Host": self.host, **({"Content-Length": str(len(body))} if method == "POST" else {})}
            for name, value in {**sent, **(headers or {})}.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def raw(self, sent: bytes) -> bytes:
        """Bytes as they are, and all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            with suppress(OSError):
                connection.sendall(sent)
            found = b""
            with suppress(OSError):
                while piece := connection.recv(65536):
                    found += piece
            return found

    def enter(self, token: str | None = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """As the entry file does it."""
        form = {"Origin": "null", "Sec-Fetch-Site": "cross-site", "Content-Type": "application/x-www-form-urlencoded"}
        body = f"token={self.token if token is None else token}".encode()
        return self.request("POST", "/enter", body, {**form, **headers})

    def end(self) -> int:
        """Ctrl-C."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> int:
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()

    @property
    def said(self) -> str:
        """What it wrote to its terminal, after it has ended."""
        assert self.process.stderr
        assert self.process.stdout
        return self.process.stdout.read() + self.process.stderr.read()


class Page:
    """The page, without a browser: it has a key, holds the stream of events, and calls."""

    def __init__(self, studio: Studio, html: bytes) -> None:
        self.studio = studio
        key, resume = re.search(rb'data-key="([^"]+)"', html), re.search(rb'data-resume="([^"]+)"', html)
        assert key
        assert resume
        self.key, self.resume = key[1].decode(), resume[1].decode()
        self.events: list[dict[str, Any]] = []
        self._connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=PATIENCE)
        self._connection.request("POST", "/api/events", "{}", self.headers)
        self._stream = self._connection.getresponse()
        threading.Thread(target=self._listen, daemon=True).start()

    @classmethod
    def entered(cls, studio: Studio) -> Page:
        status, _, html = studio.enter()
        assert status == 200
        return cls(studio, html)

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Host": self.studio.host,
            "Origin": f"http://{self.studio.host}",
            "Sec-Fetch-Site": "same-origin",
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
        }

    def _listen(self) -> None:
        with suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
            while line := self._stream.readline():
                self.events.append(json.loads(line))

    def call(self, name: str, **given: Any) -> dict[str, Any]:
        status, _, body = self.studio.request("POST", f"/api/{name}", json.dumps(given).encode(), self.headers)
        if status != 200:
            raise RefusedError(status, body)
        return dict(json.loads(body))

    def upload(self, name: str, body: bytes, **headers: str) -> dict[str, Any]:
        sent = {**self.headers, "Content-Type": "application/octet-stream", "X-Name": name, **headers}
        status, _, answer = self.studio.request("POST", "/api/upload", body, sent)
        if status != 200:
            raise RefusedError(status, answer)
        return dict(json.loads(answer))

    def start(self, name: str, **given: Any) -> int:
        return int(self.call(name, **given)["job"])

    def finish(self, job: int) -> dict[str, Any]:
        """A job when it has ended."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.call("job", job=job)
            if found["state"] not in ("waiting", "running"):
                return found
            time.sleep(0.05)
        raise AssertionError("the job does not end")

    def done(self, name: str, **given: Any) -> dict[str, Any]:
        """Long work to its end; its result."""
        found = self.finish(self.start(name, **given))
        assert found["state"] == "done", found
        return dict(found["result"])

    def close(self) -> None:
        """The browser is closed, or killed: nobody says goodbye."""
        if self._connection.sock:
            with suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            self._stream.close()
        self._connection.close()


@contextmanager
def studio_of(folder: Path, *options: str, **environment: str) -> Iterator[Studio]:
    """A studio that has ended when the context has."""
    started = Studio(folder, environment, options)
    try:
        yield started
    finally:
        started.end()
