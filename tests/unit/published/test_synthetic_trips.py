"""The rows of synthetic trips as the parts of a file."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tapveil.published.sheets import in_groups


@pytest.mark.parametrize(
    ("sizes", "groups"), [([0], [0]), ([0, 10], [5, 5]), ([3, 3, 1], [5, 2]), ([0, 5], [5]), ([12], [5, 5, 2])]
)
def test_rows_are_written_in_groups_of_one_size_and_a_rest(sizes: list[int], groups: list[int]) -> None:
    numbers = iter(range(100))
    pieces = [pa.table({"n": pa.array([next(numbers) for _ in range(size)], pa.int64())}) for size in sizes]
    found = list(in_groups(pieces, 5))
    assert [len(each) for each in found] == groups
    assert pa.concat_tables(found).column("n").to_pylist() == list(range(sum(sizes)))
