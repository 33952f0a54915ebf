"""Many releases are one series: breaks and gaps are said, and numbers of two definitions are never mixed."""

from __future__ import annotations

import builtins
import io
import json
import math
import shutil
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapveil
from tapveil.base.errors import FolderError, ReaderError
from tapveil.privacy.distribution import variance
from tapveil.published.series.writer import as_json
from tests.support.weeks import FIRST, days_of, trips, week_folder

GOLDEN = Path(__file__).parents[3] / "golden"
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


@pytest.mark.parametrize(
    ("titles", "title"),
    [
        (("Trips by date, 2025-W10", "Trips by date, 2025-W11"), "Trips by date"),
        (("Harbour ferries", "Harbour ferries"), "Harbour ferries"),
        (("Ferries", "Trips by ferry"), "Trips by ferry"),
    ],
)
def test_a_series_has_the_title_that_its_releases_share_without_their_periods(
    tmp_path: Path, titles: tuple[str, str], title: str
) -> None:
    for week, each in enumerate(titles):
        week_folder(tmp_path / f"w{week}", {"Quay": trips(1000, week)}, FIRST + week * WEEK, week, title=each)
    series = tapveil.open(str(tmp_path / "*"))
    assert str(series).startswith(f"{title}: a series of 2 releases, ")
    assert [as_json(series, version)["title"] for version in (1, 2)] == [titles[-1], title]


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
    assert [len(series.total(**where)) for where in ({}, {"mode": "train"}, {"date": "2025-03-04"})] == [21, 21, 1]
    with pytest.raises(ReaderError, match="there is no place `Kway` in the folder"):
        table.where(tap_on_location="Kway")
    with pytest.raises(ReaderError, match="there is no table `totals` in the series: did you mean `total`"):
        series.table("totals")
    for wrong in (3, [3], [None]):
        with pytest.raises(ReaderError, match="name a folder, a pattern or a list of folders, not "):
            tapveil.open(wrong)  # type: ignore[arg-type]
    with pytest.raises(FolderError, match="there is no folder"):
        tapveil.open(str(tmp_path / "nothing*"))
    with pytest.raises(FolderError, match="named twice"):
        tapveil.open([folders[0], folders[0]])
    shutil.copytree(folders[0], tmp_path / "copy")
    with pytest.raises(FolderError, match="a release is there twice"):
        tapveil.open([folders[0], tmp_path / "copy"])


