"""Which column is what: places go with their times, and what nobody was asked is not said to be an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tapveil.trips.reading import Sample
from tapveil.trips.recognise import recognise
from tapveil.trips.recognised import Recognised

EARLIER, LATER = ([f"{7 + n % 9:02}:{start + n % 20}" for n in range(200)] for start in (10, 35))
FROM, TO = ([f"Platz {(n + more) % 7}" for n in range(200)] for more in (0, 3))
DAYS = [f"{1 + n % 20:02}.03.2025" for n in range(200)]


def of(
    columns: Mapping[str, Sequence[str]], answers: Mapping[str, str] | None = None, *, assumed: bool = False
) -> Recognised:
    return recognise([Sample(name, "text", values) for name, values in columns.items()], answers, assumed=assumed)


def cards(*others: str, every: int = 12) -> list[str]:
    """Cards of which none is frequent, but that every so many rows have another value."""
    return [others[n // every % len(others)] if others and n % every == 0 else f"{n % 400:08d}" for n in range(2000)]


def columns(found: Recognised) -> dict[str, str]:
    return {ours: guess.column for ours, guess in found.columns.items()}


def test_a_place_goes_with_the_time_of_its_number() -> None:
    """Times are ordered by their values: the second of them may be that of the start."""
    found = of({"Datum": DAYS, "Zeit 1": LATER, "Halt 1": TO, "Zeit 2": EARLIER, "Halt 2": FROM})
    assert columns(found) == {
        "date": "Datum",
        "tap_on_time": "Zeit 2",
        "tap_on_location": "Halt 2",
        "tap_off_time": "Zeit 1",
        "tap_off_location": "Halt 1",
    }
    assert not found.questions


def test_places_without_a_number_are_asked_for_in_the_order_of_their_times() -> None:
    export = {"Datum": DAYS, "Zeit 1": LATER, "Halt": TO, "Zeit 2": EARLIER, "Ort": FROM}
    found = of(export)
    assert [(each.key, each.proposal) for each in found.questions] == [
        ("tap_on_location", "Ort"),
        ("tap_off_location", "Halt"),
    ]
    turned = of(export, {"tap_on_location": "Halt", "tap_off_location": "Ort"})
    assert (columns(turned)["tap_on_location"], columns(turned)["tap_off_location"]) == ("Halt", "Ort")
    assert turned.columns["tap_on_location"].why == "so you said"
    assert "tap_off_location" not in columns(of(export, {"tap_on_location": "Ort", "tap_off_location": "no"}))


def test_what_nobody_was_asked_is_assumed() -> None:
    export = {"Datum": DAYS, "Zeit 1": LATER, "Halt": TO, "Zeit 2": EARLIER, "Ort": FROM}
    proposals = {each.key: each.proposal for each in of(export).questions}
    for assumed in (True, False):
        found = of(export, proposals, assumed=assumed).columns["tap_on_location"]
        assert (found.sureness, found.why) == (
            ("assumed", "assumed with --yes, not asked") if assumed else ("sure", "so you said")
        )


def test_a_format_that_nobody_was_asked_is_assumed() -> None:
    export = {"Datum": [f"{1 + n % 9:02}/{1 + n % 9:02}/2025" for n in range(200)], "Start": EARLIER, "Halt": FROM}
    (asked,) = (each for each in of(export).questions if each.key == "format.date")
    for assumed, sureness in ((True, "assumed"), (False, "sure")):
        answers = {each.key: each.proposal for each in of(export).questions}
        assert of(export, answers, assumed=assumed).columns["date"].sureness == sureness, asked.text


# --- words for no card ------------------------------------------------------------------------------------------------

NIGHT = [f"{(5 + n % 20) % 24:02}:{n % 60:02}" for n in range(2000)]
MANY_DAYS = [f"2025-03-{1 + n % 28:02}" for n in range(2000)]


@pytest.mark.parametrize("words", [("0",), ("PAPIER",), ("0000000000",), ("KEINE KARTE", "0")])
def test_a_value_of_so_many_rows_that_it_may_be_no_card_is_asked_about(words: tuple[str, ...]) -> None:
    export = {"Karte": cards(*words), "Datum": MANY_DAYS, "Start": NIGHT}
    found = of(export)
    (question,) = (each for each in found.questions if each.key == "missing.card")
    assert all(f"`{word}`" in question.text for word in words)
    assert set(found.columns["card"].missing) == set(words), "what is proposed stands in the plan"
    assert found.without_card
    assert not question.must
    assert not of(export, {"missing.card": "no"}).columns["card"].missing
    assert of(export, {"missing.card": "yes"}, assumed=True).columns["card"].sureness == "assumed"


def test_a_number_like_a_card_is_not_shown() -> None:
    found = of({"Karte": cards("30850019"), "Datum": MANY_DAYS, "Start": NIGHT})
    assert not [each for each in found.questions if each.key == "missing.card"]
    assert "far more frequent than others" in " ".join(found.remarks)
    assert "30850019" not in str(found)


@pytest.mark.parametrize("others", [(), ("-1",)])
def test_cards_that_are_alike_are_not_asked_about(others: tuple[str, ...]) -> None:
    found = of({"Karte": cards(*others), "Datum": MANY_DAYS, "Start": NIGHT})
    assert "missing.card" not in {each.key for each in found.questions}
    assert "more frequent" not in " ".join(found.remarks)


# --- days -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Betriebstag", "service date", "jornada operativa día", "営業日付"])
def test_a_day_that_is_called_one_of_service_is_asked_about_where_clocks_go_on(name: str) -> None:
    export = {name: MANY_DAYS, "Start": NIGHT}
    (question,) = (each for each in of(export).questions if each.key == "dates")
    assert (question.proposal, question.choices) == ("service", ("service", "calendar"))
    assert of(export, {"dates": "service"}).service
    assert not of(export, {"dates": "calendar"}).service
    by_day = [f"{7 + n % 12:02}:15" for n in range(2000)]
    assert not of({name: MANY_DAYS, "Start": by_day}).questions
    assert not of({"date": MANY_DAYS, "Start": NIGHT}).questions


def test_days_that_lost_a_zero_are_read() -> None:
    days = [f"{1 + n % 28}032025" for n in range(2000)]
    found = of({"Datum": days, "Start": NIGHT})
    assert (found.columns["date"].format, found.questions) == ("%d%m%Y", [])


@pytest.mark.parametrize("written", ["{} de marzo de 2025", "{:02}-Mrz-25", "Mo, {:02}.03.2025"])
def test_dates_in_words_are_not_taken_for_labels(written: str) -> None:
    found = of({"Datum": [written.format(1 + n % 28) for n in range(2000)], "Start": NIGHT})
    (question,) = found.questions
    assert (question.key, question.proposal, question.must) == ("date", "?", True)
    assert "write days such as 2025-03-04 in the files" in question.text
    assert found.columns["date"].sureness == "question"
