"""The values of a column that occur anywhere in a folder: a misspelt place must not look like a small one."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tapveil.base.vocabulary import PLACES, WIDER
from tapveil.published.columns import read_columns

DAMAGED = (OSError, ValueError, KeyError, TypeError, csv.Error)
"""What reading a damaged list raises."""


class Names(Mapping[str, frozenset[str]]):
    """The values that each column has anywhere in a folder; they are gathered when they are asked for."""

    def __init__(self, columns: Iterable[str], gather: Callable[[str], frozenset[str]]) -> None:
        self._gather, self._found = gather, dict.fromkeys(columns, frozenset[str]())

    def __getitem__(self, column: str) -> frozenset[str]:
        if not self._found[column]:
            self._found[column] = self._gather(column)
        return self._found[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def listed_places(file: Callable[[str], Path], wider: str | None) -> frozenset[str]:
    """The places that public lists of a folder name, whether they are published or not; or wider areas of a name.

    Args:
        file: Says where a file of the folder is.
        wider: The name of wider areas, if these are asked for.

    Raises:
        OSError, ValueError, KeyError, csv.Error: A list is damaged.
    """
    found: set[str] = set()
    if file(WIDER).is_file():
        columns = read_columns(file(WIDER), ())
        own = columns["wider"] == wider
        found.update(columns["area"][own].tolist() if wider else columns["place"].tolist())
    if wider is None and file(PLACES).is_file():
        features = json.loads(file(PLACES).read_text(encoding="utf-8"))["features"]
        found.update(feature["properties"]["name"] for feature in features)
    return frozenset(found)
