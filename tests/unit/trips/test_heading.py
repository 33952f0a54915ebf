"""A title above the column names, and a second header or units below them, are not taken for trips or for names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tapveil.base.errors import PlanError, TripDataError
from tapveil.base.progress import Silent
from tapveil.counting.counter import count
from tapveil.internal.draft import Draft, draft, take_proposal
from tapveil.plan.model import Plan
from tapveil.trips.csv_reader import USUAL, Heading
from tapveil.trips.heading import common_heading
from tests.support.corpus import GERMAN, rides, write
from tests.support.workbook import write_workbook

NAMES = ["Karte", "Einstiegszeit", "Einstiegshaltestelle", "Ausstiegszeit", "Ausstiegshaltestelle"]
UNITS = ["Nr.", "[TT.MM.JJJJ hh:mm]", "", "[TT.MM.JJJJ hh:mm]", ""]
ENGLISH = ["Card", "Boarding time", "Boarding stop", "Alighting time", "Alighting stop"]
TITLE = ["Auszug aus dem Hintergrundsystem", "", "", "", ""]
PERIOD = ["Zeitraum", "01.03.2025 - 31.03.2025", "", "", ""]
NOTHING = [""] * 5
ROWS = [
    [r.card, f"{r.on:%d.%m.%Y %H:%M}", GERMAN[r.origin], f"{r.off:%d.%m.%Y %H:%M}", GERMAN[r.destination]]
    for r in rides(90, 600)
]
HEADINGS = {
    "names alone": ([NAMES], USUAL),
    "a title": ([TITLE, NAMES], Heading(2)),
    "a title, a period and an empty line": ([TITLE, PERIOD, NOTHING, NAMES], Heading(4)),
    "units": ([NAMES, UNITS], Heading(None, 3)),
    "another language below": ([NAMES, ENGLISH], Heading(None, 3)),
    "names below what says nothing": ([["A1", "B2", "C3", "D4", "E5"], NAMES], Heading(2)),
    "a title, names and units": ([TITLE, NAMES, UNITS], Heading(2, 4)),
}


def drafted(trips: Path) -> Draft:
    found = draft(str(trips), trips.parent / "plan.toml", answer=take_proposal, progress=Silent())
    (trips.parent / "plan.toml").write_text(found.text, encoding="utf-8")
    return found


def counted(trips: Path) -> tuple[int, int]:
    """Rows read and refused, by the plan of `init`."""
    refusals = count(Plan.read(trips.parent / "plan.toml")).refusals
    return refusals.rows, refusals.refused


def of(folder: Path, lines: Sequence[Sequence[str]], kind: str) -> Path:
    if kind == "xlsx":
        cells = [[value or None for value in line] for line in lines]
        return write_workbook(folder / "fahrten.xlsx", {"Fahrten": [*cells, *ROWS]})
    note = "sep=;\r\n" if kind == "sep" else ""
    return write(folder / "fahrten.csv", "", [*lines, *ROWS], delimiter=";", encoding="cp1252", first=note)


@pytest.mark.parametrize("kind", ["csv", "sep", "xlsx"])
@pytest.mark.parametrize("name", HEADINGS)
def test_what_stands_around_the_column_names_is_passed_over_and_every_trip_counted(
    name: str, kind: str, tmp_path: Path
) -> None:
    lines, heading = HEADINGS[name]
    trips, later = of(tmp_path, lines, kind), int(kind == "sep")
    expected = Heading(heading.header and heading.header + later, heading.trips and heading.trips + later)
    assert common_heading({trips: trips.name}, "windows-1252", None) == expected
    found = drafted(trips)
    ours = ("card", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location")
    assert [found.found.columns[each].column for each in ours] == NAMES
    assert counted(trips) == (len(ROWS), 0)


def test_a_refused_row_is_where_an_editor_shows_it(tmp_path: Path) -> None:
    lines = [TITLE, NAMES, UNITS, *ROWS[:500], ["1", "no time", "X", "no time", "Y"]]
    drafted(write(tmp_path / "fahrten.csv", "", lines, delimiter=";"))
    refusals = count(Plan.read(tmp_path / "plan.toml"), locate=True).refusals
    assert [line for where in refusals.located.values() for _, line in where] == [504]


def test_names_in_two_lines_are_refused_and_never_taken_one_for_another(tmp_path: Path) -> None:
    grouped = ["", "Einstieg", "", "Ausstieg", ""], ["Karte", "Zeit", "Haltestelle", "Zeit", "Haltestelle"]
    whole = ["", "Einstieg", "Einstieg", "Ausstieg", "Ausstieg"], grouped[1]
    for lines in (grouped, whole):
        with pytest.raises(TripDataError, match="are in two lines, and several are the same"):
            drafted(of(tmp_path, lines, "csv"))


def test_files_that_begin_differently_are_named(tmp_path: Path) -> None:
    write(tmp_path / "days" / "a.csv", "", [NAMES, *ROWS], delimiter=";")
    write(tmp_path / "days" / "b.csv", "", [TITLE, NAMES, *ROWS], delimiter=";")
    with pytest.raises(TripDataError, match=r"of a\.csv are in line 1 .* those of b\.csv in line 2"):
        drafted(tmp_path / "days")


@pytest.mark.parametrize(
    "odd", [["NULL"] * 5, [""] * 5, ["7", "", "Ahorn", "Unfinished", "Ulmen"], ROWS[0][:1] + ["x"] * 4]
)
def test_a_first_trip_that_lacks_something_is_no_heading(odd: list[str], tmp_path: Path) -> None:
    trips = of(tmp_path, [NAMES, odd], "csv")
    assert common_heading({trips: trips.name}, "windows-1252", None) == USUAL


def test_without_looking_a_title_is_refused(tmp_path: Path) -> None:
    trips = of(tmp_path, [TITLE, NAMES], "csv")
    with pytest.raises(TripDataError, match="is it a title"):
        draft(str(trips), tmp_path / "plan.toml", look="nothing", progress=Silent())


def test_trips_cannot_begin_above_the_header(tmp_path: Path) -> None:
    drafted(of(tmp_path, [TITLE, NAMES, UNITS], "csv"))
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    with pytest.raises(PlanError, match="first_trip_line must come after the header"):
        Plan.parse(text.replace("first_trip_line = 4", "first_trip_line = 2"))
