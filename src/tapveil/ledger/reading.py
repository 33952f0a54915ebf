"""How the day, the mode or the card of a row is read: whatever could make two plans understand a row differently.

An entry holds it as one line of text, which never changes its form: equal texts mean the same reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """One column of a plan, by the keys of the plan that decide what its values mean."""

    columns: str
    """The column of the files, or the value that stands for it, with its `format`, `missing`, …"""
    encoding: str = ""
    timezone: str = ""
    shape: str = ""
    day_starts: str = ""
    """The start of the day, and the times that it is compared with."""

    @property
    def text(self) -> str:
        """As entries have it."""
        words = zip(("from", "in", "of", "from"), self._values[1:], strict=True)
        return " ".join([self.columns, *(f"{word} {value}" for word, value in words if value)])

    @classmethod
    def of(cls, text: str) -> Reading:
        """From the text of an entry, to say what is different in it; nothing is decided by it.

        >>> Reading.of("column day from windows-1252 of taps").encoding
        'windows-1252'
        """
        found = _TEXT.fullmatch(text)
        return cls(**found.groupdict(default="")) if found else cls(text)

    def differences(self, other: Reading) -> Iterator[tuple[str, str, str]]:
        """The keys under [source] in which two readings differ, with the value of each."""
        for (key, usual), ours, theirs in zip(_USUAL.items(), self._values, other._values, strict=True):
            if ours != theirs:
                yield key, ours or usual, theirs or usual

    @property
    def _values(self) -> tuple[str, ...]:
        return self.columns, self.encoding, self.timezone, self.shape, self.day_starts


_TEXT = re.compile(
    r"(?P<columns>.*?)(?: from (?P<encoding>windows-125[024]|utf-8))?(?: in (?P<timezone>[\w/+-]+))?"
    r"(?: of (?P<shape>taps))?(?: from (?P<day_starts>\d\d:\d\d by .*))?"
)
_USUAL = {"columns": "none", "encoding": "utf-8", "timezone": "none", "shape": "trips", "day_starts": "midnight"}
"""What it means that a plan does not say it."""
