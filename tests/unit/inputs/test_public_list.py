"""Small public lists: one way to read them, and one word for each way in which they cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapveil.base.errors import TripDataError
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import ON_DISK


def listed(folder: Path, text: str | bytes) -> PublicList:
    path = folder / "stops.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return PublicList(ON_DISK, path, "lookup", "[coarsen]")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_what_separates_the_columns_is_found(delimiter: str, mark: str, tmp_path: Path) -> None:
    text = f"{mark} stop ,note,area\n1, x ,A\n\n2\n".replace(",", delimiter)
    rows = list(listed(tmp_path, text).rows(["stop", "area"], ["mode"]))
    assert rows == [(2, {"stop": "1", "area": "A"}), (4, {"stop": "2", "area": ""})]


def test_what_the_plan_says_separates_them(tmp_path: Path) -> None:
    rows = listed(tmp_path, "stop,old:area\n1:A\n").rows(["area"], delimiter=":")
    assert list(rows) == [(2, {"area": "A"})]


WRONG: dict[str, tuple[str | bytes, str]] = {
    "no column": ("stop,are\n", "the lookup stops.csv has no column `area`: did you mean `are`"),
    "no column like it": ("stop,x\n", r"has no column `area` \(columns: stop, x\)"),
    "a column twice": ("stop,area,area\n", "has 2 columns named `area`; keep one"),
    "an optional column twice": ("stop,area,mode,mode\n", "has 2 columns named `mode`; keep one"),
    "nothing": ("", "has no column `stop`"),
    "not UTF-8": (b"stop,area\n\xff,A\n", "the lookup stops.csv is not a CSV file in UTF-8"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_with_a_list_is_said(wrong: str, tmp_path: Path) -> None:
    text, words = WRONG[wrong]
    with pytest.raises(TripDataError, match=words):
        list(listed(tmp_path, text).rows(["stop", "area"], ["mode"]))


def test_a_list_that_is_not_there_or_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(
        TripDataError, match=r"there is no lookup .*gone.csv \(\[coarsen\]; paths are relative to the plan\)"
    ):
        list(PublicList(ON_DISK, tmp_path / "gone.csv", "lookup", "[coarsen]").rows(["stop"]))
    with pytest.raises(TripDataError, match="is a folder; choose a file in it"):
        list(PublicList(ON_DISK, tmp_path, "lookup").rows(["stop"]))
