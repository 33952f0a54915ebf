"""The book: one SQLite file, append-only, every entry chained to the one before by its hash.

A commit is on the disk before it returns (write-ahead log, full sync). Next to the file is the head file, with the
number and hash of the last entry: a ledger that was rolled back, with all its own checks intact, does not contain it.
The hash of its entry is also in every published manifest, where nobody can take it back. It is the hash alone: the
number of entries would tell of releases that were stopped. Each entry has random bits, so that nobody finds a budget
by trying which one has the hash (docs/privacy/proofs.md, 12).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import shlex
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import quote

from tapveil.base import atomic
from tapveil.base.errors import ApprovalError, BudgetError, LedgerError
from tapveil.base.findings import Finding
from tapveil.ledger import refusals, words
from tapveil.ledger.approval import Approval, History, may_follow
from tapveil.ledger.entry import (
    ENTRY_VERSION,
    Accepted,
    Approved,
    Budget,
    Delivered,
    Entry,
    Officers,
    Published,
    Scheduled,
    Spend,
    Start,
    Withdrawn,
    read,
)

APPLICATION = 0x74617076  # "tapv"
FORMAT = 1
WAIT_SECONDS = 60.0
NOTHING_BEFORE = "0" * 64

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_last BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
CREATE TRIGGER entries_follow BEFORE INSERT ON entries
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'entries follow each other'); END;
"""


@dataclass(frozen=True)
class Head:
    """An entry of a ledger, by its hash: with it, all before it."""

    ledger: str
    hash: str

    @classmethod
    def of(cls, ledger: object, digest: object) -> Head:
        """A head as an untrusted folder states it: ValueError if it is invalid. People read and type it."""
        if not (re.fullmatch("[0-9a-f]{32}", str(ledger)) and re.fullmatch("[0-9a-f]{64}", str(digest))):
            raise ValueError("no ledger, or no hash")
        return cls(str(ledger), str(digest))


@dataclass(frozen=True)
class Witness:
    """What a published folder says of where it is written down."""

    name: str
    head: Head | None
    release_id: str
    checksums_sha256: str

    @property
    def ledger(self) -> str | None:
        return self.head.ledger if self.head else None


