"""Reasons: a code and a column inside, words at the edge."""

from __future__ import annotations

from typing import get_args

from tapveil.trips.reasons import Code, Reason


def test_every_reason_has_words_of_its_own() -> None:
    words = [str(Reason(code, "mode")) for code in get_args(Code)]
    assert len(set(words)) == len(words) == 7


def test_the_column_tells_reasons_apart() -> None:
    assert {Reason("missing", "mode"): 1, Reason("missing", "date"): 2}[Reason("missing", "date")] == 2
    assert str(Reason("unreadable", "tap_on_time")) == "tap_on_time cannot be read"
