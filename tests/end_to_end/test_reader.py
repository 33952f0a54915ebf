"""A published folder, read by someone who has nothing else: tables as other libraries have them, and questions."""

from __future__ import annotations

import csv
import shutil
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.errors import ReaderError
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import spread
from tapveil.privacy.intervals import MISS, interval
from tapveil.published.folder import Folder
from tapveil.published.frame import Estimate, Frame
from tests.conftest import BY_CARD, OPAL_COLUMNS, WITH_TOTAL, levelled_plan, opal_plan, write_csv

MONDAY, TUESDAY = "2025-03-03", "2025-03-04"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("read")
    return tapveil.release(levelled_plan(home), home / "published", in_ledger=False).path


@pytest.fixture
def opened(folder: Path) -> Folder:
    return tapveil.open(folder)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def texts(frame: Frame) -> list[dict[str, str]]:
    return [{key: str(value) for key, value in row.items()} for row in frame.rows()]


def test_what_is_read_is_what_the_files_say(folder: Path, opened: Folder) -> None:
    assert opened.tables == [claim.name for claim in opened.manifest.tables]
    assert len(opened.tables) == 9
    for name in opened.tables:
        assert texts(opened.table(name)) == rows(folder, f"data/{name}")
        assert texts(opened.table(name, "consistent")) == rows(folder, f"consistent/{name}")
    for name in ("on_time", "on_location", "both"):
        assert texts(opened.table(name, "finest")) == rows(folder, f"finest/{name}")
    assert texts(opened.totals) == rows(folder, "data/total"), "as published, like any other number"
    assert texts(opened.rest("both", "both-hours")) == rows(folder, "consistent/both.by.both-hours")
    assert texts(opened.rest("on_time-peaks", "total")) == rows(folder, "consistent/on_time-peaks.by.total")


def test_as_arrow_and_duckdb(opened: Folder) -> None:
    frame = opened.table("both")
    table = frame.to_arrow()
    assert table.schema.field("date").type == pa.date32()
    assert [table.schema.field(name).type for name in ("count", "low", "high")] == [pa.int64()] * 3
    assert table.column_names == ["mode", "date", "tap_on_time", "tap_on_location", "count", "low", "high"]
    assert set(table.column("date").to_pylist()) == {date(2025, 3, 3), date(2025, 3, 4)}
    relation = frame.to_duckdb()
    total = relation.aggregate("sum(count)").fetchall()[0][0]
    assert total == sum(row["count"] for row in frame.rows())


def test_as_pandas(opened: Folder) -> None:
    pytest.importorskip("pandas")
    frame = opened.table("on_time").to_pandas()
    assert list(frame["count"]) == opened.table("on_time").cells["count"].tolist()


def test_as_polars(opened: Folder) -> None:
    pytest.importorskip("polars")
    frame = opened.table("on_time").to_polars()
    assert frame["count"].to_list() == opened.table("on_time").cells["count"].tolist()


def test_a_library_that_is_not_there_is_named(opened: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ReaderError, match=r"polars is not installed: `pip install polars`, or use rows\(\)"):
        opened.table("on_time").to_polars()


# --- questions --------------------------------------------------------------------------------------------------------


def test_cells_that_are_there_and_cells_that_are_not(folder: Path, opened: Folder) -> None:
    frame = opened.table("both")
    first = rows(folder, "data/both")[0]
    key = {name: first[name] for name in frame.keys}
    there = frame.cell(**key)
    assert there == Estimate(int(first["count"]), int(first["low"]), int(first["high"]))
    assert str(there) == f"{there.count} (between {there.low} and {there.high})"
    hidden = {**key, "mode": "bus", "tap_on_location": "東門"}
    absent = frame.cell(**hidden)
    assert absent == Estimate(None, 0, interval(opened.mechanism("both"), MISS).absent)
    assert str(absent) == f"not published: between 0 and {absent.high}"
    with pytest.raises(ReaderError, match="say which date and tap_on_time: a cell has a value of each"):
        frame.cell(mode="bus", tap_on_location="2000")
    with pytest.raises(ReaderError, match="only the published version says"):
        opened.table("both", "consistent").cell(**hidden)


