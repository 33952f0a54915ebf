"""Many releases are one series: breaks and gaps are said, and numbers of two definitions are never mixed."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapveil
from tapveil.base.errors import FolderError, ReaderError
from tapveil.privacy.distribution import variance
from tests.support.weeks import FIRST, days_of, trips, week_folder

WEEK = timedelta(days=7)
BY_CARD = {
    "unit": "card-day",
    "bounds": {"cells_per_table": 4, "trips_per_day": 4, "trips_per_card": None, "without_card": "refuse"},
}


def weeks(folder: Path, number: int, **last: Any) -> list[Path]:
    """Weekly folders of three places, the last with other definitions."""
    made = []
    for week in range(number):
        truth = {name: trips(1000 * of, 10 * week + of) for name, of in (("Central", 3), ("Quay", 1))}
        truth["Halt"] = [20] * 7
        changes = last if week == number - 1 else {}
        made.append(week_folder(folder / f"w{week:02d}", truth, FIRST + week * WEEK, week, **changes))
    return made


def test_a_pattern_and_a_list_give_one_table_per_name_over_all_days(tmp_path: Path) -> None:
    folders = weeks(tmp_path, 3)
    series = tapveil.open(str(tmp_path / "*"))
    assert isinstance(series, tapveil.Series)
    assert series.tables == ["on_location", "total"]
    assert series.days == days_of(FIRST, 21)
    assert (series.gaps, series.breaks, series.overlaps) == ([], [], {})
    table = tapveil.open(folders[::-1]).table("on_location")
    apart = [row for path in folders for row in tapveil.open(path).table("on_location").rows()]
    assert [{key: row[key] for key in apart[0]} for row in table.rows()] == apart
    assert set(table.cells["release"].tolist()) == {"w00", "w01", "w02"}
    quay = table.where(tap_on_location="Quay", mode="train")
    assert len(quay) == 21
    with pytest.raises(ReaderError, match="there is no place `Kway` in the folder"):
        table.where(tap_on_location="Kway")
    with pytest.raises(ReaderError, match="there is no table `totals` in the series: did you mean `total`"):
        series.table("totals")
    with pytest.raises(FolderError, match="there is no folder"):
        tapveil.open(str(tmp_path / "nothing*"))
    with pytest.raises(FolderError, match="named twice"):
        tapveil.open([folders[0], folders[0]])
    shutil.copytree(folders[0], tmp_path / "copy")
    with pytest.raises(FolderError, match="a release is there twice"):
        tapveil.open([folders[0], tmp_path / "copy"])


def test_opening_reads_no_table(tmp_path: Path) -> None:
    folders = weeks(tmp_path, 2)
    for folder in folders:
        shutil.rmtree(folder / "data")
    series = tapveil.open(folders)
    assert len(series.days) == 14
    with pytest.raises(FolderError, match="is damaged"):
        series.table("total")


def test_days_that_no_release_has_are_gaps(tmp_path: Path) -> None:
    folders = weeks(tmp_path, 4)
    series = tapveil.open([folders[0], folders[3]])
    assert series.gaps == [("2025-03-10", "2025-03-23")]
    assert "gap: 2025-03-10 to 2025-03-23" in repr(series)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("areas", {"areas": {"train": "lines"}}),
        ("unit", BY_CARD),
        ("rows", {"rows": "taps"}),
        ("day", {"day": {"starts": "04:00", "after_midnight": "continued", "timezone": None, "calendar": True}}),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_break_of_definition_is_flagged_everywhere(what: str, change: dict[str, Any], tmp_path: Path) -> None:
    series = tapveil.open(weeks(tmp_path, 3, **change))
    found = [each for each in series.breaks if each.table == "on_location"]
    assert [(each.what, each.day, each.comparable) for each in found] == [(what, "2025-03-17", False)]
    assert f"{what} BREAK" in repr(series)
    quay = series.table("on_location").where(mode="train", tap_on_location="Quay")
    assert dict(zip(quay.cells["date"].tolist(), quay.cells["definition"].tolist(), strict=True)) == {
        day: 1 + (day >= "2025-03-17") for day in series.days
    }
    first, second, last = (quay.between(*days_of(FIRST + n * WEEK)[::6]) for n in range(3))
    assert second.minus(first).rows()
    for ask in (lambda: last.minus(second), quay.mean, quay.trend):
        with pytest.raises(ReaderError, match="definitions 1 and 2, which cannot be compared"):
            ask()
    sums = series.table("on_location").sum(by="mode").rows()
    assert [row["definition"] for row in sums] == [1, 2], "numbers of two definitions are not added up"
    contents = json.loads((series.write(tmp_path / "out") / "series.json").read_text(encoding="utf-8"))
    assert [each["what"] for each in contents["breaks"] if each["table"] == "on_location"] == [what]
    assert contents["tables"]["on_location"]["definitions"][1] == {"definition": 2, "from": "2025-03-17"}


def test_a_change_of_noise_is_said_and_numbers_stay_comparable(tmp_path: Path) -> None:
    folders = weeks(tmp_path, 2)
    folders.append(week_folder(tmp_path / "wide", {"Quay": trips(1000, 5)}, FIRST + 2 * WEEK, 9, scale=4))
    series = tapveil.open(folders)
    assert {(each.what, each.comparable) for each in series.breaks} == {("mechanism", True)}
    quay = series.table("on_location").where(mode="train", tap_on_location="Quay")
    assert set(quay.cells["definition"].tolist()) == {1}
    widths = (quay.cells["high"] - quay.cells["low"]).tolist()
    assert min(widths[14:]) > 3 * max(widths[:14])
    assert quay.between("2025-03-17", "2025-03-23").minus(quay.between("2025-03-03", "2025-03-09")).rows()


def test_a_day_of_two_releases_is_their_mean_by_precision(tmp_path: Path) -> None:
    truth = {"Quay": trips(1000, 1), "Halt": [33] * 7}
    fine = week_folder(tmp_path / "fine", truth, seed=1)
    wide = week_folder(tmp_path / "wide", truth, FIRST + timedelta(days=5), seed=2, scale=3)
    series = tapveil.open([fine, wide])
    assert series.overlaps == {day: ["fine", "wide"] for day in ("2025-03-08", "2025-03-09")}
    assert "in several releases: 2 days from 2025-03-08 to 2025-03-09" in repr(series)
    assert len(series.days) == 12
    table = series.table("on_location")
    assert len(set(zip(*(table.cells[key].tolist() for key in table.keys), strict=True))) == len(table), (
        "each cell once"
    )
    day = {"mode": "train", "date": "2025-03-08", "tap_on_location": "Quay"}
    ours, theirs = (tapveil.open(path).table("on_location").cell(**day).count for path in (fine, wide))
    assert ours is not None
    assert theirs is not None
    (row,) = [row for row in table.rows() if all(row[key] == value for key, value in day.items())]
    first, second = (1 / variance(tapveil.open(path).mechanism("on_location")) for path in (fine, wide))
    assert row["count"] == round((first * ours + second * theirs) / (first + second)), "by the inverse of the variance"
    assert first > 5 * second
    assert row["release"] == "fine + wide"
    assert row["low"] < row["count"] < row["high"]
    noise = table.noise
    assert noise is not None
    at = table.rows().index(row)
    assert noise[at] < noise.min() * 1.01


def test_the_mean_of_two_releases_misses_at_most_one_cell_in_twenty(tmp_path: Path) -> None:
    random, missed, cells = np.random.default_rng(1), 0, 0
    truth = {f"p{n}": random.integers(5, 60, 7).tolist() for n in range(60)}
    for seed in range(4):
        paths = [week_folder(tmp_path / f"{n}-{seed}", truth, seed=10 * seed + n, scale=1 + n) for n in range(2)]
        found = {(row["tap_on_location"], row["date"]): row for row in tapveil.open(paths).table("on_location").rows()}
        for place, counts in truth.items():
            for day, count in zip(days_of(FIRST), counts, strict=True):
                row = found.get((place, day))
                missed += row is not None and not row["low"] <= count <= row["high"]
                cells += 1
    assert missed / cells <= 0.05


GOLDEN = Path(__file__).parents[3] / "golden"


@pytest.mark.parametrize(
    "kind", ["3/gaussian", "3/paper", "3/levels", "3/dictionary", "3/taps", "3e/calendars", "3d/world"]
)
def test_a_series_of_one_folder_says_what_the_folder_says(kind: str) -> None:
    folder, series = tapveil.open(GOLDEN / kind), tapveil.open([GOLDEN / kind])
    for name in folder.tables:
        by = [key for key in folder.table(name).keys if key in ("mode", "day_type")]
        ours, theirs = (each.table(name).sum(by=by).rows() for each in (series, folder))
        assert len(ours) == len(theirs)
        for row, own in zip(ours, theirs, strict=True):
            assert all(row[column] == own[column] for column in ("count", "listed", "other", "cells"))
            assert row["low"] <= own["low"] + 1, "never tighter, but for a rounded quantile"
            assert (row["high"] is None) == (own["high"] is None)
            assert row["high"] is None or row["high"] >= own["high"] - 1
