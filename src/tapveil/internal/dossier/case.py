"""What a dossier is about: a plan before its release, or a folder after it; with the ledger, audit and intruder test.

Both are read as the manifest that readers see, so that a dossier says the same before and after. Only the plan, public
lists, published folders and the ledger are read. This package cannot import what reads trips (a contract in
pyproject.toml).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import pydantic
from pydantic import Field

from tapveil.base.errors import FolderError, InputFileError, UsageError
from tapveil.base.vocabulary import CHECKSUMS, SIGNATURE
from tapveil.inputs.public import PublicInputs
from tapveil.internal.dossier.detail import Breakdown, Detail
from tapveil.internal.dossier.index import Index, read_index
from tapveil.internal.intruder.result import Attack, Method
from tapveil.ledger.accounts import Account, accounts
from tapveil.ledger.approval import Approval, History, read_approval
from tapveil.ledger.entry import Approved, Entry, Officers, Published, Spend
from tapveil.plan.model import Plan
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.attacker import Attacker, attacker
from tapveil.privacy.loss import Loss
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.units import Neighbours
from tapveil.published.folder import Folder
from tapveil.published.manifest import GaussianPart, Guarantee, Manifest, PersonClaim, WholeCard
from tapveil.published.people import Meant, claim_of, meant, people_of
from tapveil.veil import statement
from tapveil.veil.spend import spend_of

Share = Annotated[float, Field(ge=0, le=1)]
LARGEST_TEST = 1 << 24
"""Bytes of the file of a test, at most."""


class _Stated(pydantic.BaseModel):
    """What another command wrote; it may say more."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")


class Tried(_Stated):
    """One attack of `tapveil intruder` on one way to publish."""

    attack: Attack
    """What was tried."""
    method: Method
    """How the trips were published: as planned, or as agencies do instead."""
    question: Annotated[str, Field(max_length=200)]
    """What the intruder had to answer."""
    success: Share
    """How often he was right."""
    low: Share
    """Limits of 95 % confidence."""
    high: Share
    baseline: Share
    """How often somebody without the publication is right."""
    bound: Share | None
    """How often anybody can be right, by the promise: 1 where it does not say; None where nothing is promised."""
    trials: Annotated[int, Field(ge=1)]
    exceeds: bool
    """Whether he was right more often than the bound allows, beyond all chance."""


class Checked(_Stated):
    """One experiment of `tapveil audit`."""

    check: str
    table: str
    observed: str
    allowed: str
    broken: bool


class _Test(_Stated):
    """The file of a test: it says of which plan it is, and which program was tested."""

    version: Literal[1] = 1
    plan: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    software: Annotated[str, Field(max_length=40)]


class Audit(_Test):
    """What `tapveil audit` wrote."""

    trials: Annotated[int, Field(ge=1)]
    results: Annotated[tuple[Checked, ...], Field(min_length=1)]

    @property
    def broken(self) -> int:
        """How many observations contradict the guarantee."""
        return sum(each.broken for each in self.results)


class Intruder(_Test):
    """What `tapveil intruder` wrote."""

    trips: Annotated[int, Field(ge=1)]
    people: Annotated[int, Field(ge=1)]
    results: Annotated[tuple[Tried, ...], Field(min_length=1)]