def test_a_time_or_a_part_that_cannot_be_is_no_cell_that_is_hidden(opened: Folder) -> None:
    """An empty answer would look like a small number."""
    with pytest.raises(ReaderError, match="there is no mode `Bus`: did you mean `bus`"):
        opened.table("on_time").cell(mode="Bus", date=MONDAY, tap_on_time="08:00")
    with pytest.raises(ReaderError, match="there is no tap_on_time `08:15`"):
        opened.table("on_time").cell(mode="bus", date=MONDAY, tap_on_time="08:15")


def test_a_name_that_is_nowhere_in_the_folder_is_no_small_place(folder: Path, opened: Folder, tmp_path: Path) -> None:
    part = {"mode": "train", "date": MONDAY}
    for version in ("published", "consistent"):
        with pytest.raises(ReaderError, match="there is no place `Centrl` in the folder: did you mean `Central`"):
            opened.table("on_location", version).cell(**part, tap_on_location="Centrl")
    with pytest.raises(ReaderError, match="there is no place `South` in the folder"):
        opened.table("on_location").cell(**part, tap_on_location="South")  # a region, which this table does not have
    assert opened.table("on_location-region").where(**part, tap_on_location="South").rows()
    with pytest.raises(ReaderError, match="there is no place `Central` in the folder"):
        opened.table("on_location-region").where(**part, tap_on_location="Central")
    with pytest.raises(ReaderError, match="there is no place `Nowhere` in the folder"):
        opened.table("on_location").where(**part).filled("tap_on_location", ["Central", "Nowhere"])
    # A place that a public list names is one, also where none of its cells is published.
    shutil.copytree(folder, tmp_path / "copy")
    listed = '{"type":"FeatureCollection","features":[{"properties":{"name":"Quiet Halt"}}]}'
    (tmp_path / "copy" / "areas.geojson").write_text(listed, encoding="utf-8")
    quiet = tapveil.open(tmp_path / "copy").table("on_location").cell(**part, tap_on_location="Quiet Halt")
    assert quiet == Estimate(None, 0, interval(opened.mechanism("on_location"), MISS).absent)
    (tmp_path / "copy" / "areas.geojson").write_text('{"features":[1]}', encoding="utf-8")
    with pytest.raises(ReaderError, match="is damaged: `tapveil verify` says where"):
        tapveil.open(tmp_path / "copy").table("on_location").cell(**part, tap_on_location="Quiet Halt")


def test_where_takes_days_and_leaves_out_what_is_settled(opened: Folder) -> None:
    monday = opened.table("on_time").where(mode="train", date=date(2025, 3, 3))
    assert monday.keys == ("tap_on_time",)
    assert monday.columns == ["tap_on_time", "count", "low", "high"]
    assert 0 < len(monday) < len(opened.table("on_time"))
    assert texts(monday) == texts(opened.table("on_time").where(mode="train").where(date=MONDAY))
    with pytest.raises(ReaderError, match="there is no column `mod`: did you mean `mode`"):
        opened.table("on_time").where(mod="train")
    with pytest.raises(ReaderError, match="`count` is no key column"):
        opened.table("on_time").where(count="40")


