"""A public index: read with clear errors, and places in fifths."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from tapveil.base.errors import InputFileError
from tapveil.internal.dossier.case import read_case
from tapveil.internal.dossier.index import fifths, read_index
from tests.conftest import TODAY, levelled_plan
from tests.support.commands import run

LEVELS = Path(__file__).parents[3] / "golden" / "3" / "levels"


def written(folder: Path, text: str) -> Path:
    path = folder / "deprivation.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_index_is_read_exactly_and_named_by_its_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, "place;value;year\n2000;0.1;2021\n2010;-3;2021\n")
    index = read_index(path)
    assert index.values == {"2000": Fraction(1, 10), "2010": Fraction(-3)}
    assert index.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("place,decile\n2000,1\n", "has no column `value`"),
        ("place,value\n2000,1\n2000,2\n", "line 3: the place `2000` is there twice"),
        ("place,value\n2000,high\n", "line 2: `value` must be a number, and is `high`"),
        ("place,value\n2000,nan\n", "must be a number"),
        ("place,value\n", "has no rows"),
        ("place,value\nAtlantis,1\n", "names no area of the folder: `place` must be as published, such as `"),
    ],
)
def test_what_is_no_index_of_the_folder_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=words):
        read_case(LEVELS, index=written(tmp_path, text), today=TODAY)


def test_an_index_is_for_a_folder(tmp_path: Path) -> None:
    written(tmp_path, "place,value\n2000,1\n")
    levelled_plan(tmp_path)
    said = run("dossier", "plan.toml", "--index", "deprivation.csv", cwd=tmp_path)
    assert said.returncode == 2
    assert "--index is for a published folder" in said.stderr


def test_fifths_have_every_place_once_in_order_and_equal_ones_together() -> None:
    values = {f"place {number}": number * number % 23 for number in range(50)}
    parts = fifths(values, values)
    assert sorted(place for part in parts for place in part) == sorted(values)
    for lower, upper in pairwise(parts):
        assert max(values[place] for place in lower) < min(values[place] for place in upper)
    assert all(5 <= len(part) <= 15 for part in parts)
    assert [list(part) for part in fifths("ab", {"a": 1, "b": 1})] == [["a", "b"], [], [], [], []]
