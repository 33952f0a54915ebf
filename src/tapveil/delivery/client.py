"""The one way to a portal: HTTPS with the system's certificates, and credentials that go to the portal alone.

A token is read from the environment, is in one header, and is in no message: what a portal says is searched for it
before it is shown. It is sent to no other host, whatever a portal answers. Standard library only
(docs/decisions/0012-our-own-requests-to-portals.md).
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import os
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from tapveil._version import __version__
from tapveil.base.errors import DeliveryError, UsageError
from tapveil.base.findings import shown
from tapveil.delivery.file import File
from tapveil.delivery.request import Answer, PassingError, Request

SECONDS = 60.0
"""Without a word from the portal."""
BLOCK = 2**20
LARGEST_ANSWER = 32 * 2**20
MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
HIDDEN = "[credentials]"


class Secret:
    """Credentials, and the header that has them. They show themselves to nobody who does not ask for them by name."""

    __slots__ = ("_value", "_written", "header")

    def __init__(self, value: str, header: str, written: Callable[[str], str] = str) -> None:
        self._value, self._written, self.header = value, written(value), header

    def __repr__(self) -> str:
        return HIDDEN

    @property
    def written(self) -> str:
        """As the header has them."""
        return self._written

    def hidden_in(self, text: str) -> str:
        """A text without them: as they are, as the header has them, and without the word before them there."""
        for each in (self._written, self._written.rpartition(" ")[2], self._value):
            text = text.replace(each, HIDDEN)
        return text


def credentials_from(variable: str) -> str:
    """What an environment variable has; UsageError, without its value, if that cannot be credentials."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise UsageError(f"{variable} is not set: put the credentials for the portal into this environment variable")
    if not (value.isascii() and value.isprintable() and " " not in value):
        raise UsageError(f"{variable} has blanks or characters that no credentials have: copy it again")
    return value


def secret_from(variable: str, header: str, written: Callable[[str], str] = str) -> Secret:
    """The credentials in an environment variable; UsageError, without their value, if it has none."""
    return Secret(credentials_from(variable), header, written)


