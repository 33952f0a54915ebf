"""A conversation with a portal, held to its end.

It begins by looking at what is there, and does only what is missing. So there is one answer to every failure, here or
there, now or in another process: begin again. No request is repeated blindly.
"""

from __future__ import annotations

from collections.abc import Callable

from tapveil.base.errors import DeliveryError
from tapveil.delivery.client import Client
from tapveil.delivery.request import Answer, Conversation, PassingError, Request

MOST_FAILURES = 6
"""In a row, with nothing new at the portal."""
LONGEST_WAIT = 60.0
Wait = Callable[[float], None]


def converse(client: Client, begin: Callable[[], Conversation], progress: set[str], wait: Wait) -> str:
    """Hold a conversation to its end; after a failure that may pass, from its beginning."""
    failures, known = 0, 0
    while True:
        conversation, answer = begin(), None
        try:
            while True:
                request = _next(conversation, answer)
                if isinstance(request, str):
                    return request
                answer = client.send(request)
        except PassingError as error:
            failures, known = (failures + 1 if len(progress) == known else 1), len(progress)
            if failures > MOST_FAILURES:
                raise DeliveryError(
                    f"{error}, {failures} times in a row. What was delivered so far is hidden; run it again to go on"
                ) from None
            wait(min(2.0**failures, LONGEST_WAIT))


def _next(conversation: Conversation, answer: Answer | None) -> Request | str:
    """What a portal is asked next; or where the release is, at the end."""
    try:
        return next(conversation) if answer is None else conversation.send(answer)
    except StopIteration as end:
        return str(end.value)
    except (KeyError, TypeError, IndexError, AttributeError):  # of what an answer should have
        raise DeliveryError("the portal's answer is not that of its documented API") from None
