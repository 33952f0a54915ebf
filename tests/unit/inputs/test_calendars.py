"""Calendars from public lists: every day of the plan once, and clear words where a list does not have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapveil.base.errors import InputFileError
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan, preset_text
from tests.conftest import write_csv
from tests.property.test_calendars import PLAN

FACTS = {"unit": "trip", "bounds": "", "source": "", "mechanism": "gaussian", "per_cell": "", "minutes": 60}


def inputs(folder: Path, rows: list[tuple[str, str, str]], **changes: str) -> PublicInputs:
    write_csv(folder / "terms.csv", rows, ("from", "until", "term"))
    text = PLAN.format(**{**FACTS, "places": changes.pop("places", "")})
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return PublicInputs.of(Plan.parse(text, base=folder))


def test_a_list_of_spans_gives_each_day_its_label_and_others_the_rest(tmp_path: Path) -> None:
    rows = [("2025-01-01", "2025-02-28", "summer"), ("20250302", "20250302", "feast")]
    found = inputs(tmp_path, rows).calendars["season"]
    assert list(found.items()) == [
        ("2025-02-27", "summer"),
        ("2025-02-28", "summer"),
        ("2025-03-01", "term"),
        ("2025-03-02", "feast"),
        *((f"2025-03-0{day}", "term") for day in (3, 4, 5)),
    ]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("2025-03-01", "2025-03-03", "a"), ("2025-03-03", "2025-03-04", "b")], "line 3: 2025-03-03 is in two kinds"),
        ([("2025-03-03", "2025-03-01", "a")], "line 2: `until` is before `from`"),
        ([("3 March", "2025-03-04", "a")], "line 2: `from` must be a day such as 2016-12-31, and is `3 March`"),
        ([("2025-03-01", "", "a")], "`until` must be a day"),
        ([("2025-03-01", "2025-03-03", "")], "line 2: `term` must be a text"),
        ([("2025-03-01", "2025-03-03", "x" * 101)], "at most 100 characters"),
    ],
)
def test_a_list_that_does_not_say_what_a_day_is_is_refused(
    rows: list[tuple[str, str, str]], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputFileError) as refused:
        _ = inputs(tmp_path, rows).calendars
    assert words in str(refused.value)


def test_a_list_without_some_days_of_the_plan_is_refused_unless_the_plan_says_what_they_are(tmp_path: Path) -> None:
    short = inputs(tmp_path, [("2025-02-01", "2025-03-03", "a")], **{', otherwise = "term"': ""})
    with pytest.raises(InputFileError, match=r"does not have 2025-03-04, .* \(2 of 7 days are missing\)"):
        _ = short.calendars
    whole = inputs(tmp_path, [("2025-02-01", "2025-04-03", "a")], **{', otherwise = "term"': ""})
    assert set(whole.calendars["season"].values()) == {"a"}


def test_lists_are_named_with_their_checksum(tmp_path: Path) -> None:
    assert list(inputs(tmp_path, []).sha256) == ["calendar of season"]


def feed(folder: Path, exceptions: list[tuple[str, str, int]], last: str = "20251231") -> None:
    """Services of weekdays, Saturdays and Sundays, and a night bus on all days."""
    write_csv(folder / "gtfs/stops.txt", [("Ash",)], ("stop_id",))
    week = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    services = {"work": "1111100", "sat": "0000010", "sun": "0000001", "night": "1111111"}
    rows = [(name, *days, "20250101", last) for name, days in services.items()]
    write_csv(folder / "gtfs/calendar.txt", rows, ("service_id", *week, "start_date", "end_date"))
    write_csv(folder / "gtfs/calendar_dates.txt", exceptions, ("service_id", "date", "exception_type"))


def test_holidays_of_a_known_world_are_holidays_in_its_kinds_of_day(tmp_path: Path) -> None:
    """Estimates take them to be like Sundays; that a table by the kind of day did not was said nowhere."""
    write_csv(tmp_path / "feasts.csv", [("2025-03-03",), ("2026-01-01",)], ("date",))
    text = (
        preset_text("journeys")
        .replace('partition = ["mode", "date"]', 'partition = ["mode", "day_type"]')
        .replace("first_day = 2016-08-08", "first_day = 2025-02-27")
        .replace("last_day = 2016-08-14", "last_day = 2025-03-05")
        .replace("# [world]", "[world]")
        .replace("# holidays = [2016-08-10]  ", "holidays = [2025-03-05]  ")
        .replace('# holiday_list = "holidays.csv"', 'holiday_list = "feasts.csv"')
    )
    text += '\n[coarsen.date]\nday_type = { days = "weekday-saturday-sunday", holidays = [2025-02-27] }\n'
    found = PublicInputs.of(Plan.parse(text, base=tmp_path)).calendars["day_type"]
    sundays = ["2025-02-27", "2025-03-02", "2025-03-03", "2025-03-05"]
    assert [day for day, kind in found.items() if kind == "sunday"] == sundays


BY_TIMETABLE = {"places": '[gtfs]\npath = "gtfs"', "holidays = [2025-03-04]": "timetable = true"}


def test_days_on_which_the_timetable_runs_as_on_a_sunday_are_holidays(tmp_path: Path) -> None:
    """The 3rd is a Monday with the buses of a Sunday; the 4th only lacks its night bus; the 5th has one bus more."""
    exceptions = [("work", "20250303", 2), ("sun", "20250303", 1), ("night", "20250304", 2), ("sun", "20250305", 1)]
    feed(tmp_path, exceptions)
    kinds = inputs(tmp_path, [], **BY_TIMETABLE).calendars["day_type"]
    assert [kinds[f"2025-03-0{day}"] for day in range(1, 6)] == ["saturday", "sunday", "sunday", "weekday", "weekday"]


def test_a_timetable_that_does_not_know_the_days_or_no_sunday_is_refused(tmp_path: Path) -> None:
    feed(tmp_path, [], last="20250301")
    with pytest.raises(InputFileError, match="runs from 2025-01-01 to 2025-03-01, and the plan has other days"):
        _ = inputs(tmp_path, [], **BY_TIMETABLE).calendars
    feed(tmp_path, [])
    calendar = (tmp_path / "gtfs/calendar.txt").read_text()
    text = "".join(line for line in calendar.splitlines(keepends=True) if not line.startswith(("sun", "night")))
    (tmp_path / "gtfs/calendar.txt").write_text(text)
    with pytest.raises(InputFileError, match="no service on Sundays"):
        _ = inputs(tmp_path, [], **BY_TIMETABLE).calendars


def test_a_list_of_cells_has_only_labels_that_days_have(tmp_path: Path) -> None:
    changes = {
        'mechanism = "gaussian"': 'mechanism = "dictionary"',
        "delta = 1e-6\n": "",
        'columns = ["season"]': 'columns = ["season"]\ncells = "cells.csv"',
        'columns = ["tap_on_time", "tap_on_location"]': 'columns = ["tap_on_location"]\ncells = "stops.csv"',
        "columns = []": 'columns = []\ncells = "total.csv"',
    }
    write_csv(tmp_path / "stops.csv", [("2025-03", "weekday", "Ash")], ("month", "day_type", "tap_on_location"))
    write_csv(tmp_path / "total.csv", [("2025-03", "weekday")], ("month", "day_type"))
    write_csv(tmp_path / "cells.csv", [("2025-03", "weekday", "trem")], ("month", "day_type", "season"))
    with pytest.raises(InputFileError, match="no day of the plan has `season` trem: did you mean `term`"):
        _ = inputs(tmp_path, [], **changes).dictionaries
