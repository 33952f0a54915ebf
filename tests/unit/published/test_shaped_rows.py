"""Rows of files: cells side by side, across, one below the other, and what a coarser table leaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tapveil.base.shape import Rest
from tapveil.published.shaped_rows import Cells, encoded, joined, stacked, with_rest


def cells(*rows: tuple[str, str, int]) -> Cells:
    """By day and place, each with an interval of two on both sides."""
    keys = {name: encoded(pa.chunked_array([[row[at] for row in rows]])) for at, name in enumerate(("day", "place"))}
    counts = np.array([row[2] for row in rows], np.int64)
    return Cells(keys, {"count": counts, "low": counts - 2, "high": counts + 2})


ON = cells(("2", "b", 20), ("1", "a", 10), ("1", "c", 30))
OFF = cells(("1", "a", 11), ("0", "é", 5))


def test_cells_of_two_tables_are_in_one_row_in_the_order_of_keys() -> None:
    rows = joined({"on": ON, "off": OFF}, ["place", "day"])
    labels = [[rows.keys[key][0][code] for code in rows.keys[key][1]] for key in ("place", "day")]
    assert labels == [["a", "b", "c", "é"], ["1", "2", "1", "0"]]
    assert rows.numbers["on"]["count"].tolist() == [10, 20, 30, 0]
    assert rows.published["off"].tolist() == [True, False, False, True]
    assert rows.numbers["off"]["high"].tolist() == [13, 0, 0, 7]


def test_cells_are_added_up_over_a_key_that_is_left_out() -> None:
    rows = joined({"on": ON}, ["day"])
    assert rows.numbers["on"]["count"].tolist() == [40, 20]


def test_labels_across_are_columns_and_others_are_left_out() -> None:
    rows = joined({"on": ON}, ["day"], "place", ["c", "a"])
    assert rows.numbers["on"]["count"].tolist() == [[30, 10]]
    assert rows.published["on"].tolist() == [[True, True]]
    assert len(joined({"on": ON}, ["day"], "place", ["z"])) == 0


def test_many_long_lists_are_told_apart_without_a_product_of_their_lengths() -> None:
    one = {f"k{number}": ([str(label) for label in range(10)] * 1000, np.array([3, 1])) for number in range(16)}
    wide = {
        key: (sorted({f"{label}{at}" for at, label in enumerate(labels)}), codes)
        for key, (labels, codes) in one.items()
    }
    counts = np.array([1, 2], np.int64)
    rows = joined({"t": Cells(wide, {"count": counts, "low": counts, "high": counts})}, list(wide))
    assert rows.numbers["t"]["count"].tolist() == [2, 1]


def test_tables_one_below_the_other_share_their_lists() -> None:
    both = stacked([ON.with_key("end", "on"), OFF.with_key("end", "off")])
    assert both.keys["place"][0] == ["a", "b", "c", "é"]
    assert both.numbers["count"].tolist() == [20, 10, 30, 11, 5]


def test_a_rest_is_what_is_left_of_a_coarser_cell_and_its_interval_holds_the_worst() -> None:
    day = Cells({"day": (["0", "1"], np.array([0, 1]))}, {n: np.array([5, 45 + d]) for n, d in LIMITS.items()})
    found = with_rest(ON, day, Rest(key="place", word="(rest)"))
    rows = joined({"all": found}, ["day", "place"])
    labels = [rows.keys["place"][0][code] for code in rows.keys["place"][1]]
    assert labels == ["(rest)", "(rest)", "a", "c", "b"]
    assert rows.numbers["all"]["count"].tolist() == [5, 5, 10, 30, 20]
    assert rows.numbers["all"]["low"].tolist()[:2] == [5, 0]
    assert rows.numbers["all"]["high"].tolist()[1] == 48 - (8 + 28)


LIMITS = {"count": 0, "low": -3, "high": 3}


def by_keys(counts: list[int], **keys: list[str]) -> Cells:
    numbers = np.array(counts, np.int64)
    coded = {key: (sorted(set(labels)), np.searchsorted(sorted(set(labels)), labels)) for key, labels in keys.items()}
    return Cells(coded, {"count": numbers, "low": numbers, "high": numbers})


def test_a_key_that_one_of_the_tables_lacks_is_added_up_over() -> None:
    on = by_keys([1, 2, 4], place=["a", "a", "b"], time=["07:00", "08:00", "07:00"]).with_key("side", "on")
    off = by_keys([8], place=["a"]).with_key("side", "off")
    rows = joined({"side": stacked([on, off])}, ["side", "place"])
    labels = [[rows.keys[key][0][code] for code in rows.keys[key][1]] for key in ("side", "place")]
    found = dict(zip(zip(*labels, strict=True), rows.numbers["side"]["count"].tolist(), strict=True))
    assert found == {("off", "a"): 8, ("on", "a"): 3, ("on", "b"): 4}
