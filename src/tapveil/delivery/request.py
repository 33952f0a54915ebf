"""Requests to a portal, as data: what would be sent can be shown without sending it.

A portal's module is a conversation: it yields requests and is given their answers, and sends nothing itself. It begins
by looking at what is there. So it can begin again after any failure, and does only what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tapveil.delivery.file import File


@dataclass(frozen=True)
class Request:
    """One request."""

    method: str
    address: str
    json: Mapping[str, Any] | None = None
    """A body as JSON."""
    form: Mapping[str, str] = field(default_factory=dict)
    """The fields of a body of several parts, before its file."""
    file: tuple[str, File] | None = None
    """The file, under the name of its field; without a name it is the whole body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Besides those that every request has."""
    allowed: tuple[int, ...] = ()
    """Other codes than those of success that are an answer, too."""
    digests: bool = False
    """Whether only the SHA-256 of the answer is wanted: it is a file."""
    largest: int = 2**62
    """Bytes of that file: no more of it is read than shows that it is another."""
    imagined: Any = None
    """What a portal that has nothing of the release yet would answer: a dry run goes on with it."""

    def lines(self, credentials: str) -> Iterator[str]:
        """For people, without credentials: what would be sent."""
        yield f"{self.method} {self.address}"
        yield f"  {credentials}"
        yield from (f"  {name}: {value}" for name, value in self.headers.items())
        if self.json is not None:
            yield from (f"  {line}" for line in json.dumps(self.json, indent=2, ensure_ascii=False).splitlines())
        for name, value in self.form.items():
            yield f"  {name}: {json.dumps(value, ensure_ascii=False)}"
        if self.file:
            name, file = self.file
            yield f"  {name or 'body'}: {file.path} ({file.size:,} bytes, sha256 {file.sha256})"


@dataclass(frozen=True)
class Answer:
    """What a portal said."""

    status: int
    data: Any = None
    """What its JSON holds; or the SHA-256 of a file."""


Conversation = Generator[Request, Answer, str]
"""Ends with the address at which people find the release."""


class PassingError(Exception):
    """A failure that may pass: the conversation may begin again. The message is a sentence for people."""


def rehearsed(conversation: Conversation) -> Iterator[Request]:
    """The requests to a portal that has nothing of the release yet; none is sent."""
    try:
        request = next(conversation)
        while True:
            yield request
            request = conversation.send(Answer(200 if request.imagined is not None else 404, request.imagined))
    except StopIteration:
        return
