"""The first line of a CSV file: the names of its columns, and what separates them."""

from __future__ import annotations

import csv
from collections.abc import Collection

DELIMITERS = ",;\t|"


def found_delimiter(header: str, wanted: Collection[str]) -> str:
    """What separates the columns: that by which most of the wanted ones are found, or else most columns.

    >>> found_delimiter("name;latitude;longitude, in degrees", ["name", "latitude"])
    ';'
    """

    def found(delimiter: str) -> tuple[int, int]:
        names = column_names(header, delimiter)
        return len(set(names) & set(wanted)), len(names)

    return max(DELIMITERS, key=found)


def column_names(header: str, delimiter: str) -> tuple[str, ...]:
    """The names of a header, without the blanks around them."""
    try:
        return tuple(name.strip() for name in next(csv.reader([header], delimiter=delimiter), []))
    except csv.Error:  # a name without end
        return ()
