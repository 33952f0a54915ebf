"""Mistakes in a plan: every rule has its words, and every sentence its rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tapveil.plan import rules
from tapveil.plan.problem import problem, sentences

LONGEST = 30
RULES = sentences()["rules"]


def said() -> Iterator[tuple[str, set[str]]]:
    """The codes in the rules, each with the facts that it is given."""
    for node in ast.walk(ast.parse(Path(rules.__file__).read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="problem"), args=[_, ast.Constant(value=str(code)), *_], keywords=facts):
                yield code, {str(each.arg) for each in facts}


def test_every_rule_has_its_words_and_gives_just_their_facts() -> None:
    found = dict(said())
    assert set(found) == set(RULES)
    for code, facts in said():
        assert set(re.findall(r"{(\w+)}", RULES[code])) == facts, code


def test_no_two_rules_say_the_same() -> None:
    assert len(set(RULES.values())) == len(RULES)


def test_no_sentence_is_too_long() -> None:
    every = [
        each for texts in sentences().values() for text in texts.values() for each in re.split(r"(?<=[.:;])\s+", text)
    ]
    assert not [each for each in every if len(each.split()) > LONGEST]


def test_facts_are_put_in_as_they_are() -> None:
    assert problem(("table", "od"), "column-twice", column="{mode}").sentence == "column `{mode}` is used twice"
    assert problem(("privacy",), "no-delta").sentence == "delta is missing"
