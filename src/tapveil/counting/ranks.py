"""Which trips of a card are kept where it has too many: those with the least ranks. One rule for every way to count.

Every label has a number v, and a row the sum of the numbers of its labels. A card has two numbers a and b, and

    rank = (a · (v² mod p) + b) mod p,    p = 2³¹ − 1,

is another order of the same rows for each card: of two trips each comes first in half of all cards (the map is
pairwise independent), so no cell is favoured. The square is there because sums of labels lie on a grid: on lines of
equal distances the middle one would come first too seldom.

All numbers follow from the row's own card and labels. Codes would not do: they change when any other row has a new
label. Nor would raw values: a column may have another type, and other raw values, when a single row of the file is
missing. Rows of one card with equal ranks are put in the order of their labels, so that what is kept follows from
the card's rows alone, whatever the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import md5

import numpy as np
import numpy.typing as npt

from tapveil.counting.coding import Code, Column
from tapveil.inputs.values import UNIT_SEPARATOR
from tapveil.trips.buffers import Integers

PRIME = 2**31 - 1
"""Products of two numbers below it fit into the 64 bits that every engine has."""
Words = npt.NDArray[np.uint64]


def step(column: Column) -> int:
    """Where labels follow from the plan alone, the number of a label is its code plus one, times this."""
    return 1 + _first_digits(column.name) % (PRIME - 1)


def numbers(code: Code) -> Integers:
    """The numbers of all labels of a column, by code."""
    if code.column.fixed_labels:
        return np.arange(1, len(code.labels) + 1, dtype=np.int64) * step(code.column)
    first = f"{code.column.name}{UNIT_SEPARATOR}"
    return np.array([_first_digits(first + label) for label in code.labels], dtype=np.int64)


def _first_digits(text: str) -> int:
    return int(md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16) % PRIME


def ranks(cards: Words, of_labels: Integers) -> Integers:
    """The ranks of rows, from the first 16 digits of the MD5 of the card, and the sum of the numbers of the labels."""
    first, second = (cards >> np.uint64(32)).astype(np.int64), (cards & np.uint64(0xFFFFFFFF)).astype(np.int64)
    value = _modulo(of_labels)
    return _modulo((1 + first % (PRIME - 1)) * _modulo(value * value) + second)


def _modulo(number: Integers) -> Integers:
    """The remainder of numbers of at most 62 bits; 2³¹ is 1 there, so halves are added."""
    number = (number & PRIME) + (number >> 31)
    number = (number & PRIME) + (number >> 31)
    return np.where(number >= PRIME, number - PRIME, number)


def rank_sql(card_hash: str, of_labels: Sequence[str]) -> str:
    """SQL for the rank of a row, from the MD5 of its card and the numbers of its labels."""
    first, second = (f"CAST('0x' || substr({card_hash}, {start}, 8) AS BIGINT)" for start in (1, 9))
    value = f"(({' + '.join(of_labels) or '0'}) % {PRIME})"
    return f"((1 + {first} % {PRIME - 1}) * ({value} * {value} % {PRIME}) + {second}) % {PRIME}"