_Kind = TypeVar("_Kind", bound=_Test)


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that a dossier is written from."""

    manifest: Manifest
    plan: Plan | None = None
    folder: Folder | None = None
    entries: Sequence[Entry] | None = None
    """Of the ledger, if one is given: then the dossier is confidential, as the ledger is."""
    audit: Audit | None = None
    intruder: Intruder | None = None
    on: date = date.min
    index: Index | None = None
    """A public index of places."""
    beside: Approval | None = None
    """The approval in a file next to the plan, if a release would be made under it."""

    @cached_property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The noise of each table."""
        return self.manifest.mechanisms

    @property
    def neighbours(self) -> Neighbours:
        """The notion that the dossier judges by: given exact totals, nobody can be there or not (claim 23)."""
        return "replace" if self.manifest.totals else self.manifest.neighbours

    @property
    def guarantees(self) -> Sequence[Guarantee]:
        """What is promised; given exact totals, of what is exchanged for something else alone."""
        return [each for each in self.manifest.guarantees if not self.manifest.totals or each.neighbours == "replace"]

    @property
    def gaussian(self) -> GaussianPart | None:
        """ρ and μ, where they are stated for that notion."""
        return self.manifest.gaussian if self.neighbours == self.manifest.neighbours else None

    @property
    def loss(self) -> Loss:
        """What is promised in that notion."""
        return next(each.exact.loss for each in self.guarantees if each.neighbours == self.neighbours)

    @cached_property
    def attackers(self) -> Mapping[Neighbours, Attacker]:
        """What the best attacker can do, in every notion in which something is promised."""
        tables = list(self.mechanisms.values())
        return {
            each.neighbours: attacker(tables, each.exact.loss, self.exposure(each.neighbours))
            for each in self.guarantees
        }

    def exposure(self, neighbours: Neighbours) -> Exposure:
        """What one unit can change."""
        return Exposure(neighbours, self.manifest.bounds.cells_per_table)

    @cached_property
    def people(self) -> Sequence[PersonClaim]:
        """What it is worth for a person; folders of earlier versions do not state it. None without named days."""
        if self.manifest.people is not None:
            return self.manifest.people
        return [claim_of(each) for each in people_of(self.manifest, self.mechanisms) or ()]

    @property
    def whole_cards(self) -> Sequence[WholeCard]:
        """What it is worth for a card that is added or removed."""
        return () if self.manifest.totals else self.manifest.whole_cards or ()

    def meant(self, person: PersonClaim) -> Meant:
        """In frequencies and in a word."""
        return meant(person, given=bool(self.manifest.totals))

    @cached_property
    def _detail(self) -> Detail | None:
        return Detail(self.folder, self.index) if self.folder else None

    @property
    def detail(self) -> Sequence[Breakdown]:
        """Who loses detail in the folder."""
        return self._detail.breakdowns if self._detail else []

    @property
    def places(self) -> frozenset[str]:
        """The areas of the folder."""
        return self._detail.places if self._detail else frozenset()

    @property
    def officers(self) -> tuple[str, ...]:
        """The keys, one of which must approve a release, as the ledger says."""
        required = [entry.keys for entry in self.entries or () if isinstance(entry, Officers)]
        return required[-1] if required else ()

    @property
    def approval(self) -> Approval | None:
        """The valid approval of this plan: the one that its release was made under, or the one next to the plan."""
        paid = (entry for entry in self.entries or () if isinstance(entry, Spend))
        used = {entry.approval for entry in paid if self.folder and entry.id == self.manifest.release_id}
        kept = [Approval(e.statement, e.signature) for e in self.entries or () if isinstance(e, Approved)]
        found = [each for each in kept if each.statement.id in used]
        if self.beside:
            found.append(self.beside)
        return next((each for each in found if _is_signed(each, self.officers)), None)

    @cached_property
    def accounts(self) -> list[Account]:
        """The budgets of the ledger."""
        return accounts(self.entries or ())

    @property
    def is_recorded(self) -> bool:
        """Whether the ledger has this release: the folder's, or one of this plan that was begun and not finished."""
        if self.folder:
            return any(isinstance(each, Spend) and each.id == self.manifest.release_id for each in self.entries or ())
        return any(each.plan_sha256 == self.manifest.plan_sha256 for each in self.unfinished)

    @cached_property
    def accounts_with(self) -> Mapping[int, Account]:
        """The budgets that a release of the plan would draw on, with it, by their place among all."""
        if self.plan is None or self.entries is None or self.is_recorded:
            return {}
        spend = spend_of(self.plan, "0" * 32, self.on)
        return {
            place: replace(account, spends=(*account.spends, spend))
            for place, account in enumerate(self.accounts)
            if account.budget.data_set == spend.data_set
        }

    @property
    def together(self) -> Fraction | None:
        """The ε of all releases that draw on a budget with this one, where it is largest; None if unknown."""
        if self.accounts_with:
            found = [account.epsilon for account in self.accounts_with.values()]
        elif self.is_recorded:
            found = [account.epsilon for account in self.accounts if self._is_of(account)]
        else:
            found = []
        return None if None in found else max((each for each in found if each is not None), default=None)

    def _is_of(self, account: Account) -> bool:
        """Whether this release, or an unfinished one of this plan, draws on it."""
        return any(
            each.id == self.manifest.release_id if self.folder else each.plan_sha256 == self.manifest.plan_sha256
            for each in account.spends
        )

    @property
    def unfinished(self) -> list[Spend]:
        """Releases of the ledger that were charged and never appeared."""
        appeared = {entry.id for entry in self.entries or () if isinstance(entry, Published)}
        return [entry for entry in self.entries or () if isinstance(entry, Spend) and entry.id not in appeared]

    @cached_property
    def checksums(self) -> str | None:
        """SHA-256 of the folder's list of checksums: the fingerprint of all of it."""
        return hashlib.sha256((self.folder.path / CHECKSUMS).read_bytes()).hexdigest() if self.folder else None

    @cached_property
    def key(self) -> str | None:
        """The fingerprint of the key that signed the folder."""
        if self.folder is None or not (self.folder.path / SIGNATURE).exists():
            return None
        from tapveil.published.signature import read_signature

        signature = (self.folder.path / SIGNATURE).read_text(encoding="ascii")
        return read_signature(signature, (self.folder.path / CHECKSUMS).read_bytes()).fingerprint


