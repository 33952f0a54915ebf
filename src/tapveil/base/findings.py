"""Findings: what is wrong, by a code for programs, at a place, in a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass, field

LONGEST = 400


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. It may quote what others wrote, and is made safe for a terminal."""

    code: str
    """Which fault it is, for programs: docs/verify.md lists the codes."""
    place: str
    """In which file or entry."""
    sentence: str
    """What is wrong, for people."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", shown(self.place))
        object.__setattr__(self, "sentence", shown(self.sentence))


@dataclass
class Verification:
    """The result of a verification: what is wrong, if anything, and what is worth knowing."""

    findings: list[Finding] = field(default_factory=list)
    """Everything that is wrong; empty if the folder is intact and its claims hold."""
    notes: list[str] = field(default_factory=list)
    """What is worth knowing and is not wrong."""
    summary: str = ""
    """What was verified, in one sentence, where nothing is wrong."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def shown(text: str) -> str:
    r"""A text for a message: no control characters, no end of lines, not without end.

    >>> shown("a\nb"), shown("x" * 1000)[-6:]
    ("'a\\nb'", 'xxxxx…')
    """
    text = text if text.isprintable() else ascii(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
