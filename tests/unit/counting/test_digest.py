"""The digest of exact counts: the same for the same counts, however they are stored, and for no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tapveil.counting.digest import CELLS_AT_ONCE, counts_hmac
from tapveil.counting.exact import ExactTable
from tapveil.counting.packing import Packing

KEY = bytes(range(32))


def table(cells: dict[tuple[str, str], int], labels: Mapping[str, tuple[str, ...]], name: str = "on") -> ExactTable:
    packing = Packing(tuple(labels), tuple(len(each) for each in labels.values()))
    codes = {
        column: np.array([labels[column].index(cell[place]) for cell in cells], dtype=np.int64)
        for place, column in enumerate(labels)
    }
    return ExactTable(
        name, packing, labels, packing.pack(codes, len(cells)), np.array(list(cells.values()), dtype=np.int64)
    )


CELLS = {("bus", "07:00"): 3, ("bus", "08:00"): 1, ("train", "07:00"): 2}
LABELS = {"mode": ("bus", "train"), "time": ("07:00", "08:00")}
COUNTED = counts_hmac({"on": table(CELLS, LABELS)}, KEY)


def test_neither_order_nor_codes_matter() -> None:
    turned = dict(reversed(CELLS.items()))
    more = {"mode": ("bus", "ferry", "train"), "time": ("06:00", "07:00", "08:00")}
    assert counts_hmac({"on": table(turned, LABELS)}, KEY) == COUNTED
    assert counts_hmac({"on": table(CELLS, more)}, KEY) == COUNTED


@pytest.mark.parametrize(
    "cells",
    [
        {**CELLS, ("bus", "07:00"): 4},
        {**CELLS, ("bus", "07:00"): 1, ("bus", "08:00"): 3},
        {**CELLS, ("train", "08:00"): 1},
        {("train", "07:00"): 3, ("train", "08:00"): 1, ("bus", "07:00"): 2},
        dict(list(CELLS.items())[:2]),
        {},
    ],
)
def test_other_counts_have_another_digest(cells: dict[tuple[str, str], int]) -> None:
    assert counts_hmac({"on": table(cells, LABELS)}, KEY) != COUNTED


def test_tables_columns_and_keys_matter() -> None:
    named = {"mode": LABELS["mode"], "hour": LABELS["time"]}
    assert counts_hmac({"off": table(CELLS, LABELS, "off")}, KEY) != COUNTED
    assert counts_hmac({"on": table(CELLS, named)}, KEY) != COUNTED
    assert counts_hmac({"on": table(CELLS, LABELS)}, KEY[::-1]) != COUNTED


def test_cells_beyond_a_piece_count() -> None:
    number = CELLS_AT_ONCE + 3
    packing, labels = Packing(("place",), (number,)), {"place": tuple(f"{n:06d}" for n in range(number))}
    whole = ExactTable("on", packing, labels, (np.arange(number),), np.ones(number, dtype=np.int64))
    last = replace(whole, _exact_counts=np.where(np.arange(number) == number - 1, 2, 1))
    assert counts_hmac({"on": whole}, KEY) != counts_hmac({"on": last}, KEY)