class Ledger:
    """The record of the privacy budget: budgets and releases, append-only, each entry chained to the one before.

    Create one with `Ledger.start`, open one with `Ledger.open`. A release writes to it by itself (`tapveil.release`).
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def start(cls, path: str | Path, today: date | None = None) -> None:
        """Create a new ledger, without a budget. It appears complete, after its head.

        Args:
            path: The file to create; it must not exist yet.
            today: The day to note in its first entry; by default today.

        Raises:
            LedgerError: The file exists, or cannot be written, or its head says that it existed and is gone.

        Example:
            >>> import tapveil
            >>> tapveil.Ledger.start("new.sqlite")
        """
        path, today = Path(path), today or datetime.now(UTC).date()
        try:
            with _only_one(path.parent):
                cls._start(path, today)
        except OSError as error:
            raise LedgerError(f"the ledger {path} cannot be made: {error.strerror}") from None

    @staticmethod
    def _start(path: Path, today: date) -> None:
        if path.exists():
            raise LedgerError(
                f"{path} already exists; a ledger is started only once. To set a budget: tapveil ledger budget"
            )
        head = _read_head(path)
        if head and head[0] > 1:
            raise LedgerError(f"{path} is missing, but had {head[0]} entries: restore it from its backup")
        body = Start(on=today, ledger=secrets.token_hex(16)).text(secrets.token_hex(16))
        digest = _chained(1, NOTHING_BEFORE, body)
        aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.aside")
        try:
            with _translated(path):
                connection = sqlite3.connect(aside, isolation_level=None)
                connection.executescript(_SCHEMA)
                connection.execute("INSERT INTO entries VALUES (1, ?, ?)", (body, digest))
                connection.close()
            atomic.sync(aside)
            _write_head(path, 1, digest)
            atomic.rename(aside, path)
        finally:
            aside.unlink(missing_ok=True)

    @classmethod
    @contextmanager
    def open(cls, path: str | Path, *, wait: float = WAIT_SECONDS) -> Iterator[Ledger]:
        """Open an existing ledger for a `with` block. It is checked before it is trusted.

        Args:
            path: The file of the ledger.
            wait: For how many seconds to wait while another process writes to it.

        Returns:
            A context manager that gives the ledger and closes it.

        Raises:
            LedgerError: There is none, it is damaged, or it cannot be opened.

        Example:
            >>> import tapveil
            >>> with tapveil.Ledger.open("ledger.sqlite") as ledger:
            ...     print([entry.kind for entry in ledger.entries])
            ['start', 'budget', 'release', 'published']
        """
        path = Path(path)
        if not path.is_file():
            raise LedgerError(words.missing(path))
        connection: sqlite3.Connection | None = None
        try:
            with _translated(path):
                connection = sqlite3.connect(
                    f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None, timeout=wait
                )
                settings = ("application_id", "user_version")
                application, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in settings)
                if application != APPLICATION:
                    raise LedgerError(f"{path} is not a ledger of tapveil")
                if version != FORMAT:
                    raise LedgerError(f"{path} has format {version}, which this tapveil does not know: use a newer one")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
            yield cls(path, connection)
        finally:
            if connection:
                connection.close()

    @property
    def entries(self) -> list[Entry]:
        """All entries, oldest first; LedgerError unless chain and head are whole."""
        head, rows = _read_head(self.path), self._rows()  # in this order: the ledger may grow in between
        for finding in _chain_findings(rows, head):
            raise LedgerError(f"{self.path.name}: {finding.sentence}")
        entries = [read(number, body) for number, body, _ in rows]
        if not entries or not isinstance(entries[0], Start):
            raise LedgerError(
                f"{self.path.name} does not begin with a start entry, so it is damaged: restore it from its backup"
            )
        return entries

    @property
    def id(self) -> str:
        """Which ledger this is."""
        first = self.entries[0]
        return first.ledger if isinstance(first, Start) else ""

    def declare(self, budget: Budget) -> None:
        """Set the budget of a data set and unit. Earlier budgets stay on record.

        Args:
            budget: The budget; one that allows more than before must say why (`reason`) and who decided it (`by`).

        Raises:
            BudgetError: It allows more than before and does not say why.
            LedgerError: The ledger cannot be trusted or written.

        Example:
            >>> from datetime import date
            >>> import tapveil
            >>> whose = {"data_set": "trips", "unit": "trip", "neighbours": "replace"}
            >>> tapveil.Ledger.start("new.sqlite")
            >>> with tapveil.Ledger.open("new.sqlite") as ledger:
            ...     ledger.declare(tapveil.Budget(on=date(2025, 3, 10), **whose, epsilon="8", delta="1e-6"))
            ...     [entry.kind for entry in ledger.entries]
            ['start', 'budget']
        """
        with self._writing() as entries:
            _refuse(refusals.of_budget(entries, budget))
            self._append(budget)

    def schedule(self, schedule: Scheduled, newest: Spend) -> None:
        """Keep a schedule; BudgetError if its releases, like `newest`, do not fit after those on record."""
        with self._writing() as entries:
            _refuse(refusals.of_schedule(entries, schedule, newest))
            self._append(schedule)

    def accept(self, other: Accepted) -> None:
        """From now on, folders of another ledger may lie next to those of this one."""
        with self._writing():
            self._append(other)

    @property
    def history(self) -> History:
        """Its entries with their hashes, as approvals need them."""
        return self._history(self.entries)

    def _history(self, entries: Sequence[Entry]) -> History:
        return History(entries, [digest for _, _, digest in self._rows()[: len(entries)]])

    def appoint(self, officers: Officers) -> None:
        """From now on, releases need the approval of these officers; only those before can change it.

        Raises:
            ApprovalError: The ledger has officers, and none of them signed this.
        """
        with self._writing() as entries:
            history = self._history(entries)
            if not may_follow(officers, history.officers, history.ledger):
                raise ApprovalError(words.not_theirs_to_change(history.keys), "approval-officers")
            self._append(officers)

    def refuse(self, spend: Spend, *, again: bool = False) -> None:
        """BudgetError if a release could not be paid for now, or repeats one and is not said to (`again`)."""
        _refuse(refusals.of_release(self.entries, spend, again=again))

    def has(self, release: str) -> bool:
        """Whether a release is paid for."""
        return any(isinstance(entry, Spend) and entry.id == release for entry in self.entries)

    def spend(
        self, spend: Spend, *, again: bool = False, approval: Approval | None = None, also: Collection[str] = ()
    ) -> Head:
        """Write down a release, once and for ever; BudgetError, and nothing written, where `refuse` has one.

        The same release, known by its id, is never paid for twice. ApprovalError, and nothing written, if it needs an
        approval and has none that holds; `also` are keys that are required besides the ledger's.
        """
        with self._writing() as entries:
            paid = ((number, each.id) for number, each in enumerate(entries, 1) if isinstance(each, Spend))
            number = next((number for number, identity in paid if identity == spend.id), None)
            if number is None:
                _refuse(refusals.of_release(entries, spend, again=again))
                self._approve(entries, spend, approval, also)
                number = self._append(spend)
            elif entries[number - 1].model_copy(update={"version": spend.version}) != spend:
                raise LedgerError(f"entry {number} of {self.path.name} belongs to this release, but to another plan")
        return Head(self.id, self._rows()[number - 1][2])

    def _approve(
        self, entries: Sequence[Entry], spend: Spend, approval: Approval | None, also: Collection[str]
    ) -> None:
        """Write down the approval of a release, before the release: the hash that is published covers both."""
        history = self._history(entries)
        if refused := history.refusal(approval, spend, also):
            raise ApprovalError(words.not_approved(refused), refused.reason)
        if spend.approval != (approval.statement.id if approval else None):
            raise ApprovalError("the release names another approval than it is made under", "approval-invalid")
        if approval and approval.statement.id not in history.approvals:
            self._append(Approved(on=spend.on, statement=approval.text, signature=approval.signature))

    def bind(self, published: Published) -> None:
        """A paid release appears as one folder and no other; LedgerError if it has appeared as another already."""
        with self._writing() as entries:
            before = [entry for entry in entries if isinstance(entry, Published) and entry.id == published.id]
            if not before:
                self._append(published)
            elif before[0].checksums_sha256 != published.checksums_sha256:
                raise LedgerError(
                    f"this release was already published, with other counts or another signature ({self.path.name}). "
                    "A release that is charged once can appear only once: remove the unfinished one"
                )

    def deliver(self, delivered: Delivered) -> None:
        """A published release is at a portal, at this address; the same is written once."""
        with self._writing() as entries:
            self._require_published(entries, delivered.id)
            before = [entry for entry in entries if isinstance(entry, Delivered) and entry.id == delivered.id]
            if (delivered.portal, delivered.address) not in {(each.portal, each.address) for each in before}:
                self._append(delivered)

    def withdraw(self, withdrawn: Withdrawn) -> Withdrawn:
        """A published release is not to be used any more; what was written first holds. What it spent stays spent."""
        with self._writing() as entries:
            self._require_published(entries, withdrawn.id)
            before = [entry for entry in entries if isinstance(entry, Withdrawn) and entry.id == withdrawn.id]
            if not before:
                self._append(withdrawn)
            return before[0] if before else withdrawn

    def refuse_correction(self, release: str) -> None:
        """LedgerError unless a release was published from here and withdrawn, so that another may correct it."""
        entries = self.entries
        self._require_published(entries, release)
        if not any(isinstance(entry, Withdrawn) and entry.id == release for entry in entries):
            raise LedgerError(f"the release {release} is not withdrawn: withdraw it first (tapveil withdraw)")

    def _require_published(self, entries: Sequence[Entry], release: str) -> None:
        if not any(isinstance(entry, Published) and entry.id == release for entry in entries):
            raise LedgerError(f"{self.path.name} has no release {release} that was published")

    def findings(self, folders: Iterable[Witness] = (), beside: Iterable[Witness] = ()) -> Iterator[Finding]:
        """All that is wrong with the ledger, also in the light of what published folders say of it.

        The first folders must be its own. The others are next to it: if they are of another ledger, that one must have
        been accepted.
        """
        noted, rows = _read_head(self.path), self._rows()
        yield from _chain_findings(rows, noted)
        yield from self._schema_findings()
        try:
            entries = [read(number, body) for number, body, _ in rows]
        except LedgerError as error:
            yield Finding("entry-unreadable", self.path.name, str(error))
            return
        identity = entries[0].ledger if entries and isinstance(entries[0], Start) else None
        if identity is None:
            yield Finding("start-missing", self.path.name, "the first entry does not say which ledger this is")
        asked, around = list(folders), [folder for folder in beside if folder.ledger]
        for folder in asked:
            if folder.ledger is None or folder.ledger != identity:
                sentence = words.not_held(folder.release_id, folder.ledger, identity)
                yield Finding("folder-not-in-ledger", folder.name, sentence)
        hashes = {digest for _, _, digest in rows}
        bound = {entry.id: entry.checksums_sha256 for entry in entries if isinstance(entry, Published)}
        for folder in (each for each in (*asked, *around) if each.ledger == identity):
            if folder.head and folder.head.hash not in hashes:
                yield Finding("ledger-rolled-back", self.path.name, _gone(f"{folder.name} names an entry that"))
            elif bound.get(folder.release_id) != folder.checksums_sha256:
                yield Finding("folder-differs", folder.name, "differs from the folder that was published for its entry")
        yield from self._approval_findings(entries)
        accepted = {identity, *(entry.ledger for entry in entries if isinstance(entry, Accepted))}
        yield from self._replaced_findings([folder for folder in around if folder.ledger not in accepted])

    def _replaced_findings(self, folders: Sequence[Witness]) -> Iterator[Finding]:
        """One for each other ledger: this one may have been started in its place."""
        for other in dict.fromkeys(folder.ledger for folder in folders):
            name, *more = [folder.name for folder in folders if folder.ledger == other]
            who = f"{name} and {len(more)} more were" if more else f"{name} was"
            yield Finding(
                "ledger-replaced",
                name,
                f"{who} published from another ledger, {other}. If that ledger is for the same trips, restore it: "
                f"{self.path.name} does not know what it spent. If it is for other trips, or its spending was deducted "
                f"from this budget, accept it: tapveil ledger accept {other} --ledger {shlex.quote(str(self.path))} "
                "--reason … --by …",
            )

    def _approval_findings(self, entries: Sequence[Entry]) -> Iterator[Finding]:
        history = self._history(entries)
        try:
            _ = history.officers
        except LedgerError as error:
            yield Finding("officers-changed", self.path.name, str(error))
        for number, spend, refused in history.unapproved():
            sentence = f"the release {words.release(spend)} was made without a valid approval ({refused.reason})"
            yield Finding("not-approved", f"entry {number}", sentence)

    def _schema_findings(self) -> Iterator[Finding]:
        problems = [row[0] for row in self._connection.execute("PRAGMA integrity_check")]
        if problems != ["ok"]:
            yield Finding(
                "file-damaged", self.path.name, "SQLite reports that the file is damaged; restore it from its backup"
            )
        with sqlite3.connect(":memory:") as fresh:
            fresh.executescript(_SCHEMA)
            schema = "SELECT name, sql FROM sqlite_schema ORDER BY name"
            expected, ours = (each.execute(schema).fetchall() for each in (fresh, self._connection))
        fresh.close()
        if expected != ours:
            sentence = "the triggers that protect entries from changes are missing or changed"
            yield Finding("rules-changed", self.path.name, sentence)

    def _rows(self) -> list[tuple[int, str, str]]:
        with _translated(self.path):
            return self._connection.execute("SELECT number, body, hash FROM entries ORDER BY number").fetchall()

    def _append(self, entry: Entry) -> int:
        before, _, hash_before = self._rows()[-1]
        newest = entry.model_copy(update={"version": ENTRY_VERSION})
        number, body = before + 1, newest.text(secrets.token_hex(16))
        try:
            read(number, body)
        except LedgerError:  # once it is written, nobody could read the ledger again
            raise LedgerError(f"an entry of kind {entry.kind} cannot be written: its fields are invalid") from None
        digest = _chained(number, hash_before, body)
        with _translated(self.path):
            self._connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, body, digest))
        return number

    @contextmanager
    def _writing(self) -> Iterator[list[Entry]]:
        """Alone with the ledger until the commit is on the disk; then its head is noted."""
        with self._alone():
            yield self.entries
            with _translated(self.path):
                self._connection.execute("COMMIT")
        # After the commit, so that it is never ahead of the ledger; one process at a time, so that it never falls.
        with self._alone():
            number, _, digest = self._rows()[-1]
            try:
                _write_head(self.path, number, digest)
            except OSError as error:
                raise LedgerError(f"{_head_path(self.path).name} cannot be written: {error.strerror}") from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process writes meanwhile; what was not committed is gone."""
        with _translated(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Nobody else starts a ledger in this folder meanwhile: the second would take the place of the first."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        try:
            name = error.sqlite_errorname
        except AttributeError:  # raised by Python's module, not by SQLite
            name = type(error).__name__
        known = (said for beginning, said in _SQLITE_WORDS.items() if name.startswith(beginning))
        raise LedgerError(f"{path.name}: {next(known, f'the ledger cannot be used ({name})')}") from None


_SQLITE_WORDS = {
    "SQLITE_BUSY": "another process is using the ledger; try again when it has finished",
    "SQLITE_READONLY": "the ledger cannot be written: it, or its folder, is read-only",
    "SQLITE_CANTOPEN": "the ledger cannot be opened; are its file and folder writable?",
    "SQLITE_FULL": "the disk of the ledger is full",
    "SQLITE_IOERR": "the disk of the ledger failed, or is full",
    "SQLITE_CORRUPT": "the ledger is damaged; restore it from its backup",
    "SQLITE_NOTADB": "the file is not a ledger, or it is damaged; restore it from its backup",
    "SQLITE_CONSTRAINT": "the rules of the ledger refused the entry",
}


def _chained(number: int, before: str, body: str) -> str:
    return hashlib.sha256(f"{number}\n{before}\n{body}".encode()).hexdigest()


def _chain_findings(rows: Sequence[tuple[int, str, str]], head: tuple[int, str] | None) -> Iterator[Finding]:
    before = NOTHING_BEFORE
    for expected, (number, body, digest) in enumerate(rows, 1):
        if number != expected:
            yield Finding("entry-missing", f"entry {expected}", f"entry {expected} of the ledger is missing")
            return
        if digest != _chained(number, before, body):
            sentence = f"entry {number} of the ledger was changed after it was written"
            yield Finding("entry-changed", f"entry {number}", sentence)
            return
        before = digest
    if head is None:
        yield Finding(
            "head-missing", "head", "the ledger's head file is missing or damaged: restore it from the backup"
        )
    elif not any((number, digest) == head for number, _, digest in rows):
        yield Finding(
            "ledger-rolled-back", "head", _gone(f"the head file next to the ledger names entry {head[0]}, which")
        )


def _gone(who: str) -> str:
    return f"{who} the ledger does not contain. The ledger was rolled back or replaced: restore its newest backup"


def _refuse(refusal: refusals.Refusal | None) -> None:
    if refusal:
        raise BudgetError(words.refusal(refusal))


def _head_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.head")


def _write_head(path: Path, number: int, digest: str) -> None:
    atomic.write_whole(_head_path(path), lambda aside: aside.write_text(f"{number} {digest}\n", encoding="utf-8"))


def _read_head(path: Path) -> tuple[int, str] | None:
    try:
        number, digest = _head_path(path).read_text(encoding="ascii").split()
        return int(number), digest
    except (OSError, ValueError):
        return None
