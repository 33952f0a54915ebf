"""The ten questions of analysts, as their page answers them, next to the exact counts of generated trips."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import tapveil
from tests.golden.make import seeded
from tests.support.commands import run
from tests.support.office import calculated
from tests.support.questions import DAYS, HOURS, STATIONS, TABLES, Row, published, trips
from tests.support.r import r_with

PAGE = Path(__file__).parents[2] / "docs" / "ten-questions.md"
CLOCK = [f"{hour:02d}:00" for hour in range(24)]
WEEKDAYS = [day for day in DAYS if date.fromisoformat(day).weekday() < 5]


ASKED = [("train", number) for number in range(1, 11)] + [("tram", number) for number in (1, 5, 9)]
"""On some days, some trams are not published: the same questions of them, by the same code."""
Key = tuple[str, int]
Flow = tuple[str, str]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return trips()


@pytest.fixture(scope="module")
def folder(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("questions")
    with seeded("five"):  # one interval in twenty misses: not today
        published(home, rows)
    before = Path.cwd()
    os.chdir(home)
    yield home
    os.chdir(before)


class Answers:
    """What the blocks of the page say."""

    def __init__(self) -> None:
        text = PAGE.read_text(encoding="utf-8")
        self._start, *self._questions = re.split(r"^## \d+\. .*$", text, flags=re.MULTILINE)
        assert len(self._questions) == 10
        self.known: dict[str, Any] = {}
        exec(self._blocks(self._start, "python")[0], self.known)  # noqa: S102 (the page's own code)
        duckdb.sql(self._blocks(self._start, "sql")[0])

    @staticmethod
    def _blocks(text: str, language: str) -> list[str]:
        return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)

    def blocks(self, key: Key, language: str) -> list[str]:
        """The code of a question, about a mode."""
        mode, number = key
        found = self._blocks(self._questions[number - 1], language)
        return [re.sub(r"([\"'])train\1", rf"\1{mode}\1", block) for block in found]

    def python(self, number: int, mode: str = "train") -> Any:
        for block in self.blocks((mode, number), "python"):
            exec(block, self.known)  # noqa: S102
        return self.known["answer"]

    def sql(self, number: int, mode: str = "train") -> list[tuple[Any, ...]]:
        (query,) = self.blocks((mode, number), "sql")
        found = duckdb.sql(query)
        return found.fetchall() if found is not None else []

    def r(self) -> dict[Key, Any]:
        """The answers of all blocks of R, by one process: it starts slowly."""
        lines = [*self._blocks(self._start, "r"), "answers <- list()"]
        for place, key in enumerate(ASKED, 1):
            lines += [*self.blocks(key, "r"), f"answers[[{place}]] <- answer"]
        lines.append("cat(jsonlite::toJSON(answers, auto_unbox = TRUE, digits = NA, na = 'null'))")
        Path("questions.R").write_text("\n".join(lines), encoding="utf-8")
        done = subprocess.run([r_with("jsonlite"), "questions.R"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return dict(zip(ASKED, json.loads(done.stdout), strict=True))

    def excel(self, book: Path) -> dict[Key, dict[str, Any]]:
        """The cells of all blocks for Excel: of each question, what is in its sheet."""
        typed = {"the stations": STATIONS, "the hours": CLOCK, "the hours from 07:00 to 18:00": CLOCK[7:19]}
        first = [date.fromisoformat(day) for day in DAYS[:7]]
        sheets = list[dict[str, str | Sequence[Any]]]()
        for key in ASKED:
            lines = [line.split(maxsplit=1) for block in self.blocks(key, "text") for line in block.splitlines()]
            said = {cells: text for cells, text in lines}
            sheets.append(
                {cells: text if text.startswith("=") else typed.get(text, first) for cells, text in said.items()}
            )
        return dict(zip(ASKED, calculated(book, sheets), strict=True))

    def console(self, number: int, home: Path) -> None:
        for block in self._blocks(self._questions[number - 1], "console"):
            done = run(*block.strip().removeprefix("$ tapveil ").split(), cwd=home)
            assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def answers(folder: Path) -> Answers:
    found = Answers()
    for number in (6, 10):
        found.console(number, folder)
    return found


@pytest.fixture(scope="module")
def r(answers: Answers) -> dict[Key, Any]:
    return answers.r()


@pytest.fixture(scope="module")
def excel(answers: Answers, folder: Path) -> dict[Key, dict[str, Any]]:
    return answers.excel(folder / "take-away" / "questions.xlsx")


def near(value: float, within: float, truth: float) -> bool:
    """Whether the truth is as near as is said, and what is said says something."""
    return 0 < within < max(0.2 * abs(value), 20) and abs(value - truth) <= within


def alike(found: dict[str, Any], own: dict[str, Any]) -> bool:
    """Whether R has the numbers of Python; nothing where Python has none."""
    plain = {key: None if isinstance(each, float) and np.isnan(each) else each for key, each in own.items()}
    return all(each == (pytest.approx(plain[key]) if plain[key] is not None else None) for key, each in found.items())


def several(found: Any) -> list[Any]:
    """A vector of R, which is a single value if it has one."""
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("number", range(1, 11))
def test_the_page_shows_what_python_prints(number: int, folder: Path) -> None:
    """Word for word; numbers as near as noise lets them be."""
    home, found = folder / f"printed-{number}", Answers()
    home.mkdir()
    (home / "published").symlink_to(folder / "published")
    for block in found.blocks(("train", number), "python"):
        said, shown = io.StringIO(), re.findall(r"^# ?(.*)$", block, re.MULTILINE)
        with contextlib.chdir(home), contextlib.redirect_stdout(said):
            exec(block, found.known)  # noqa: S102
        lines = [line.rstrip() for line in said.getvalue().splitlines()]
        assert [_words(line) for line in lines] == [_words(line) for line in shown], said.getvalue()
        numbers = [
            [float(each.replace(",", "")) for each in NUMBER.findall("\n".join(text))] for text in (lines, shown)
        ]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.05, abs=8)
        assert lines


NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def _words(line: str) -> list[str]:
    return NUMBER.sub("0", line).split()


def busiest_at_eight(rows: list[Row], mode: str = "train") -> tuple[str, float]:
    true = Counter(row[3] for row in rows if row[0] == mode and row[2] == "08:30" and row[1] in WEEKDAYS)
    ((busiest, number),) = true.most_common(1)
    return busiest, number / 10


@pytest.mark.parametrize(("mode", "not_told"), [("train", []), ("tram", ["Museum"])])
def test_the_busiest_station(mode: str, not_told: list[str], answers: Answers, rows: list[Row]) -> None:
    busiest, number = busiest_at_eight(rows, mode)
    answer, ((name, mean, within, days), *others) = answers.python(1, mode), answers.sql(1, mode)
    assert answer["tap_on_location"] == name == busiest
    assert answer["noise_low"] <= number <= answer["noise_high"]
    assert answer["mean"] == pytest.approx(mean)
    assert days == 10
    assert near(mean, within, number)
    assert answers.known["cannot_be_told"] == [row[0] for row in others if row[1] is None] == not_told


@pytest.mark.parametrize(("mode", "not_told"), [("train", []), ("tram", ["Museum"])])
def test_the_busiest_station_in_r_and_excel(
    mode: str, not_told: list[str], answers: Answers, r: dict[Key, Any], excel: dict[Key, Any], rows: list[Row]
) -> None:
    busiest, number = busiest_at_eight(rows, mode)
    found, sheet = r[mode, 1], excel[mode, 1]
    assert alike(found["busiest"][0], answers.python(1, mode))
    assert several(found["cannot_be_told"]) == not_told
    assert sheet["E1"] == busiest
    assert near(sheet["E2"], sheet["E3"], number)
    told = {sheet[f"A{at}"]: sheet[f"B{at}"] for at in range(2, 8)}
    assert {*not_told} <= {name for name, mean in told.items() if mean == "cannot be told"}


def profiles(rows: list[Row]) -> Counter[tuple[str, bool]]:
    """The mean of a weekday and of a day of the weekend, by hour."""
    found = Counter[tuple[str, bool]]()
    for row in rows:
        if row[0] == "train":
            weekend = row[1] not in WEEKDAYS
            found[f"{row[2][:2]}:00", weekend] += 1 / (4 if weekend else 10)  # type: ignore[assignment]
    return found


def test_the_profiles_of_weekdays_and_weekends(answers: Answers, rows: list[Row]) -> None:
    true, sql = profiles(rows), {row[:2]: row[2:] for row in answers.sql(2)}
    within = []
    for weekend, profile in enumerate(answers.python(2)):
        for row in profile.rows():
            key = row["tap_on_time"], bool(weekend)
            within.append(row["noise_low"] <= true[key] <= row["noise_high"])
            mean, off, days = sql[key]
            assert (mean is None) == np.isnan(row["mean"]) == (days < row["days"])
            if mean is not None:
                assert row["mean"] == pytest.approx(mean)
                within.append(abs(mean - true[key]) <= off)
    assert any(row[0] is None for row in sql.values())
    assert len(within) > 60
    assert np.mean(within) >= 0.9


def test_the_profiles_in_r_and_excel(
    answers: Answers, r: dict[Key, Any], excel: dict[Key, Any], rows: list[Row]
) -> None:
    true, sheet = profiles(rows), excel["train", 2]
    place, told = {sheet[f"A{at}"]: at for at in range(2, 26)}, 0
    for weekend, (profile, found) in enumerate(zip(answers.python(2), r["train", 2], strict=True)):
        for own, row in zip(profile.rows(), found, strict=True):
            assert alike(row, own)
            at, hour = place[own["tap_on_time"]], own["tap_on_time"]
            mean = sheet[f"{'BC'[weekend]}{at}"]
            assert mean == ("cannot be told" if np.isnan(own["mean"]) else pytest.approx(own["mean"]))
            if not weekend and mean != "cannot be told":
                told += abs(mean - true[hour, False]) <= sheet[f"F{at}"]
    assert told >= 17


def test_a_small_station(answers: Answers, r: dict[Key, Any], excel: dict[Key, Any]) -> None:
    answer, ((_, at_most),) = answers.python(3), answers.sql(3)
    (found,), sheet = r["train", 3], excel["train", 3]
    assert answer.count is None
    assert answer.low <= 1 <= answer.high == at_most == found["high"] == sheet["A2"]
    assert found["count"] is None
    assert sheet["A1"] == 0


def test_what_changed_between_two_weeks(answers: Answers, rows: list[Row]) -> None:
    changes = answers.python(4)
    found = {row["tap_on_location"]: row for row in changes.rows()}
    sql = {row[0]: row[1:] for row in answers.sql(4)}
    assert found["Grown"]["real"]
    assert [row["tap_on_location"] for row in changes.adjusted().rows() if row["real"]] == ["Grown"]
    for name, row in found.items():
        true = change_of(name, rows)
        assert row["noise_low"] <= true <= row["noise_high"]
        assert row["mean"] == pytest.approx(sql[name][0])
        assert near(sql[name][0], sql[name][1], true)


def change_of(station: str, rows: list[Row]) -> float:
    weeks = Counter(each[1] >= "2025-03-10" for each in rows if each[0] == "train" and each[3] == station)
    return (weeks[True] - weeks[False]) / 7


def test_what_changed_in_r_and_excel(
    answers: Answers, r: dict[Key, Any], excel: dict[Key, Any], rows: list[Row]
) -> None:
    changes, sheet, true = answers.python(4).rows(), excel["train", 4], change_of("Grown", rows)
    assert all(alike(found, own) for found, own in zip(r["train", 4], changes, strict=True))
    (grown,) = (row for row in changes if row["tap_on_location"] == "Grown")
    assert sheet["F1"] == pytest.approx(grown["mean"])
    assert near(sheet["F1"], sheet["F2"], true)
    assert 0 < sheet["F1"] - sheet["F3"] < true < sheet["F1"] + sheet["F3"], "it is real"


@pytest.mark.parametrize(("mode", "hidden"), [("train", None), ("tram", ("Museum", "Mill"))])
def test_the_largest_flow(
    mode: str, hidden: Flow | None, answers: Answers, r: dict[Key, Any], excel: dict[Key, Any], rows: list[Row]
) -> None:
    """Of trams, one flow is missing on every other day: it is named, and what is listed of it is not called its sum."""
    true = Counter((row[3], row[4]) for row in rows if row[0] == mode and row[3:] != hidden)
    ((largest, number),) = true.most_common(1)
    answer, ((start, end, listed, within, days), *others) = answers.python(5, mode), answers.sql(5, mode)
    assert (answer["tap_on_location"], answer["tap_off_location"]) == (start, end) == largest
    assert answer["count"] == listed
    assert days == 14
    assert answer["low"] <= number <= answer["high"]
    assert near(float(listed), within, number)
    not_told = [(row["tap_on_location"], row["tap_off_location"]) for row in answers.known["cannot_be_told"]]
    assert not_told == sorted(row[:2] for row in others if row[-1] < 14)
    assert hidden is None or not_told == [hidden]
    found, sheet = r[mode, 5], excel[mode, 5]
    (first,) = found["largest"]
    assert (first["tap_on_location"], first["tap_off_location"], first["listed"]) == (start, end, listed)
    assert first["listed_low"] <= number <= first["listed_high"]
    assert [(row["tap_on_location"], row["tap_off_location"]) for row in found["cannot_be_told"]] == not_told
    assert (sheet["I1"], sheet["I2"], sheet["I3"]) == (start, end, listed)
    assert sheet["I4"] == pytest.approx(within)
    for start, end in not_told:
        assert sheet[f"{'BCDEFG'[STATIONS.index(end)]}{2 + STATIONS.index(start)}"] == "cannot be told"


def test_the_map_and_what_is_taken_away(
    answers: Answers, r: dict[Key, Any], excel: dict[Key, Any], folder: Path
) -> None:
    files = {"flows.csv", "locations.csv", "questions.gpkg"}
    assert {path.name for path in answers.python(6)} == files
    assert {path.name for path in (folder / "files").iterdir()} == files | {"converted.json"}
    assert {name for name, _ in answers.sql(6)} == {*r["train", 6]} == {*STATIONS, "Quiet Halt"}
    assert (excel["train", 6]["A1"], excel["train", 6]["A2"]) == (1, 2)
    names = {f"{name}.csv" for name in TABLES} | {"questions.xlsx"}
    assert {path.name for path in answers.python(10)} == names
    assert {path.name for path in (folder / "take-away").iterdir()} == names | {"converted.json"}
    answers.sql(10)
    ours, theirs = ((folder / name).read_text("utf-8-sig") for name in ("take-away/total.csv", "take-away.csv"))
    assert ours == theirs
    totals = tapveil.open("published").totals
    assert r["train", 10] == totals.rows()
    assert excel["train", 10]["A1"] == totals.where(mode="train").cells["count"][0]


def test_the_totals_of_modes(answers: Answers, r: dict[Key, Any], excel: dict[Key, Any], rows: list[Row]) -> None:
    true, sql = Counter(row[0] for row in rows), {row[0]: row[1:] for row in answers.sql(7)}
    in_r = {row["mode"]: (row["count"], row["low"], row["high"]) for row in r["train", 7]}
    for row in answers.python(7).rows():
        count, within, days = sql[row["mode"]]
        assert row["count"] == count
        assert days == 14
        assert row["low"] <= true[row["mode"]] <= row["high"]
        assert in_r[row["mode"]] == (row["count"], row["low"], row["high"])
        assert near(count, within, true[row["mode"]])
    sheet = excel["train", 7]
    assert (sheet["A1"], sheet["A2"], sheet["A3"]) == pytest.approx(sql["train"])


def test_the_share_of_the_peak(answers: Answers, r: dict[Key, Any], excel: dict[Key, Any], rows: list[Row]) -> None:
    own = [row for row in rows if row[0] == "train" and row[1] in WEEKDAYS]
    true = sum(row[2] in ("07:30", "08:30") for row in own) / len(own)
    (answer,), ((share, within),) = answers.python(8).rows(), answers.sql(8)
    assert answer["noise_low"] <= true <= answer["noise_high"]
    assert answer["low"] <= HOURS[7:9].sum() / HOURS.sum() <= answer["high"]
    assert answer["share"] == pytest.approx(share)
    assert abs(share - true) <= within < 0.02
    assert alike(r["train", 8][0], answer)
    assert (excel["train", 8]["A3"], excel["train", 8]["A6"]) == pytest.approx((share, within))


@pytest.mark.parametrize(("mode", "not_told"), [("train", []), ("tram", ["11:00", "12:00"])])
def test_the_quietest_hour(
    mode: str, not_told: list[str], answers: Answers, r: dict[Key, Any], excel: dict[Key, Any], rows: list[Row]
) -> None:
    """Of trams, 11:00 is published on every other day, and 12:00 never: they are named, and none is the answer."""
    own = [row for row in rows if row[0] == mode and row[1] in WEEKDAYS and "07" <= row[2] < "19"]
    true = Counter(row[2][:2] for row in own if f"{row[2][:2]}:00" not in not_told)
    quietest, number = min(true.items(), key=lambda each: each[1])
    answer, ((hour, mean, within, days), *others) = answers.python(9, mode), answers.sql(9, mode)
    found, sheet = r[mode, 9], excel[mode, 9]
    assert answer["tap_on_time"][:2] == hour[:2] == quietest == sheet["D1"][:2]
    assert answer["noise_low"] <= number / 10 <= answer["noise_high"]
    assert answer["mean"] == pytest.approx(mean)
    assert days == 10
    assert near(mean, within, number / 10)
    assert alike(found["quietest"][0], answer)
    assert (sheet["D2"], sheet["D3"]) == pytest.approx((mean, within))
    assert answers.known["cannot_be_told"] == several(found["cannot_be_told"]) == not_told
    assert [row[0] for row in others if row[1] is None] == not_told
    told = {sheet[f"A{at}"]: sheet[f"B{at}"] for at in range(2, 14)}
    assert [hour for hour, mean in told.items() if mean == "cannot be told"] == not_told
