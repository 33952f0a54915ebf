"""The benchmark of cards: its metro can be released, and the bare queries run on the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import cards
from tapveil.counting.counter import count
from tapveil.plan.model import Plan
from tests.property.test_counting import cells


@pytest.mark.parametrize("taps", [False, True])
def test_releases_and_bare_queries_read_the_same_metro(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taps: bool
) -> None:
    """A card counts once a day in the total, so no more often than there are trips."""
    monkeypatch.setattr(cards, "BUILD", tmp_path)
    folder = cards.metro(2000, taps)
    for unit in cards.KEPT if taps else cards.UNITS:
        total = cells(count(Plan.read(folder / f"{unit}.toml")).tables["total"])
        assert len(total) == cards.DAYS
        assert 1000 < sum(total.values()) <= 2000
        cards.bare(unit, folder, taps)
