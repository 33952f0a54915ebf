"""A corpus of exports in many languages and shapes: none is read wrongly in silence, and most ask nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tapveil.base.errors import PlanError, TripDataError
from tapveil.base.progress import Silent
from tapveil.counting.counter import count
from tapveil.internal.draft import Draft, draft, leave_open, take_proposal
from tapveil.plan.model import Plan
from tapveil.trips.questions import Question
from tests.support.corpus import CORPUS, Truth

READ = {name: truth for name, truth in CORPUS.items() if not truth.refused}
REFUSED = {name: truth for name, truth in CORPUS.items() if truth.refused}
ANSWERS = {"timezone": "Europe/Istanbul", "on": "1", "off": "0"}
"""What who knows the exports says where nothing is proposed, or something that is not so."""


def drafted(truth: Truth, folder: Path, answers: Mapping[str, str] | None = None) -> Draft:
    def answer(question: Question) -> str:
        known = (answers or {}).get(question.key, question.proposal)
        return known if not question.choices or known in question.choices else question.proposal

    chosen = leave_open if answers is None else answer
    return draft(str(truth.make(folder)), folder / "plan.toml", answer=chosen, progress=Silent())


@pytest.mark.parametrize("name", READ)
def test_none_is_read_wrongly_in_silence(name: str, tmp_path: Path) -> None:
    truth, found = READ[name], drafted(READ[name], tmp_path)
    open_keys = {question.key for question in found.open} - {"days"}
    assert open_keys == truth.asks, "it asks what nobody can know, and nothing else"
    assert found.found.shape == truth.shape
    columns = {ours: guess.column for ours, guess in found.found.columns.items()}
    assert truth.columns.items() <= columns.items()
    others = set(columns) - set(truth.columns) - truth.asks - {"date"}
    assert not others, "no other column is taken for anything"
    formats = {ours: guess.format for ours, guess in found.found.columns.items() if ours in truth.formats}
    assert formats == truth.formats
    assert (found.found.labels, found.found.service) == (truth.labels, truth.service)
    if not truth.asks:
        assert (found.found.on, found.found.off) == (truth.on, truth.off)
    assert all(f"{ours} = " in found.text for ours in columns)


@pytest.mark.parametrize("name", [name for name, truth in READ.items() if not truth.cannot_be_counted])
def test_once_answered_it_counts_every_row(name: str, tmp_path: Path) -> None:
    """What was found is what the counting reads: no time, day or number of the file is refused."""
    truth = READ[name]
    text = drafted(truth, tmp_path, ANSWERS).text
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = Plan.read(tmp_path / "plan.toml")
    assert (plan.source.shape, plan.privacy.unit) == (truth.shape, truth.unit)
    assert plan.coarsen.time_minutes == truth.width
    assert plan.source.first_day or truth.labels
    counted = count(plan)
    unreadable = counted.refusals.refused
    masked = {"Paris": 150, "Opal, English": 2}.get(name, 0)
    assert unreadable <= masked, counted.refusals.by_reason
    assert counted.refusals.rows > 500


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_says_what_to_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(TripDataError, match=REFUSED[name].refused):
        drafted(REFUSED[name], tmp_path)


def test_most_ask_nothing() -> None:
    """But for the days, which no rows should tell: those are in the names of the files, or asked for."""
    assert len(CORPUS) >= 24
    assert sum(not truth.asks for truth in READ.values()) >= 18
    assert {truth.shape for truth in READ.values()} == {"trips", "taps", "counts"}


def test_with_yes_the_plan_says_what_was_not_asked(tmp_path: Path) -> None:
    truth = CORPUS["a card, a time, a place"]
    text = draft(str(truth.make(tmp_path)), tmp_path / "plan.toml", answer=take_proposal, progress=Silent()).text
    assert "# Taken with --yes, not asked: Is a row a trip, or one tap" in text
    assert Plan.parse(text).source.shape == "trips"


@pytest.mark.parametrize("name", ["taps without a word for them"])
def test_with_yes_taps_are_not_taken_for_trips(name: str, tmp_path: Path) -> None:
    """Counted as trips, each trip would be in twice, and half of it protected."""
    found = draft(str(CORPUS[name].make(tmp_path)), tmp_path / "plan.toml", answer=take_proposal, progress=Silent())
    assert {question.key for question in found.open} == {"tap"}
    assert 'shape = "taps"' in found.text
    with pytest.raises(PlanError, match="Which column says whether a tap is on or off"):
        Plan.parse(found.text)


def test_without_looking_a_row_of_a_card_is_not_said_to_be_a_trip(tmp_path: Path) -> None:
    trips = CORPUS["taps without a word for them"].make(tmp_path)
    found = draft(str(trips), tmp_path / "plan.toml", look="nothing", answer=take_proposal, progress=Silent())
    assert "shape" in {question.key for question in found.open}


def test_a_day_in_the_name_of_one_file_is_not_taken_for_its_days_without_looking(tmp_path: Path) -> None:
    trips = CORPUS["Opal, English"].make(tmp_path).rename(tmp_path / "export_20250401.csv")
    found = draft(str(trips), tmp_path / "plan.toml", look="nothing", answer=take_proposal, progress=Silent())
    assert "may be that of its export" in next(question.text for question in found.open if question.key == "days")


def test_letters_are_not_mangled_once_the_encoding_is_known(tmp_path: Path) -> None:
    for name, place in {"Warsaw, Windows-1250": "Świętokrzyska", "Istanbul, Windows-1254": "Şişhane"}.items():
        (folder := tmp_path / name[:5]).mkdir()
        (folder / "plan.toml").write_text(drafted(CORPUS[name], folder, ANSWERS).text, encoding="utf-8")
        assert place in count(Plan.read(folder / "plan.toml")).tables["on_location"].labels["tap_on_location"]


def test_an_afternoon_on_a_clock_of_twelve_hours_is_no_morning(tmp_path: Path) -> None:
    text = drafted(CORPUS["Manila, a clock of twelve hours"], tmp_path, ANSWERS).text
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    on_time = count(Plan.read(tmp_path / "plan.toml")).tables["on_time"]
    codes = set(on_time.packing.unpack(on_time.words)["tap_on_time"].tolist())
    assert {"08:00", "13:00", "14:00", "23:00"} <= {on_time.labels["tap_on_time"][code] for code in codes}


def test_times_that_are_called_utc_are_said_to_be(tmp_path: Path) -> None:
    trips = CORPUS["New York, taxis"].make(tmp_path)
    text = trips.read_text().replace("tpep_pickup_datetime", "pickup_utc")
    trips.write_text(text)
    said = draft(str(trips), tmp_path / "plan.toml", progress=Silent()).found.remarks
    assert sum("`pickup_utc` seems to be in UTC, and its times have no offset" in each for each in said) == 1


def test_a_month_by_kinds_of_days_says_what_it_is(tmp_path: Path) -> None:
    said = " ".join(drafted(CORPUS["Singapore, pairs"], tmp_path).found.remarks)
    assert "Rows are of `DAY_TYPE` and `YEAR_MONTH`, months and kinds of days, and not of single days" in said


def test_real_counts_of_namma_metro(shared_data: Path, tmp_path: Path) -> None:
    trips = shared_data / "namma" / "stationpair-hourly.parquet"
    text = draft(str(trips), tmp_path / "plan.toml", answer=take_proposal, progress=Silent()).text
    plan = Plan.parse(text)
    theirs = {ours: (each.column, each.format) for ours, each in plan.source.columns.items()}
    assert theirs == {
        "date": ("Date", None),
        "tap_on_time": ("Hour", "hours"),
        "tap_on_location": ("Origin Station", None),
        "tap_off_location": ("Destination Station", None),
        "count": ("Ridership", None),
    }
    assert (plan.source.shape, plan.coarsen.time_minutes) == ("counts", 60)
    assert (str(plan.source.first_day), str(plan.source.last_day)) == ("2025-08-01", "2025-08-18")


def test_real_counts_of_taps_on_and_off_are_not_added_up(shared_data: Path, tmp_path: Path) -> None:
    with pytest.raises(TripDataError, match="each trip would be in twice"):
        draft(str(shared_data / "opal" / "loc_20160808-14.csv"), tmp_path / "plan.toml", progress=Silent())
