"""Columns that identify people, recognised by their names and by the form of their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from tapveil.base.findings import Finding

_NAMES = re.compile(
    r"(?:^|_)(?:card|token|pan|hash|uuid|guid|passenger|customer|rider|person|user|account|member|employee|staff|"
    r"birth\w*|dob|age|gender|sex|email|phone|mobile|passport|ssn|surname|first_?name|last_?name|full_?name|device)"
    r"(?:_(?:id|no|nr|num|number|name|hash|year|date|key|code))?$|^name$",
    re.IGNORECASE,
)
_HASH = re.compile(r"(?=.*[0-9])(?=.*[a-fA-F])[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CARD = re.compile(r"[0-9]{4}(?:[ -]?[0-9]{4}){2}(?:[ -]?[0-9]{1,7})|[0-9]{12,19}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_YEAR = re.compile(r"(19[0-9]{2}|20[0-9]{2})(?:\.0)?")
FEW_YEARS = 8
SOME, MOST = 0.1, 0.5
MOST_KEPT = 20_000
"""At most this number of distinct values of a column is examined: enough to recognise it."""

_LOOKS = {
    "identifier-hash": (_HASH, "hashes or tokens: they distinguish people as well as the numbers they replace"),
    "identifier-card": (_CARD, "card numbers"),
    "identifier-email": (_EMAIL, "e-mail addresses"),
}


class ColumnLook:
    """What the values of one column look like."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._values: set[str] = set()

    def add(self, values: pa.ChunkedArray) -> None:
        """Look at some more values."""
        if len(self._values) < MOST_KEPT:
            self._values.update(pc.unique(values).to_pylist()[:MOST_KEPT])

    def findings(self, file: str, share: float = SOME) -> Iterator[Finding]:
        """Why the column should not be published, if more than `share` of its values look so; never a value itself."""
        place = f"{file}, column {self.column}"
        if _NAMES.search(self.column):
            yield Finding("identifier-name", place, "its name suggests values that identify people")
        if not self._values:
            return
        for code, (pattern, words) in _LOOKS.items():
            alike = sum(bool(pattern.fullmatch(value)) for value in self._values)
            if alike > share * len(self._values):
                yield Finding(code, place, f"its values look like {words}")
        latest = datetime.now(UTC).year
        years = {int(found[1]) for value in self._values if (found := _YEAR.fullmatch(value))}
        if len(years) >= FEW_YEARS and 10 * len(years) >= 9 * len(self._values) and max(years) <= latest:
            yield Finding("identifier-birth-year", place, "its values look like years of birth")


def text_findings(place: str, texts: Iterable[str], known: Collection[str] = ()) -> Iterator[Finding]:
    """Findings for free texts that contain identifiers, except known digests; never the value itself."""
    every = _DIGEST.sub(lambda found: " | " if found[0] in known else found[0], "\n".join(texts))
    joined = _BETWEEN_DIGITS.sub("", _DATE.sub(" | ", every))
    for code, pattern in _WITHIN.items():
        if pattern.search(every) or pattern.search(joined):
            yield Finding(code, place, f"contains what looks like {_LOOKS[code][1].partition(':')[0]}")


_DIGEST = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{32})(?![0-9a-f])")
_YEARS = r"(?:19|20)\d\d"
_DATE = re.compile(rf"(?<!\d)(?:{_YEARS}-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])|{_YEARS}(?:[ -]{_YEARS})+)(?!\d)")
"""Days, and years in a row."""
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[^\S\n]*[-\u2010-\u2015\u2212]?[^\S\n]*(?=\d)")
"""Blanks and one dash, as people write long numbers; dates have them, too, and are taken out before."""
_WITHIN = {
    "identifier-hash": re.compile(
        r"(?<![0-9A-Za-z])(?<!\d\.)(?=[a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{16,}(?![0-9A-Za-z])"
    ),
    # Not what stands behind the point of a decimal: its digits are as many as its author likes.
    "identifier-card": re.compile(r"(?<!\d)(?<!\d\.)\d{12,}"),
    "identifier-email": re.compile(r"[\w.+-]+@[\w-]+\.\w"),
}
"""The looks of values, within a text."""