def test_sums_carry_what_is_not_listed_from_a_coarser_table(opened: Folder) -> None:
    frame = opened.table("on_location")
    by_mode = {row["mode"]: row for row in frame.sum(by=["mode"]).rows()}
    for mode in ("bus", "train"):
        own, totals = frame.where(mode=mode), opened.totals.where(mode=mode)
        row = by_mode[mode]
        assert row["cells"] == len(own)
        assert row["listed"] == sum(own.cells["count"].tolist())
        assert row["count"] == sum(totals.cells["count"].tolist()), "the totals have every trip"
        assert row["other"] == max(row["count"] - row["listed"], 0)
        noise = spread({opened.mechanism("total"): len(totals)}, MISS)
        assert row["high"] == row["count"] + noise
        assert row["low"] <= row["count"] - noise
    (everything,) = frame.sum().rows()
    assert everything["count"] == sum(row["count"] for row in by_mode.values())
    (hidden,) = frame.where(mode="bus", tap_on_location="東門").sum().rows()
    absent = interval(opened.mechanism("on_location"), MISS).absent
    assert hidden == {"count": 0, "low": 0, "high": 2 * absent, "listed": 0, "other": 0, "cells": 0}, "of two days"
    with pytest.raises(ReaderError, match="several sorts of numbers"):
        opened.rest("both", "both-hours").sum()
    with pytest.raises(ReaderError, match="there is no mode `Train`: did you mean `train`"):
        opened.total(mode="Train")
    with pytest.raises(ReaderError, match="not added up"):
        frame.where(mode="bus").minus(frame.where(mode="train")).sum()
    with pytest.raises(ReaderError, match="there is no column `day`"):
        frame.sum(by=["day"])


def test_a_sum_of_cells_nobody_can_count_has_no_upper_end() -> None:
    """The paper's plan has no totals: how much is in places that are not listed, nobody knows."""
    opened = tapveil.open(Path(__file__).parents[1] / "golden" / "3" / "paper")
    places = opened.table("on_location").sum(by="mode").rows()
    assert all(row["count"] is None and row["high"] is None and row["other"] is None for row in places)
    assert all(0 < row["low"] <= row["listed"] for row in places)
    for row in opened.table("on_time").sum(by="mode").rows():
        times = len(opened.manifest.listed_times(opened.manifest.tables[0])) * len(opened.table("on_time").days)
        absent = interval(opened.mechanism("on_time"), MISS).absent
        noise = spread({opened.mechanism("on_time"): row["cells"]}, MISS)
        assert row["high"] == row["listed"] + noise + (times - row["cells"]) * absent, "all bins are known"


def test_sums_of_adjusted_numbers_add_up_their_intervals(opened: Folder) -> None:
    consistent, totals = opened.table("on_location", "consistent"), opened.table("total", "consistent")
    (row,) = consistent.sum().rows()
    assert {name: row[name] for name in ("count", "low", "high")} == {
        name: sum(totals.cells[name].tolist()) for name in ("count", "low", "high")
    }
    assert row["listed"] == sum(consistent.cells["count"].tolist()) == row["count"] - row["other"]


def test_differences_of_days(opened: Folder) -> None:
    table = opened.table("on_location").where(mode="train")
    monday, tuesday = (table.where(date=day) for day in (MONDAY, TUESDAY))
    found = {row["tap_on_location"]: row for row in monday.minus(tuesday).rows()}
    ours, theirs = ({row["tap_on_location"]: row for row in each.rows()} for each in (monday, tuesday))
    assert found.keys() == ours.keys() | theirs.keys()
    for place in ours.keys() & theirs.keys():
        row = found[place]
        assert row["count"] == ours[place]["count"] - theirs[place]["count"]
        assert row["noise_high"] - row["count"] == row["count"] - row["noise_low"]
        assert row["noise_high"] - row["count"] >= spread({opened.mechanism("on_location"): 2}, MISS)
        assert row["real"] is None, "two days do not tell how days differ"
    without = Frame({name: each[:0] for name, each in tuesday.cells.items()}, tuesday.keys, tuesday.mechanism)
    for row in monday.minus(without).rows():
        own = ours[row["tap_on_location"]]
        assert row["count"] is None
        assert row["noise_low"] <= own["low"] - interval(opened.mechanism("on_location"), MISS).absent
        assert row["noise_high"] >= own["high"]
    with pytest.raises(ReaderError, match="the tables have different columns"):
        monday.minus(opened.table("on_location"))
    with pytest.raises(ReaderError, match="are of published numbers, or of their sums"):
        monday.minus(opened.table("on_location", "consistent").where(mode="train", date=TUESDAY))


