"""The unfinished release: what must survive a crash between charging the budget and publishing.

A folder next to the destination that only its owner may enter. It holds a journal (which release it is, and which
tables were drawn) and every noisy table, sealed as soon as it is drawn: sealed numbers are the numbers that are
published. A release that was interrupted continues from here, at no further cost.

    write the table aside, sync  →  record its SHA-256 in the journal  →  rename it

The journal decides. A recorded table is never drawn again: if its file is still aside it gets its name, and if it is
missing or different, the release stops. A table that is not recorded was drawn by a process that died at once and was
never used: its file is always discarded, so that nobody can choose (docs/privacy/proofs.md, 14).
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
    """The identity of a release, so that no other is finished in its place."""

    id: str
    created: str
    statement_sha256: str
    """Of the manifest: plan, public files, version of the program."""
    ledger: str | None
    """The ledger that records it; None for no ledger."""
    trips_sha256: str
    """Of the names, sizes and times of the trip files: all tables must come from the same trips."""
    counts_key: str = ""
    counts_hmac: str = ""
    """Of the exact counts, with that key: detects changed trips without names, sizes and times. Secret."""
    approval: str = ""
    approval_signature: str = ""
    """The officer's approval that it began under: it is not asked for again."""
    sealed: Mapping[str, str] = field(default_factory=dict)
    """The tables that were drawn, with the SHA-256 of each sealed file."""


class Unfinished:
    """A release in progress. Only one process at a time may work on it."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self.path, self.journal = path, journal

    @property
    def folder(self) -> Path:
        """Where the folder is assembled; the last step moves it to its destination."""
        return self.path / "folder"

    def is_sealed(self, name: str) -> bool:
        """Whether the noise of a table was drawn and stored."""
        return name in self.journal.sealed

    def seal(self, table: PublishedTable) -> None:
        """Store a noisy table permanently."""
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
        """Read a sealed table."""
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
        """Check that all sealed tables are present and unchanged, and that there are no others."""
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
            f"the sealed table {name} in {self.path} is missing or changed, and a table is drawn only once. Restore "
            "the folder. To abandon the release, remove the folder; its budget stays spent"
        )

    def discard(self) -> None:
        """Remove it, after publication or if nothing was spent. It is removed by one rename, or stays complete."""
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
    """Remove discarded folders, including those of processes that were killed meanwhile."""
    for gone in place.parent.glob(f"{glob.escape(place.name)}.*{GONE}"):
        shutil.rmtree(gone, ignore_errors=True)


def place_for(destination: Path) -> Path:
    """The path of the unfinished release of a destination: next to it, on the same disk."""
    return destination.parent / f".{destination.name}.unfinished"


def sweep(destination: Path) -> None:
    """Remove what a process left of a finished release if it was killed while it cleaned up: it is confidential."""
    _sweep(place_for(destination))


def refuse_another(destination: Path) -> None:
    """Raise PlanError if there is an unfinished release: it may be paid for, and must be finished."""
    place = place_for(destination)
    _sweep(place)
    if place.exists():
        with _alone(place):  # a process that works on it holds the lock
            pass
        raise UsageError(
            f"there is an unfinished release to {destination}, whose budget may be spent. Finish it with --resume. To "
            f"abandon it, remove {place}; its budget stays spent"
        )


@contextmanager
def begin(destination: Path, journal: Journal) -> Iterator[Unfinished]:
    """Begin an unfinished release; it appears with its journal, or not at all."""
    place = place_for(destination)
    aside = place.with_name(f"{place.name}.{secrets.token_hex(8)}{GONE}")  # removed later if it never gets its name
    work, begun = Unfinished(place, journal), False
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir(mode=atomic.OWNER_ONLY)
        _write(journal, aside)
        aside.rename(place)
        begun = True
        atomic.sync(place.parent)
    except OSError as error:
        if begun:
            work.discard()
        refuse_another(destination)  # another process may have just begun
        raise EngineError(f"cannot write next to {destination} ({error.strerror}). No budget was spent") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    with _alone(place):
        yield work


@contextmanager
def find(destination: Path) -> Iterator[Unfinished]:
    """Find the unfinished release of a destination; UsageError if there is none."""
    place = place_for(destination)
    if not place.is_dir():
        if (destination / "privacy.json").exists():
            raise UsageError(f"{destination} is already published; there is nothing to resume")
        raise UsageError(f"there is no unfinished release to {destination}; run without --resume to begin one")
    with _alone(place):
        try:
            data: dict[str, Any] = json.loads((place / JOURNAL).read_text(encoding="utf-8"))
            version = data.pop("version")
            if version != JOURNAL_VERSION:
                other = "tapveil 0.1.0" if version == 1 else "a newer tapveil"
                raise UsageError(
                    f"{place} was begun by {other}; finish it with that version. To abandon the release, remove the "
                    "folder; its budget stays spent"
                )
            journal = Journal(**data)
        except (OSError, ValueError, KeyError, TypeError):
            raise EngineError(
                f"the journal in {place} cannot be read, so the release cannot be finished; restore it from a backup"
            ) from None
        yield Unfinished(place, journal)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """A lock that the system releases with the process, even if it crashes."""
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
    """Translate errors of the disk after the budget was charged: nothing is lost."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise EngineError(f"{what} ({atomic.why(error)}). {AFTER_SPENDING}") from None


_NOT_KEPT = "a noisy table could not be stored"
AFTER_SPENDING = "The budget has been charged and no data was lost. Fix the problem, then rerun with --resume"
