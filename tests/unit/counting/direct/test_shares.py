"""Rows that were put aside come back, all rows of a card together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tapveil.base.errors import EngineError
from tapveil.counting.direct import shares
from tapveil.counting.direct.shares import Shares


@pytest.mark.parametrize(("block", "most"), [(10**6, 10**6), (64, 10**6), (64, 50), (1000, 1)])
def test_every_row_comes_back_once_with_its_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, most: int
) -> None:
    monkeypatch.setattr(shares, "ROWS_OF_A_BLOCK", block)
    cards = np.random.default_rng(1).integers(0, 2**64, 300, dtype=np.uint64)
    card = np.tile(cards, 7)
    code = np.arange(len(card), dtype=np.int32)
    found, groups = dict[int, int](), list[set[int]]()
    with Shares(tmp_path) as aside:
        for start in range(0, len(card), 37):
            aside.add((card[start : start + 37], code[start : start + 37]))
        parts = list(aside.groups(most))
        assert not list(tmp_path.iterdir())  # the file has no name
    for _, (theirs, codes) in parts:
        found |= dict(zip(codes.tolist(), theirs.tolist(), strict=True))
        groups.append(set(theirs.tolist()))
    assert found == dict(zip(code.tolist(), card.tolist(), strict=True))
    assert sum(map(len, groups)) == len(set(card.tolist()))
    assert [done for done, _ in parts] == sorted(done for done, _ in parts)
    assert parts[-1][0] == 1


def test_without_rows_there_is_nothing_to_count() -> None:
    with Shares(None) as aside:
        assert not any(len(rows) for _, rows in aside.groups(10))


def test_a_folder_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "ROWS_OF_A_BLOCK", 1)
    with Shares(tmp_path / "nowhere") as aside, pytest.raises(EngineError, match="--scratch"):
        aside.add((np.zeros(2, dtype=np.uint64),))
