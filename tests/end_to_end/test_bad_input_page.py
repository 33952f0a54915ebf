"""The page on bad input says what the program says: each section is run again, and compared word for word."""

from __future__ import annotations

import re

import pytest

from tests.support.bad_input import INTRODUCTION, PAGE, SECTIONS, Bad, run, table, telling
from tests.support.commands import Said
from tests.support.fuzz import PRIVATE


def parts() -> list[str]:
    """The introduction, then the sections."""
    return re.split(r"\n(?=## )", PAGE.read_text(encoding="utf-8"))


def test_the_page_has_these_sections_and_no_others() -> None:
    introduction, *sections = parts()
    assert introduction == INTRODUCTION
    assert [section.splitlines()[0] for section in sections] == [f"## {section}" for section in SECTIONS]


@pytest.mark.parametrize("section", SECTIONS)
def test_bad_input_is_refused_as_the_page_says(section: str) -> None:
    said = [run(bad) for bad in SECTIONS[section]]
    for bad, each in zip(SECTIONS[section], said, strict=True):
        check_code(bad, each)
        check_words(bad, each)
    page = parts()[1 + list(SECTIONS).index(section)]
    assert page.rstrip() == table(section, said).rstrip(), "run: python -m tests.support.bad_input --write"


def check_code(bad: Bad, said: Said) -> None:
    """0 ok, 1 a check failed, 2 wrong use or plan, 3 bad trip data; from 2 on there is an error, and one alone."""
    assert said.code == bad.code, (bad.what, said.err)
    assert said.err.startswith("tapveil: ") == (said.code >= 2), bad.what
    assert ("A release would stop: " in said.out) == (said.code == 1), bad.what


def check_words(bad: Bad, said: Said) -> None:
    """Something is said, but no value of a trip, and nothing of a program's insides."""
    assert telling(said), bad.what
    public = re.sub(r"it runs from \S+ to \S+", "", telling(said) + said.err)  # the days of a timetable
    assert not PRIVATE.search(public), bad.what
    assert "Traceback" not in said.err, bad.what


def test_no_two_cases_of_a_section_have_one_name() -> None:
    for cases in SECTIONS.values():
        names = [bad.what for bad in cases]
        assert len(names) == len(set(names))
