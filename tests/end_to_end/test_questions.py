"""What only a person can know is asked on a terminal; where nobody can be asked, the plan is refused until answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapveil.base.errors import PlanError
from tapveil.ledger.words import HAS_NO_DAYS, NAMES_NO_DAYS
from tapveil.plan.model import Plan
from tests.conftest import opal_plan, start_ledger, write_csv
from tests.support.commands import run
from tests.support.corpus import CORPUS
from tests.support.terminal import talk


def test_on_a_terminal_init_asks_and_the_plan_is_complete(tmp_path: Path) -> None:
    trips = CORPUS["Hangzhou, 0 and 1"].make(tmp_path)
    asked = [
        ("Which values of `status` mean a tap on?", "1"),
        ("Which values of `status` mean a tap off?", "0"),
        ("Which days does this release cover", "2025-03-03 to 2025-03-16"),
        ("What is protected as a whole?", ""),
        ("How strong is the promise (epsilon)?", "1"),
    ]
    code, screen = talk(("init", trips.name), asked, tmp_path)
    assert code == 0, screen
    said = " ".join(screen.split())
    assert "1 is strong: 27 and 73 of 100" in said
    assert "8 is weak: 0.03 and 99.97 of 100" in said
    assert "Proposed: " not in screen, "nothing is open"
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    plan = Plan.parse(text)
    assert plan.source.taps
    assert (plan.source.taps.on, plan.source.taps.off) == (("1",), ("0",))
    assert (plan.privacy.unit, plan.privacy.epsilon, plan.privacy.trips_per_day) == ("card-day", 1, 4)
    assert "If your trips of a day were others, 27 of 100" in text.replace("\n# ", " ")
    assert run("check", "plan.toml", cwd=tmp_path).returncode == 0


def test_enter_takes_what_is_proposed_and_a_wrong_answer_is_asked_again(tmp_path: Path) -> None:
    trips = CORPUS["times whose names say nothing"].make(tmp_path)
    trips.write_text(trips.read_text(encoding="utf-8").replace("stop_b,stop_a", "stop,station", 1), encoding="utf-8")
    asked = [
        ("Where does a trip begin?", "platform"),
        ("Please answer with one of: station, stop.", "1"),
        ("Does a trip end at `stop`?", ""),
        ("Which days does this release cover", ""),
        ("What is protected as a whole?", "trip"),
        ("How strong is the promise (epsilon)?", ""),
    ]
    code, screen = talk(("init", trips.name), asked, tmp_path)
    assert code == 0, screen
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.source.columns["tap_on_location"].column == "station"
    assert plan.source.columns["tap_off_location"].column == "stop"
    assert str(plan.source.first_day) == "2025-03-03"
    assert plan.privacy.looked_at_trips is True, "the days were those of the rows"
    assert (plan.privacy.unit, plan.privacy.epsilon) == ("trip", 2)


def test_where_nobody_can_be_asked_check_and_release_list_the_questions(tmp_path: Path) -> None:
    trips = CORPUS["a card, a time, a place"].make(tmp_path)
    assert run("init", trips.name, cwd=tmp_path).returncode == 0
    for command in (("check", "plan.toml"), ("release", "plan.toml", "-o", "out", "--no-ledger")):
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 2
        assert "plan.toml has an open question" in done.stderr
        assert "[source] shape: Is a row a trip, or one tap (on or off)?" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_question_in_a_plan_is_answered_with_what_the_line_takes(tmp_path: Path) -> None:
    """A card is named: "yes" would be taken for the name of a column."""
    rows = [[f"{n % 40:010d}", "2016-08-08", "train", f"{7 + n % 9:02d}:{n % 60:02d}"] for n in range(400)]
    write_csv(tmp_path / "trips.csv", rows, ["Titular", "date", "mode", "tap_on_time"])
    assert run("init", "trips.csv", cwd=tmp_path).returncode == 0
    said = run("check", "plan.toml", cwd=tmp_path).stderr
    assert "Is `Titular` the card" in said
    assert "write its name" in said
    assert "Proposed: yes" not in said


def test_every_open_question_is_listed_with_its_line() -> None:
    text = '[source]\npath = "t.csv"\n# ? Which zone?\ntimezone = "?"\n'
    text += '[source.columns]\na = { column = "x", missing = ["?"] }\n'
    with pytest.raises(PlanError) as caught:
        Plan.parse(f'{text}\n# ? Which\n# ? format?\nb = {{ column = "y", format = "?" }}\n', where="p.toml")
    assert str(caught.value).splitlines() == [
        'p.toml has 2 open questions: answer in place of "?", then run this again.',
        "  line 4, [source] timezone: Which zone?",
        "  line 10, [source.columns.b] format: Which format?",
    ]


def test_a_plan_that_names_no_days_is_released_only_for_all_days(tmp_path: Path) -> None:
    """Its cost counts for every day: the next month would find the budget used up."""
    write_csv(tmp_path / "trips.csv", [["1", "2016-08-08", "train", "08:00", "A", "08:30", "B"]] * 50)
    start_ledger(opal_plan(tmp_path))
    refused = run("release", "plan.toml", "-o", "out", cwd=tmp_path)
    assert (refused.returncode, "names no days" in refused.stderr) == (2, True)
    assert not (tmp_path / "out").exists()
    assert run("release", "plan.toml", "-o", "out", "--all-days", cwd=tmp_path).returncode == 0


def test_days_that_are_names_are_not_asked_to_be_named(tmp_path: Path) -> None:
    """Where the plan cannot name days, nobody is told to; and the next command that is shown works as it stands."""
    write_csv(tmp_path / "trips.csv", [["1", "Mon", "train", "08:00", "A", "08:30", "B"]] * 50)
    start_ledger(opal_plan(tmp_path, **{"\n[source]\n": '\n[source]\ndates = "labels"\n'}))
    checked = run("check", "plan.toml", "-q", cwd=tmp_path).stdout
    assert "Days: 1, Mon." in checked
    assert (HAS_NO_DAYS in checked, NAMES_NO_DAYS in checked) == (True, False)
    refused = run("release", "plan.toml", "-o", "out", cwd=tmp_path).stderr
    assert ("reads no calendar dates" in refused, "Name the days" in refused) == (True, False)
    shown = checked.splitlines()[-1].removeprefix("Next: tapveil ")
    released = run(*shown.split(), cwd=tmp_path)
    assert (released.returncode, HAS_NO_DAYS in " ".join(released.stdout.split())) == (0, True)


def test_an_answer_that_is_none_is_asked_again_and_not_taken_in_silence(tmp_path: Path) -> None:
    rows = [[1740981060000 + 60000 * n, 1740981660000 + 60000 * n, n % 7, n % 5] for n in range(3000)]
    write_csv(tmp_path / "rides.csv", rows, ("started_at", "ended_at", "start_station", "end_station"))
    asked = [
        ("In which time zone are the trips", "Berlin"),
        ("Please answer with the name of a time zone, such as Europe/Berlin.", "Europe/Berlin"),
        ("Which days does this release cover", "March"),
        ("Please answer with two days, such as 2025-03-01 to 2025-03-31.", "2025-03-01 to 2025-03-31"),
        ("How strong is the promise (epsilon)?", "strong"),
        ("Please answer with a number above 0, up to 100.", "1/2"),
        ("Please answer with a number above 0, up to 100.", "0.5"),
    ]
    code, screen = talk(("init", "rides.csv"), asked, tmp_path)
    assert code == 0, screen
    plan = Plan.read(tmp_path / "plan.toml")
    assert (plan.source.timezone, str(plan.source.last_day), float(plan.privacy.epsilon or 0)) == (
        "Europe/Berlin",
        "2025-03-31",
        0.5,
    )


def test_without_looking_a_number_of_trips_is_asked_about_and_not_passed_over(tmp_path: Path) -> None:
    """Each row was taken for one trip: of 12 trips 1 was counted, and protected as if it were all."""
    rows = [["2025-03-03", n % 24, "A", "B", n] for n in range(200)]
    write_csv(tmp_path / "od.csv", rows, ("Date", "Hour", "Origin", "Destination", "Ridership"))
    said = run("init", "od.csv", "--no-look", cwd=tmp_path).stdout
    assert "Open question: Is a row one trip, or as many as `Ridership` says? Proposed: counts." in said
    assert 'shape = "?"' in (tmp_path / "plan.toml").read_text(encoding="utf-8")
    write_csv(tmp_path / "on_off.csv", [["2025-03-03", "on", "A", 7]] * 9, ("date", "tap", "loc", "count"))
    said = run("init", "on_off.csv", "--no-look", "-o", "taps.toml", cwd=tmp_path).stdout
    assert "Open question: Is a trip in several rows, by `tap`" in said


def test_readings_of_a_counter_are_not_numbers_of_trips(tmp_path: Path) -> None:
    readings = [
        [f"S{gate}", "2025-03-03", f"{n % 24:02}:00", 90_000 * (9 - gate) + 97 * n]
        for gate in range(6)
        for n in range(48)
    ]
    header = ("STATION", "DATE", "TIME", "ENTRIES")
    write_csv(tmp_path / "gates.csv", readings, header)
    refused = run("init", "gates.csv", cwd=tmp_path)
    assert (refused.returncode, "`ENTRIES` seems to be the reading of a counter" in refused.stderr) == (3, True)
    in_order = [[place, day, time, 2_000 + 5 * n] for n, (place, day, time, _) in enumerate(readings)]
    write_csv(tmp_path / "sorted.csv", in_order, header)
    assert run("init", "sorted.csv", "-o", "sorted.toml", cwd=tmp_path).returncode == 0, "sorted by its numbers"
