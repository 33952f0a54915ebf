"""The heading of an unknown export: a title above the column names, and a second header or units below them.

Told from the first lines of each file: those of a title fill few columns, and a line of names or units has no digit in
any column whose other values have some. It is how a file is written; no row that could be read as a trip is like that.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tapveil.base.csv_header import DELIMITERS, column_names
from tapveil.base.defaults import Encoding
from tapveil.base.errors import TripDataError
from tapveil.trips import words
from tapveil.trips.csv_reader import CODECS, LONGEST_LINE, USUAL, Heading, open_bytes
from tapveil.trips.reading import MOST
from tapveil.trips.workbook import first_rows, is_workbook, the_sheet

LOOKED_AT = 200
"""Lines at the start of a file."""
ENOUGH = 5
"""Fewer rows below tell nothing about those above."""
MOST_NAMES = 3
"""Lines of names and units that one file may have."""

Line = tuple[int, list[str]]
"""A line of a file, with its number, as fields."""


def common_heading(files: Mapping[Path, str], encoding: Encoding, sheet: str | None) -> Heading:
    """The heading that all files have; by the names that they are called."""
    found: dict[Heading, str] = {}
    for path, called in files.items():
        lines = _lines(path, encoding, sheet)
        if len(lines) > 1:
            found.setdefault(_heading(lines, called), called)
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise TripDataError(
            f"the column names of {first} are in line {one.header or 1} and its trips from line {_first_trip(one)} on, "
            f"those of {second} in line {other.header or 1} and from line {_first_trip(other)} on: a plan reads files "
            "that begin alike. Remove what stands around the column names"
        )
    return next(iter(found), USUAL)


def _first_trip(heading: Heading) -> int:
    return heading.trips or (heading.header or 1) + 1


def _heading(lines: Sequence[Line], called: str) -> Heading:
    width = Counter(len(fields) for _, fields in lines).most_common(1)[0][0]
    first = next((at for at, (_, fields) in enumerate(lines) if 2 * _filled(fields) > width > 1), None)
    if first is None:
        return USUAL
    names = [first]
    while len(names) < MOST_NAMES and _is_names(lines[names[-1] + 1 :], width):
        names.append(names[-1] + 1)
    best = max(names, key=lambda at: sum(bool(words.concepts(name)) for name in lines[at][1]))  # the first of equals
    above = lines[best - 1][1] if best else []
    if _has_twins(lines[best][1]) and (len(names) > 1 or _filled(above) > 1):
        raise TripDataError(
            f"the column names of {called} are in two lines, and several are the same in one of them: write them into "
            "one line, such as `boarding time` for `boarding` above `time`"
        )
    line, last = lines[best][0], names[-1]
    usual = lines[0][0]  # after a note for Excel, the second
    return Heading(line if line != usual else None, lines[last][0] + 1 if last != best else None)


def _is_names(lines: Sequence[Line], width: int) -> bool:
    """Whether a line has no digit where those below it have some, but words."""
    (_, fields), below = lines[0] if lines else (0, []), [row for _, row in lines[1:] if len(row) == width]
    if len(below) < ENOUGH or len(fields) != width:
        return False
    values = [fields[column] for column in range(width) if _has_digits([row[column] for row in below])]
    said = [value for value in values if re.search(r"[^\W\d_]", value) and value not in words.values("missing")]
    return len(values) > 1 and bool(said) and not any(re.search(r"\d", value) for value in values)


def _has_digits(values: Sequence[str]) -> bool:
    filled = [value for value in values if value]
    return 2 * len(filled) > len(values) and sum(map(bool, map(_DIGIT.search, filled))) >= MOST * len(filled)


_DIGIT = re.compile(r"\d")


def _has_twins(names: Sequence[str]) -> bool:
    return max(Counter(name.casefold() for name in names if name).values(), default=0) > 1


def _filled(fields: Sequence[str]) -> int:
    return sum(bool(field) for field in fields)


def _lines(path: Path, encoding: Encoding, sheet: str | None) -> list[Line]:
    """The first lines of a file as fields; none of a file that has no lines, or that is damaged."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
        if is_workbook(path):
            rows = first_rows(path, the_sheet(path, sheet), LOOKED_AT)
            width = max((len(row) for _, row in rows), default=0)  # empty cells at its end are not in a row
            return [(number, [*map(str.strip, row), *[""] * (width - len(row))]) for number, row in rows]
        if start.startswith((b"PAR1", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff")):
            return []
        with open_bytes(path) as file:
            first = 2 if file.tell() else 1
            some = list(itertools.islice(iter(lambda: file.readline(LONGEST_LINE), b""), LOOKED_AT))
    except (OSError, EOFError, zlib.error, TripDataError):
        return []  # what is wrong with it is said when it is read
    texts = [line.decode(CODECS[encoding], "replace").strip("\r\n\ufeff") for line in some]
    split = {mark: [column_names(text, mark) for text in texts] for mark in DELIMITERS}
    lines = max(split.values(), key=_evenness) if some else []
    return [(number, list(fields)) for number, fields in enumerate(lines, first)]


def _evenness(lines: Sequence[Sequence[str]]) -> tuple[bool, int]:
    """Whether most lines have the same number of fields, above one; and how many fields."""
    width, often = Counter(map(len, lines)).most_common(1)[0]
    return width > 1 and 2 * often > len(lines), width
