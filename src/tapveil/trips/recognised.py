"""What was recognised in an export: what a row is, which column is which, and what is still to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from tapveil.trips.questions import Question

Sureness = Literal["sure", "likely", "assumed", "question"]
"""`assumed` is what was proposed and taken, though nobody was asked."""
Shape = Literal["trips", "taps", "counts"]


@dataclass(frozen=True)
class Guess:
    """What one of our columns is."""

    column: str
    sureness: Sureness
    why: str
    format: str | None = None
    missing: tuple[str, ...] = ()


@dataclass
class Recognised:
    """What was recognised in an export."""

    shape: Shape = "trips"
    why: str = ""
    """Why a row is that."""
    columns: dict[str, Guess] = field(default_factory=dict)
    like: str = ""
    """Which well-known export it looks like."""
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    """Where a row is one tap: the words that mean on, and off."""
    questions: list[Question] = field(default_factory=list)
    unused: tuple[str, ...] = ()
    """Columns that are not read."""
    labels: bool = False
    """Whether days are names, not dates."""
    service: bool = False
    """Whether dates are those of service days."""
    zone: str | None = None
    """The time zone that the files themselves name."""
    offsets: bool = False
    """Whether times carry an offset from UTC, or are counted from 1970."""
    grain: int = 1
    """The length of the bins that times are given in, in minutes."""
    days: tuple[date, date] | None = None
    """The first and the last day that more than a few rows have; of the rows that were looked at."""
    without_card: bool = False
    """Whether more than a few rows have no card."""
    remarks: list[str] = field(default_factory=list)

    @property
    def is_taps(self) -> bool:
        return self.shape == "taps"

    @property
    def is_counts(self) -> bool:
        return self.shape == "counts"

    def open(self, answers: Mapping[str, str]) -> Question | None:
        """The first question that has no answer yet."""
        return next((each for each in self.questions if each.key not in answers), None)
