"""What a first plan would publish, roughly, from a part of the rows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tapveil.base.progress import Silent
from tapveil.counting.counter import count
from tapveil.counting.reveal import exact_counts
from tapveil.internal.draft import Draft, Look, draft, take_proposal
from tapveil.plan.model import Plan
from tests.support.commands import run
from tests.support.corpus import CORPUS, ENGLISH, rides, write


def drafted(trips: Path, look: Look = "columns") -> Draft:
    return draft(str(trips), trips.parent / "plan.toml", look=look, answer=take_proposal, progress=Silent())


def small(folder: Path, rows: int) -> Path:
    """Trips of two weeks, the days in the name."""
    trips = [(r.on, ENGLISH[r.origin], r.off, ENGLISH[r.destination]) for r in rides(5, rows)]
    header = "start_time,start_station,end_time,end_station"
    return write(folder / "trips_20250303_20250316.csv", header, trips)


def test_pairs_of_rows_tell_how_large_the_cell_of_a_typical_trip_is(tmp_path: Path) -> None:
    found = drafted(small(tmp_path, 20_000))
    assert found.prospect
    assert found.prospect.trips == pytest.approx(20_000, rel=0.05), "of which a thousand were looked at"
    counted = count(Plan.parse(found.text, base=tmp_path))
    for name in ("on_time", "on_location", "on_time_location", "total"):
        cells = exact_counts(counted.tables[name])
        assert found.prospect.typical[name] == pytest.approx((cells**2).sum() / cells.sum(), rel=0.25)


@pytest.mark.parametrize("name", ["Namma Metro", "Shenzhen", "Chinese, gzip", "Spanish, a workbook", "Clipper"])
def test_counts_taps_and_files_of_all_kinds_are_weighed(name: str, tmp_path: Path) -> None:
    found = drafted(CORPUS[name].make(tmp_path))
    counted = count(Plan.parse(found.text, base=tmp_path))
    cells = max((exact_counts(table) for table in counted.tables.values()), key=lambda each: int(each.sum()))
    assert found.prospect
    assert found.prospect.trips == pytest.approx(cells.sum(), rel=0.5)


def test_a_small_export_is_said_to_be_and_what_to_do_can_be_pasted(tmp_path: Path) -> None:
    trips = small(tmp_path, 4000)
    said = run("init", trips.name, "--yes", cwd=tmp_path).stdout
    assert "there are about 4,000 trips, which are few for this plan" in " ".join(said.split())
    assert "looked_at_trips = false" in (tmp_path / "plan.toml").read_text()
    program, *command = shlex.split(re.findall(r"tapveil init .*coarser\.toml", said)[0])
    assert (program, run(*command, cwd=tmp_path).returncode) == ("tapveil", 0)
    plan = Plan.read(tmp_path / "plan-coarser.toml")
    assert plan.privacy.looked_at_trips
    assert "no table is nearly empty" in run("check", "plan-coarser.toml", cwd=tmp_path).stdout


def test_nothing_of_it_enters_the_plan(tmp_path: Path) -> None:
    """Few trips or very many: the same plan, and another word on the terminal."""
    few, many = drafted(small(tmp_path, 1000)), drafted(small(tmp_path, 60_000))
    assert few.text == many.text
    assert few.prospect
    assert many.prospect
    assert set(few.prospect.mostly_empty) > set(many.prospect.mostly_empty)


def test_without_looking_the_sizes_of_the_files_tell(tmp_path: Path) -> None:
    trips = small(tmp_path, 1000).read_text()
    few = drafted(tmp_path / "trips_20250303_20250316.csv", "nothing").prospect
    header, *rows = trips.splitlines()
    (tmp_path / "trips_20250303_20250316.csv").write_text("\n".join([header, *rows * 300]))
    many = drafted(tmp_path / "trips_20250303_20250316.csv", "nothing").prospect
    assert few
    assert few.sentences
    assert many
    assert "on_time" not in many.mostly_empty


def test_of_counts_the_lines_of_the_plan_are_named_since_counting_chooses_none(tmp_path: Path) -> None:
    rows = [(f"2025-03-{day:02}", hour, stop, 2) for day in range(1, 29) for hour in range(6, 22) for stop in ENGLISH]
    trips = write(tmp_path / "entries_202503.csv", "date,hour,station,entries", rows)
    said = run("init", trips.name, "--yes", cwd=tmp_path).stdout
    assert "there are about 10,000 trips" in " ".join(said.split())
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    for line in re.findall(r"^  (\w+ = .*)$", said, re.MULTILINE):
        text = re.sub(rf"^{line.split()[0]} = .*$", line, text, flags=re.MULTILINE)
    plan = Plan.parse(text)
    assert (plan.release.partition, plan.coarsen.time_minutes, plan.privacy.looked_at_trips) == ((), 240, True)
    assert drafted(trips, "nothing").prospect is None, "rows are not trips"


def test_by_counting_days_are_taken_together_where_they_would_be_empty(tmp_path: Path) -> None:
    found = drafted(small(tmp_path, 1500), "trips")
    plan = Plan.parse(found.text, base=tmp_path)
    assert plan.release.partition == ()
    assert str(plan.source.first_day) == "2025-03-03", "the ledger still knows the days"
    assert "and that days are taken together" in " ".join(found.text.replace("\n# ", " ").split())
    assert "All days are taken together." in " ".join(found.remarks)
    assert found.prospect is None, "it was counted"
