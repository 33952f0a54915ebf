"""What a dossier is about: a plan before its release, or a folder after it; with the ledger, audit and intruder test.

Both are read as the manifest that readers see, so that a dossier says the same before and after. Only the plan, public
lists, published folders and the ledger are read. This package cannot import what reads trips (a contract in
pyproject.toml).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import Field, TypeAdapter

from tapveil.base.errors import FolderError, UsageError
from tapveil.base.vocabulary import CHECKSUMS, SIGNATURE
from tapveil.inputs.public import PublicInputs
from tapveil.ledger.accounts import Account, accounts
from tapveil.ledger.entry import Entry, Published, Spend
from tapveil.plan.model import Plan
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.attacker import Attacker, attacker
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.units import Neighbours
from tapveil.published.folder import Folder
from tapveil.published.manifest import Manifest, PersonClaim
from tapveil.published.people import claim_of, people_of
from tapveil.veil import statement

Share = Annotated[float, Field(ge=0, le=1)]


class _Stated(pydantic.BaseModel):
    """What another command wrote; it may say more."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")


class Tried(_Stated):
    """One attack of `tapveil intruder` on one way to publish."""

    attack: str
    """What was tried."""
    method: str
    """How the trips were published: as planned, or as agencies do instead."""
    success: Share
    """How often it succeeded."""
    low: Share
    """Its confidence limits."""
    high: Share
    bound: Share | None
    """How often it may succeed by the promise; None where none is made."""
    trials: int
    seed: int | None = None


class Checked(_Stated):
    """One experiment of `tapveil audit`."""

    check: str
    table: str
    observed: str
    allowed: str
    broken: bool


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that a dossier is written from."""

    manifest: Manifest
    plan: Plan | None = None
    folder: Folder | None = None
    entries: Sequence[Entry] | None = None
    """Of the ledger, if one is given: then the dossier is confidential, as the ledger is."""
    audit: Sequence[Checked] | None = None
    intruder: Sequence[Tried] | None = None
    on: date = date.min

    @cached_property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The noise of each table."""
        return self.manifest.mechanisms

    @cached_property
    def attackers(self) -> Mapping[Neighbours, Attacker]:
        """What the best attacker can do, in both notions of neighbours."""
        tables = list(self.mechanisms.values())
        return {
            each.neighbours: attacker(tables, each.exact.loss, self.exposure(each.neighbours))
            for each in self.manifest.guarantees
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

    @cached_property
    def accounts(self) -> list[Account]:
        """The budgets of the ledger."""
        return accounts(self.entries or ())

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
    path: Path, *, ledger: Path | None = None, audit: Path | None = None, intruder: Path | None = None, today: date
) -> Case:
    """The case of a plan or a folder; a folder is verified first.

    Raises:
        FolderError: The folder does not verify.
        UsageError: A file is not what it is given as.
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
    entries = None
    if ledger:
        with Ledger.open(ledger) as book:
            entries = book.entries
    manifest = folder.manifest if folder else _planned(plan, today) if plan else _impossible()
    _refuse_other_plan(intruder, manifest)
    return Case(
        manifest,
        plan,
        folder,
        entries,
        _listed(audit, Checked, "tapveil audit --json"),
        _listed(intruder, Tried, "tapveil intruder"),
        today,
    )


def _impossible() -> Manifest:
    raise AssertionError("neither a plan nor a folder")


def _planned(plan: Plan, today: date) -> Manifest:
    """The manifest that a release of this plan would publish, from the plan and its public lists."""
    inputs = PublicInputs.of(plan)
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
    )


def _refuse_other_plan(path: Path | None, manifest: Manifest) -> None:
    """UsageError for an intruder test of another plan, where it says of which it is."""
    try:
        data = json.loads(path.read_text(encoding="utf-8")) if path else None
    except (OSError, ValueError):
        return  # said when its results are read
    if isinstance(data, dict) and data.get("plan", manifest.plan_sha256) != manifest.plan_sha256:
        raise UsageError(f"{path} is the intruder test of another plan: run `tapveil intruder` for this one")


def _listed(path: Path | None, kind: type[Any], command: str) -> list[Any] | None:
    """A JSON list that another command wrote."""
    if path is None:
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        data = data.get("results") if isinstance(data, dict) else data
        return TypeAdapter(list[kind]).validate_python(data)  # type: ignore[valid-type]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, pydantic.ValidationError):
        raise UsageError(f"{path} is not the output of `{command}`") from None
