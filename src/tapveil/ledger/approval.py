"""An officer's approval: a statement of what may be released, with a signature that nobody else can make.

The statement has the plan as it was understood, the SHA-256 of every public file that it uses, the ledger and how long
its history was, for how many releases and until when. The ledger says whose approval is needed (`Officers`), counts
how often each was used, and keeps the statement with its signature: whoever reads the ledger can check it again.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import pydantic
from pydantic import Field

from tapveil.base.errors import ApprovalError, LedgerError
from tapveil.base.findings import Finding
from tapveil.base.span import Every
from tapveil.base.types import Delta, Epsilon, Frozen, Name, Text
from tapveil.ledger.entry import MOST_STATED, Approved, Entry, Id, Officers, Spend, Start, Words
from tapveil.privacy.units import Neighbours, Unit

if TYPE_CHECKING:  # what a key needs takes time to load, and most ledgers have no officers
    from tapveil.published.signature import PublicKey

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ENDING = ".approval"
"""`plan.toml` is approved by `plan.approval`, and `plan.approval.sig`."""


class Reason(StrEnum):
    """Why a release is not approved."""

    MISSING = "approval-missing"
    INVALID = "approval-invalid"
    SIGNATURE = "approval-signature"
    OTHER_KEY = "approval-other-key"
    SAME_KEY = "approval-same-key"
    NO_LEDGER = "approval-no-ledger"
    OTHER_LEDGER = "approval-other-ledger"
    OTHER_HISTORY = "approval-other-history"
    OTHER_VERSION = "approval-other-version"
    OTHER_PLAN = "approval-other-plan"
    OTHER_FILES = "approval-other-files"
    OTHER_PERIOD = "approval-other-period"
    EARLY = "approval-early"
    EXPIRED = "approval-expired"
    USED = "approval-used"
    AGAIN = "approval-again"


@dataclass(frozen=True)
class Refused:
    """That a release is not approved, why, and what helps to understand it."""

    reason: Reason
    facts: tuple[str, ...] = ()
    """Fingerprints, days, numbers or changed keys, as the reason has them."""


class Statement(Frozen):
    """What an officer approves. It is written as JSON with sorted keys, and signed as written."""

    approval: Literal[1] = 1
    """The version of this list."""
    id: Id
    """The id of this approval: the ledger counts its uses."""
    on: date
    """The day on which it was given."""
    until: date
    """The last day on which a release may begin."""
    releases: Annotated[int, Field(ge=1, le=5000)] = 1
    """For how many releases it is."""
    again: bool = False
    """Whether days may be published again that were published before."""
    tapveil: Text
    """The version of the program that read the plan, and that must make the release."""
    ledger: Id
    """The ledger."""
    head: Sha256
    """The hash of its last entry: the ledger must still have it."""
    data_set: Name
    """Whose trips."""
    unit: Unit
    """What is protected as a whole."""
    neighbours: Neighbours
    """In which notion."""
    epsilon: Epsilon
    """What a release spends."""
    delta: Delta
    """At this δ."""
    plan_sha256: Sha256
    """SHA-256 of what the plan means; of a routine, of the plan of its first period."""
    plan: dict[str, Any]
    """What it means: every key, also those that the file leaves out."""
    every: Every | None = None
    """Of a routine: how long a period is."""
    template: Annotated[str, Field(max_length=MOST_STATED)] | None = None
    """Of a routine: the text of its plan, with gaps."""
    files: dict[str, Sha256]
    """SHA-256 of each public file, by its role in the plan."""
    by: Words | None = None
    """Who approves."""
    comment: Words | None = None
    """What they have to say."""

    @pydantic.model_validator(mode="after")
    def _means_what_it_says(self) -> Self:
        if meaning_sha256(self.plan) != self.plan_sha256:
            raise ValueError("the plan and its SHA-256 differ")
        if (self.every is None) != (self.template is None):
            raise ValueError("a routine has a period and a plan with gaps")
        return self

    @property
    def text(self) -> str:
        """The one way to write it."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, indent=2, ensure_ascii=False) + "\n"

    @property
    def subject(self) -> str:
        """SHA-256 of what is approved, but for who, when and for how long: equal if what was seen is what is signed."""
        terms = {"id", "on", "until", "releases", "again", "by", "comment"}
        said = json.dumps(self.model_dump(mode="json", exclude=terms), sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    def covers(self, spend: Spend) -> bool:
        """Whether a release is of what was approved, as far as the ledger knows it."""
        said = (self.data_set, self.unit, self.neighbours)
        same = said == (spend.data_set, spend.unit, spend.neighbours)
        return same and (self.template is not None or spend.plan_sha256 == self.plan_sha256)


def meaning_sha256(plan: Mapping[str, Any]) -> str:
    """As `Plan.digest`: of what a plan means, however it is written."""
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Approval:
    """A statement and its signature, as they were found: neither is trusted."""

    text: str
    signature: str

    @cached_property
    def statement(self) -> Statement:
        """What is approved; ApprovalError if it cannot be read."""
        statement = _statement(self.text)
        if statement is None:
            raise ApprovalError("the approval cannot be read", Reason.INVALID)
        return statement

    def signed_by(self, keys: Collection[str]) -> Refused | None:
        """Why it is not signed with one of these keys; None if it is."""
        if _statement(self.text) is None:
            return Refused(Reason.INVALID)
        key = _signer(self.text.encode(), self.signature)
        if key is None:
            return Refused(Reason.SIGNATURE)
        return None if key.line in keys else Refused(Reason.OTHER_KEY, (key.fingerprint, *map(fingerprint, keys)))

    @property
    def key(self) -> PublicKey | None:
        """The key that signed it; None if the signature is not valid."""
        return _signer(self.text.encode(), self.signature)


def fingerprint(key: str) -> str:
    """A key of the ledger, as OpenSSH shows it."""
    from tapveil.published.signature import PublicKey

    return PublicKey.of(key).fingerprint


@lru_cache(maxsize=2**10)
def _statement(text: str) -> Statement | None:
    """What a text states; None unless it does, and is written in the one way that hides nothing."""
    try:
        found = Statement.model_validate_json(text) if len(text) <= MOST_STATED else None
        return found if found and found.text == text else None
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=2**12)
def _signer(message: bytes, signature: str) -> PublicKey | None:
    from tapveil.published.signature import APPROVAL, SignatureError, read_signature

    try:
        return read_signature(signature, message, APPROVAL)
    except SignatureError:
        return None


