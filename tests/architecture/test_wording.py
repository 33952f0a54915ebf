"""Plain English: the field's own words in help, messages and documentation, and sentences that one can read aloud."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tapveil.cli.app import COMMANDS, app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tapveil"
FROZEN = re.compile(r"_1\.py$|/v\d+\.py$|/wording/[12]/")
"""What older folders are made of stays as it was."""
LONGEST = 30
"""Words in a sentence."""

PLAIN = {
    r"\blaws? of the noise\b": "the distribution of the noise",
    r"\bfolders? (is|are) (still )?whole\b|\bwhole or not there\b": "intact, complete",
    r"(?<!`)\bbeside\b(?![`=])": "next to, with",
    r"\bso many\b(?! that)": "a number of",
    r"\btold apart\b|\btells? (\w+ ){0,4}apart\b": "distinguished",
    r"\bholders?\b": "data custodian",
    r"\bkeeps? its word\b": "verified",
    r"\bwhat would pay\b": "which change would help most",
    r"\bto mend\b|\bmend(s|ed|ing)?\b": "fix",
    r"\bstrange (row|column|file|cell|value)s?\b": "unexpected, foreign",
    r"\bit is none\b": "none",
    r"\bmade[- ]up\b(?! of)": "generated",
    r"\binternal: not private\b": "CONFIDENTIAL: exact data, not protected by differential privacy.",
    r"\bnothing tells who\b": "unsigned: the publisher cannot be verified",
    r"\bFor a program to read\b": "Output JSON.",
    r"\bname of ours\b": "column names are reserved",
    r"\bby lot\b": "at random",
    r"(?<!-)\bspell(ed|ings?)\b": "written",
    r"\b(wrong|exact|same|ideal) laws?\b": "distribution",
    r"\brests\b(?! on)": "remainders",
    r"\bstrangers?\b": "others",
}
"""What we once wrote, and what to write instead."""


def texts(source: str) -> Iterator[str]:
    """The docstrings and other texts of a module; what is put into a text stands as one word."""
    tree = ast.parse(source)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.value


@cache
def written() -> dict[str, str]:
    """All that people read: the texts of the program, its templates, and the documentation."""
    found = {
        path.relative_to(ROOT).as_posix(): "\n".join(texts(path.read_text(encoding="utf-8")))
        for path in SOURCE.rglob("*.py")
    }
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    pages = [*SOURCE.rglob("*.j2"), *SOURCE.rglob("*.toml"), *top, *(ROOT / "docs").rglob("*.md")]
    found |= {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in pages}
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found["CHANGELOG.md"] = changes.split("## Unreleased")[1].split("\n## ")[0]
    return {name: text for name, text in found.items() if not FROZEN.search(name)}


@pytest.mark.parametrize("phrase", PLAIN, ids=PLAIN.get)
def test_what_people_read_is_in_the_words_of_the_field(phrase: str) -> None:
    places = {
        f"{name}: …{text[max(0, found.start() - 30) : found.end() + 30]}…"
        for name, text in written().items()
        for found in re.finditer(phrase, text, re.IGNORECASE)
    }
    assert not places, f"write {PLAIN[phrase]!r}"


def test_a_planted_phrase_is_found() -> None:
    planted = 'def f() -> None:\n    """The holder mends it."""\n    raise ValueError(f"{x} is told apart")\n'
    found = {phrase for phrase in PLAIN if any(re.search(phrase, text) for text in texts(planted))}
    assert {PLAIN[phrase] for phrase in found} == {"data custodian", "fix", "distinguished"}


# --- help -------------------------------------------------------------------------------------------------------------


def commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(f"{path} {name}", each)


EVERY = dict(commands("tapveil", get_command(app)))


def sentences(text: str) -> list[str]:
    return [each for each in re.split(r"(?<=[.?!:;])\s+|\n\n+", text) if each.strip()]


def too_long(text: str) -> list[str]:
    return [each for each in sentences(text) if len(each.split()) > LONGEST]


@pytest.mark.parametrize("path", EVERY)
def test_help_is_made_of_short_sentences(path: str) -> None:
    command = EVERY[path]
    for words in (command.help, *(each.help for each in command.params)):
        assert words, path
        assert words.endswith("."), words
        assert words[0].isupper(), words
        assert not too_long(words)


def test_the_list_of_commands_shortens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for path, command in EVERY.items():
        if hasattr(command, "commands"):
            context = command.make_context(path, [], resilient_parsing=True, terminal_width=80)
            listed = command.get_help(context)
            for name, each in command.commands.items():
                first = each.help.split("\n")[0].split(". ")[0].removesuffix(".")
                assert re.search(rf"^  {name} +{re.escape(first)}\.?$", listed, re.MULTILINE), (name, listed)
            assert max(map(len, listed.splitlines())) <= 80
            assert "..." not in listed.split("Options:")[1]


def test_every_command_is_listed_once_below_those_who_use_it() -> None:
    listed = EVERY["tapveil"].get_help(EVERY["tapveil"].make_context("tapveil", [], resilient_parsing=True))
    assert re.findall(r"^(\w+):$", listed, re.MULTILINE) == ["Options", *COMMANDS]
    for name in EVERY["tapveil"].commands:
        assert len(re.findall(rf"^  {name} ", listed, re.MULTILINE)) == 1


# --- messages ---------------------------------------------------------------------------------------------------------


def messages(source: str) -> Iterator[str]:
    """What errors say, as far as it stands where they are raised."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args[:1]:
                yield from texts(ast.unparse(argument))


def test_no_sentence_of_an_error_is_too_long() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {sentence}"
        for path in SOURCE.rglob("*.py")
        if not FROZEN.search(path.as_posix())
        for message in messages(path.read_text(encoding="utf-8"))
        for sentence in too_long(message)
    }
    assert not found
    assert list(messages('raise E(f"{a} is " "b")')) == ["x is b"]
