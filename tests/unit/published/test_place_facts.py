"""What lists say of places: by mode or for every mode, written in one way."""

from __future__ import annotations

import pytest

from tapveil.published import place_facts
from tapveil.published.place_facts import PlaceFacts

FACTS = PlaceFacts(("latitude", "title"), {("*", "Q"): ("1.5", "Quay, West"), ("bus", "Q"): ("2.0", "")})


def test_a_place_of_a_mode_comes_before_that_of_every_mode() -> None:
    assert [FACTS.of(mode, "Q", "latitude") for mode in ("bus", "train", "*")] == ["2.0", "1.5", "1.5"]


def test_a_place_without_a_title_is_called_by_its_name_and_knows_nothing_else() -> None:
    assert FACTS.of("bus", "Q", "title") == "Q"
    assert FACTS.of("train", "Hill", "title") == "Hill"
    assert (FACTS.of("train", "Hill", "latitude"), FACTS.of("bus", "Q", "borough")) == ("", "")


def test_files_without_a_mode_say_what_all_modes_of_a_place_agree_on() -> None:
    rows = {("bus", "Q"): ("1.5", "Quay"), ("train", "Q"): ("2.0", "Quay"), ("bus", "H"): ("3.0", "Hill")}
    facts = PlaceFacts(("latitude", "title"), {**rows, ("*", "S"): ("4.0", "Spit")}).of_every_mode()
    assert [facts.of("*", name, "title") for name in "QHS"] == ["Quay", "Hill", "Spit"]
    assert [facts.of("*", name, "latitude") for name in "QHS"] == ["", "3.0", "4.0"]
    assert facts.of("bus", "Q", "latitude") == "1.5"
    assert place_facts.read(facts.text(), facts.fields) == facts


def test_the_file_is_read_as_it_was_written_and_in_no_other_way() -> None:
    text = FACTS.text()
    assert text == 'mode,name,latitude,title\n*,Q,1.5,"Quay, West"\nbus,Q,2.0,\n'
    assert place_facts.read(text, FACTS.fields) == FACTS
    first, *rest = text.splitlines(keepends=True)
    for other in (text + "\n", first + "".join(reversed(rest)), text.replace("2.0", '"2.0"'), "", "mode\n"):
        with pytest.raises(ValueError, match=r".+"):
            place_facts.read(other, FACTS.fields)
    with pytest.raises(ValueError, match="is not written"):
        place_facts.read(text, ("latitude",))


def test_what_identifies_a_person_or_is_too_long_is_found() -> None:
    assert not list(FACTS.findings())
    long = PlaceFacts(("title",), {("*", "Q"): ("x" * 201,)})
    assert [each.code for each in long.findings()] == ["too-large"]
    mail = PlaceFacts(("title",), {("*", "Q"): ("someone@agency.example",)})
    assert [each.code for each in mail.findings()]


def test_a_place_of_which_less_is_said_than_the_header_has_is_refused() -> None:
    assert place_facts.read("mode,name,borough,line\nbus,A,East,3\n", ("borough", "line")).of("bus", "A", "line") == "3"
    with pytest.raises(ValueError, match="not written as a release writes it"):
        place_facts.read("mode,name,borough,line\nbus,A,East\n", ("borough", "line"))
