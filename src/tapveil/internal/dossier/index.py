"""A public index of places, such as one of deprivation: a number for each place, and fifths of places by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from tapveil.base.errors import InputFileError
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import Snapshot

FIFTHS = 5
Number = TypeVar("Number", int, Fraction)


@dataclass(frozen=True)
class Index:
    """The values of a public file, by place."""

    file: str
    sha256: str
    values: Mapping[str, Fraction]


def read_index(path: Path) -> Index:
    """From a CSV file with the columns `place` and `value`.

    Raises:
        InputFileError: It is not such a file, a place is in it twice, or a value is not a number.
    """
    files, values = Snapshot(), dict[str, Fraction]()
    for line, row in PublicList(files, path, "index", "--index").rows(("place", "value")):
        place, text = row["place"], row["value"]
        if place in values:
            raise InputFileError(f"{path.name}, line {line}: the place `{place}` is there twice; keep one")
        try:
            values[place] = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise InputFileError(f"{path.name}, line {line}: `value` must be a number, and is `{text}`") from None
    if not values:
        raise InputFileError(f"{path.name} has no rows: give a line for each place, with `place` and `value`")
    return Index(path.name, files.sha256(path), values)


def fifths(places: Iterable[str], values: Mapping[str, Number]) -> Sequence[Sequence[str]]:
    """Places by their values, from the lowest fifth to the highest; places of one value are never apart.

    >>> fifths("abcde", dict(zip("abcde", (5, 4, 3, 2, 1), strict=True)))
    [['e'], ['d'], ['c'], ['b'], ['a']]
    >>> fifths("abc", {"a": 7, "b": 1, "c": 1})
    [['b', 'c'], [], [], ['a'], []]
    """
    ordered = sorted(places, key=lambda place: (values[place], place))
    found: list[list[str]] = [[] for _ in range(FIFTHS)]
    first = 0
    for rank, place in enumerate(ordered):
        if values[place] != values[ordered[first]]:
            first = rank
        found[first * FIFTHS // len(ordered)].append(place)
    return found
