"""What files of shapes say of places."""

from __future__ import annotations

import pytest

from tapveil.published.place_facts import read


def test_a_place_of_which_less_is_said_than_the_header_has_is_refused() -> None:
    assert read("mode,name,borough,line\nbus,A,East,3\n", ("borough", "line")).of("bus", "A", "line") == "3"
    with pytest.raises(ValueError, match="not written as a release writes it"):
        read("mode,name,borough,line\nbus,A,East\n", ("borough", "line"))
