"""Which column is what: places go with their times, and what nobody was asked is not said to be an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
