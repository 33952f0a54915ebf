"""In which bin a trip ends."""

from __future__ import annotations

import numpy as np
import pytest

from tapveil.published.estimates.clock import NO_TAP, Clock


def test_ends_follow_from_starts_and_durations() -> None:
    ends = Clock((0, 60), (0, 60), (0, 60), until=120).ends()
    assert ends[0, 0] == pytest.approx([0.5, 0.5], abs=0.01)
    assert ends[1, 0] == pytest.approx([0, 1], abs=0.01)
    assert ends[0, 1] == pytest.approx([0, 1], abs=0.01)


def test_each_start_and_class_has_all_its_ends() -> None:
    ends = Clock((NO_TAP, 0, 15, 30, 45), (NO_TAP, 0, 20, 40), (0, 10, 30), until=60).ends()
    assert ends.shape == (5, 3, 4)
    assert ends[1:].sum(axis=2) == pytest.approx(np.ones((4, 3)), abs=0.01)
    assert (ends > 0).all()


def test_without_classes_most_trips_end_soon() -> None:
    ends = Clock((0, 60, 120), (0, 60, 120), until=180).ends()
    assert ends[0, 0, 0] > ends[0, 0, 1] > ends[0, 0, 2]


@pytest.mark.parametrize("minutes", [(60, 0), (0, 0), (NO_TAP, 0, NO_TAP)])
def test_bins_out_of_order_are_refused(minutes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="one after the other"):
        Clock(minutes, (0,))
