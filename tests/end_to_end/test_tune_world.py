"""Tuning a known world: the next release has smaller errors at the same promise, chosen from the folder alone."""

from __future__ import annotations

import json
import os
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.errors import FolderError, PlanError
from tapveil.tuning.every_cell import TunedWorld
from tests.support.commands import command
from tests.support.journeys import PLAN, journeys

KEYS = {
    "od": ["date", "tap_on_location", "tap_off_location"],
    "origin_time": ["date", "tap_on_time", "tap_on_location"],
}
LOPSIDED = PLAN.replace('name = "origin_time"', 'name = "origin_time"\nweight = 6')


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("city")
    journeys(folder)
    return folder


@pytest.fixture(scope="module")
def published(city: Path) -> Path:
    """Most of the budget for the times, and little for the pairs of places, which have more cells."""
    return released(LOPSIDED, city, "out")


def released(text: str, city: Path, name: str) -> Path:
    """With noise from a seed: how much is gained depends on the draw, from a quarter down to a few hundredths."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", np.random.default_rng(0).bytes)
        return tapveil.release(tapveil.Plan.parse(text, base=city), city / name, in_ledger=False).path


@pytest.fixture(scope="module")
def tuned(published: Path) -> TunedWorld:
    found = tapveil.tune(published)
    assert isinstance(found, TunedWorld)
    return found


def errors(city: Path, folder: Path) -> dict[str, float]:
    """The sum of all errors of estimates, as a share of all trips."""
    lines = (city / "trips.csv").read_text(encoding="utf-8").splitlines()[1:]
    exact: dict[str, dict[tuple[str, ...], int]] = {name: {} for name in KEYS}
    for mode, day, time, start, end in (line.split(",") for line in lines):
        bin_of = f"{int(time[:2]) // 2 * 2:02d}:00"
        for name, cell in {"od": (mode, day, start, end), "origin_time": (mode, day, bin_of, start)}.items():
            exact[name][cell] = exact[name].get(cell, 0) + 1
    found = {}
    for name, columns in KEYS.items():
        rows = tapveil.open(folder).estimate(columns).to_arrow().to_pylist()
        off, seen = 0, 0
        for row in rows:
            key = tuple(str(row[column]) for column in ["mode", *columns])
            true = exact[name].get(key, 0)
            off, seen = off + abs(row["count"] - true), seen + true
        found[name] = (off + len(lines) - seen) / len(lines)
    return found


def test_expected_errors_fall_and_so_do_those_of_the_next_release(
    city: Path, published: Path, tuned: TunedWorld
) -> None:
    assert tuned.improves
    assert tuned.after < 0.9 * tuned.before
    text = tapveil.next_plan(LOPSIDED, tuned)
    again = released(text, city, "again")
    before, after = (sum(errors(city, folder).values()) / len(KEYS) for folder in (published, again))
    assert after < 0.95 * before


def test_expected_errors_are_near_the_true_ones(city: Path, published: Path, tuned: TunedWorld) -> None:
    true = errors(city, published)
    expected = {table.name: table.errors[0] for table in tuned.tables if table.errors}
    for name, error in true.items():
        assert 0.5 * error < expected[name] < 2 * error


def test_the_next_plan_keeps_the_promise_and_names_the_release(published: Path, tuned: TunedWorld) -> None:
    old, new = tapveil.Plan.parse(LOPSIDED), tapveil.Plan.parse(tapveil.next_plan(LOPSIDED, tuned))
    assert new.guarantee.loss == old.guarantee.loss
    assert new.privacy.chosen_from == json.loads((published / "privacy.json").read_text())["release_id"]
    assert new.privacy.mechanism == "world"
    weights = {table.name: table.weight for table in new.table}
    assert weights == {table.name: table.weight for table in tuned.tables}
    old_share, new_share = (
        Fraction(each["od"] or 1) / (each["origin_time"] or 1)
        for each in ({table.name: table.weight for table in plan.table} for plan in (old, new))
    )
    assert new_share > 2 * old_share


def test_no_measurement_gets_twice_the_noise(tuned: TunedWorld) -> None:
    for table in tuned.tables:
        assert table.bounds[1] <= 2 * table.bounds[0] + 1


def test_good_weights_are_kept(city: Path, tuned: TunedWorld, tmp_path: Path) -> None:
    text = tapveil.next_plan(LOPSIDED, tuned)
    again = tapveil.tune(tapveil.release(tapveil.Plan.parse(text, base=city), tmp_path / "out", in_ledger=False).path)
    assert isinstance(again, TunedWorld)
    assert again.after > 0.9 * again.before


def test_the_command_says_what_changes_and_writes_the_plan(city: Path, published: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(LOPSIDED, encoding="utf-8")
    asked = ["tune", "--from", str(published)]
    done = command(tmp_path, [*asked, "--plan", "plan.toml", "-o", "next.toml"])
    assert done.code == 0, done.err
    assert "Expected error, mean over the tables" in done.out
    assert "chosen_from" in (tmp_path / "next.toml").read_text(encoding="utf-8")
    told = json.loads(command(tmp_path, [*asked, "--json"]).out)
    assert told["expected_error"]["after"] < told["expected_error"]["before"]


def test_a_plan_with_thresholds_cannot_be_tuned_from_every_cell(tuned: TunedWorld) -> None:
    other = LOPSIDED.replace('mechanism = "world"', 'mechanism = "gaussian"').replace(
        "[world]\nholidays = [2025-03-10]\n", ""
    )
    with pytest.raises(PlanError, match="a plan of every cell can only be tuned from a folder with every cell"):
        tapveil.next_plan(other, tuned)


def test_a_missing_cell_is_refused(published: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    table = pq.read_table(copy / "measurements" / "od.parquet")
    pq.write_table(table.slice(1), copy / "measurements" / "od.parquet")
    with pytest.raises(FolderError, match="the counts of table od in "):
        tapveil.tune(copy)
