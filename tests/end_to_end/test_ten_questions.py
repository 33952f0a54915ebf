"""The ten questions of analysts, as their page answers them, next to the exact counts of generated trips."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import tapveil
from tests.conftest import write_csv
from tests.golden.make import seeded
from tests.support.commands import run
from tests.support.weeks import FIRST, WEEK, days_of

PAGE = Path(__file__).parents[2] / "docs" / "ten-questions.md"
STATIONS = ["Central", "Museum", "Harbour", "Park", "Mill", "Grown"]
HOURS = np.array([0.2, 0.2, 0.4, 0.3, 2, 4, 8, 14, 16, 8, 6, 5.5, 6, 5, 6.5, 8, 11, 13, 9, 6, 4, 3, 2, 1])
PLAN = """
[release]
name = "questions"
title = "Trips of a small city"
partition = ["mode", "date"]
[source]
path = "trips.csv"
first_day = 2025-03-03
last_day = 2025-03-16
[source.columns]
mode = "mode"
date = "day"
tap_on_time = "time"
tap_on_location = "from"
tap_off_location = "to"
[places]
path = "places.csv"
[coarsen]
time_minutes = 60
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 8
delta = 1e-6
"""
TABLES = {
    "total": "[]",
    "on_time": '["tap_on_time"]',
    "on_location": '["tap_on_location"]',
    "on_time_location": '["tap_on_time", "tap_on_location"]',
    "od": '["tap_on_location", "tap_off_location"]',
}
Row = tuple[str, str, str, str, str]
DAYS = days_of(FIRST, 14)
WEEKDAYS = [day for day in DAYS if date.fromisoformat(day).weekday() < 5]


def trips() -> list[Row]:
    """Two weeks of trips; one station has a quarter more in the second, and one has a trip a day."""
    random, rows = np.random.default_rng(7), list[Row]()
    for number, day in enumerate(DAYS):
        for mode, of in (("train", 1.0), ("ferry", 0.2)):
            for place, station in enumerate(STATIONS):
                level = of * WEEK[number % 7] * 900 / (1 + place / 2)
                level *= 1.25 if station == "Grown" and number > 6 else 1
                many = int(random.poisson(level))
                hours = random.choice(24, many, p=HOURS / HOURS.sum())
                ends = random.choice(len(STATIONS), many, p=np.arange(6, 0, -1) / 21)
                rows += [
                    (mode, day, f"{hour:02d}:30", station, STATIONS[end])
                    for hour, end in zip(hours.tolist(), ends.tolist(), strict=True)
                ]
        rows.append(("train", day, "12:30", "Quiet Halt", "Central"))
    return rows


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return trips()


@pytest.fixture(scope="module")
def folder(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("questions")
    write_csv(home / "trips.csv", rows, ("mode", "day", "time", "from", "to"))
    points = [(name, 1 + at / 100, 2 + at / 50) for at, name in enumerate([*STATIONS, "Quiet Halt"])]
    places = [(name, mode, *point) for name, *point in points for mode in ("ferry", "train")]
    write_csv(home / "places.csv", places, ("name", "mode", "latitude", "longitude"))
    tables = "".join(f'[[table]]\nname = "{name}"\ncolumns = {columns}\n' for name, columns in TABLES.items())
    (home / "plan.toml").write_text(PLAN + tables, encoding="utf-8")
    with seeded("ten questions"):  # one interval in twenty misses: not today
        tapveil.release(tapveil.Plan.read(home / "plan.toml"), home / "published", in_ledger=False)
    before = Path.cwd()
    os.chdir(home)
    yield home
    os.chdir(before)


class Answers:
    """What the blocks of the page say."""

    def __init__(self) -> None:
        text = PAGE.read_text(encoding="utf-8")
        start, *questions = re.split(r"^## \d+\. .*$", text, flags=re.MULTILINE)
        self._known: dict[str, Any] = {}
        exec(self._blocks(start, "python")[0], self._known)  # noqa: S102 (the page's own code)
        self._questions = questions
        assert len(questions) == 10

    @staticmethod
    def _blocks(text: str, language: str) -> list[str]:
        return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)

    def python(self, number: int) -> Any:
        for block in self._blocks(self._questions[number - 1], "python"):
            exec(block, self._known)  # noqa: S102
        return self._known["answer"]

    def sql(self, number: int) -> list[tuple[Any, ...]]:
        (query,) = self._blocks(self._questions[number - 1], "sql")
        found = duckdb.sql(query)
        return found.fetchall() if found is not None else []

    def console(self, number: int, home: Path) -> None:
        for block in self._blocks(self._questions[number - 1], "console"):
            done = run(*block.strip().removeprefix("$ tapveil ").split(), cwd=home)
            assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def answers(folder: Path) -> Answers:
    return Answers()


def test_the_busiest_station(answers: Answers, rows: list[Row]) -> None:
    true = Counter(row[3] for row in rows if row[0] == "train" and row[2] == "08:30" and row[1] in WEEKDAYS)
    ((busiest, number),) = true.most_common(1)
    answer, ((name, mean),) = answers.python(1), answers.sql(1)
    assert answer["tap_on_location"] == name == busiest
    assert answer["noise_low"] <= number / 10 <= answer["noise_high"]
    assert answer["mean"] == pytest.approx(mean)


def test_the_profiles_of_weekdays_and_weekends(answers: Answers, rows: list[Row]) -> None:
    within = []
    sql = {(hour, weekend): (mean, days) for hour, weekend, mean, days in answers.sql(2)}
    for weekend, frame in enumerate(answers.python(2)):
        chosen = [day for day in DAYS if (day not in WEEKDAYS) == weekend]
        true = Counter(row[2][:2] for row in rows if row[0] == "train" and row[1] in chosen)
        for row in frame.rows():
            exact = true[row["tap_on_time"][:2]] / len(chosen)
            within.append(row["noise_low"] <= exact <= row["noise_high"])
            mean, days = sql[row["tap_on_time"], bool(weekend)]
            if days == len(chosen):
                assert row["mean"] == pytest.approx(mean)
            else:
                assert np.isnan(row["mean"])
    assert len(within) > 30
    assert np.mean(within) >= 0.9


def test_a_small_station(answers: Answers) -> None:
    answer, ((_, at_most),) = answers.python(3), answers.sql(3)
    assert answer.count is None
    assert answer.low <= 1 <= answer.high == at_most


def test_what_changed_between_two_weeks(answers: Answers, rows: list[Row]) -> None:
    changes = answers.python(4)
    found = {row["tap_on_location"]: row for row in changes.rows()}
    sql = dict(answers.sql(4))
    assert found["Grown"]["real"]
    assert [row["tap_on_location"] for row in changes.adjusted().rows() if row["real"]] == ["Grown"]
    for name, row in found.items():
        weeks = Counter(each[1] >= "2025-03-10" for each in rows if each[0] == "train" and each[3] == name)
        assert row["noise_low"] <= (weeks[True] - weeks[False]) / 7 <= row["noise_high"]
        assert row["mean"] == pytest.approx(sql[name])


def test_the_largest_flow(answers: Answers, rows: list[Row]) -> None:
    true = Counter((row[3], row[4]) for row in rows if row[0] == "train")
    ((largest, number),) = true.most_common(1)
    answer, ((start, end, listed),) = answers.python(5), answers.sql(5)
    assert (answer["tap_on_location"], answer["tap_off_location"]) == (start, end) == largest
    assert answer["listed"] == listed
    assert answer["low"] <= number <= answer["high"]


def test_the_map_and_what_is_taken_away(answers: Answers, folder: Path) -> None:
    answers.console(6, folder)
    assert {path.name for path in (folder / "files").iterdir()} == {"flows.csv", "locations.csv", "questions.gpkg"}
    assert {name for name, _ in answers.sql(6)} == {*STATIONS, "Quiet Halt"}
    answers.console(10, folder)
    names = {f"{name}.csv" for name in TABLES} | {"questions.xlsx"}
    assert {path.name for path in (folder / "take-away").iterdir()} == names
    answers.sql(10)
    ours, theirs = ((folder / name).read_text("utf-8-sig") for name in ("take-away/total.csv", "take-away.csv"))
    assert ours == theirs


def test_the_totals_of_modes(answers: Answers, rows: list[Row]) -> None:
    true, sql = Counter(row[0] for row in rows), dict(answers.sql(7))
    for row in answers.python(7):
        assert row["count"] == sql[row["mode"]]
        assert row["low"] <= true[row["mode"]] <= row["high"]


def test_the_share_of_the_peak(answers: Answers, rows: list[Row]) -> None:
    own = [row for row in rows if row[0] == "train" and row[1] in WEEKDAYS]
    true = sum(row[2] in ("07:30", "08:30") for row in own) / len(own)
    answer, ((share,),) = answers.python(8), answers.sql(8)
    assert answer["noise_low"] <= true <= answer["noise_high"]
    assert answer["low"] <= HOURS[7:9].sum() / HOURS.sum() <= answer["high"]
    assert answer["share"] == pytest.approx(share)


def test_the_quietest_hour(answers: Answers, rows: list[Row]) -> None:
    true = Counter(row[2][:2] for row in rows if row[0] == "train" and row[1] in WEEKDAYS and "07" <= row[2] < "19")
    quietest, number = min(true.items(), key=lambda each: each[1])
    answer, ((hour, mean),) = answers.python(9), answers.sql(9)
    assert answer["tap_on_time"][:2] == hour[:2] == quietest
    assert answer["noise_low"] <= number / 10 <= answer["noise_high"]
    assert answer["mean"] == pytest.approx(mean)