def read_approval(path: Path) -> Approval | None:
    """The approval of a plan or routine, from the files next to it; None if there is none."""
    beside = path.with_suffix(ENDING)
    try:
        with beside.open(encoding="utf-8", newline="") as file:
            text = file.read(MOST_STATED + 1)
        signature = beside.with_name(f"{beside.name}.sig")
        return Approval(text, signature.read_text(encoding="ascii") if signature.exists() else "")
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return Approval("", "")


@dataclass(frozen=True)
class History:
    """A ledger as approvals see it: its entries, each with its hash."""

    entries: Sequence[Entry]
    hashes: Sequence[str]

    @property
    def ledger(self) -> str:
        first = self.entries[0]
        return first.ledger if isinstance(first, Start) else ""

    @cached_property
    def officers(self) -> tuple[Officers, str] | None:
        """Whose approval is needed, and the hash of the entry that says so; LedgerError if it was changed by another.

        The first entry is free; each other must be signed by a key of the one that it replaces.
        """
        now: tuple[Officers, str] | None = None
        for entry, digest in zip(self.entries, self.hashes, strict=True):
            if isinstance(entry, Officers):
                if not may_follow(entry, now, self.ledger):
                    raise LedgerError(
                        "an entry changes whose approval is required, and is not signed by the officer before it: "
                        "restore the ledger from its backup"
                    )
                now = (entry, digest)
        return now

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, one of which must approve; none where no approval is needed."""
        return self.officers[0].keys if self.officers else ()

    def uses(self, identity: str) -> list[Spend]:
        """The releases that were made under an approval."""
        return [entry for entry in self.entries if isinstance(entry, Spend) and entry.approval == identity]

    @cached_property
    def approvals(self) -> dict[str, Approval]:
        """The approvals on record, by their ids, oldest first."""
        found = (Approval(each.statement, each.signature) for each in self.entries if isinstance(each, Approved))
        return {each.statement.id: each for each in found if _statement(each.text)}

    def refusal(self, approval: Approval | None, spend: Spend, also: Collection[str] = ()) -> Refused | None:
        """Why a release is not approved; None if it is, or need not be. `also`: keys that are required besides."""
        uses = len(self.uses(approval.statement.id)) if approval and _statement(approval.text) else 0
        refused = _refusal(approval, spend, self.keys, also, uses)
        if refused or approval is None or not (self.keys or also):
            return refused
        stated = approval.statement
        if self.approvals.get(stated.id, approval).text != approval.text:
            return Refused(Reason.USED)
        return self._not_here(stated, spend, len(self.entries))

    def _not_here(self, stated: Statement, spend: Spend, before: int) -> Refused | None:
        """Why an approval is not for a release that follows this many entries of this ledger; None if it is."""
        earlier = () if stated.again else self.entries[:before]
        cases = {
            Reason.OTHER_LEDGER: stated.ledger != self.ledger,
            Reason.OTHER_HISTORY: self._places.get(stated.head, before) >= before,
            Reason.AGAIN: any(isinstance(entry, Spend) and entry.repeats(spend) for entry in earlier),
        }
        return next((Refused(why) for why, holds in cases.items() if holds), None)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where each hash is."""
        return {digest: place for place, digest in enumerate(self.hashes)}

    def unapproved(self) -> Iterator[tuple[int, Spend, Refused]]:
        """The releases on record that were not approved, though it was required, with the numbers of their entries."""
        keys: tuple[str, ...] = ()
        approvals, uses = dict[str, Approval](), Counter[str]()
        for number, entry in enumerate(self.entries, 1):
            match entry:
                case Officers():
                    keys = entry.keys
                case Approved(statement=text, signature=signature) if stated := _statement(text):
                    approvals.setdefault(stated.id, Approval(text, signature))
                case Spend(approval=named) if keys or named:
                    approval = approvals.get(named or "")
                    also = [approval.key.line] if approval and approval.key else ()
                    refused = _refusal(approval, entry, keys, also, uses[named or ""], must=True)
                    if approval and not refused:
                        refused = self._not_here(approval.statement, entry, number - 1)
                    if refused:
                        yield number, entry, refused
                    uses[named or ""] += 1

    def not_by(self, keys: Collection[str]) -> Iterator[Finding]:
        """Whatever these officers did not approve: for who trusts their own key, and not what the ledger says of it."""
        if not set(self.keys) <= set(keys) or not self.keys:
            yield Finding("officers-other", "ledger", "the ledger does not require the approval of this key")
        for number, entry in enumerate(self.entries, 1):
            if isinstance(entry, Spend):
                approval = self.approvals.get(entry.approval or "")
                if approval is None or approval.signed_by(keys):
                    yield Finding(
                        "not-approved", f"entry {number}", f"the release {entry.id[:8]} is not approved by it"
                    )


