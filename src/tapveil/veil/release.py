"""The release: trips in, the published folder out. Readable from top to bottom."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import ApprovalError, BudgetError, LedgerError, PlanError, TripDataError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.vocabulary import EVERY_MODE
from tapveil.counting import counter
from tapveil.counting.card_ids import CardShapes
from tapveil.counting.digest import counts_hmac
from tapveil.counting.exact import Counted
from tapveil.counting.refusals import refuse_too_many
from tapveil.inputs.areas import Relabel
from tapveil.inputs.public import PublicInputs
from tapveil.ledger.approval import Approval
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Published, Spend
from tapveil.ledger.witness import refuse_outdated
from tapveil.plan.model import Plan
from tapveil.published import writer
from tapveil.published.folder import Folder
from tapveil.published.lattice import Wider
from tapveil.published.manifest import LedgerEntry, Manifest
from tapveil.published.table import PublishedTable
from tapveil.trips import files
from tapveil.veil import approval as approving
from tapveil.veil import crossing, workspace
from tapveil.veil.crossing import fields
from tapveil.veil.expectation import empty_tables
from tapveil.veil.leak_guard import CardsAmong, refuse_leaks, refuse_mixed_up, words
from tapveil.veil.preconditions import (
    refuse_foreign_places,
    refuse_full_disk,
    said_of_places,
    sound_statement,
)
from tapveil.veil.spend import spend_of
from tapveil.veil.workspace import Journal, Unfinished

if TYPE_CHECKING:  # what a key needs takes time to load, and most have none
    from tapveil.published.signature import SigningKey

EMPTY_TABLES = (
    "warning: probably no cell of these tables will be published: {}. They are charged nevertheless. The release goes "
    "on, since stopping it would reveal something about the trips. CONFIDENTIAL: this follows from exact counts"
)


def release(
    plan: Plan,
    out: str | Path,
    *,
    in_ledger: bool = True,
    resume: bool = False,
    again: bool = False,
    key: SigningKey | None = None,
    approval: Approval | None = None,
    officers: Sequence[str] = (),
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> Folder:
    """Charge the budget once and publish a folder.

    Spend, then draw, then write: the ledger records the release before any noise exists, each noisy table is sealed as
    soon as it is drawn, and the folder appears by one rename.

    Args:
        plan: What to publish, and with which guarantee.
        out: The folder to publish; it must not exist yet.
        in_ledger: Whether the release is charged to the plan's ledger. Only generated trips go without.
        resume: Finish a release that was interrupted: same numbers, no further cost.
        again: Publish days and modes once more that were published before: the budget is charged again.
        key: Signs the folder: `tapveil.published.signature.read_key` reads an SSH key.
        approval: The privacy officer's approval, where the ledger requires one: `tapveil.ledger.approval.read_approval`
            reads it. Where none is required it is not recorded.
        officers: Public SSH keys, as lines of .pub files have them. One of them must approve, also where the ledger
            does not require it.
        memory: Memory limit for counting, such as `"2GB"`; larger data spills to disk.
        scratch: Folder to spill to; by default the system's.
        progress: Receives the stages of the work; silent by default.

    Returns:
        The published folder.

    Raises:
        PlanError: The plan cannot be published as it is.
        UsageError: The folder exists, or there is nothing to resume.
        TripDataError: The trips, or a file that the plan names, cannot be used.
        LeakError: A table would publish card ids.
        EngineError: The engine, the memory or the disk failed.
        BudgetError: The budget is too small, or days would be published twice.
        ApprovalError: An approval is required, and there is none that holds for this release.
        LedgerError: There is no ledger, or it cannot be trusted.

    Example:
        >>> import tapveil
        >>> plan = tapveil.Plan.read("plan.toml")
        >>> folder = tapveil.release(plan, "again", again=True)
        >>> folder.tables
        ['on_time', 'on_location', 'total']
    """
    # The day is taken before a trip is read: when the work ends must not show in what is published.
    today = datetime.now(UTC).date().isoformat()
    if not in_ledger:
        approving.refuse_no_ledger([*officers, *_officers(plan)])
    with Ledger.open(plan.ledger_path) if in_ledger else nullcontext() as ledger:
        if ledger:
            approving.refuse_own_key((*ledger.history.keys, *officers), key)
        inputs = PublicInputs.of(plan, scratch)
        asked = _Asked(approval, officers, again or resume)
        job = _Job(inputs, Path(out), ledger, asked, key, memory, scratch, progress or Silent())
        if not resume:
            writer.check_destination(job.out)
            refuse_full_disk(plan, job.out)
        if ledger:
            refuse_outdated(ledger, job.out.resolve().parent, paid=resume)
        try:
            return job.resume() if resume else job.run(today)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_how_far(job.out)) from None


@dataclass(frozen=True)
class _Asked:
    """What the ledger is told besides the plan."""

    approval: Approval | None
    officers: Sequence[str]
    again: bool
    """Whether days and modes may be released again; a resumed release was checked when it began."""


@dataclass(frozen=True)
class _Job:
    """One release, from trips to folder."""

    inputs: PublicInputs
    out: Path
    ledger: Ledger | None
    asked: _Asked
    key: SigningKey | None
    memory: str
    scratch: Path | None
    progress: Reporter

    @property
    def plan(self) -> Plan:
        return self.inputs.plan

    def run(self, today: str) -> Folder:
        """Begin and finish a release."""
        workspace.refuse_another(self.out)
        _, stated = self.inputs.dictionaries, self._stated(today)
        paid_from = self.ledger.id if self.ledger else None
        journal = Journal(secrets.token_hex(16), today, _digest(stated), paid_from, files.fingerprint(self.plan))
        if self.ledger:
            with self.progress.stage(Stage.ASKING_LEDGER):
                if self.plan.release.corrects:
                    self.ledger.refuse_correction(self.plan.release.corrects)
                self.ledger.refuse(_spend(self.inputs, journal), again=self.asked.again)
                journal = self._approved(self.ledger, journal, self.asked.approval)
        with counter.one_session(self.plan):
            counted = self._count()
            refuse_foreign_places(self.plan, counted)
            labels = counted.texts(self.plan)
            cards = self._cards_among(words(text for texts in labels.values() for text in texts), counted.cards)
        refuse_mixed_up(labels, cards)
        key = secrets.token_bytes(32)
        journal = replace(journal, counts_key=key.hex(), counts_hmac=counts_hmac(counted.tables, key))
        if empty := list(empty_tables(self.plan, counted, self.inputs.dictionaries)):
            # It continues even if standard error is closed: whether a release stops would reveal exact counts.
            with suppress(OSError, ValueError):
                print(f"tapveil: {EMPTY_TABLES.format(', '.join(empty))}", file=sys.stderr)
        with workspace.begin(self.out, journal) as work:
            return self._finish(work, stated, counted, cards.intersection)

    def resume(self) -> Folder:
        """Finish an interrupted release: the budget is not charged again, and sealed tables are not drawn again."""
        with workspace.find(self.out) as work:
            journal = work.journal
            if _is_published(self.out, journal):
                work.discard()
                return Folder(self.out)
            _, stated = self.inputs.dictionaries, self._stated(journal.created)
            _refuse_another_release(self.plan, stated, journal)
            if journal.ledger != (self.ledger.id if self.ledger else None):
                raise LedgerError(
                    "the unfinished release uses another ledger, or none; resume it with the same options"
                )
            if self.ledger and not self.ledger.has(journal.id):
                self._approved_still(self.ledger, work)
            work.require_seals()
            counted = None if all(map(work.is_sealed, self.plan.tables)) else self._count()
            if counted and counts_hmac(counted.tables, bytes.fromhex(journal.counts_key)) != journal.counts_hmac:
                # A table of a database may change, and so may files that keep their names, sizes and times.
                raise TripDataError(
                    "the trips have changed since the unfinished release began: their counts differ. "
                    "Restore the original trips, then resume"
                )
            return self._finish(work, stated, counted, self._cards_among)

    def _approved(self, ledger: Ledger, journal: Journal, approval: Approval | None) -> Journal:
        """The journal with the approval that the release is made under; ApprovalError if it needs one and has none."""
        spend = _spend(self.inputs, journal)
        under = approving.require(ledger.history, approval, self.inputs, spend, self.asked.officers)
        return replace(journal, approval=under.text, approval_signature=under.signature) if under else journal

    def _approved_still(self, ledger: Ledger, work: Unfinished) -> None:
        """ApprovalError if a release that is not paid for yet is no longer approved: another may have used it up."""
        try:
            self._approved(ledger, work.journal, _approval(work.journal))
        except ApprovalError as error:
            anew = f"It was not charged: to begin it again under another approval, remove {work.path}"
            raise ApprovalError(f"{error}. {anew}", error.code) from None

    def _stated(self, created: str) -> Manifest:
        with self.progress.stage(Stage.COMPUTING_PROMISE):
            return sound_statement(self.inputs, date.fromisoformat(created))

    def _count(self) -> Counted:
        counted = counter.count(
            self.plan, memory=self.memory, scratch=self.scratch, progress=self.progress, inputs=self.inputs
        )
        refuse_too_many(counted.refusals, self.plan)
        return counted

    def _finish(self, work: Unfinished, stated: Manifest, counted: Counted | None, cards_among: CardsAmong) -> Folder:
        """Spend, then draw, then write. Mistakes of a user are all found before."""
        paid = {"release_id": work.journal.id, "ledger": self._pay(work)}
        self._draw(work, counted)
        tables = [work.unseal(table.name, fields(self.plan, table)) for table in self.plan.table]
        with workspace.kept_for_later("the folder could not be written"):
            published = writer.write(
                self.out,
                work.folder,
                stated.model_copy(update=paid),
                tables,
                places=self.inputs.places,
                wider=_wider_areas(self.inputs, tables),
                world=self.inputs.world if self.plan.privacy.is_world else None,
                said=said_of_places(self.inputs, stated),
                guard=partial(refuse_leaks, plan=self.plan, cards_among=cards_among),
                key=self.key,
                bind=partial(self._bind, work.journal),
                progress=self.progress,
            )
        work.discard()
        return published

    def _draw(self, work: Unfinished, counted: Counted | None) -> None:
        """Draw the noise of every table that is not sealed; each is sealed as soon as it is drawn."""
        drawn, whole, dictionaries = 0, len(self.plan.table), self.inputs.dictionaries
        with self.progress.stage(Stage.DRAWING_NOISE, lambda: drawn, total=whole, unit="tables"):
            for name, table in self.plan.tables.items():
                if counted and not work.is_sealed(table.name):
                    work.seal(crossing.draw(counted.tables[name], self.plan, table, dictionaries[name], os.urandom))
                drawn += 1

    def _pay(self, work: Unfinished) -> LedgerEntry | None:
        """Charge the budget, on disk before any noise exists; a refused release leaves nothing behind."""
        if not self.ledger:
            return None
        asked, approval = self.asked, _approval(work.journal)
        try:
            with self.progress.stage(Stage.WRITING_LEDGER):
                spend = _spend(self.inputs, work.journal)
                head = self.ledger.spend(spend, again=asked.again, approval=approval, also=asked.officers)
                return LedgerEntry(**asdict(head))
        except (BudgetError, ApprovalError):
            work.discard()
            raise

    def _bind(self, journal: Journal, checksums: bytes) -> None:
        if self.ledger:
            digest = hashlib.sha256(checksums).hexdigest()
            self.ledger.bind(Published(on=_day(journal), id=journal.id, checksums_sha256=digest))

    def _cards_among(self, texts: list[str], shapes: CardShapes | None = None) -> set[str]:
        return counter.cards_among(
            texts, self.plan, memory=self.memory, scratch=self.scratch, progress=self.progress, shapes=shapes
        )


def _how_far(out: Path) -> str:
    """What an interrupted release has come to."""
    if out.exists():
        return f"Interrupted after the last step: {out} is published, complete."
    if workspace.place_for(out).exists():
        return (
            "Interrupted. No partial folder was published. The budget may have been charged: run the same command with "
            "--resume, at no further cost."
        )
    return "Interrupted. Nothing was charged and nothing was published."


def _digest(stated: Manifest) -> str:
    return hashlib.sha256(json.dumps(stated.as_json, sort_keys=True).encode()).hexdigest()


def _officers(plan: Plan) -> Sequence[str]:
    """Whose approval the ledger of a plan requires, where it is there: no release goes around it."""
    if not plan.ledger_path.is_file():
        return ()
    with Ledger.open(plan.ledger_path) as ledger:
        return ledger.history.keys


def _spend(inputs: PublicInputs, journal: Journal) -> Spend:
    spend, approval = spend_of(inputs.plan, journal.id, _day(journal), inputs.totals), _approval(journal)
    return spend.model_copy(update={"approval": approval.statement.id}) if approval else spend


def _approval(journal: Journal) -> Approval | None:
    return Approval(journal.approval, journal.approval_signature) if journal.approval else None


def _day(journal: Journal) -> date:
    return date.fromisoformat(journal.created)


def _is_published(out: Path, journal: Journal) -> bool:
    """Whether only the cleaning up is missing; another folder in its place is an error."""
    if not (out.exists() or out.is_symlink()):
        return False
    try:
        if Folder(out).privacy["release_id"] == journal.id:
            return True
    except (OSError, ValueError, TypeError, KeyError):
        pass  # not a folder of this release
    writer.check_destination(out)
    return False


def _refuse_another_release(plan: Plan, stated: Manifest, journal: Journal) -> None:
    """Raise an error if the plan, its lists or the trips changed since the release began."""
    if _digest(stated) != journal.statement_sha256:
        raise PlanError(
            "the plan, a public file or the version of tapveil has changed since the unfinished release began; "
            "restore the original, then resume"
        )
    if files.fingerprint(plan) != journal.trips_sha256:
        raise TripDataError(
            "the names, sizes or modification times of the trip files have changed since the unfinished release began. "
            "Restore the original files with their times (`cp -p`), then resume"
        )


def _wider_areas(inputs: PublicInputs, tables: Sequence[PublishedTable]) -> Wider:
    """The wider areas of the published places, from published tables and public lists."""
    plan, places = inputs.plan, set[tuple[str, str]]()
    names = sorted({table.level.location for table in plan.table if table.level.location})
    for published in tables if names else ():
        table, cells = plan.tables[published.name], published.cells
        modes = cells.column("mode").to_pylist() if "mode" in cells.column_names else [EVERY_MODE] * len(cells)
        for column in table.columns if table.level.location is None else ():
            if plan.source.kind(column) == "location":
                places.update(zip(modes, cells.column(column).to_pylist(), strict=True))
    wider = {}
    for name in names:
        relabel = Relabel.of_places(inputs.wider[name])
        wider[name] = {place: relabel.label(*place) for place in sorted(places)}
    return wider
