"""The unfinished release: what must survive a kill between paying for noise and publishing it.

A folder beside the destination that only its owner may enter. It holds a journal (which release this is, and what was
drawn of it) and every noised table, sealed as soon as it is drawn: the numbers that are sealed are the numbers that are
published. A release that was killed goes on from here, at no further cost.

    write the table aside, sync  →  record its SHA-256 in the journal  →  rename it

The record decides. A table that it has is never drawn again: where the file is still aside it gets its name, and where
it is missing or another, nothing goes on. A table that it has not was drawn by a process that died at once, and nothing
was made of it: what is left aside is thrown away, always, so that nobody can choose (docs/privacy/proofs.md, 14).
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather

from tapveil.base import atomic
from tapveil.base.errors import EngineError, UsageError
from tapveil.published.table import Field, PublishedTable

JOURNAL_VERSION = 2
JOURNAL = "journal.json"
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
    counts_key: str = ""
    counts_hmac: str = ""
    """Of the exact counts, by that key: the same trips, also where they have no names, sizes and times. Secret."""
    sealed: Mapping[str, str] = field(default_factory=dict)
    """The tables that were drawn, and the SHA-256 of each as it was sealed."""


class Unfinished:
    """A release under way. Only one process at a time is at work on it."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self.path, self.journal = path, journal

    @property
    def folder(self) -> Path:
        """Where the folder is put together; the last step moves it to its place."""
        return self.path / "folder"

    def is_sealed(self, name: str) -> bool:
        """Whether the noise of a table was drawn, and kept."""
        return name in self.journal.sealed

    def seal(self, table: PublishedTable) -> None:
        """Keep a noised table, for good."""
        sealed = self._seal(table.name)
        aside = atomic.aside_of(sealed)
        with kept_for_later(_NOT_KEPT):
            aside.unlink(missing_ok=True)
            feather.write_feather(table.cells, str(aside))
            atomic.sync(aside, self.path)
            journal = replace(self.journal, sealed={**self.journal.sealed, table.name: atomic.sha256(aside)})
            _write(journal, self.path)
            self.journal = journal
            atomic.rename(aside, sealed)

    def unseal(self, name: str, fields: tuple[Field, ...]) -> PublishedTable:
        """A noised table as it was drawn."""
        try:
            with pa.memory_map(str(self._seal(name))) as file:
                whole = file.read_buffer()
                if hashlib.sha256(whole).hexdigest() != self.journal.sealed[name]:
                    raise self._not_as_drawn(name)
                cells = feather.read_table(pa.BufferReader(whole))
        except (OSError, pa.ArrowException):
            raise self._not_as_drawn(name) from None
        return PublishedTable(name, fields, cells)

    def require_seals(self) -> None:
        """Before a release goes on: every table that was drawn is there, as it was drawn, and no other."""
        for name, digest in self.journal.sealed.items():
            sealed = self._seal(name)
            aside = atomic.aside_of(sealed)
            with kept_for_later(_NOT_KEPT):
                if not sealed.exists() and aside.exists() and atomic.sha256(aside) == digest:
                    atomic.rename(aside, sealed)
                as_drawn = sealed.exists() and atomic.sha256(sealed) == digest
            if not as_drawn:
                raise self._not_as_drawn(name)
        for stray in sorted({path.stem for path in self.path.glob("*.sealed")} - set(self.journal.sealed)):
            raise self._not_as_drawn(stray)

    def _not_as_drawn(self, name: str) -> EngineError:
        return EngineError(
            f"the sealed table {name} in {self.path} is missing, or is not the one that the journal records. A table "
            "is drawn once: restore the folder as it was. To give the release up, remove the folder: what it spent "
            "stays spent"
        )

    def discard(self) -> None:
        """Remove it: the release is published, or nothing was spent on it. It goes at once, or is still whole."""
        gone = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}{GONE}")
        with suppress(OSError):
            self.path.rename(gone)
        _sweep(self.path)

    def _seal(self, name: str) -> Path:
        return self.path / f"{name}.sealed"


def _write(journal: Journal, place: Path) -> None:
    text = json.dumps({"version": JOURNAL_VERSION, **asdict(journal)}, indent=2) + "\n"

    def write(aside: Path) -> None:
        aside.touch(mode=atomic.OWNER_READS, exist_ok=False)
        aside.write_text(text, encoding="utf-8")

    atomic.write_whole(place / JOURNAL, write)


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
        with _alone(place):  # whoever is at work on it holds the lock
            pass
        raise UsageError(
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
        destination.parent.mkdir(parents=True, exist_ok=True)
        atomic.private_folder(aside)
        _write(journal, aside)
        aside.rename(place)
        begun = True
        atomic.sync(place.parent)
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
    """The unfinished release of a destination; UsageError if there is none."""
    place = place_for(destination)
    if not place.is_dir():
        if (destination / "privacy.json").exists():
            raise UsageError(f"{destination} is published already: there is nothing to resume")
        raise UsageError(
            f"there is no unfinished release to {destination}: without --resume a new one begins, and spends"
        )
    with _alone(place):
        try:
            data: dict[str, Any] = json.loads((place / JOURNAL).read_text(encoding="utf-8"))
            version = data.pop("version")
            if version != JOURNAL_VERSION:
                other = "tapveil 0.1.0" if version == 1 else "a newer tapveil"
                raise UsageError(
                    f"{place} was begun by {other}: finish it with that version. To give the release up, remove the "
                    "folder: what it spent stays spent"
                )
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
        raise EngineError(
            "another process is releasing to this folder right now: wait until it ends. Nothing was spent by this one"
        ) from None
    finally:
        os.close(descriptor)


@contextmanager
def kept_for_later(what: str) -> Iterator[None]:
    """Errors of the disk after the budget was charged say that nothing is lost."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise EngineError(f"{what} ({atomic.why(error)}). {AFTER_SPENDING}") from None


_NOT_KEPT = "a noised table could not be kept"
AFTER_SPENDING = "The budget is spent; nothing is lost: mend this, then finish with the same command and --resume"
