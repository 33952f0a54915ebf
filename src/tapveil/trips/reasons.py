"""Why a row is refused: a code, and the column where there is one. The words for it are here, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Code = Literal["missing", "unreadable", "other-column", "not-covered", "malformed", "not-utf8", "ill-typed"]

_WORDS: dict[Code, str] = {
    "missing": "{column} is missing",
    "unreadable": "{column} cannot be read",
    "other-column": "another column is missing or cannot be read",
    "not-covered": "the plan does not cover its day or mode",
    "malformed": "line does not have the fields of the header",
    "not-utf8": "line is not UTF-8",
    "ill-typed": "row has a value that its type does not allow",
}


@dataclass(frozen=True)
class Reason:
    """A reason to refuse a row.

    >>> str(Reason("missing", "mode"))
    'mode is missing'
    """

    code: Code
    column: str | None = None
    """The column of the plan whose value it is, where the reason is one value."""

    def __str__(self) -> str:
        return _WORDS[self.code].format(column=self.column)


OTHER_COLUMN = Reason("other-column")
"""One of the columns that share a bit: see `coding.Reasons`."""
NOT_COVERED = Reason("not-covered")
"""Such a row is left out, and counts as neither read nor refused."""
MALFORMED = Reason("malformed")
NOT_UTF8 = Reason("not-utf8")
ILL_TYPED = Reason("ill-typed")