def sound_address(address: str) -> str:
    """The address of a portal, without a final slash; UsageError unless credentials may be sent there."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if parts.scheme not in ("https", "http") or not parts.hostname or not address.isprintable() or " " in address:
        raise UsageError("the address of the portal must look like https://data.example.org")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError("the address of the portal must have no user name, password, `?` or `#`")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise UsageError(f"{address} is not encrypted, and credentials would be sent there: use https://")
    return address.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Stay(urllib.request.HTTPRedirectHandler):
    """No redirect is followed unseen."""

    def redirect_request(self, *_: object) -> None:
        return None


class Client:
    """Sends requests to one portal."""

    def __init__(self, portal: str, secret: Secret, *, seconds: float = SECONDS) -> None:
        self._home, self._secret, self._seconds = urlsplit(portal), secret, seconds
        handlers: list[Any] = [_Stay()]
        if _is_loopback(self._home.hostname or ""):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def send(self, request: Request) -> Answer:
        """The answer; PassingError if it is worth another try, DeliveryError if the portal refuses."""
        try:
            return self._sent(request, request.address, MOST_REDIRECTS)
        except (OSError, http.client.HTTPException, ValueError) as error:  # of the network, or of what a portal says
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            said = "did not answer in time" if isinstance(reason, TimeoutError) else "cannot be reached"
            raise PassingError(f"{self._home.hostname} {said} ({type(reason).__name__})") from None

    def _sent(self, request: Request, address: str, redirects: int) -> Answer:
        with closing(self._opened(request, address)) as answer:
            status: int = answer.status
            if status in _REDIRECTS:
                return self._redirected(request, address, answer.headers.get("Location"), redirects)
            if status >= 500:
                raise PassingError(f"{self._home.hostname} answered with the error {status}")
            if status >= 400 and status not in request.allowed:
                said = self._secret.hidden_in(answer.read(LARGEST_ANSWER).decode("utf-8", "replace")).strip()
                what = f"{request.method} {urlsplit(request.address).path}"
                raise DeliveryError(f"{self._home.hostname} refused {what} ({status}): {shown(said) or 'no reason'}")
            if request.digests and status < 400:
                return Answer(status, _digest(answer, request.largest))
            text = answer.read(LARGEST_ANSWER)
        try:
            return Answer(status, json.loads(text) if text.strip() else None)
        except (ValueError, RecursionError):
            if status >= 400:
                return Answer(status)
            raise PassingError(f"the answer of {self._home.hostname} is cut off, or is not of its API") from None

    def _opened(self, request: Request, address: str) -> Any:
        headers = {"User-Agent": f"tapveil/{__version__}", "Accept": "*/*" if request.digests else "application/json"}
        headers |= request.headers
        body: bytes | Iterator[bytes] | None = None
        if request.json is not None:
            body, headers["Content-Type"] = json.dumps(request.json).encode(), "application/json"
        elif request.file or request.form:
            body, more = _parts(request)
            headers |= more
        if self._is_home(address):
            headers[self._secret.header] = self._secret.written
        asked = urllib.request.Request(address, body, headers, method=request.method)  # noqa: S310 (sound_address)
        try:
            return self._opener.open(asked, timeout=self._seconds)
        except urllib.error.HTTPError as error:
            return error

    def _is_home(self, address: str) -> bool:
        """Whether credentials may go there: to the portal, and nowhere else."""
        there = urlsplit(address)
        return (there.scheme, there.hostname, there.port) == (self._home.scheme, self._home.hostname, self._home.port)

    def _redirected(self, request: Request, address: str, to: str | None, redirects: int) -> Answer:
        """A file may lie elsewhere, and is fetched from there without credentials. Nothing is sent to elsewhere."""
        there = urljoin(address, to or "")
        if request.method != "GET" or not redirects or not to:
            raise DeliveryError(
                f"{self._home.hostname} redirects {request.method} requests: give the address that it redirects to"
            )
        if not self._may_fetch(urlsplit(there)):
            raise DeliveryError(f"{self._home.hostname} redirects to an address that is not https")
        return self._sent(request, there, redirects - 1)

    def _may_fetch(self, there: SplitResult) -> bool:
        """From HTTPS alone; from this machine, whose services are nobody else's, only if the portal is on it."""
        near = _is_loopback(there.hostname or "") and _is_loopback(self._home.hostname or "")
        return there.scheme == "https" or (there.scheme == "http" and near)


def _digest(answer: Any, largest: int) -> str:
    """The SHA-256 of a file, which is another if it is too long; PassingError if it ended too soon."""
    digest, read, size = hashlib.sha256(), 0, answer.headers.get("Content-Length", "")
    while read <= largest and (block := answer.read(BLOCK)):
        digest.update(block)
        read += len(block)
    if read <= largest and size.isdecimal() and int(size) != read:
        raise PassingError("a file that was to be compared arrived incomplete")
    return digest.hexdigest()


def _parts(request: Request) -> tuple[bytes | Iterator[bytes], dict[str, str]]:
    """A body of several parts, or a file as it is; the file is read while it is sent."""
    name, file = request.file or ("", None)
    if file and not name:
        return _blocks(b"", file, b""), {"Content-Type": file.media_type, "Content-Length": str(file.size)}
    boundary = secrets.token_hex(16)
    before = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in request.form.items()
    )
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    if not file:
        return f"{before}--{boundary}--\r\n".encode(), kind
    before += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{file.place.name}"\r\n'
    head, tail = f"{before}Content-Type: {file.media_type}\r\n\r\n".encode(), f"\r\n--{boundary}--\r\n".encode()
    return _blocks(head, file, tail), kind | {"Content-Length": str(len(head) + file.size + len(tail))}


def _blocks(head: bytes, file: File, tail: bytes) -> Iterator[bytes]:
    """What is sent must be what was verified: else the request is never finished, or the push ends here."""
    digest = hashlib.sha256()
    yield head
    with file.place.open("rb") as opened:
        while block := opened.read(BLOCK):
            digest.update(block)
            yield block
    if digest.hexdigest() != file.sha256:
        raise DeliveryError(f"{file.path} was changed while it was delivered: verify the folder")
    yield tail
