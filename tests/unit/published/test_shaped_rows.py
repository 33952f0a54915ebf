"""Rows of files of shapes: tables one below the other."""

from __future__ import annotations

import numpy as np

from tapveil.base.vocabulary import COUNT, HIGH, LOW
from tapveil.published.shaped_rows import Cells, joined, stacked


def cells(counts: list[int], **keys: list[str]) -> Cells:
    numbers = np.array(counts, np.int64)
    coded = {key: (sorted(set(labels)), np.searchsorted(sorted(set(labels)), labels)) for key, labels in keys.items()}
    return Cells(coded, {COUNT: numbers, LOW: numbers, HIGH: numbers})


def test_a_key_that_one_of_the_tables_lacks_is_added_up_over() -> None:
    on = cells([1, 2, 4], place=["a", "a", "b"], time=["07:00", "08:00", "07:00"]).with_key("side", "on")
    off = cells([8], place=["a"]).with_key("side", "off")
    rows = joined({"side": stacked([on, off])}, ["side", "place"])
    labels = [[rows.keys[key][0][code] for code in rows.keys[key][1]] for key in ("side", "place")]
    found = dict(zip(zip(*labels, strict=True), rows.numbers["side"][COUNT].tolist(), strict=True))
    assert found == {("off", "a"): 8, ("on", "a"): 3, ("on", "b"): 4}
