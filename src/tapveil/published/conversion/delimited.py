"""CSV by the standard library, in the form that a program wants."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

BOM = "\ufeff"
"""By which Excel knows that a file is UTF-8."""


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """A header and rows, quoted where needed.

    >>> csv_text(("stop", "count"), [("a; b", 18), ("Central", None)], ";")
    'stop;count\\n"a; b";18\\nCentral;\\n'
    """
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter, lineterminator="\n").writerows([header, *rows])
    return written.getvalue()
