"""Arrays of days, put aside: what comes back is what was put there, in memory or on disk."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from tapveil.published.estimates import shelf
from tapveil.published.estimates.shelf import Shelf


@pytest.mark.parametrize("in_memory", [1, 1 << 20])
def test_arrays_come_back_as_they_were(in_memory: int) -> None:
    chance = np.random.default_rng(1)
    arrays = [
        chance.integers(0, 200, (3, 4), dtype=np.uint8),
        np.asarray(7.5),
        np.zeros((0, 3)),
        chance.normal(size=(5, 2)).T,
        chance.integers(-9, 9, 6),
    ]
    with mock.patch.object(shelf, "IN_MEMORY", in_memory):
        found = Shelf()
        found.put(arrays[0])
        assert found[0].tolist() == arrays[0].tolist()
        found.put_all(arrays[1:])
    assert len(found) == len(arrays)
    for number, each in enumerate(arrays):
        assert found[number].dtype == each.dtype
        assert np.array_equal(found[number], each)
    assert [each.shape for each in found[1:3]] == [(), (0, 3)]


def test_what_is_done_to_a_copy_does_not_change_the_shelf() -> None:
    found = Shelf()
    found.put(np.arange(3))
    found[0][:] = 9
    assert found[-1].tolist() == [0, 1, 2]
