"""What contributors are told: the picture of the house is fresh, named files are there, lines are sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools import house, sentences

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tapveil"
PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def section(page: str, title: str) -> str:
    return page.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_picture_of_the_house_is_what_the_imports_say() -> None:
    assert house.PICTURE.read_text(encoding="utf-8") == house.picture(house.imports()), "run: make house"


def test_the_picture_has_every_package() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(house.BOXES) == set(house.DOWNWARDS)


def test_an_import_against_the_rule_is_drawn_red() -> None:
    sound = {("veil", "counting"), ("veil", "ledger"), ("cli", "internal")}
    assert house.RED not in house.picture(sound)
    for edge in (("published", "plan"), ("plan", "published"), ("trips", "counting"), ("base", "privacy")):
        assert house.RED in house.picture(sound | {edge})


@pytest.mark.parametrize(
    "question", ["time of a trip parsed", "card bounded", "noise drawn", "README of a folder come from"]
)
def test_a_question_is_answered_by_files_that_are_there(question: str) -> None:
    (row,) = (line for line in section(PAGE, "Where is it?").splitlines() if question in line)
    files = re.findall(r"`([\w/]+\.py)`", row)
    assert files
    assert all((SOURCE / file).is_file() for file in files)


@pytest.mark.parametrize("what", ["a mechanism", "an engine", "a table shape", "a file to the folder"])
def test_what_can_be_added_begins_in_a_file_that_is_there(what: str) -> None:
    (row,) = (line for line in section(CONTRIBUTING, "How do I add …").splitlines() if line.startswith(f"| {what} |"))
    files = re.findall(r"`((?:src|docs|tests)/[\w/.-]+)`", row)
    assert len(files) >= 2
    assert all((ROOT / file).exists() for file in files)


@pytest.mark.parametrize("path", sentences.pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_lines_of_a_page_break_at_sentences(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == sentences.broken(text), "run: python -m tools.sentences --write"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("One. Two\nthree.", ["One.", "Two three."]),
        ("- One. Two\n  three.\n- Four", ["- One.", "  Two three.", "- Four"]),
        ("1. (One.) Two", ["1. (One.)", "   Two"]),
        ("One:\ntwo, e.g. three, `a. b` and v1.2 four.", ["One:", "two, e.g. three, `a. b` and v1.2 four."]),
        ("**Claim.** One. Two.", ["**Claim.** One.", "Two."]),
    ],
)
def test_a_paragraph_has_a_line_for_each_sentence(text: str, lines: list[str]) -> None:
    assert sentences.broken(text).split("\n") == lines


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ echo A. B\nC. D\n```",
        "| One. Two | three |",
        "## One. Two",
        "Before:\n\n    H. Then\n    more",
        "<!-- One. Two -->",
        "<!-- measured: begin -->\nOne. Two\nthree.\n<!-- measured: end -->",
        "<!-- Written by a program. -->\nOne. Two",
    ],
)
def test_what_is_no_paragraph_keeps_its_lines(text: str) -> None:
    assert sentences.broken(text) == text


def test_the_readme_is_read_in_one_sitting() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS = dict(part.split("\n", 1) for part in GLOSSARY.split("\n## ")[1:])


def test_the_glossary_is_in_order_and_explains_each_term_in_a_few_sentences() -> None:
    assert list(TERMS) == sorted(TERMS, key=str.casefold)
    assert not {term: text for term, text in TERMS.items() if not 1 <= len(text.strip().splitlines()) <= 4}


@pytest.mark.parametrize(
    "term",
    [
        *("Differential privacy", "Epsilon", "Delta", "Neighbouring data", "Unit", "Card-day", "Noise", "Threshold"),
        *("Suppressed cell", "Interval", "Ledger", "Budget", "Manifest", "Post-processing", "Composition"),
    ],
)
def test_the_glossary_has_the_terms_that_a_reader_meets_first(term: str) -> None:
    assert term in TERMS
