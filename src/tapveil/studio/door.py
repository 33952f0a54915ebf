"""The door: who may speak to the studio, decided before anything else is read or answered.

One browser, once. It enters with a token that only a file of its owner holds, and gets a key with the page; every
further request carries the key in a header, which no other page can make a browser send. There are no cookies: those of
127.0.0.1 are shared between all its ports. A page that is loaded again comes back with another token, which counts only
when the page that held it has gone, and for a few seconds. Whatever else comes is refused without a word.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from hmac import compare_digest
from pathlib import Path

Clock = Callable[[], float]

COMING_BACK = 10.0
"""Seconds in which a page that was left may come back."""
GOODBYE = 2.0
"""Seconds that a returning page waits for its own goodbye: both are under way at the same time."""
SHOWN = 30.0
"""Seconds in which the address of a document can be used, once."""
KEPT = 8
"""Folders that are shown, of which the page may load the files next to it."""
PART = re.compile(r"explorer/part-[0-9]{4}\.js")
"""A file next to a page: nothing but numbers that are published."""
_OWN, _TYPED = {"same-origin"}, {"none", "same-origin"}
_FROM_A_FILE = {"cross-site", "none", "same-origin"}
_FROM_A_FRAME = {"cross-site"}
"""A frame has an origin of its own, so that to a browser all else is another site."""


def same(one: str, other: str | None) -> bool:
    """Whether two secrets are the same, in a time that does not depend on where they differ."""
    return other is not None and compare_digest(one.encode(), other.encode())


class Door:
    """The secrets of one studio. Each of them is good for one thing, and all but the key for one time."""

    def __init__(self, port: int, clock: Clock = time.monotonic) -> None:
        self._clock, self._changed = clock, threading.Condition()
        self.host = f"127.0.0.1:{port}"
        self.entry: str | None = _secret()
        self._key: str | None = None
        self._resume: str | None = None
        self._streams = 0
        self._left: float | None = None
        self._said_goodbye: float | None = None
        self._shown: dict[str, tuple[float, Document]] = {}
        self._folders: dict[str, Path] = {}

    # --- requests -----------------------------------------------------------------------------------------------------

    def admits(self, method: str, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a request comes from where it must: this address, and no page but ours. Secrets come after."""
        if headers.get("host") != self.host:
            return False  # another name for this address: DNS rebinding
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        origins: set[str | None] = {f"http://{self.host}", None}
        sites = _OWN
        if (method, path) == ("POST", "/enter"):
            origins, sites = {*origins, "null"}, _FROM_A_FILE
        elif method == "GET" and path.startswith("/resume/"):
            sites = _TYPED
        elif method == "GET" and path.startswith("/show/") and PART.fullmatch(path.split("/", 3)[-1]):
            origins, sites = {"null", None}, _FROM_A_FRAME
        elif not (method == "GET" and path.startswith("/show/")) and not (
            method == "POST" and path.startswith("/api/")
        ):
            return False
        return origin in origins and (site is None or site in sites)

    def has_key(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has the key of the page that is there now."""
        scheme, _, key = headers.get("authorization", "").partition(" ")
        with self._changed:
            return scheme == "Bearer" and same(key, self._key)

    # --- in and out ---------------------------------------------------------------------------------------------------

    def enter(self, token: str) -> bool:
        """Whether this is the entry token; it is good once."""
        with self._changed:
            if not same(token, self.entry):
                return False
            self.entry = None
            return True

    def come_back(self, token: str) -> bool:
        """Whether this token is that of a page that has just gone; it is good once, and void if the page is there."""
        with self._changed:
            if not same(token, self._resume):
                return False
            self._resume = None
            self._changed.wait_for(lambda: self._may_come_back, GOODBYE)
            return self._may_come_back

    @property
    def _may_come_back(self) -> bool:
        latest = max((moment for moment in (self._left, self._said_goodbye) if moment is not None), default=None)
        return latest is not None and self._clock() - latest <= COMING_BACK

    def new_page(self) -> tuple[str, str]:
        """The key and the token for a page that is about to be served; those of any page before are void."""
        with self._changed:
            self._key, self._resume = _secret(), _secret()
            self._left, self._said_goodbye = self._clock(), None
            return self._key, self._resume

    def new_resume(self) -> str | None:
        """Another token for the page that is there, if somebody used up its own."""
        with self._changed:
            if self._key is None or self._resume is not None:
                return None
            self._resume = _secret()
            return self._resume

    def goodbye(self) -> None:
        """The page says that it goes."""
        with self._changed:
            self._said_goodbye = self._clock()
            self._changed.notify_all()

    def stream(self, change: int) -> None:
        """The page has opened, or closed, the stream that shows that it lives."""
        with self._changed:
            self._streams += change
            self._left = self._clock() if self._streams == 0 else None
            self._changed.notify_all()

    @property
    def gone_for(self) -> float:
        """For how many seconds no page has been there; 0 while there is one."""
        with self._changed:
            return 0.0 if self._left is None or self._streams else self._clock() - self._left

    @property
    def was_entered(self) -> bool:
        with self._changed:
            return self._key is not None

    # --- documents ----------------------------------------------------------------------------------------------------

    def show(self, document: Document) -> str:
        """An address for a document that a frame of the page may load, once and soon."""
        with self._changed:
            now, name = self._clock(), _secret()
            self._shown = {key: each for key, each in self._shown.items() if now - each[0] <= SHOWN}
            self._shown[name] = (now, document)
            return f"/show/{name}/"

    def shown(self, name: str) -> Document | None:
        """The document of an address that was not used yet."""
        with self._changed:
            key = next((each for each in self._shown if same(name, each)), None)
            since, document = self._shown.pop(key) if key else (0.0, None)
            if key is None or document is None or self._clock() - since > SHOWN:
                return None
            if document.folder:
                self._folders = {**dict([*self._folders.items()][1 - KEPT :]), key: document.folder}
            return document

    def beside(self, name: str, path: str) -> Path | None:
        """A file next to a document that was shown at this address, which loads it when it is needed."""
        with self._changed:
            folder = next((each for key, each in self._folders.items() if same(name, key)), None)
        return folder / path if folder and PART.fullmatch(path) else None


class Document:
    """A page that is not the studio's own, such as a published one: a frame shows it, cut off from everything."""

    def __init__(self, kind: str, body: bytes, folder: Path | None = None) -> None:
        self.kind, self.body, self.folder = kind, body, folder


def _secret() -> str:
    return secrets.token_urlsafe(32)