def test_a_profile_has_every_bin(opened: Folder) -> None:
    profile = opened.profile("tap_on_time", mode="train", date=MONDAY)
    found = profile.rows()
    assert [row["tap_on_time"] for row in found] == [
        f"{hour:02d}:{half}" for hour in range(24) for half in ("00", "30")
    ]
    listed = {row["tap_on_time"]: row for row in opened.table("on_time").where(mode="train", date=MONDAY).rows()}
    absent = interval(opened.mechanism("on_time"), MISS).absent
    for row in found:
        assert row["published"] == (row["tap_on_time"] in listed)
        expected = listed.get(row["tap_on_time"], {"count": None, "low": 0, "high": absent})
        assert all(row[name] == expected[name] for name in ("count", "low", "high"))
    places = opened.profile("tap_on_location", mode="train", date=MONDAY)
    assert texts(places) == texts(opened.table("on_location").where(mode="train", date=MONDAY))
    at = opened.profile("tap_on_time", mode="train", date=MONDAY, tap_on_location="Central")
    assert len(at) == 48
    with pytest.raises(ReaderError, match="say which date: a profile is that of one part"):
        opened.profile("tap_on_time", mode="train")
    with pytest.raises(ReaderError, match="no table has just the columns tap_off_time"):
        opened.profile("tap_off_time", mode="train", date=MONDAY)


def test_totals_and_rests_fit_together(opened: Folder) -> None:
    parts = opened.totals.rows()
    assert opened.total(mode="train").count == sum(row["count"] for row in parts if row["mode"] == "train")
    one = opened.total(mode="train", date=MONDAY)
    assert one == opened.table("total").cell(mode="train", date=MONDAY)
    assert one.count is not None
    assert one.low < one.count < one.high
    for row in opened.rest("on_location", "on_location-region").rows():
        assert row["listed"] + row["other"] == row["total"]
        assert row["other_low"] <= row["other"] <= row["other_high"]
    with pytest.raises(ReaderError, match=r"has no consistent version of `on_time.by.both`"):
        opened.rest("on_time", "both")


def test_the_finest_is_read_as_it_is(opened: Folder) -> None:
    finest = opened.table("both", "finest")
    assert finest.keys == ("mode", "date", "tap_on_time", "tap_on_time_until", "tap_on_location", "table", "row")
    assert set(finest.cells["row"].tolist()) == {"cell", "rest"}
    with pytest.raises(ReaderError, match="has no finest version of `both-hours`"):
        opened.table("both-hours", "finest")


def test_it_prints_what_it_is(opened: Folder) -> None:
    shown = repr(opened)
    assert "Boardings at several levels" in shown
    assert "both-region: tap_on_time × tap_on_location" in shown
    frame = opened.table("both")
    assert f"… and {len(frame) - 20:,} more rows" in repr(frame)
    assert repr(frame).splitlines()[0].split() == frame.columns


# --- folders of other shapes ------------------------------------------------------------------------------------------


def test_cards_have_no_consistent_version_and_say_why(tmp_path: Path) -> None:
    release = tapveil.release(levelled_plan(tmp_path, **BY_CARD), tmp_path / "published", in_ledger=False)
    opened = tapveil.open(release.path)
    assert not (release.path / "consistent").exists()
    why = "has no consistent version: a card counts once in each cell, so cells of cards do not add up"
    for ask in (lambda: opened.table("total", "consistent"), lambda: opened.rest("on_time", "total")):
        with pytest.raises(ReaderError, match=why):
            ask()
    assert texts(opened.totals) == rows(release.path, "data/total"), "the cards of each part"
    assert "counts of cards" in repr(opened)
    assert set(opened.table("on_time", "finest").cells["row"].tolist()) <= {"cell", "around"}


