"""Every error a user can meet, as one tree.

    TapveilError
    ├── PlanError        exit 2   the plan or the command is wrong: correct it and run again
    ├── TripDataError    exit 3   the trips (or a lookup) cannot be used as they are
    ├── EngineError      exit 4   the engine, the memory or the disk gave out
    └── LedgerError      exit 5   the ledger cannot be trusted or used as it is
        └── BudgetError  exit 5   the ledger is sound, and says no

A message says what was wrong, where, and what to do. It never carries a value from a trip: what an engine
says about a bad row quotes the row, so engine errors are translated here and never chained.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TapveilError(Exception):
    """The root: anything tapveil says no to."""

    exit_code = 4


class PlanError(TapveilError):
    """The plan, or the way a command was called, is wrong."""

    exit_code = 2


class TripDataError(TapveilError):
    """The trips, or a lookup beside them, cannot be used as they are."""

    exit_code = 3


class EngineError(TapveilError):
    """The engine, the memory or the disk gave out."""

    exit_code = 4


class LedgerError(TapveilError):
    """The ledger cannot be trusted or used as it is."""

    exit_code = 5


class BudgetError(LedgerError):
    """The budget does not hold what was asked for."""


def did_you_mean(wrong: str, candidates: Iterable[str]) -> str:
    """A suggestion for a misspelt word, or nothing.

    >>> did_you_mean("epsilonn", ["delta", "epsilon"])
    ': did you mean `epsilon`?'
    >>> did_you_mean("onts", ["On", "OnTS"])
    ': did you mean `OnTS`?'
    >>> did_you_mean("colour", ["delta", "epsilon"])
    ''
    """
    meant = closest(wrong, candidates)
    return f": did you mean `{meant}`?" if meant else ""


def closest(wrong: str, candidates: Iterable[str]) -> str | None:
    """The word that a misspelt one is most like, if there is one."""
    known = list(candidates)
    same = [each for each in known if each.casefold() == wrong.casefold()]
    return next(iter(same or difflib.get_close_matches(wrong, known, n=1, cutoff=0.6)), None)
