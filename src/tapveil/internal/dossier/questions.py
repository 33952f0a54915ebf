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
from tapveil.internal.dossier.case import Case
from tapveil.internal.dossier.figures import Figure
from tapveil.internal.dossier.hazards import YOURS, hazards, states

HEAD = """\
# Answers for the dossier: write `answer`, `by` and `on`. The next dossier takes them over. [last] is the program's.
"""
ALWAYS = ("names", "withdrawal", "monitoring", "legal_basis")
"""What is asked of every release."""


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


@cache
def catalogue() -> Mapping[str, str]:
    """Every question, by its key."""
    text = (files(__package__) / "questions.toml").read_text(encoding="utf-8")
    return {key: each["question"] for key, each in tomllib.loads(text).items()}


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


def beside(path: Path) -> Path:
    """Where the answers for a plan or folder are kept: next to it, never in it."""
    path = path.resolve()
    return path.with_name(f"{path.stem if path.is_file() else path.name}.dossier.toml")


def read_kept(path: Path) -> Kept:
    """The answers that are there; UsageError where the file is none."""
    if not path.exists():
        return Kept()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        answers = {key: _answer(each) for key, each in data.get("answers", {}).items()}
        last: dict[str, Any] = data.get("last", {})
        figures = {str(key): str(text) for key, text in last.get("figures", {}).items()}
        on = last.get("on")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a file of answers: {error}") from None
    return Kept({key: each for key, each in answers.items() if each.answer.strip()}, on and str(on), figures)


def _answer(data: Mapping[str, object]) -> Answer:
    return Answer(str(data.get("answer", "")), str(data.get("by", "")), str(data.get("on", "")))


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
            "figures": {key: each.text for key, each in figures.items() if not key.startswith("was.")},
        }
    )
    document["last"] = last
    text = tomlkit.dumps(document)
    write_whole(path, lambda aside: write_new(aside, text, OWNER_READS))