def _refusal(
    approval: Approval | None,
    spend: Spend,
    keys: Collection[str],
    also: Collection[str],
    uses: int,
    *,
    must: bool = False,
) -> Refused | None:
    """Why an approval does not hold for a release, as far as it can be known from the two."""
    if not (keys or also or must):
        return None
    if approval is None:
        return Refused(Reason.MISSING, tuple(map(fingerprint, also or keys)))
    for required in filter(None, (keys, also)):
        if refused := approval.signed_by(required):
            return refused
    if approval.key is None:
        return Refused(Reason.SIGNATURE)
    stated = approval.statement
    if not stated.covers(spend):
        return Refused(Reason.OTHER_PLAN)
    if spend.on < stated.on:
        return Refused(Reason.EARLY, (stated.on.isoformat(),))
    if spend.on > stated.until:
        return Refused(Reason.EXPIRED, (stated.until.isoformat(),))
    return Refused(Reason.USED, (str(uses), str(stated.releases))) if uses >= stated.releases else None


def may_follow(entry: Officers, before: tuple[Officers, str] | None, ledger: str) -> bool:
    """Whether officers may take the place of others: the first may, and those that one of the others signed."""
    if before is None or not before[0].keys:
        return entry.replaces == (before[1] if before else None)
    key = _signer(entry.signed(ledger), entry.signature or "")
    return entry.replaces == before[1] and key is not None and key.line in before[0].keys
