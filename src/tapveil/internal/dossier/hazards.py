"""The hazards of NIST SP 800-226, each with its state in this case: met, met with a note, or for people to answer."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from tapveil.internal.dossier.case import Case

State = Literal["met", "met with a note", "yours to answer"]
MET: State = "met"
NOTE: State = "met with a note"
YOURS: State = "yours to answer"
STRONG = 1
"""What NIST calls a strong guarantee has an ε of at most this."""


@dataclass(frozen=True)
class Hazard:
    """One of them, in short."""

    number: str
    section: str
    title: str
    shown_by: tuple[str, ...]
    questions: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Hazard:
        return cls(
            data["number"],
            data["section"],
            data["title"],
            tuple(data["shown_by"]),
            tuple(data.get("questions", ())),
        )


@cache
def hazards() -> tuple[Hazard, ...]:
    """All of them, in their order."""
    text = (files(__package__) / "hazards.toml").read_text(encoding="utf-8")
    return tuple(Hazard.of(each) for each in tomllib.loads(text)["hazard"])


def states(case: Case) -> dict[str, State]:
    """By the number of the hazard. Where people must decide, it is theirs, whatever the program does."""
    manifest = case.manifest
    strong, together = case.loss.epsilon <= STRONG, case.together
    of_people = manifest.unit == "card" and together is not None and together <= STRONG
    by_list = manifest.is_world or manifest.from_a_list
    unseen = manifest.looked_at_trips is False
    return {
        "1": (MET if of_people else NOTE) if strong else YOURS,
        "2": MET if manifest.is_world or not case.loss.delta else NOTE,
        "3": YOURS,
        "4": {"trip": YOURS, "card-day": YOURS, "card": NOTE}[manifest.unit],
        "5": MET,
        "6": MET,
        "7": YOURS,
        "8": NOTE if case.audit and not case.audit.broken else YOURS,
        "9": YOURS,
        "10": MET,
        "11": MET if manifest.is_world and not manifest.by_card else NOTE,
        "12": YOURS if manifest.by_card else MET,
        "13": (MET if by_list else NOTE) if unseen else YOURS,
        "14": MET,
        "15": MET if case.is_recorded or case.accounts_with else NOTE,
        "16": YOURS,
        "17": NOTE,
        "18": YOURS,
        "19": YOURS,
    }