def test_opening_104_folders_reads_each_manifest_once_and_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read is counted; how long it takes depends on the machine (`python -m benchmarks.series`)."""
    week_folder(tmp_path / "w000", {"Central": trips(3000, 1)}, FIRST)
    manifest = (tmp_path / "w000" / "privacy.json").read_text(encoding="utf-8")
    for week in range(1, 104):
        days, path = days_of(FIRST + week * WEEK), tmp_path / f"w{week:03d}"
        stated = json.loads(manifest) | {"release_id": f"{week:032x}"}
        stated["covers"] |= {"first_day": days[0], "last_day": days[-1]}
        path.mkdir()
        (path / "privacy.json").write_text(json.dumps(stated), encoding="utf-8")
    read, as_it_is = list[Path](), io.open

    def counted(file: Any, *how: Any, **said: Any) -> Any:
        if str(file).startswith(str(tmp_path)):
            read.append(Path(file))
        return as_it_is(file, *how, **said)

    for module in (io, builtins):  # pathlib has its own name of it
        monkeypatch.setattr(module, "open", counted)
    series = tapveil.open(str(tmp_path / "*"))
    assert (len(series.days), series.gaps, series.breaks) == (728, [], [])
    assert "series of 104 releases" in str(series)
    assert sorted(read) == [tmp_path / f"w{week:03d}" / "privacy.json" for week in range(104)]
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
    with pytest.raises(ReaderError, match=r"`definition` is no key column \(key columns: date\)"):
        quay.where(definition="2")
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


def test_months_of_two_releases_are_compared(tmp_path: Path) -> None:
    """A table without days: the part of a release is the table of its folder, and means per day have differences."""
    paths = [shutil.copytree(GOLDEN / "3e" / "calendars", tmp_path / name) for name in ("first", "second")]
    manifest = json.loads((paths[1] / "privacy.json").read_text(encoding="utf-8"))
    (paths[1] / "privacy.json").write_text(json.dumps(manifest | {"release_id": "0" * 32}), encoding="utf-8")
    for series in (tapveil.open(paths), tapveil.open(str(tapveil.open(paths).write(tmp_path / "out")))):
        table, alone = series.table("on"), tapveil.open(paths[0]).table("on")
        march = {"mode": "bus", "month": "2025-03"}
        part = table.where(release="first", **march)
        assert [{**row, "definition": 1} for row in alone.where(**march).rows()] == part.rows()
        assert table.where(**march).where(release="first").rows() == part.rows()
        assert part.sum(by="day_type").rows()[0]["count"] == alone.where(**march).sum(by="day_type").rows()[0]["count"]
        february = table.where(release="second", mode="bus", month="2025-02")
        ours, theirs = (alone.where(mode="bus", month=month) for month in ("2025-03", "2025-02"))
        assert str(part.minus(february)) == str(ours.minus(theirs))
        change = part.per_day().minus(february.per_day())
        days = {
            month: {kind: sum(1 for _ in group) for kind, group in _kinds(alone, month)}
            for month in ("2025-02", "2025-03")
        }
        for row in change.rows():
            key = (row["day_type"], row["tap_on_time"], row["tap_on_location"])
            after, before = (each._by_key().get(key) for each in (ours, theirs))
            numbers = [days[month][row["day_type"]] for month in ("2025-03", "2025-02")]
            if after is not None and before is not None:
                assert row["mean"] == pytest.approx(after / numbers[0] - before / numbers[1])
                assert row["noise_low"] < row["mean"] < row["noise_high"]
            else:
                assert np.isnan(row["mean"])
                assert row["noise_low"] < row["noise_high"]
            assert row["real"] is None, "one number for each month does not tell how days differ"
        assert change.adjusted().rows()[0]["noise_high"] > change.rows()[0]["noise_high"]
        with pytest.raises(ReaderError, match="not of their sums"):
            part.sum(by="day_type").per_day().minus(february.sum(by="day_type").per_day())
    _redefined(paths[1], "areas", {"bus": "lines"})
    series = tapveil.open(paths)
    ours, theirs = (series.table("on").where(release=name, month="2025-03") for name in ("first", "second"))
    for one, other in ((ours, theirs), (ours.per_day(), theirs.per_day())):
        with pytest.raises(ReaderError, match="which cannot be compared"):
            one.minus(other)


def _kinds(frame: Any, month: str) -> Any:
    chosen = frame.where(month=month).calendar["day_type"].tolist()
    return groupby(sorted(chosen))


def _redefined(path: Path, key: str, value: Any) -> None:
    manifest = json.loads((path / "privacy.json").read_text(encoding="utf-8"))
    (path / "privacy.json").write_text(json.dumps(manifest | {key: value}), encoding="utf-8")


def test_months_and_years_of_days_are_chosen_by_their_names(tmp_path: Path) -> None:
    table = tapveil.open(weeks(tmp_path, 5)).totals
    assert table.between("2025-03", "2025-03").days == days_of(FIRST, 29)
    assert table.between("2025-04", "2025-04").days == days_of(FIRST + timedelta(days=29), 6)
    assert table.between("2025", "2025").days == table.days
    assert table.between("2025-04", "2025-04").minus(table.between("2025-03", "2025-03")).rows()
    with pytest.raises(ReaderError, match="there is no day from 2024 to 2024"):
        table.between("2024", "2024")


@pytest.mark.parametrize(
    ("what", "change", "comparable"),
    [("bins", {"time_minutes": 30}, False), ("mask", {}, True), ("mechanism", {}, True)],
    ids=["bins", "mask", "mechanism"],
)
def test_other_bins_masks_and_mechanisms_are_flagged(
    what: str, change: dict[str, Any], comparable: bool, tmp_path: Path
) -> None:
    paths = [shutil.copytree(GOLDEN / "3" / "gaussian", tmp_path / name) for name in ("first", "second")]
    manifest = json.loads((paths[1] / "privacy.json").read_text(encoding="utf-8")) | change | {"release_id": "0" * 32}
    for table in manifest["tables"]:
        if what == "mask":
            table["threshold_exact"] = str(int(float(table["threshold"])) + 3)
            table["threshold"] = float(table["threshold_exact"])
            table["smallest_published"] = int(table["threshold"])
        elif what == "mechanism":
            table["scale_exact"], table["scale"] = "9", 9.0
    (paths[1] / "privacy.json").write_text(json.dumps(manifest), encoding="utf-8")
    found = {(each.what, each.comparable) for each in tapveil.open(paths).breaks if each.table == "on_time"}
    assert (what, comparable) in found
    assert all(each.comparable for each in tapveil.open(paths).breaks) == comparable


def test_a_cell_that_is_not_published_is_between_nothing_and_its_limit(tmp_path: Path) -> None:
    truth = {"Quay": trips(1000, 5), "Halt": [400, 1, 1, 1, 1, 1, 1]}
    fine = week_folder(tmp_path / "fine", truth, seed=1)
    wide = week_folder(tmp_path / "wide", truth, FIRST + WEEK, seed=2, scale=4)
    table, halt = tapveil.open([fine, wide]).table("on_location"), {"mode": "train", "tap_on_location": "Halt"}
    found = {day: table.cell(date=day, **halt) for day in ("2025-03-04", "2025-03-11")}
    apart = {"2025-03-04": fine, "2025-03-11": wide}
    assert found == {day: tapveil.open(apart[day]).table("on_location").cell(date=day, **halt) for day in found}
    assert [each.count for each in found.values()] == [None, None]
    assert table.where(date="2025-03-11").cell(**halt) == found["2025-03-11"]
    with pytest.raises(ReaderError, match=r"there is no day `2024-01-01` \(it has 2025-03-03 to 2025-03-16\)"):
        table.cell(date="2024-01-01", **halt)


def test_values_of_other_libraries_are_understood(tmp_path: Path) -> None:
    table = tapveil.open(weeks(tmp_path, 1)).table("on_location")
    monday = table.where(date="2025-03-03").rows()
    for value in (FIRST, datetime(2025, 3, 3), np.datetime64("2025-03-03"), np.datetime64("2025-03-03T00:00", "ns")):
        assert table.where(date=value).rows() == monday  # type: ignore[arg-type]
    assert table.where(date=np.array(["2025-03-03"], "datetime64[D]")).rows() == table.where(date=["2025-03-03"]).rows()
    for wrong in (3, None):
        with pytest.raises(ReaderError, match=f"there is no place `{wrong}` in the folder"):
            table.where(tap_on_location=wrong)  # type: ignore[arg-type]


def test_what_is_asked_in_a_wrong_way_is_a_readers_error(tmp_path: Path) -> None:
    folders = weeks(tmp_path, 1)
    table = tapveil.open(folders).table("on_location")
    wrong: list[Any] = [
        lambda: tapveil.open(3),  # type: ignore[call-overload]
        lambda: table.mean(over="week"),  # type: ignore[arg-type]
        lambda: table.minus(3),  # type: ignore[arg-type]
        lambda: table.share(of="total"),  # type: ignore[arg-type]
    ]
    for ask in wrong:
        with pytest.raises(ReaderError):
            ask()
    assert len(tapveil.open(iter(folders)).days) == 7  # type: ignore[call-overload]


def test_sums_of_sums_are_the_sums(tmp_path: Path) -> None:
    table = tapveil.open(weeks(tmp_path, 3)).table("on_location")
    once, twice = table.sum(by="mode").rows(), table.sum(by=["mode", "date"]).sum(by="mode").rows()
    for ours, theirs in zip(twice, once, strict=True):
        assert ours["count"] == theirs["count"]
        assert ours["low"] <= theirs["low"] + 1
        assert ours["high"] >= theirs["high"] - 1
    places = table.sum(by=["tap_on_location", "date"]).sum(by="date").rows()
    assert all(row["count"] is None for row in places), "nobody knows how many places there are"


def test_sums_of_some_days_are_those_of_the_folders(tmp_path: Path) -> None:
    """Taken from the table of totals, of which only the same days count."""
    paths = weeks(tmp_path, 3)
    table = tapveil.open(paths).table("on_location")
    for week, path in enumerate(paths):
        first, last = days_of(FIRST + week * WEEK)[::6]
        ours, theirs = table.between(first, last).sum(by="mode"), tapveil.open(path).table("on_location").sum(by="mode")
        (row,), (own,) = ours.rows(), theirs.rows()
        assert (row["count"], row["listed"], row["cells"]) == (own["count"], own["listed"], own["cells"])
        assert abs(row["low"] - own["low"]) <= 0.1 * (own["high"] - own["low"])
        assert abs(row["high"] - own["high"]) <= 0.1 * (own["high"] - own["low"])
    before, after = (table.between(*days_of(FIRST + week * WEEK)[::6]).sum(by="mode") for week in (0, 1))
    assert after.minus(before).rows()[0]["count"] == after.rows()[0]["count"] - before.rows()[0]["count"]
    assert table.between("2025-03-10", "2025-03-16").sum(by="date").mean().rows()[0]["days"] == 7


def test_days_of_which_nothing_is_published_are_no_days_of_its_tables(tmp_path: Path) -> None:
    """A plan may state a month, and its trips be of two weeks: means are over the days that have numbers."""
    folder = week_folder(tmp_path / "w", {"Central": [900] * 7, "Quay": [0, 0, *[700] * 5]}, FIRST)
    manifest = json.loads((folder / "privacy.json").read_text(encoding="utf-8"))
    manifest["covers"]["last_day"] = "2025-04-20"
    (folder / "privacy.json").write_text(json.dumps(manifest), encoding="utf-8")
    series, alone = tapveil.open([folder]), tapveil.open(folder)
    assert len(series.days) == 49
    for opened in (series, tapveil.open(series.write(tmp_path / "series"))):
        for name in ("on_location", "total"):
            assert opened.table(name).days == alone.table(name).days == days_of(FIRST)
            means = [str(each.table(name).mean(over="date").rows()) for each in (opened, alone)]
            assert means[0] == means[1]
    quay = series.table("on_location").where(tap_on_location="Quay").mean(over="date").rows()[0]
    assert quay["days"] == 7, "a day on which others have numbers counts"
    assert math.isnan(quay["mean"])


def test_a_release_that_another_corrects_is_not_in_the_series(tmp_path: Path) -> None:
    """It was withdrawn: the mean of it and its correction would be of neither."""
    for name, changes in (("wrong", {}), ("right", {"release_id": "7" * 32, "corrects": "5" * 32})):
        shutil.copytree(GOLDEN / "3g" / "gaussian", tmp_path / name)
        manifest = json.loads((tmp_path / name / "privacy.json").read_text(encoding="utf-8"))
        manifest |= {"release_id": "5" * 32, **changes}
        (tmp_path / name / "privacy.json").write_text(json.dumps(manifest), encoding="utf-8")
    wrong, right = tmp_path / "wrong", tmp_path / "right"
    series = tapveil.open([wrong, right])
    assert ([each.path for each in series.folders], [each.path for each in series.withdrawn]) == ([right], [wrong])
    assert "withdrawn, and left out for its correction: wrong" in repr(series)
    assert series.overlaps == {}
    assert set(series.table("on_time").cells["release"].tolist()) == {"right"}
    assert tapveil.open([wrong, right]).write(tmp_path / "series")
    assert "withdrawn" not in repr(tapveil.open(tmp_path / "series"))
