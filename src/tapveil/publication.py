"""The publication: trips in, the published folder out. Readable top to bottom."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tapveil import bundle, statement, trips, unfinished, veil
from tapveil.bundle import Bundle
from tapveil.coarsen import Relabel
from tapveil.counting import engines
from tapveil.counting.cards import CardShapes
from tapveil.counting.digest import counts_hmac
from tapveil.counting.exact import Counted, Refusals
from tapveil.csvlines import MALFORMED, NOT_UTF8
from tapveil.defaults import MEMORY
from tapveil.errors import BudgetError, LedgerError, PlanError, TripDataError
from tapveil.guard import CardsAmong, refuse_leaks, refuse_mixed_up, words
from tapveil.inputs.public import PublicInputs
from tapveil.lattice import Wider
from tapveil.ledger.book import Folder, Head, Ledger, open_ledger
from tapveil.ledger.entry import Published, Spend, spend_of
from tapveil.manifest import Manifest
from tapveil.plan import EVERY_MODE, Plan
from tapveil.progress import Reporter, Silent
from tapveil.published import PublishedTable
from tapveil.source import TAP
from tapveil.unfinished import Journal, Unfinished
from tapveil.values import READABLE
from tapveil.verify.places import is_places

if TYPE_CHECKING:  # what a key needs takes time to load, and most have none
    from tapveil.signature import SigningKey


def release(
    plan: Plan,
    out: str | Path,
    *,
    in_ledger: bool = True,
    resume: bool = False,
    key: SigningKey | None = None,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> Bundle:
    """Spend the plan's budget once and publish the folder `out`, which must not exist yet.

    Spend, then draw, then write: the ledger has the release before any noise exists, each noised table is sealed as
    soon as it is drawn, and the folder appears by one rename. With `resume`, a release that was cut short goes on.
    """
    # The day is taken before a trip is read: when the work ends must not show in what is published.
    today = datetime.now(UTC).date().isoformat()
    with open_ledger(plan.ledger_path) if in_ledger else nullcontext() as ledger:
        job = _Job(PublicInputs.of(plan, scratch), Path(out), ledger, key, memory, scratch, progress or Silent())
        if not resume:
            bundle.check_destination(job.out)
        if ledger:
            refuse_rolled_back(ledger, job.out.resolve().parent)
        return job.resume() if resume else job.run(today)


@dataclass(frozen=True)
class _Job:
    """One release, from trips to folder."""

    inputs: PublicInputs
    out: Path
    ledger: Ledger | None
    key: SigningKey | None
    memory: str
    scratch: Path | None
    progress: Reporter

    @property
    def plan(self) -> Plan:
        return self.inputs.plan

    def run(self, today: str) -> Bundle:
        """Begin a release, and finish it."""
        unfinished.refuse_another(self.out)
        _, stated = self.inputs.dictionaries, self._stated(today)
        paid_from = self.ledger.id if self.ledger else None
        journal = Journal(secrets.token_hex(16), today, _digest(stated), paid_from, trips.fingerprint(self.plan))
        if self.ledger:
            with self.progress.stage("Asking the ledger"):
                self.ledger.refuse_overdraft(_spend(self.plan, journal))
        counted = self._count()
        labels = counted.texts(self.plan)
        cards = self._cards_among(words(text for texts in labels.values() for text in texts), counted.cards)
        refuse_mixed_up(labels, cards)
        key = secrets.token_bytes(32)
        journal = replace(journal, counts_key=key.hex(), counts_hmac=counts_hmac(counted.tables, key))
        with unfinished.begin(self.out, journal) as work:
            return self._finish(work, stated, counted, cards.intersection)

    def resume(self) -> Bundle:
        """Finish a release that was cut short: what is paid for is not paid again, what is sealed not drawn again."""
        with unfinished.find(self.out) as work:
            if _is_published(self.out, work.journal):
                work.discard()
                return Bundle(self.out)
            _, stated = self.inputs.dictionaries, self._stated(work.journal.created)
            _refuse_another_release(self.plan, stated, work.journal)
            if work.journal.ledger != (self.ledger.id if self.ledger else None):
                raise LedgerError("the unfinished release is to be paid from another ledger, or from none")
            work.require_seals()
            counted = None if all(map(work.is_sealed, self.plan.table)) else self._count()
            if counted:
                _refuse_other_counts(counted, work.journal)
            return self._finish(work, stated, counted, self._cards_among)

    def _stated(self, created: str) -> dict[str, Any]:
        with self.progress.stage("Computing the promise"):
            return _stated(self.inputs, created)

    def _count(self) -> Counted:
        counted = engines.count(
            self.plan, memory=self.memory, scratch=self.scratch, progress=self.progress, inputs=self.inputs
        )
        refuse_too_many(counted.refusals, self.plan)
        return counted

    def _finish(
        self,
        work: Unfinished,
        stated: dict[str, Any],
        counted: Counted | None,
        cards_among: CardsAmong,
    ) -> Bundle:
        """Spend, then draw, then write. Nothing that a user could have got wrong is first looked at here."""
        manifest = stated | {"release_id": work.journal.id, "ledger": self._pay(work)}
        self._draw(work, counted)
        tables = [work.unseal(self.plan, table) for table in self.plan.table]
        published = bundle.write(
            self.out,
            work.folder,
            self.plan,
            tables,
            manifest,
            places=self.inputs.places,
            wider=_wider_areas(self.inputs, tables),
            guard=partial(refuse_leaks, plan=self.plan, cards_among=cards_among),
            key=self.key,
            bind=partial(self._bind, work.journal),
            progress=self.progress,
        )
        work.discard()
        return published

    def _draw(self, work: Unfinished, counted: Counted | None) -> None:
        """The noise of every table that is not sealed yet; each is sealed as soon as it is drawn."""
        drawn, whole, dictionaries = 0, len(self.plan.table), self.inputs.dictionaries
        with self.progress.stage("Drawing noise", lambda: drawn, total=whole, unit="tables"):
            for name, table in self.plan.tables.items():
                if counted and not work.is_sealed(table):
                    work.seal(veil.draw(counted.tables[name], self.plan, table, dictionaries[name], os.urandom))
                drawn += 1

    def _pay(self, work: Unfinished) -> dict[str, Any] | None:
        """The spend is on the disk before any noise exists; what cannot be paid for leaves nothing behind."""
        try:
            with self.progress.stage("Writing it into the ledger") if self.ledger else nullcontext():
                return asdict(self.ledger.spend(_spend(self.plan, work.journal))) if self.ledger else None
        except BudgetError:
            work.discard()
            raise

    def _bind(self, journal: Journal, checksums: bytes) -> None:
        if self.ledger:
            digest = hashlib.sha256(checksums).hexdigest()
            self.ledger.bind(Published(on=_day(journal), id=journal.id, checksums_sha256=digest))

    def _cards_among(self, texts: list[str], shapes: CardShapes | None = None) -> set[str]:
        return engines.cards_among(
            texts, self.plan, memory=self.memory, scratch=self.scratch, progress=self.progress, shapes=shapes
        )


# --- which release it is --------------------------------------------------------------------------------------------


def _stated(inputs: PublicInputs, created: str) -> dict[str, Any]:
    drawn = sound_places(inputs) is not None
    stated = statement.manifest(inputs.plan, date.fromisoformat(created), inputs.sha256, places=drawn)
    try:  # as anyone will read it: what could not be read back must not be paid for
        Manifest.model_validate(stated | {"release_id": "0" * 32})
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise PlanError(f"the plan has more, or longer names, than a folder can state ({place})") from None
    return stated


def sound_places(inputs: PublicInputs) -> dict[str, Any] | None:
    """The places to publish; what `verify` would not take is refused before anything is paid for."""
    places = inputs.places
    if places and not is_places(places):
        raise TripDataError(
            "the lists have places that no folder may have: one without a name, a mode or a sound shape"
        )
    if places and len(statement.places_text(places).encode()) > statement.LARGEST_PLACES:
        raise TripDataError("the shapes of the areas are too large to be published: make them simpler")
    return places


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _spend(plan: Plan, journal: Journal) -> Spend:
    return spend_of(plan, journal.id, _day(journal))


def _day(journal: Journal) -> date:
    return date.fromisoformat(journal.created)


def _is_published(out: Path, journal: Journal) -> bool:
    """Whether all was done but the cleaning up; another folder in its place is refused."""
    if not (out.exists() or out.is_symlink()):
        return False
    try:
        if Bundle(out).privacy["release_id"] == journal.id:
            return True
    except (OSError, ValueError, TypeError, KeyError):
        pass  # it is something else
    bundle.check_destination(out)
    return False


def _refuse_another_release(plan: Plan, stated: dict[str, Any], journal: Journal) -> None:
    """What was begun is finished as it was begun, or not at all."""
    if _digest(stated) != journal.statement_sha256:
        raise PlanError(
            "the plan, a list that it names, or tapveil itself is not the one that the unfinished release was begun "
            "with: finish it with the same ones"
        )
    if trips.fingerprint(plan) != journal.trips_sha256:
        raise TripDataError(
            "the trip files are not those that the unfinished release was begun with, by their names, sizes or times "
            "of change: its tables might not fit together. Put the same files back, with their times (`cp -p`)"
        )


def _refuse_other_counts(counted: Counted, journal: Journal) -> None:
    """Of a table of a database, or of files that kept their names, sizes and times: one unit is one unit in all."""
    if counts_hmac(counted.tables, bytes.fromhex(journal.counts_key)) != journal.counts_hmac:
        raise TripDataError(
            "the trips are not those that the unfinished release was begun with: they are counted differently now, so "
            "its tables would not fit together. Restore them as they were, then resume"
        )


def refuse_rolled_back(ledger: Ledger, folder: Path) -> None:
    """Every folder published from a ledger names its entry: the ledger must hold those of the folders that lie here."""
    own = [each for each in map(folder_of, bundle.bundles_in(folder)) if each.head and each.head.ledger == ledger.id]
    for finding in ledger.findings(own):
        if finding.code != "folder-differs":  # what became of a folder after it was published is not the ledger's fault
            raise LedgerError(f"{finding.sentence}. Nothing was spent")


def folder_of(published: Bundle) -> Folder:
    """What a published folder says of where it is written down; what is none says nothing."""
    try:
        manifest = published.privacy
        head = Head(**manifest["ledger"]) if manifest["ledger"] else None
        checksums = hashlib.sha256((published.path / bundle.CHECKSUMS).read_bytes()).hexdigest()
        return Folder(published.path.name, head, str(manifest["release_id"]), checksums)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return Folder(published.path.name, None, "", "")


def _wider_areas(inputs: PublicInputs, tables: Sequence[PublishedTable]) -> Wider:
    """The wider areas of the published places: by what is published, and by public lists."""
    plan, found = inputs.plan, dict[str, dict[tuple[str, str], str]]()
    levels = {table.level.location for table in plan.table} - {None}
    for name in sorted(level for level in levels if level):
        relabel, areas = Relabel.of_places(inputs.wider[name]), found.setdefault(name, {})
        for published in tables:
            if published.table.level.location is None:
                areas.update(_areas_of(published, plan, relabel))
    return found


def _areas_of(published: PublishedTable, plan: Plan, relabel: Relabel) -> Iterator[tuple[tuple[str, str], str]]:
    cells = published.cells
    modes = cells.column("mode").to_pylist() if "mode" in cells.column_names else [EVERY_MODE] * len(cells)
    for column in published.table.columns:
        if plan.source.kind(column) == "location":
            for mode, place in sorted(set(zip(modes, cells.column(column).to_pylist(), strict=True))):
                yield (mode, place), relabel.label(mode, place)


def refuse_too_many(refusals: Refusals, plan: Plan) -> None:
    """Stop, before anything is spent or written, if too many rows could not be read."""
    if not refusals.rows and not refusals.elsewhere and plan.source.taps:
        raise TripDataError(
            "no row is a tap on or off by [source.taps]: name the words that the column "
            f"`{plan.file_columns[TAP]}` has for them"
        )
    if refusals.refused == refusals.rows and (refusals.elsewhere or not refusals.rows):
        where = " on the days and of the modes that the plan covers" if refusals.elsewhere else ""
        held = f"`{plan.source.table}` has" if plan.source.table else "the files have a header but"
        raise TripDataError(f"{held} no trips{where}")
    # Of a row without a day nobody knows whether the plan covers it: it is one among all.
    if refusals.refused > plan.source.max_refused * (refusals.rows + refusals.elsewhere):
        by_frequency = sorted(refusals.by_reason, key=lambda reason: -refusals.by_reason[reason])
        share = f"{float(100 * plan.source.max_refused):g} %"
        raise TripDataError(
            f"more than {share} of the rows cannot be read ([source] max_refused). Most often: "
            f"{'; '.join(by_frequency[:3])}.{_what_can_be_read(by_frequency[0], plan)}"
        )


def _what_can_be_read(reason: str, plan: Plan) -> str:
    if reason == NOT_UTF8:
        return ' If they were written on Windows: [source] encoding = "windows-1252".'
    if reason == MALFORMED:
        return " Is a separator in a text without quotes, a quote not closed, or a text in quotes over several lines?"
    if reason == "card is missing" and "both" not in plan.sides:
        return ' To keep them, each as a card of its own: without_card = "own-unit"; else raise max_refused.'
    column = reason.split(" ")[0]
    known = plan.source.columns.get(column)
    if known and known.format and "cannot" in reason:
        return f' With format = "{known.format}" no other way to write it is read: is that how all of them are written?'
    kind = plan.source.kind(column) if known else ""
    return f" What can be read as a {kind}: {READABLE[kind]}" if kind in READABLE and "cannot" in reason else ""
