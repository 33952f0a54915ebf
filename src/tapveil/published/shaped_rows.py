"""The rows of a file of a shape: cells of several published tables, side by side where they have the same keys.

Keys are codes in lists of labels that are sorted, so rows in the order of their codes are in alphabetical order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.base.shape import Rest
from tapveil.base.vocabulary import COUNT, HIGH, LOW

Codes = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]
Key = tuple[Sequence[str], Codes]
"""Labels in alphabetical order, and which of them each cell has."""


@dataclass(frozen=True)
class Cells:
    """Cells of a table: their keys as a file calls them, and count, low and high."""

    keys: Mapping[str, Key]
    numbers: Mapping[str, Counts]

    def with_key(self, key: str, label: str) -> Cells:
        """The same cells with one more key, of which all have one label."""
        codes = np.zeros(len(self.numbers[COUNT]), np.int32)
        return Cells({**self.keys, key: ([label], codes)}, self.numbers)


@dataclass(frozen=True)
class Rows:
    """Rows of a file: the keys of each, and numbers by the table that they are of."""

    keys: Mapping[str, Key]
    numbers: Mapping[str, Mapping[str, Counts]]
    """With `across`, a row of numbers for each."""
    published: Mapping[str, npt.NDArray[np.bool_]]
    """Which of these numbers there are."""

    def __len__(self) -> int:
        return len(next(iter(self.published.values())))

    def where(self, chosen: npt.NDArray[Any]) -> Rows:
        """Some of the rows, by whether or by where."""
        return Rows(
            {key: (labels, codes[chosen]) for key, (labels, codes) in self.keys.items()},
            {called: {name: each[chosen] for name, each in own.items()} for called, own in self.numbers.items()},
            {called: each[chosen] for called, each in self.published.items()},
        )

    def added_up(self, alike: npt.NDArray[np.int64]) -> Rows:
        """One row for those that have the same number, where the first of them was; counts are added up."""
        _, firsts, places = np.unique(alike, return_index=True, return_inverse=True)
        numbers, published = {}, {}
        for called, own in self.numbers.items():
            numbers[called] = {name: np.zeros(len(firsts), np.int64) for name in own}
            for name, each in own.items():
                np.add.at(numbers[called][name], places, each)
            published[called] = np.zeros(len(firsts), bool)
            np.logical_or.at(published[called], places, self.published[called])
        keys = {key: (labels, codes[firsts]) for key, (labels, codes) in self.keys.items()}
        order = np.argsort(firsts)
        found = Rows(keys, numbers, published)
        return found.where(order)

    def have(self, key: str, label: str) -> npt.NDArray[np.bool_]:
        """Which rows have a label."""
        labels, codes = self.keys[key]
        found = np.flatnonzero([each == label for each in labels])
        chosen: npt.NDArray[np.bool_] = np.isin(codes, found)
        return chosen


def encoded(column: pa.ChunkedArray) -> Key:
    """A column of texts as codes."""
    coded = column.combine_chunks().dictionary_encode()
    labels = coded.dictionary.to_pylist()
    order = sorted(labels)
    place = {label: code for code, label in enumerate(order)}
    return order, np.array([place[label] for label in labels], np.int32)[coded.indices.to_numpy(zero_copy_only=False)]


def joined(
    cells: Mapping[str, Cells], keys: Sequence[str], across: str | None = None, columns: Sequence[str] = ()
) -> Rows:
    """A row for each combination of keys that some table has; cells that are then alike are added up.

    `columns`: the labels of `across`, in the order in which a row has them; cells with others are left out.
    """
    inner = {called: _within(each, across, columns) if across else each for called, each in cells.items()}
    lists = {key: sorted({label for each in inner.values() for label in each.keys[key][0]}) for key in keys}
    codes = {key: np.concatenate([_coded(each.keys[key], lists[key]) for each in inner.values()]) for key in keys}
    sizes = [len(each.numbers[COUNT]) for each in inner.values()]
    ids = _ids([codes[key] for key in keys], [len(lists[key]) for key in keys], sum(sizes))
    _, firsts, places = np.unique(ids, return_index=True, return_inverse=True)
    rows = {key: (lists[key], codes[key][firsts]) for key in keys}
    numbers, published, start = {}, {}, 0
    for (called, each), size in zip(inner.items(), sizes, strict=True):
        at: Any = places[start : start + size]
        shape: tuple[int, ...] = (len(firsts),)
        if across:
            at, shape = (at, _coded(each.keys[across], columns)), (len(firsts), len(columns))
        numbers[called] = {name: np.zeros(shape, np.int64) for name in (COUNT, LOW, HIGH)}
        for name, found in numbers[called].items():
            np.add.at(found, at, each.numbers[name])
        published[called] = np.zeros(shape, bool)
        published[called][at] = True
        start += size
    return Rows(rows, numbers, published)


def stacked(pieces: Sequence[Cells]) -> Cells:
    """Cells of several tables, one below the other, by the keys that all have: others are added up over."""
    keys: dict[str, Key] = {}
    for key in (key for key in pieces[0].keys if all(key in each.keys for each in pieces)):
        labels = sorted({label for each in pieces for label in each.keys[key][0]})
        keys[key] = labels, np.concatenate([_coded(each.keys[key], labels) for each in pieces])
    numbers = {name: np.concatenate([each.numbers[name] for each in pieces]) for name in (COUNT, LOW, HIGH)}
    return Cells(keys, numbers)


def with_rest(fine: Cells, coarse: Cells, rest: Rest) -> Cells:
    """The cells of a table, and one more for each coarser cell of which they leave something.

    The interval of a remainder holds wherever those of all its parts do.
    """
    both = joined({"fine": fine, "coarse": coarse}, list(coarse.keys))
    listed, total = both.numbers["fine"], both.numbers["coarse"]
    left = np.maximum(total[COUNT] - listed[COUNT], 0)
    low = np.maximum(total[LOW] - listed[HIGH], 0)
    high = np.maximum(total[HIGH] - listed[LOW], left)
    chosen = both.published["coarse"] & (left > 0)
    keys = {key: (labels, codes[chosen]) for key, (labels, codes) in both.keys.items()}
    numbers = {COUNT: left[chosen], LOW: np.minimum(low, left)[chosen], HIGH: high[chosen]}
    return stacked([fine, Cells(keys, numbers).with_key(rest.key, rest.word)])


def _within(cells: Cells, across: str, columns: Sequence[str]) -> Cells:
    labels, codes = cells.keys[across]
    chosen = np.array([label in set(columns) for label in labels], bool)[codes]
    keys = {key: (own, each[chosen]) for key, (own, each) in cells.keys.items()}
    return Cells(keys, {name: each[chosen] for name, each in cells.numbers.items()})


def _coded(key: Key, labels: Sequence[str]) -> npt.NDArray[np.int64]:
    """The codes of a key in another list of labels; those that it lacks, which no cell may have, become 0."""
    place = {label: code for code, label in enumerate(labels)}
    return np.array([place.get(label, 0) for label in key[0]], np.int64)[key[1]]


def _ids(codes: Sequence[npt.NDArray[np.int64]], sizes: Sequence[int], length: int) -> npt.NDArray[np.int64]:
    """A number for each combination of codes, in their order."""
    ids = np.zeros(length, np.int64)
    if prod(sizes) < 2**62:
        for each, size in zip(codes, sizes, strict=True):
            ids = ids * size + each
        return ids
    for each, size in zip(codes, sizes, strict=True):
        ids = np.unique(ids * size + each, return_inverse=True)[1]
    return ids