def test_the_opal_layout_reads_as_its_tables(tmp_path: Path) -> None:
    trips = [("1", "2016-08-08", "train", "08:00", "Central", "08:20", "Town Hall")] * 300
    write_csv(tmp_path / "trips.csv", [*trips, *[("2", "2016-08-09", "bus", "09:00", "1001", "", "")] * 200])
    plan = opal_plan(tmp_path, **{"# layout": "layout"})
    opened = tapveil.open(tapveil.release(plan, tmp_path / "published", in_ledger=False).path)
    assert opened.tables == list(plan.tables)
    frame = opened.table("on_time_location")
    assert frame.columns == ["mode", "date", "tap_on_time", "tap_on_location", "count", "low", "high"]
    keys = [tuple(row.values())[:4] for row in frame.rows()]
    assert keys == [("bus", "20160809", "09:00", "2000"), ("train", "20160808", "08:00", "Central")]
    found = frame.cell(mode="train", date="20160808", tap_on_time="08:00", tap_on_location="Central")
    assert found.count is not None
    assert abs(found.count - 300) < 60
    with pytest.raises(ReaderError, match=r"has no totals: its plan has no table `total`, with columns = \[\]"):
        opened.total()
    with pytest.raises(ReaderError, match="there is no table `total`"):
        opened.rest("on_time", "total")


def test_names_with_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    names = ["Vesper Quay, No. 3", 'The "Folly"', "Two\nLines", "東門", "=1+1", "\x1b[31mred"]
    trips = [("1", "2016-08-08", "train", "08:00", name, "08:20", "X") for name in names for _ in range(200)]
    columns = dict(zip(OPAL_COLUMNS, zip(*trips, strict=True), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "trips.parquet")
    plan = opal_plan(tmp_path, "trips.parquet")
    opened = tapveil.open(tapveil.release(plan, tmp_path / "published", in_ledger=False).path)
    for version in ("published", "consistent"):
        frame = opened.table("on_location", version)
        assert sorted(frame.cells["tap_on_location"].tolist()) == sorted(names)
        assert "\x1b" not in repr(frame), "what strangers wrote does not steer a screen"


def test_a_folder_with_nothing_in_it(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips.csv", [("1", "2016-08-08", "ferry", "08:00", "Quay", "08:20", "Pier")] * 3)
    plan = opal_plan(tmp_path, **WITH_TOTAL)
    opened = tapveil.open(tapveil.release(plan, tmp_path / "published", in_ledger=False).path)
    for version in ("published", "consistent"):
        assert len(opened.table("on_time", version)) == 0
        assert len(opened.table("on_time", version).to_arrow()) == 0
        assert opened.table("on_time", version).sum().rows()[0]["count"] is None, "which is not zero"
    with pytest.raises(ReaderError, match="nothing is published of that"):
        opened.total()  # which is not zero


# --- what is no folder ------------------------------------------------------------------------------------------------


def test_what_is_no_published_folder_is_said_so(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match=r"it has no privacy\.json"):
        tapveil.open(tmp_path)
    with pytest.raises(ReaderError, match=r"it has no privacy\.json"):
        tapveil.open(tmp_path / "nowhere")
    with pytest.raises(ReaderError, match="is a file: name the folder"):
        tapveil.open(folder / "privacy.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[" * 100_000, '{"manifest_version": 9}', "\xff"])
def test_a_damaged_manifest_is_said_so(text: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "privacy.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ReaderError, match=r"its privacy\.json is damaged, or of another version"):
        tapveil.open(tmp_path / "copy")


def test_wrong_names_and_damaged_tables_are_said_so(folder: Path, opened: Folder, tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match=r"there is no table `on_tim`.*did you mean `on_time`"):
        opened.table("on_tim")
    with pytest.raises(ReaderError, match="there is no table `on_tim`"):
        opened.table("on_tim", "consistent")
    with pytest.raises(ReaderError, match="there is no version `best`: published, consistent or finest"):
        opened.table("on_time", "best")  # type: ignore[arg-type]
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "data" / "on_time.csv").write_bytes(b"mode,date\nbus")
    with pytest.raises(ReaderError, match="is damaged: `tapveil verify` says where"):
        tapveil.open(tmp_path / "copy").table("on_time")


def test_a_released_plan_and_what_is_opened_say_the_same(folder: Path, opened: Folder) -> None:
    plan = Plan.read(folder.parent / "plan.toml")
    for name, mechanism in plan.guarantee.mechanisms.items():
        assert interval(opened.mechanism(name), MISS) == interval(mechanism, MISS)
    assert opened.manifest.exact.loss == plan.guarantee.loss
