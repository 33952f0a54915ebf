"""Open questions for people, and their answers, kept for the next dossier in a file next to the plan or folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomlkit

from tapveil.base.atomic import OWNER_READS, write_new, write_whole
from tapveil.base.errors import UsageError
from tapveil.base.vocabulary import DOSSIER_ANSWERS
from tapveil.internal.dossier.case import Case
from tapveil.internal.dossier.hazards import YOURS, hazards, states
from tapveil.internal.dossier.markup import Figure
from tapveil.published.describe.wording import LOOKED, UNIT_NAMES
from tapveil.published.manifest import Manifest

HEAD = """\
# Answers for the dossier: write `answer`, `by` and `on`. The next dossier takes them over. [last] is the program's.
"""
ALWAYS = ("names", "withdrawal", "monitoring", "legal_basis")
"""What is asked of every release."""
PLAN = "Plan"
"""The fact that says which plan a dossier is of."""
NOT_COMPARED = ("was.", "lost.", "index.")
"""Figures that the next dossier does not compare: its own of before, and what is published by mode, hour and area."""


@dataclass(frozen=True)
class Answer:
    """What somebody answered."""

    answer: str
    by: str
    on: str


@dataclass(frozen=True)
class Kept:
    """The file next to the plan: answers, and the figures of the dossier before."""

    answers: Mapping[str, Answer] = field(default_factory=dict)
    last_on: str | None = None
    last_figures: Mapping[str, str] = field(default_factory=dict)
    last_facts: Mapping[str, str] = field(default_factory=dict)
    last_open: tuple[str, ...] | None = None
    """The questions that were open; None where the dossier before did not say."""


@cache
def catalogue() -> Mapping[str, str]:
    """Every question, by its key."""
    return {key: each["question"] for key, each in _questions().items()}


@cache
def titles() -> Mapping[str, str]:
    """The heading of every question, by its key."""
    return {key: each["title"] for key, each in _questions().items()}


@cache
def _questions() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((files(__package__) / "questions.toml").read_text(encoding="utf-8"))


def asked(case: Case) -> list[str]:
    """The questions of a case, in the order of the catalogue."""
    found, state = set(ALWAYS), states(case)
    for hazard in hazards():
        found |= set(hazard.questions) if state[hazard.number] == YOURS else set()
    found |= {"timing", "review"}
    found -= {"audit"} if case.audit is not None else set()
    found |= {"intruder"} if case.intruder is None else set()
    found |= {"ledger"} if case.entries is None else set()
    return [key for key in catalogue() if key in found]


def facts(case: Case) -> dict[str, str]:
    """What the next dossier compares besides figures, in words."""
    manifest = case.manifest
    covers, noise = manifest.covers, dict.fromkeys(table.noise for table in manifest.tables)
    known = {
        PLAN: manifest.plan_sha256,
        "Release": manifest.release_id if case.folder else "",
        "Protected": UNIT_NAMES[manifest.unit],
        "Notion of neighbours": case.neighbours,
        "Noise": ", ".join(noise),
        "Days": f"{covers.first_day} to {covers.last_day}" if covers.first_day else "no limit",
        "Modes": ", ".join(covers.modes or ("no limit",)),
        "Tables": "; ".join(f"{table.name} ({table.in_words})" for table in manifest.tables),
        "Areas": "; ".join(f"{mode}: {area}" for mode, area in manifest.areas.items()),
        "Chosen by looking": LOOKED[manifest.looked_at_trips],
        "Exact totals": "; ".join(total.in_words for total in manifest.totals or ()),
    }
    known |= {f"NIST hazard {number}": state for number, state in states(case).items()}
    return {key: text for key, text in known.items() if text}


def beside(path: Path, manifest: Manifest) -> Path:
    """Where the answers for a plan or folder are kept: next to it, never in it.

    Answers that were given for the plan before its release hold for the folder, if they are next to it.
    """
    path = path.resolve()
    own = path.with_name(f"{path.stem if path.is_file() else path.name}{DOSSIER_ANSWERS}")
    if path.is_file() or own.exists():
        return own
    given = [each for each in path.parent.glob(f"*{DOSSIER_ANSWERS}") if _is_of(each, manifest.plan_sha256)]
    return given[0] if len(given) == 1 else own


def _is_of(path: Path, plan_sha256: str) -> bool:
    """Whether the last dossier with these answers was of this plan."""
    try:
        return read_kept(path).last_facts.get(PLAN) == plan_sha256
    except UsageError:
        return False


def read_kept(path: Path) -> Kept:
    """The answers that are there; UsageError where the file is none."""
    if not path.exists():
        return Kept()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        answers = {key: _answer(each) for key, each in data.get("answers", {}).items()}
        last: dict[str, Any] = data.get("last", {})
        figures = {str(key): str(text) for key, text in last.get("figures", {}).items()}
        facts = {str(key): str(text) for key, text in last.get("facts", {}).items()}
        on, left = last.get("on"), last.get("open")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a file of answers: {error}") from None
    answered = {key: each for key, each in answers.items() if each.answer.strip()}
    return Kept(answered, on and str(on), figures, facts, None if left is None else tuple(map(str, left)))


def _answer(data: Mapping[str, object]) -> Answer:
    return Answer(str(data.get("answer", "")), str(data.get("by", "")), str(data.get("on", "")))


def compared(figures: Mapping[str, Figure]) -> dict[str, str]:
    """The figures that the next dossier compares."""
    return {key: each.text for key, each in figures.items() if not key.startswith(NOT_COMPARED)}


def write_kept(path: Path, case: Case, figures: Mapping[str, Figure]) -> None:
    """Ask what is not answered yet, and note the figures of this dossier; what people wrote stays as it is."""
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.parse(HEAD)
    answers = document.setdefault("answers", tomlkit.table(is_super_table=True))
    for key in asked(case):
        if key not in answers:
            stub = tomlkit.table()
            stub.update({"question": catalogue()[key], "answer": "", "by": "", "on": ""})
            answers[key] = stub
    last = tomlkit.table()
    last.update(
        {
            "on": case.on.isoformat(),
            "facts": facts(case),
            "open": [key for key in asked(case) if not str(answers[key].get("answer", "")).strip()],
            "figures": compared(figures),
        }
    )
    document["last"] = last
    text = tomlkit.dumps(document)
    write_whole(path, lambda aside: write_new(aside, text, OWNER_READS))
