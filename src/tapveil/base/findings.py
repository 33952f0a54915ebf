"""A finding: what is wrong, by a code for programs, at a place, in a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST = 400


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be. What strangers wrote may be in it: it is made fit for a terminal."""

    code: str
    place: str
    sentence: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", shown(self.place))
        object.__setattr__(self, "sentence", shown(self.sentence))


def shown(text: str) -> str:
    r"""A text for a message: no control characters, no end of lines, not without end.

    >>> shown("a\nb"), shown("x" * 1000)[-6:]
    ("'a\\nb'", 'xxxxx…')
    """
    text = text if text.isprintable() else ascii(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
