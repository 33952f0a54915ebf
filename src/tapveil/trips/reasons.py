"""Reasons to refuse a row: a code, and a column where there is one. Their messages are only here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Code = Literal["missing", "unreadable", "other-column", "not-covered", "malformed", "not-utf8", "ill-typed"]

_WORDS: dict[Code, str] = {
    "missing": "{column} is missing",
    "unreadable": "{column} cannot be read",
    "other-column": "another column is missing or cannot be read",
    "not-covered": "the plan does not cover its day or mode",
    "malformed": "the line does not match the header",
    "not-utf8": "the line is not UTF-8",
    "ill-typed": "the row has a value that its type does not allow",
}


@dataclass(frozen=True)
class Reason:
    """A reason to refuse a row.

    >>> str(Reason("missing", "mode"))
    'mode is missing'
    """

    code: Code
    column: str | None = None
    """The column of the plan with the value, if the reason is one value."""

    def __str__(self) -> str:
        return _WORDS[self.code].format(column=self.column)


OTHER_COLUMN = Reason("other-column")
"""One of the columns that share bits; see `coding.Reasons`."""
NOT_COVERED = Reason("not-covered")
"""Such a row is ignored, and counts as neither read nor refused."""
MALFORMED = Reason("malformed")
NOT_UTF8 = Reason("not-utf8")
ILL_TYPED = Reason("ill-typed")
