"""The unfinished release: what must survive a kill between paying for noise and publishing it.

A folder beside the destination that only its owner may enter. It holds a journal (which release this is) and every
noised table, sealed as soon as it is drawn: the numbers that are sealed are the numbers that are published. A release
that was killed goes on from here, at no further cost; noise that was drawn and not sealed has left no trace anywhere.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather

from tapveil import disk
from tapveil.errors import EngineError, PlanError
from tapveil.plan import Plan, Table
from tapveil.published import PublishedTable, fields

JOURNAL_VERSION = 1
GONE = ".gone"


@dataclass(frozen=True)
class Journal:
    """Which release it is, so that nothing else is finished in its name."""

    id: str
    created: str
    statement_sha256: str
    """Of all that the folder will state of itself: plan, public files, version of the program."""
    ledger: str | None
    """The ledger that it is paid from; None where it is written down nowhere."""
    trips_sha256: str
    """Of the names, sizes and times of the trip files: all tables must come from the same trips."""


class Unfinished:
    """A release under way. Only one process at a time is at work on it."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self.path = path
        self.journal = journal

    @property
    def folder(self) -> Path:
        """Where the folder is put together; the last step moves it to its place."""
        return self.path / "folder"

    def is_sealed(self, table: Table) -> bool:
        """Whether the noise of a table was drawn, and kept."""
        return self._seal(table).exists()

    def seal(self, table: PublishedTable) -> None:
        """Keep a noised table, for good."""
        with _kept_for_later():
            disk.write_whole(self._seal(table.table), lambda aside: feather.write_feather(table.cells, str(aside)))

    def unseal(self, plan: Plan, table: Table) -> PublishedTable:
        """A noised table as it was drawn."""
        try:
            cells = feather.read_table(str(self._seal(table)), memory_map=False)
        except (OSError, pa.ArrowException):
            raise EngineError(f"the sealed table {table.name} in {self.path} cannot be read any more") from None
        return PublishedTable(table, fields(plan, table), cells)

    def discard(self) -> None:
        """Remove it: the release is published, or nothing was spent on it. It goes at once, or is still whole."""
        gone = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}{GONE}")
        with suppress(OSError):
            self.path.rename(gone)
        _sweep(self.path)

    def _seal(self, table: Table) -> Path:
        return self.path / f"{table.name}.sealed"


def _sweep(place: Path) -> None:
    """Remove what was given up, also by a process that was killed while it did this."""
    for gone in place.parent.glob(f"{glob.escape(place.name)}.*{GONE}"):
        shutil.rmtree(gone, ignore_errors=True)


def place_for(destination: Path) -> Path:
    """Where the unfinished release of a destination lies: beside it, on the same disk."""
    return destination.parent / f".{destination.name}.unfinished"


def refuse_another(destination: Path) -> None:
    """Before any work: a release that was paid for must be finished, not started again."""
    place = place_for(destination)
    _sweep(place)
    if place.exists():
        raise PlanError(
            f"a release to {destination} was begun and not finished; its noise may be paid for. Finish it with "
            f"--resume. To give it up, remove {place}: what it spent stays spent"
        )


@contextmanager
def begin(destination: Path, journal: Journal) -> Iterator[Unfinished]:
    """A new unfinished release: it appears with its journal, or not at all."""
    place = place_for(destination)
    aside = place.with_name(f"{place.name}.{secrets.token_hex(8)}{GONE}")  # swept up if it never gets its name
    work, begun = Unfinished(place, journal), False
    try:
        disk.private_folder(aside)
        text = json.dumps({"version": JOURNAL_VERSION, **asdict(journal)}, indent=2)
        disk.write_text_whole(aside / "journal.json", text + "\n")
        aside.rename(place)
        begun = True
        disk.sync(place.parent)
    except OSError as error:
        if begun:
            work.discard()
        refuse_another(destination)  # one that began a moment ago
        raise EngineError(
            f"nothing can be written beside {destination} ({error.strerror}). Nothing was spent"
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    with _alone(place):
        yield work


@contextmanager
def find(destination: Path) -> Iterator[Unfinished]:
    """The unfinished release of a destination; PlanError if there is none."""
    place = place_for(destination)
    if not place.is_dir():
        if (destination / "privacy.json").exists():
            raise PlanError(f"{destination} is published already: there is nothing to resume")
        raise PlanError(
            f"there is no unfinished release to {destination}: without --resume a new one begins, and spends"
        )
    with _alone(place):
        try:
            data: dict[str, Any] = json.loads((place / "journal.json").read_text(encoding="utf-8"))
            if data.pop("version") != JOURNAL_VERSION:
                raise PlanError(f"{place} was begun by another version of tapveil: finish it with that one")
            journal = Journal(**data)
        except (OSError, ValueError, KeyError, TypeError):
            raise EngineError(f"the journal in {place} cannot be read: the release cannot be finished") from None
        yield Unfinished(place, journal)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Held until the end, even a violent one: the system lets go of the lock with the process."""
    try:
        descriptor = os.open(place, os.O_RDONLY)
    except OSError as error:
        raise EngineError(f"{place} cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise EngineError(f"another process is at work on {place}: wait for it") from None
    finally:
        os.close(descriptor)


@contextmanager
def _kept_for_later() -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise EngineError(f"a noised table could not be kept ({disk.why(error)}). {AFTER_SPENDING}") from None


AFTER_SPENDING = "The budget is spent; nothing is lost: mend this, then finish with the same command and --resume"
