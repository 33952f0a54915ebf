"""The domain of a table: every cell that it can have, the product of public lists for each mode. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_CELLS = 30_000_000
"""Of all tables of a release together: more take more memory than the machine of whoever verifies it may have."""

Lists = Mapping[str, Sequence[str]]
"""Of one mode: the labels of each key of a table, sorted, in the order of the keys."""
Codes = npt.NDArray[np.signedinteger[Any]]
"""Places in a list of labels, in as few bytes as the list needs: there are millions of cells."""


def number_of_cells(modes: Sequence[Lists]) -> int:
    """How many cells there are.

    >>> number_of_cells([{"mode": ["bus"], "place": ["A", "B"]}, {"mode": ["train"], "place": ["C"]}])
    3
    """
    return sum(prod(map(len, lists.values())) for lists in modes)


def every_cell(modes: Sequence[Lists]) -> dict[str, tuple[list[str], Codes]]:
    """All cells, the last key changing fastest: for each key its labels, and for each cell which of them it has.

    >>> cells = every_cell([{"mode": ["bus"], "place": ["A", "B"]}, {"mode": ["train"], "place": ["C"]}])
    >>> {key: [labels[code] for code in codes] for key, (labels, codes) in cells.items()}
    {'mode': ['bus', 'bus', 'train'], 'place': ['A', 'B', 'C']}
    """
    found = {}
    for key in modes[0]:
        labels = sorted({label for lists in modes for label in lists[key]})
        place = {label: code for code, label in enumerate(labels)}
        found[key] = labels, np.concatenate([_codes(lists, key, place) for lists in modes])
    return found


def _codes(lists: Lists, key: str, place: Mapping[str, int]) -> Codes:
    """The labels of a key in all cells of a mode."""
    sizes, index = [len(each) for each in lists.values()], list(lists).index(key)
    own = np.array([place[label] for label in lists[key]], dtype=np.min_scalar_type(-len(place)))
    return np.tile(np.repeat(own, prod(sizes[index + 1 :])), prod(sizes[:index]))
