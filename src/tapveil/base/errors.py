"""Every error a user can meet, as one tree.

    TapveilError
    ├── UsageError             exit 2   the command or the call is wrong: correct it and run again
    │   ├── PlanError          exit 2   the plan is wrong: correct it
    │   └── ReaderError        exit 2   what was asked of a published folder has no answer: no such table, day or place
    │       └── FolderError    exit 2   not a published folder, or it is damaged, or lacks what was asked for
    ├── TripDataError          exit 3   the trips, or what is read with them, cannot be used as they are
    │   ├── InputFileError     exit 3   a public file that the plan names cannot be used: stops, areas, a timetable
    │   └── LeakError          exit 3   a table would publish card ids, or a column that the plan does not name
    ├── EngineError            exit 4   the engine, the memory or the disk failed
    ├── LedgerError            exit 5   the ledger cannot be trusted or used as it is
    │   ├── BudgetError        exit 5   the ledger is sound, and refuses the release
    │   └── ApprovalError      exit 5   the release needs an officer's approval, and has none that holds for it
    └── DeliveryError          exit 6   the portal cannot be reached, or refuses

A message says what is wrong, where, and what to do. It never carries a value from a trip: what an engine
says about a bad row quotes the row, so engine errors are translated here and never chained.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TapveilError(Exception):
    """The root of all errors of tapveil: catch it to catch every one of them.

    Its `exit_code` is what the command line exits with.

    >>> issubclass(BudgetError, TapveilError), BudgetError.exit_code
    (True, 5)
    """

    exit_code = 4


class UsageError(TapveilError):
    """A command, a call or the plan is wrong: correct it and run again."""

    exit_code = 2


class PlanError(UsageError):
    """The plan is wrong. The message says where in the file, and what to write instead."""


class ReaderError(UsageError):
    """What was asked of a published folder has no answer: no such table, column, day or place, or no such sum.

    Every error of reading is one of these.
    """


class FolderError(ReaderError):
    """What was named is not a published folder, or it is damaged, or it lacks what was asked for."""


class TripDataError(TapveilError):
    """The trips, or what is read with them, cannot be used as they are."""

    exit_code = 3


class InputFileError(TripDataError):
    """A public file that the plan names cannot be used: a list of stops, areas, places or cells, or a timetable."""


class LeakError(TripDataError):
    """A table would publish card ids, or a column that the plan does not name. Nothing was published."""


class EngineError(TapveilError):
    """The engine, the memory or the disk failed."""

    exit_code = 4


class LedgerError(TapveilError):
    """The ledger cannot be trusted or used as it is: missing, damaged, rolled back, or in use."""

    exit_code = 5


class BudgetError(LedgerError):
    """The ledger is sound, and refuses the release: the budget is too small, or days would be published twice."""


class ApprovalError(LedgerError):
    """A release needs the approval of a privacy officer, and has none that holds for it. Nothing was spent.

    Its `code` says why, for programs; docs/guides/approve-a-release.md lists them.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class DeliveryError(TapveilError):
    """The portal cannot be reached, or refuses. What was delivered so far is hidden there; run it again to go on."""

    exit_code = 6


def did_you_mean(wrong: str, candidates: Iterable[str]) -> str:
    """A suggestion for a misspelt word, or nothing.

    >>> did_you_mean("epsilonn", ["delta", "epsilon"])
    ': did you mean `epsilon`?'
    >>> did_you_mean("onts", ["On", "OnTS"])
    ': did you mean `OnTS`?'
    >>> did_you_mean("7:00", ["27:00", "07:00"])
    ': did you mean `07:00`?'
    >>> did_you_mean("colour", ["delta", "epsilon"])
    ''
    """
    meant = closest(wrong, candidates)
    return f": did you mean `{meant}`?" if meant else ""


def closest(wrong: str, candidates: Iterable[str]) -> str | None:
    """The word that a misspelt one is most like, if there is one."""
    known = list(candidates)
    same = [each for each in known if _plain(each) == _plain(wrong)]
    return next(iter(same or difflib.get_close_matches(wrong, known, n=1, cutoff=0.6)), None)


def _plain(word: str) -> str:
    """Without capitals, and without zeros in front: 7:00 is 07:00."""
    return word.casefold().lstrip("0")
