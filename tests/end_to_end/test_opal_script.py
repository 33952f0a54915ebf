"""A script that was written for the published Opal files runs on ours, unchanged: same header, same spellings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tapveil
from tapveil.demo.city import make_city
from tapveil.plan.model import Plan

SCRIPT = '''
"""Busiest places and hours of an Opal week: python busiest.py loc.csv [time.csv ...]"""
import csv
import sys
from collections import Counter
from datetime import datetime

SHAPES = {"loc": ("loc",), "time": ("time",), "time-loc": ("time", "loc")}

for name in sys.argv[1:]:
    with open(name, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        header = next(rows)
        keys = tuple(header[3:-1])
        assert header[:3] == ["mode", "date", "tap"] and header[-1] == "count" and keys in SHAPES.values(), header
        taps, by_day, special, smallest = Counter(), Counter(), Counter(), 10**9
        for row in rows:
            if keys == ("time", "loc"):
                mode, date, tap, time, loc, count = row
            elif keys == ("time",):
                mode, date, tap, time, count = row
                loc = None
            else:
                mode, date, tap, loc, count = row
                time = None
            number = int(count)
            day = datetime.strptime(date, "%Y%m%d")
            if tap not in ("on", "off"):
                raise SystemExit(f"tap is {tap}")
            if time is not None and time != "-1":
                datetime.strptime(time, "%H:%M")
            if "-1" in (time, loc):
                special["-1"] += number
            elif loc == "UNKNOWN":
                special["UNKNOWN"] += number
            else:
                taps[mode, tap, time or loc] += number
            by_day[day.strftime("%A"), tap] += number
            smallest = min(smallest, number)
    print(",".join(keys), len(by_day), smallest, sum(by_day.values()), "special:", *sorted(special))
    for (mode, tap, what), number in taps.most_common(3):
        print(" ", mode, tap, what, number)
'''


def run(folder: Path, *files: Path) -> list[str]:
    (folder / "busiest.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-X", "utf8", str(folder / "busiest.py"), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_it_runs_on_the_real_file(shared_data: Path, tmp_path: Path) -> None:
    first, *busiest = run(tmp_path, shared_data / "opal" / "loc_20160808-14.csv")
    assert first.startswith("loc 14 34 ")
    assert first.endswith("special: -1 UNKNOWN")
    assert len(busiest) == 3


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opal") / "city"
    make_city(folder, trips=400_000, file_format="parquet")
    text = (folder / "plan.toml").read_text(encoding="utf-8").replace("# layout", "layout")
    return tapveil.release(Plan.parse(text, base=folder), folder / "published", in_ledger=False).path / "data"


def test_it_runs_on_ours(ours: Path, tmp_path: Path) -> None:
    lines = run(tmp_path, *(ours / f"{name}.csv" for name in ("loc", "time", "time-loc")))
    loc, time, both = (line for line in lines if not line.startswith(" "))
    assert loc.startswith("loc 14 34 ")
    assert time.startswith("time 14 34 ")
    assert both.startswith("time,loc 14 18 ") or both.startswith("time,loc 14 19 ")
    assert loc.endswith("special: UNKNOWN")
    assert time.endswith("special: -1")
    assert [line.split()[0] for line in lines if line.startswith(" ")].count("train") >= 3


def test_it_would_notice_other_columns(ours: Path, tmp_path: Path) -> None:
    """The files of the other layout have an interval beside each count: the script would not read them."""
    text = (ours / "loc.csv").read_text(encoding="utf-8").replace("\n", ",1,9\n").replace(",1,9", ",low,high", 1)
    (tmp_path / "wide.csv").write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError):
        run(tmp_path, tmp_path / "wide.csv")
