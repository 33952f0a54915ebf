"""`read.R`, run by R: its verbs give the numbers that `tapveil.open` gives; and the R package is the same text."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapveil
from tapveil.base.errors import TapveilError
from tapveil.published.folder import Folder
from tapveil.published.frame import Frame
from tapveil.published.reader import READER_VERSION, read_script
from tapveil.published.variation import change
from tapveil.verification.folder import verify_folder
from tests.support.r import r_with
from tests.support.tampering import resum
from tests.support.weeks import FIRST, trips, week_folder
from tests.unit.published.test_variation import mostly_noise, weeks_of

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
FOLDERS = ["3/cards", "3/paper", "3/laplace", "3d/dictionary", "3d/gaussian", "3d/levels-of-card-days", "3d/taps"]
FOLDERS += ["3d/world", "3e/calendars", "3/paper-layout"]
ASK = """
ask <- function(each) tryCatch(
  { release <- tv_open(each$folder); as.data.frame(eval(parse(text = each$question, encoding = "UTF-8"))) },
  error = function(error) list(error = conditionMessage(error))
)
asked <- jsonlite::fromJSON("asked.json", simplifyVector = FALSE)
answers <- jsonlite::toJSON(lapply(asked, ask), dataframe = "rows", na = "null", digits = NA, auto_unbox = TRUE)
writeLines(enc2utf8(answers), "answers.json", useBytes = TRUE)
"""


@pytest.fixture(scope="module")
def rscript() -> str:
    """R with jsonlite, or a skip; required where `TAPVEIL_R` says so."""
    return r_with("jsonlite")


@pytest.fixture(scope="module")
def answers(rscript: str, tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], Any]:
    """What R answers to every question of every folder, by one process: it starts slowly."""
    work = tmp_path_factory.mktemp("r")
    asked = [(folder, question) for folder in FOLDERS for question in [*questions(folder), *ERRORS.get(folder, ())]]
    as_json = [{"folder": str(GOLDEN / folder), "question": question} for folder, question in asked]
    (work / "asked.json").write_text(json.dumps(as_json, ensure_ascii=False), encoding="utf-8")
    (work / "read.R").write_text(read_script(READER_VERSION), encoding="utf-8")
    (work / "ask.R").write_text('source("read.R", encoding = "UTF-8")\n' + ASK, encoding="utf-8")
    done = subprocess.run([rscript, "ask.R"], cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(asked, json.loads((work / "answers.json").read_text(encoding="utf-8")), strict=True))


def questions(folder: str) -> dict[str, Any]:
    """Questions in R, and what Python answers."""
    release = tapveil.open(GOLDEN / folder)
    return dict(_asked(release)) if release.manifest.layout != "opal" else {}


def _asked(release: Folder) -> Iterator[tuple[str, Any]]:
    for name in release.tables:
        table, in_r = release.table(name), f"tv_table(release, {_text(name)})"
        yield f"head({in_r}, 20)", table.rows()[:20]
        yield f"tv_sum({in_r})", _listed(table)
        if not len(table):
            continue
        row = table.rows()[-1]
        keys = "".join(f", {key} = {_text(row[key])}" for key in table.keys)
        yield f"tv_cell({in_r}{keys})", [{number: row[number] for number in ("count", "low", "high")}]
        partition = release.manifest.partition
        if part := "date" if "date" in partition else next(iter(partition), None):
            yield f"tv_sum({in_r}, by = {_text(part)})", _listed(table, part)
            values = sorted(set(table.cells[part].tolist()))[:: len(set(table.cells[part].tolist())) - 1 or 1][:2]
            first, last = (table.where(**{part: value}) for value in (values[0], values[-1]))
            r_first, r_last = (f"tv_where({in_r}, {part} = {_text(value)})" for value in (values[0], values[-1]))
            yield r_first, first.rows()
            yield f"tv_minus({r_first}, {r_last})", first.minus(last).rows()
            yield f"tv_minus({r_last}, {r_first})", last.minus(first).rows()
            if part == "date" and table.days[0].startswith("20"):
                yield f"tv_mean({in_r})", table.mean().rows()
                first, last = (table.where(date=[day]) for day in (values[0], values[-1]))
                days = (f'tv_between({in_r}, "{day}", "{day}")' for day in (values[0], values[-1]))
                yield f"tv_adjusted(tv_minus({', '.join(days)}))", first.minus(last).adjusted().rows()
        for version in ("consistent", "finest"):
            try:
                yield f"tv_table(release, {_text(name)}, {_text(version)})", release.table(name, version).rows()
            except TapveilError:
                continue
        timed = [column for column in release.manifest.columns if release.manifest.columns[column] == "time"]
        if table.keys[len(release.manifest.partition) :] in [(column,) for column in timed]:
            where = {key: row[key] for key in release.manifest.partition}
            in_words = "".join(f", {key} = {_text(value)}" for key, value in where.items())
            column = table.keys[-1]
            if not release.manifest.is_world:
                yield f"tv_profile(release, {_text(column)}{in_words})", release.profile(column, **where).rows()
    if release.has_totals:
        total = release.total()
        yield "tv_total(release)", [{"count": total.count, "low": total.low, "high": total.high}]
        if (release.path / "consistent" / "on_time.by.total.csv").is_file():
            yield 'tv_rest(release, "on_time", "total")', release.rest("on_time", "total").rows()
    if release.manifest.is_world:
        columns = ["date", "tap_on_location", "tap_off_location"]
        listed = [row for row in release.estimate(columns).rows() if row["count"]]
        yield f"subset(tv_estimate(release, c({', '.join(map(_text, columns))})), count > 0)", listed
        measured = release.measurement(columns).rows()
        yield f"tv_measurement(release, c({', '.join(map(_text, columns))}))", measured
        trips = release.trips().read_all().slice(0, 3).to_pylist()
        yield "head(tv_trips(release), 3)", [{key: str(value) for key, value in trip.items()} for trip in trips]


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, Path]:
    """Folders of two and of eight weeks: three places, one of which is published on some days only."""
    home, made = tmp_path_factory.mktemp("weeks"), dict[int, Path]()
    for number in (2, 8):
        truth = {"Central": trips(3000, 1, number, 0.05), "Quay": trips(400, 2, number, 0.1), "Halt": [300, 1] * 7}
        truth["Halt"] = truth["Halt"] * (number // 2)
        made[number] = week_folder(home / str(number), truth, seed=3)
    return made


LATER = 'tv_between(table, "2025-03-10", "2025-03-16"), tv_between(table, "2025-03-03", "2025-03-09")'


def _statistics(release: Folder) -> dict[str, Frame]:
    """Of all days, of a week, of some days of several places, of single and of few days; both intervals."""
    table, totals = release.table("on_location"), release.totals
    before, after = (table.between(*ends) for ends in (("2025-03-03", "2025-03-09"), ("2025-03-10", "2025-03-16")))
    few, monday, sunday = (
        table.where(date=days) for days in (["2025-03-03", "2025-03-04"], "2025-03-03", "2025-03-09")
    )
    quay, some = table.where(tap_on_location="Quay", mode="train"), table.where(tap_on_location=["Quay", "Central"])
    quays = 'tv_where(table, tap_on_location = "Quay", mode = "train")'
    both = 'tv_where(table, tap_on_location = c("Quay", "Central"))'
    two_days = 'tv_where(table, date = c("2025-03-03", "2025-03-04"))'
    return {
        "tv_mean(table)": table.mean(),
        'tv_mean(tv_between(table, "2025-03-10", "2025-03-16"))': after.mean(),
        'tv_mean(tv_between(table, "2025-03", "2025-03"))': table.between("2025-03", "2025-03").mean(),
        f"tv_mean({two_days})": few.mean(),
        f"tv_mean({quays})": quay.mean(),
        'tv_where(table, date = as.Date("2025-03-03"))[c("tap_on_location", "count")]': monday,
        'tv_where(table, date = as.POSIXct("2025-03-03", tz = "UTC"))["count"]': monday,
        f"tv_minus({LATER})": after.minus(before),
        f"tv_adjusted(tv_minus({LATER}))": after.minus(before).adjusted(),
        'tv_minus(tv_mean(tv_between(table, "2025-03-10", "2025-03-16")), tv_mean(table))': after.mean().minus(
            table.mean()
        ),
        f'tv_minus(tv_between(table, "2025-03-10", "2025-03-16"), {two_days})': after.minus(few),
        'tv_minus(tv_where(table, date = "2025-03-09"), tv_where(table, date = "2025-03-03"))': sunday.minus(monday),
        "tv_trend(table)": table.trend(),
        'tv_adjusted(tv_trend(tv_between(table, "2025-03-10", "2025-03-16")))': after.trend().adjusted(),
        "tv_share(table, totals)": table.share(of=totals),
        f"tv_share({two_days}, tv_where(totals, date = c('2025-03-03', '2025-03-04')))": few.share(
            of=totals.where(date=["2025-03-03", "2025-03-04"])
        ),
        f'tv_share(tv_sum({both}, by = c("mode", "date")), totals)': some.sum(by=["mode", "date"]).share(of=totals),
        f'tv_mean(tv_sum({both}, by = "date"))': some.sum(by="date").mean(),
    }


@pytest.mark.parametrize("number", [2, 8])
def test_r_has_the_statistics_of_python(rscript: str, weeks: Mapping[int, Path], number: int, tmp_path: Path) -> None:
    """With eight weeks, how much weeks differ counts as well."""
    asked = _statistics(tapveil.open(weeks[number]))
    (tmp_path / "read.R").write_text(read_script(READER_VERSION), encoding="utf-8")
    lines = ['source("read.R")', f'release <- tv_open("{weeks[number]}")', "totals <- tv_totals(release)"]
    listed = ", ".join(f"as.data.frame({question})" for question in asked)
    lines += ['table <- tv_table(release, "on_location")']
    lines.append(f"cat(jsonlite::toJSON(list({listed}), digits = NA, na = 'null'))")
    (tmp_path / "ask.R").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run([rscript, "ask.R"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for (question, frame), found in zip(asked.items(), json.loads(done.stdout), strict=True):
        assert len(found) == len(frame) > 0, question
        for row, own in zip(found, frame.rows(), strict=True):
            assert set(row) >= set(own) or "tv_where(table" in question[:16], question
            for name in row:
                missing = isinstance(own[name], float) and np.isnan(own[name])
                assert row[name] == (None if missing else pytest.approx(own[name])), (question, name)


CHANGES = """
source("read.R")
whole <- jsonlite::fromJSON("whole.json")
of <- function(days) list(
  days = as.Date(whole$days)[days], counts = whole$counts[, days], left_out = 0 * whole$counts[, days],
  noise = whole$noise[, days], gaussian = FALSE
)
found <- lapply(list(NULL, of(1:56)), function(past) .change(of(50:56), of(43:49), past, MISS))
cat(jsonlite::toJSON(found, digits = NA))
"""


def test_r_has_the_changes_of_numbers_that_are_mostly_noise(rscript: str, tmp_path: Path) -> None:
    """In rows that are compared as shares of their total, and in those that have hardly more than noise."""
    whole = mostly_noise()
    days = [day.isoformat() for day in whole.days]
    as_json = {"days": days, "counts": whole.counts.tolist(), "noise": whole.noise.tolist()}
    (tmp_path / "whole.json").write_text(json.dumps(as_json), encoding="utf-8")
    (tmp_path / "read.R").write_text(read_script(READER_VERSION), encoding="utf-8")
    (tmp_path / "ask.R").write_text(CHANGES, encoding="utf-8")
    done = subprocess.run([rscript, "ask.R"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for past, found in zip((None, whole), json.loads(done.stdout), strict=True):
        own = change(weeks_of(whole, 7, 8), weeks_of(whole, 6, 7), past)
        for name in ("value", "noise_low", "noise_high", "low", "high"):
            assert found[name] == pytest.approx(getattr(own, name).tolist()), name


def _listed(table: Frame, by: str | None = None) -> list[dict[str, Any]]:
    """Sums of the listed cells, with the interval of these cells."""
    keys = [by] if by else []
    groups = sorted(set(table._groups(keys))) if by else [()]
    listed, cells, low, high, _ = table._added(table._groups(keys), groups)
    numbers = zip(
        listed.tolist(), np.maximum(low, 0).tolist(), np.maximum(high, 0).tolist(), cells.tolist(), strict=True
    )
    names = ("listed", "listed_low", "listed_high", "cells")
    return [
        {**dict(zip(keys, group, strict=True)), **dict(zip(names, row, strict=True))}
        for group, row in zip(groups, numbers, strict=True)
    ]


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("folder", FOLDERS)
def test_r_answers_as_python_does(answers: Mapping[tuple[str, str], Any], folder: str) -> None:
    for question, expected in questions(folder).items():
        found = answers[folder, question]
        assert sorted(map(_plain, found)) == sorted(map(_plain, expected)), question


def _plain(row: dict[str, Any]) -> str:
    """Keys in any order, numbers as numbers, and what is missing left out."""
    kept = {key: row[key] for key in sorted(row) if row[key] is not None}
    kept = {key: each for key, each in kept.items() if not isinstance(each, float) or np.isfinite(each)}
    kept = {key: float(f"{round(each, 6):.6g}") if isinstance(each, float) else each for key, each in kept.items()}
    whole = {key: int(each) if isinstance(each, float) and each == int(each) else each for key, each in kept.items()}
    return json.dumps(whole, default=str)


ERRORS = {
    "3d/gaussian": {
        'tv_table(release, "on_tim")': "there is no table `on_tim`: did you mean `on_time`?",
        'tv_where(tv_table(release, "on_time"), mode = "bsu")': "there is no mode `bsu`",
        'tv_where(tv_table(release, "on_time"), mod = "bus")': "there is no column `mod`: did you mean `mode`?",
        'tv_cell(tv_table(release, "on_time"), mode = "bus")': "say which date and tap_on_time",
        'tv_estimate(release, "tap_on_time")': "has no file of estimates",
        'tv_measurement(release, "tap_on_time")': "not of a known world",
        'tv_profile(release, "tap_on_time", mode = "bus")': "say which date: a profile is that of one part",
        'tv_where(tv_table(release, "on_location"), tap_on_location = "Nowhere at all")': "there is no place `Nowhere",
        'tv_between(tv_table(release, "on_time"), "2024", "2024")': "there is no day from 2024 to 2024",
        "tv_trend(tv_totals(release))": "a trend needs at least three days",
        'tv_mean(tv_sum(tv_table(release, "on_location"), by = "date"))': "nobody knows how much these sums leave out",
        'tv_share(tv_table(release, "on_location"), tv_table(release, "on_time"))': "no column `tap_on_time` of",
        "tv_minus(tv_sum(tv_totals(release)), tv_sum(tv_totals(release)))": "of published tables, or of their sums",
        "tv_adjusted(head(tv_minus(tv_totals(release), tv_totals(release)), 1))": "adjust them before choosing",
    },
    "3/paper-layout": {"release": "columns of the Opal data"},
}


@pytest.mark.parametrize("folder", ERRORS)
def test_r_says_what_is_wrong(answers: Mapping[tuple[str, str], Any], folder: str) -> None:
    for question, said in ERRORS[folder].items():
        assert said in answers[folder, question]["error"], question


def test_r_points_out_several_comparisons_as_python_does(
    rscript: str, weeks: Mapping[int, Path], tmp_path: Path
) -> None:
    (tmp_path / "read.R").write_text(read_script(READER_VERSION), encoding="utf-8")
    lines = ['source("read.R")', f'table <- tv_table(tv_open("{weeks[2]}"), "on_location")']
    lines += [f"changes <- tv_minus({LATER})", "changes", "tv_adjusted(changes)", "tv_mean(table)", "changes[1, ]"]
    (tmp_path / "ask.R").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run([rscript, "ask.R"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    table = tapveil.open(weeks[2]).table("on_location")
    changes = table.between("2025-03-10", "2025-03-16").minus(table.between("2025-03-03", "2025-03-09"))
    by_chance, together = (repr(each).splitlines()[-1] for each in (changes, changes.adjusted()))
    said = [line.replace("tv_adjusted()", "adjusted()") for line in done.stdout.splitlines() if "comparisons" in line]
    assert said == [by_chance, together, by_chance]


REDEFINED: dict[str, dict[str, Any]] = {
    "none": {},
    "unit": {"unit": "card-day"},
    "rows": {"rows": "taps"},
    "day": {"day": {"starts": "04:00", "after_midnight": "continued", "timezone": None, "calendar": True}},
    "areas": {"areas": {"train": "lines"}},
}
COMPARE = """
source("read.R")
said <- function(x) tryCatch({ x; "" }, error = conditionMessage)
open_table <- function(path) tv_table(tv_open(path), "on_location")
before <- open_table("none")
for (path in c("later", commandArgs(TRUE))) {
  after <- open_table(path)
  day <- function(x) tv_where(x, date = max(x$date), tap_on_location = "Central")
  cat(path, said(tv_minus(after, before)), said(tv_minus(tv_mean(after), tv_mean(before))),
    said(tv_minus(day(after), day(before))), sep = "|")
  cat("\n")
}
"""


def test_tables_that_count_different_things_are_compared_in_no_language(rscript: str, tmp_path: Path) -> None:
    """Where a series is not asked, but two of its folders."""
    truth = {"Central": trips(3000, 1), "Quay": trips(400, 2)}
    for number, (what, changes) in enumerate(REDEFINED.items()):
        week_folder(tmp_path / what, truth, FIRST if what == "none" else FIRST + timedelta(days=7), number, **changes)
    week_folder(tmp_path / "later", truth, FIRST + timedelta(days=7), 9)
    (tmp_path / "read.R").write_text(read_script(READER_VERSION), encoding="utf-8")
    (tmp_path / "ask.R").write_text(COMPARE, encoding="utf-8")
    changed = [what for what in REDEFINED if what != "none"]
    done = subprocess.run([rscript, "ask.R", *changed], cwd=tmp_path, capture_output=True, text=True, check=True)
    refused = "the tables count different things, which cannot be compared: "
    expected = ["later|||", *(f"{what}|{'|'.join([refused + what] * 3)}" for what in changed)]
    assert done.stdout.splitlines() == expected
    before = tapveil.open(tmp_path / "none").table("on_location")
    assert tapveil.open(tmp_path / "later").table("on_location").minus(before).rows()
    for what in changed:
        after = tapveil.open(tmp_path / what).table("on_location")
        for ours, theirs in ((after, before), (after.mean(), before.mean()), (after.sum(), before.sum())):
            with pytest.raises(tapveil.ReaderError, match=f"{refused}{what}: "):
                ours.minus(theirs)


def test_estimates_in_csv_files_are_found_without_arrow(rscript: str, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "3d" / "world", tmp_path / "folder")
    (tmp_path / "folder" / "estimates" / "a.parquet").write_text("read by nobody", encoding="utf-8")
    script = f"""
      source("{ROOT / "r" / "R" / "read.R"}")
      estimate <- tv_estimate(tv_open("folder"), c("tap_on_location", "tap_off_location"))
      cat(nrow(estimate))"""
    done = subprocess.run([rscript, "-e", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0


def test_the_package_is_the_script_of_the_folders() -> None:
    assert (ROOT / "r" / "R" / "read.R").read_text(encoding="utf-8") == read_script(READER_VERSION)
    defined = re.findall(r"^(tv_\w+) <- function", read_script(READER_VERSION), re.MULTILINE)
    exported = re.findall(r"tv_\w+", (ROOT / "r" / "NAMESPACE").read_text(encoding="utf-8"))
    assert sorted([*defined, "tv_frame", "tv_frame", "tv_release"]) == sorted(exported)  # classes are printed
    assert f"Version: {tapveil.__version__}\n" in (ROOT / "r" / "DESCRIPTION").read_text(encoding="utf-8")


def test_the_package_is_installed_and_opens_folders(rscript: str, tmp_path: Path) -> None:
    install = [str(Path(rscript).with_name("R")), "CMD", "INSTALL", "--no-docs", "--no-test-load"]
    done = subprocess.run(
        [*install, f"--library={tmp_path}", str(ROOT / "r")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    folders = [str(GOLDEN / folder) for folder in ("3d/gaussian", "3d/world")]
    opened = subprocess.run(
        [rscript, str(ROOT / "r" / "tests" / "folders.R"), *folders],
        env={**os.environ, "R_LIBS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert opened.returncode == 0, opened.stderr
    assert opened.stdout.count(" tables\n") == len(folders)


def test_verify_finds_another_script(tmp_path: Path) -> None:
    copy = shutil.copytree(GOLDEN / "3f" / "dictionary", tmp_path / "copy")
    script = copy / "read.R"
    assert script.read_text(encoding="utf-8") == read_script(1)
    script.write_text(script.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
    resum(copy)
    assert {finding.code for finding in verify_folder(copy).findings} == {"reader-differs"}
