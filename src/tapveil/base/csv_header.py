"""The first line of a CSV file: the names of its columns, and what separates them."""

from __future__ import annotations

import csv
from collections.abc import Collection

DELIMITERS = ",;\t|"


def found_delimiter(header: str, wanted: Collection[str]) -> str:
    """The delimiter with which most wanted columns are found, or else most columns.

    >>> found_delimiter("name;latitude;longitude, in degrees", ["name", "latitude"])
    ';'
    """

    def found(delimiter: str) -> tuple[int, int]:
        names = column_names(header, delimiter)
        return len(set(names) & set(wanted)), len(names)

    return max(DELIMITERS, key=found)


def column_names(header: str, delimiter: str) -> tuple[str, ...]:
    """The stripped column names of a header."""
    try:
        return tuple(name.strip() for name in next(csv.reader([header], delimiter=delimiter), []))
    except csv.Error:  # an unclosed quote
        return ()