def read_case(
    path: Path,
    *,
    ledger: Path | None = None,
    audit: Path | None = None,
    intruder: Path | None = None,
    index: Path | None = None,
    today: date,
) -> Case:
    """The case of a plan or a folder; a folder is verified first.

    Raises:
        FolderError: The folder does not verify.
        UsageError: A file is not what it is given as.
        InputFileError: The index cannot be read, or is of other places.
    """
    from tapveil.ledger.book import Ledger
    from tapveil.verification.folder import verify_folder  # which a plan does not need

    plan = None if path.is_dir() else Plan.read(path)
    folder = None if plan else Folder(path)
    if folder and (findings := verify_folder(path).findings):
        first = f"{findings[0].place}: {findings[0].sentence}"
        raise FolderError(f"{path} does not verify ({first}); run: tapveil verify {path}")
    if plan and ledger is None and plan.ledger_path.exists():
        ledger = plan.ledger_path
    entries, history = None, None
    if ledger:
        with Ledger.open(ledger) as book:
            entries, history = book.entries, book.history
    manifest = folder.manifest if folder else _planned(plan, today) if plan else _impossible()
    case = Case(
        manifest,
        plan,
        folder,
        entries,
        _test(audit, Audit, "audit", manifest),
        _test(intruder, Intruder, "intruder", manifest),
        today,
        read_index(index) if index else None,
        _approval(plan, path, history, today) if plan else None,
    )
    _refuse_other_places(case)
    return case


def _refuse_other_places(case: Case) -> None:
    """InputFileError for an index that names no area of the folder."""
    if case.index is None:
        return
    if case.folder is None:
        raise UsageError("--index is for a published folder: before a release nothing is known by area")
    if not case.places & set(case.index.values):
        example = min(case.places, default=None)
        hint = f", such as `{example}`" if example else "; the folder has no areas"
        raise InputFileError(f"{case.index.file} names no area of the folder: `place` must be as published{hint}")


def _approval(plan: Plan, path: Path, history: History | None, today: date) -> Approval | None:
    """The approval next to a plan, if a release on this day would be made under it."""
    approval = read_approval(path)
    if approval is None or approval.key is None or not _is_signed(approval):
        return None
    if history is None:
        is_of_plan = approval.statement.plan_sha256 == plan.digest
        return approval if is_of_plan and today <= approval.statement.until else None
    from tapveil.veil.approval import why_not  # which most plans do not need

    inputs = PublicInputs.of(plan)
    spend = spend_of(plan, "0" * 32, today, inputs.totals)
    return None if why_not(history, approval, inputs, spend, [approval.key.line]) else approval


def _is_signed(approval: Approval, keys: Sequence[str] = ()) -> bool:
    """Whether an approval can be read, and is signed: with one of these keys, or if none are required with any."""
    key = approval.key
    return key is not None and approval.signed_by(keys or [key.line]) is None


def _impossible() -> Manifest:
    raise AssertionError("neither a plan nor a folder")


def _planned(plan: Plan, today: date) -> Manifest:
    """The manifest that a release of this plan would publish, from the plan and its public lists."""
    try:
        return _with_public_files(plan, PublicInputs.of(plan), today)
    except InputFileError as error:
        needed = "a dossier is of a plan with all its public files, and needs no trips"
        raise InputFileError(f"{error}. Add or correct the file, or name another in the plan: {needed}") from None


def _with_public_files(plan: Plan, inputs: PublicInputs, today: date) -> Manifest:
    listed = inputs.dictionaries.items() if plan.privacy.is_world else ()
    cells = {name: len(each) for name, each in listed if each is not None} or None
    return statement.manifest(
        plan,
        today,
        inputs.sha256,
        cells=cells,
        calendars=inputs.calendars,
        shapes=inputs.shapes,
        totals=inputs.totals,
        holidays=inputs.holidays,
    )


def _test(path: Path | None, kind: type[_Kind], command: str, manifest: Manifest) -> _Kind | None:
    """The file of a test of this plan, if one is given."""
    if path is None:
        return None
    again = f"run: tapveil {command} PLAN -o {path.name}"
    try:
        with path.open("rb") as file:
            found = kind.model_validate_json(file.read(LARGEST_TEST + 1))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{path} is not what `tapveil {command} -o` writes; {again}") from None
    if found.plan != manifest.plan_sha256:
        raise UsageError(f"{path} is the {command} test of another plan; for this one, {again}")
    return found
